// When blobs were last used, for readers that walk all blobs in the order of their hashes: the times are read beside
// them.

import { Beside } from './sorted-cursor.js'
import { SMALL_ENTRIES } from '../storage/level/walk.js'
import { BaoError } from '../../lib/core/errors.js'
import { usedWith } from '../storage/format/keys.js'
import { decodeTime } from '../storage/format/records.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Database } from '../storage/level/database.js' */

export class UsedTimes {
  #beside
  #remembered
  #lastUsed
  #isReadable = true

  /**
   * @param {Database} index
   * @param {string} prefix  of the hashes of these blobs, in hexadecimal digits
   * @param {object} catalog
   * @param {(root: Uint8Array) => number | undefined} catalog.remembered  a use that the index may not have yet
   * @param {(root: Uint8Array, record: BlobRecord) => Promise<number>} catalog.lastUsed  looks up one blob
   */
  constructor (index, prefix, { remembered, lastUsed }) {
    this.#beside = new Beside(index.iterator({ ...usedWith(prefix), ...SMALL_ENTRIES }))
    this.#remembered = remembered
    this.#lastUsed = lastUsed
  }

  /**
   * When a blob was last used: not before it was created. Blobs must be asked for in their order.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<number>} milliseconds since 1970
   */
  async of (root, record) {
    const time = this.#remembered(root) ?? await this.#stored(root)
    return time === undefined ? this.#lastUsed(root, record) : Math.max(time, record.created)
  }

  /**
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} 0 for a blob without a time; undefined when it has to be looked up
   */
  async #stored (root) {
    if (!this.#isReadable) return undefined
    try {
      const entry = await this.#beside.find(root)
      return (entry && decodeTime(entry[1])) ?? 0
    } catch (error) {
      if (!(error instanceof BaoError)) throw error
      this.#isReadable = false // LevelDB cannot read some of the times; others can still be looked up
      return undefined
    }
  }

  close () { return this.#beside.close() }
}
