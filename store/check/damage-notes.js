// Notes damage that reads find. The damaged groups count as missing from then on, so that they can be put or received
// again. A damaged pair that can be computed from the bytes is not noted, but written again.

import { nameOf } from '../../lib/hash/roots.js'
import { contentOf } from '../storage/content/content-of.js'
import { partAround } from './blob/part.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Reservation } from '../catalog/quota.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Repairs } from './blob/repairs.js' */

export class DamageNotes {
  #activity
  #catalog
  #databases
  #locks
  #presence
  #rareParts

  /**
   * @param {object} parts
   * @param {Activity} parts.activity
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Locks} parts.locks
   * @param {Presence} parts.presence
   * @param {() => Promise<{ repairs: Repairs }>} parts.rareParts  called only if there is damage
   */
  constructor ({ activity, catalog, databases, locks, presence, rareParts }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#databases = databases
    this.#locks = locks
    this.#presence = presence
    this.#rareParts = rareParts
  }

  /**
   * Checks again, under the blob's lock, the bytes that a read could not prove, and repairs or notes the damage. If the
   * system cannot read the bytes, nothing is noted, because they may be right.
   *
   * It never rejects, because the reader has its own error to throw.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} seen  the record that the read has used
   * @param {{ start: number, end: number }} span  bytes that could not be proven. The 1 MiB around them is checked
   * @returns {Promise<BlobRecord | undefined>} the record as it is now; undefined when another call has replaced or
   *   deleted the blob, or the check has failed
   */
  note (root, seen, span) {
    if (!contentOf(this.#databases, root, seen).isReachable) return Promise.resolve(undefined)
    const noting = this.#activity.run(() => this.#locks.run(nameOf(root), async () => {
      const { record } = await this.#catalog.find(root)
      if (record === undefined) return undefined
      if (record.id !== seen.id) return record.isDamaged ? record : undefined // Another read may have noted the damage.
      const part = partAround(contentOf(this.#databases, root, record), span, await this.#presence.of(record))
      const { repairs } = await this.#rareParts()
      const right = await repairs.repair(root, record, { part })
      return right && (await this.#catalog.find(root)).record
    }))
    return noting.catch(() => undefined)
  }

  /**
   * Copies the right bytes of a reference into a file of the store, because the store never writes to a file of a
   * reference. The caller holds the blob's lock.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record  the record of a reference that is present in part
   * @param {Reservation[]} reservations  quota for the copy
   * @returns {Promise<BlobRecord | undefined>} the record as it is now
   */
  async copyReference (root, record, reservations) {
    const { repairs } = await this.#rareParts()
    const right = await repairs.repair(root, record, { reservations })
    // The system cannot read the file, so the whole blob must be received again.
    if (right === undefined) await repairs.noteAllMissing(root, record)
    return (await this.#catalog.find(root)).record
  }
}
