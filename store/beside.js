// Parts of the index lie in the order of the blobs: walking them side by side costs no lookups and no memory.

import { compare } from 'uint8arrays/compare'
import { damagedRecord, isCorruption } from './faults.js'
import { orderOfKey } from './keys.js'

/** @typedef {[key: Uint8Array, value: Uint8Array]} Entry */

export class Beside {
  #iterator
  #entry = /** @type {Entry | undefined} */ (undefined)
  #hasEnded = false

  /** @param {{ next: () => Promise<Entry | undefined>, close: () => Promise<void> }} iterator  over keys with a hash, in their order */
  constructor (iterator) {
    this.#iterator = iterator
  }

  /** The first entry of a blob. Blobs must be asked for in their order. @param {Uint8Array} root */
  async find (root) {
    while (!this.#hasEnded && (this.#entry === undefined || compare(orderOfKey(this.#entry[0]), root) < 0)) {
      this.#entry = await this.#next()
      this.#hasEnded = this.#entry === undefined
    }
    return this.#entry !== undefined && compare(orderOfKey(this.#entry[0]), root) === 0 ? this.#entry : undefined
  }

  /** What cannot be read may be what is asked for. */
  async #next () {
    try {
      return await this.#iterator.next()
    } catch (error) {
      throw isCorruption(error) ? damagedRecord() : error
    }
  }

  close () { return this.#iterator.close() }
}
