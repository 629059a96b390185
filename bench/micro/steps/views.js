// The tree of a naive port: views of the input, a fresh array for every result, chaining values on a stack of
// arrays. Source: BLAKE3 paper 2.4, 2.5 and 5.1.2.

import {
  BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, PARENT, ROOT
} from '../../../lib/core/constants.js'

/** @import { Compress } from './compress.js' */
/** @typedef {{ cv: ArrayLike<number>, words: ArrayLike<number>, counter: number, len: number, flags: number }} Last
 *  a compression that is not done before it is known whether it is the root's */

/**
 * @param {{ readWords: (bytes: Uint8Array) => Uint32Array, compress: Compress }} step
 * @returns {(bytes: Uint8Array) => Uint8Array}
 */
export function createHash ({ readWords, compress }) {
  return hash

  /** @param {Uint8Array} bytes */
  function hash (bytes) {
    /** @type {Uint32Array[]} */
    const stack = []
    let index = 0
    for (; bytes.length > CHUNK_LEN; bytes = bytes.subarray(CHUNK_LEN)) {
      let cv = cvOf(chunk(bytes.subarray(0, CHUNK_LEN), index++))
      // The number of trailing zeros in the count of chunks is the number of complete subtrees.
      for (let count = index; count % 2 === 0; count /= 2) {
        cv = cvOf(parent(/** @type {Uint32Array} */ (stack.pop()), cv))
      }
      stack.push(cv)
    }
    let last = chunk(bytes, index)
    while (stack.length > 0) last = parent(/** @type {Uint32Array} */ (stack.pop()), cvOf(last))
    return bytesOf(outputOf(last, ROOT))
  }

  /** @param {Uint8Array} bytes @param {number} counter @returns {Last} */
  function chunk (bytes, counter) {
    /** @type {ArrayLike<number>} */
    let cv = IV
    let flags = CHUNK_START
    for (; bytes.length > BLOCK_LEN; bytes = bytes.subarray(BLOCK_LEN)) {
      cv = cvOf({ cv, words: readWords(bytes.subarray(0, BLOCK_LEN)), counter, len: BLOCK_LEN, flags })
      flags = 0
    }
    return { cv, words: readWords(bytes), counter, len: bytes.length, flags: flags | CHUNK_END }
  }

  /** @param {Uint32Array} left @param {Uint32Array} right @returns {Last} */
  function parent (left, right) {
    return { cv: IV, words: Uint32Array.of(...left, ...right), counter: 0, len: BLOCK_LEN, flags: PARENT }
  }

  /** @param {Last} last */
  function cvOf (last) { return outputOf(last, 0).slice(0, 8) }

  /** @param {Last} last @param {number} flag */
  function outputOf ({ cv, words, counter, len, flags }, flag) {
    return compress(cv, words, counter, len, flags | flag)
  }
}

/** @param {Uint32Array} words */
function bytesOf (words) {
  const bytes = new Uint8Array(HASH_LEN)
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < HASH_LEN / 4; i++) view.setUint32(4 * i, words[i], true)
  return bytes
}
