// Rescues a store whose LevelDB files are damaged: makes new databases with everything that is readable in the old
// ones, and replaces the old ones with them. A sound data database stays as it is.
//
// All of this happens in the folder `rescue`, which marks the store until the rescue is done:
//
//   rescue/lock    a database that is open for as long as the rescue runs: see rescue-mark.js
//   rescue/draft   the new databases while they are being written
//   rescue/new     the new databases, complete and synced. Before this name exists, the store has not changed
//   rescue/old     the old databases, once the new ones have taken their places
//
// The caller repeats an interrupted rescue. If it finds `rescue/new`, it resumes from there; otherwise it starts again.
// Large blobs are in files that do not belong to LevelDB. These files stay where they are, and do not need more space.

import {
  assertFolder, bytesLostSinceClosing, checkDatabase, exists, makeFolder, moveFolder, nameStore, removeFolder,
  removeSeal, replaceFolder, rescueFault, storeIdOf, syncFiles
} from '#disk'
import { BaoError } from '../../../lib/core/errors.js'
import { diskFull, isDiskFull, lockedError, unknownLayout } from '../errors.js'
import { isEventKey, stateKey } from '../format/keys.js'
import { LAYOUT_VERSION, decodeState, encodeState } from '../format/records.js'
import { NAMES, OUR_KIND, isLocked } from '../level/levels.js'
import { copyReadable } from './copy-readable.js'
import { holdLocation } from './location-lock.js'
import { assertOwnFolders, openHeld } from './open.js'
import { markRescue, rescueFolder } from './rescue-mark.js'

/** @import { Databases } from '../databases.js' */
/** @import { Entry } from './copy-readable.js' */

/** @param {string} location */
const newOf = location => `${rescueFolder(location)}/new`
/** @param {string} location */
const oldOf = location => `${rescueFolder(location)}/old`

/**
 * With `isRescue`, opening does not delete orphans. The rescue may have lost their records, so `check` looks at them.
 */
const RESCUED = { sync: true, create: true, isRescue: true }

/**
 * Rescues a store. In a browser, there are no files to rescue, so the store is only checked.
 *
 * @template T
 * @param {string} location
 * @param {(databases: Databases, lostBytes?: number) => Promise<T>} check  verifies the rescued data, repairs the
 *   store, and closes the databases. `lostBytes`: bytes of LevelDB's files in which nothing could be read; undefined
 *   when that is not known
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>} the result of `check`
 * @throws {BaoError} STORE_LOCKED, STORE_OPEN_FAILED, STORE_VERSION, STORE_FULL
 */
export async function rescueDatabases (location, check, signal) {
  const release = await holdLocation(location)
  try {
    await assertOwnFolders(location)
    if (OUR_KIND !== 'LevelDB') return await check(await openHeld(location, RESCUED), 0)
    return await rescueFiles(location, check, signal)
  } finally {
    await release()
  }
}

/**
 * @template T
 * @param {string} location  held
 * @param {(databases: Databases, lostBytes?: number) => Promise<T>} check
 * @param {AbortSignal} [signal]
 */
async function rescueFiles (location, check, signal) {
  const fail = (/** @type {unknown} */ cause) => {
    throw signal?.aborted ? signal.reason : notRescued(location, cause)
  }
  // `rescue/new` exists, and its databases have not been opened yet. While this is true, the mark must stay.
  let isUnfinished = await exists(newOf(location))
  const fault = isUnfinished ? undefined : await rescueFault(location)
  if (fault !== undefined) fail(fault)
  const mark = await markRescue(location).catch(fail)
  isUnfinished ||= await exists(newOf(location))
  try {
    const lostBytes = isUnfinished ? undefined : await copyAll(location, signal).catch(fail)
    isUnfinished = true
    await replaceAll(location).catch(fail)
    await assertOwnFolders(location)
    const databases = await openHeld(location, RESCUED)
    // This opening has marked all ids as swept, or has left the index without a state. Either way, no later opening
    // deletes orphans, even if `check` fails.
    isUnfinished = false
    return await check(databases, lostBytes)
  } finally {
    await mark.end({ keepsMark: isUnfinished })
  }
}

/**
 * Makes `rescue/new`. If that fails, it leaves nothing behind.
 *
 * @param {string} location @param {AbortSignal} [signal]
 * @returns {Promise<number>} bytes of LevelDB's files in which nothing could be read
 */
async function copyAll (location, signal) {
  const draft = `${rescueFolder(location)}/draft`
  await removeFolder(draft)
  const storeId = await storeIdOf(location)
  let lostBytes = 0
  try {
    await makeFolder(draft)
    for (const name of NAMES) {
      const [from, to] = [`${location}/${name}`, `${draft}/${name}`]
      const lostSince = await bytesLostSinceClosing(location, name)
      lostBytes += lostSince
      if (name === 'data' && await isSound(from, signal)) continue
      const change = (/** @type {Entry} */ entry) => entryToWrite(location, entry)
      // Missing files may be counted in both numbers.
      lostBytes += Math.max(await copyReadable(name, { from, to, change, signal }) - lostSince, 0)
      await nameStore(to, storeId)
      await syncFiles(to)
    }
    await syncFiles(draft)
    await moveFolder(draft, newOf(location))
    return lostBytes
  } finally {
    await removeFolder(draft)
  }
}

/**
 * Returns true if LevelDB can read a data database safely. Damaged values are accepted, because the store verifies
 * them.
 *
 * @param {string} path @param {AbortSignal} [signal]
 */
async function isSound (path, signal) {
  const { fault } = await checkDatabase(path, { checksOrder: true, forgivesValues: true, signal })
  return fault === undefined
}

/**
 * Returns the entry to write for an entry that was read. The state must not say that the store was closed, because it
 * may not be the latest state. Then the next opening looks for the ids that are in use. The log of changes is left out,
 * because it does not say which changes were lost.
 *
 * @param {string} location
 * @param {Entry} entry
 * @returns {Entry | undefined} undefined to write none
 * @throws {BaoError} STORE_VERSION
 */
function entryToWrite (location, [key, value]) {
  const isState = key.length === stateKey.length && key[0] === stateKey[0]
  if (isEventKey(key)) return undefined
  const state = isState ? decodeState(value) : undefined
  if (state === undefined) return [key, value]
  if (state.version !== LAYOUT_VERSION) throw unknownLayout(location, state.version)
  return [key, encodeState({ ...state, isClean: false })]
}

/**
 * Replaces the old databases with the new ones. It completes an earlier call that was interrupted at any step.
 *
 * @param {string} location
 */
async function replaceAll (location) {
  await makeFolder(oldOf(location))
  await removeSeal(location)
  for (const name of NAMES) {
    const from = `${newOf(location)}/${name}`
    if (await assertFolder(from)) await replaceFolder(from, `${location}/${name}`, `${oldOf(location)}/${name}`)
  }
}

/**
 * Returns true if a rescue has moved away or replaced one database, and not yet the other. A rescue begins with the
 * index.
 *
 * @param {string} location
 */
export async function isHalfReplaced (location) {
  const [index, data] = await Promise.all(NAMES.map(name => exists(`${newOf(location)}/${name}`)))
  return index ? exists(`${oldOf(location)}/index`) : data
}

/** @param {string} location @param {unknown} cause */
function notRescued (location, cause) {
  if (cause instanceof BaoError) return cause
  if (isDiskFull(cause)) return diskFull(cause)
  if (isLocked(cause)) return lockedError(location, { cause })
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new BaoError('STORE_OPEN_FAILED', `could not rescue the store at ${location}: ${reason}`, { location, cause })
}
