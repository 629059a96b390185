// Seekable verified reading. Both the blob and its tree are untrusted, and may be remote: a read touches only what it needs.

import { ChunkRanges, toRanges } from '../lib/ranges.js'
import { Walk } from '../lib/walk.js'
import { Windows } from '../lib/windows.js'
import { MAX_GROUP_LOG, PAIR_LEN } from '../lib/constants.js'
import { SliceVerifier } from './slice.js'
import { HEADER_LEN, assertInteger, concat, u64FromBytes } from '../lib/bytes.js'
import { cut } from '../lib/slicer.js'
import { modeOf } from '../lib/hasher.js'
import { pairsOf } from '../lib/paged.js'
import { parseRoot } from '../lib/cid.js'
import { readUpTo } from '../lib/reading.js'
import { toRandomAccess } from '../lib/source.js'
import { BaoError, truncated } from '../lib/errors.js'
import { verifyPieces } from './pieces.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { RandomAccess, SliceOutboard } from '../lib/types.js' */

/** Reads any range of a blob, and gives nothing that does not verify. The size is told only once the last chunk has proven it. */
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
    if (encoded !== undefined) this.#open = () => openCombined(encoded, groupLog)
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

  /** @param {ChunkRanges} like @param {AbortSignal} [signal] */
  async * #leaves (like, signal) {
    signal?.throwIfAborted()
    this.#origin ??= this.#open()
    const { size, groupLog, windows } = await this.#origin.catch(error => {
      this.#origin = undefined // what could not be opened may be there another time
      throw error
    })
    // Whole groups: pairs below the group level would have to be made from the very bytes that they prove.
    const ranges = like.canonical(size).roundToGroups(groupLog)
    const verifier = new SliceVerifier({ root: this.#root, ranges, groupLog, size, key: this.#key })
    yield * verifyPieces(verifier, windows(ranges, signal))
    if (verifier.sizeProven) this.#provenSize = size
  }
}

/** @typedef {{ size: number, groupLog: number, windows: (ranges: ChunkRanges, signal?: AbortSignal) => AsyncIterable<Uint8Array>, close: () => Promise<void> | void }} Origin */

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
    windows: (ranges, signal) => asFarAsThere(cut(blob, outboard, { size, groupLog, ranges, mode }, signal)),
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

/**
 * @param {Uint8Array | Blob | RandomAccess | string | URL} encoded @param {number} groupLog
 * @returns {Promise<Origin>}
 */
async function openCombined (encoded, groupLog) {
  const file = await toRandomAccess(encoded)
  try {
    const header = await readUpTo(file, 0, HEADER_LEN)
    if (header.length < HEADER_LEN) throw truncated({ wanted: HEADER_LEN, got: header.length })
    const size = u64FromBytes(header)
    return { size, groupLog, windows: (ranges, signal) => cutCombined(file, size, groupLog, ranges, signal), close: () => file.close() }
  } catch (error) {
    await file.close()
    throw error
  }
}

/**
 * The bytes of a slice of whole groups, as far as the combined encoding has them.
 *
 * @param {RandomAccess} encoded @param {number} size @param {number} groupLog @param {ChunkRanges} ranges  whole groups
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * cutCombined (encoded, size, groupLog, ranges, signal) {
  for (const [start, end] of stretches(size, groupLog, ranges)) {
    const bytes = await readUpTo(encoded, start, Math.min(end, Math.max(start, encoded.size)), signal)
    yield bytes
    if (bytes.length < end - start) return
  }
}

/**
 * Where in the combined encoding these are: in front of any node stand the pairs and the bytes that come before it in pre-order.
 *
 * @param {number} size @param {number} groupLog @param {ChunkRanges} ranges  whole groups
 * @returns {Generator<[start: number, end: number]>} a window each, at most; none empty but for the empty blob
 */
function * stretches (size, groupLog, ranges) {
  const windows = new Windows(new Walk(size, groupLog, ranges), groupLog)
  const { step } = windows
  while (true) {
    let [start, end] = [0, 0]
    windows.begin()
    while (windows.next()) {
      const at = HEADER_LEN + step.pre * PAIR_LEN + step.start
      if (at !== end) {
        if (end > 0) yield [start, end]
        start = at
      }
      end = at + windows.stepLen
    }
    if (windows.count === 0) return
    yield [start, end]
  }
}
