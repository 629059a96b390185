// Encodes and decodes the part of an iroh request that says which chunks of which blobs are wanted. A range
// specification is a list of boundaries, each encoded as its distance from the previous one. A sequence of
// specifications is run-length encoded: each applies to its blob and to those after it, up to the next specification.
// Source: iroh-blobs, src/protocol/range_spec.rs.

import { areEqual, assertInteger } from '../../../lib/core/bytes.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { varint } from './postcard.js'

/** @import { PostcardReader } from './postcard.js' */

/**
 * The wanted chunks of the blob `index` and of those after it, up to the next entry. Blob 0 is the one that the request
 * names, and blob k is its member k - 1.
 *
 * @typedef {[index: number, ranges: ChunkRanges]} WantedRanges
 */

const U64_MAX = 2n ** 64n - 1n
/** The encoding of an empty set of ranges. */
const NOTHING = Uint8Array.of(0)

/**
 * A boundary as iroh writes it. The range of the last chunk begins at 2^53 - 1 here, and at 2^64 - 1 in iroh.
 *
 * @param {number} boundary
 */
const toWire = boundary => boundary === Number.MAX_SAFE_INTEGER ? U64_MAX : BigInt(boundary)

/** @param {ChunkRanges} ranges @returns {number[]} bytes */
function encodeRanges ({ boundaries }) {
  const wire = boundaries.map(toWire)
  return [...varint(wire.length), ...wire.flatMap((boundary, i) => varint(boundary - (wire[i - 1] ?? 0n)))]
}

/**
 * @param {PostcardReader} reader
 * @returns {ChunkRanges} boundaries above 2^53 - 1 count as 2^53 - 1
 */
function decodeRanges (reader) {
  const count = reader.count()
  const boundaries = []
  let boundary = 0n
  for (let i = 0; i < count; i++) {
    const start = reader.at
    const distance = reader.varint()
    if (i > 0 && distance === 0n) throw reader.error('a range without chunks', start)
    boundary += distance
    if (boundary > U64_MAX) throw reader.error('a chunk index above 2^64 - 1', start)
    boundaries.push(boundary)
  }
  return ChunkRanges.fromBoundaries(boundaries)
}

/**
 * @param {WantedRanges[]} wanted  in the order of their indices. The ranges of each entry differ from those of the
 *   previous one
 * @returns {number[]} bytes
 */
export function encodeWanted (wanted) {
  const parts = wanted.map(([index, ranges], i) =>
    [...varint(index - (i === 0 ? 0 : wanted[i - 1][0])), ...encodeRanges(ranges)])
  return [...varint(wanted.length), ...parts.flat()]
}

/**
 * Returns the entries that ask for whole members of a sequence.
 *
 * @param {number[]} indices  increasing, from 0
 * @returns {WantedRanges[]}
 */
export function wantedMembers (indices) {
  const wanted = /** @type {WantedRanges[]} */ ([])
  for (const [i, index] of indices.entries()) {
    assertInteger('indices', index)
    if (i === 0 || indices[i - 1] !== index - 1) wanted.push([index + 1, ChunkRanges.all])
    if (indices[i + 1] !== index + 1) wanted.push([index + 2, ChunkRanges.none])
  }
  return wanted
}

/**
 * @param {PostcardReader} reader
 * @returns {WantedRanges[]} indices above 2^53 - 1 are left out, because no blob has that many members
 */
export function decodeWanted (reader) {
  const count = reader.count(2)
  const wanted = /** @type {WantedRanges[]} */ ([])
  let index = 0n
  let before = /** @type {Uint8Array} */ (NOTHING) // what is wanted before the first entry
  for (let i = 0; i < count; i++) {
    const start = reader.at
    const distance = reader.varint()
    if (i > 0 && distance === 0n) throw reader.error('two sets of ranges for one blob', start)
    index += distance
    if (index > U64_MAX) throw reader.error('a blob index above 2^64 - 1', start)
    const from = reader.at
    const ranges = decodeRanges(reader)
    // Each set has only one encoding, so comparing bytes compares sets, even where boundaries are above 2^53 - 1.
    const bytes = reader.read(from)
    if (bytes.length === before.length && areEqual(bytes, 0, before)) throw reader.error('the same ranges again', from)
    before = bytes
    if (index <= Number.MAX_SAFE_INTEGER) wanted.push([Number(index), ranges])
  }
  return wanted
}
