// Makes sure that only one store at a time is open at a location.
//
// LevelDB keeps other processes away with a lock file. When a process tries to lock a file that it has locked already,
// it loses that lock to other processes. So this file keeps a list of the locations of its own process. IndexedDB lets
// every page in, so pages use a lock of the browser: two open stores would give the same ids to different blobs, and
// each would delete the data that the other is putting.

import { lockOwner, ownPid, realPath } from '#disk'
import { lockedError } from '../errors.js'
import { NAMES } from '../level/levels.js'

/** The locations that this process holds. */
const held = /** @type {Set<string>} */ (new Set())

/** The locks that pages of one origin share. Browsers do not offer them to pages that were loaded without TLS. */
const browserLocks = () => 'indexedDB' in globalThis ? globalThis.navigator?.locks : undefined

/**
 * @param {string} location
 * @returns {Promise<(() => Promise<void>) | undefined>} releases the location; undefined when it is held already
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

/** Returns the error for a location that `holdLocation` has found held. @param {string} location */
export async function heldError (location) {
  const isHere = held.has(await realPath(location)) // else another page holds it
  return lockedError(location, { pid: isHere ? ownPid : undefined })
}

/** Folders whose locks keep other processes away from a store: its two databases, and the database of a rescue. */
const LOCKS = [...NAMES, 'rescue/lock']

/** Returns the process that has a store open, where the system tells it. @param {string} location */
export const ownerOf = location => lockOwner(LOCKS.map(folder => `${location}/${folder}/LOCK`))

/**
 * Returns the error for a lock of LevelDB that another process holds. It names the process where the system tells it.
 *
 * @param {string} location @param {unknown} [cause]
 */
export async function lockedElsewhere (location, cause) {
  return lockedError(location, { pid: await ownerOf(location), cause })
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
