// Decides which bytes of verified leaves callers get. Leaves are whole chunks, but ranges in bytes begin and end
// anywhere.

import { ChunkRanges, joined, toRange } from '../../lib/tree/ranges.js'

/** @import { ByteRange, RangesLike } from '../../lib/tree/ranges.js' */

/**
 * @typedef {object} ExactOptions
 * @property {boolean} [exact]  for ranges in bytes, `{ start, end }`: true for exactly these bytes, false for the whole
 *   chunks that contain them. `ChunkRanges` always give whole chunks. Default: true
 */

/**
 * The bytes that ranges ask for.
 *
 * @param {RangesLike | undefined} ranges
 * @param {boolean} [exact]  see `ExactOptions`
 * @returns {ByteRange[] | undefined} in increasing order, with gaps between them; undefined for all bytes of their
 *   chunks
 */
export function wantedBytes (ranges, exact = true) {
  if (!exact || ranges === undefined || ranges instanceof ChunkRanges) return undefined
  const wanted = joined([ranges].flat().map(range => toRange(range, 'ranges')))
  return wanted[0]?.start === 0 && wanted[0].end === Infinity ? undefined : wanted
}

/**
 * Makes a function that finds the wanted bytes in leaves.
 *
 * @param {ByteRange[]} wanted  in increasing order; they do not overlap
 */
export function trimTo (wanted) {
  /** The first range that may have bytes in later leaves. */
  let next = 0
  /**
   * Returns the wanted parts of a leaf, none of them empty.
   *
   * @param {number} offset  the offset of the leaf in the blob, not below that of the previous leaf
   * @param {number} len
   */
  return (offset, len) => {
    const parts = /** @type {ByteRange[]} */ ([])
    while (next < wanted.length && wanted[next].end <= offset) next++
    for (let i = next; i < wanted.length && wanted[i].start < offset + len; i++) {
      const [start, end] = [Math.max(wanted[i].start, offset), Math.min(wanted[i].end, offset + len)]
      if (start < end) parts.push({ start, end })
    }
    return parts
  }
}
