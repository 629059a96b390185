// What the suites need of a browser: test/support/runtime.js is the same for Node.js.
import { Level } from 'level'

const { indexedDB, location } = globalThis

/** What `level` is here. */
export const LEVEL = 'browser-level'

/** A factor for the number of random cases, from the address of the page; `effort.js` applies it. */
export const EFFORT = Number(new URLSearchParams(location.search).get('effort') ?? 1)

/** @param {string} path  from the folder `test` @returns {Promise<any>} undefined when there is no such file */
export async function readJson (path) {
  const response = await fetch(new URL(path, new URL('/checkout/test/', location.href)))
  if (!response.ok) throw new Error(`${path}: ${response.status} ${response.statusText}`)
  return response.status === 204 ? undefined : response.json()
}

let locations = 0

/** A new name for levels to live under. */
export const newLocation = async () => `location-${locations++}`

/** Removes everything under it; the levels are closed. @param {string} location */
export async function removeLocation (location) {
  for (const { name } of await indexedDB.databases()) {
    if (name.startsWith(`${PREFIX}${location}/`)) await Level.destroy(name.slice(PREFIX.length))
  }
}

/** There are no files here. */
export const filesIn = async () => []

/** What browser-level puts before the location of a level to name its database. */
const PREFIX = 'level-js-'

/** The reasons of rejections that nobody handled while `run` ran, and a moment longer. @param {() => Promise<void>} run */
export async function unheardOf (run) {
  const reasons = []
  const listener = event => {
    event.preventDefault() // they are the caller's to judge, not the page's
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
