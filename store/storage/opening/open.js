// Opens the databases and the folder of a store, and finishes deletions that a crash has interrupted. It lets only one
// process at a time open a store, and refuses a store that is being rescued.

import {
  absolute, assertFolder, assertLevel, checkBeforeOpening, isStoreAt, makeFolders, openFolder,
  openingFault, realPath
} from '#disk'
import { BaoError } from '../../../lib/core/errors.js'
import { describe } from '../../../lib/core/bytes.js'
import { untilAborted } from '../../../lib/source/async-util.js'
import { Databases } from '../databases.js'
import { absentError, damagedDatabase, diskFull, isDiskFull } from '../errors.js'
import { holdLocation, lockedElsewhere, ownerOf } from './location-lock.js'
import { NAMES, OUR_KIND, isLocked, isOpen, levelsAt } from '../level/levels.js'
import { makeMissing } from './making.js'
import { recover } from './recovery.js'
import { lockFolder, removeDoneFolder, rescueAt, rescueFolder } from './rescue-mark.js'

/** @import { DatabasePair } from '../level/levels.js' */

/** Milliseconds between the first two attempts to open a locked store. Each later pause is twice as long. */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 200

/**
 * @param {string | DatabasePair} where  a directory (in a browser, a name), or two databases
 * @param {{ sync: boolean, create: boolean, wait: number, signal?: AbortSignal }} options  see `BlobStore.open`
 * @returns {Promise<Databases>}
 * @throws {BaoError} STORE_LOCKED, STORE_ABSENT, STORE_VERSION, STORE_OPEN_FAILED, STORE_CORRUPT, STORE_FULL
 */
export async function openDatabases (where, { wait, ...options }) {
  assertWhere(where)
  const { signal } = options
  const deadline = performance.now() + wait
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    signal?.throwIfAborted()
    try {
      return await tryOpening(where, options)
    } catch (error) {
      const left = deadline - performance.now()
      if (!(error instanceof BaoError) || error.code !== 'STORE_LOCKED' || left <= 0) throw error
      await untilAborted(new Promise(resolve => setTimeout(resolve, Math.min(pause, left))), signal)
    }
  }
}

/**
 * Returns the path that a `file:` URL names. Returns any other value unchanged.
 *
 * @template T
 * @param {T} where @returns {string | Exclude<T, URL>}
 */
export const pathIn = where => where instanceof URL ? absolute(where) : /** @type {Exclude<T, URL>} */ (where)

/** @param {unknown} where @returns {asserts where is string | DatabasePair} */
function assertWhere (where) {
  const { index, data } = /** @type {Partial<DatabasePair>} */ (where ?? {})
  if (typeof where !== 'string' && (typeof index !== 'object' || typeof data !== 'object')) {
    throw new TypeError(`"where" expected a directory or two levels { index, data }, got ${describe(where)}`)
  }
}

/** @param {string | DatabasePair} where @param {{ sync: boolean, create: boolean, signal?: AbortSignal }} options */
async function tryOpening (where, { sync, create, signal }) {
  const options = { sync, create, isRescue: false, signal }
  if (typeof where !== 'string') return openHeld(where, options)
  const fail = (/** @type {unknown} */ cause) => {
    throw cause instanceof BaoError ? cause : notOpened('open', where, cause)
  }
  if (create) await makeFolders(where).catch(fail)
  const release = await holdLocation(where).catch(fail)
  try {
    await assertOwnFolders(where)
    await assertOpenable(where, create)
    await makeMissing(where, { sync }).catch(fail)
    return await openHeld(where, { ...options, release })
  } catch (error) {
    await release()
    throw error
  }
}

/**
 * Opens a store whose location this process already holds.
 *
 * @param {string | DatabasePair} where
 * @param {object} options
 * @param {boolean} options.sync @param {boolean} options.create
 * @param {boolean} options.isRescue  true if a rescue opens the store. Then `leftovers` of the databases is
 *   undefined, because `fsck`, which the rescue calls, looks at all data
 * @param {AbortSignal} [options.signal]
 * @param {() => Promise<void>} [options.release]  called when the store is closed. It is not called when the store
 *   cannot be opened
 * @returns {Promise<Databases>}
 */
