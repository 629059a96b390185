// A stack of expected chaining values for the nodes that a walk has not reached yet, the next one on
// top.

import { HASH_LEN } from '../core/constants.js'
import { i32 } from '../engine/arena.js'

const CV_WORDS = HASH_LEN / 4

export class ExpectedCvs {
  /**
   * The values as signed words, because V8 stores these as small integers. A plain array, because short plain arrays
   * are created and collected many times faster than typed arrays.
   */
  #words = /** @type {number[]} */ ([])
  /** The word where the next value begins. */
  #top = 0

  /** @param {Uint8Array} root  32 bytes: the value of the first node */
  constructor (root) {
    for (let i = 0; i < HASH_LEN; i += 4) {
      this.#words.push(root[i] | root[i + 1] << 8 | root[i + 2] << 16 | root[i + 3] << 24)
    }
  }

  /** Adds a value. @param {number} at  where it is in the arena, in a verified pair */
  push (at) {
    const words = this.#words
    const top = this.#top += CV_WORDS
    for (let i = 0; i < CV_WORDS; i++) words[top + i] = i32[at / 4 + i]
  }

  /**
   * True if a computed value is the expected one. The call takes the same time whether it is or not.
   *
   * @param {number} at  in the arena
   */
  isNext (at) {
    const words = this.#words
    const top = this.#top
    let difference = 0
    for (let i = 0; i < CV_WORDS; i++) difference |= words[top + i] ^ i32[at / 4 + i]
    return difference === 0
  }

  /** The next value. @returns {Uint8Array} fresh */
  get next () { return new Uint8Array(Int32Array.from(this.#words.slice(this.#top, this.#top + CV_WORDS)).buffer) }

  /** Removes the next value. */
  drop () { this.#top -= CV_WORDS }
}
