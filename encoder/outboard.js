// Outboards: the pairs of a blob's tree, at and above the group level, kept beside the blob. Source: Bao spec, "Outboard Encoding Format";
// orders and group levels as in bao-tree.

import { CHUNK_LEN, DEFAULT_GROUP_LOG, MAX_GROUP_LOG, PAIR_LEN } from '../lib/core/constants.js'
import { BaoError } from '../lib/core/errors.js'
import { PairTable, assertOrder } from '../lib/outboard/pairs.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { HEADER_LEN, assertBytes, assertBytesOf, assertInteger, u64FromBytes, u64ToBytes } from '../lib/core/bytes.js'
import { hashSource } from '../lib/parallel/hash-source.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { outboardLen, placeOf } from '../lib/tree/geometry.js'
import { parseRoot, toCid } from '../lib/hash/cid.js'
import { reorderPairs } from '../lib/outboard/reorder.js'

/** @import { ProgressOptions, Source, Step, ThreadOptions } from '../lib/core/types.js' */
/** @import { Order } from '../lib/outboard/pairs.js' */
/** @import { CID } from 'multiformats/cid' */

/** @typedef {{ groupLog?: number, order?: Order, key?: Uint8Array }} OutboardOptions */

/** The pairs of one blob, and what names them. Immutable. */
export class Outboard {
  /** The hash of the blob: 32 bytes. */
  root
  /** Bytes of the blob. */
  size
  /** Pairs are kept at and above this level: a group is 2^groupLog chunks. */
  groupLog
  /** @type {Order} */
  order
  /** `outboardLen(size, groupLog)` bytes: 64 for each pair, left chaining value first. */
  bytes

  /**
   * See `Outboard.from`, which checks.
   *
   * @param {{ root: Uint8Array, size: number, groupLog: number, order: Order, bytes: Uint8Array }} parts
   */
  constructor ({ root, size, groupLog, order, bytes }) {
    this.root = root
    this.size = size
    this.groupLog = groupLog
    this.order = order
    this.bytes = bytes
  }

  /**
   * An outboard that was stored or sent. Nothing in it is believed: whatever it proves is checked against the root when it is used.
   *
   * @param {{ root: Uint8Array | CID | string, size: number, groupLog?: number, order?: Order, bytes: Uint8Array }} parts  not copied
   */
  static from ({ root, size, groupLog = DEFAULT_GROUP_LOG, order = 'pre', bytes }) {
    assertOrder(order)
    assertBytesOf('bytes', bytes, outboardLen(size, groupLog))
    return new Outboard({ root: parseRoot(root), size, groupLog, order, bytes })
  }

  /**
   * An outboard file of bao: the length, then all pairs in pre-order. Bytes behind it are not looked at.
   *
   * @param {Uint8Array} bytes  not copied
   * @param {Uint8Array | CID | string} root
   * @throws {BaoError} BAO_BAD_HEADER, BAO_SIZE_TOO_LARGE, BAO_TRUNCATED
   */
  static fromBao (bytes, root) {
    assertBytes('bytes', bytes)
    if (bytes.length < HEADER_LEN) throw new BaoError('BAO_BAD_HEADER', `an outboard begins with 8 bytes of length, got ${bytes.length}`)
    const size = u64FromBytes(bytes)
    const len = outboardLen(size, 0)
    const got = bytes.length - HEADER_LEN
    if (got < len) throw new BaoError('BAO_TRUNCATED', `the outboard of ${size} bytes has ${len} bytes of pairs, got ${got}`, { wanted: len, got })
    return Outboard.from({ root, size, groupLog: 0, bytes: bytes.subarray(HEADER_LEN, HEADER_LEN + len) })
  }

  /** The blob's name. @returns {CID} */
  get cid () { return toCid(this.root) }

  /**
   * The pair of a parent.
   *
   * @param {number} node  in-order number
   * @returns {Uint8Array | undefined} 64 bytes of `bytes`; undefined when no such pair is kept
   */
  pair (node) {
    assertInteger('node', node)
    const place = placeOf(node, this.size, this.groupLog)
    if (place === undefined) return undefined
    return this.bytes.subarray(place[this.order] * PAIR_LEN, (place[this.order] + 1) * PAIR_LEN)
  }

  /** Copies the pair of a step. @param {Step} step @param {Uint8Array} out @param {number} at */
  copyPair (step, out, at) {
    const from = step[this.order] * PAIR_LEN
    out.set(this.bytes.subarray(from, from + PAIR_LEN), at)
    return true
  }

  /** Copies all pairs of a subtree, which stand together. @param {Step} step @param {Uint8Array} out @param {number} at @returns {Order} theirs */
  copySubtree ({ pre, post, len }, out, at) {
    const pairs = len / (CHUNK_LEN * 2 ** this.groupLog) - 1
    const first = this.order === 'pre' ? pre : post + 1 - pairs
    out.set(this.bytes.subarray(first * PAIR_LEN, (first + pairs) * PAIR_LEN), at)
    return this.order
  }

  /** The same outboard in the other order. Its `bytes` are fresh, and all the memory that is taken: they are turned in place. */
  flip () {
    const order = this.order === 'pre' ? 'post' : 'pre'
    const bytes = new Uint8Array(this.bytes)
    reorderPairs(bytes, this.size, this.groupLog, order)
    return new Outboard({ ...this, order, bytes })
  }

  /**
   * As bao's outboard file.
   *
   * @returns {Uint8Array<ArrayBuffer>} fresh
   */
  toBao () {
    if (this.groupLog !== 0) throw new RangeError(`bao's outboards have group log 0, this one has ${this.groupLog}`)
    const { bytes } = this.order === 'pre' ? this : this.flip()
    const file = new Uint8Array(HEADER_LEN + bytes.length)
    file.set(u64ToBytes(this.size))
    file.set(bytes, HEADER_LEN)
    return file
  }
}

/**
 * The outboard of bytes that are at hand.
 *
 * @param {Uint8Array} bytes
 * @param {OutboardOptions} [options]
 * @returns {Outboard}
 */
export function createOutboardSync (bytes, options) {
  assertBytes('bytes', bytes)
  const { mode, groupLog, order } = checked(options)
  const table = new PairTable(bytes.length, groupLog, order)
  const tree = new TreeBuilder(mode, { sink: table })
  tree.update(bytes)
  return new Outboard({ root: tree.hash(), size: bytes.length, groupLog, order, bytes: table.bytes })
}

/**
 * The outboard of anything that gives bytes over time, in one pass. Memory holds the outboard, not the blob. Long files, Blobs and bytes in
 * shared memory are hashed on several threads.
 *
 * @param {Source} source
 * @param {OutboardOptions & ProgressOptions & ThreadOptions} [options]  `onProgress` gets `baobox:outboard`
 * @returns {Promise<Outboard>}
 * @throws {BaoError} BAO_TRUNCATED, BAO_SOURCE_CHANGED when a file changes meanwhile, BAO_WORKER_FAILED
 */
export async function createOutboard (source, { signal, onProgress, threads, ...options } = {}) {
  const { mode, groupLog, order } = checked(options)
  const grown = await hashSource(source, { mode, outboard: { groupLog, order }, threads, signal, onProgress, type: 'baobox:outboard' })
  return new Outboard({ root: grown.root, size: grown.size, groupLog, order, bytes: /** @type {Uint8Array} */ (grown.pairs) })
}

/** @param {OutboardOptions} [options] */
function checked ({ groupLog = DEFAULT_GROUP_LOG, order = 'pre', key } = {}) {
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  assertOrder(order)
  return { groupLog, order, mode: modeOf({ key }) }
}
