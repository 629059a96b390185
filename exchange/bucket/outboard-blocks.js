// Reads the object of an outboard in blocks, and keeps those that were used last. Calls that need the same block at the
// same time share one read.

import { concat } from '../../lib/core/bytes.js'
import { LruCache } from '../../lib/core/lru.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { readAll } from './read-all.js'

/** @import { Bucket } from './bucket.js' */

/** Outboards up to this length, those of blobs of up to 1 GiB, are one block, read with one request. */
const MAX_WHOLE_LEN = 1 << 22
/** A block of a longer outboard: the pairs of 64 MiB. */
const BLOCK_LEN = 1 << 18
/** How many blocks are kept. */
const MAX_BLOCKS = 16

export class OutboardBlocks {
  #bucket
  /** The key of the object. */
  key
  #blocks = /** @type {LruCache<number, Uint8Array>} */ (new LruCache(MAX_BLOCKS))
  /** The blocks that are being read. */
  #reads = /** @type {Map<number, BlockRead>} */ (new Map())
  /** The length of the object: a claim, unless the caller knows it. @type {number | undefined} */
  #len

  /** @param {Bucket} bucket @param {string} key @param {number} [len]  if the caller knows it */
  constructor (bucket, key, len) {
    this.#bucket = bucket
    this.key = key
    this.#len = len
  }

  /** How many bytes are kept. */
  get bytes () {
    let sum = 0
    for (const index of this.#blocks.keys()) sum += this.#blocks.peek(index)?.length ?? 0
    return sum
  }

  get #blockLen () { return this.#len === undefined || this.#len <= MAX_WHOLE_LEN ? MAX_WHOLE_LEN : BLOCK_LEN }

  /**
   * The length of the object. If it is not known, the first block is read.
   *
   * @param {AbortSignal} signal @returns {Promise<number | undefined>} undefined if there is no object
   */
  async len (signal) {
    if (this.#len === undefined) await this.#load(0, signal)
    return this.#len
  }

  /**
   * Returns bytes that are here.
   *
   * @param {number} start @param {number} end  in the same block
   * @returns {Uint8Array | undefined} a view, with fewer bytes at the end of the object; undefined if the block is not
   *   here
   */
  peek (start, end) {
    const index = Math.floor(start / this.#blockLen)
    const at = index * this.#blockLen
    return this.#blocks.get(index)?.subarray(start - at, end - at)
  }

  /**
   * @param {number} start @param {number} end @param {AbortSignal} signal
   * @returns {Promise<Uint8Array | undefined>} fewer bytes at the end of the object; undefined if there is no object
   * @throws {BaoError} what `Bucket.get` throws
   */
  async read (start, end, signal) {
    if (await this.len(signal) === undefined) return undefined
    const parts = []
    for (let at = start; at < end;) {
      const next = Math.min(end, at - at % this.#blockLen + this.#blockLen)
      const index = Math.floor(at / this.#blockLen)
      const block = this.#blocks.get(index) ?? await this.#load(index, signal)
      if (block === undefined) return undefined
      const blockStart = index * this.#blockLen
      parts.push(block.subarray(at - blockStart, next - blockStart))
      at = next
    }
    return parts.length === 1 ? parts[0] : concat(parts)
  }

  /**
   * @param {number} index @param {AbortSignal} signal
   * @returns {Promise<Uint8Array | undefined>} undefined if there is no object
   */
  #load (index, signal) {
    const underWay = this.#reads.get(index)
    if (underWay?.isEnded === false) return underWay.wait(signal)
    const read = new BlockRead(async signal => {
      try {
        return await this.#fetch(index, signal)
      } finally {
        if (this.#reads.get(index) === read) this.#reads.delete(index)
      }
    })
    this.#reads.set(index, read)
    return read.wait(signal)
  }

  /**
   * @param {number} index @param {AbortSignal} signal
   * @returns {Promise<Uint8Array | undefined>} undefined if there is no object
   */
  async #fetch (index, signal) {
    const isLenKnown = this.#len !== undefined
    const start = index * this.#blockLen
    const end = Math.min(start + this.#blockLen, this.#len ?? Infinity)
    const object = await this.#bucket.get(this.key, { start, end }, { signal })
    if (object === undefined) return undefined
    this.#len ??= object.size
    if (!isLenKnown && this.#blockLen === BLOCK_LEN) {
      // Only a part of what was asked for is needed.
      await object.body.return(undefined)
      return this.#fetch(index, signal)
    }
    const block = await readAll(object, end - start)
    this.#blocks.set(index, block)
    return block
  }
}

/** The read of one block, for which several calls may wait. When none of them waits any more, it ends. */
class BlockRead {
  #ending = new AbortController()
  #waiting = 0
  #block

  /** @param {(signal: AbortSignal) => Promise<Uint8Array | undefined>} read */
  constructor (read) {
    this.#block = read(this.#ending.signal)
    this.#block.catch(() => {}) // Those who wait get the failure.
  }

  get isEnded () { return this.#ending.signal.aborted }

  /** @param {AbortSignal} signal  ends the wait of this caller */
  async wait (signal) {
    this.#waiting++
    try {
      return await untilAborted(this.#block, signal)
    } finally {
      if (--this.#waiting === 0) this.#ending.abort(new DOMException('nobody needs the block', 'AbortError'))
    }
  }
}
