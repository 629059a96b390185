// Makes room under a quota: what has not been used for the longest time goes first, and never what is protected.

import { ChunkRanges } from '../../lib/tree/ranges.js'
import { full } from '../storage/errors.js'
import { isKept } from '../catalog/presence.js'

/** @import { StoreContext } from '../blob-store.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Marks, Sweep } from './collector.js' */
/** @import { Reservation } from '../catalog/quota.js' */

/**
 * @typedef {{ root: Uint8Array, id: number, bytes: number, used: number }} Candidate  `used`: milliseconds since 1970
 */

/** Candidates that are kept from one survey of the store to the next, and names that marks may gather until then. */
const KEPT_CANDIDATES = 1000
const MAX_MARKS = 100_000

export class Evictor {
  #store
  /** What was used the longest time ago comes first. What is put or used later comes behind all of these anyway. */
  #candidates = /** @type {Candidate[]} */ ([])
  #marks = /** @type {Marks | undefined} */ (undefined)
  #sweep = /** @type {Sweep | undefined} */ (undefined)
  #endMarks = () => {}

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /** Counts what is here, before anything else happens. */
  async start () {
    if (!this.#store.quota.isLimited) return
    for await (const batch of this.#store.catalog.entryBatches()) {
      for (const { root, record } of batch) {
        if (root !== undefined && record !== undefined) this.#store.quota.count(await this.#store.presence.len(record))
      }
    }
  }

  /**
   * Sees to it that there is room for more of a blob. Must not be called under a blob's lock, and the blob must be
   * held.
   *
   * @param {Uint8Array} root
   * @param {(present: ChunkRanges) => number} lenBeyond  bytes that will come, when these chunks are here
   * @returns {Promise<Reservation>}
   * @throws {BaoError} STORE_FULL { wanted, got }: then nothing was evicted, unless something came to be protected
   *   meanwhile; STORE_CORRUPT when it cannot be told what a damaged tag or sequence protects
   */
  async reserve (root, lenBeyond) {
    if (!this.#store.quota.isLimited) return this.#store.quota.reserve(0)
    return this.#store.locks.run('quota', async () => {
      if (this.#marks !== undefined && this.#marks.size > MAX_MARKS) this.#end()
      const { record } = await this.#store.catalog.look(root)
      const isHere = record !== undefined && record.home !== 'reference'
      const len = record && isKept(record) ? 0 : lenBeyond(isHere ? await this.#store.presence.of(record) : ChunkRanges.none)
      if (len > this.#store.quota.limit) throw full(len, this.#store.quota.limit)
      if (len > 0) await this.#makeRoom(len)
      return this.#store.quota.reserve(len)
    })
  }

  /** @param {number} len  bytes */
  async #makeRoom (len) {
    const excess = this.#store.quota.excess(len)
    if (excess === 0) return
    // Before the first blob goes, it must be certain that there are enough.
    if (!await this.#suffices(excess)) {
      const total = await this.#survey()
      if (total < excess) throw full(len, len - excess + total)
    }
    try {
      while (this.#store.quota.excess(len) > 0) {
        const first = this.#takeFirst(this.#store.quota.excess(len))
        const isMeant = (/** @type {Candidate} */ candidate, /** @type {BlobRecord} */ record) => this.#isStill(candidate, record)
        if (first.length > 0) await this.#sweep?.forget(first, { isMeant })
        // There were more than are kept in mind; or something has come to be protected just now.
        else if (await this.#survey() === 0) throw full(len, len - this.#store.quota.excess(len))
      }
    } catch (error) {
      // What could not be read now is looked at anew the next time.
      this.#end()
      throw error
    }
  }

  /** As many of the first candidates as it takes to free so much. @param {number} len  bytes */
  #takeFirst (len) {
    let [count, sum] = [0, 0]
    while (sum < len && count < this.#candidates.length) sum += this.#candidates[count++].bytes
    return this.#candidates.splice(0, count)
  }

  /** Could as many bytes be had from the candidates? @param {number} len */
  async #suffices (len) {
    let sum = 0
    for (const candidate of this.#candidates) {
      if (sum >= len) break
      const { record } = await this.#store.catalog.look(candidate.root)
      if (record && this.#sweep?.isFree(candidate.root) && await this.#isStill(candidate, record)) sum += candidate.bytes
    }
    return sum >= len
  }

  /** Neither replaced nor used since? @param {Candidate} candidate @param {BlobRecord} record */
  async #isStill ({ root, id, used }, record) {
    return record.id === id && await this.#store.catalog.uses.lastUse(root, record) === used
  }

  /** Looks for candidates in the whole store. @returns {Promise<number>} bytes that could be had at most */
  async #survey () {
    this.#end()
    const { marks, end } = await this.#store.collector.mark()
    this.#marks = marks
    this.#endMarks = end
    this.#sweep = this.#store.collector.sweep(marks)
    const times = this.#store.catalog.uses.inOrder()
    let found = /** @type {Candidate[]} */ ([])
    let total = 0
    try {
      for await (const blobs of this.#store.collector.unprotected(marks)) {
        for (const { root, record } of blobs) {
          const bytes = await this.#store.presence.len(record)
          if (bytes === 0) continue // somebody else's file: its going would give nothing
          total += bytes
          found.push({ root, id: record.id, bytes, used: await times.of(root, record) })
        }
        if (found.length >= 2 * KEPT_CANDIDATES) found = oldest(found)
      }
    } finally {
      await times.close()
    }
    this.#candidates = oldest(found)
    return total
  }

  #end () {
    this.#endMarks()
    this.#candidates = []
    this.#marks = this.#sweep = undefined
  }
}

/** @param {Candidate[]} candidates */
const oldest = candidates => candidates.sort((a, b) => a.used - b.used).slice(0, KEPT_CANDIDATES)
