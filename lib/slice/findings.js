// What an audit has found right so far, and where it need not look any more.

import { CHUNK_LEN } from '../core/constants.js'
import { ChunkRanges } from '../tree/ranges.js'

/** Bytes that are walked through although they are lost: so few steps cost less than a new walk from the root. */
const MAX_WALKED = 128 << 20

export class Findings {
  #boundaries = /** @type {number[]} */ ([])
  /** Byte offset up to which everything is lost, as far as the walk is ahead of it. */
  lostTo = 0

  /** @param {number} start  bytes, at or behind what was added before @param {number} len */
  add (start, len) {
    const from = start / CHUNK_LEN
    const to = Math.ceil((start + len) / CHUNK_LEN)
    if (this.#boundaries.at(-1) === from) this.#boundaries[this.#boundaries.length - 1] = to
    else this.#boundaries.push(from, to)
  }

  /** @param {number} start  bytes; does it lie in what is lost? */
  isLost (start) { return start < this.lostTo }

  /** Is so much lost that the walk had better begin again behind it? @param {number} at  bytes, where the walk is */
  isFar (at) { return this.lostTo - at > MAX_WALKED }

  /** What is still to be looked at, by a walk that comes to the parents above it once more. @param {ChunkRanges} ranges */
  leaveBehind (ranges) {
    const rest = ranges.difference(new ChunkRanges([0, Math.ceil(this.lostTo / CHUNK_LEN)]))
    this.lostTo = 0
    return rest
  }

  get ranges () { return new ChunkRanges([...this.#boundaries]) }
}
