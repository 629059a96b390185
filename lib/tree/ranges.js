// Sets of chunks, as sorted boundaries [start, end, start, end, ...]. If the number of boundaries is odd, the last
// range has no end. A set says which chunks are wanted or present. Which bytes these are depends on the size of the
// blob (`canonical`).

import { CHUNK_LEN, MAX_GROUP_LOG } from '../core/constants.js'
import { assertInteger, assertOptions, describe } from '../core/bytes.js'
import { chunkCount } from './geometry.js'

/** @typedef {{ start: number, end: number }} ByteRange  bytes of a blob, `end` not included */
/**
 * @typedef {{ start?: number, end?: number }} RangeLike  bytes, `end` not included and at least `start`; default: from
 *   the start, to the end
 */
/** @typedef {ChunkRanges | RangeLike | RangeLike[]} RangesLike */

/** An immutable set of chunk indices. */
export class ChunkRanges {
  /** The empty set. */
  static none = new ChunkRanges([])
  /** All chunks of a blob of any size. */
  static all = new ChunkRanges([0])
  /**
   * The last chunk of a blob of any size, which proves the size. Every range beyond the end of a blob also means its
   * last chunk.
   */
  static last = new ChunkRanges([Number.MAX_SAFE_INTEGER])

  /** Strictly increasing chunk indices: start, end (not included), start, ... Callers must not change them. */
  boundaries

  /** @param {number[]} boundaries  not checked. Callers use `fromBoundaries`, which checks them */
  constructor (boundaries) {
    if (!Array.isArray(boundaries)) {
      throw new TypeError(`"boundaries" expected an array, got ${describe(boundaries)}: use fromBoundaries`)
    }
    this.boundaries = Object.freeze(boundaries)
  }

  /**
   * The chunks that contain the bytes from `start` to `end`.
   *
   * @param {number} start  bytes
   * @param {number} [end]  bytes, not included; Infinity for everything from `start`. If `end` is not above `start`,
   *   the set is empty
   */
  static fromBytes (start, end = Infinity) {
    assertInteger('start', start)
    if (end !== Infinity) assertInteger('end', end)
    if (end <= start) return ChunkRanges.none
    const first = Math.floor(start / CHUNK_LEN)
    return new ChunkRanges(end === Infinity ? [first] : [first, Math.ceil(end / CHUNK_LEN)])
  }

  /**
   * Makes a set from its boundaries.
   *
   * @param {Iterable<number | bigint>} boundaries  strictly increasing chunk indices: start, end, start, ... Numbers
   *   above 2^53 - 1 are beyond the end of any blob, and count as 2^53 - 1
   */
  static fromBoundaries (boundaries) {
    if (typeof boundaries?.[Symbol.iterator] !== 'function') {
      throw new TypeError(`"boundaries" expected an iterable, got ${describe(boundaries)}`)
    }
    const numbers = []
    let before = -1n
    for (const boundary of boundaries) {
      if (typeof boundary !== 'bigint' && !(typeof boundary === 'number' && Number.isInteger(boundary))) {
        throw new TypeError(`"boundaries" expected integers, got ${describe(boundary)}`)
      }
      const exact = BigInt(boundary)
      if (exact <= before) {
        const index = numbers.length
        throw new RangeError(`"boundaries" expected increasing integers from 0, got ${exact} at index ${index}`)
      }
      before = exact
      numbers.push(Math.min(Number(exact), Number.MAX_SAFE_INTEGER))
    }
    // All boundaries above 2^53 - 1 have become this number, so only the first of them is kept.
    const beyond = numbers.indexOf(Number.MAX_SAFE_INTEGER)
    return new ChunkRanges(beyond < 0 ? numbers : numbers.slice(0, beyond + 1))
  }

  get isEmpty () { return this.boundaries.length === 0 }

  /** True if the chunk is in the set. @param {number} chunk */
  has (chunk) {
    assertInteger('chunk', chunk)
    return this.#boundariesUpTo(chunk) % 2 === 1
  }

  /** True if any chunk of [start, end) is in the set. @param {number} start @param {number} end */
  intersects (start, end) {
    if (start >= end) return false
    const at = this.#boundariesUpTo(start)
    return at % 2 === 1 || (at < this.boundaries.length && this.boundaries[at] < end)
  }

  /** True if every chunk of [start, end) is in the set. @param {number} start @param {number} end */
  contains (start, end) {
    if (start >= end) return true
    const at = this.#boundariesUpTo(start)
    return at % 2 === 1 && (at === this.boundaries.length || this.boundaries[at] >= end)
  }

  /** The chunks that are in one of the two sets, or in both. @param {ChunkRanges} other */
  union (other) { return combine(this, other, (a, b) => a || b) }

  /** The chunks that are in both sets. @param {ChunkRanges} other */
  intersect (other) { return combine(this, other, (a, b) => a && b) }

  /** The chunks of this set that are not in the other one. @param {ChunkRanges} other */
  difference (other) { return combine(this, other, (a, b) => a && !b) }

  /** True if both sets have the same chunks. @param {ChunkRanges} other */
  equals (other) {
    const [a, b] = [this.boundaries, other.boundaries]
    return a.length === b.length && a.every((boundary, i) => boundary === b[i])
  }

  /**
   * The chunks that this set selects in a blob of `size` bytes. Chunks beyond the end mean the last chunk. Both sides
   * of a transfer call this with the same size before they walk.
   *
   * @param {number} size  bytes
   */
  canonical (size) {
    const chunks = chunkCount(size)
    /** @type {number[]} */
    const boundaries = []
    for (let i = 0; i < this.boundaries.length; i += 2) {
      const start = Math.min(this.boundaries[i], chunks - 1)
      const end = Math.max(Math.min(this.boundaries[i + 1] ?? Infinity, chunks), start + 1)
      if (start > (boundaries.at(-1) ?? -1)) boundaries.push(start, end)
      else boundaries[boundaries.length - 1] = end
      if (start === chunks - 1) break // all further ranges mean the last chunk, too
    }
    return new ChunkRanges(boundaries)
  }

