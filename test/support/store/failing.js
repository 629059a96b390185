// What goes wrong at one call to the disk, or from there on: tests have it happen at each.
import { databasesOf } from './inspect.js'

const WRITES = ['put', 'batch', 'del', 'clear']

export const reason = new Error('enough')

export const DONE = 'is done, and said to have failed'

/** What may go wrong at a call: what becomes of it, and of those behind it. */
export const FAULTS = {
  'fails once': { at: () => Promise.reject(reason), behind: write => write() },
  'ends the process': { at: () => Promise.reject(reason), behind: () => Promise.reject(reason), isDeath: true },
  [DONE]: { at: async write => { await write(); throw reason }, behind: write => write() }
}

/**
 * Has something happen at every write to the databases of a store, and to its files.
 *
 * @param {(write: () => Promise<unknown>) => Promise<unknown>} happens @returns {() => void} ends it
 */
function tapped (store, happens) {
  const { index, data, files } = databasesOf(store)
  const restores = []
  const tap = (on, method) => {
    const original = on[method]
    on[method] = (...args) => happens(() => original.apply(on, args))
    restores.push(() => { on[method] = original })
  }
  for (const level of [index, data]) for (const method of WRITES) tap(level, method)
  for (const method of ['sync', 'remove', 'cutOff']) tap(files, method)
  for (const method of ['writer', 'appender']) {
    const original = files[method]
    files[method] = async (...args) => {
      await happens(async () => {}) // a file that is open is not left behind
      const file = await original.apply(files, args)
      if (file !== undefined) for (const method of ['write', 'sync']) tap(file, method)
      return file
    }
    restores.push(() => { files[method] = original })
  }
  return () => { for (const restore of restores) restore() }
}

/**
 * Has a write of a store go wrong.
 *
 * @param {number} moment  which write
 * @param {{ at: (write: () => Promise<unknown>) => Promise<unknown>, behind: (write: () => Promise<unknown>) =>
 *   Promise<unknown> }} fault
 * @returns {{ isReached: () => boolean, untap: () => void }}
 */
export function failAt (store, moment, { at, behind }) {
  let calls = 0
  const untap = tapped(store, write => {
    const call = calls++
    return call < moment ? write() : call === moment ? at(write) : behind(write)
  })
  return { isReached: () => calls > moment, untap }
}
