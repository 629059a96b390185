// Seekable verified reading. Both the blob and its tree are untrusted, and may be remote: a read touches only what it needs.

import { BaoError } from '../../lib/core/errors.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { Combined } from '../slice/combined.js'
import { Leaves } from '../slice/leaves.js'
import { MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { SliceVerifier } from '../slice/slice.js'
import { assertInteger, concat } from '../../lib/core/bytes.js'
import { cut } from '../../lib/slice/slicer.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { toRandomAccess } from '../../lib/source/source.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { verifyPieces } from '../slice/pieces.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { RandomAccess, SliceOutboard } from '../../lib/core/types.js' */

/**
 * Reads any range of a blob, and gives nothing that does not verify. The size is told only once the last chunk has proven it.
 *
 * A read reads what it needs: its chunk groups and the pairs above them, of which those of a combined encoding are kept for the next read (256 KiB
 * at most). Any number of reads may be under way at the same time. What fails now may succeed another time: every read is checked anew, up to the
 * root.
 */
export class VerifiedReader {
  #root
  #key
  #open
  /** @type {Promise<Origin> | undefined} */
  #origin
  #provenSize = /** @type {number | undefined} */ (undefined)

  /**
   * @param {object} what
   * @param {Uint8Array | CID | string} what.root
   * @param {Uint8Array | Blob | RandomAccess | string | URL} [what.encoded]  a combined encoding; or
   * @param {Uint8Array | Blob | RandomAccess | string | URL} [what.source]  the blob, and
   * @param {SliceOutboard} [what.outboard]  its outboard
   * @param {number} [what.groupLog]  of the combined encoding: 0 unless told
   * @param {Uint8Array} [what.key]  of a keyed tree
   */
  constructor ({ root, encoded, source, outboard, groupLog = 0, key }) {
    this.#root = parseRoot(root)
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    modeOf({ key })
    this.#key = key && new Uint8Array(key)
    if (encoded !== undefined) this.#open = async () => Combined.open(await toRandomAccess(encoded), groupLog)
    else if (source !== undefined && outboard !== undefined) this.#open = () => openWithOutboard(source, outboard, this.#key)
    else throw new TypeError('"encoded", or "source" and "outboard", expected')
  }

  /**
   * @param {number} [start]  bytes
   * @param {number} [end]  bytes, not included; what lies beyond the end of the blob is left out
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH, BAO_TRUNCATED, BAO_SIZE_TOO_LARGE
   */
  async read (start = 0, end = Infinity, options = {}) {
    const pieces = []
    for await (const piece of this.stream(start, end, options)) pieces.push(piece)
    return concat(pieces)
  }

  /**
   * The same, leaf by leaf as they verify.
   *
   * @param {number} [start]
   * @param {number} [end]
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * stream (start = 0, end = Infinity, { signal } = {}) {
    assertInteger('start', start)
    if (end !== Infinity) assertInteger('end', end)
    if (end <= start) return
    for await (const { offset, bytes } of this.#leaves(toRanges({ start, end }), signal)) {
      const from = Math.max(start - offset, 0)
      const to = Math.min(end - offset, bytes.length)
      if (from < to) yield from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to)
    }
  }

  /**
   * Bytes of the blob, once the last chunk has verified.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<number>}
   */
  async size ({ signal } = {}) {
    if (this.#provenSize === undefined) {
      const leaves = this.#leaves(ChunkRanges.last, signal)
      while (!(await leaves.next()).done);
    }
    return /** @type {number} */ (this.#provenSize)
  }

  /** Lets go of files that the reader has opened. */
  async close () {
    if (this.#origin !== undefined) await (await this.#origin).close()
  }

  async [Symbol.asyncDispose] () { await this.close() }

  #opening () {
    const opening = this.#open()
    // What could not be opened may be there another time, whether or not anybody still waits for it.
    opening.catch(() => { if (this.#origin === opening) this.#origin = undefined })
    return opening
  }

  /** @param {ChunkRanges} like @param {AbortSignal} [signal] */
  async * #leaves (like, signal) {
    signal?.throwIfAborted()
    const origin = await untilAborted(this.#origin ??= this.#opening(), signal)
    const { size, groupLog } = origin
    // Whole groups: pairs below the group level would have to be made from the very bytes that they prove.
    const ranges = like.canonical(size).roundToGroups(groupLog)
    const leaves = new Leaves({})
    if (origin.keep) leaves.parent = (node, at) => origin.keep?.(node, at)
    const verifier = new SliceVerifier({ root: this.#root, ranges, groupLog, size, key: this.#key }, leaves)
    yield * verifyPieces(verifier, origin.windows(ranges, signal))
    if (verifier.sizeProven) this.#provenSize = size
  }
}

/**
 * @typedef {object} Origin  of slices
 * @property {number} size  of the blob; a claim
 * @property {number} groupLog
 * @property {(ranges: ChunkRanges, signal?: AbortSignal) => AsyncIterable<Uint8Array>} windows  of the slice of whole groups
 * @property {(node: number, at: number) => void} [keep]  a pair that was found right
 * @property {() => Promise<void> | void} close
 */

/**
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source @param {SliceOutboard} outboard @param {Uint8Array} [key]
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
    windows: (ranges, signal) => asFarAsThere(cut(blob, outboard, { size, groupLog, ranges, mode }, { signal, reuse: true })),
    close: () => blob.close()
  }
}

/**
 * What is missing need not be the first fault: something before it may be wrong. The verifier, which sees both, says which it is.
 *
 * @param {AsyncGenerator<Uint8Array>} windows
 */
async function * asFarAsThere (windows) {
  try {
    yield * windows
  } catch (error) {
    if (!(error instanceof BaoError && error.code === 'BAO_TRUNCATED')) throw error
  }
}
