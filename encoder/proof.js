// Makes inclusion proofs: cuts a slice, and keeps at most one half of each pair in it.

import { HASH_LEN, PAIR_LEN } from '../lib/core/constants.js'
import { ENTER, LEAF, Walk } from '../lib/tree/walk.js'
import { Proof } from '../lib/slice/proof.js'
import { encodeSlice, encodeSliceSync } from './slice.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { concat } from '../lib/core/bytes.js'
import { toRanges } from '../lib/tree/ranges.js'

/** @import { BaoError } from '../lib/core/errors.js' */
/** @import { ChunkRanges, RangesLike } from '../lib/tree/ranges.js' */
/** @import { ProgressOptions, RandomAccess, SliceOutboard } from '../lib/core/types.js' */

/** @typedef {{ verify?: boolean, key?: Uint8Array }} ProofOptions  the same as those of `encodeSlice` */

const OPTIONS = ['verify', 'key']

/**
 * Makes the smallest proof that a blob has the chunks of some ranges: about 32 bytes for each level of the tree,
 * whereas a slice has 64. The proof does not contain the bytes of the chunks. A chunk group that is wanted in part is
 * read and hashed whole, because the outboard does not have the pairs inside it.
 *
 *     const proof = await createProof('movie.mp4', outboard, { start: 5000, end: 6000 })
 *     send(proof.toBytes())    // and the bytes of proof.byteRanges
 *
 * The proof proves the size of the blob only if `ranges` include the last chunk, for example `ChunkRanges.last`.
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source  the whole blob
 * @param {SliceOutboard} outboard
 * @param {RangesLike} ranges  rounded to chunks; a range beyond the end means the last chunk
 * @param {ProofOptions & ProgressOptions} [options]  `onProgress` gets `baobox:slice`
 * @returns {Promise<Proof>}
 * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH, BAO_TRUNCATED when the blob or the outboard does not
 *   belong to the root
 */
export async function createProof (source, outboard, ranges, options) {
  assertKnownOptions(options, [...OPTIONS, 'signal', 'onProgress'])
  const slice = encodeSlice(source, outboard, ranges, { ...options, header: false })
  const siblings = new Siblings(outboard, toRanges(ranges))
  for await (const piece of slice) siblings.write(piece)
  return siblings.proof()
}

/**
 * Does what `createProof` does, for bytes in memory.
 *
 * @param {Uint8Array} bytes  the whole blob
 * @param {SliceOutboard} outboard
 * @param {RangesLike} ranges
 * @param {ProofOptions} [options]
 * @returns {Proof}
 * @throws {BaoError} the errors of `createProof`
 */
export function createProofSync (bytes, outboard, ranges, options) {
  assertKnownOptions(options, OPTIONS)
  const slice = encodeSliceSync(bytes, outboard, ranges, { ...options, header: false })
  const siblings = new Siblings(outboard, toRanges(ranges))
  siblings.write(slice)
  return siblings.proof()
}

/** Takes a slice in pieces of any length, and keeps those halves of its pairs that do not follow from its bytes. */
class Siblings {
  #size
  #ranges
  #walk
  #found = /** @type {Uint8Array[]} */ ([])
  #pair = new Uint8Array(PAIR_LEN)
  /** The length of the current step in bytes, and how many of them have arrived. */
  #len = 0
  #got = 0

  /** @param {SliceOutboard} outboard @param {ChunkRanges} ranges */
  constructor ({ size, groupLog }, ranges) {
    this.#ranges = ranges.canonical(size)
    if (this.#ranges.isEmpty) throw new RangeError('"ranges" expected at least one chunk')
    this.#size = size
    this.#walk = new Walk(size, groupLog, this.#ranges)
    this.#next()
  }

  /** @param {Uint8Array} bytes */
  write (bytes) {
    for (let at = 0; at < bytes.length && this.#len > 0;) {
      const part = bytes.subarray(at, at + this.#len - this.#got)
      if (this.#walk.kind === ENTER) this.#pair.set(part, this.#got)
      this.#got += part.length
      at += part.length
      if (this.#got === this.#len) this.#take()
    }
  }

  /** @returns {Proof} */
  proof () { return new Proof({ size: this.#size, ranges: this.#ranges, siblings: concat(this.#found) }) }

  #take () {
    const { kind, hasLeft, hasRight } = this.#walk
    if (kind === ENTER && !hasLeft) this.#found.push(this.#pair.slice(0, HASH_LEN))
    if (kind === ENTER && !hasRight) this.#found.push(this.#pair.slice(HASH_LEN))
    this.#next()
  }

  #next () {
    this.#got = 0
    this.#len = this.#walk.next() ? (this.#walk.kind === LEAF ? this.#walk.len : PAIR_LEN) : 0
  }
}
