// Tells which chunks of a blob are present. A complete blob has all of them; of others the pages of the tree tell.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { LruCache } from '../../lib/core/lru.js'
import { presentChunks } from '../storage/content/tree-pages.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Change, GroupsChange } from './catalog.js' */
/** @import { SafeDatabase } from '../storage/level/safe-database.js' */

/** Blobs whose presence is kept in memory: more than are received at a time. */
const KEPT_BLOBS = 256

export class Presence {
  #data
  /** Of blobs that are being received, by id: what their pages say. */
  #known = /** @type {LruCache<number, ChunkRanges>} */ (new LruCache(KEPT_BLOBS))

  /** @param {SafeDatabase} data */
  constructor (data) {
    this.#data = data
  }

  /** @param {BlobRecord} record @returns {Promise<ChunkRanges>} */
  async of (record) {
    if (record.complete) return ChunkRanges.all.canonical(record.size)
    return this.#known.get(record.id) ?? presentChunks(this.#data, record)
  }

  /**
   * Bytes that the store itself keeps of a blob: none of those in a file of somebody else. Those that blobs share are
   * counted by their base: see `Bases`.
   *
   * @param {BlobRecord} record
   */
  async len (record) {
    if (record.home === 'reference' || record.home === 'shared') return 0
    return record.complete ? record.size : rangesLen(await this.of(record), record.size)
  }

  /**
   * What is wanted and missing: whole groups, since the store can prove no part of a group.
   *
   * @param {BlobRecord} record @param {ChunkRanges} wanted
   */
  async missing (record, wanted) {
    if (record.complete) return ChunkRanges.none
    const whole = ChunkRanges.all.canonical(record.size)
    const groups = wanted.canonical(record.size).roundToGroups(GROUP_LOG).intersect(whole)
    return groups.difference(await this.of(record))
  }

  /** @param {Change} change */
  recordChanged ({ before, after }) {
    if (before === undefined) return
    if (after === undefined || after.id !== before.id || after.complete) this.forget(before)
  }

  /** @param {GroupsChange} groups */
  groupsChanged ({ record, present }) {
    this.forget(record)
    if (present.isEmpty) return
    this.#known.set(record.id, present)
  }

  /** Keeps what the pages say, which were written just now. @param {BlobRecord} record @param {ChunkRanges} present */
  know ({ id }, present) { this.#known.set(id, present) }

  /** Forgets what the pages said, because they are about to be rewritten. @param {BlobRecord} record */
  forget ({ id }) { if (this.#known.size > 0) this.#known.delete(id) }
}

/** @param {ChunkRanges} ranges @param {number} size  bytes */
export const rangesLen = (ranges, size) => ranges.toBytes(size).reduce((len, [start, end]) => len + end - start, 0)

/** Does the store itself keep all the bytes of the blob? @param {BlobRecord} record */
export const isKept = ({ complete, home }) => complete && home !== 'reference'
