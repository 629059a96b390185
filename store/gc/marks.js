// What a garbage collection has found protected, kept up to date while it sweeps.

import { HASH_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { concat } from '../../lib/core/bytes.js'
import { HashSet } from './hash-set.js'
import { nameOf } from '../catalog/roots.js'

/** @import { StoreContext } from '../blob-store.js' */
/** @import { TagFormat } from '../storage/format/records.js' */

/** Hashes that are looked up at a time. */
const LOOKUP_HASHES = 512

export class Marks {
  #store
  /** Blobs that are here and named by a sequence, and what was tagged or arrived since the marks were begun. */
  #hashes = new HashSet()
  /** Sequences of hashes that are to be read. */
  #waiting = /** @type {Uint8Array[]} */ ([])
  /** Sequences that were not here in whole when they were read: what arrives of them protects more. */
  #unfinished = /** @type {Set<string>} */ (new Set())

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /** How many hashes are kept in memory. */
  get size () { return this.#hashes.size }

  /** @param {string} name  of a blob, in memory */
  has (name) { return this.#hashes.has(name) }

  /** @param {Uint8Array} root @param {TagFormat} format */
  keep (root, format) {
    this.#hashes.add(root)
    if (format === 'hashseq') this.#waiting.push(root)
  }

  /** @param {Uint8Array} root */
  arrived (root) {
    this.keep(root, this.#unfinished.has(nameOf(root)) ? 'hashseq' : 'raw')
  }

  /**
   * Reads the sequences that have not been read: until then it cannot be told what else is protected.
   *
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_CORRUPT
   */
  async settle (signal) {
    while (this.#waiting.length > 0) {
      const root = this.#waiting[0]
      this.#unfinished.add(nameOf(root))
      if (await this.#read(root, signal)) this.#waiting.shift()
    }
  }

  /** @param {Uint8Array} root @param {AbortSignal} [signal] @returns {Promise<boolean>} false when it has to be read again */
  async #read (root, signal) {
    const record = await this.#store.catalog.record(root)
    if (record === undefined) return true
    try {
      await this.#markMembers(this.#store.reader.here(root, record, signal))
    } catch (error) {
      // Gone or replaced meanwhile: what it is now is looked at again.
      if (error instanceof BaoError && (error.code === 'STORE_CHANGED' || error.code === 'STORE_NOT_FOUND')) return false
      throw error
    }
    if (record.complete) this.#unfinished.delete(nameOf(root))
    return true
  }

  /**
   * Only those that are here are remembered: however long a sequence is, memory follows what is in the store. What is left behind the last whole
   * hash names nothing.
   *
   * @param {AsyncIterable<Uint8Array>} pieces
   */
  async #markMembers (pieces) {
    let rest = new Uint8Array(0)
    for await (const piece of pieces) {
      const bytes = concat([rest, piece])
      const count = Math.floor(bytes.length / HASH_LEN)
      for (let i = 0; i < count; i += LOOKUP_HASHES) await this.#markAll(bytes.subarray(i * HASH_LEN, Math.min(i + LOOKUP_HASHES, count) * HASH_LEN))
      rest = bytes.slice(count * HASH_LEN)
    }
  }

  /** @param {Uint8Array} hashes  one behind the other */
  async #markAll (hashes) {
    const roots = Array.from({ length: hashes.length / HASH_LEN }, (_, i) => hashes.subarray(i * HASH_LEN, (i + 1) * HASH_LEN))
    for (const root of await this.#store.catalog.recorded(roots)) this.#hashes.add(root)
  }
}
