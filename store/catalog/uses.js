// Remembers when blobs were last used: first in memory, later in the index. Many uses are written together.

import { SortedCursor } from '../storage/level/sorted-cursor.js'
import { isEmptyRoot, nameOf } from '../../lib/hash/roots.js'
import { SMALL_ENTRIES } from '../storage/level/entries.js'
import { BaoError } from '../../lib/core/errors.js'
import { VIEWS, usedIn, usedKey } from '../storage/format/keys.js'
import { decodeTime, encodeTime } from '../storage/format/records.js'
import { orIfUnreadable } from '../storage/errors.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { HashRange } from '../storage/format/keys.js' */
/** @import { Records } from './records.js' */
/** @import { Operation, SafeDatabase } from '../storage/level/safe-database.js' */

/**
 * The uses are written once this many blobs were used. While they cannot be written, at most MAX_UNWRITTEN are kept.
 */
const UNWRITTEN_USES = 1000
const MAX_UNWRITTEN = 10_000

export class Uses {
  #index
  #records
  /** Uses that are not written yet, by the names of the blobs. `time`: milliseconds since 1970. */
  #unwritten = /** @type {Map<string, { root: Uint8Array, time: number }>} */ (new Map())
  /** How many blobs were used since the last flush began. */
  #added = 0
  /** How many flushes are under way. */
  #flushing = 0
  /** How many flushes have begun. */
  #flushCount = 0

  /** @param {SafeDatabase} index @param {Pick<Records, 'filterRecorded'>} records */
  constructor (index, records) {
    this.#index = index
    this.#records = records
  }

  /** Notes that a blob is used now. @param {Uint8Array} root  kept, so it must not change */
  touch (root) {
    if (this.#index.isReadOnly || isEmptyRoot(root)) return
    const before = this.#unwritten.size
    this.#unwritten.set(nameOf(root), { root, time: Date.now() })
    this.#added += this.#unwritten.size - before
    // A lost use does little harm.
    if (this.#unwritten.size > MAX_UNWRITTEN) this.#unwritten.delete(this.#unwritten.keys().next().value ?? '')
    if (this.#added >= UNWRITTEN_USES && this.#flushing === 0) this.flush().catch(() => {})
  }

  /**
   * Forgets the use of a blob that is being deleted. If an unwritten use stayed and was written later, it would be one
   * without a blob.
   *
   * @param {Uint8Array} root
   * @param {number} [noUseAsOfFlush]  what `UsesInOrder.noUseAsOfFlush` has returned for the blob
   * @returns {Operation[]} for the index: deletes the stored use. Empty if there is certainly none, because no uses
   *   were flushed since `noUseAsOfFlush` was called
   */
  forget (root, noUseAsOfFlush) {
    if (this.#unwritten.size > 0) this.#unwritten.delete(nameOf(root))
    return noUseAsOfFlush === this.#flushCount ? [] : [{ type: 'del', key: usedKey(root) }]
  }

  /**
   * Returns when a blob was last used. A stored use before the blob's creation does not count, because the blob was
   * deleted and added again after that use.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<number>} milliseconds since 1970
   */
  async lastUse (root, { created }) {
    const time = timeIn(this.#unwritten, root)
    if (time !== undefined) return Math.max(time, created)
    const stored = await orIfUnreadable(this.#index.get(usedKey(root), VIEWS))
    return Math.max((stored && decodeTime(stored)) ?? 0, created)
  }

  /**
   * Writes the uses of blobs that have a record, and forgets the other uses. If the write fails, the uses stay in
   * memory.
   */
  async flush () {
    if (this.#index.isReadOnly) return
    this.#flushing++
    this.#flushCount++
    this.#added = 0
    try {
      const noted = [...this.#unwritten.values()]
      // A call may have used a blob that was being deleted. So wait for all earlier writes, and look at the records.
      await this.#index.batch([])
      const recorded = new Set(await this.#records.filterRecorded(noted.map(({ root }) => root)))
      this.#drop(noted.filter(({ root }) => !recorded.has(root)))
      // Leave out the blobs for which `forget` was called since, because their deletion has begun.
      const uses = noted.filter(use => this.#unwritten.get(nameOf(use.root)) === use)
      await this.#index.batch(uses.map(({ root, time }) => (
        { type: /** @type {const} */ ('put'), key: usedKey(root), value: encodeTime(time) })))
      this.#drop(uses)
    } finally {
      this.#flushing--
    }
  }

  /** Takes uses out of memory, unless a blob was used again. @param {{ root: Uint8Array, time: number }[]} uses */
  #drop (uses) {
    for (const use of uses) {
      const name = nameOf(use.root)
      if (this.#unwritten.get(name) === use) this.#unwritten.delete(name)
    }
  }

  /**
   * Returns a reader of last uses, for callers that ask for blobs in the order of their hashes.
   *
   * @param {HashRange} [range]  the range of these blobs
   */
  inOrder (range = {}) {
    const before = new Map(this.#unwritten) // The cursor does not see uses that are written later.
    return new UsesInOrder(this.#index, range, {
      unwritten: root => timeIn(this.#unwritten, root) ?? timeIn(before, root),
      lastUse: (root, record) => this.lastUse(root, record),
      flushCount: this.#flushing > 0 ? undefined : this.#flushCount
    })
  }
}

/** Reads the last uses in step with a walk over all blobs, so that the blobs need not be looked up. */
class UsesInOrder {
  #cursor
  #uses
  #isReadable = true

  /**
   * @param {SafeDatabase} index
   * @param {HashRange} range  of the blobs
   * @param {object} uses
   * @param {(root: Uint8Array) => number | undefined} uses.unwritten  returns a use that may not be in the index yet
   * @param {(root: Uint8Array, record: BlobRecord) => Promise<number>} uses.lastUse  looks up one blob
   * @param {number} [uses.flushCount]  the number of the last flush whose uses the index has; undefined while some are
   *   being written
   */
  constructor (index, range, uses) {
    this.#cursor = new SortedCursor(index.iterator({ ...usedIn(range), ...SMALL_ENTRIES }), range)
    this.#uses = uses
  }

  /**
   * Does the same as `Uses.lastUse`. Callers ask for blobs in the order of their hashes.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<number>} milliseconds since 1970
   */
  async of (root, record) {
    const time = this.#uses.unwritten(root) ?? await this.#stored(root)
    return time === undefined ? this.#uses.lastUse(root, record) : Math.max(time, record.created)
  }

  /**
   * Finds out whether the index lacks a use of a blob, so that no use need be deleted with the blob. Callers ask for
   * blobs in the order of their hashes.
   *
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} for `Uses.forget`: until the next flush begins, the index does not have a
   *   use of the blob; undefined when it may have one
   */
  async noUseAsOfFlush (root) { return await this.#stored(root) === 0 ? this.#uses.flushCount : undefined }

  /**
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} 0 for a blob without a use; undefined when it must be looked up
   */
  async #stored (root) {
    if (!this.#isReadable) return undefined
    try {
      const entry = await this.#cursor.find(root)
      return entry === undefined ? 0 : decodeTime(entry[1])
    } catch (error) {
      if (!(error instanceof BaoError)) throw error
      this.#isReadable = false // LevelDB cannot read some of the uses. Lookups still find the others.
      return undefined
    }
  }

  close () { return this.#cursor.close() }
}

/** @param {Map<string, { time: number }>} uses  by name @param {Uint8Array} root */
const timeIn = (uses, root) => uses.size === 0 ? undefined : uses.get(nameOf(root))?.time
