// What parents promise: the chaining values of children that a walk has still to come to, the next one on top.

import { HASH_LEN } from './constants.js'
import { u32 } from './arena.js'
import { wordsOf } from './mode.js'

const CV_WORDS = HASH_LEN / 4

export class Promised {
  #values = new Uint32Array(32 * CV_WORDS)
  #depth = 1

  /** @param {Uint8Array} root  32 bytes: what the first node must have */
  constructor (root) {
    this.#values.set(wordsOf(root))
  }

  /** @param {number} at  in the arena, where a child's chaining value stands in a pair that was found right */
  push (at) {
    const top = this.#depth++ * CV_WORDS
    if (top === this.#values.length) {
      const more = new Uint32Array(2 * top)
      more.set(this.#values)
      this.#values = more
    }
    for (let i = 0; i < CV_WORDS; i++) this.#values[top + i] = u32[at / 4 + i]
  }

  /** Is a computed value the next one? In the same time whatever differs. @param {number} at  in the arena */
  isNext (at) {
    const top = (this.#depth - 1) * CV_WORDS
    let difference = 0
    for (let i = 0; i < CV_WORDS; i++) difference |= this.#values[top + i] ^ u32[at / 4 + i]
    return difference === 0
  }

  /** Goes on to the one below. */
  drop () { this.#depth-- }
}
