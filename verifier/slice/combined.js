// Reads slices from a combined encoding that can be read at any offset. It keeps verified pairs, so later reads of
// nearby ranges need little more than their leaves.

import { ENTER, Walk } from '../../lib/tree/walk.js'
import { HEADER_LEN, u64FromBytes } from '../../lib/core/bytes.js'
import { PAIR_LEN } from '../../lib/core/constants.js'
import { Batch } from '../../lib/slice/batches.js'
import { LruCache } from '../../lib/core/lru.js'
import { readUpTo } from '../../lib/source/read-pieces.js'
import { createYielder } from '../../lib/source/async-util.js'
import { truncated } from '../../lib/core/errors.js'
import { u8 } from '../../lib/engine/arena.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { RandomAccess } from '../../lib/core/types.js' */

/** The number of pairs that are kept: 256 KiB. */
const KEPT_PAIRS = 4096
/** Two parts with at most this many bytes between them are read together, because that costs less than two reads. */
const MAX_GAP = 4096

const NOTHING = new Uint8Array(0)

/** @typedef {RandomAccess & { close (): Promise<void> | void }} OpenRandomAccess */

export class Combined {
  #file
  /**
   * Verified pairs, by node number. They are verified again each time they are used.
   *
   * @type {LruCache<number, Uint8Array>}
   */
  #pairs = new LruCache(KEPT_PAIRS)
  /** The claimed size of the blob in bytes. */
  size
  groupLog

  /** @param {OpenRandomAccess} file @param {number} size @param {number} groupLog */
  constructor (file, size, groupLog) {
    this.#file = file
    this.size = size
    this.groupLog = groupLog
  }

  /**
   * @param {OpenRandomAccess} file  the result's `close` closes it; so does `open` when it fails
   * @param {number} groupLog
   * @returns {Promise<Combined>}
   */
  static async open (file, groupLog) {
    try {
      const header = await readUpTo(file, 0, Math.min(HEADER_LEN, file.size))
      if (header.length < HEADER_LEN) throw truncated({ wanted: HEADER_LEN, got: header.length })
      return new Combined(file, u64FromBytes(header), groupLog)
    } catch (error) {
      await file.close()
      throw error
    }
  }

  close () { return this.#file.close() }

  /** Keeps a copy of a verified pair. @param {number} node @param {number} at  its offset in the arena */
  keep (node, at) {
    if (this.#pairs.has(node)) return
    this.#pairs.set(node, new Uint8Array(u8.subarray(at, at + PAIR_LEN)))
  }

  /**
   * Yields the bytes of a slice of whole groups, without the header. Ends early if the encoding ends early.
   *
   * @param {ChunkRanges} ranges  whole groups
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async * batches (ranges, signal) {
    const batch = new Batch(new Walk(this.size, this.groupLog, ranges), this.groupLog)
    for (const yieldWhenDue = createYielder(signal); ; await yieldWhenDue()) {
      const reads = joinParts(this.#plan(batch))
      if (batch.count === 0) return
      const ahead = this.#file.overlaps
        ? await Promise.all(reads.map(({ start, end }) => this.#read(start, end, signal)))
        : undefined
      for (const [i, { start, end, parts }] of reads.entries()) {
        const bytes = ahead?.[i] ?? await this.#read(start, end, signal)
        for (const part of parts) {
          if (part.pair !== undefined) {
            yield part.pair
            continue
          }
          const piece = bytes.subarray(part.start - start, part.end - start)
          yield piece
          if (piece.length < part.end - part.start) return
        }
      }
    }
  }

  /** @param {number} start @param {number} end @param {AbortSignal} [signal] */
  async #read (start, end, signal) {
    const stop = Math.min(end, this.#file.size)
    return start < stop ? readUpTo(this.#file, start, stop, signal) : NOTHING
  }

  /**
   * Finds the parts of the next batch in the encoding. The offset of a node follows from the pairs and bytes before it
   * in pre-order.
   *
   * @param {Batch} batch
   * @returns {Part[]} in increasing order
   */
  #plan (batch) {
    const { step } = batch
    /** @type {Part[]} */
    const parts = []
    batch.begin()
    while (batch.takeStep()) {
      const start = HEADER_LEN + step.pre * PAIR_LEN + step.start
      const len = batch.lens[batch.count - 1]
      const pair = step.kind === ENTER ? this.#pairs.get(step.node) : undefined
      const last = parts.at(-1)
      if (pair === undefined && last?.pair === undefined && last?.end === start) last.end += len
      else parts.push({ start, end: start + len, pair })
    }
    return parts
  }
}

/**
 * @typedef {{ start: number, end: number, pair?: Uint8Array }} Part  a part of the encoding; `pair`: the kept pair,
 *   which is not read
 */
/** @typedef {{ start: number, end: number, parts: Part[] }} Read  one read of the encoding, and the parts in it */

/** Joins parts that are close to each other into reads. @param {Part[]} parts @returns {Read[]} */
function joinParts (parts) {
  /** @type {Read[]} */
  const reads = []
  for (const part of parts) {
    const last = reads.at(-1)
    if (part.pair !== undefined && last !== undefined) {
      last.parts.push(part)
    } else if (part.pair !== undefined) {
      reads.push({ start: part.start, end: part.start, parts: [part] })
    } else if (last !== undefined && (part.start - last.end <= MAX_GAP || last.start === last.end)) {
      if (last.start === last.end) last.start = part.start
      last.end = part.end
      last.parts.push(part)
    } else {
      reads.push({ start: part.start, end: part.end, parts: [part] })
    }
  }
  return reads
}
