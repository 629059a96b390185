// Functions of workerd that the suites need. test/support/runtime.js has the same for Node.js, Bun and Deno. run.js
// puts the settings and the files into the global `suites`.

const { effort, seed, all, files } = globalThis.suites

/** The only kind of level: Workers have neither files nor IndexedDB. */
export const LEVEL = 'memory-level'

/** A factor for the number of random cases; `effort.js` applies it. */
export const EFFORT = effort

/** Where the random cases of properties start. Without it, each run draws others. @type {number | undefined} */
export const SEED = seed

/** True if suites run on each kernel; otherwise they run on one. */
export const ALL = all

/** @param {string} path  from the folder `test` @returns {Promise<any>} undefined when there is no such file */
export const readJson = async path => structuredClone(files[path])

export const newLocation = async () => { throw new Error('Workers have no place for levels but memory') }
export const removeLocation = newLocation

/** Workers keep no blobs in files. */
export const filesIn = async () => []

/**
 * Returns the reasons of rejections that nobody handled during `run`, and for a moment after it.
 *
 * @param {() => Promise<void>} run
 */
export async function unheardOf (run) {
  const reasons = []
  const listener = ({ reason }) => reasons.push(reason)
  globalThis.addEventListener('unhandledrejection', listener)
  try {
    await run()
    await new Promise(resolve => setTimeout(resolve, 20))
    return reasons
  } finally {
    globalThis.removeEventListener('unhandledrejection', listener)
  }
}
