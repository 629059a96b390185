// Makes slices of a blob whose bytes and outboard are in different places, in files or on a server. It does not verify
// the slices, because the caller does that.

import { CHUNK_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { ENTER, Walk } from '../../../lib/tree/walk.js'
import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { PairTable, Places } from '../../../lib/outboard/pairs.js'
import { PairsAhead } from './pairs-ahead.js'
import { SpanReader } from './span-reader.js'
import { TreeBuilder } from '../../../lib/hash/tree-builder.js'
import { u64ToBytes } from '../../../lib/core/bytes.js'
import { modeOf } from '../../../lib/hash/mode-options.js'

/** @import { ReadPieces } from './span-reader.js' */
/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { SliceOutboard } from '../../../lib/core/types.js' */

/**
 * @typedef {object} PlainBlob
 * @property {ReadPieces} pieces
 * @property {SliceOutboard} outboard  its group log may be another one than that of the slice
 * @property {number} size  a claim
 * @property {boolean} [isBorrowed]  true if the caller must not use a piece after the next one is asked for
 */
/** @typedef {{ ranges: ChunkRanges, groupLog: number, key?: Uint8Array }} Wanted */
/**
 * Waits until more of a slice can be made. Returns false at the end of the slice, or if the blob or its outboard ends
 * too early.
 *
 * @typedef {() => Promise<boolean> | boolean} ReadOn
 */

/** The length at which a piece of the slice is complete. */
const PIECE_LEN = 1 << 17
/** The maximum length of a piece: the last pair in it may exceed PIECE_LEN. */
const MAX_PIECE_LEN = PIECE_LEN + PAIR_LEN

/**
 * Yields the slice with its header. The bytes of each contiguous range are read in one stream. Bytes that have arrived
 * are yielded before the function waits for more.
 *
 * If the groups of the outboard are larger than those of the slice, the outboard has fewer pairs than the slice needs.
 * The other pairs are computed from the bytes of the outboard's groups, so these groups are read whole.
 *
 * @param {PlainBlob} blob
 * @param {Wanted} wanted
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>} a piece is borrowed until the next one. The slice ends early where the blob or
 *   its outboard does
 */
export async function * sliceOfPlain (blob, wanted, signal) {
  const slice = new PlainSlice(blob, wanted, signal)
  try {
    for (let isMore = true; isMore;) {
      const readOn = slice.advance()
      if (slice.piece.len > 0) yield slice.piece.bytes
      slice.piece.clear()
      isMore = await readOn()
    }
  } finally {
    await slice.close()
  }
}

/** Makes a slice from the bytes and pairs that have arrived, and says what to wait for next. */
class PlainSlice {
  #size
  #groupLog
  #walk
  #pairs
  #bytes
  #mode
  /** The next piece of the slice. The caller clears it. */
  piece = new ByteQueue()
  /** True while the current step of the walk is not in the slice, or only in part. */
  #isDue = false
  /** Where the rest of the current leaf begins, in the blob. */
  #at = 0
  /** The group whose pairs were computed last: its bytes, and all pairs inside it. */
  #group = { start: 0, end: 0, bytes: new Uint8Array(0), pairs: new Uint8Array(0) }

  /** @param {PlainBlob} blob @param {Wanted} wanted @param {AbortSignal} signal */
  constructor ({ pieces, outboard, size }, { ranges, groupLog, key }, signal) {
    const spans = ranges.canonical(size).roundToGroups(outboard.groupLog).toBytes(size)
    this.#size = size
    this.#groupLog = outboard.groupLog
    this.#walk = new Walk(size, groupLog, ranges)
    this.#pairs = new PairsAhead(outboard, size, ranges)
    this.#bytes = new SpanReader(spans, pieces, signal)
    this.#mode = modeOf({ key })
    this.#push(u64ToBytes(size))
  }

  /**
   * Puts the bytes and pairs that have arrived into the piece.
   *
   * @returns {ReadOn} a function that the caller must call before the next `advance`
   */
  advance () {
    while (this.piece.len < PIECE_LEN) {
      if (!this.#isDue && !this.#walk.next()) return () => false
      const { kind, level, start } = this.#walk
      if (!this.#isDue) this.#at = start
      this.#isDue = true
      const readOn = kind !== ENTER ? this.#addLeaf() : level < this.#groupLog ? this.#addMade() : this.#addStored()
      if (readOn !== undefined) return readOn
    }
    return () => true
  }

  close () { return this.#bytes.close() }

  /** Adds a pair of the outboard. @returns {ReadOn | undefined} */
  #addStored () {
    if (!this.#pairs.seek(this.#walk.node)) return () => this.#pairs.load()
    const { pair } = this.#pairs
    if (pair === undefined) return () => false
    this.#push(pair)
    this.#isDue = false
  }

  /** Adds a pair that is computed from the bytes of its group. @returns {ReadOn | undefined} */
  #addMade () {
    const { start, node } = this.#walk
    if (start >= this.#group.end) return () => this.#openGroup(start)
    const { start: groupStart, bytes, pairs } = this.#group
    const at = new Places(bytes.length, 0, 'post', groupStart / CHUNK_LEN).of(node) * PAIR_LEN
    this.#push(pairs.subarray(at, at + PAIR_LEN))
    this.#isDue = false
  }

  /** Adds as many bytes of the blob as the piece has room for. @returns {ReadOn | undefined} */
  #addLeaf () {
    const { start, len } = this.#walk
    const { start: groupStart, end: groupEnd, bytes } = this.#group
    const end = Math.min(start + len, this.#at + PIECE_LEN - this.piece.len)
    const part = start < groupEnd
      ? bytes.subarray(this.#at - groupStart, end - groupStart)
      : this.#bytes.available(this.#at, end)
    this.#push(part)
    this.#at += part.length
    if (this.#at < end) return () => this.#bytes.readOn(this.#at)
    this.#isDue = this.#at < start + len
  }

  /** @param {Uint8Array} part  copied */
  #push (part) { this.piece.push(part, MAX_PIECE_LEN) }

  /**
   * Reads the bytes of a group of the outboard, and computes the pairs inside it.
   *
   * @param {number} within  the offset of any byte in the group @returns {Promise<boolean>} true if the blob has the
   *   whole group
   */
  async #openGroup (within) {
    const groupLen = CHUNK_LEN * 2 ** this.#groupLog
    const start = Math.floor(within / groupLen) * groupLen
    const end = Math.min(start + groupLen, this.#size)
    const bytes = await this.#bytes.read(start, end)
    if (bytes.length < end - start) return false
    const startChunk = start / CHUNK_LEN
    const table = new PairTable(bytes.length, 0, 'post', startChunk)
    const tree = new TreeBuilder(this.#mode, { startChunk, sink: table })
    tree.update(bytes)
    tree.cv()
    this.#group = { start, end, bytes, pairs: table.bytes }
    return true
  }
}