export async function openHeld (where, { sync, isRescue, release = async () => {}, ...options }) {
  const isDirectory = typeof where === 'string'
  const location = locationOf(where)
  const kind = isDirectory ? OUR_KIND : 'given'
  const path = isDirectory ? await realPath(where) : location
  // Check LevelDB's files before the levels are made, because a level opens itself as soon as it is made.
  const checked = isDirectory && !isRescue ? await checkTables(location, path, options.signal) : undefined
  const databases = new Databases(isDirectory ? levelsAt(path) : where, { location, path, isSync: sync, kind, release })
  const { index, data } = databases
  databases.checked = checked
  try {
    await index.open()
    await data.open()
    if (isDirectory && !isRescue) await assertNoRescue(location)
    if (isDirectory) databases.files = await openFolder(`${path}/blobs`, location)
  } catch (cause) {
    await Promise.allSettled([index.close(), data.close()])
    if (cause instanceof BaoError) throw cause
    if (isLocked(cause)) throw await lockedElsewhere(location, cause)
    throw notOpened('open', location, cause)
  }
  try {
    databases.leftovers = await recover(databases, { ...options, isRescue, takesLostIndex: !isDirectory || isRescue })
  } catch (cause) {
    await Promise.allSettled([index.close(), data.close()])
    options.signal?.throwIfAborted()
    if (cause instanceof BaoError) throw cause
    throw notOpened('read', location, cause)
  }
  return databases
}

/**
 * Checks the files of LevelDB before LevelDB reads them.
 *
 * @param {string} location  for messages @param {string} path  of the store @param {AbortSignal} [signal]
 * @throws {BaoError} STORE_CORRUPT { location }, STORE_LOCKED, STORE_OPEN_FAILED
 */
async function checkTables (location, path, signal) {
  /** The fault that the last check has found. @type {string | undefined} */
  let last
  while (true) {
    if (await ownerOf(path) !== undefined) throw await lockedElsewhere(location)
    const { fault, checked } = await checkBeforeOpening(path, signal).catch(cause => {
      signal?.throwIfAborted()
      throw notOpened('read', location, cause)
    })
    if (fault === undefined) return checked
    if (fault === last) throw damagedDatabase(location, fault)
    last = fault
    // Perhaps another process was writing these files while they were read. If it still has them open, the store is
    // locked. If it has closed them, check them again. Another process may have written them since the last
    // check, so only a fault that stays the same is damage.
    for (const name of NAMES) if (await isOpen(`${path}/${name}`)) throw await lockedElsewhere(location)
  }
}

/**
 * Refuses a store if one of its folders is a link, because the store must not change the target of a link. The location
 * itself may be a link.
 *
 * @param {string} location
 * @throws {BaoError} STORE_OPEN_FAILED
 */
export async function assertOwnFolders (location) {
  try {
    await assertFolder(`${location}/blobs`)
    for (const name of NAMES) await assertLevel(`${location}/${name}`)
    const rescue = rescueFolder(location)
    if (!await assertFolder(rescue)) return
    for (const name of ['new', 'old']) await assertFolder(`${rescue}/${name}`)
    for (const path of [...NAMES.map(name => `${rescue}/new/${name}`), lockFolder(location)]) await assertLevel(path)
  } catch (cause) {
    throw notOpened('open', location, cause)
  }
}

/**
 * Checks that a store can be opened. Callers call this before they make a level, because a level makes missing files.
 *
 * @param {string} location @param {boolean} create
 */
async function assertOpenable (location, create) {
  await assertNoRescue(location)
  if (!create && !await isStoreAt(location)) throw absentError(location)
  const fault = await openingFault(location)
  if (fault !== undefined) throw notOpened('open', location, fault)
  await removeDoneFolder(location)
}

/** @param {string} location */
async function assertNoRescue (location) {
  const state = await rescueAt(location)
  if (state === 'running') throw await lockedElsewhere(location)
  if (state === 'interrupted') {
    throw notOpened('open', location, new Error('its rescue was interrupted: call BlobStore.rescue again'))
  }
}

/** @param {'open' | 'read'} action  what has failed @param {string} location @param {unknown} cause */
export function notOpened (action, location, cause) {
  // LevelDB writes when it is opened, so a full disk can be the cause.
  if (isDiskFull(cause)) return diskFull(cause)
  const message = `could not ${action} the store at ${location}: ${reasonOf(cause)}`
  return new BaoError('STORE_OPEN_FAILED', message, { location, cause })
}

/** Returns the message of an error, or that of its cause, because LevelDB says more there. @param {unknown} cause */
function reasonOf (cause) {
  const { cause: deeper = cause } = /** @type {{ cause?: unknown }} */ (cause ?? {})
  return deeper instanceof Error ? deeper.message : String(deeper)
}

/** @param {string | DatabasePair} where */
const locationOf = where => typeof where === 'string' ? where : 'the given databases'
