// Changes the order of the pairs of an outboard, in place.
//
// An outboard in post-order, read from its end, gives the root, then the right subtree, then the left one. An outboard
// in pre-order, written from its end, takes the right subtree, then the left one, then the root. So each pair waits on
// a stack until the pairs below it have been written. The stack is never deeper than the tree, and writing never
// overtakes reading. Pre-order is changed to post-order in the same way, from the start.

import { MAX_DEPTH, PAIR_LEN } from '../core/constants.js'
import { assertBytesOf } from '../core/bytes.js'
import { groupCount, leftChunks, outboardLen } from '../tree/geometry.js'
import { wordsOf } from '../engine/mode.js'

/** @import { Order } from './pairs.js' */
/** @import { RandomAccessSink } from '../core/types.js' */

const PAIR_WORDS = PAIR_LEN / 4
/** How many bytes are read and written together. */
const PIECE_LEN = 1 << 18

/** Takes pairs in one order, and returns them in the other. */
class Reordering {
  #isToPre
  /** The number of groups in the subtree whose root is the next pair to take. */
  #groups
  /**
   * The waiting pairs, the last one on top, and for each pair the number of groups in that half of its subtree which
   * has not begun.
   */
  #waiting = new Uint32Array(MAX_DEPTH * PAIR_WORDS)
  #second = /** @type {number[]} */ ([])
  #depth = 0

  /** @param {number} groups  of the blob @param {Order} to */
  constructor (groups, to) {
    this.#groups = groups
    this.#isToPre = to === 'pre'
  }

  /**
   * Takes the next pair. To reach pre-order, the pairs are taken from the end; to reach post-order, from the start.
   *
   * @param {Uint32Array} words @param {number} at
   */
  take (words, at) {
    const left = leftChunks(this.#groups)
    const right = this.#groups - left
    const top = this.#depth * PAIR_WORDS
    for (let i = 0; i < PAIR_WORDS; i++) this.#waiting[top + i] = words[at + i]
    this.#second[this.#depth++] = this.#isToPre ? left : right
    this.#groups = this.#isToPre ? right : left
  }

  /** True if a pair must be given next. If false, a pair must be taken next. */
  get isDue () {
    if (this.#groups === 1 && this.#depth > 0) {
      this.#groups = this.#second[this.#depth - 1]
      this.#second[this.#depth - 1] = 1
    }
    return this.#groups === 1 && this.#depth > 0
  }

  /** Writes the pair that is due. @param {Uint32Array} words @param {number} at */
  give (words, at) {
    const top = --this.#depth * PAIR_WORDS
    for (let i = 0; i < PAIR_WORDS; i++) words[at + i] = this.#waiting[top + i]
  }
}

/**
 * Changes all pairs of a tree to the other order, in place.
 *
 * @param {Uint8Array} bytes  changed; its memory is aligned to words
 * @param {number} size  bytes of the blob
 * @param {number} groupLog
 * @param {Order} to
 */
export function reorderPairs (bytes, size, groupLog, to) {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  const reordering = new Reordering(groupCount(size, groupLog), to)
  const step = to === 'pre' ? -PAIR_WORDS : PAIR_WORDS
  let read = to === 'pre' ? words.length - PAIR_WORDS : 0
  let write = read
  for (let left = words.length; left > 0; left -= PAIR_WORDS) {
    reordering.take(words, read)
    read += step
    for (; reordering.isDue; write += step) reordering.give(words, write)
  }
}

/**
 * Changes all pairs of an outboard from post-order to pre-order in the sink, a piece at a time.
 *
 * @param {RandomAccessSink} sink  that can be read
 * @param {number} start  byte offset of the first pair
 * @param {number} size  bytes of the blob
 * @param {number} groupLog
 */
export async function reorderInSink (sink, start, size, groupLog) {
  const len = outboardLen(size, groupLog)
  const reordering = new Reordering(groupCount(size, groupLog), 'pre')
  const out = new Uint32Array((PIECE_LEN + MAX_DEPTH * PAIR_LEN) / 4)
  let free = out.length
  let writtenTo = len
  const write = async () => {
    const pairs = new Uint8Array(out.buffer, free * 4)
    writtenTo -= pairs.length
    await sink.write(start + writtenTo, pairs)
    free = out.length
  }
  for (let end = len; end > 0; end -= PIECE_LEN) {
    const from = Math.max(0, end - PIECE_LEN)
    const words = wordsOf(await readWhole(sink, start + from, start + end))
    for (let at = words.length; at > 0;) {
      reordering.take(words, at -= PAIR_WORDS)
      while (reordering.isDue) reordering.give(out, free -= PAIR_WORDS)
      if (out.length - free >= PIECE_LEN / 4) await write()
    }
  }
  if (free < out.length) await write()
}

/** @param {RandomAccessSink} sink @param {number} start @param {number} end */
async function readWhole (sink, start, end) {
  const bytes = await /** @type {NonNullable<RandomAccessSink['read']>} */ (sink.read)(start, end)
  assertBytesOf('what target.read gave', bytes, end - start)
  return bytes
}
