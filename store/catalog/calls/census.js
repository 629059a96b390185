// Counts the blobs, bytes and tags in a store.
//
// The index does not have these numbers, because the store would have to write them with every change, so that they are
// right after any crash. Instead, the census walks through the index, and keeps the result until something changes.

import { pointOf } from '../events/watch.js'

/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Catalog } from '../catalog.js' */
/** @import { EventLog } from '../events/event-log.js' */
/** @import { TagIndex } from '../names/tag-index.js' */
/** @import { Presence } from '../presence.js' */
/** @import { Quota } from '../quota.js' */

/**
 * @typedef {object} StoreInfo
 * @property {number} blobs  number of blobs, whole or in part
 * @property {number} partial  number of blobs that are present in part
 * @property {number} bytes  bytes of blobs, as a quota counts them. The files of references do not count
 * @property {number} tags  number of tags that have not expired and protect something; temporary tags do not count
 * @property {string} point  for `watch({ after })`, which then yields all events that are later than these counts, and
 *   maybe a few that are already counted
 * @property {number} [bytesOnDisk]  bytes that the files of the store take on the disk; undefined when the store is not
 *   in a directory
 * @property {number} [quota]  bytes; undefined when the store has no quota
 */

/** @typedef {{ blobs: number, partial: number, bytes: number }} Counts */

/** Counts the blobs when a caller asks, and keeps the result until something changes. */
export class Census {
  #catalog
  #databases
  #life
  #log
  #presence
  #quota
  #tags
  #changes = 0
  #last = /** @type {{ counts: Counts, changes: number } | undefined} */ (undefined)

  /**
   * @param {object} parts
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Lifetime} parts.life
   * @param {EventLog} parts.log
   * @param {Presence} parts.presence
   * @param {Quota} parts.quota
   * @param {TagIndex} parts.tags
   */
  constructor ({ catalog, databases, life, log, presence, quota, tags }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#life = life
    this.#log = log
    this.#presence = presence
    this.#quota = quota
    this.#tags = tags
  }

  recordChanged () { this.#changes++ }
  groupsChanged () { this.#changes++ }

  /** See `BlobStore.info`. @param {{ signal?: AbortSignal }} options @returns {Promise<StoreInfo>} */
  async info ({ signal }) {
    signal?.throwIfAborted()
    const point = pointOf(this.#log.place)
    const changes = this.#changes
    const counts = this.#last?.changes === changes ? this.#last.counts : await this.#count(signal)
    if (this.#last === undefined || this.#last.changes < changes) this.#last = { changes, counts }
    const [tags, bytesOnDisk] = await Promise.all([this.#tags.count(), this.#databases.lenOnDisk()])
    return { ...counts, tags, point, bytesOnDisk, quota: this.#quota.isLimited ? this.#quota.limit : undefined }
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Counts>} */
  async #count (signal) {
    const counts = { blobs: 0, partial: 0, bytes: 0 }
    counts.bytes += await this.#catalog.bases.len()
    for await (const batch of this.#catalog.entryBatches()) {
      for (const { record } of batch) {
        if (record === undefined) continue // A damaged record: fsck reports it.
        counts.blobs++
        if (!record.complete) counts.partial++
        counts.bytes += await this.#presence.len(record)
      }
      signal?.throwIfAborted()
      this.#life.assertOpen()
    }
    return counts
  }
}
