// How much of each pack is holes, as far as that is known in this life: who deletes one blob after the other should not count all of them each time.

import { ENTRY_LEN } from './pack.js'

/** @import { BlobRecord } from './keys.js' */

/** @typedef {{ len: number, holes: number }} Counted  bytes of a pack, and those that are not wanted */

/** Bytes of a pack that are there for a blob. @param {number} size  of the blob */
export const packedLen = size => size + ENTRY_LEN

export class Holes {
  #counted = /** @type {Map<number, Counted>} */ (new Map())
  /** Packs that have got holes and were not looked at since. */
  #withNew = /** @type {Set<number>} */ (new Set())

  get hasNew () { return this.#withNew.size > 0 }

  /** A hole was noted. @param {Pick<BlobRecord, 'id' | 'size'>} record  of the blob that was there */
  add ({ id, size }) {
    this.#withNew.add(id)
    const counted = this.#counted.get(id)
    if (counted !== undefined) counted.holes += packedLen(size)
  }

  /** Packs that have got holes since they were given by this. */
  * take () {
    for (const id of this.#withNew) {
      this.#withNew.delete(id)
      yield id
    }
  }

  /**
   * @param {number} id @param {() => Promise<Counted | undefined>} count  reads what is there
   * @returns {Promise<Counted | undefined>}
   */
  async of (id, count) {
    const counted = this.#counted.get(id) ?? await count()
    // One that came while others were counted may be among them or not: then they are counted again.
    if (counted !== undefined && !this.#withNew.has(id)) this.#counted.set(id, counted)
    return counted
  }

  /** The pack is gone. @param {number} id */
  forget (id) { this.#counted.delete(id) }
}
