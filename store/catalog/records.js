// Reads the records of blobs in the index database.

import { isEmptyRoot } from '../../lib/hash/roots.js'
import { DAMAGED, damagedRecord, orIfUnreadable } from '../storage/errors.js'
import { VIEWS, blobKey, blobsIn, hashOfKey } from '../storage/format/keys.js'
import { decodeRecord } from '../storage/format/records.js'
import { readEntries } from '../storage/level/entries.js'

/** @import { Databases } from '../storage/databases.js' */
/** @import { HashRange } from '../storage/format/keys.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */

/** The record of the empty blob, which every store has although it is not written. @type {BlobRecord} */
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
   * Finds a record. Unlike `get`, it does not throw for a damaged record.
   *
   * @param {Uint8Array} root
   * @returns {Promise<{ isThere: boolean, record?: BlobRecord }>} without `record` when it is damaged
   */
  async find (root) {
    return lookFrom(root, await orIfUnreadable(this.#databases.indexed(blobKey(root)), DAMAGED))
  }

  /**
   * Finds several records.
   *
   * @param {Uint8Array[]} roots
   * @returns {Promise<{ isThere: boolean, record?: BlobRecord }[]>}
   */
  async findMany (roots) {
    const { allocate } = this.#databases
    const keys = roots.map(root => blobKey(root, allocate))
    const stored = await orIfUnreadable(this.#databases.index.getMany(keys, VIEWS))
    if (stored === undefined) return Promise.all(roots.map(root => this.find(root)))
    return roots.map((root, i) => lookFrom(root, stored[i]))
  }

  /**
   * Returns those roots that have a record, damaged or not; all roots when the index cannot be read.
   *
   * @param {Uint8Array[]} roots
   */
  async filterRecorded (roots) {
    const stored = await orIfUnreadable(this.#databases.index.getMany(roots.map(root => blobKey(root)), VIEWS))
    return roots.filter((_, i) => stored === undefined || stored[i] !== undefined)
  }

  /**
   * Yields all records, in the order of their hashes.
   *
   * @returns {AsyncGenerator<{ root: Uint8Array, record: BlobRecord }>}
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_CORRUPT for a damaged record, after all others; with
   *   the `cid` of the blob if it is known
   */
  async * records () {
    for await (const batch of this.recordBatches()) yield * batch
  }

  /**
   * Yields the records of a range in batches. It throws as `records` does.
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
   * Yields the entries of a range in batches: without `record` for a damaged record, without `root` for a damaged key.
   *
   * @param {HashRange} [range]
   * @param {() => void} [onDamage]  called when some entries cannot be read
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
function lookFrom (root, stored) {
  if (isEmptyRoot(root)) return { isThere: true, record: EMPTY_RECORD }
  return stored === undefined ? { isThere: false } : { isThere: true, record: decodeRecord(root, stored) }
}
