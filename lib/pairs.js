// Pairs as they come out of a growing tree, one after the other: a post-order outboard.

import { PAIR_LEN } from './constants.js'
import { outboardLen } from './tree.js'
import { u32 } from './arena.js'

/** @import { PairSink } from './types.js' */

const PAIR_WORDS = PAIR_LEN / 4

export class PairList {
  #words
  #count = 0

  /**
   * @param {number} size  bytes of the blob, as far as they are known; more makes the list grow
   * @param {number} groupLog  0 to 16
   */
  constructor (size, groupLog) {
    this.#words = new Uint32Array(outboardLen(size, groupLog) / 4)
  }

  /** Appends a copy. @type {PairSink} */
  push = (_node, at) => {
    const to = this.#count++ * PAIR_WORDS
    if (to === this.#words.length) {
      const longer = new Uint32Array(Math.max(64 * PAIR_WORDS, 2 * to))
      longer.set(this.#words)
      this.#words = longer
    }
    for (let i = 0; i < PAIR_WORDS; i++) this.#words[to + i] = u32[at / 4 + i]
  }

  /** All pairs so far: a view when the list is as long as was expected, else a copy. */
  get bytes () {
    const len = this.#count * PAIR_LEN
    const bytes = new Uint8Array(this.#words.buffer)
    return len === bytes.length ? bytes : bytes.slice(0, len)
  }
}
