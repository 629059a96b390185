// The tree over offsets, without views. Chaining values are adjacent in one array, so the two
// on top are the block of their parent, and every result is written to its final place.

import {
  BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, MAX_DEPTH, PARENT, ROOT
} from '../../../lib/core/constants.js'
import { readBlock, readShort } from './words.js'

/** @import { CompressInPlace } from './compress.js' */

const CV_WORDS = HASH_LEN / 4
/** One more than in the deepest tree, because the last of a run of four is on top before it is joined. */
export const STACK_WORDS = (MAX_DEPTH + 2) * CV_WORDS

/**
 * @typedef {object} Step  the differences of a step from the plainest tree over offsets
 * @property {CompressInPlace} compress
 * @property {boolean} [keepsBuffers]  true: from call to call; false: each call makes its own
 * @property {boolean} [readsWords]  true if words are read directly from an aligned input
 * @property {Uint32Array} [stack]  memory of the step's own
 * @property {(bytes: Uint8Array, words: Uint32Array | undefined, at: number, chunkIndex: number, count: number) =>
 *  Uint32Array} [hashFour] gives the chaining values of up to four whole chunks from byte `at` on; they are copied at
 *  once
 * @property {number} [fewest]  whole chunks that `hashFour` is called for
 * @property {(at: number, flags: number) => void} [hashParent] of the pair at word `at` of the stack, to where the
 *  pair was
 */

/** @param {Step} step @returns {(bytes: Uint8Array) => Uint8Array} */
export function createHash (step) {
  const { compress, keepsBuffers = false, readsWords = false, stack: ownStack, hashFour, fewest = 4, hashParent } = step
  const makeBuffers = () => ({ stack: ownStack ?? new Uint32Array(STACK_WORDS), block: new Uint32Array(16) })
  const kept = makeBuffers()
  const hashChunk = chunkHasher(compress)

  return bytes => {
    const { stack, block } = keepsBuffers ? kept : makeBuffers()
    const isAligned = bytes.byteOffset % 4 === 0
    const words = readsWords && isAligned
      ? new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2)
      : undefined
    const chunks = Math.max(1, Math.ceil(bytes.length / CHUNK_LEN))
    let depth = 0
    for (let index = 0; index < chunks;) {
      const at = index * CHUNK_LEN
      const whole = Math.min(4, Math.floor((bytes.length - at) / CHUNK_LEN))
      if (hashFour && whole >= fewest && chunks > 1) {
        const cvs = hashFour(bytes, words, at, index, whole)
        for (let i = 0; i < whole; i++, index++) {
          depth = joinFinished(stack, depth, index)
          for (let word = 0; word < CV_WORDS; word++) stack[depth * CV_WORDS + word] = cvs[i * CV_WORDS + word]
          depth++
        }
      } else {
        depth = joinFinished(stack, depth, index)
        const len = Math.min(CHUNK_LEN, bytes.length - at)
        const endFlag = chunks === 1 ? ROOT : 0
        hashChunk(bytes, words, at, len, index, endFlag, block, stack, depth * CV_WORDS)
        index++
        depth++
      }
    }
    for (; depth > 1; depth--) join(stack, depth, depth === 2 ? ROOT : 0)
    return new Uint8Array(stack.slice(0, CV_WORDS).buffer)
  }

  /**
   * Joins the subtrees that are finished when chunk `index` follows: not earlier, because the last parent is the
   * root. As many remain as `index` has ones.
   *
   * @param {Uint32Array} stack @param {number} depth @param {number} index @returns {number} the depth after it
   */
  function joinFinished (stack, depth, index) {
    let ones = 0
    for (let rest = index; rest > 0; rest &= rest - 1) ones++
    for (; depth > ones; depth--) join(stack, depth, 0)
    return depth
  }

  /** @param {Uint32Array} stack @param {number} depth @param {number} flag */
  function join (stack, depth, flag) {
    const at = (depth - 2) * CV_WORDS
    if (hashParent) hashParent(at, PARENT | flag)
    else compress(IV, 0, stack, at, 0, BLOCK_LEN, PARENT | flag, stack, at)
  }
}

/**
 * Hashes one chunk, block by block.
 *
 * @param {CompressInPlace} compress
 */
export const chunkHasher = compress =>
  /**
   * @param {Uint8Array} bytes that have the chunk @param {Uint32Array | undefined} words the same memory, if it is
   *  aligned
   * @param {number} at  where the chunk begins @param {number} len  of the chunk @param {number} index  of the chunk
   * @param {number} endFlag  for its last block
   * @param {Uint32Array} block  scratch @param {Uint32Array} out @param {number} outAt
   */
  (bytes, words, at, len, index, endFlag, block, out, outAt) => {
    let cv = IV
    let cvAt = 0
    let flags = CHUNK_START
    for (; len > BLOCK_LEN; at += BLOCK_LEN, len -= BLOCK_LEN, flags = 0, cv = out, cvAt = outAt) {
      if (words) {
        compress(cv, cvAt, words, at >> 2, index, BLOCK_LEN, flags, out, outAt)
      } else {
        readBlock(bytes, at, block)
        compress(cv, cvAt, block, 0, index, BLOCK_LEN, flags, out, outAt)
      }
    }
    if (len === BLOCK_LEN) readBlock(bytes, at, block)
    else readShort(bytes, at, len, block)
    compress(cv, cvAt, block, 0, index, len, flags | CHUNK_END | endFlag, out, outAt)
  }
