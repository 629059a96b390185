// Makes one call to the disk fail, or all calls from one on. Tests repeat this for each call.
import { databasesOf } from './inspect.js'

const WRITES = ['put', 'batch', 'del', 'clear']

export const reason = new Error('enough')

export const DONE = 'is done, and said to have failed'

/** Faults by name. `at` replaces the failing call, and `later` the calls after it. */
export const FAULTS = {
  'fails once': { at: () => Promise.reject(reason), later: write => write() },
  'ends the process': { at: () => Promise.reject(reason), later: () => Promise.reject(reason), isDeath: true },
  [DONE]: { at: async write => { await write(); throw reason }, later: write => write() }
}

/**
 * Calls a function in place of every write to the databases of a store, and to its files.
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
      await happens(async () => {}) // It fails before the file is open, so no open file is left.
      const file = await original.apply(files, args)
      if (file !== undefined) for (const method of ['write', 'sync']) tap(file, method)
      return file
    }
    restores.push(() => { files[method] = original })
  }
  return () => { for (const restore of restores) restore() }
}

/**
 * Makes a write of a store fail.
 *
 * @param {number} moment  the number of the write, from 0
 * @param {{ at: (write: () => Promise<unknown>) => Promise<unknown>, later: (write: () => Promise<unknown>) =>
 *   Promise<unknown> }} fault
 * @returns {{ isReached: () => boolean, untap: () => void }}
 */
export function failAt (store, moment, { at, later }) {
  let calls = 0
  const untap = tapped(store, write => {
    const call = calls++
    return call < moment ? write() : call === moment ? at(write) : later(write)
  })
  return { isReached: () => calls > moment, untap }
}
