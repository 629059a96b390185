// Restores orphans that tags claim: damage has destroyed the records of their blobs, and the blobs get records again.

import { nameOf } from '../../lib/hash/roots.js'
import { isOfSystem } from '../storage/errors.js'
import { possibleBlobs } from './identify-data.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { ClaimFinder, Claims } from './claims.js' */
/** @import { Found } from './identify-data.js' */
/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Repairs } from './blob/repairs.js' */

/**
 * @typedef {object} Restoration
 * @property {Map<number, Uint8Array>} restored  the ids that have records now, with the roots of their blobs
 * @property {Set<number>} kept  other ids whose data must not be deleted, because the system cannot read the file, or
 *   the claimed blob has another record and is not whole
 * @property {BaoError} [fault]  STORE_CORRUPT, when damage hides a part of the claims. Then no orphan may be deleted
 */

/** @typedef {Found & { isLongest: boolean }} Candidate  `isLongest`: true for the longest blob for its data */

export class OrphanRestorer {
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
   * Gives a record to each blob without one that a tag claims, directly or as a member of a sequence.
   *
   * @param {Map<number, boolean>} orphans  by id, true for those with a file
   * @param {object} [options]
   * @param {string[]} [options.damaged]  names of blobs whose records are damaged. These blobs also claim orphans
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
    // A sequence that has a record again now claims its members.
    if (restoration.restored.size > 0) claims = await readClaims()
    await this.#restore(found, { ...claims, isMeant: () => true }, restoration, signal)
    return { ...restoration, fault: claims.fault }
  }

  /**
   * Gives records to claimed blobs. Each orphan goes to the first claimed blob in the list to which it may belong. When
   * damage hides some claims, it goes only to the longest blob to which it may belong. The others are beginnings of
   * that blob, and damage may hide a claim to it.
   *
   * @param {Candidate[]} found @param {Pick<Claims, 'names' | 'fault'> & { isMeant: (name: string) => boolean }} claims
   *   `isMeant`: returns false for a blob to pass over, together with its orphan
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
   * Finds the blobs to which orphans may belong. The beginning of a blob may be a blob, too, so the order is: first the
   * data with the most bytes of its blob; among equals, data that does not belong to a longer blob; then the longest
   * blob.
   *
   * @param {Map<number, boolean>} orphans
   * @param {Set<number>} kept  gets the ids whose files the system cannot read
   * @param {AbortSignal} [signal]
   * @returns {Promise<Candidate[]>}
   */
  async #blobsOf (orphans, kept, signal) {
    const databases = this.#databases
    const found = /** @type {Candidate[]} */ ([])
    for (const [id, hasFile] of orphans) {
      signal?.throwIfAborted()
      if (await databases.isGivenUp(id)) continue // A call has deleted the blob despite a tag.
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
   *   and each has chunks that the other lacks, or the system cannot read a file; `superfluous`: the data adds nothing
   *   to the blob, or none of it is right; `passed`: a record names the data, but LevelDB did not show that record in
   *   its iteration
   */
  #giveRecord (root, record, signal) {
    return this.#locks.run(nameOf(root), async () => {
      const { record: replaced } = await this.#catalog.find(root)
      if (replaced?.id === record.id) return 'passed'
      if (replaced?.complete) return 'superfluous'
      const right = await this.#repairs.restore(root, record, { replaced, signal })
      if (right === undefined) return 'incomplete'
      return right.isEmpty ? 'superfluous' : 'restored'
    })
  }
}

/** Returns the maximum number of bytes of a blob that the data may have. @param {Candidate} candidate */
const lenOf = ({ len, record }) => Math.min(len, record.size)
