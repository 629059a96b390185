// Decides which bytes of verified leaves callers get. Leaves are whole chunks, while ranges in bytes begin and end
// anywhere.

import { ChunkRanges } from '../../lib/tree/ranges.js'

/** @import { RangesLike } from '../../lib/tree/ranges.js' */

/**
 * @typedef {object} ExactOptions
 * @property {boolean} [exact]  of ranges in bytes, `{ start, end }`: give exactly these bytes; `false` gives the whole
 *   chunks that hold them. `ChunkRanges` always give whole chunks; default: true
 */

/** @typedef {[start: number, end: number]} Span  bytes of the blob, half-open */

/**
 * The bytes that ranges ask for.
 *
 * @param {RangesLike | undefined} ranges  checked by `toRanges`
 * @param {boolean} [exact]  see `ExactOptions`
 * @returns {Span[] | undefined} undefined for all bytes of their chunks
 */
export function spansOf (ranges, exact = true) {
  if (!exact || ranges === undefined || ranges instanceof ChunkRanges) return undefined
  const { start = 0, end = Infinity } = ranges
  return start === 0 && end === Infinity ? undefined : [[start, end]]
}

/**
 * A function that cuts leaves down to spans.
 *
 * @param {Span[]} spans  increasing; they do not overlap
 */
export function trimTo (spans) {
  /** The first span that later leaves can have bytes of. */
  let next = 0
  /**
   * The parts of a leaf that lie in the spans, none of them empty.
   *
   * @param {number} offset  bytes of the blob, not below that of the leaf before
   * @param {number} len
   */
  return (offset, len) => {
    const parts = /** @type {Span[]} */ ([])
    while (next < spans.length && spans[next][1] <= offset) next++
    for (let i = next; i < spans.length && spans[i][0] < offset + len; i++) {
      const [start, end] = [Math.max(spans[i][0], offset), Math.min(spans[i][1], offset + len)]
      if (start < end) parts.push([start, end])
    }
    return parts
  }
}
