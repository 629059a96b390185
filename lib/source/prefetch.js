// Reads short spans, in increasing order, from a source. It reads the source in long pieces, because that is quicker,
// and reads the next piece while the caller works on one.

import { PIECE_LEN, readUpTo } from './read-pieces.js'
import { untilAborted } from './async-util.js'
import { assertInteger, concat } from '../core/bytes.js'

/** @import { RandomAccess } from '../core/types.js' */
/** @import { ByteRange } from '../tree/ranges.js' */

/** @typedef {{ bytes: Uint8Array, buffer?: Uint8Array }} Piece  `buffer`: the memory of the bytes, if it is reusable */

/** The maximum number of buffers that are kept for later pieces. */
const MAX_FREE = 3

export class Prefetcher {
  #source
  #ranges
  #signal
  /** The index of the range that contains the current piece, and the piece. */
  #range = 0
  #start = 0
  #bytes = /** @type {Uint8Array} */ (new Uint8Array(0))
  /** Buffers of whole pieces: first those that may be overwritten, then those that the caller borrows. */
  #free = /** @type {Uint8Array[]} */ ([])
  #borrowed = /** @type {Uint8Array[]} */ ([])
  /** The next piece, which is being read. @type {{ start: number, reading: Promise<Piece> } | undefined} */
  #next

  /**
   * @param {RandomAccess} source
   * @param {ByteRange[]} ranges  the bytes that the caller will read, increasing; nothing else is read
   * @param {AbortSignal} [signal]
   */
  constructor (source, ranges, signal) {
    this.#source = source
    this.#ranges = ranges
    this.#signal = signal
  }

  /**
   * Ends the borrowing of all bytes that were returned so far. Their memory is reused, except that of the current
   * piece.
   */
  reclaimBuffers () {
    for (const buffer of this.#borrowed.splice(0)) {
      if (buffer.buffer === this.#bytes.buffer) this.#borrowed.push(buffer)
      else if (this.#free.length < MAX_FREE) this.#free.push(buffer)
    }
  }

  /**
   * @param {number} start  not below that of the last call @param {number} end
   * @returns {Promise<Uint8Array>} borrowed until `reclaimBuffers`; fewer bytes only at the end of the source
   */
  async read (start, end) {
    const parts = []
    for (let at = start; at < end;) {
      if (at < this.#start || at >= this.#start + this.#bytes.length) await this.#load(at)
      const part = this.#bytes.subarray(at - this.#start, end - this.#start)
      if (part.length === 0) break
      parts.push(part)
      at += part.length
    }
    return parts.length === 1 ? parts[0] : concat(parts)
  }

  /** @param {number} start */
  async #load (start) {
    const stop = this.#stopOf(start)
    const next = this.#next
    this.#next = undefined
    const reading = next?.start === start ? next.reading : this.#read(start, stop)
    const { bytes, buffer } = await untilAborted(reading, this.#signal)
    this.#bytes = bytes
    if (buffer !== undefined) this.#borrowed.push(buffer)
    this.#start = start
    if (!this.#signal?.aborted && this.#source.overlaps && bytes.length === stop - start) this.#readAhead(stop)
  }

  /** @param {number} start */
  #readAhead (start) {
    const stop = this.#stopOf(start)
    if (stop === start) return
    const reading = this.#read(start, stop)
    reading.catch(() => {}) // it may fail before it is awaited, or may never be awaited
    this.#next = { start, reading }
  }

  /** @param {number} start @param {number} end @returns {Promise<Piece>} */
  async #read (start, end) {
    this.#signal?.throwIfAborted()
    if (this.#source.readInto === undefined || end - start < PIECE_LEN) {
      return { bytes: await readUpTo(this.#source, start, end, this.#signal) }
    }
    const buffer = this.#free.pop() ?? new Uint8Array(PIECE_LEN)
    const len = await this.#source.readInto(buffer, start)
    assertInteger('what source.readInto gave', len, 0, buffer.length)
    return { bytes: buffer.subarray(0, len), buffer }
  }

  /**
   * The end of the piece that starts at `start`; `start` itself if this is beyond the end of the source or range.
   *
   * @param {number} start
   */
  #stopOf (start) {
    while (this.#range < this.#ranges.length - 1 && this.#ranges[this.#range].end < start) this.#range++
    const end = Math.min(this.#ranges[this.#range].end, this.#source.size)
    return Math.max(start, Math.min(start + PIECE_LEN, end))
  }
}
