// Reads the records of blobs in the index database.

import { isEmptyRoot } from './roots.js'
import { DAMAGED, damagedRecord, orIfUnreadable } from '../storage/errors.js'
import { VIEWS, blobKey, blobsIn, hashOfKey } from '../storage/format/keys.js'
import { decodeRecord } from '../storage/format/records.js'
import { readEntries } from '../storage/level/entries.js'

/** @import { Databases } from '../storage/databases.js' */
/** @import { HashRange } from '../storage/format/keys.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */

/** The empty blob is in every store, and never written. @type {BlobRecord} */
const EMPTY_RECORD = { id: -1, size: 0, sizeProven: true, complete: true, home: 'extents', created: 0 }

export class Records {
  #databases

  /** @param {Databases} databases */
  constructor (databases) {
    this.#databases = databases
  }

  /**
   * @param {Uint8Array} root
   * @returns {Promise<BlobRecord | undefined>}
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_CORRUPT { cid } when the record is damaged
   */
  async get (root) {
    const { isThere, record } = await this.find(root)
    if (isThere && record === undefined) throw damagedRecord(root)
    return record
  }

  /**
   * For callers that may replace a damaged record.
   *
   * @param {Uint8Array} root
   * @returns {Promise<{ isThere: boolean, record?: BlobRecord }>} no record when it is damaged
   */
  async find (root) {
    return found(root, await orIfUnreadable(this.#databases.indexed(blobKey(root)), DAMAGED))
  }

  /**
   * The same for several.
   *
   * @param {Uint8Array[]} roots
   * @returns {Promise<{ isThere: boolean, record?: BlobRecord }[]>}
   */
  async findMany (roots) {
    const { allocate } = this.#databases
    const keys = roots.map(root => blobKey(root, allocate))
    const stored = await orIfUnreadable(this.#databases.index.getMany(keys, VIEWS))
    if (stored === undefined) return Promise.all(roots.map(root => this.find(root)))
    return roots.map((root, i) => found(root, stored[i]))
  }

  /**
   * Returns the roots that have a record, damaged or not; all of them when the index cannot be read.
   *
   * @param {Uint8Array[]} roots
   */
  async filterRecorded (roots) {
    const stored = await orIfUnreadable(this.#databases.index.getMany(roots.map(root => blobKey(root)), VIEWS))
    return roots.filter((_, i) => stored === undefined || stored[i] !== undefined)
  }

  /**
   * All records, in the order of their hashes.
   *
   * @returns {AsyncGenerator<{ root: Uint8Array, record: BlobRecord }>}
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_CORRUPT for a damaged one, with its `cid` where that is
   *   known, when all others have been given
   */
  async * records () {
    for await (const batch of this.recordBatches()) yield * batch
  }

  /**
   * The same in batches, and some of them.
   *
   * @param {HashRange} [range] @returns {AsyncGenerator<{ root: Uint8Array, record: BlobRecord }[]>}
   */
  async * recordBatches (range) {
    /** @type {Uint8Array | undefined} */
    let firstDamaged
    let isDamaged = false
    for await (const batch of this.entryBatches(range, () => { isDamaged = true })) {
      const whole = []
      for (const { root, record } of batch) {
        if (root !== undefined && record !== undefined) whole.push({ root, record })
        else firstDamaged ??= root
      }
      isDamaged ||= whole.length < batch.length
      yield whole
    }
    if (isDamaged) throw damagedRecord(firstDamaged)
  }

  /**
   * The same, without a record where it is damaged, and without a root where the key is damaged too.
   *
   * @param {HashRange} [range]
   * @param {() => void} [onDamage]  called when some cannot be read
   * @returns {AsyncGenerator<{ root?: Uint8Array, record?: BlobRecord }[]>}
   */
  async * entryBatches (range = {}, onDamage) {
    for await (const entries of readEntries(this.#databases.index, blobsIn(range), onDamage)) {
      yield entries.map(([key, value]) => {
        const root = hashOfKey(key)
        return { root, record: root && decodeRecord(root, value) }
      })
    }
  }
}

/** @param {Uint8Array} root @param {Uint8Array} [stored] @returns {{ isThere: boolean, record?: BlobRecord }} */
function found (root, stored) {
  if (isEmptyRoot(root)) return { isThere: true, record: EMPTY_RECORD }
  return stored === undefined ? { isThere: false } : { isThere: true, record: decodeRecord(root, stored) }
}
