// The cases for the comparison with bao: sizes and spans around every border, and damaged slices.
import { KIB, MIB } from '../support/constants.js'
import { leftLen } from '../support/twin/blake3.js'
import { flipped } from '../support/bytes.js'
import { selected } from '../support/twin/tree.js'

/** @import { Span } from './program.js' */

export const SIZES = [
  0, 1, KIB - 1, KIB, KIB + 1, 2 * KIB - 1, 2 * KIB, 2 * KIB + 1, 3 * KIB - 1, 3 * KIB, 3 * KIB + 1,
  16 * KIB - 1, 16 * KIB, 16 * KIB + 1, MIB + 17
]

/**
 * Spans at the borders of chunks, of groups and of the blob, and after its end.
 *
 * @param {number} size @returns {Span[]}
 */
export function spansOf (size) {
  const fromEnd = [size >>> 1, size - 1, size, size + 1, size + 5000].filter(start => start >= 0)
  const starts = new Set([0, 1, KIB - 1, KIB, KIB + 1, 2 * KIB, ...fromEnd])
  const counts = new Set([0, 1, KIB, KIB + 1, 16 * KIB, size])
  return [
    ...[...starts].flatMap(start => [...counts].map(count => ({ start, count }))),
    { start: Number.MAX_SAFE_INTEGER - 1, count: 1 }
  ]
}

/** A span as baobox takes it. @param {Span} span */
export const rangesOf = ({ start, count }) => ({ start, end: start + count })

/** The bytes of a span. @param {Uint8Array} blob @param {Span} span */
export const wantedOf = (blob, { start, count }) => blob.subarray(start, start + count)

/**
 * A damaged slice. A verifier must give out the `chunksBefore` chunks before the damage, and no more.
 *
 * @typedef {{ what: string, bytes: Uint8Array, chunksBefore?: number }} Damaged  `chunksBefore` is undefined when the
 *   header is damaged
 */

/**
 * Flips a bit in each byte of the header, and at both ends of every pair and chunk; also cuts the slice off there.
 *
 * @param {Uint8Array} slice  or an encoding
 * @param {number} size  of the blob
 * @param {Span} span
 * @param {number} most  flips, and cuts; if there could be more, they are spread evenly
 * @returns {Generator<Damaged>}
 */
export function * damagedOf (slice, size, span, most) {
  for (let at = 0; at < 8; at++) yield { what: `byte ${at} of the header`, bytes: flipped(slice, at, 1 << at) }
  for (const at of [0, 7]) yield { what: `cut to ${at}`, bytes: slice.slice(0, at), chunksBefore: 0 }

  const parts = partsOf(size, span)
  for (const { at, len, chunksBefore } of spread(parts, most)) {
    for (const offset of new Set([at, at + len - 1])) {
      yield { what: `byte ${offset}`, bytes: flipped(slice, offset, 0x40), chunksBefore }
    }
  }
  for (const { at, len, chunksBefore } of spread(parts, most)) {
    for (const to of new Set([at, at + len - 1])) {
      yield { what: `cut to ${to}`, bytes: slice.slice(0, to), chunksBefore }
    }
  }
}

/**
 * Where the pairs and chunks of a slice lie.
 *
 * @param {number} size @param {Span} span
 * @returns {{ at: number, len: number, chunksBefore: number }[]}
 */
function partsOf (size, { start, count }) {
  const chosen = selected(size, [Math.floor(start / KIB), Math.ceil((start + Math.max(count, 1)) / KIB)])
  const parts = []
  let at = 8
  let chunksBefore = 0
  const visit = (from, to) => {
    const isChunk = to - from <= KIB
    if (isChunk ? !chosen.has(from / KIB) : !isAnyIn(chosen, from / KIB, to / KIB)) return
    const len = isChunk ? to - from : 64
    if (len > 0) parts.push({ at, len, chunksBefore })
    at += len
    if (isChunk) {
      chunksBefore++
      return
    }
    const split = from + leftLen(to - from)
    visit(from, split)
    visit(split, to)
  }
  visit(0, size)
  return parts
}

/** @param {Set<number>} chosen @param {number} first @param {number} end */
function isAnyIn (chosen, first, end) {
  for (let chunk = first; chunk < end; chunk++) if (chosen.has(chunk)) return true
  return false
}

/** At most so many of the items, evenly spread. @template T @param {T[]} items @param {number} most */
function spread (items, most) {
  if (items.length <= most) return items
  const step = (items.length - 1) / (most - 1)
  return Array.from({ length: most }, (_, i) => items[Math.floor(i * step)])
}
