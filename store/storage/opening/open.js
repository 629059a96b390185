// How a store comes to be open, or why it does not: one at a time in a place, never while it is being repaired, and what an interrupted life left is
// put in order first.

import { assertFolder, assertLevel, isHeadless, isStoreAt, openFolder } from '#disk'
import { BaoError } from '../../../lib/core/errors.js'
import { describe } from '../../../lib/core/bytes.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { Databases } from '../databases.js'
import { absent, isNoRoom, locked, noRoom } from '../errors.js'
import { hold } from './location-lock.js'
import { NAMES, OUR_KIND, isLocked, levelsAt } from '../level/levels.js'
import { makeMissing } from './making.js'
import { recover } from './recovery.js'
import { repairAt } from './repair-mark.js'
import { isHalfSalvaged, wholeOf } from './salvage.js'

/** @import { DatabasePair } from '../level/levels.js' */

/** Milliseconds from one attempt to the next while a store is open elsewhere. */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 200

/**
 * @param {string | DatabasePair} where  a directory (in a browser: a name), or two databases
 * @param {{ sync: boolean, create: boolean, wait: number, signal?: AbortSignal }} options  see `BlobStore.open`
 * @returns {Promise<Databases>}
 * @throws {BaoError} STORE_LOCKED, STORE_ABSENT, STORE_VERSION, STORE_OPEN_FAILED, STORE_FULL
 */
export async function openDatabases (where, { wait, ...options }) {
  assertWhere(where)
  const { signal } = options
  const deadline = performance.now() + wait
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    signal?.throwIfAborted()
    try {
      return await attempt(where, options)
    } catch (error) {
      const left = deadline - performance.now()
      if (!(error instanceof BaoError) || error.code !== 'STORE_LOCKED' || left <= 0) throw error
      await untilAborted(new Promise(resolve => setTimeout(resolve, Math.min(pause, left))), signal)
    }
  }
}

/** @param {unknown} where @returns {asserts where is string | DatabasePair} */
function assertWhere (where) {
  const { index, data } = /** @type {Partial<DatabasePair>} */ (where ?? {})
  if (typeof where !== 'string' && (typeof index !== 'object' || typeof data !== 'object')) {
    throw new TypeError(`"where" expected a directory or two levels { index, data }, got ${describe(where)}`)
  }
}

/** @param {string | DatabasePair} where @param {{ sync: boolean, create: boolean, signal?: AbortSignal }} options */
async function attempt (where, { sync, create, signal }) {
  const letGo = typeof where === 'string' ? await hold(where) : async () => {}
  if (letGo === undefined) throw locked(locationOf(where))
  try {
    if (typeof where === 'string') {
      await assertOwn(where)
      await assertOpenable(where, create)
    }
    if (typeof where === 'string') await makeMissing(where, { sync }).catch(cause => { throw notOpened('open', where, cause) })
    return await openHeld(where, { sync, create, sweeps: true, isRepair: false, signal, letGo })
  } catch (error) {
    await letGo()
    throw error
  }
}

/**
 * What is held already, by this process or whoever repairs it.
 *
 * @param {string | DatabasePair} where
 * @param {object} options
 * @param {boolean} options.sync @param {boolean} options.create
 * @param {boolean} options.sweeps  delete data that no record speaks of, when the store was not closed
 * @param {boolean} options.isRepair
 * @param {AbortSignal} [options.signal]
 * @param {() => Promise<void>} [options.letGo]  called when they are closed again, not when they could not be opened
 * @returns {Promise<Databases>}
 */
export async function openHeld (where, { sync, isRepair, letGo = async () => {}, ...options }) {
  const isDirectory = typeof where === 'string'
  const location = locationOf(where)
  const databases = new Databases(isDirectory ? levelsAt(where) : where, { location, isSync: sync, kind: isDirectory ? OUR_KIND : 'given', letGo })
  const { index, data } = databases
  try {
    await index.open()
    await data.open()
    if (isDirectory && !isRepair) await assertNoRepair(location)
    if (isDirectory) databases.files = await openFolder(`${location}/blobs`)
  } catch (cause) {
    await Promise.allSettled([index.close(), data.close()])
    if (cause instanceof BaoError) throw cause
    if (isLocked(cause)) throw locked(location, cause)
    throw notOpened('open', location, cause)
  }
  try {
    await recover(databases, options)
  } catch (cause) {
    await Promise.allSettled([index.close(), data.close()])
    options.signal?.throwIfAborted()
    if (cause instanceof BaoError) throw cause
    throw notOpened('read', location, cause)
  }
  return databases
}

/**
 * Nothing is opened through a link, because what is behind it is not the store's, and is not there to be written to
 * or deleted. The location itself may be one.
 *
 * @param {string} location
 * @throws {BaoError} STORE_OPEN_FAILED
 */
export async function assertOwn (location) {
  try {
    for (const path of NAMES.map(name => `${location}/${name}`)) {
      await assertLevel(path)
      await assertLevel(wholeOf(path))
    }
    for (const name of ['blobs', 'repairing']) await assertFolder(`${location}/${name}`)
  } catch (cause) {
    throw notOpened('open', location, cause)
  }
}

/**
 * To be asked before there is a level: that opens itself, and makes what is not there. Without the file that it begins with LevelDB would even take its
 * directory for a new one, and delete everything in it.
 *
 * @param {string} location @param {boolean} create
 */
async function assertOpenable (location, create) {
  await assertNoRepair(location)
  if (!create && !await isStoreAt(location) && !await isHalfSalvaged(`${location}/index`)) throw absent(location)
  for (const name of NAMES) {
    const path = `${location}/${name}`
    if (await isHalfSalvaged(path)) throw unrepaired(location, `${path} was being repaired: BlobStore.repair has to go on`)
    if (await isHeadless(path)) throw unrepaired(location, `${path} lacks the file CURRENT: BlobStore.repair can make it anew`)
  }
}

/** @param {string} location */
async function assertNoRepair (location) {
  const state = await repairAt(location)
  if (state === 'under way') throw locked(location)
  if (state === 'interrupted') throw unrepaired(location, 'it was being repaired: BlobStore.repair has to go on')
}

/** @param {string} location @param {string} reason */
const unrepaired = (location, reason) => notOpened('open', location, new Error(reason))

/** @param {'open' | 'read'} what  could not be done @param {string} location @param {unknown} cause */
function notOpened (what, location, cause) {
  // LevelDB writes when it is opened, and tells why it could not behind an error of its own.
  if (isNoRoom(cause) || (cause instanceof Error && isNoRoom(cause.cause))) return noRoom(cause)
  return new BaoError('STORE_OPEN_FAILED', `could not ${what} the store at ${location}`, { location, cause })
}

/** @param {string | DatabasePair} where */
const locationOf = where => typeof where === 'string' ? where : 'the given databases'
