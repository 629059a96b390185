// What a record leads to: the bytes of a blob, wherever they are. There is one class for each home, and `contentOf`
// (content-of.js) makes the right one. This file has what most homes have alike.

/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { Databases, DoomedData } from '../databases.js' */
/** @import { placeOfKey } from '../format/keys.js' */
/** @import { BlobRecord, Home } from '../format/records.js' */

export class BaseContent {
  databases
  root
  record

  /** @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record */
  constructor (databases, root, record) {
    this.databases = databases
    this.root = root
    this.record = record
  }

  /** Does the store own the bytes? If not, they are compared with the root whenever they are read. */
  get isOurs () { return true }

  /** Does the store itself keep all the bytes? */
  get isKept () { return this.isOurs && this.record.complete }

  /** Do the bytes count for this blob? Those of a reference count for none, and those of a sharer for its base. */
  get isCounted () { return true }

  /** May others change the bytes: the owner of the file, or a blob that shares it? */
  get isChangedByOthers () { return false }

  /** Is the size known even if none of the bytes are right? */
  get isSizeNoted () { return false }

  /** What is deleted together with the record. @returns {DoomedData} */
  get doomed () { return { id: this.record.id } }

  /** The home of groups that are received when a part of the blob turned out to be wrong. @type {Home} */
  get homeOfRest () { return this.record.home }

  /** The home of bytes that are received under a new id. @type {Home} */
  get homeOfNew () { return 'file' }

  /**
   * Is all of the blob in one extent that has at most so many bytes?
   *
   * @param {number} _len  bytes: at most those of a full extent
   */
  isOneExtent (_len) { return false }

  /**
   * May the bytes stay where they are when the blob is put once more? A copy suits every put.
   *
   * @param {string} [_path]  of a file that has the bytes, and will keep them
   * @returns {boolean | Promise<boolean>}
   */
  suits (_path) { return this.isKept }

  /**
   * Does an entry of the data database belong to the blob, going by its key?
   *
   * @param {ReturnType<placeOfKey>} place
   * @returns {place is { id: number, chunk: number, band?: number }}
   */
  takes (place) { return place?.id === this.record.id && place.band !== undefined }

  /**
   * Returns those of some chunks whose bytes may be looked at.
   *
   * @param {ChunkRanges} chunks @param {ChunkRanges} _present  chunks that are recorded as present
   */
  certain (chunks, _present) { return chunks }

  /**
   * Finds the file of the store that has all bytes of this blob, and no others, under a path that others may link.
   *
   * @returns {Promise<string | undefined>} undefined when there is none
   */
  async ownFile () { return undefined }

  /**
   * Finds the path of the file of others that has the bytes.
   *
   * @returns {Promise<string | undefined>} undefined when there is none, or the index has lost its path
   */
  async path () { return undefined }

  /** Are the bytes of a blob still where they were, and those of this one, too? @param {BlobRecord} _before */
  hasTaken (_before) { return false }
}
