// Joins a walk over all blobs with another part of the index that is sorted by the hashes of blobs. It does not need
// lookups, and keeps only one batch of entries in memory.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { damagedRecord, isCorruption } from '../errors.js'
import { BATCH_ENTRIES } from './entries.js'

/** @import { Entry } from './entries.js' */

export class SortedCursor {
  #iterator
  #batch = /** @type {Entry[]} */ ([])
  #at = 0
  #hasEnded = false
  #sign

  /**
   * @param {{ nextv: (size: number) => Promise<Entry[]>, close: () => Promise<void> }} iterator  over keys that contain
   *   a hash, in the order of the hashes
   * @param {{ reverse?: boolean }} [options]  `reverse`: true if the iterator goes backwards. Default: false
   */
  constructor (iterator, { reverse = false } = {}) {
    this.#iterator = iterator
    this.#sign = reverse ? -1 : 1
  }

  /** Returns the first entry of a blob. Callers ask for blobs in the order of their hashes. @param {Uint8Array} root */
  async find (root) {
    for (;;) {
      if (this.#at === this.#batch.length && !await this.#next()) return undefined
      const entry = this.#batch[this.#at]
      const order = this.#sign * compareWithKey(root, entry[0])
      if (order <= 0) return order === 0 ? entry : undefined
      this.#at++
    }
  }

  /**
   * Returns true if a blob has an entry that `isMeant` accepts. Callers ask for blobs in the order of their hashes, and
   * only once for each blob.
   *
   * @param {Uint8Array} root @param {(entry: Entry) => boolean} isMeant
   */
  async some (root, isMeant) {
    for (let entry = await this.find(root); entry !== undefined; entry = await this.find(root)) {
      if (isMeant(entry)) return true
      this.#at++
    }
    return false
  }

  /** Reads the next batch. @returns {Promise<boolean>} false at the end @throws STORE_CORRUPT when it is unreadable */
  async #next () {
    if (this.#hasEnded) return false
    try {
      this.#batch = await this.#iterator.nextv(BATCH_ENTRIES)
    } catch (error) {
      throw isCorruption(error) ? damagedRecord() : error
    }
    this.#at = 0
    this.#hasEnded = this.#batch.length === 0
    return !this.#hasEnded
  }

  close () { return this.#iterator.close() }
}

/**
 * Compares a hash with the hash in a key.
 *
 * @param {Uint8Array} root @param {Uint8Array} key  a damaged key may be too short
 * @returns {number} below 0 if the hash sorts before that of the key, 0 if they are equal, above 0 otherwise
 */
function compareWithKey (root, key) {
  for (let i = 0; i < HASH_LEN; i++) {
    if (i + 1 >= key.length) return 1
    if (root[i] !== key[i + 1]) return root[i] - key[i + 1]
  }
  return 0
}
