// Reads the outboard that is in a bucket beside a blob, and verifies each pair from the root downwards. So the bytes of
// the blob are not needed.

import { areEqual, concat } from '../../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG, HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { parentCv, rootHash } from '../../../lib/hash/subtree.js'
import { leftChunks, outboardLen } from '../../../lib/tree/geometry.js'
import { ChunkRanges, toRange } from '../../../lib/tree/ranges.js'
import { Outboard } from '../../../encoder/outboard.js'
import { GROUP_LEN, corrupt, notFound } from '../../../store/interface.js'
import { keyOf } from '../layout.js'
import { OutboardBlocks } from '../outboard-blocks.js'

/** @import { BlobStore, BlobName, OutboardOptions, OutboardRange } from '../../../store/index.js' */
/** @import { Bucket } from '../bucket.js' */
/** @import { Calls } from './calls.js' */
/** @import { Placements } from './placements.js' */

/** Bytes of a piece that is given out. */
const PIECE_LEN = 1 << 16
/** How often an outboard is looked for that was deleted since it was seen. */
const MAX_TRIES = 2

/**
 * @typedef {object} OutboardObject
 * @property {OutboardBlocks} blocks
 * @property {string} location  for messages
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

/** The outboards of a store in a bucket. */
export class StoredOutboards {
  #bucket
  #calls
  #local
  #placements

  /** @param {{ bucket: Bucket, calls: Calls, local: BlobStore, placements: Placements }} parts */
  constructor ({ bucket, calls, local, placements }) {
    this.#bucket = bucket
    this.#calls = calls
    this.#local = local
    this.#placements = placements
  }

  /** @param {BlobName} cid @param {OutboardOptions} [options] @returns {Promise<Outboard>} */
  async whole (cid, options = {}) {
    this.#local.outboard(cid, { ...options, range: { start: 0 } }) // It checks the arguments, and reads nothing.
    return this.#calls.run(async signal => {
      const root = parseRoot(cid, 'cid')
      const object = await this.#find(root, options, signal)
      if (object === undefined) return this.#local.outboard(cid, options)
      const pieces = []
      const all = storedOutboard(object, { start: 0, end: object.len }, signal)
      for await (const piece of all) pieces.push(piece)
      return Outboard.from({ cid: root, size: object.size, bytes: concat(pieces) })
    }, options.signal)
  }

  /** @param {BlobName} cid @param {OutboardOptions & OutboardRange} options */
  part (cid, options) {
    // It checks the arguments, and reads nothing before it is used.
    const fromLocal = this.#local.outboard(cid, options)
    const { start, end } = toRange(options.range)
    return this.#calls.each(signal => this.#pieces(cid, { ...options, start, end, fromLocal }, signal), options.signal)
  }

  /**
   * @param {BlobName} cid
   * @param {OutboardOptions & { start: number, end: number, fromLocal: AsyncGenerator<Uint8Array<ArrayBuffer>> }} part
   * @param {AbortSignal} signal
   */
  async * #pieces (cid, { start, end, fromLocal, ...options }, signal) {
    const object = await this.#find(parseRoot(cid, 'cid'), options, signal)
    if (object === undefined) yield * fromLocal
    else yield * storedOutboard(object, { start, end: Math.min(end, object.len) }, signal)
  }

  /**
   * Finds the outboard of a blob that is not whole in the local store, and proves the size of the blob.
   *
   * @param {Uint8Array} root @param {OutboardOptions} options @param {AbortSignal} signal
   * @returns {Promise<OutboardObject | undefined>} undefined if the local store should make the outboard
   */
  async #find (root, { groupLog = DEFAULT_GROUP_LOG }, signal) {
    if (groupLog !== DEFAULT_GROUP_LOG || (await this.#local.statMany([root]))[0]?.complete) return undefined
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const placement = await this.#placements.find(root, signal)
      if (placement?.outboard === undefined) return undefined
      await this.#local.bytes(root, ChunkRanges.last, { signal }) // It proves the size.
      const [stat] = await this.#local.statMany([root])
      if (stat?.size !== placement.size) return undefined
      const [key, len] = [keyOf(placement.outboard), outboardLen(stat.size)]
      const blocks = new OutboardBlocks(this.#bucket, key, len)
      // The first pair is always needed.
      if (await blocks.read(0, PAIR_LEN, signal) !== undefined) {
        return { blocks, location: `${this.#bucket.location}/${key}`, root, size: stat.size, len }
      }
      this.#placements.forget(root) // Another process has deleted it.
    }
    return undefined
  }
}

/**
 * Yields a range of an outboard's bytes. It reads the pairs in the range and those above them, and verifies each.
 *
 * @param {OutboardObject} object  at group log 4, in pre-order
 * @param {{ start: number, end: number }} range  `end`: at most the length
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
 * @throws {BaoError} STORE_CORRUPT { cid } if a pair is wrong or missing; STORE_NOT_FOUND { cid } if the object is
 *   deleted during the call; errors of the bucket
 */
async function * storedOutboard (object, { start, end }, signal) {
  const { blocks, location, root, size, len } = object
  const subtrees = /** @type {Subtree[]} */ ([{ cv: root, group: 0, first: 0, count: len / PAIR_LEN }])
  let piece = /** @type {Uint8Array[]} */ ([])
  for (let next; (next = subtrees.pop()) !== undefined;) {
    const { cv, group, first, count } = next
    const at = first * PAIR_LEN
    if (count === 0 || at >= end || at + count * PAIR_LEN <= start) continue
    const pairEnd = at + PAIR_LEN
    const pair = blocks.peek(at, pairEnd) ?? await blocks.read(at, pairEnd, signal)
    if (pair === undefined) throw notFound(root)
    const [left, right] = [pair.subarray(0, HASH_LEN), pair.subarray(HASH_LEN)]
    const isRight = pair.length === PAIR_LEN &&
      areEqual(first === 0 ? rootHash(left, right) : parentCv(left, right), 0, cv)
    if (!isRight) {
      const place = { start: group * GROUP_LEN, len: Math.min((count + 1) * GROUP_LEN, size - group * GROUP_LEN) }
      const text = `pair ${first} of ${location} does not match the root`
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
