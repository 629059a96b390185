// What parents promise: the chaining values of children that a walk has still to come to, the next one on top.

import { HASH_LEN } from '../core/constants.js'
import { i32 } from '../engine/arena.js'

const CV_WORDS = HASH_LEN / 4

export class ExpectedCvs {
  /** Word by word, signed: so they are small integers to V8. An array: small ones are made and let go many times more quickly than typed ones. */
  #words = /** @type {number[]} */ ([])
  /** Where the next one begins. */
  #top = 0

  /** @param {Uint8Array} root  32 bytes: what the first node must have */
  constructor (root) {
    for (let i = 0; i < HASH_LEN; i += 4) {
      this.#words.push(root[i] | root[i + 1] << 8 | root[i + 2] << 16 | root[i + 3] << 24)
    }
  }

  /** @param {number} at  in the arena, where a child's chaining value stands in a pair that was found right */
  push (at) {
    const words = this.#words
    const top = this.#top += CV_WORDS
    for (let i = 0; i < CV_WORDS; i++) words[top + i] = i32[at / 4 + i]
  }

  /** Is a computed value the next one? In the same time whatever differs. @param {number} at  in the arena */
  isNext (at) {
    const words = this.#words
    const top = this.#top
    let difference = 0
    for (let i = 0; i < CV_WORDS; i++) difference |= words[top + i] ^ i32[at / 4 + i]
    return difference === 0
  }

  /** Goes on to the one below. */
  drop () { this.#top -= CV_WORDS }
}
