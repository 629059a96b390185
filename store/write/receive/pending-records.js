// Keeps the pending blobs, which do not have a record yet while slices of them are being received. Their data is
// written under ids that count as under way. The record is written after the first groups.

import { contentOf, homeOf } from '../../storage/content/content-of.js'
import { nameOf } from '../../../lib/hash/roots.js'

/** @import { IncomingSlice } from './incoming-slice.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { Catalog, Change } from '../../catalog/catalog.js' */
/** @import { Activity } from '../../storage/concurrency/activity.js' */
/** @import { Databases } from '../../storage/databases.js' */

/**
 * @typedef {object} PendingBlob
 * @property {BlobRecord} record  the record that the blob will get
 * @property {Set<IncomingSlice>} slices  the slices that may bring the first groups of the blob
 * @property {number} len  bytes that the pages of the blob mark as present; they count towards the quota
 * @property {boolean} hasFile  true if a file was made for the blob
 * @property {boolean} mayBeRecorded  true if the write of the record has begun and is not acknowledged
 */

/** The caller of each method holds the blob's lock. */
export class PendingRecords {
  #activity
  #catalog
  #databases
  /** The pending blobs, by the names of their roots. */
  #blobs = /** @type {Map<string, PendingBlob>} */ (new Map())

  /** @param {{ activity: Activity, catalog: Catalog, databases: Databases }} parts */
  constructor ({ activity, catalog, databases }) {
    this.#activity = activity
    this.#catalog = catalog
    this.#databases = databases
  }

  /**
   * Returns the record that a blob without a record will get.
   *
   * @param {IncomingSlice} slice  a slice of the blob @param {number} size  a claim
   * @returns {Promise<BlobRecord>}
   */
  async recordFor (slice, size) {
    const name = nameOf(slice.root)
    const blob = this.#blobs.get(name) ?? await this.#newBlob(size)
    this.#blobs.set(name, blob)
    blob.slices.add(slice)
    return blob.record
  }

  /** Returns true if a blob is pending under this id. @param {Uint8Array} root @param {number} id */
  isUnder (root, id) { return this.under(root, id) !== undefined }

  /**
   * Returns the pending blob under this id, if there is one.
   *
   * @param {Uint8Array} root
   * @param {number} id
   * @returns {PendingBlob | undefined}
   */
  under (root, id) {
    const blob = this.#blobs.get(nameOf(root))
    return blob?.record.id === id ? blob : undefined
  }

  /**
   * Commits the record of a blob after the caller has committed some of its groups.
   *
   * @param {Change & { after: BlobRecord }} change  `before`: the record for which the groups were written
   * @param {{ sync: boolean, len: number }} options  `len`: bytes of these groups that were not present before
   */
  async commit (change, { sync, len }) {
    const { root, after } = change
    const blob = this.under(root, after.id)
    if (blob === undefined) return this.#catalog.commit([change], { sync })
    blob.len += len
    blob.mayBeRecorded = true
    Object.assign(blob.record, { size: after.size, sizeProven: after.sizeProven }) // The written pages fit this size.
    try {
      await this.#catalog.commit([{ ...change, before: undefined }], { sync })
    } catch (error) {
      const stored = await this.#catalog.get(root).catch(() => undefined)
      if (stored?.id === after.id) this.#end(root, blob) // The record was written despite the error.
      throw error
    }
    this.#end(root, blob)
  }

  /** Returns true if a pending blob waits for this slice. @param {IncomingSlice} slice */
  has (slice) { return this.#blobs.get(nameOf(slice.root))?.slices.has(slice) ?? false }

  /**
   * Notes that a slice has ended. Deletes the pending blob, unless another slice may still bring its groups.
   *
   * @param {IncomingSlice} slice
   */
  async leave (slice) {
    const { root } = slice
    const blob = this.#blobs.get(nameOf(root))
    if (!blob?.slices.delete(slice) || blob.slices.size > 0) return
    this.#catalog.dropGroups(blob.record, blob.len)
    if (blob.mayBeRecorded) { // The data stays, and its id still counts as under way.
      this.#blobs.delete(nameOf(root))
      return this.#activity.noteLeftovers()
    }
    // Do not delete a file that was not made for this blob.
    const { fileId, record: { id } } = contentOf(this.#databases, root, blob.record)
    if (blob.hasFile || fileId === undefined) {
      await this.#databases.deleteData(id).catch(() => this.#activity.noteLeftovers())
    }
    this.#end(root, blob)
  }

  /** Forgets a pending blob that has a record, or no data. @param {Uint8Array} root @param {PendingBlob} blob */
  #end (root, { record }) {
    this.#blobs.delete(nameOf(root))
    this.#databases.ids.release(record.id)
  }

  /** @param {number} size  a claim @returns {Promise<PendingBlob>} */
  async #newBlob (size) {
    const home = homeOf(this.#databases, size)
    const id = await this.#databases.ids.newId()
    const record = { id, size, sizeProven: false, complete: false, home, created: Date.now() }
    return { record, slices: new Set(), len: 0, hasFile: false, mayBeRecorded: false }
  }
}
