// Remembers when blobs were last used: in memory first, and in the index with many other uses.

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

/** Uses that are remembered before they are written. */
const UNWRITTEN_USES = 1000

export class Uses {
  #index
  /** Uses that are not written yet: by name, in milliseconds since 1970. */
  #unwritten = /** @type {Map<string, { root: Uint8Array, time: number }>} */ (new Map())
  #isFlushing = false
  /** How many times uses were written, or began to be. */
  flushCount = 0

  /** @param {SafeDatabase} index */
  constructor (index) {
    this.#index = index
  }

  /** Notes that a blob is used now. @param {Uint8Array} root  kept, so it must not change */
  touch (root) {
    if (this.#index.isReadOnly || isEmptyRoot(root)) return
    this.#unwritten.set(nameOf(root), { root, time: Date.now() })
    // A time that cannot be written is lost: the blob will be used again.
    if (this.#unwritten.size >= UNWRITTEN_USES && !this.#isFlushing) this.flush().catch(() => {})
  }

  /** Forgets the use of a blob that is about to be deleted. @param {Uint8Array} root */
  forget (root) { if (this.#unwritten.size > 0) this.#unwritten.delete(nameOf(root)) }

  /**
   * When a blob was last used: not before it was created, since an earlier blob may have had the same root.
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

  /** Writes the uses. They are remembered until they are written. */
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
   * The last uses of blobs that are asked for in the order of their hashes.
   *
   * @param {HashRange} [range]  of these hashes
   */
  inOrder (range = {}) {
    const before = new Map(this.#unwritten) // the cursor does not see what is written later
    return new UsesInOrder(this.#index, range, {
      unwritten: root => timeIn(this.#unwritten, root) ?? timeIn(before, root),
      lastUse: (root, record) => this.lastUse(root, record),
      flushCount: this.#isFlushing ? undefined : this.flushCount
    })
  }
}

/** Reads the times beside a walk over all blobs, which needs no lookups. */
class UsesInOrder {
  #cursor
  #uses
  #isReadable = true

  /**
   * @param {SafeDatabase} index
   * @param {HashRange} range  of the hashes of these blobs
   * @param {object} uses
   * @param {(root: Uint8Array) => number | undefined} uses.unwritten  a use that the index may not have yet
   * @param {(root: Uint8Array, record: BlobRecord) => Promise<number>} uses.lastUse  looks up one blob
   * @param {number} [uses.flushCount]  of the uses that the index has; undefined while some are being written
   */
  constructor (index, range, uses) {
    this.#cursor = new SortedCursor(index.iterator({ ...usedIn(range), ...SMALL_ENTRIES }), range)
    this.#uses = uses
  }

  /**
   * When a blob was last used: not before it was created. Blobs must be asked for in their order.
   *
   * @param {Uint8Array} root @param {BlobRecord} record
   * @returns {Promise<number>} milliseconds since 1970
   */
  async of (root, record) {
    const time = this.#uses.unwritten(root) ?? await this.#stored(root)
    return time === undefined ? this.#uses.lastUse(root, record) : Math.max(time, record.created)
  }

  /**
   * Tells of a blob that its use was never written, which saves a deletion. Blobs must be asked for in their order.
   *
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} as long as `Uses.flushCount` is this, the index has no use of the blob
   */
  async noUseAsOfFlush (root) { return await this.#stored(root) === 0 ? this.#uses.flushCount : undefined }

  /**
   * @param {Uint8Array} root
   * @returns {Promise<number | undefined>} 0 for a blob without a time; undefined when it has to be looked up
   */
  async #stored (root) {
    if (!this.#isReadable) return undefined
    try {
      const entry = await this.#cursor.find(root)
      return entry === undefined ? 0 : decodeTime(entry[1])
    } catch (error) {
      if (!(error instanceof BaoError)) throw error
      this.#isReadable = false // LevelDB cannot read some of the times; others can still be looked up
      return undefined
    }
  }

  close () { return this.#cursor.close() }
}

/** @param {Map<string, { time: number }>} uses  by name @param {Uint8Array} root */
const timeIn = (uses, root) => uses.size === 0 ? undefined : uses.get(nameOf(root))?.time
