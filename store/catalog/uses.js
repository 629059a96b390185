// Remembers when blobs were last used: in memory first, then in the index, which gets many uses in one write.

import { SortedCursor } from '../storage/level/sorted-cursor.js'
import { isEmptyRoot, nameOf } from './roots.js'
import { SMALL_ENTRIES } from '../storage/level/entries.js'
import { BaoError } from '../../lib/core/errors.js'
import { VIEWS, usedIn, usedKey } from '../storage/format/keys.js'
import { decodeTime, encodeTime } from '../storage/format/records.js'
import { orIfUnreadable } from '../storage/errors.js'

/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { HashRange } from '../storage/format/keys.js' */
/** @import { SafeDatabase } from '../storage/level/safe-database.js' */

/** How many uses are kept in memory before they are written. */
const UNWRITTEN_USES = 1000

export class Uses {
  #index
  /** Uses that are not written yet: by name, in milliseconds since 1970. */
  #unwritten = /** @type {Map<string, { root: Uint8Array, time: number }>} */ (new Map())
  #isFlushing = false
  /** How many times writing uses has begun. */
  flushCount = 0

  /** @param {SafeDatabase} index */
  constructor (index) {
    this.#index = index
  }

  /** Notes that a blob is used now. @param {Uint8Array} root  kept, so it must not change */
  touch (root) {
    if (this.#index.isReadOnly || isEmptyRoot(root)) return
    this.#unwritten.set(nameOf(root), { root, time: Date.now() })
    // If a time cannot be written it is lost, which does little harm.
    if (this.#unwritten.size >= UNWRITTEN_USES && !this.#isFlushing) this.flush().catch(() => {})
  }

  /** Forgets the use of a blob that is being deleted. @param {Uint8Array} root */
  forget (root) { if (this.#unwritten.size > 0) this.#unwritten.delete(nameOf(root)) }

  /**
   * Returns when a blob was last used: never before it was created, since an earlier blob may have had the same root.
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

  /** Writes the uses. Until they are written, they stay in memory. */
  async flush () {
    if (this.#index.isReadOnly) return
    const uses = [...this.#unwritten]
    this.#isFlushing = true
    this.flushCount++
    try {
      const puts = uses.map(([, { root, time }]) => (
        { type: /** @type {const} */ ('put'), key: usedKey(root), value: encodeTime(time) }))
      await this.#index.batch(puts)
    } finally {
      for (const [name, use] of uses) if (this.#unwritten.get(name) === use) this.#unwritten.delete(name)
      this.#isFlushing = false
    }
  }

  /**
   * Tells the last uses of blobs, for callers that ask for blobs in the order of their hashes.
   *
   * @param {HashRange} [range]  of the hashes of these blobs
   */
  inOrder (range = {}) {
    const before = new Map(this.#unwritten) // The cursor does not see uses that are written later.
    return new UsesInOrder(this.#index, range, {
      unwritten: root => timeIn(this.#unwritten, root) ?? timeIn(before, root),
      lastUse: (root, record) => this.lastUse(root, record),
      flushCount: this.#isFlushing ? undefined : this.flushCount
    })
  }
}

/** Reads the times in step with a walk over all blobs, so that no blob needs a lookup. */
class UsesInOrder {
  #cursor
  #uses
  #isReadable = true

  /**
   * @param {SafeDatabase} index
   * @param {HashRange} range  of the hashes of these blobs
   * @param {object} uses
   * @param {(root: Uint8Array) => number | undefined} uses.unwritten  finds a use that may not be in the index yet
   * @param {(root: Uint8Array, record: BlobRecord) => Promise<number>} uses.lastUse  looks up one blob
   * @param {number} [uses.flushCount]  the index has the uses up to this flush; undefined while some are being written
   */
  constructor (index, range, uses) {
    this.#cursor = new SortedCursor(index.iterator({ ...usedIn(range), ...SMALL_ENTRIES }), range)
    this.#uses = uses
  }

  /**
   * Returns when a blob was last used: never before it was created. Callers ask for blobs in the order of their hashes.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<number>} milliseconds since 1970
   */
  async of (root, record) {
    const time = this.#uses.unwritten(root) ?? await this.#stored(root)
    return time === undefined ? this.#uses.lastUse(root, record) : Math.max(time, record.created)
  }

  /**
   * Finds out whether the index has no use of a blob, which saves a deletion. Callers ask for blobs in the order of
   * their hashes.
   *
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} while `Uses.flushCount` is this number, the index has no use of the blob
   */
  async noUseAsOfFlush (root) { return await this.#stored(root) === 0 ? this.#uses.flushCount : undefined }

  /**
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} 0 for a blob without a time; undefined when it must be looked up
   */
  async #stored (root) {
    if (!this.#isReadable) return undefined
    try {
      const entry = await this.#cursor.find(root)
      return entry === undefined ? 0 : decodeTime(entry[1])
    } catch (error) {
      if (!(error instanceof BaoError)) throw error
      this.#isReadable = false // LevelDB cannot read some of the times; lookups can still find others.
      return undefined
    }
  }

  close () { return this.#cursor.close() }
}

/** @param {Map<string, { time: number }>} uses  by name @param {Uint8Array} root */
const timeIn = (uses, root) => uses.size === 0 ? undefined : uses.get(nameOf(root))?.time
