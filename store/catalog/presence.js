// Tells which chunks of a blob are present. A complete blob has all of them. For other blobs, the pages of the tree say
// which ones they have.

import { ChunkRanges, rangesLen } from '../../lib/tree/ranges.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { LruCache } from '../../lib/core/lru.js'
import { PLACEHOLDER_ROOT, contentOf } from '../storage/content/content-of.js'
import { presentChunks } from '../storage/content/tree-pages.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Change, GroupsChange } from './catalog.js' */
/** @import { Databases } from '../storage/databases.js' */

/** The presence of at most this many blobs is kept in memory. Usually, fewer are received at a time. */
const KEPT_BLOBS = 256

export class Presence {
  #databases
  /** The present chunks of blobs that are being received, by the ids of the blobs. */
  #known = /** @type {LruCache<number, ChunkRanges>} */ (new LruCache(KEPT_BLOBS))

  /** @param {Databases} databases */
  constructor (databases) {
    this.#databases = databases
  }

  /** @param {BlobRecord} record @returns {Promise<ChunkRanges>} */
  async of (record) {
    if (record.complete) return ChunkRanges.all.canonical(record.size)
    return this.#known.get(record.id) ?? presentChunks(this.#databases.data, record)
  }

  /**
   * Returns how many bytes of a blob the store itself keeps: 0 for a reference, and 0 for a sharer, because its bytes
   * count for its base (see `Bases`).
   *
   * @param {BlobRecord} record
   */
  async len (record) {
    if (!contentOf(this.#databases, PLACEHOLDER_ROOT, record).isCounted) return 0
    return record.complete ? record.size : rangesLen(await this.of(record), record.size)
  }

  /**
   * Finds the wanted chunks that are missing, in whole groups, because the store cannot prove a part of a group.
   *
   * @param {BlobRecord} record @param {ChunkRanges} wanted
   */
  async missing (record, wanted) {
    if (record.complete) return ChunkRanges.none
    const whole = ChunkRanges.all.canonical(record.size)
    const groups = wanted.canonical(record.size).roundToGroups(GROUP_LOG).intersect(whole)
    return groups.difference(this.#known.get(record.id) ?? await presentChunks(this.#databases.data, record, groups))
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

  /** Keeps the presence that was just written to the pages. @param {BlobRecord} record @param {ChunkRanges} present */
  know ({ id }, present) { this.#known.set(id, present) }

  /** Forgets the presence of a blob. Callers do this before they rewrite its pages. @param {BlobRecord} record */
  forget ({ id }) { if (this.#known.size > 0) this.#known.delete(id) }
}
