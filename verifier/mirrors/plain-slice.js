// Makes slices of a blob whose bytes and outboard lie apart, in files or on a server. Nothing is verified here: whoever
// takes the slice does that.

import { CHUNK_LEN, PAIR_LEN } from '../../lib/core/constants.js'
import { ENTER, Walk, parentStep } from '../../lib/tree/walk.js'
import { PairTable, Places } from '../../lib/outboard/pairs.js'
import { TreeBuilder } from '../../lib/hash/tree-builder.js'
import { concat, u64ToBytes } from '../../lib/core/bytes.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { placeOf } from '../../lib/tree/geometry.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { PairReader, SliceOutboard, Step } from '../../lib/core/types.js' */

/**
 * Gives the bytes of a blob from `start` to `end`, in pieces of any length: fewer where the blob ends earlier.
 *
 * @callback ReadPieces
 * @param {number} start  bytes
 * @param {number} end  bytes, not included
 * @param {AbortSignal} signal
 * @returns {AsyncIterable<Uint8Array>}
 */

/**
 * @typedef {object} PlainBlob
 * @property {ReadPieces} pieces
 * @property {SliceOutboard} outboard  at any group log
 * @property {number} size  a claim
 */

/** Bytes of a slice that are given together, at least. */
const PIECE_LEN = 1 << 14

/**
 * The slice, with the size in front. The bytes of each contiguous range are read in one go, from front to back.
 *
 * An outboard of larger groups than those of the slice has fewer pairs than the slice needs. The others are computed
 * from the bytes of its groups, which are read whole then.
 *
 * @param {PlainBlob} blob
 * @param {{ ranges: ChunkRanges, groupLog: number, key?: Uint8Array }} what
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>} ends early where the blob or its outboard ends early
 */
export async function * sliceOfPlain ({ pieces, outboard, size }, { ranges, groupLog, key }, signal) {
  const spans = ranges.canonical(size).roundToGroups(outboard.groupLog).toBytes(size)
  const bytes = new SpanReader(spans, pieces, signal)
  const pairs = new PlainPairs(outboard, size, bytes, key)
  const walk = new Walk(size, groupLog, ranges)
  let parts = /** @type {Uint8Array[]} */ ([u64ToBytes(size)])
  let len = 0
  /** Takes one step of the walk. @returns {Promise<boolean>} was everything there? */
  const take = async () => {
    const part = walk.kind === ENTER ? await pairs.of(walk.node) : await pairs.leaf(walk.start, walk.len)
    if (part === undefined) return false
    parts.push(part)
    len += part.length
    return part.length === (walk.kind === ENTER ? PAIR_LEN : walk.len)
  }
  try {
    for (let isWhole = true; isWhole && walk.next();) {
      isWhole = await take()
      if (len < PIECE_LEN) continue
      yield concat(parts)
      parts = []
      len = 0
    }
  } catch (error) {
    if (parts.length > 0) yield concat(parts)
    throw error
  } finally {
    await bytes.close()
  }
  if (parts.length > 0) yield concat(parts)
}

/** The pairs of a blob from an outboard, and those below its groups from the bytes. */
class PlainPairs {
  #outboard
  #size
  #bytes
  #mode
  /** @type {PairReader} */
  #reader
  /** The group whose pairs were computed last: its bytes, and its pairs down to the chunks. */
  #group = { start: 0, end: 0, bytes: new Uint8Array(0), pairs: new Uint8Array(0) }

  /** @param {SliceOutboard} outboard @param {number} size @param {SpanReader} bytes @param {Uint8Array} [key] */
  constructor (outboard, size, bytes, key) {
    this.#outboard = outboard
    this.#size = size
    this.#bytes = bytes
    this.#mode = modeOf({ key })
    this.#reader = pairsOf(outboard)
  }

