// Collects the pairs of a growing tree: in a list, which is an outboard in post-order, or in a table, in which each
// pair has its place.

import { PAIR_LEN } from '../core/constants.js'
import { describe } from '../core/bytes.js'
import { copyPair, copyPairs, emitPairs } from '../engine/window.js'
import { leftChunks, outboardLen, placeOf } from '../tree/geometry.js'

/** @import { PairSink } from '../core/types.js' */

/** @typedef {'pre' | 'post'} Order  parents before their children, or after them */

const PAIR_WORDS = PAIR_LEN / 4

/** Collects the pairs of a tree in post-order. The size of the tree need not be known. @implements {PairSink} */
export class PairList {
  groupLog
  #words = new Uint32Array(64 * PAIR_WORDS)
  #count = 0

  /** @param {number} groupLog  0 to 16 */
  constructor (groupLog) {
    this.groupLog = groupLog
  }

  /** @type {PairSink['pair']} */
  pair (_node, at) {
    const to = this.#reserve(1) // this may replace `#words`
    copyPair(at, this.#words, to)
  }

  /** @type {PairSink['subtree']} */
  subtree (level, index, _startChunk, chunks) {
    const to = this.#reserve(pairsBelow(chunks, this.groupLog))
    copyPairs(level, index, this.groupLog, 'post', this.#words, to)
  }

  /** All pairs so far. @returns {Uint8Array<ArrayBuffer>} fresh */
  get bytes () { return new Uint8Array(this.#words.buffer).slice(0, this.#count * PAIR_LEN) }

  /** Makes room for more pairs. @param {number} pairs @returns {number} where the first of them goes, in words */
  #reserve (pairs) {
    const at = this.#count * PAIR_WORDS
    this.#count += pairs
    if (this.#count * PAIR_WORDS > this.#words.length) {
      const longer = new Uint32Array(Math.max(this.#count * PAIR_WORDS, 2 * this.#words.length))
      longer.set(this.#words)
      this.#words = longer
    }
    return at
  }
}

/** The places of pairs in the outboard of a tree whose size is known. */
export class Places {
  #size
  #groupLog
  #order
  #startChunk

  /**
   * @param {number} size  bytes of the tree
   * @param {number} groupLog  0 to 16
   * @param {Order} order
   * @param {number} [startChunk]  where in the blob the tree begins, if it is a subtree of the blob's tree
   */
  constructor (size, groupLog, order, startChunk = 0) {
    this.#size = size
    this.#groupLog = groupLog
    this.#order = order
    this.#startChunk = startChunk
  }

  /** @param {number} node */
  of (node) {
    const place = placeOf(node - this.#startChunk, this.#size, this.#groupLog)
    if (place !== undefined) return place[this.#order]
    throw new Error(`parent ${node} is not in an outboard of ${this.#size} bytes at group log ${this.#groupLog}`)
  }

  /**
   * The place of the first pair of a subtree. In both orders, all pairs of a subtree are adjacent.
   *
   * @param {number} startChunk
   * @param {number} chunks  more than those of a group
   */
  first (startChunk, chunks) {
    const root = this.of(startChunk + leftChunks(chunks) - 1)
    return this.#order === 'pre' ? root : root + 1 - pairsBelow(chunks, this.#groupLog)
  }
}

/**
 * Collects the pairs of a tree whose size is known. They may arrive in any order, because each pair goes to its place.
 * @implements {PairSink}
 */
export class PairTable {
  groupLog
  /** The outboard, once all pairs have arrived. */
  bytes
  #order
  #places
  #words

  /**
   * @param {number} size @param {number} groupLog @param {Order} order
   * @param {number} [startChunk]  the same as in `Places`
   */
  constructor (size, groupLog, order, startChunk) {
    this.groupLog = groupLog
    this.#order = order
    this.#places = new Places(size, groupLog, order, startChunk)
    this.#words = new Uint32Array(outboardLen(size, groupLog) / 4)
    this.bytes = new Uint8Array(this.#words.buffer)
  }

  /** @type {PairSink['pair']} */
  pair (node, at) {
    copyPair(at, this.#words, this.#places.of(node) * PAIR_WORDS)
  }

  /** @type {PairSink['subtree']} */
  subtree (level, index, startChunk, chunks) {
    if (pairsBelow(chunks, this.groupLog) === 0) return
    const first = this.#places.first(startChunk, chunks)
    copyPairs(level, index, this.groupLog, this.#order, this.#words, first * PAIR_WORDS)
  }

  /**
   * Takes a copy of all pairs of a subtree.
   *
   * @param {number} startChunk @param {number} chunks
   * @param {Uint8Array} pairs  in the order of the table
   */
  putSubtree (startChunk, chunks, pairs) {
    if (pairs.length > 0) this.bytes.set(pairs, this.#places.first(startChunk, chunks) * PAIR_LEN)
  }
}

/**
 * Makes a sink that passes on pairs one by one, in post-order.
 *
 * @param {number} groupLog
 * @param {PairSink['pair']} pair
 * @returns {PairSink}
 */
export const eachPair = (groupLog, pair) => ({
  groupLog,
  pair,
  subtree: (level, index, startChunk) => emitPairs(level, index, startChunk - index * 2 ** level, groupLog, pair)
})

/**
 * The number of pairs that a subtree has at and above the group level.
 *
 * @param {number} chunks @param {number} groupLog
 */
export const pairsBelow = (chunks, groupLog) => Math.ceil(chunks / 2 ** groupLog) - 1

/** @param {unknown} order @returns {asserts order is Order} */
export function assertOrder (order) {
  if (order === 'pre' || order === 'post') return
  const got = typeof order === 'string' ? `'${order}'` : describe(order)
  throw new TypeError(`"order" expected 'pre' or 'post', got ${got}`)
}
