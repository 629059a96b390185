// An outboard: the pairs of a blob's tree, at and above the group level, separate from the blob. Source: Bao spec,
// "Outboard Encoding Format"; the orders and the group level are those of bao-tree.

import { CHUNK_LEN, DEFAULT_GROUP_LOG, PAIR_LEN } from '../lib/core/constants.js'
import { BaoError } from '../lib/core/errors.js'
import { assertOrder } from '../lib/outboard/pairs.js'
import { HEADER_LEN, assertBytes, assertBytesOf, assertInteger, u64FromBytes, u64ToBytes } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { outboardLen, placeOf } from '../lib/tree/geometry.js'
import { parseRoot, toCid } from '../lib/hash/cid.js'
import { reorderPairs } from '../lib/outboard/reorder.js'

/** @import { Step } from '../lib/core/types.js' */
/** @import { Order } from '../lib/outboard/pairs.js' */
/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName, NamedBlob } from '../lib/hash/cid.js' */

/** @typedef {NamedBlob & { size: number, groupLog?: number, order?: Order, bytes: Uint8Array }} OutboardParts */

/** The properties of `OutboardParts`. A `WrittenOutboard` may be passed, too, so `root` is accepted, but not read. */
const PARTS = ['cid', 'size', 'groupLog', 'order', 'bytes', 'root']

/** The pairs of a blob, their layout, and the name of the blob. Immutable. */
export class Outboard {
  /** The hash of the blob: 32 bytes. */
  root
  /** The size of the blob in bytes. */
  size
  /** Pairs are kept at and above this level: a group is 2^groupLog chunks. */
  groupLog
  /** @type {Order} */
  order
  /** The pairs, `outboardLen(size, groupLog)` bytes. Each pair has 64 bytes, the left chaining value first. */
  bytes

  /**
   * Callers use `Outboard.from`, which checks its arguments.
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
   * Makes an outboard from pairs that were stored or sent. They are not trusted: whenever pairs are used, they are
   * compared with the root.
   *
   * @param {OutboardParts} parts  `bytes` is not copied
   */
  static from (parts) {
    assertKnownOptions(parts, PARTS)
    const { size, groupLog = DEFAULT_GROUP_LOG, order = 'pre', bytes } = parts
    assertOrder(order)
    assertBytesOf('bytes', bytes, outboardLen(size, groupLog))
    return new Outboard({ root: parseRoot(parts.cid), size, groupLog, order, bytes })
  }

  /**
   * Makes an outboard from the bytes of an outboard file of bao: the size, then all pairs in pre-order. Bytes after
   * them are ignored.
   *
   * @param {Uint8Array} bytes  not copied
   * @param {BlobName} cid
   * @throws {BaoError} BAO_BAD_HEADER, BAO_SIZE_TOO_LARGE, BAO_TRUNCATED
   */
  static fromBao (bytes, cid) {
    assertBytes('bytes', bytes)
    if (bytes.length < HEADER_LEN) {
      throw new BaoError('BAO_BAD_HEADER', `an outboard of bao begins with the size in 8 bytes, got ${bytes.length}`)
    }
    const size = u64FromBytes(bytes)
    const len = outboardLen(size, 0)
    const got = bytes.length - HEADER_LEN
    if (got < len) {
      const message = `the outboard of a blob of ${size} bytes has ${len} bytes of pairs, got ${got}`
      throw new BaoError('BAO_TRUNCATED', message, { wanted: len, got })
    }
    return Outboard.from({ cid, size, groupLog: 0, bytes: bytes.subarray(HEADER_LEN, HEADER_LEN + len) })
  }

  /** The CID of the blob. @returns {CID} */
  get cid () { return toCid(this.root) }

  /**
   * The pair of a parent.
   *
   * @param {number} node  in-order number
   * @returns {Uint8Array | undefined} a view of 64 bytes of `bytes`; undefined if the outboard does not have the pair
   */
  pair (node) {
    assertInteger('node', node)
    const place = placeOf(node, this.size, this.groupLog)
    if (place === undefined) return undefined
    return this.bytes.subarray(place[this.order] * PAIR_LEN, (place[this.order] + 1) * PAIR_LEN)
  }

  /** Copies the pair of a step to `out`. @param {Step} step @param {Uint8Array} out @param {number} at */
  copyPair (step, out, at) {
    const from = step[this.order] * PAIR_LEN
    out.set(this.bytes.subarray(from, from + PAIR_LEN), at)
    return true
  }

  /**
   * Copies all pairs of a subtree, which are adjacent.
   *
   * @param {Step} step @param {Uint8Array} out @param {number} at
   * @returns {Order} the order in which they are copied
   */
  copySubtree ({ pre, post, len }, out, at) {
    const pairs = len / (CHUNK_LEN * 2 ** this.groupLog) - 1
    const first = this.order === 'pre' ? pre : post + 1 - pairs
    out.set(this.bytes.subarray(first * PAIR_LEN, (first + pairs) * PAIR_LEN), at)
    return this.order
  }

  /**
   * Returns a copy of the outboard in the other order. The copy is reordered in place, so no further memory is needed.
   */
  flip () {
    const order = this.order === 'pre' ? 'post' : 'pre'
    const bytes = new Uint8Array(this.bytes)
    reorderPairs(bytes, this.size, this.groupLog, order)
    return new Outboard({ ...this, order, bytes })
  }

  /** Returns the bytes of an outboard file of bao. @returns {Uint8Array<ArrayBuffer>} fresh */
  toBao () {
    if (this.groupLog !== 0) throw new RangeError(`bao's outboards have group log 0: this one has ${this.groupLog}`)
    const { bytes } = this.order === 'pre' ? this : this.flip()
    const file = new Uint8Array(HEADER_LEN + bytes.length)
    file.set(u64ToBytes(this.size))
    file.set(bytes, HEADER_LEN)
    return file
  }
}
