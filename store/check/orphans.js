// Deals with orphans: data without a record, which a failed call, a crash or a power cut has left. It deletes them. But
// when a tag claims one, damage has cost a blob its record, and the blob gets one again.

import { BaoError } from '../../lib/core/errors.js'
import { HASH_LEN } from '../../lib/core/constants.js'
import { nameOf } from '../../lib/hash/roots.js'
import { damagedSequence, isOfSystem, orIfUnreadable } from '../storage/errors.js'
import { VIEWS, allOfIndex, isKnownKind } from '../storage/format/keys.js'
import { isWellFormed } from '../storage/format/records.js'
import { isInOrder } from '../storage/level/order.js'
import { recordedIds } from '../storage/opening/recorded-ids.js'
import { possibleBlobs } from './identify-data.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Found } from './identify-data.js' */
/** @import { Leftovers } from '../storage/opening/recovery.js' */
/** @import { Recorded } from '../storage/opening/recorded-ids.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { BlobAccess } from '../read/blob-access.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Repairs } from './blob/repairs.js' */

export class Orphans {
  #access
  #catalog
  #databases
  #locks
  #protection
  #repairs
  #tags

  /**
   * @param {object} parts
   * @param {BlobAccess} parts.access
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Locks} parts.locks
   * @param {Protection} parts.protection
   * @param {Repairs} parts.repairs
   * @param {TagIndex} parts.tags
   */
  constructor ({ access, catalog, databases, locks, protection, repairs, tags }) {
    this.#access = access
    this.#catalog = catalog
    this.#databases = databases
    this.#locks = locks
    this.#protection = protection
    this.#repairs = repairs
    this.#tags = tags
  }

