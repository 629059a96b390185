// Collects the ids that the index of a store names.

import { allBlobs, allSharers, hashOfKey, placeOfSharer } from '../format/keys.js'
import { decodeRecord, decodeSharer, idsOf } from '../format/records.js'
import { readEntries } from '../level/entries.js'
import { IdSet } from '../level/id-set.js'

/** @import { BlobRecord } from '../format/records.js' */
/** @import { SafeDatabase } from '../level/safe-database.js' */

/**
 * @typedef {object} Recorded
 * @property {IdSet} ids  the ids in all records and in all entries of sharers, and the bases
 * @property {Map<number, number>} bases  length of the longest sharer of each base, in bytes
 * @property {number} after  an id greater than all of them
 * @property {boolean} areAll  true if all records and sharers could be read
 */

/** @param {SafeDatabase} index @param {AbortSignal} [signal] @returns {Promise<Recorded>} */
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
  // The record of a sharer may be damaged while its entry is sound.
  for await (const entries of readEntries(index, allSharers, () => { recorded.areAll = false })) {
    for (const [key, value] of entries) {
      const [place, sharer] = [placeOfSharer(key), decodeSharer(key, value)]
      if (place === undefined || sharer === undefined) recorded.areAll = false
      else add(recorded, { ...place, id: sharer.id })
    }
  }
  return recorded
}

/** @param {Recorded} recorded @param {Pick<BlobRecord, 'id' | 'base' | 'size'>} record */
function add (recorded, { id, base, size }) {
  for (const each of idsOf({ id, base })) {
    recorded.after = Math.max(recorded.after, each + 1)
    recorded.ids.add(each)
  }
  if (base !== undefined) recorded.bases.set(base, Math.max(recorded.bases.get(base) ?? 0, size))
}
