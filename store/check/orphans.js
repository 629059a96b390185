// Finds orphans: data without a record, left by a failed call, a crash or a power cut. It restores those that tags
// claim (restore-orphans.js), and deletes the others.

import { BaoError } from '../../lib/core/errors.js'
import { orIfUnreadable } from '../storage/errors.js'
import { VIEWS, allOfIndex, isKnownKind } from '../storage/format/keys.js'
import { isWellFormed } from '../storage/format/records.js'
import { isInOrder } from '../storage/level/order.js'
import { recordedIds } from '../storage/opening/recorded-ids.js'

/** @import { Leftovers } from '../storage/opening/recovery.js' */
/** @import { Recorded } from '../storage/opening/recorded-ids.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { OrphanRestorer } from './restore-orphans.js' */

export class Orphans {
  #catalog
  #databases
  #rareParts

  /**
   * @param {object} parts
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {() => Promise<{ restorer: OrphanRestorer }>} parts.rareParts  called only if there are orphans
   */
  constructor ({ catalog, databases, rareParts }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#rareParts = rareParts
  }

  /**
   * Sweeps the leftovers of an earlier process.
   *
   * @param {Leftovers} leftovers @param {AbortSignal} [signal]
   */
  async sweepLeftovers ({ recorded, swept }, signal) {
    const { ids } = this.#databases
    const limit = ids.next
    try {
      if (await this.#sweep(recorded, id => id >= swept && id < limit, signal)) ids.setSwept(limit)
      const isCertain = () => this.#isIndexWhole(signal)
      if (recorded.areAll) await this.#catalog.bases.cutOffAll(recorded.bases, { isCertain, signal })
    } catch (error) {
      // Damage hides records or claims. Then the orphans stay, and the next opening tries again.
      if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
    }
  }

  /**
   * Sweeps while the store is in use. The caller holds the lock `gc`.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when orphans cannot be told from other data, because a record is damaged. Then
   *   nothing was swept, and a tagged sequence without a record may be among the orphans
   * @throws {BaoError} STORE_CORRUPT when the index may have lost records. Their data is left to `fsck`
   */
  async sweep (signal) {
    const databases = this.#databases
    const { index, ids } = databases
    // Data that is written from now on may get its record later, so it is not an orphan.
    const limit = ids.next
    const underWay = new Set(ids.underWay)
    await ids.assertStateSound()
    await databases.deletePostponed()
    return this.#sweep(await recordedIds(index, signal), id => id < limit && !underWay.has(id), signal)
  }

  /**
   * @param {Recorded} recorded
   * @param {(id: number) => boolean} isSettled  returns true if no call can still write a record for this id
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when orphans cannot be told from other data; then nothing was deleted
   */
  async #sweep ({ ids, areAll }, isSettled, signal) {
    if (!areAll) return false
    const databases = this.#databases
    const isOrphan = (/** @type {number} */ id) => isSettled(id) && !ids.has(id)
    // Entries that LevelDB cannot read are left to `fsck`.
    const orphans = new Map((await databases.files?.ids() ?? []).filter(isOrphan).map(id => [id, true]))
    for await (const { id } of databases.dataIds(0)) {
      signal?.throwIfAborted()
      if (id !== undefined && isOrphan(id) && !orphans.has(id)) orphans.set(id, false)
    }
    if (orphans.size === 0) return true
    if (!await this.#isIndexWhole(signal)) return false
    const { restorer } = await this.#rareParts()
    const { restored, kept, fault } = await restorer.restoreClaimed(orphans, { signal })
    if (fault !== undefined) throw fault
    for (const id of orphans.keys()) {
      signal?.throwIfAborted()
      if (restored.has(id) || kept.has(id)) continue
      // A call may be deleting this data. Its note may name the data of other blobs, too, so leave it to the call.
      if (!await databases.isGivenUp(id)) await orIfUnreadable(databases.deleteGivenUp([{ id }]))
    }
    await databases.dropNotes()
    return true
  }

  /**
   * Returns true if it is certain that no record is hidden, because only then is data without a record an orphan. One
   * flipped bit in a table of LevelDB may hide a record.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT
   */
  async #isIndexWhole (signal) {
    const databases = this.#databases
    await databases.assertTablesSound({ names: ['index'], checksOrder: true, signal })
    return await isInOrder(databases.index, signal) && this.#isIndexKnown(signal)
  }

  /** Returns true if every entry of the index has a form that this release writes. @param {AbortSignal} [signal] */
  async #isIndexKnown (signal) {
    for await (const [key, value] of this.#databases.index.iterator({ ...allOfIndex, ...VIEWS })) {
      signal?.throwIfAborted()
      if (!isKnownKind(key) || !isWellFormed(key, value)) return false
    }
    return true
  }
}