  /**
   * Sweeps what an earlier process has left.
   *
   * @param {Leftovers} leftovers @param {AbortSignal} [signal]
   */
  async sweepLeftovers ({ recorded, swept }, signal) {
    const { ids } = this.#databases
    const limit = ids.next
    try {
      if (await this.#sweep(recorded, id => id >= swept && id < limit, signal)) ids.setSwept(limit)
      await this.#cutOffBases(recorded, signal)
    } catch (error) {
      // Damage hides records, or what tags claim. Then orphans stay, and the next opening looks again.
      if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
    }
  }

  /**
   * Sweeps while the store is in use.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT when the index may have lost records: `fsck` decides what to do with their data
   */
  async sweep (signal) {
    const { index, ids } = this.#databases
    // Data that is written from now on may get its record later, so it does not count as an orphan.
    const limit = ids.next
    const underWay = new Set(ids.underWay)
    await ids.assertStateSound()
    await this.#sweep(await recordedIds(index, signal), id => id < limit && !underWay.has(id), signal)
  }

  /**
   * @param {Recorded} recorded
   * @param {(id: number) => boolean} isSettled  returns true when no call can write a record for this id any more
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when orphans cannot be told from other data; then nothing was deleted
   */
  async #sweep ({ ids, areAll }, isSettled, signal) {
    if (!areAll) return false
    const databases = this.#databases
    const isOrphan = (/** @type {number} */ id) => isSettled(id) && !ids.has(id)
    // Data that LevelDB cannot read is left to `fsck`.
    const orphans = new Map((await databases.files?.ids() ?? []).filter(isOrphan).map(id => [id, true]))
    for await (const { id } of databases.dataIds(0)) {
      signal?.throwIfAborted()
      if (id !== undefined && isOrphan(id) && !orphans.has(id)) orphans.set(id, false)
    }
    if (orphans.size === 0) return true
    if (!await this.#isIndexWhole(signal)) return false
    const { restored, kept } = await this.restoreClaimed(orphans, signal)
    for (const id of orphans.keys()) {
      signal?.throwIfAborted()
      if (!restored.has(id) && !kept.has(id)) await orIfUnreadable(databases.deleteDoomed([{ id }]))
    }
    await databases.dropNotes()
    return true
  }

  /**
   * Gives a record to each blob that a tag claims, directly or as a member of a sequence, and that has none.
   *
   * @param {Map<number, boolean>} orphans  by id, true for those with a file
   * @param {AbortSignal} [signal]
   * @returns {Promise<{ restored: Map<number, Uint8Array>, kept: Set<number> }>} `restored`: the ids that have records
   *   now, with the roots of their blobs; `kept`: other ids that must not be deleted, because the system cannot read
   *   their files, or the blob that claims them is not whole
   * @throws {BaoError} STORE_CORRUPT when damage hides what tags claim
   */
  async restoreClaimed (orphans, signal) {
    const restored = /** @type {Map<number, Uint8Array>} */ (new Map())
    const sequences = [...this.#protection.sequences, ...(await this.#tags.survey()).sequences]
    const mayClaim = sequences.length > 0 || this.#protection.hasTags || await this.#tags.count() > 0
    if (!mayClaim) return { restored, kept: new Set() }
    const { found, kept } = await this.#blobsOf(orphans, signal)
    const restore = async (/** @type {(root: Uint8Array) => Promise<boolean> | boolean} */ isClaimed) => {
      for (const { root, record } of found) {
        if (restored.has(record.id) || !await isClaimed(root)) continue
        const outcome = await this.#giveRecord(root, record, signal)
        if (outcome === 'restored') restored.set(record.id, root)
        if (outcome === 'incomplete') kept.add(record.id)
      }
    }
    await restore(async root => (await this.#tags.tagOf(root)).isTagged)
    const members = /** @type {Set<string>} */ (new Set())
    const names = new Set(found.map(({ root }) => nameOf(root)))
    // A sequence may have been restored now.
    for (const sequence of sequences) {
      for await (const member of this.#membersOf(sequence, signal)) {
        if (names.has(nameOf(member))) members.add(nameOf(member))
      }
    }
    await restore(root => members.has(nameOf(root)))
    return { restored, kept }
  }

  /**
   * Finds the blobs that orphans may be. The beginning of a blob may be a blob, too: so the longest comes first, and of
   * one blob the copy of which most is there.
   *
   * @param {Map<number, boolean>} orphans @param {AbortSignal} [signal]
   */
  async #blobsOf (orphans, signal) {
    const databases = this.#databases
    const found = /** @type {Found[]} */ ([])
    const kept = /** @type {Set<number>} */ (new Set())
    for (const [id, hasFile] of orphans) {
      signal?.throwIfAborted()
      if (await databases.isGoing(id)) continue // A call has deleted the blob, although a tag names it.
      try {
        for await (const blob of possibleBlobs(databases, id, hasFile)) found.push(blob)
      } catch (error) {
        if (!isOfSystem(error)) throw error
        kept.add(id)
      }
    }
    found.sort((a, b) => b.len - a.len || b.record.size - a.record.size)
    return { found, kept }
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
   * @returns {Promise<'restored' | 'incomplete' | 'superfluous'>} `incomplete`: the blob has another record, and is not
   *   whole, or the system cannot read the file; `superfluous`: the blob is whole without this data, or nothing of the
   *   data is right
   */
  #giveRecord (root, record, signal) {
    return this.#locks.run(nameOf(root), async () => {
      const now = await this.#catalog.find(root)
      if (now.record !== undefined) return now.record.complete ? 'superfluous' : 'incomplete'
      const right = await this.#repairs.restore(root, record, signal)
      if (right === undefined) return 'incomplete'
      return right.isEmpty ? 'superfluous' : 'restored'
    })
  }

  /** @param {Uint8Array} sequence @param {AbortSignal} [signal] @throws {BaoError} STORE_CORRUPT */
  async * #membersOf (sequence, signal) {
    const record = await this.#catalog.get(sequence)
    if (record === undefined) return
    if (record.isDamaged) throw damagedSequence(sequence)
    // Pieces begin at multiples of the length of a hash, where chunk groups begin.
    for await (const piece of this.#access.present(sequence, record, signal)) {
      for (let at = 0; at + HASH_LEN <= piece.length; at += HASH_LEN) yield piece.subarray(at, at + HASH_LEN)
    }
  }

  /**
   * Cuts off the bytes after the longest sharer, which a crash has left in files that blobs share.
   *
   * @param {Recorded} recorded @param {AbortSignal} [signal]
   */
  async #cutOffBases ({ bases, areAll }, signal) {
    const { files } = this.#databases
    if (!areAll || files === undefined) return
    const tooLong = []
    for (const [base, longest] of bases) {
      signal?.throwIfAborted()
      if ((await files.len(base) ?? 0) > longest) tooLong.push({ base, longest })
    }
    if (tooLong.length === 0 || !await this.#isIndexWhole(signal)) return
    for (const { base, longest } of tooLong) await files.cutOff(base, longest)
  }

  /**
   * Is it certain that no record is hidden? Only then is data without a record an orphan. One flipped bit in a table of
   * LevelDB may hide a record.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT
   */
  async #isIndexWhole (signal) {
    const databases = this.#databases
    await databases.assertTablesSound({ names: ['index'], checksOrder: true, signal })
    return await isInOrder(databases.index, signal) && this.#isIndexKnown(signal)
  }

  /** Does every entry of the index look like one that this release writes? @param {AbortSignal} [signal] */
  async #isIndexKnown (signal) {
    for await (const [key, value] of this.#databases.index.iterator({ ...allOfIndex, ...VIEWS })) {
      signal?.throwIfAborted()
      if (!isKnownKind(key) || !isWellFormed(key, value)) return false
    }
    return true
  }
}