  /**
   * @param {number} node  in-order number of a parent
   * @returns {Promise<Uint8Array | undefined>} undefined where the outboard, or the blob, has too little
   */
  async of (node) {
    const { groupLog } = this.#outboard
    if (placeOf(node, this.#size, groupLog) === undefined) return this.#inGroup(node)
    await this.#reader.prepare?.([node])
    const pair = new Uint8Array(PAIR_LEN)
    const step = /** @type {Step} */ (parentStep(node, this.#size, groupLog, true, true))
    return this.#reader.copyPair(step, pair, 0) ? pair : undefined
  }

  /** The bytes of a leaf; fewer where the blob has too few. @param {number} start @param {number} len */
  async leaf (start, len) {
    const group = this.#group
    if (start < group.end) return group.bytes.subarray(start - group.start, start - group.start + len)
    return this.#bytes.read(start, start + len)
  }

  /** A pair that is made from the bytes of its group. @param {number} node */
  async #inGroup (node) {
    if (node * CHUNK_LEN >= this.#group.end) await this.#openGroup(node)
    const { start, end, bytes, pairs } = this.#group
    if (bytes.length < end - start) return undefined
    const at = new Places(bytes.length, 0, 'post', start / CHUNK_LEN).of(node) * PAIR_LEN
    return pairs.subarray(at, at + PAIR_LEN)
  }

  /** Reads the group that a parent is in, and computes its pairs. @param {number} node */
  async #openGroup (node) {
    const groupLen = CHUNK_LEN * 2 ** this.#outboard.groupLog
    const start = Math.floor(node * CHUNK_LEN / groupLen) * groupLen
    const end = Math.min(start + groupLen, this.#size)
    const bytes = await this.#bytes.read(start, end)
    const startChunk = start / CHUNK_LEN
    const table = new PairTable(bytes.length, 0, 'post', startChunk)
    if (bytes.length === end - start) {
      const tree = new TreeBuilder(this.#mode, { startChunk, sink: table })
      tree.update(bytes)
      tree.cv()
    }
    this.#group = { start, end, bytes, pairs: table.bytes }
  }
}

/** Reads spans of a blob from front to back, each of them in one go. */
class SpanReader {
  #spans
  #pieces
  #signal
  /** The span that is being read, where the next piece begins, and the rest of the last piece. */
  #current = /** @type {AsyncIterator<Uint8Array> | undefined} */ (undefined)
  #end = 0
  #at = 0
  #rest = /** @type {Uint8Array} */ (new Uint8Array(0))

  /** @param {[start: number, end: number][]} spans @param {ReadPieces} pieces @param {AbortSignal} signal */
  constructor (spans, pieces, signal) {
    this.#spans = spans
    this.#pieces = pieces
    this.#signal = signal
  }

  /**
   * @param {number} start  at or behind the end of the last read @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the blob ends
   */
  async read (start, end) {
    const bytes = new Uint8Array(end - start)
    for (let at = start; at < end;) {
      if (!await this.#reach(at)) return bytes.slice(0, at - start)
      const from = at - (this.#at - this.#rest.length)
      const part = this.#rest.subarray(from, from + end - at)
      bytes.set(part, at - start)
      at += part.length
    }
    return bytes
  }

  /** Reads on to the piece that holds a byte. @param {number} at @returns {Promise<boolean>} is there one? */
  async #reach (at) {
    while (this.#at <= at) {
      if (this.#current === undefined || at >= this.#end) await this.#open(at)
      const next = await /** @type {AsyncIterator<Uint8Array>} */ (this.#current).next()
      if (next.done) return false
      this.#rest = next.value
      this.#at += next.value.length
    }
    return true
  }

  /** Begins to read the span that holds a byte. @param {number} at */
  async #open (at) {
    await this.close()
    const [start, end] = this.#spans.find(([start, end]) => start <= at && at < end) ?? [at, at]
    this.#at = start
    this.#end = end
    this.#current = this.#pieces(start, end, this.#signal)[Symbol.asyncIterator]()
  }

  async close () {
    const current = this.#current
    this.#current = undefined
    this.#rest = new Uint8Array(0)
    await current?.return?.()
  }
}
