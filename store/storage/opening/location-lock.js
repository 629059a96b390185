// Makes sure that at most one store is open at a location.
//
// LevelDB keeps other processes away with a lock file. But a process that tries to lock a file twice loses the lock. So
// before LevelDB opens anything, this module finds out whether this process has the store open, under any name of its
// directory. IndexedDB lets every page in, so pages use a lock of the browser. Without it, two open stores would give
// the same ids to different blobs, and each would delete the data that the other one is putting.

import { claimFolder, identityOf, lockOwner, ownPid, realPath } from '#disk'
import { lockedError } from '../errors.js'
import { NAMES } from '../level/levels.js'

/** @import { BaoError } from '../../../lib/core/errors.js' */

const HELD = Symbol.for('baobox.locations')
/**
 * The paths and the identities of the directories that this thread holds. All copies of this package in the thread
 * share the set.
 */
const held = /** @type {Set<string>} */ (/** @type {any} */ (globalThis)[HELD] ??= new Set())

/** The locks that pages of one origin share. Browsers do not offer them to pages that were loaded without TLS. */
const browserLocks = () => 'indexedDB' in globalThis ? globalThis.navigator?.locks : undefined

/**
 * @param {string} location  of a store. LevelDB must get its real path, see `levelsAt`
 * @returns {Promise<() => Promise<void>>} releases the location
 * @throws {BaoError} STORE_LOCKED when this process, or another page, holds it
 */
export async function holdLocation (location) {
  const path = await realPath(location)
  const identity = await identityOf(path)
  const names = identity === '' ? [path] : [path, identity]
  if (names.some(name => held.has(name))) throw lockedError(location, { pid: ownPid })
  for (const name of names) held.add(name)
  const forget = () => { for (const name of names) held.delete(name) }
  try {
    const release = identity === '' ? await holdInBrowser(location) : await claimFolder(path, locksOf(path))
    if (release === undefined) throw lockedError(location, { pid: identity === '' ? undefined : ownPid })
    return () => release().finally(forget)
  } catch (error) {
    forget()
    throw error
  }
}

/**
 * Returns the lock files that keep other processes away: those of the two databases, and the one of a rescue.
 *
 * @param {string} location
 */
const locksOf = location => [...NAMES, 'rescue/lock'].map(folder => `${location}/${folder}/LOCK`)

/** Returns the id of the process that has a store open, if the system tells it. @param {string} location */
export const ownerOf = location => lockOwner(locksOf(location))

/**
 * Returns the error for a lock of LevelDB that another process holds. It names the process if the system tells it.
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
