// Helpers of the suites for browsers. test/support/runtime.js has the same for Node.js, Bun and Deno.
import { Level } from 'level'

const { indexedDB, location } = globalThis
const settings = new URLSearchParams(location.search)

/** The package that `level` uses in browsers. */
export const LEVEL = 'browser-level'

/** A factor for the number of random cases, from the address of the page; `effort.js` applies it. */
export const EFFORT = Number(settings.get('effort') ?? 0.2)

/** Where the random cases of properties start. Without it, each run draws others. @type {number | undefined} */
export const SEED = settings.has('seed') ? Number(settings.get('seed')) : undefined

/** True if suites run on each kernel and in each kind of place; otherwise they run on one. */
export const ALL = settings.get('all') === 'true'

/** @param {string} path  from the folder `test` @returns {Promise<any>} undefined when there is no such file */
export async function readJson (path) {
  const response = await fetch(new URL(path, new URL('/checkout/test/', location.href)))
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`)
  return response.status === 204 ? undefined : response.json()
}

let locations = 0

/** A new name under which a test opens its databases. */
export const newLocation = async () => `location-${locations++}`

/** Deletes all databases under a name. They must be closed. @param {string} location */
export async function removeLocation (location) {
  for (const { name } of await indexedDB.databases()) {
    if (name.startsWith(`${PREFIX}${location}/`)) await Level.destroy(name.slice(PREFIX.length))
  }
}

/** Browsers keep no blobs in files. */
export const filesIn = async () => []

/** browser-level names an IndexedDB database by this prefix and the location. */
const PREFIX = 'level-js-'

/**
 * The reasons of unhandled rejections while `run` runs, and for a moment after.
 *
 * @param {() => Promise<void>} run
 */
export async function unheardOf (run) {
  const reasons = []
  const listener = event => {
    event.preventDefault() // the caller judges them; the page must not report them as errors
    reasons.push(event.reason)
  }
  globalThis.addEventListener('unhandledrejection', listener)
  try {
    await run()
    await new Promise(resolve => setTimeout(resolve, 20))
    return reasons
  } finally {
    globalThis.removeEventListener('unhandledrejection', listener)
  }
}
