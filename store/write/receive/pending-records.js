// Blobs of which slices are being received, and which have no record yet. Their data is written under ids that count as
// under way; the record follows the first groups.

import { FILE_FROM } from '../blob-builder.js'
import { nameOf } from '../../catalog/roots.js'

/** @import { IncomingSlice } from './incoming-slice.js' */
/** @import { BlobRecord, Home } from '../../storage/format/records.js' */
/** @import { Change } from '../../catalog/catalog.js' */
/** @import { StoreContext } from '../../exchange/store-context.js' */

/**
 * @typedef {object} PendingBlob
 * @property {BlobRecord} record  that it is to have
 * @property {Set<IncomingSlice>} slices  that may bring it
 * @property {number} len  bytes that pages say are present: they count under a quota
 * @property {boolean} hasFile  has a file been made for it?
 * @property {boolean} mayBeRecorded  was the write of the record begun, and not acknowledged?
 */

/** Callers hold the blob's lock. */
export class PendingRecords {
  #store
  /** By name. */
  #blobs = /** @type {Map<string, PendingBlob>} */ (new Map())

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * What the record of a blob is to be that has none.
   *
   * @param {IncomingSlice} slice  that brings it @param {number} size  a claim
   * @returns {Promise<BlobRecord>}
   */
  async recordFor (slice, size) {
    const name = nameOf(slice.root)
    const blob = this.#blobs.get(name) ?? await this.#newBlob(size)
    this.#blobs.set(name, blob)
    blob.slices.add(slice)
    return blob.record
  }

  /** Is nothing recorded yet of a blob that has this id? @param {Uint8Array} root @param {number} id */
  isUnder (root, id) { return this.under(root, id) !== undefined }

  /**
   * The blob with this id, if nothing of it is recorded yet.
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
   * Commits the record of a blob after its groups, the first or a later one.
   *
   * @param {Change & { after: BlobRecord }} change  `before`: what the groups were written for
   * @param {{ sync: boolean, len: number }} options  `len`: bytes of these groups that were not present before
   */
  async commit (change, { sync, len }) {
    const { root, after } = change
    const blob = this.under(root, after.id)
    if (blob === undefined) return this.#store.catalog.commit([change], { sync })
    blob.len += len
    blob.mayBeRecorded = true
    Object.assign(blob.record, { size: after.size, sizeProven: after.sizeProven }) // what the pages were made for
    try {
      await this.#store.catalog.commit([{ ...change, before: undefined }], { sync })
    } catch (error) {
      const stored = await this.#store.catalog.get(root).catch(() => undefined)
      if (stored?.id === after.id) this.#settle(root, blob) // it was written all the same
      throw error
    }
    this.#settle(root, blob)
  }

  /** May this slice bring a blob that has no record yet? @param {IncomingSlice} slice */
  has (slice) { return this.#blobs.get(nameOf(slice.root))?.slices.has(slice) ?? false }

  /**
   * A slice has ended. Nothing is left of a blob that has not been recorded, unless another may still bring it.
   *
   * @param {IncomingSlice} slice
   */
  async leave (slice) {
    const { root } = slice
    const blob = this.#blobs.get(nameOf(root))
    if (!blob?.slices.delete(slice) || blob.slices.size > 0) return
    this.#store.catalog.dropGroups(blob.record, blob.len)
    if (blob.mayBeRecorded) { // then the data stays, and its id counts as under way
      this.#blobs.delete(nameOf(root))
      return this.#store.activity.noteLeftovers()
    }
    // A file that this blob did not make belongs to somebody else.
    const { id, home } = blob.record
    const { activity, databases } = this.#store
    if (blob.hasFile || home !== 'file') await databases.deleteData(id).catch(() => activity.noteLeftovers())
    this.#settle(root, blob)
  }

  /** It has a record, or nothing is left of it. @param {Uint8Array} root @param {PendingBlob} blob */
  #settle (root, { record }) {
    this.#blobs.delete(nameOf(root))
    this.#store.databases.ids.settle(record.id)
  }

  /** @param {number} size  a claim @returns {Promise<PendingBlob>} */
  async #newBlob (size) {
    /** @type {Home} */
    const home = this.#store.databases.files !== undefined && size > FILE_FROM ? 'file' : 'extents'
    const id = await this.#store.databases.ids.newId()
    const record = { id, size, sizeProven: false, complete: false, home, created: Date.now() }
    return { record, slices: new Set(), len: 0, hasFile: false, mayBeRecorded: false }
  }
}
