// Notes damage that reads find: from then on the groups count as missing, so that they can be put or received again. A
// pair of the tree that can be computed again is no loss, and is written again.

import { nameOf } from '../catalog/roots.js'
import { fileIdOf } from '../storage/format/records.js'
import { partAround } from './blob/inspect-blob.js'
import { leaveData, settleBlob } from './blob/settle-blob.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Reservation } from '../catalog/quota.js' */
/** @import { StoreContext } from '../exchange/store-context.js' */

export class DamageNotes {
  #store

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * Looks once more at bytes that a read could not prove, under the blob's lock, and settles what is wrong of them.
   * Nothing is noted while the system cannot read them, for then they may be right.
   *
   * Does not fail: a reader has an error of its own to throw.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} seen  that the read went by
   * @param {{ start: number, end: number }} span  bytes. 1 MiB around them is looked at
   * @returns {Promise<BlobRecord | undefined>} the record as it is now; undefined when the blob was replaced or deleted
   *   meanwhile, or nothing could be found out
   */
  note (root, seen, span) {
    const { activity, catalog, databases, locks, presence } = this.#store
    const isReachable = seen.home === 'extents' || databases.files !== undefined
    if (!isReachable) return Promise.resolve(undefined)
    const noting = activity.run(() => locks.run(nameOf(root), async () => {
      const { record } = await catalog.find(root)
      if (record === undefined) return undefined
      if (record.id !== seen.id) return record.isDamaged ? record : undefined // then another read has noted it
      databases.files?.forget(fileIdOf(record)) // it may have been replaced
      const part = partAround(record, span, await presence.of(record))
      const right = await settleBlob(this.#store, root, record, { part })
      return right && (await catalog.find(root)).record
    }))
    return noting.catch(() => undefined)
  }

  /**
   * Copies what is right of a reference into a file of the store, because nothing can be received into somebody else's.
   * The caller holds the blob's lock.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record  of a reference of which a part is missing
   * @param {Reservation[]} reservations  of quota, for the copy
   * @returns {Promise<BlobRecord | undefined>} the record as it is now
   */
  async copyReference (root, record, reservations) {
    const right = await settleBlob(this.#store, root, record, { reservations })
    // What cannot be read is given up for what comes.
    if (right === undefined) await leaveData(this.#store, root, record)
    return (await this.#store.catalog.find(root)).record
  }
}
