// Reads the outboard that is in a bucket beside a blob, and verifies each pair from the root downwards. So the bytes of
// the blob are not needed.

import { areEqual, concat } from '../../../lib/core/bytes.js'
import { HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { LruCache } from '../../../lib/core/lru.js'
import { parentCv, rootHash } from '../../../lib/hash/subtree.js'
import { leftChunks } from '../../../lib/tree/geometry.js'
import { GROUP_LEN, corrupt } from '../../../store/interface.js'
import { readAll } from '../read-all.js'

/** @import { Bucket } from '../bucket.js' */

/** How much is read with one request: the pairs of 1 GiB. */
const MAX_WHOLE_LEN = 1 << 22
/** What is read at a time of a longer outboard, and how many of these blocks are kept. */
const BLOCK_LEN = 1 << 18
const MAX_BLOCKS = 16
/** Bytes of a piece that is given out. */
const PIECE_LEN = 1 << 16

/**
 * @typedef {object} OutboardObject
 * @property {string} key
 * @property {Uint8Array} root
 * @property {number} size  bytes of the blob: proven
 * @property {number} len  bytes of the outboard, which follow from the size
 */
/**
 * @typedef {object} Subtree
 * @property {Uint8Array} cv  the expected chaining value
 * @property {number} group  the first group below it
 * @property {number} first  its first pair, by its number in pre-order
 * @property {number} count  of its pairs: one less than groups
 */

/**
 * Yields a range of an outboard's bytes. It reads the pairs in the range and those above them, and verifies each.
 *
 * @param {Bucket} bucket @param {OutboardObject} object  at group log 4, in pre-order
 * @param {{ start: number, end: number }} range  `end`: at most the length
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
 * @throws {BaoError} STORE_CORRUPT { cid } if a pair is wrong or missing; errors
 *   of the bucket
 */
export async function * storedOutboard (bucket, object, { start, end }, signal) {
  const { key, root, size, len } = object
  const blocks = new Blocks(bucket, object, signal)
  const subtrees = /** @type {Subtree[]} */ ([{ cv: root, group: 0, first: 0, count: len / PAIR_LEN }])
  let piece = /** @type {Uint8Array[]} */ ([])
  for (let next; (next = subtrees.pop()) !== undefined;) {
    const { cv, group, first, count } = next
    const at = first * PAIR_LEN
    if (count === 0 || at >= end || at + count * PAIR_LEN <= start) continue
    const pair = blocks.pairAt(at) ?? await blocks.load(at)
    const [left, right] = [pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN)]
    const isRight = pair.length === PAIR_LEN &&
      areEqual(first === 0 ? rootHash(left, right) : parentCv(left, right), 0, cv)
    if (!isRight) {
      const place = { start: group * GROUP_LEN, len: Math.min((count + 1) * GROUP_LEN, size - group * GROUP_LEN) }
      const text = `pair ${first} of ${bucket.location}/${key} does not match the root`
      throw corrupt(root, size, new BaoError('BAO_PARENT_MISMATCH', text, place))
    }
    const before = leftChunks(count + 1) // groups below the left child
    subtrees.push({ cv: right, group: group + before, first: first + before, count: count - before })
    subtrees.push({ cv: left, group, first: first + 1, count: before - 1 })
    const part = pair.subarray(Math.max(0, start - at), end - at)
    if (part.length > 0) piece.push(part)
    if (piece.length < PIECE_LEN / PAIR_LEN) continue
    yield concat(piece)
    piece = []
  }
  if (piece.length > 0) yield concat(piece)
}

/** The parts of an object that were read. */
class Blocks {
  #bucket
  #object
  #signal
  #blockLen
  #kept = /** @type {LruCache<number, Uint8Array>} */ (new LruCache(MAX_BLOCKS))

  /** @param {Bucket} bucket @param {OutboardObject} object @param {AbortSignal} signal */
  constructor (bucket, object, signal) {
    this.#bucket = bucket
    this.#object = object
    this.#signal = signal
    this.#blockLen = object.len <= MAX_WHOLE_LEN ? MAX_WHOLE_LEN : BLOCK_LEN
  }

  /** The pair at an offset; undefined if its block is not here. @param {number} at @returns {Uint8Array | undefined} */
  pairAt (at) {
    const start = at % this.#blockLen
    return this.#kept.get((at - start) / this.#blockLen)?.subarray(start, start + PAIR_LEN)
  }

  /** Reads the block of a pair. @param {number} at @returns {Promise<Uint8Array>} the pair; shorter if it is missing */
  async load (at) {
    const { key, len } = this.#object
    const start = at - at % this.#blockLen
    const end = Math.min(start + this.#blockLen, len)
    const object = await this.#bucket.get(key, { start, end }, { signal: this.#signal })
    const block = object === undefined ? new Uint8Array(0) : await readAll(object, end - start)
    this.#kept.set(start / this.#blockLen, block)
    return block.subarray(at - start, at - start + PAIR_LEN)
  }
}