  /**
   * The bytes that this set selects in a blob of `size` bytes.
   *
   * @param {number} size  bytes
   * @returns {ByteRange[]} increasing; none of them empty
   */
  toBytes (size) {
    return [...this.canonical(size)]
      .map(([start, end]) => ({ start: start * CHUNK_LEN, end: Math.min(end * CHUNK_LEN, size) }))
      .filter(({ start, end }) => start < end)
  }

  /**
   * All chunk groups that contain chunks of this set.
   *
   * @param {number} groupLog  0 to 16
   */
  roundToGroups (groupLog) {
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    const group = 2 ** groupLog
    /** @type {number[]} */
    const boundaries = []
    for (const [from, to] of this) {
      const start = Math.floor(from / group) * group
      const end = Math.min(Math.ceil(to / group) * group, Number.MAX_SAFE_INTEGER)
      if (start > (boundaries.at(-1) ?? -1)) boundaries.push(start, end)
      else boundaries[boundaries.length - 1] = end
    }
    return new ChunkRanges(this.boundaries.length % 2 === 1 ? boundaries.slice(0, -1) : boundaries)
  }

  /**
   * Yields the ranges as [start, end). A range without an end ends at Infinity.
   *
   * @returns {Generator<[start: number, end: number]>}
   */
  * [Symbol.iterator] () {
    for (let i = 0; i < this.boundaries.length; i += 2) yield [this.boundaries[i], this.boundaries[i + 1] ?? Infinity]
  }

  /**
   * How many boundaries are at or below a chunk. The number is odd if the chunk is in the set.
   *
   * @param {number} chunk
   */
  #boundariesUpTo (chunk) {
    let low = 0
    let high = this.boundaries.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.boundaries[middle] <= chunk) low = middle + 1
      else high = middle
    }
    return low
  }
}

/**
 * The `ranges` option of a caller, as a set of chunks.
 *
 * @param {RangesLike | undefined} ranges  a range of bytes means at least the byte at `start`, even if it is empty, as
 *   in bao; an array means the bytes of all its ranges; undefined means everything
 * @returns {ChunkRanges}
 */
export function toRanges (ranges) {
  if (ranges === undefined) return ChunkRanges.all
  if (ranges instanceof ChunkRanges) return ranges
  if (!Array.isArray(ranges)) return new ChunkRanges(boundariesOf([chunksOf(ranges)]))
  return new ChunkRanges(boundariesOf(joined(ranges.map(chunksOf))))
}

/** The chunks of one range. @param {RangeLike} range */
function chunksOf (range) {
  const { start, end } = toRange(range, 'ranges')
  const first = Math.floor(start / CHUNK_LEN)
  return { start: first, end: Math.max(Math.ceil(end / CHUNK_LEN), first + 1) }
}

/**
 * @param {{ start: number, end: number }[]} ranges  increasing, with gaps between them; the last may end at Infinity
 */
const boundariesOf = ranges => ranges.flatMap(({ start, end }) => end === Infinity ? [start] : [start, end])

/**
 * Joins ranges that overlap or touch.
 *
 * @param {{ start: number, end: number }[]} ranges  in any order
 * @returns {{ start: number, end: number }[]} increasing, with gaps between them
 */
export function joined (ranges) {
  const apart = /** @type {{ start: number, end: number }[]} */ ([])
  for (const { start, end } of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = apart.at(-1)
    if (last === undefined || last.end < start) apart.push({ start, end })
    else last.end = Math.max(last.end, end)
  }
  return apart
}

/**
 * The `range` option of a caller.
 *
 * @param {RangeLike | undefined} range @param {string} [name]  the name of the argument
 * @returns {ByteRange}
 * @throws {TypeError | RangeError} also when the end is before the start
 */
export function toRange (range = {}, name = 'range') {
  assertOptions(name, range, name === 'range' ? '{ start, end }' : 'ChunkRanges, { start, end } or an array of those')
  const { start = 0, end = Infinity } = range
  for (const key in range) {
    if (key !== 'start' && key !== 'end') throw new TypeError(`"${name}" expected start and end, got "${key}" as well`)
  }
  assertInteger('start', start)
  if (end !== Infinity) assertInteger('end', end)
  if (end < start) throw new RangeError(`"end" expected at least "start", ${start}, got ${end}`)
  return { start, end }
}

/** @param {ChunkRanges} a @param {ChunkRanges} b @param {(inA: boolean, inB: boolean) => boolean} rule */
function combine (a, b, rule) {
  if (!(b instanceof ChunkRanges)) throw new TypeError(`"other" expected ChunkRanges, got ${describe(b)}`)
  /** @type {number[]} */
  const boundaries = []
  let i = 0
  let j = 0
  while (i < a.boundaries.length || j < b.boundaries.length) {
    const boundary = Math.min(a.boundaries[i] ?? Infinity, b.boundaries[j] ?? Infinity)
    if (a.boundaries[i] === boundary) i++
    if (b.boundaries[j] === boundary) j++
    if (rule(i % 2 === 1, j % 2 === 1) !== (boundaries.length % 2 === 1)) boundaries.push(boundary)
  }
  return new ChunkRanges(boundaries)
}

/**
 * Counts the bytes in ranges of a blob.
 *
 * @param {ChunkRanges} ranges @param {number} size  the size of the blob, in bytes
 */
export const rangesLen = (ranges, size) => ranges.toBytes(size).reduce((len, { start, end }) => len + end - start, 0)
