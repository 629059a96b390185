// The steps of one window of an encoding, while their bytes arrive: the walk gives them, the checker checks them.

import { CHUNK_LEN, PAIR_LEN } from '../core/constants.js'
import { ENTER, LEAF } from '../tree/walk.js'
import { Windows } from './batches.js'
import { forEachStep } from './subtree-encoding.js'

/** @import { Walk } from '../tree/walk.js' */

/** What a step is. A parent also says which of its children follow. */
export const IS_LEAF = 0
export const IS_PARENT = 1
export const HAS_LEFT = 2
export const HAS_RIGHT = 4
/** A perfect subtree that is wanted whole, and checked as one. */
export const IS_SUBTREE = 8

export class Plan {
  #windows
  #leafLen

  /** Steps of the window. The lists below may go on behind them: they are not made anew for every window. */
  count = 0
  /** Per step: what it is; its node number, or else its byte offset in the blob; its bytes of the blob; its bytes in the encoding. */
  kinds = /** @type {number[]} */ ([])
  places = /** @type {number[]} */ ([])
  spans = /** @type {number[]} */ ([])
  lens = /** @type {number[]} */ ([])
  /** Bytes of all steps in the encoding. */
  len = 0

  /** @param {Walk} walk @param {number} groupLog */
  constructor (walk, groupLog) {
    this.#windows = new Windows(walk, groupLog)
    this.#leafLen = CHUNK_LEN * 2 ** groupLog
  }

  /**
   * Makes it the next window; the first one, too.
   *
   * @param {number} [minChunks]  see `Windows.begin`
   * @param {number} [inHand]
   */
  fill (minChunks, inHand) {
    this.count = 0
    const windows = this.#windows
    const { step } = windows
    windows.begin(minChunks, inHand)
    while (windows.next()) {
      if (step.kind === ENTER) this.#add(IS_PARENT | (step.hasLeft ? HAS_LEFT : 0) | (step.hasRight ? HAS_RIGHT : 0), step.node, 0, PAIR_LEN)
      else this.#add(step.kind === LEAF ? IS_LEAF : IS_SUBTREE, step.start, step.len, windows.stepLen)
    }
    this.len = windows.len
  }

  /** Forgets the first steps. @param {number} count @param {number} len  their bytes in the encoding */
  drop (count, len) {
    for (const list of [this.kinds, this.places, this.spans, this.lens]) list.copyWithin(0, count, this.count)
    this.count -= count
    this.len -= len
  }

  /** Takes a subtree apart into parents and leaves. @param {number} step */
  expand (step) {
    const behind = [this.kinds, this.places, this.spans, this.lens].map(list => list.slice(step + 1, this.count))
    const subtree = this.subtreeAt(step)
    this.count = step
    forEachStep(subtree,
      node => this.#add(IS_PARENT | HAS_LEFT | HAS_RIGHT, node, 0, PAIR_LEN),
      (start, _at, len) => this.#add(IS_LEAF, start, len, len))
    behind[0].forEach((kind, i) => this.#add(kind, behind[1][i], behind[2][i], behind[3][i]))
  }

  /** @param {number} step */
  subtreeAt (step) { return { start: this.places[step], len: this.spans[step], leafLen: this.#leafLen } }

  /** @param {number} kind @param {number} place @param {number} span @param {number} len */
  #add (kind, place, span, len) {
    const step = this.count++
    this.kinds[step] = kind
    this.places[step] = place
    this.spans[step] = span
    this.lens[step] = len
  }
}
