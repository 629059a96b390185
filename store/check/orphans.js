// Deals with orphans: data without a record, which a failed call, a crash or a power cut has left. It deletes them. But
// when a tag claims one, damage has cost a blob its record, and the blob gets one again.

import { BaoError } from '../../lib/core/errors.js'
import { HASH_LEN } from '../../lib/core/constants.js'
import { nameOf } from '../catalog/roots.js'
import { isOfSystem, orIfUnreadable } from '../storage/errors.js'
import { VIEWS, allOfIndex, isKnownKind } from '../storage/format/keys.js'
import { isWellFormed } from '../storage/format/records.js'
import { isInOrder } from '../storage/level/order.js'
import { recordedIds } from '../storage/opening/recorded-ids.js'
import { settleBlob } from './blob/settle-blob.js'
import { possibleBlobs } from './find-owner.js'

/** @import { Found } from './find-owner.js' */
/** @import { Left } from '../storage/opening/recovery.js' */
/** @import { Recorded } from '../storage/opening/recorded-ids.js' */
/** @import { StoreContext } from '../exchange/store-context.js' */

export class Orphans {
  #store

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * Sweeps what an earlier process has left.
   *
   * @param {Left} left @param {AbortSignal} [signal]
   */
  async sweepLeft ({ recorded, swept }, signal) {
    const { ids } = this.#store.databases
    const limit = ids.next
    const isDone = await this.#sweep(recorded, id => id >= swept && id < limit, signal).catch(error => {
      // A damaged tag does not say what it claims.
      if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
      return false
    })
    if (isDone) ids.setSwept(limit)
    await this.#cutOffBases(recorded, signal)
  }

  /**
   * Sweeps while the store is in use.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT when the index may have lost records: `fsck` decides what to do with their data
   */
  async sweep (signal) {
    const { index, ids } = this.#store.databases
    // Data that is written from now on may get its record later, so it does not count as an orphan.
    const limit = ids.next
    const underWay = new Set(ids.underWay)
    await ids.assertStateSound()
    await this.#sweep(await recordedIds(index, signal), id => id < limit && !underWay.has(id), signal)
  }

  /**
   * @param {Recorded} recorded
   * @param {(id: number) => boolean} isSettled  is it certain that no call will write a record for this id?
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when orphans cannot be told from other data; then nothing was deleted
   */
  async #sweep ({ ids, areAll }, isSettled, signal) {
    if (!areAll) return false
    const { databases } = this.#store
    const isOrphan = (/** @type {number} */ id) => isSettled(id) && !ids.has(id)
    // Data that LevelDB cannot read is left to `fsck`.
    const orphans = new Map((await databases.files?.ids() ?? []).filter(isOrphan).map(id => [id, true]))
    for await (const { id } of databases.dataIds(0)) {
      signal?.throwIfAborted()
      if (id !== undefined && isOrphan(id) && !orphans.has(id)) orphans.set(id, false)
    }
    if (orphans.size === 0) return true
    if (!await this.#isIndexWhole(signal)) return false
    const kept = await this.adopt(orphans, signal)
    for (const id of orphans.keys()) {
      signal?.throwIfAborted()
      if (!kept.has(id)) await orIfUnreadable(databases.deleteDoomed([{ id }]))
    }
    await databases.dropNotes()
    return true
  }

  /**
   * Gives a record to each orphan that a tag claims, directly or as a member of a sequence.
   *
   * @param {Map<number, boolean>} orphans  for each id: has it a file?
   * @param {AbortSignal} [signal]
   * @returns {Promise<Map<number, Uint8Array | undefined>>} the ids that may not be deleted, with the roots of their
   *   blobs; without a root when the system could not read the file
   * @throws {BaoError} STORE_CORRUPT when damage hides what tags claim
   */
  async adopt (orphans, signal) {
    const kept = /** @type {Map<number, Uint8Array | undefined>} */ (new Map())
    const found = /** @type {Map<string, Found>} */ (new Map())
    const { sequences } = await this.#store.tags.survey()
    if (sequences.length === 0 && await this.#store.tags.count() === 0) return kept
    for (const [id, hasFile] of orphans) {
      signal?.throwIfAborted()
      try {
        for await (const blob of possibleBlobs(this.#store.databases, id, hasFile)) found.set(nameOf(blob.root), blob)
      } catch (error) {
        if (!isOfSystem(error)) throw error
        kept.set(id, undefined)
      }
    }
    const adopt = async (/** @type {Found} */ blob) => {
      if (await this.#adopt(blob)) kept.set(blob.record.id, blob.root)
    }
    for (const blob of found.values()) if ((await this.#store.tags.tagOf(blob.root)).isTagged) await adopt(blob)
    // A sequence may have been among them.
    for (const sequence of sequences) {
      for await (const member of this.#membersOf(sequence, signal)) {
        const blob = found.get(nameOf(member))
        if (blob !== undefined) await adopt(blob)
      }
    }
    return kept
  }

  /** @param {Found} found @returns {Promise<boolean>} false when the blob has a record */
  #adopt ({ root, record }) {
    const { catalog, locks, presence } = this.#store
    return locks.run(nameOf(root), async () => {
      const now = await catalog.find(root)
      if (now.record !== undefined) return now.record.id === record.id
      await catalog.commit([{ root, after: record, gained: await presence.len(record) }])
      await settleBlob(this.#store, root, record)
      return true
    })
  }

  /** @param {Uint8Array} sequence @param {AbortSignal} [signal] */
  async * #membersOf (sequence, signal) {
    const record = await this.#store.catalog.get(sequence)
    if (record === undefined) return
    // Pieces begin at multiples of the length of a hash, where chunk groups begin.
    for await (const piece of this.#store.reader.present(sequence, record, signal)) {
      for (let at = 0; at + HASH_LEN <= piece.length; at += HASH_LEN) yield piece.subarray(at, at + HASH_LEN)
    }
  }

  /**
   * Cuts off the bytes after the longest sharer, which a crash has left in files that blobs share.
   *
   * @param {Recorded} recorded @param {AbortSignal} [signal]
   */
  async #cutOffBases ({ bases, areAll }, signal) {
    const { files } = this.#store.databases
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
    const { databases } = this.#store
    await databases.assertSound({ names: ['index'], checksOrder: true, signal })
    return await isInOrder(databases.index, signal) && this.#isIndexKnown(signal)
  }

  /** Does every entry of the index look like one that this release writes? @param {AbortSignal} [signal] */
  async #isIndexKnown (signal) {
    for await (const [key, value] of this.#store.databases.index.iterator({ ...allOfIndex, ...VIEWS })) {
      signal?.throwIfAborted()
      if (!isKnownKind(key) || !isWellFormed(key, value)) return false
    }
    return true
  }
}
