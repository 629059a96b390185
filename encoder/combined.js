// Makes combined encodings. An encoding has the size of a blob, and then its pairs and bytes, together in pre-order.
// Source: Bao spec, "Combined Encoding Format".

import { CHUNK_LEN, DEFAULT_GROUP_LOG, HASH_LEN, MAX_GROUP_LOG, PAIR_LEN } from '../lib/core/constants.js'
import { HEADER_LEN, assertBytes, assertInteger, resultBuffer, u64ToBytes } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { copyPair, cvsOf } from '../lib/engine/window.js'
import { STAGE, u8 } from '../lib/engine/arena.js'
import { encodedLen, encodeReduced } from '../lib/slice/subtree-encoding.js'
import { encodeSlice } from './slice.js'
import { levelOf, levelOver, outboardLen, pairsBeforeLeaf } from '../lib/tree/geometry.js'
import { modeOf } from '../lib/hash/mode-options.js'

/** @import { SliceOptions, StreamOptions } from './slice.js' */
/** @import { PairSink, RandomAccess, SliceOutboard } from '../lib/core/types.js' */

/**
 * @typedef {object} EncodeOptions
 * @property {number} [groupLog]  0 to 16; default: 4
 * @property {boolean} [header]  true to begin with the size in 8 bytes; default: true
 * @property {Uint8Array} [key]  the key of a keyed tree
 * @property {Uint8Array<ArrayBuffer>} [into]  memory for the encoding, at least `sliceLen` bytes, which must not
 *   overlap the blob. Memory that is aligned to 4 bytes is quickest. Default: fresh memory
 */

/**
 * Makes the combined encoding of a blob in memory: iroh's encoding at group log 4, or bao's at group log 0.
 *
 * @param {Uint8Array} bytes
 * @param {EncodeOptions} [options]
 * @returns {{ root: Uint8Array, bytes: Uint8Array<ArrayBuffer> }} `root` is fresh; `bytes` are fresh,
 *   or a view of `into`
 */
export function encode (bytes, options = {}) {
  assertBytes('bytes', bytes)
  assertKnownOptions(options, ['groupLog', 'header', 'key', 'into'])
  const { groupLog = DEFAULT_GROUP_LOG, header = true, key, into } = options
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  const encoding = new Encoding(bytes, groupLog, header ? HEADER_LEN : 0, into)
  const tree = new TreeBuilder(modeOf({ key }), { sink: encoding })
  tree.update(bytes)
  return { root: tree.hash(), bytes: encoding.bytes }
}

/**
 * Writes the pairs of a growing tree, and the bytes of its subtrees, to their places in the encoding.
 *
 * @implements {PairSink}
 */
class Encoding {
  groupLog
  bytes
  #blob
  /** The length of the header in bytes. */
  #start
  /** `bytes` as words, if they are aligned. */
  #words = /** @type {Uint32Array | undefined} */ (undefined)

  /**
   * @param {Uint8Array} blob @param {number} groupLog
   * @param {number} headerLen  bytes
   * @param {Uint8Array<ArrayBuffer>} [into]
   */
  constructor (blob, groupLog, headerLen, into) {
    this.groupLog = groupLog
    this.#start = headerLen
    this.bytes = resultBuffer(into, headerLen + outboardLen(blob.length, groupLog) + blob.length)
    if (headerLen > 0) this.bytes.set(u64ToBytes(blob.length))
    if (blob.length <= CHUNK_LEN) this.bytes.set(blob, headerLen) // a tree without subtrees
    this.#blob = blob
    const { buffer, byteOffset, length } = this.bytes
    if (byteOffset % 4 === 0) this.#words = new Uint32Array(buffer, byteOffset, Math.floor(length / 4))
  }

  /** @type {PairSink['pair']} */
  pair (node, at) {
    const onLeft = 2 ** levelOf(node)
    this.#putPair(at, this.#placeOf(node + 1 - onLeft, 2 * onLeft))
  }

  /** @type {PairSink['subtree']} */
  subtree (level, index, startChunk, chunks, bytesAt) {
    const at = this.#placeOf(startChunk, chunks)
    const len = chunks * CHUNK_LEN
    const leafLen = CHUNK_LEN * 2 ** this.groupLog
    if (level <= this.groupLog || chunks !== 2 ** level || startChunk * CHUNK_LEN + len > this.#blob.length) {
      this.#put(level, index, startChunk, at)
    } else {
      encodeReduced({ start: startChunk * CHUNK_LEN, len, leafLen }, bytesAt, level, index, STAGE)
      this.bytes.set(u8.subarray(STAGE, STAGE + encodedLen(len, leafLen)), at)
    }
  }

  /**
   * Returns where a subtree begins in the encoding. `pairsBeforeLeaf` also counts the subtree's own parents above its
   * first leaf, so their number is subtracted.
   *
   * @param {number} startChunk @param {number} chunks
   */
  #placeOf (startChunk, chunks) {
    const groups = Math.ceil(chunks / 2 ** this.groupLog)
    const parents = groups === 1 ? 0 : levelOver(groups) + 1
    const pairs = pairsBeforeLeaf(startChunk, this.#blob.length, this.groupLog) - parents
    return this.#start + pairs * PAIR_LEN + startChunk * CHUNK_LEN
  }

  /**
   * Writes a subtree of any shape, pair by pair and group by group.
   *
   * @param {number} level  the level of the last reduction
   * @param {number} index  the index of the subtree's chaining value in that level
   * @param {number} chunk  where the subtree begins
   * @param {number} at  where it begins in the encoding
   * @returns {number} where it ends in the encoding
   */
  #put (level, index, chunk, at) {
    if (level <= this.groupLog) {
      const part = this.#blob.subarray(chunk * CHUNK_LEN, (chunk + 2 ** level) * CHUNK_LEN)
      this.bytes.set(part, at)
      return at + part.length
    }
    const below = level - 1
    const left = 2 * index
    const { at: cvs, count } = cvsOf(below)
    if (left + 1 === count) return this.#put(below, left, chunk, at)
    this.#putPair(cvs + left * HASH_LEN, at)
    at = this.#put(below, left, chunk, at + PAIR_LEN)
    return this.#put(below, left + 1, chunk + 2 ** below, at)
  }

  /** @param {number} from  in the arena @param {number} at  in the encoding */
  #putPair (from, at) {
    if (this.#words) copyPair(from, this.#words, at / 4)
    else this.bytes.set(u8.subarray(from, from + PAIR_LEN), at)
  }
}

/**
 * Makes the combined encoding of a source of any size from the source and its outboard. Yields it piece by piece.
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source
 * @param {SliceOutboard} outboard  the encoding gets the group log of the outboard
 * @param {SliceOptions & StreamOptions} [options]  the same as those of `encodeSlice`
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the same pieces as those of `encodeSlice`
 * @throws {BaoError} the errors of `encodeSlice`
 */
export function encodeStream (source, outboard, options) {
  return encodeSlice(source, outboard, undefined, options)
}
