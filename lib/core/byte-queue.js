// A queue of bytes that wait until there are enough of them. Its memory grows with the bytes in it, and never with a
// claimed length.

import { CHUNK_LEN } from './constants.js'

const NOTHING = new Uint8Array(0)

export class ByteQueue {
  #memory = NOTHING
  len = 0

  /** A view of the bytes, valid until the next change. */
  get bytes () { return this.len === 0 ? NOTHING : this.#memory.subarray(0, this.len) }

  /**
   * Appends bytes.
   *
   * @param {Uint8Array} bytes  copied
   * @param {number} max  the maximum number of bytes that the queue will ever have. It never reserves more memory than
   *   that
   */
  push (bytes, max) {
    const len = this.len + bytes.length
    if (len > this.#memory.length) {
      const larger = new Uint8Array(Math.max(len, Math.min(max, Math.max(CHUNK_LEN, 2 * this.#memory.length))))
      larger.set(this.bytes)
      this.#memory = larger
    }
    this.#memory.set(bytes, this.len)
    this.len = len
  }

  /** Removes the first bytes. @param {number} len */
  shift (len) {
    this.#memory.copyWithin(0, len, this.len)
    this.len -= len
  }

  clear () { this.len = 0 }
}
