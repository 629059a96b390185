// What becomes of a store whose LevelDB files cannot be read: each database is saved as far as LevelDB can, beside the old one, and only when there are
// both does anything take the place of another. The store itself is looked through then, before anybody opens it.

import { BaoError } from '../../../lib/core/errors.js'
import { isNoRoom, locked, noRoom } from '../errors.js'
import { hold } from './location-lock.js'
import { NAMES, OUR_KIND, isLocked, isOpen, newLevel } from '../level/levels.js'
import { assertOwn, openHeld } from './open.js'
import { beginRepair } from './repair-mark.js'
import { removeDrafts, salvage, takePlace } from './salvage.js'

/** @import { Databases } from '../databases.js' */

/** What is without a record is looked at before anything is swept away, for the record may be what was lost. */
const MENDED = { sync: true, create: true, sweeps: false, isRepair: true }

/**
 * Makes of the files of LevelDB what can be made of them. Where there is no LevelDB (IndexedDB) there is nothing to do.
 *
 * @template T
 * @param {string} location
 * @param {(databases: Databases) => Promise<T>} mend  looks through what was made, nothing of which is swept away before, and closes it
 * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_FULL
 */
export async function repairDatabases (location, mend) {
  const letGo = await hold(location)
  if (letGo === undefined) throw locked(location)
  try {
    await assertOwn(location)
    return await (OUR_KIND === 'LevelDB' ? salvageAll(location, mend) : openHeld(location, MENDED).then(mend))
  } finally {
    await letGo()
  }
}

/** @template T @param {string} location  held @param {(databases: Databases) => Promise<T>} mend */
async function salvageAll (location, mend) {
  const failed = (/** @type {unknown} */ cause) => { throw notRepaired(location, cause) }
  const begun = await beginRepair(location, NAMES.map(name => `${location}/${name}`)).catch(failed)
  if (begun === undefined) throw locked(location)
  let isDone = begun.isFirst // until something takes the place of another, all is as it was
  try {
    const made = await makeAll(location).catch(failed)
    isDone = false
    for (const [path, from] of made) await takePlace(path, from).catch(failed)
    const databases = await openHeld(location, MENDED)
    isDone = true // however the rest goes: what is opened is closed, and then nothing is swept away any more
    return await mend(databases)
  } finally {
    await begun.end(isDone)
  }
}

/** @param {string} location @returns {Promise<[path: string, made: string][]>} */
async function makeAll (location) {
  const made = /** @type {[string, string][]} */ ([])
  try {
    for (const name of NAMES) {
      const path = `${location}/${name}`
      made.push([path, await salvage(path, path => newLevel(name, path))])
    }
    for (const [path] of made) if (await isOpen(path)) throw locked(location)
  } catch (error) {
    for (const [path] of made) await removeDrafts(path)
    throw error
  }
  return made
}

/** @param {string} location @param {unknown} cause */
function notRepaired (location, cause) {
  if (cause instanceof BaoError) return cause
  if (isNoRoom(cause)) return noRoom(cause)
  if (isLocked(cause)) return locked(location, cause)
  return new BaoError('STORE_OPEN_FAILED', `could not repair the store at ${location}`, { location, cause })
}
