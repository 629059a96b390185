// Deals with orphans: data without a record, which a failed call, a crash or a power cut has left. It deletes them. But
// when a tag claims one, damage has cost a blob its record, and the blob gets one again.

import { BaoError } from '../../lib/core/errors.js'
import { nameOf } from '../../lib/hash/roots.js'
import { isOfSystem, orIfUnreadable } from '../storage/errors.js'
import { VIEWS, allOfIndex, isKnownKind } from '../storage/format/keys.js'
import { isWellFormed } from '../storage/format/records.js'
import { isInOrder } from '../storage/level/order.js'
import { recordedIds } from '../storage/opening/recorded-ids.js'
import { possibleBlobs } from './identify-data.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { ClaimFinder, Claims } from './claims.js' */
/** @import { Found } from './identify-data.js' */
/** @import { Leftovers } from '../storage/opening/recovery.js' */
/** @import { Recorded } from '../storage/opening/recorded-ids.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Repairs } from './blob/repairs.js' */

/**
 * @typedef {object} Restoration
 * @property {Map<number, Uint8Array>} restored  the ids that have records now, with the roots of their blobs
 * @property {Set<number>} kept  other ids that must not be deleted, because the system cannot read their files, or the
 *   blob that claims them is not whole
 * @property {BaoError} [fault]  STORE_CORRUPT, when damage hides what else tags claim. Then no orphan may be deleted
 */

/** @typedef {Found & { isLongest: boolean }} Candidate  `isLongest`: no longer blob may have the same data */

export class Orphans {
  #catalog
  #claims
  #databases
  #locks
  #protection
  #repairs
  #tags

