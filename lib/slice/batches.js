// Cuts a walk into windows: as many steps as fit into the arena at a time, or one leaf that is larger. Sender and receiver cut alike, so
// what is sent a window at a time can be checked a window at a time.

import { CHUNK_LEN, PAIR_LEN } from '../core/constants.js'
import { ENTER, LEAF, SUBTREE } from '../tree/walk.js'
import { INPUT_LEN, WINDOW_CHUNKS } from '../engine/arena.js'
import { encodedLen } from './subtree-encoding.js'

/** @import { Walk } from '../tree/walk.js' */

/** Chunks of a first window where somebody waits for its bytes: enough to be hashed side by side. */
export const FIRST_CHUNKS = 16

export class Windows {
  /** The walk, at the step that `next` has moved to. */
  step
  /** Bytes of that step in the encoding. */
  stepLen = 0
  /** Of the window so far: steps, their bytes in the encoding. */
  count = 0
  len = 0
  #chunks = 0
  #minChunks = WINDOW_CHUNKS
  #inHand = Infinity
  #leafLen
  /** Has the walk come to a step that the window did not take? */
  #isHeld = false

  /** @param {Walk} walk  whose SUBTREE steps are set here @param {number} groupLog */
  constructor (walk, groupLog) {
    this.step = walk
    this.#leafLen = CHUNK_LEN * 2 ** groupLog
  }

  /**
   * Begins the next window: as wide as can be, or no wider than what is in hand.
   *
   * @param {number} [minChunks]  fewer are not worth a window of their own: for these it waits
   * @param {number} [inHand]  bytes of the encoding
   */
  begin (minChunks = WINDOW_CHUNKS, inHand = Infinity) {
    this.count = this.len = this.#chunks = 0
    this.#minChunks = minChunks
    this.#inHand = inHand
    this.step.setSubtrees(WINDOW_CHUNKS)
  }

  /** Moves to the next step of the window. @returns {boolean} false when the window has no more */
  next () {
    const { step } = this
    if (this.#chunks >= WINDOW_CHUNKS || (this.#chunks >= this.#minChunks && this.len >= this.#inHand)) return false
    if (!this.#isHeld && !step.next()) return false
    this.#measure()
    while (step.kind === SUBTREE && !this.#isInReach(step.len / CHUNK_LEN)) {
      // A little more would be taken apart, and hashed in little pieces: the next window takes it as a whole.
      this.#isHeld = this.#chunks >= this.#minChunks && step.len / CHUNK_LEN <= this.#minChunks
      if (this.#isHeld) return false
      step.lookInside()
      this.#measure()
    }
    const chunks = step.kind === ENTER ? 0 : Math.ceil(step.len / CHUNK_LEN)
    this.#isHeld = this.count > 0 && !this.#fits(chunks)
    if (this.#isHeld) return false
    this.count++
    this.len += this.stepLen
    this.#chunks += chunks
    return true
  }

  #measure () {
    const { step } = this
    this.stepLen = step.kind === ENTER ? PAIR_LEN : step.kind === LEAF ? step.len : encodedLen(step.len, this.#leafLen)
  }

  /** @param {number} chunks  of the step */
  #fits (chunks) {
    if (this.len + this.stepLen > INPUT_LEN) return false
    return this.#chunks === 0 || (this.#chunks + chunks <= WINDOW_CHUNKS && this.#isInReach(chunks))
  }

  /** Is the step in hand, or among the first that are waited for? @param {number} chunks */
  #isInReach (chunks) {
    return this.len + this.stepLen <= this.#inHand || (this.#chunks < this.#minChunks && chunks <= this.#minChunks)
  }

  /** Leaves the step just taken to the next window. */
  putBack () {
    this.#isHeld = true
    this.count--
    this.len -= this.stepLen
  }
}
