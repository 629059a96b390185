// Bytes that wait until there are enough of them. Memory grows with what has come, never with what is expected.

import { CHUNK_LEN } from './constants.js'

const NOTHING = new Uint8Array(0)

export class ByteQueue {
  #memory = NOTHING
  len = 0

  /** A view of what waits, until the next change. */
  get bytes () { return this.len === 0 ? NOTHING : this.#memory.subarray(0, this.len) }

  /** @param {Uint8Array} bytes  copied @param {number} max  how many bytes there can be at most: no more memory than that is taken */
  push (bytes, max) {
    const len = this.len + bytes.length
    if (len > this.#memory.length) {
      const roomier = new Uint8Array(Math.max(len, Math.min(max, Math.max(CHUNK_LEN, 2 * this.#memory.length))))
      roomier.set(this.bytes)
      this.#memory = roomier
    }
    this.#memory.set(bytes, this.len)
    this.len = len
  }

  /** Forgets the first bytes. @param {number} len */
  shift (len) {
    this.#memory.copyWithin(0, len, this.len)
    this.len -= len
  }

  clear () { this.len = 0 }
}
