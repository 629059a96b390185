// Pairs as they come out of a growing tree: one after the other, which is an outboard in post-order, or each at its place.

import { PAIR_LEN } from './constants.js'
import { groupCount, leftChunks, outboardLen, placeOf } from './tree.js'
import { u32 } from './arena.js'

/** @import { PairSink } from './types.js' */

/** @typedef {'pre' | 'post'} Order  parents before what is below them, or after */

const PAIR_WORDS = PAIR_LEN / 4

/** Pairs of a tree whose size need not be known. */
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

/** Pairs of a tree that is grown in parts: each goes to its place, in whatever order they come. */
export class PairTable {
  #size
  #groupLog
  #order
  #words
  bytes

  /** @param {number} size  bytes of the blob @param {number} groupLog  0 to 16 @param {Order} order */
  constructor (size, groupLog, order) {
    this.#size = size
    this.#groupLog = groupLog
    this.#order = order
    this.#words = new Uint32Array(outboardLen(size, groupLog) / 4)
    /** All pairs, when all have come. */
    this.bytes = new Uint8Array(this.#words.buffer)
  }

  /** Takes a copy of one. @type {PairSink} */
  put = (node, at) => {
    const to = this.#placeOf(node) * PAIR_WORDS
    for (let i = 0; i < PAIR_WORDS; i++) this.#words[to + i] = u32[at / 4 + i]
  }

  /**
   * Takes a copy of all pairs below and at the root of a subtree. They stand side by side in both orders.
   *
   * @param {number} startChunk @param {number} chunks @param {Uint8Array} pairs  in the order of the table
   */
  putSubtree (startChunk, chunks, pairs) {
    if (pairs.length === 0) return
    const root = this.#placeOf(startChunk + leftChunks(chunks) - 1)
    const first = this.#order === 'pre' ? root : root + 1 - pairs.length / PAIR_LEN
    this.bytes.set(pairs, first * PAIR_LEN)
  }

  /** @param {number} node */
  #placeOf (node) {
    const place = placeOf(node, this.#size, this.#groupLog)
    if (place === undefined) throw new Error(`parent ${node} is not in an outboard of ${this.#size} bytes at group log ${this.#groupLog}`)
    return place[this.#order]
  }
}

/**
 * All pairs of a tree in the other order. A subtree's stand side by side in both, its root's first or last.
 *
 * @param {Uint8Array} bytes
 * @param {number} size  bytes of the blob
 * @param {number} groupLog
 * @param {Order} to
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function reordered (bytes, size, groupLog, to) {
  const from = wordsIn(bytes)
  const words = new Uint32Array(from.length)
  const groups = groupCount(size, groupLog)
  if (groups > 1) move(from, words, to === 'pre', 0, 0, groups)
  return new Uint8Array(words.buffer)
}

/**
 * The pairs of a subtree. No closure: that would take twice the time.
 *
 * @param {Uint32Array} from @param {Uint32Array} words @param {boolean} isToPre
 * @param {number} pre @param {number} post  where its pairs begin in either order
 * @param {number} groups  below it, 2 to 2^31: more pairs fit into no memory
 */
function move (from, words, isToPre, pre, post, groups) {
  const last = post + groups - 2
  const target = (isToPre ? pre : last) * PAIR_WORDS
  const source = (isToPre ? last : pre) * PAIR_WORDS
  for (let i = 0; i < PAIR_WORDS; i++) words[target + i] = from[source + i]
  const left = 1 << (31 - Math.clz32(groups - 1))
  if (left > 1) move(from, words, isToPre, pre + 1, post, left)
  if (groups - left > 1) move(from, words, isToPre, pre + left, post + left - 1, groups - left)
}

/** Bytes as words: a view where they are aligned, else a copy. @param {Uint8Array} bytes */
const wordsIn = bytes => bytes.byteOffset % 4 === 0
  ? new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  : new Uint32Array(new Uint8Array(bytes).buffer)
