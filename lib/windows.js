// Cuts a walk into windows: as many steps as fit into the arena at a time, or one leaf that is larger. Sender and receiver cut alike, so
// what is sent a window at a time can be checked a window at a time.

import { CHUNK_LEN, PAIR_LEN } from './constants.js'
import { ENTER, LEAF } from './walk.js'
import { INPUT_LEN, WINDOW_CHUNKS } from './arena.js'
import { encodedLen } from './perfect.js'

/** @import { Walk } from './walk.js' */

export class Windows {
  /** The walk, at the step that `next` has moved to. */
  step
  /** Bytes of that step in the encoding. */
  stepLen = 0
  /** Of the window so far: steps, their bytes in the encoding. */
  count = 0
  len = 0
  #chunks = 0
  #leafLen
  /** Has the walk come to a step that the window did not take? */
  #isHeld = false

  /** @param {Walk} walk @param {number} groupLog */
  constructor (walk, groupLog) {
    this.step = walk
    this.#leafLen = CHUNK_LEN * 2 ** groupLog
  }

  /** Begins the next window. */
  begin () {
    this.count = this.len = this.#chunks = 0
  }

  /** Moves to the next step of the window. @returns {boolean} false when the window has no more */
  next () {
    const { step } = this
    if (this.#chunks >= WINDOW_CHUNKS || !(this.#isHeld || step.next())) return false
    const len = step.kind === ENTER ? PAIR_LEN : step.kind === LEAF ? step.len : encodedLen(step.len, this.#leafLen)
    const chunks = step.kind === ENTER ? 0 : Math.ceil(step.len / CHUNK_LEN)
    this.#isHeld = this.count > 0 && (this.len + len > INPUT_LEN || this.#chunks + chunks > WINDOW_CHUNKS)
    if (this.#isHeld) return false
    this.stepLen = len
    this.count++
    this.len += len
    this.#chunks += chunks
    return true
  }

  /** Leaves the step just taken to the next window. */
  putBack () {
    this.#isHeld = true
    this.count--
    this.len -= this.stepLen
  }
}