  /**
   * @param {object} parts
   * @param {Catalog} parts.catalog
   * @param {ClaimFinder} parts.claims
   * @param {Databases} parts.databases
   * @param {Locks} parts.locks
   * @param {Protection} parts.protection
   * @param {Repairs} parts.repairs
   * @param {TagIndex} parts.tags
   */
  constructor ({ catalog, claims, databases, locks, protection, repairs, tags }) {
    this.#catalog = catalog
    this.#claims = claims
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
      const isCertain = () => this.#isIndexWhole(signal)
      if (recorded.areAll) await this.#catalog.bases.cutOffAll(recorded.bases, { isCertain, signal })
    } catch (error) {
      // Damage hides records, or what tags claim. Then orphans stay, and the next opening looks again.
      if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
    }
  }

  /**
   * Sweeps while the store is in use. The caller holds the lock `gc`.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<boolean>} false when orphans cannot be told from other data, because a record is damaged. Then
   *   nothing was swept: a tagged sequence without a record may be among the orphans
   * @throws {BaoError} STORE_CORRUPT when the index may have lost records: `fsck` decides what to do with their data
   */
  async sweep (signal) {
    const databases = this.#databases
    const { index, ids } = databases
    // Data that is written from now on may get its record later, so it does not count as an orphan.
    const limit = ids.next
    const underWay = new Set(ids.underWay)
    await ids.assertStateSound()
    await databases.deletePostponed()
    return this.#sweep(await recordedIds(index, signal), id => id < limit && !underWay.has(id), signal)
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
    const { restored, kept, fault } = await this.restoreClaimed(orphans, { signal })
    if (fault !== undefined) throw fault
    for (const id of orphans.keys()) {
      signal?.throwIfAborted()
      if (restored.has(id) || kept.has(id)) continue
      // The data of a call that is deleting a blob has a note, perhaps together with that of other blobs.
      if (!await databases.isGoing(id)) await orIfUnreadable(databases.deleteDoomed([{ id }]))
    }
    await databases.dropNotes()
    return true
  }

  /**
   * Gives a record to each blob that a tag claims, directly or as a member of a sequence, and that has none.
   *
   * @param {Map<number, boolean>} orphans  by id, true for those with a file
   * @param {object} [options]
   * @param {string[]} [options.damaged]  names of blobs whose records are damaged: these blobs claim orphans, too
   * @param {AbortSignal} [options.signal]
   * @returns {Promise<Restoration>}
   */
  async restoreClaimed (orphans, { damaged = [], signal } = {}) {
    const restoration = /** @type {Restoration} */ ({ restored: new Map(), kept: new Set() })
    restoration.fault = (await this.#claims.of([], signal)).fault
    const hasTags = this.#protection.hasTags || restoration.fault !== undefined || await this.#tags.count() > 0
    if (!hasTags && damaged.length === 0) return restoration
    const found = await this.#blobsOf(orphans, restoration.kept, signal)
    const roots = found.map(({ root }) => root)
    const readClaims = async () => {
      const { names, sequences, fault } = await this.#claims.of(roots, signal)
      return { names: new Set([...names, ...damaged]), sequences, fault }
    }
    let claims = await readClaims()
    await this.#restore(found, { ...claims, isMeant: name => claims.sequences.has(name) }, restoration, signal)
    // A sequence that had lost its record could not tell its members before.
    if (restoration.restored.size > 0) claims = await readClaims()
    await this.#restore(found, { ...claims, isMeant: () => true }, restoration, signal)
    return { ...restoration, fault: claims.fault }
  }

  /**
   * Gives records to claimed blobs. Each orphan goes to the first blob that may have it. When some claims are not
   * known, it may only go to the longest blob that it may be: the others are beginnings of that one, which may be
   * claimed as well.
   *
   * @param {Candidate[]} found @param {Pick<Claims, 'names' | 'fault'> & { isMeant: (name: string) => boolean }} claims
   *   `isMeant`: returns false for a blob that is passed over, together with its orphan
   * @param {Restoration} restoration  changed
   * @param {AbortSignal} [signal]
   */
  async #restore (found, { names, fault, isMeant }, { restored, kept }, signal) {
    const passed = /** @type {Set<number>} */ (new Set())
    for (const { root, record, isLongest } of found) {
      const [name, { id }] = [nameOf(root), record]
      if (!names.has(name) || restored.has(id) || passed.has(id) || (fault !== undefined && !isLongest)) continue
      const outcome = isMeant(name) ? await this.#giveRecord(root, record, signal) : 'passed'
      if (outcome === 'restored') restored.set(id, root)
      if (outcome === 'incomplete') kept.add(id)
      if (outcome === 'passed') passed.add(id)
    }
  }

  /**
   * Finds the blobs that orphans may be. The beginning of a blob may be a blob, too: so the longest comes first, and of
   * one blob the copy of which most is there, and data of its own before that of a longer blob.
   *
   * @param {Map<number, boolean>} orphans
   * @param {Set<number>} kept  ids of which the system cannot read the files are added
   * @param {AbortSignal} [signal]
   * @returns {Promise<Candidate[]>}
   */
  async #blobsOf (orphans, kept, signal) {
    const databases = this.#databases
    const found = /** @type {Candidate[]} */ ([])
    for (const [id, hasFile] of orphans) {
      signal?.throwIfAborted()
      if (await databases.isGoing(id)) continue // A call has deleted the blob, although a tag names it.
      try {
        const blobs = []
        for await (const blob of possibleBlobs(databases, id, hasFile)) blobs.push(blob)
        found.push(...blobs.map((blob, i) => ({ ...blob, isLongest: i === blobs.length - 1 })))
      } catch (error) {
        if (!isOfSystem(error)) throw error
        kept.add(id)
      }
    }
    return found.sort((a, b) =>
      lenOf(b) - lenOf(a) || Number(b.isLongest) - Number(a.isLongest) || b.record.size - a.record.size)
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
   * @returns {Promise<'restored' | 'incomplete' | 'superfluous' | 'passed'>} `incomplete`: the blob has another record,
   *   and is not whole, or the system cannot read the file; `superfluous`: the blob is whole without this data, or
   *   nothing of the data is right; `passed`: LevelDB has not shown a record that names the data
   */
  #giveRecord (root, record, signal) {
    return this.#locks.run(nameOf(root), async () => {
      const now = await this.#catalog.find(root)
      if (now.record?.id === record.id) return 'passed'
      if (now.record !== undefined) return now.record.complete ? 'superfluous' : 'incomplete'
      const right = await this.#repairs.restore(root, record, signal)
      if (right === undefined) return 'incomplete'
      return right.isEmpty ? 'superfluous' : 'restored'
    })
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

/** How many bytes of a blob may be there, at most? @param {Candidate} candidate */
const lenOf = ({ len, record }) => Math.min(len, record.size)
