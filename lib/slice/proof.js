// Inclusion proofs: what has to be added to some chunks of a blob so that its root follows from them. For every parent with chunks on one side
// only, that is the chaining value of the other side: 32 bytes, half of what a slice has there, and nothing of what the chunks give anyway.
//
// As bytes, all numbers unsigned and little-endian:
//     size of the blob, 8 bytes; number of ranges, 4 bytes; of each range first chunk and the one behind its last, 8 bytes each;
//     siblings, 32 bytes each, in the order in which a pre-order walk comes to their parents

import { HASH_LEN } from '../core/constants.js'
import { ChunkRanges } from '../tree/ranges.js'
import { HEADER_LEN, assertBytes, assertInteger, describe, u64FromBytes, u64ToBytes } from '../core/bytes.js'
import { badProof } from '../core/errors.js'
import { chunkCount, leftChunks } from '../tree/geometry.js'

/** @import { BaoError } from '../core/errors.js' */

const COUNT_LEN = 4
const RANGE_LEN = 2 * HEADER_LEN
const FIXED_LEN = HEADER_LEN + COUNT_LEN

/** A proof that some chunks stand where it says in the blob with a given root. By itself it proves nothing: `verifyProof` does. Immutable. */
export class Proof {
  /** Bytes of the blob: a claim, unless `provesSize`. */
  size
  /** The chunks that it is about: not empty, within the blob. @type {ChunkRanges} */
  ranges
  /** 32 bytes for every sibling. */
  siblings

  /**
   * @param {{ size: number, ranges: ChunkRanges, siblings: Uint8Array }} parts  `siblings` is not copied
   * @throws {BaoError} BAO_BAD_PROOF when these ranges of such a blob need more siblings, or fewer; or when they lie outside
   */
  constructor ({ size, ranges, siblings }) {
    assertInteger('size', size)
    if (!(ranges instanceof ChunkRanges)) throw new TypeError(`"ranges" expected ChunkRanges, got ${describe(ranges)}`)
    assertBytes('siblings', siblings)
    if (ranges.isEmpty || !ranges.canonical(size).equals(ranges)) throw badProof('its chunks are none, or not in the blob')
    const wanted = HASH_LEN * siblingCount(size, ranges, Math.ceil(siblings.length / HASH_LEN))
    if (siblings.length !== wanted) throw badProof(`its siblings are more or fewer than its chunks need: ${siblings.length} bytes`, { got: siblings.length })
    this.size = size
    this.ranges = ranges
    this.siblings = siblings
  }

  /**
   * A proof that was stored or sent. Nothing in it is believed. What it allocates follows from its length, never from the numbers in it.
   *
   * @param {Uint8Array} bytes  not copied; all of them
   * @throws {BaoError} BAO_BAD_PROOF, BAO_SIZE_TOO_LARGE
   */
  static fromBytes (bytes) {
    assertBytes('proof', bytes)
    if (bytes.length < FIXED_LEN) throw badProof(`it begins with ${FIXED_LEN} bytes, got ${bytes.length}`, { wanted: FIXED_LEN, got: bytes.length })
    const size = u64FromBytes(bytes)
    const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(HEADER_LEN, true)
    const siblingsAt = FIXED_LEN + count * RANGE_LEN
    if (bytes.length < siblingsAt) throw badProof(`its ${count} ranges end at ${siblingsAt}, got ${bytes.length} bytes`, { wanted: siblingsAt, got: bytes.length })
    const boundaries = []
    for (let at = FIXED_LEN, least = 0; at < siblingsAt; at += HEADER_LEN) {
      const boundary = u64FromBytes(bytes, at)
      if (boundary < least) throw badProof(`its ranges are not in order: ${boundary} after ${least - 1}`)
      boundaries.push(boundary)
      least = boundary + 1
    }
    return new Proof({ size, ranges: new ChunkRanges(boundaries), siblings: bytes.subarray(siblingsAt) })
  }

  /** @returns {Uint8Array<ArrayBuffer>} fresh */
  toBytes () {
    const { boundaries } = this.ranges
    const bytes = new Uint8Array(FIXED_LEN + boundaries.length * HEADER_LEN + this.siblings.length)
    bytes.set(u64ToBytes(this.size))
    new DataView(bytes.buffer).setUint32(HEADER_LEN, boundaries.length / 2, true)
    boundaries.forEach((boundary, i) => bytes.set(u64ToBytes(boundary), FIXED_LEN + i * HEADER_LEN))
    bytes.set(this.siblings, FIXED_LEN + boundaries.length * HEADER_LEN)
    return bytes
  }

  /** Bytes of the blob that the proof is about: those of its chunks, one after the other. */
  get contentLen () { return this.spans.reduce((sum, [start, end]) => sum + end - start, 0) }

  /** Where they stand in the blob, as bytes. @returns {[start: number, end: number][]} half-open, increasing */
  get spans () { return this.ranges.toBytes(this.size) }

  /** Is the last chunk among them? Then what verifies proves the size too; else the size is what somebody said. */
  get provesSize () { return this.ranges.has(chunkCount(this.size) - 1) }
}

/**
 * The subtrees that a proof is made of, in pre-order.
 *
 * @template T
 * @param {number} size
 * @param {ChunkRanges} ranges  canonical, not empty
 * @param {object} visitor
 * @param {(startChunk: number, endChunk: number, isRoot: boolean) => T} visitor.content  of a subtree that is wanted whole
 * @param {() => T} visitor.sibling  of one that is not wanted at all: of the next one
 * @param {(left: T, right: T, isRoot: boolean) => T} visitor.parent
 * @returns {T} what the root is
 */
export function foldProof (size, ranges, { content, sibling, parent }) {
  /** @param {number} start  chunk @param {number} end @param {boolean} isRoot @returns {T} */
  const visit = (start, end, isRoot) => {
    if (ranges.contains(start, end)) return content(start, end, isRoot)
    const middle = start + leftChunks(end - start)
    if (!ranges.intersects(start, middle)) {
      const left = sibling()
      return parent(left, visit(middle, end, false), isRoot)
    }
    if (!ranges.intersects(middle, end)) {
      const right = sibling()
      return parent(visit(start, middle, false), right, isRoot)
    }
    return parent(visit(start, middle, false), visit(middle, end, false), isRoot)
  }
  return visit(0, chunkCount(size), true)
}

/**
 * Parents with wanted chunks on one side only.
 *
 * @param {number} size @param {ChunkRanges} ranges  canonical, not empty
 * @param {number} max  more are not counted: who sends many ranges and few siblings makes us work no longer than their number is worth
 * @returns {number} at most one more
 */
function siblingCount (size, ranges, max) {
  let count = 0
  /** @param {number} start @param {number} end */
  const visit = (start, end) => {
    if (count > max || ranges.contains(start, end)) return
    const middle = start + leftChunks(end - start)
    const hasLeft = ranges.intersects(start, middle)
    const hasRight = ranges.intersects(middle, end)
    if (!hasLeft || !hasRight) count++
    if (hasLeft) visit(start, middle)
    if (hasRight) visit(middle, end)
  }
  visit(0, chunkCount(size))
  return count
}
