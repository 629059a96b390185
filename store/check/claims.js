// Finds the blobs that tags claim. A tag claims the blob that it names, and the members of a sequence that it names.
// Claimed blobs may have lost their records to damage.

import { BaoError } from '../../lib/core/errors.js'
import { HASH_LEN } from '../../lib/core/constants.js'
import { nameOf } from '../../lib/hash/roots.js'
import { damagedSequence } from '../storage/errors.js'

/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { BlobAccess } from '../read/blob-access.js' */

/**
 * @typedef {object} Claims
 * @property {Set<string>} names  the names of the claimed blobs
 * @property {Set<string>} sequences  the names of the sequences that tags name
 * @property {boolean} areAll  false when a sequence is missing, or damage hides a part of the claims
 * @property {BaoError} [fault]  STORE_CORRUPT, when damage hides a part of the claims
 */

/** @typedef {{ access: BlobAccess, catalog: Catalog, protection: Protection, tags: TagIndex }} ClaimParts */

export class ClaimFinder {
  #access
  #catalog
  #protection
  #tags

  /** @param {ClaimParts} parts */
  constructor ({ access, catalog, protection, tags }) {
    this.#access = access
    this.#catalog = catalog
    this.#protection = protection
    this.#tags = tags
  }

  /**
   * Finds out which of these blobs are claimed by tags, including temporary tags.
   *
   * @param {Uint8Array[]} roots @param {AbortSignal} [signal]
   * @returns {Promise<Claims>}
   */
  async of (roots, signal) {
    /** @type {Claims} */
    const claims = { names: new Set(), sequences: new Set(), areAll: true }
    await noteFault(claims, async () => {
      for (const root of roots) if ((await this.#tags.tagOf(root)).isTagged) claims.names.add(nameOf(root))
    })
    const asked = new Set(roots.map(nameOf))
    const sequences = /** @type {Uint8Array[]} */ ([...this.#protection.sequences])
    await noteFault(claims, async () => { sequences.push(...(await this.#tags.survey()).sequences) })
    for (const sequence of sequences) {
      claims.sequences.add(nameOf(sequence))
      await noteFault(claims, () => this.#addMembers(sequence, asked, claims, signal))
    }
    return claims
  }

  /**
   * Adds each asked blob that is a member of a sequence to the claims.
   *
   * @param {Uint8Array} sequence @param {Set<string>} asked  the names of the blobs
   * @param {Claims} claims @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT
   */
  async #addMembers (sequence, asked, claims, signal) {
    const record = await this.#catalog.get(sequence)
    if (record === undefined) claims.areAll = false
    if (record === undefined || asked.size === 0) return
    // Pieces begin at borders of groups, so no hash is divided between two pieces.
    for await (const piece of this.#access.present(sequence, record, signal)) {
      for (let at = 0; at + HASH_LEN <= piece.length; at += HASH_LEN) {
        const name = nameOf(piece.subarray(at, at + HASH_LEN))
        if (asked.has(name)) claims.names.add(name)
      }
    }
    if (record.isDamaged) throw damagedSequence(sequence)
  }
}

/** @param {Claims} claims @param {() => Promise<void>} work */
async function noteFault (claims, work) {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof BaoError) || error.code !== 'STORE_CORRUPT') throw error
    claims.fault ??= error
    claims.areAll = false
  }
}
