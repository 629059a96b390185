// Counts what is in a store.
//
// The store does not keep these numbers beside the records: each would have to be written with every change, and be
// right after any crash. Instead it walks through the index, and uses the result until something changes.

import { pointOf } from '../events/watch.js'

/** @import { StoreContext } from '../../store-context.js' */

/**
 * @typedef {object} StoreInfo
 * @property {number} blobs  whole or in part
 * @property {number} partial  blobs of which a part is missing
 * @property {number} bytes  of blobs that the store itself keeps; a quota counts the same. Files of references do not
 *   count
 * @property {number} tags  that protect something now; temporary tags do not count
 * @property {string} point  for `watch({ after })`: all events that are later than these counts, and maybe a few of the
 *   counted ones
 * @property {number} [bytesOnDisk]  bytes that the files of the store take; undefined when it is not in a directory
 * @property {number} [quota]  bytes; undefined when there is none
 */

/** @typedef {{ blobs: number, partial: number, bytes: number }} Counts */

/** Counts the blobs when a caller asks, and remembers the result until something changes. */
export class Census {
  #store
  #changes = 0
  #last = /** @type {{ counts: Counts, changes: number } | undefined} */ (undefined)

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  recordChanged () { this.#changes++ }
  groupsChanged () { this.#changes++ }

  /** See `BlobStore.info`. @param {{ signal?: AbortSignal }} options @returns {Promise<StoreInfo>} */
  async info ({ signal }) {
    signal?.throwIfAborted()
    const point = pointOf(this.#store.catalog.log.place)
    const changes = this.#changes
    const counts = this.#last?.changes === changes ? this.#last.counts : await this.#count(signal)
    if (this.#last === undefined || this.#last.changes < changes) this.#last = { changes, counts }
    const { databases, quota, tags } = this.#store
    const [tagCount, bytesOnDisk] = await Promise.all([tags.count(), databases.lenOnDisk()])
    const limit = quota.isLimited ? quota.limit : undefined
    return { ...counts, tags: tagCount, point, bytesOnDisk, quota: limit }
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Counts>} */
  async #count (signal) {
    const { catalog, life, presence } = this.#store
    const counts = { blobs: 0, partial: 0, bytes: 0 }
    counts.bytes += await catalog.bases.len()
    for await (const batch of catalog.entryBatches()) {
      for (const { record } of batch) {
        if (record === undefined) continue // A damaged record: fsck reports it.
        counts.blobs++
        if (!record.complete) counts.partial++
        counts.bytes += await presence.len(record)
      }
      signal?.throwIfAborted()
      life.assertOpen()
    }
    return counts
  }
}
