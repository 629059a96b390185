// Reads and verifies any range of a blob. Neither the blob nor its tree is trusted, and both may be remote. A read
// fetches only the groups and pairs that it needs.

import { BaoError } from '../../lib/core/errors.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { Combined } from '../slice/combined.js'
import { Leaves } from '../slice/leaves.js'
import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { SliceVerifier } from '../slice/slice.js'
import { wantedBytes } from '../slice/wanted-bytes.js'
import { assertInteger, assertOptions, concat } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { cut } from '../../lib/slice/slicer.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { toRandomAccess } from '../../lib/source/source.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { verifyPieces } from '../slice/pieces.js'

/** @import { NamedBlob } from '../../lib/hash/cid.js' */
/** @import { ByteRange, RangesLike } from '../../lib/tree/ranges.js' */
/** @import { RandomAccess, SliceOutboard } from '../../lib/core/types.js' */

/**
 * @typedef {object} BlobOrigin
 * @property {Uint8Array | Blob | RandomAccess | string | URL} [encoded]  a combined encoding, unless `source` is given
 * @property {Uint8Array | Blob | RandomAccess | string | URL} [source]  the blob, unless `encoded` is given
 * @property {SliceOutboard} [outboard]  the outboard of `source`
 * @property {number} [groupLog]  the group log of the combined encoding; default: 4
 * @property {Uint8Array} [key]  the key of a keyed tree
 */

/**
 * Reads any range of a blob, and returns only bytes that verify. `size` returns the proven size.
 *
 * A read fetches only the chunk groups that it needs and the pairs above them. If it reads a combined encoding, the
 * reader keeps up to 256 KiB of verified pairs for the next reads. Any number of reads may run at the same time. A
 * failed read may succeed when it is tried again, because every read is verified up to the root.
 */
export class VerifiedReader {
  #root
  #key
  #open
  /** @type {Promise<Origin> | undefined} */
  #origin
  #provenSize = /** @type {number | undefined} */ (undefined)

  /** @param {NamedBlob & BlobOrigin} options */
  constructor (options) {
    assertOptions('options', options, '{ cid, ... }')
    assertKnownOptions(options, ['cid', 'encoded', 'source', 'outboard', 'groupLog', 'key'])
    const { cid, encoded, source, outboard, groupLog = DEFAULT_GROUP_LOG, key } = options
    this.#root = parseRoot(cid)
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    modeOf({ key })
    this.#key = key && new Uint8Array(key)
    if (encoded !== undefined) {
      this.#open = async () => Combined.open(await toRandomAccess(encoded), groupLog)
    } else if (source !== undefined && outboard !== undefined) {
      this.#open = () => openWithOutboard(source, outboard, this.#key)
    } else {
      throw new TypeError('"encoded", or "source" and "outboard", expected')
    }
  }

  /**
   * The bytes of some ranges.
   *
   * @param {RangesLike} [ranges]  their bytes are joined in the result; bytes beyond the end of the blob are left out;
   *   default: everything
   * @param {ReadOptions} [options]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH, BAO_TRUNCATED, BAO_SIZE_TOO_LARGE
   */
  async read (ranges, options) {
    const pieces = []
    for await (const piece of this.stream(ranges, options)) pieces.push(piece)
    return concat(pieces)
  }

