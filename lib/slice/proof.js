// Parses and writes inclusion proofs. The root of a blob can be computed from a proof and some chunks of the blob. For
// every parent with such chunks on only one side, the proof has the chaining value of the other side. These are 32
// bytes per parent, whereas a slice has 64.
//
// As bytes, all numbers unsigned and little-endian:
//     size of the blob, 8 bytes
//     number of ranges, 4 bytes
//     for each range: its first chunk and the chunk after its last, 8 bytes each
//     siblings, 32 bytes each, in the order of their parents in a pre-order walk

import { HASH_LEN } from '../core/constants.js'
import { ChunkRanges } from '../tree/ranges.js'
import { HEADER_LEN, assertBytes, assertInteger, describe, u64FromBytes, u64ToBytes } from '../core/bytes.js'
import { assertKnownOptions } from '../core/options.js'
import { badProof } from '../core/errors.js'
import { chunkCount, leftChunks } from '../tree/geometry.js'

/** @import { BaoError } from '../core/errors.js' */
/** @import { ByteRange } from '../tree/ranges.js' */

const COUNT_LEN = 4
const RANGE_LEN = 2 * HEADER_LEN
const FIXED_LEN = HEADER_LEN + COUNT_LEN

/** A proof that the blob with a given root has some chunks at their places. `verifyProof` checks it. Immutable. */
export class Proof {
  /** The size of the blob in bytes: a claim, unless `provesSize` is true. */
  size
  /** The chunks that the proof is about: at least one, all within the blob. @type {ChunkRanges} */
  ranges
  /** The siblings, 32 bytes each. */
  siblings

  /**
   * @param {{ size: number, ranges: ChunkRanges, siblings: Uint8Array }} parts  `siblings` is not copied
   * @throws {BaoError} BAO_BAD_PROOF when the ranges need more or fewer siblings, or are outside the blob
   */
  constructor (parts) {
    assertKnownOptions(parts, ['size', 'ranges', 'siblings'])
    const { size, ranges, siblings } = parts
    assertInteger('size', size)
    if (!(ranges instanceof ChunkRanges)) throw new TypeError(`"ranges" expected ChunkRanges, got ${describe(ranges)}`)
    assertBytes('siblings', siblings)
    if (ranges.isEmpty || !ranges.canonical(size).equals(ranges)) {
      throw badProof('it has no chunks, or chunks outside the blob')
    }
    const wanted = HASH_LEN * siblingCount(size, ranges, Math.ceil(siblings.length / HASH_LEN))
    if (siblings.length !== wanted) {
      const message = `its siblings are more or fewer than its chunks need: ${siblings.length} bytes`
      throw badProof(message, { got: siblings.length })
    }
    this.size = size
    this.ranges = ranges
    this.siblings = siblings
  }

  /**
   * Parses a proof that was stored or sent. Nothing in it is believed. Memory is allocated in proportion to its length,
   * and never to the numbers in it.
   *
   * @param {Uint8Array} bytes  the whole proof; not copied
   * @throws {BaoError} BAO_BAD_PROOF, BAO_SIZE_TOO_LARGE
   */
  static fromBytes (bytes) {
    assertBytes('proof', bytes)
    const got = bytes.length
    if (got < FIXED_LEN) throw badProof(`it begins with ${FIXED_LEN} bytes, got ${got}`, { wanted: FIXED_LEN, got })
    const size = u64FromBytes(bytes)
    const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(HEADER_LEN, true)
    const siblingsAt = FIXED_LEN + count * RANGE_LEN
    if (got < siblingsAt) {
      throw badProof(`its ${count} ranges end at ${siblingsAt}, got ${got} bytes`, { wanted: siblingsAt, got })
    }
    const boundaries = []
    for (let at = FIXED_LEN, least = 0; at < siblingsAt; at += HEADER_LEN) {
      const boundary = u64FromBytes(bytes, at)
      if (boundary < least) throw badProof(`its ranges are not in order: ${boundary} after ${least - 1}`)
      boundaries.push(boundary)
      least = boundary + 1
    }
    return new Proof({ size, ranges: new ChunkRanges(boundaries), siblings: bytes.subarray(siblingsAt) })
  }

  /** The proof as bytes, to be stored or sent. @returns {Uint8Array<ArrayBuffer>} fresh */
  toBytes () {
    const { boundaries } = this.ranges
    const bytes = new Uint8Array(FIXED_LEN + boundaries.length * HEADER_LEN + this.siblings.length)
    bytes.set(u64ToBytes(this.size))
    new DataView(bytes.buffer).setUint32(HEADER_LEN, boundaries.length / 2, true)
    boundaries.forEach((boundary, i) => bytes.set(u64ToBytes(boundary), FIXED_LEN + i * HEADER_LEN))
    bytes.set(this.siblings, FIXED_LEN + boundaries.length * HEADER_LEN)
    return bytes
  }

  /** The number of bytes in the chunks of the proof. */
  get contentLen () { return this.byteRanges.reduce((sum, { start, end }) => sum + end - start, 0) }

  /** The ranges of the blob's bytes that are in the chunks of the proof. @returns {ByteRange[]} increasing */
  get byteRanges () { return this.ranges.toBytes(this.size) }

  /** True if the proof is about the last chunk, too, and so proves the size. If false, the size is a claim. */
  get provesSize () { return this.ranges.has(chunkCount(this.size) - 1) }
}

/**
 * Visits the subtrees of a proof in pre-order, and folds them into a value for the root.
 *
 * @template T
 * @param {number} size
 * @param {ChunkRanges} ranges  canonical, not empty
 * @param {object} visitor
 * @param {(startChunk: number, endChunk: number, isRoot: boolean) => T} visitor.content  the value of a subtree
 *   that is wanted whole
 * @param {() => T} visitor.sibling  the value of the next subtree that has no wanted chunk
 * @param {(left: T, right: T, isRoot: boolean) => T} visitor.parent
 * @returns {T} the value of the root
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
 * The number of parents with wanted chunks on one side only.
 *
 * @param {number} size @param {ChunkRanges} ranges  canonical, not empty
 * @param {number} max  counting ends above this number, so that a proof with many ranges and few siblings takes little
 *   time
 * @returns {number} at most `max + 1`
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
