// Combined encodings: the length, then pairs and bytes of a blob interleaved in pre-order. Source: Bao spec, "Combined Encoding Format".

import { CHUNK_LEN, HASH_LEN, MAX_GROUP_LOG, PAIR_LEN } from '../lib/core/constants.js'
import { HEADER_LEN, assertBytes, assertInteger, resultBuffer, u64ToBytes } from '../lib/core/bytes.js'
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
 * The whole blob with its tree: bao's encoding at group log 0, iroh's at 4.
 *
 * @param {Uint8Array} bytes
 * @param {{ groupLog?: number, header?: boolean, key?: Uint8Array, into?: Uint8Array<ArrayBuffer> }} [options]  `header`: begin with the length, true
 *   unless told; `into`: memory for the encoding, of `sliceLen` bytes
 *   or more, apart from `bytes`; quickest where aligned to 4 bytes
 * @returns {{ root: Uint8Array, bytes: Uint8Array<ArrayBuffer> }} fresh, but for `bytes` in `into`
 */
export function encode (bytes, { groupLog = 0, header = true, key, into } = {}) {
  assertBytes('bytes', bytes)
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  const encoding = new Encoding(bytes, groupLog, header ? HEADER_LEN : 0, into)
  const tree = new TreeBuilder(modeOf({ key }), { sink: encoding })
  tree.update(bytes)
  return { root: tree.hash(), bytes: encoding.bytes }
}

/** Takes the pairs of a growing tree to their places, and with each subtree the bytes below it, which are at hand. @implements {PairSink} */
class Encoding {
  groupLog
  bytes
  #blob
  /** Where it begins, behind the header. */
  #start
  /** The same as words, where they are aligned. */
  #words = /** @type {Uint32Array | undefined} */ (undefined)

  /** @param {Uint8Array} blob @param {number} groupLog @param {number} headerLen  bytes @param {Uint8Array<ArrayBuffer>} [into] */
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

  /** Where a subtree begins in the encoding: its first leaf stands behind all parents over it. @param {number} startChunk @param {number} chunks */
  #placeOf (startChunk, chunks) {
    const groups = Math.ceil(chunks / 2 ** this.groupLog)
    const parents = groups === 1 ? 0 : levelOver(groups) + 1
    return this.#start + (pairsBeforeLeaf(startChunk, this.#blob.length, this.groupLog) - parents) * PAIR_LEN + startChunk * CHUNK_LEN
  }

  /**
   * @param {number} level  of the last reduction @param {number} index  of a chaining value there @param {number} chunk  where it starts
   * @param {number} at  in the encoding
   * @returns {number} where it ends there
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
 * The same, piece by piece, from a source of any size and its outboard.
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source
 * @param {SliceOutboard} outboard  its group log is that of the encoding
 * @param {SliceOptions & StreamOptions} [options]  as for `encodeSlice`
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} as `encodeSlice`
 * @throws {BaoError} as `encodeSlice`
 */
export function encodeStream (source, outboard, options) {
  return encodeSlice(source, outboard, undefined, options)
}
