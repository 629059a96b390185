// The steps of one window of an encoding, while their bytes arrive: the walk gives them, the checker checks them.

import { CHUNK_LEN, PAIR_LEN } from './constants.js'
import { ENTER, LEAF } from './walk.js'
import { Windows } from './windows.js'
import { forEachStep } from './perfect.js'

/** @import { Walk } from './walk.js' */

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

  /** Per step: what it is; its node number, or else its byte offset in the blob; its bytes of the blob; its bytes in the encoding. */
  kinds = /** @type {number[]} */ ([])
  places = /** @type {number[]} */ ([])
  spans = /** @type {number[]} */ ([])
  lens = /** @type {number[]} */ ([])
  /** Bytes of all steps in the encoding. */
  len = 0

  /** @param {Walk} walk  with subtrees @param {number} groupLog */
  constructor (walk, groupLog) {
    this.#windows = new Windows(walk, groupLog)
    this.#leafLen = CHUNK_LEN * 2 ** groupLog
    this.fill()
  }

  get count () { return this.kinds.length }

  /** Makes it the next window. */
  fill () {
    this.kinds.length = this.places.length = this.spans.length = this.lens.length = 0
    const windows = this.#windows
    const { step } = windows
    windows.begin()
    while (windows.next()) {
      if (step.kind === ENTER) this.#add(IS_PARENT | (step.hasLeft ? HAS_LEFT : 0) | (step.hasRight ? HAS_RIGHT : 0), step.node, 0, PAIR_LEN)
      else this.#add(step.kind === LEAF ? IS_LEAF : IS_SUBTREE, step.start, step.len, windows.stepLen)
    }
    this.len = windows.len
  }

  /** Forgets the first steps. @param {number} count @param {number} len  their bytes in the encoding */
  drop (count, len) {
    for (const list of [this.kinds, this.places, this.spans, this.lens]) list.splice(0, count)
    this.len -= len
  }

  /** Takes subtrees apart into parents and leaves. @param {number} [from]  this step and those behind it */
  expand (from = 0) {
    if (!this.kinds.includes(IS_SUBTREE, from)) return
    const [kinds, places, spans, lens] = [this.kinds, this.places, this.spans, this.lens].map(list => list.splice(from))
    kinds.forEach((kind, i) => {
      if (kind !== IS_SUBTREE) return this.#add(kind, places[i], spans[i], lens[i])
      forEachStep(this.#subtree(places[i], spans[i]),
        node => this.#add(IS_PARENT | HAS_LEFT | HAS_RIGHT, node, 0, PAIR_LEN),
        (start, _at, len) => this.#add(IS_LEAF, start, len, len))
    })
  }

  /** @param {number} step */
  subtreeAt (step) { return this.#subtree(this.places[step], this.spans[step]) }

  /** @param {number} start @param {number} len */
  #subtree (start, len) { return { start, len, leafLen: this.#leafLen } }

  /** @param {number} kind @param {number} place @param {number} span @param {number} len */
  #add (kind, place, span, len) {
    this.kinds.push(kind)
    this.places.push(place)
    this.spans.push(span)
    this.lens.push(len)
  }
}
