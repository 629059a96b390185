// Lets one store hold a location at a time.
//
// LevelDB keeps other processes away with a lock file. A process that tries to lock a file which it has locked
// itself would lose that lock to other processes, so this file keeps a list for its own process. IndexedDB lets
// every page in, so pages use a lock of the browser: two stores would give the same ids to different blobs, and
// each would sweep away what the other is putting.

import { lockOwner, ownPid, realPath } from '#disk'
import { lockedError } from '../errors.js'
import { NAMES } from '../level/levels.js'

/** The locations that this process holds. */
const held = /** @type {Set<string>} */ (new Set())

/** The locks that pages of one origin share. Browsers do not give them to pages that came without TLS. */
const browserLocks = () => 'indexedDB' in globalThis ? globalThis.navigator?.locks : undefined

/**
 * @param {string} location
 * @returns {Promise<(() => Promise<void>) | undefined>} releases it; undefined when it is held already
 */
export async function holdLocation (location) {
  const path = await realPath(location)
  if (held.has(path)) return undefined
  held.add(path)
  const forget = async () => { held.delete(path) }
  try {
    const release = await holdInBrowser(location)
    if (release !== undefined) return () => release().finally(forget)
  } catch (error) {
    await forget()
    throw error
  }
  await forget()
  return undefined
}

/** The error when `holdLocation` has found a location held. @param {string} location */
export async function heldError (location) {
  const isHere = held.has(await realPath(location)) // otherwise by another page
  return lockedError(location, { pid: isHere ? ownPid : undefined })
}

/** Folders whose lock keeps others away from a store: its databases, and the one of a rescue. */
const LOCKS = [...NAMES, 'rescue/lock']

/**
 * The error when another process holds a lock of LevelDB. It names the process, where the system tells.
 *
 * @param {string} location @param {unknown} [cause]
 */
export async function lockedElsewhere (location, cause) {
  return lockedError(location, { pid: await lockOwner(LOCKS.map(folder => `${location}/${folder}/LOCK`)), cause })
}

/** @param {string} location @returns {Promise<(() => Promise<void>) | undefined>} */
async function holdInBrowser (location) {
  const locks = browserLocks()
  if (locks === undefined) return async () => {}
  return new Promise((resolve, reject) => {
    const holding = locks.request(`baobox ${location}`, { ifAvailable: true }, lock => {
      if (lock === null) return resolve(undefined)
      return new Promise(_resolve => {
        resolve(async () => {
          _resolve(undefined)
          await holding
        })
      })
    })
    holding.catch(reject)
  })
}