  /**
   * Yields the bytes of some ranges, leaf by leaf as they verify.
   *
   * @param {RangesLike} [ranges]
   * @param {ReadOptions} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  stream (ranges, options = {}) {
    assertKnownOptions(options, ['signal'])
    return this.#pieces(toRanges(ranges), wantedBytes(ranges), options.signal)
  }

  /**
   * @param {ChunkRanges} chunks @param {ByteRange[] | undefined} wanted  undefined: all bytes of the chunks
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * #pieces (chunks, wanted, signal) {
    if (wanted?.every(({ start, end }) => start === end)) return
    const origin = await this.#openOrigin(signal)
    // Whole groups are read, so even ranges in chunks must be cut out of them.
    for await (const { bytes } of this.#leaves(
      origin, chunks, wanted ?? chunks.toBytes(origin.size), signal
    )) yield bytes
  }

  /**
   * The size of the blob, proven by its last chunk.
   *
   * @param {ReadOptions} [options]
   * @returns {Promise<number>}
   */
  async size (options = {}) {
    assertKnownOptions(options, ['signal'])
    if (this.#provenSize === undefined) {
      const { signal } = options
      const leaves = this.#leaves(await this.#openOrigin(signal), ChunkRanges.last, [], signal)
      while (!(await leaves.next()).done);
    }
    return /** @type {number} */ (this.#provenSize)
  }

  /**
   * The blob for libraries that read files at any offset.
   *
   * @param {ReadOptions} [options]  only for this call; `read` takes a signal of its own
   * @returns {Promise<RandomAccess>} `{ size, read(start, end, signal) }`, to be used until `close`. `size` is proven.
   *   `read` resolves to fresh bytes, in a buffer that has no others; bytes beyond the end of the blob are left out
   */
  async source (options) {
    const size = await this.size(options)
    return { size, overlaps: true, read: (start, end, signal) => this.read({ start, end }, { signal }) }
  }

  /** Closes files that the reader has opened. */
  async close () {
    if (this.#origin !== undefined) await (await this.#origin).close()
  }

  async [Symbol.asyncDispose] () { await this.close() }

  /** @param {AbortSignal} [signal] */
  async #openOrigin (signal) {
    signal?.throwIfAborted()
    this.#origin ??= this.#opening()
    return untilAborted(this.#origin, signal)
  }

  #opening () {
    const opening = this.#open()
    // After a failure, the next read opens the origin again, even if no read is still waiting for this opening.
    opening.catch(() => {
      if (this.#origin === opening) this.#origin = undefined
    })
    return opening
  }

  /**
   * The verified bytes of some ranges.
   *
   * @param {Origin} origin @param {ChunkRanges} chunks  the chunks with the wanted bytes; their whole groups are read
   * @param {ByteRange[]} wanted @param {AbortSignal} [signal]
   */
  async * #leaves (origin, chunks, wanted, signal) {
    const { size, groupLog } = origin
    // Read whole groups, because the outboard does not have pairs inside a group.
    const ranges = chunks.canonical(size).roundToGroups(groupLog)
    const leaves = new Leaves({}, wanted)
    if (origin.keep) leaves.parent = (node, at) => origin.keep?.(node, at)
    const verifier = new SliceVerifier({ cid: this.#root, ranges, groupLog, size, key: this.#key }, leaves)
    yield * verifyPieces(verifier, origin.batches(ranges, signal))
    if (verifier.sizeProven) this.#provenSize = size
  }
}

/** @typedef {{ signal?: AbortSignal }} ReadOptions */

/**
 * @typedef {object} Origin  where slices come from
 * @property {number} size  bytes of the blob; a claim
 * @property {number} groupLog
 * @property {(ranges: ChunkRanges, signal?: AbortSignal) => AsyncIterable<Uint8Array>} batches  yields the slice of
 *   whole groups, without a header
 * @property {(node: number, at: number) => void} [keep]  keeps a verified pair
 * @property {() => Promise<void> | void} close
 */

/**
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source
 * @param {SliceOutboard} outboard @param {Uint8Array} [key]
 * @returns {Promise<Origin>}
 */
async function openWithOutboard (source, outboard, key) {
  pairsOf(outboard)
  const { size, groupLog } = outboard
  const mode = modeOf({ key })
  const blob = await toRandomAccess(source)
  return {
    size,
    groupLog,
    batches: (ranges, signal) => {
      const terms = { size, groupLog, ranges, mode }
      return untilTruncated(cut(blob, outboard, terms, { signal, reuse: true }))
    },
    close: () => blob.close()
  }
}

/**
 * Ends the batches without an error where bytes are missing. Because earlier bytes may be wrong, too, the verifier
 * decides which fault comes first, and throws that one.
 *
 * @param {AsyncGenerator<Uint8Array>} batches
 */
async function * untilTruncated (batches) {
  try {
    yield * batches
  } catch (error) {
    if (!(error instanceof BaoError && error.code === 'BAO_TRUNCATED')) throw error
  }
}
