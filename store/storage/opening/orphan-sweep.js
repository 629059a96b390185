// Deletes orphans: data without a record, which a failed call, a crash or a power cut has left.

import { IdSet } from '../level/id-set.js'
import { orIfUnreadable } from '../errors.js'
import { isInOrder } from '../level/order.js'
import { VIEWS, allBlobs, allOfIndex, hashOfKey, isKnownKind } from '../format/keys.js'
import { decodeRecord, isWellFormed } from '../format/records.js'
import { readEntries } from '../level/entries.js'

/** @import { BaoError } from '../../../lib/core/errors.js' */
/** @import { BlobRecord } from '../format/records.js' */
/** @import { SafeDatabase } from '../level/safe-database.js' */
/** @import { Databases } from '../databases.js' */

/**
 * @typedef {object} Recorded
 * @property {IdSet} ids  the ids in all records, and the bases
 * @property {Map<number, number>} bases  length of the longest sharer of each base, in bytes
 * @property {number} after  an id greater than all of them
 * @property {boolean} areAll  could all records be read?
 */

/**
 * Deletes orphans while the store is in use.
 *
 * @param {Databases} databases @param {AbortSignal} [signal]
 * @throws {BaoError} STORE_CORRUPT when the index may have lost records: `fsck` decides what to do with their data
 */
export async function sweepOrphansInUse (databases, signal) {
  const { index, ids } = databases
  // Data that is written from now on may get its record later, so it does not count as an orphan.
  const limit = ids.next
  const underWay = new Set(ids.underWay)
  await ids.assertStateSound()
  await sweepOrphans(databases, await recordedIds(index, signal), id => id < limit && !underWay.has(id), signal)
}

/**
 * @param {Databases} databases @param {Recorded} recorded
 * @param {(id: number) => boolean} isSettled  is it certain that no call will write a record for this id?
 * @param {AbortSignal} [signal]
 * @returns {Promise<boolean>} false when orphans cannot be told from other data; then nothing was deleted
 */
export async function sweepOrphans (databases, { ids, areAll }, isSettled, signal) {
  if (!areAll) return false
  const isOrphan = (/** @type {number} */ id) => isSettled(id) && !ids.has(id)
  // Data that LevelDB cannot read is left to `fsck`.
  const orphans = (await databases.files?.ids() ?? []).filter(isOrphan)
  for await (const { id } of databases.dataIds(0)) {
    signal?.throwIfAborted()
    if (id !== undefined && isOrphan(id)) orphans.push(id)
  }
  if (orphans.length === 0) return true
  if (!await isWhole(databases.index, signal)) return false
  for (const id of new Set(orphans)) {
    signal?.throwIfAborted()
    await orIfUnreadable(databases.deleteDoomed([{ id }]))
  }
  await databases.dropNotes()
  return true
}

/** Reads all records. @param {SafeDatabase} index @param {AbortSignal} [signal] @returns {Promise<Recorded>} */
export async function recordedIds (index, signal) {
  /** @type {Recorded} */
  const recorded = { ids: new IdSet(), bases: new Map(), after: 0, areAll: true }
  for await (const entries of readEntries(index, allBlobs, () => { recorded.areAll = false })) {
    signal?.throwIfAborted()
    for (const [key, value] of entries) {
      const root = hashOfKey(key)
      const record = root && decodeRecord(root, value)
      if (record === undefined) recorded.areAll = false
      else add(recorded, record)
    }
  }
  return recorded
}

/** @param {Recorded} recorded @param {BlobRecord} record */
function add (recorded, { id, base, size }) {
  recorded.after = Math.max(recorded.after, id + 1, (base ?? 0) + 1)
  recorded.ids.add(id)
  if (base === undefined) return
  recorded.ids.add(base)
  recorded.bases.set(base, Math.max(recorded.bases.get(base) ?? 0, size))
}

/**
 * Cuts off the bytes after the longest sharer, which a crash has left in files that blobs share.
 *
 * @param {Databases} databases @param {Recorded} recorded @param {AbortSignal} [signal]
 */
export async function cutOffBases ({ index, files }, { bases, areAll }, signal) {
  if (!areAll || files === undefined) return
  const tooLong = []
  for (const [base, longest] of bases) {
    signal?.throwIfAborted()
    if ((await files.len(base) ?? 0) > longest) tooLong.push({ base, longest })
  }
  if (tooLong.length === 0 || !await isWhole(index, signal)) return
  for (const { base, longest } of tooLong) await files.cutOff(base, longest)
}

/**
 * Is it certain that no record is hidden? Only then is data without a record an orphan. One flipped bit in a table of
 * LevelDB may hide a record.
 *
 * @param {SafeDatabase} index @param {AbortSignal} [signal]
 */
const isWhole = async (index, signal) => await isInOrder(index, signal) && isIndexKnown(index, signal)

/**
 * Does every entry of the index look like one that this release writes?
 *
 * @param {SafeDatabase} index
 * @param {AbortSignal} [signal]
 */
async function isIndexKnown (index, signal) {
  for await (const [key, value] of index.iterator({ ...allOfIndex, ...VIEWS })) {
    signal?.throwIfAborted()
    if (!isKnownKind(key) || !isWellFormed(key, value)) return false
  }
  return true
}
