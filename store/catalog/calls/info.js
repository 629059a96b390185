// Counts what is in a store.
//
// The numbers are not kept beside the records: each would have to be written with every change, and be right after any
// crash. The index is looked through instead, and what was counted holds until something changes.

import { pointOf } from '../events/watch.js'

/** @import { StoreContext } from '../../exchange/store-context.js' */

/**
 * @typedef {object} StoreInfo
 * @property {number} blobs  whole or in part
 * @property {number} partial  those of which a part is missing
 * @property {number} bytes  of blobs that the store itself keeps: what a quota counts. Files of references do not count
 * @property {number} tags  that protect something now; temporary ones do not count
 * @property {string} point  for `watch({ after })`: all that came later than these counts, and maybe some of it
 * @property {number} [bytesOnDisk]  that the files of the store take; undefined where it is not in a directory
 * @property {number} [quota]  bytes; undefined when there is none
 */

/** @typedef {{ blobs: number, partial: number, bytes: number }} Counts */

/** Counts when it is asked, and remembers the result until something changes. */
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
    if (this.#last?.changes !== changes) this.#last = { changes, counts: await this.#count(signal) }
    const { databases, quota, tags } = this.#store
    const [tagCount, bytesOnDisk] = await Promise.all([tags.count(), databases.lenOnDisk()])
    const limit = quota.isLimited ? quota.limit : undefined
    return { ...this.#last.counts, tags: tagCount, point, bytesOnDisk, quota: limit }
  }

  /** @param {AbortSignal} [signal] @returns {Promise<Counts>} */
  async #count (signal) {
    const { catalog, life, presence } = this.#store
    const counts = { blobs: 0, partial: 0, bytes: 0 }
    counts.bytes += await catalog.bases.len()
    for await (const batch of catalog.entryBatches()) {
      for (const { record } of batch) {
        if (record === undefined) continue // a damaged one: fsck tells
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
