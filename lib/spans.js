// Reading what a window needs: short spans, in increasing order, of a source that had better be read in long pieces.

import { PIECE_LEN, readUpTo, untilAborted } from './reading.js'
import { concat } from './bytes.js'

/** @import { RandomAccess } from './types.js' */

export class SpanReader {
  #source
  #ranges
  #signal
  /** The range that the piece in hand lies in, and the piece. */
  #range = 0
  #start = 0
  #bytes = /** @type {Uint8Array} */ (new Uint8Array(0))
  /** The piece behind it, which is being read. @type {{ start: number, reading: Promise<Uint8Array> } | undefined} */
  #next

  /**
   * @param {RandomAccess} source
   * @param {[start: number, end: number][]} ranges  bytes that will be asked for, increasing: nothing else is read
   * @param {AbortSignal} [signal]
   */
  constructor (source, ranges, signal) {
    this.#source = source
    this.#ranges = ranges
    this.#signal = signal
  }

  /**
   * @param {number} start  at or behind the one before @param {number} end
   * @returns {Promise<Uint8Array>} lent; fewer bytes only where the source ends
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
    this.#bytes = next?.start === start
      ? await untilAborted(next.reading, this.#signal)
      : await readUpTo(this.#source, start, stop, this.#signal)
    this.#start = start
    if (!this.#source.overlaps || this.#bytes.length < stop - start || this.#stopOf(stop) === stop) return
    const reading = readUpTo(this.#source, stop, this.#stopOf(stop))
    reading.catch(() => {}) // whoever awaits it is told; nobody may
    this.#next = { start: stop, reading }
  }

  /** Where a piece ends. Behind the end of the source or of the range it is empty. @param {number} start */
  #stopOf (start) {
    while (this.#range < this.#ranges.length - 1 && this.#ranges[this.#range][1] < start) this.#range++
    const end = Math.min(this.#ranges[this.#range][1], this.#source.size)
    return Math.max(start, Math.min(start + PIECE_LEN, end))
  }
}
