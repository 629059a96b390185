// Cuts a walk into batches. A batch has steps whose bytes fit into the arena together and are hashed side by side, or
// one larger leaf. Senders and receivers cut in the same way, so if a slice is sent in batches, the receiver can verify
// each batch when it arrives.

import { CHUNK_LEN, PAIR_LEN } from '../core/constants.js'
import { ENTER, LEAF, SUBTREE } from '../tree/walk.js'
import { INPUT_LEN, WINDOW_CHUNKS } from '../engine/arena.js'
import { encodedLen, forEachStep } from './subtree-encoding.js'

/** @import { Walk } from '../tree/walk.js' */

/** The number of chunks in a first batch whose bytes a caller is waiting for: enough to be hashed side by side. */
export const FIRST_CHUNKS = 16

/** The kinds of steps. The kind of a parent also says which of its children follow. */
export const IS_LEAF = 0
export const IS_PARENT = 1
export const HAS_LEFT = 2
export const HAS_RIGHT = 4
/** A perfect subtree that is wanted whole, and checked as a whole. */
export const IS_SUBTREE = 8

/** One batch of steps. `begin` turns it into the next batch of its walk, and `takeStep` adds steps to it. */
export class Batch {
  /** The walk, at the step that `takeStep` has moved to. */
  step
  /** The number of steps. The lists below may be longer: they are reused for every batch. */
  count = 0
  /** The kind of every step (see above). */
  kinds = /** @type {number[]} */ ([])
  /** For every step, the node number if it is a parent, otherwise its byte offset in the blob. */
  places = /** @type {number[]} */ ([])
  /** How many bytes of the blob every step has: 0 for a parent. */
  spans = /** @type {number[]} */ ([])
  /** How many bytes every step has in the encoding. */
  lens = /** @type {number[]} */ ([])
  /** How many bytes all steps together have in the encoding. */
  len = 0
  #chunks = 0
  #minChunks = WINDOW_CHUNKS
  #available = Infinity
  #leafLen
  /** True if the walk is at a step that did not fit and belongs to the next batch. */
  #isHeld = false

  /** @param {Walk} walk  the constructor chooses its SUBTREE steps @param {number} groupLog */
  constructor (walk, groupLog) {
    this.step = walk
    this.#leafLen = CHUNK_LEN * 2 ** groupLog
  }

  /**
   * Becomes the next batch with all its steps.
   *
   * @param {number} [minChunks]  the same as in `begin`
   * @param {number} [available]
   */
  fill (minChunks, available) {
    this.begin(minChunks, available)
    while (this.takeStep());
  }

  /**
   * Becomes the next batch, without steps yet.
   *
   * @param {number} [minChunks]  the batch gets at least this many chunks, if the walk has that many. Default: 128, a
   *   whole window
   * @param {number} [available]  how many bytes of the encoding have arrived. The batch gets more than `minChunks` only
   *   if their bytes are among these. Default: Infinity
   */
  begin (minChunks = WINDOW_CHUNKS, available = Infinity) {
    this.count = this.len = this.#chunks = 0
    this.#minChunks = minChunks
    this.#available = available
    this.step.setSubtrees(WINDOW_CHUNKS)
  }

  /** Adds the next step of the walk. @returns {boolean} false if the batch is full, or the walk has ended */
  takeStep () {
    const { step } = this
    if (this.#chunks >= WINDOW_CHUNKS || (this.#chunks >= this.#minChunks && this.len >= this.#available)) return false
    if (!this.#isHeld && !step.next()) return false
    let len = this.#lenOf(step)
    while (step.kind === SUBTREE && !this.#isInReach(step.len / CHUNK_LEN, len)) {
      // A small subtree is left to the next batch instead of being split, because it is hashed as a whole there.
      this.#isHeld = this.#chunks >= this.#minChunks && step.len / CHUNK_LEN <= this.#minChunks
      if (this.#isHeld) return false
      step.lookInside()
      len = this.#lenOf(step)
    }
    const chunks = step.kind === ENTER ? 0 : Math.ceil(step.len / CHUNK_LEN)
    this.#isHeld = this.count > 0 && !this.#fits(chunks, len)
    if (this.#isHeld) return false
    this.#chunks += chunks
    if (step.kind === ENTER) this.#add(kindOf(step), step.node, 0, len)
    else this.#add(step.kind === LEAF ? IS_LEAF : IS_SUBTREE, step.start, step.len, len)
    this.len += len
    return true
  }

  /** Leaves the last step to the next batch. */
  putBackStep () {
    this.#isHeld = true
    this.len -= this.lens[--this.count]
  }

  /** Removes the first steps. @param {number} count @param {number} len  how many bytes they have in the encoding */
  drop (count, len) {
    for (const list of [this.kinds, this.places, this.spans, this.lens]) list.copyWithin(0, count, this.count)
    this.count -= count
    this.len -= len
  }

  /** Replaces a subtree with its parents and leaves. @param {number} step  its index */
  expand (step) {
    const behind = [this.kinds, this.places, this.spans, this.lens].map(list => list.slice(step + 1, this.count))
    const subtree = this.subtreeAt(step)
    this.count = step
    forEachStep(subtree,
      node => this.#add(IS_PARENT | HAS_LEFT | HAS_RIGHT, node, 0, PAIR_LEN),
      (start, _at, len) => this.#add(IS_LEAF, start, len, len))
    behind[0].forEach((kind, i) => this.#add(kind, behind[1][i], behind[2][i], behind[3][i]))
  }

  /** @param {number} step  the index of a subtree */
  subtreeAt (step) { return { start: this.places[step], len: this.spans[step], leafLen: this.#leafLen } }

  /** How many bytes a step has in the encoding. @param {Walk} step */
  #lenOf ({ kind, len }) {
    if (kind === ENTER) return PAIR_LEN
    return kind === LEAF ? len : encodedLen(len, this.#leafLen)
  }

  /** @param {number} chunks  of the step @param {number} len  how many bytes it has in the encoding */
  #fits (chunks, len) {
    if (this.len + len > INPUT_LEN) return false
    return this.#chunks === 0 || (this.#chunks + chunks <= WINDOW_CHUNKS && this.#isInReach(chunks, len))
  }

  /**
   * True if the bytes of a step have arrived, or the batch waits for them.
   *
   * @param {number} chunks @param {number} len
   */
  #isInReach (chunks, len) {
    return this.len + len <= this.#available || (this.#chunks < this.#minChunks && chunks <= this.#minChunks)
  }

  /** @param {number} kind @param {number} place @param {number} span @param {number} len */
  #add (kind, place, span, len) {
    const step = this.count++
    this.kinds[step] = kind
    this.places[step] = place
    this.spans[step] = span
    this.lens[step] = len
  }
}

/** The kind of a parent. @param {{ hasLeft: boolean, hasRight: boolean }} parent */
export const kindOf = ({ hasLeft, hasRight }) => IS_PARENT | (hasLeft ? HAS_LEFT : 0) | (hasRight ? HAS_RIGHT : 0)
