// Evicts blobs from a store with a quota until a new blob fits: the least recently used ones first, and never a
// protected one.

import { FirstItems } from '../../lib/core/first-items.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { fullError } from '../storage/errors.js'
import { contentOf } from '../storage/content/content-of.js'

/** @import { Locks } from '../../lib/async/locks.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { TagIndex } from '../catalog/names/tag-index.js' */
/** @import { Uses } from '../catalog/uses.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { Collector, Marks, Sweep } from './collector.js' */
/** @import { Quota, Reservation } from '../catalog/quota.js' */

/**
 * @typedef {{ root: Uint8Array, id: number, bytes: number, used: number }} Candidate  `used`: milliseconds since 1970
 */

/** A survey of the store keeps at most this many candidates. */
const KEPT_CANDIDATES = 1000
/** If the marks have more hashes than this in memory, the next reservation drops the survey. */
const MAX_MARKS = 100_000

export class Evictor {
  #catalog
  #databases
  #locks
  #presence
  #quota
  #rareParts
  #tags
  #uses
  /** The least recently used unprotected blobs, in order. All other unprotected blobs were used later. */
  #candidates = /** @type {Candidate[]} */ ([])
  #marks = /** @type {Marks | undefined} */ (undefined)
  #sweep = /** @type {Sweep | undefined} */ (undefined)
  #endMarks = () => {}

  /**
   * @param {object} parts
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Locks} parts.locks
   * @param {Presence} parts.presence
   * @param {Quota} parts.quota
   * @param {() => Promise<{ collector: Collector }>} parts.rareParts  called only if blobs must be evicted
   * @param {TagIndex} parts.tags
   * @param {Uses} parts.uses
   */
  constructor ({ catalog, databases, locks, presence, quota, rareParts, tags, uses }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#locks = locks
    this.#presence = presence
    this.#quota = quota
    this.#rareParts = rareParts
    this.#tags = tags
    this.#uses = uses
  }

  /** Counts the bytes of all blobs for the quota. Called when the store is opened. */
  async start () {
    if (!this.#quota.isLimited) return
    this.#quota.count(await this.#catalog.bases.len())
    for await (const batch of this.#catalog.entryBatches()) {
      for (const { root, record } of batch) {
        if (root !== undefined && record !== undefined) this.#quota.count(await this.#presence.len(record))
      }
    }
  }

  /**
   * Reserves quota for bytes of a blob, and evicts other blobs if too little quota is left. The caller holds the blob,
   * but not the lock of any blob.
   *
   * @param {Uint8Array} root
   * @param {(present: ChunkRanges) => number} lenBeyond  returns the bytes to reserve if these chunks are present
   * @returns {Promise<Reservation>}
   * @throws {BaoError} STORE_FULL { wanted, got }; then nothing was evicted, unless blobs became protected during the
   *   call; STORE_CORRUPT when damage hides which blobs a tag or sequence protects
   */
  async reserve (root, lenBeyond) {
    if (!this.#quota.isLimited) return this.#quota.reserve(0)
    return this.#locks.run('quota', async () => {
      if (this.#marks !== undefined && this.#marks.size > MAX_MARKS) this.#end()
      const { record } = await this.#catalog.find(root)
      const content = record && contentOf(this.#databases, root, record)
      const present = record && content?.isOurs ? await this.#presence.of(record) : ChunkRanges.none
      const len = content?.isKept ? 0 : lenBeyond(present)
      if (len > this.#quota.limit) throw fullError(len, this.#quota.limit)
      if (len > 0) await this.#makeSpace(len)
      return this.#quota.reserve(len)
    })
  }

  /** @param {number} len  bytes */
  async #makeSpace (len) {
    const excess = this.#quota.excess(len)
    if (excess === 0) return
    // Do not evict any blob unless evictions can free enough.
    if (!await this.#suffices(excess)) {
      const total = await this.#survey()
      if (total < excess) throw fullError(len, len - excess + total)
    }
    try {
      while (this.#quota.excess(len) > 0) {
        const first = this.#takeFirst(this.#quota.excess(len))
        if (first.length > 0) await this.#forget(first)
        // The survey has kept only some of the candidates, or a call has just protected one of them.
        else if (await this.#survey() === 0) throw fullError(len, len - this.#quota.excess(len))
      }
    } catch (error) {
      // The next reservation will survey the store again.
      this.#end()
      throw error
    }
  }

  /** @param {Candidate[]} candidates */
  async #forget (candidates) {
    const { deletion } = await /** @type {Sweep} */ (this.#sweep).forget(candidates, { isMeant: this.#isMeant })
    await deletion
  }

  /** Removes the first candidates from the list, enough of them to free these bytes. @param {number} len  bytes */
  #takeFirst (len) {
    let [count, sum] = [0, 0]
    while (sum < len && count < this.#candidates.length) sum += this.#candidates[count++].bytes
    return this.#candidates.splice(0, count)
  }

  /** Returns true if evicting the candidates could free this many bytes. @param {number} len */
  async #suffices (len) {
    let sum = 0
    for (const candidate of this.#candidates) {
      if (sum >= len) break
      const { record } = await this.#catalog.find(candidate.root)
      const isFree = record !== undefined && this.#sweep?.isFree(candidate.root)
      if (isFree && await this.#isMeant(candidate, record)) sum += candidate.bytes
    }
    return sum >= len
  }

  /**
   * Returns true if a blob was neither replaced nor used since the survey.
   *
   * @param {Candidate} candidate @param {BlobRecord} record
   */
  #isMeant = async ({ root, id, used }, record) =>
    record.id === id && await this.#uses.lastUse(root, record) === used

  /**
   * Looks for candidates in the whole store.
   *
   * @returns {Promise<number>} bytes that the eviction of all unprotected blobs would free
   */
  async #survey () {
    this.#end()
    // Earlier evictions may have left weak tags without a blob.
    await this.#tags.sweepEnded()
    const { collector } = await this.#rareParts()
    const { marks, end } = await collector.mark()
    this.#marks = marks
    this.#endMarks = end
    if (marks.absentSequences.size > 0) {
      await this.#locks.run('gc', () => collector.sweepOrphans(marks))
      await marks.readSequences()
    }
    this.#sweep = collector.sweepBy(marks)
    const times = this.#uses.inOrder()
    const first = new FirstItems(KEPT_CANDIDATES, byUse)
    const trial = this.#catalog.bases.trial()
    let total = 0
    try {
      for await (const blobs of collector.unprotected(marks)) {
        for (const { root, record } of blobs) {
          const bytes = await this.#presence.len(record) + await trial.countFreedBytes(record)
          // Evicting a reference does not free quota. Evicting a sharer frees only the bytes at its end that it does
          // not share.
          if (bytes === 0) continue
          total += bytes
          first.add({ root, id: record.id, bytes, used: await times.of(root, record) })
        }
      }
    } finally {
      await times.close()
    }
    this.#candidates = first.take()
    return total
  }

  #end () {
    this.#endMarks()
    this.#candidates = []
    this.#marks = this.#sweep = undefined
  }
}

/** @param {Candidate} a @param {Candidate} b */
const byUse = (a, b) => a.used - b.used
