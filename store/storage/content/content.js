// The content of a record: the bytes of one blob, wherever they are. There is one class for each home, and `contentOf`
// (content-of.js) picks it. This file has what they have in common: answers that are right for most homes.

/** @import { ChunkRanges } from '../../../lib/tree/ranges.js' */
/** @import { Databases, GivenUpData } from '../databases.js' */
/** @import { placeOfKey } from '../format/keys.js' */
/** @import { BlobRecord, Home } from '../format/records.js' */

export class CommonContent {
  databases
  root
  record

  /** @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record */
  constructor (databases, root, record) {
    this.databases = databases
    this.root = root
    this.record = record
  }

  /** True if the store owns the bytes. If not, every read compares them with the root. */
  get isOurs () { return true }

  /** True if the store itself keeps all the bytes. */
  get isKept () { return this.isOurs && this.record.complete }

  /** True if the bytes count for this blob. Bytes of a reference do not count; those of a sharer count for its base. */
  get isCounted () { return true }

  /** True if others may change the bytes: the owner of the file, or a blob that shares it. */
  get isChangedByOthers () { return false }

  /** True if the size is certain even if all of the bytes are wrong. */
  get isSizeNoted () { return false }

  /** The data to delete together with the record. @returns {GivenUpData} */
  get dataToDelete () { return { id: this.record.id } }

  /** The home of groups that are received after a part of the blob was found to be wrong. @type {Home} */
  get homeOfRest () { return this.record.home }

  /** The home of bytes that are received under a new id. @type {Home} */
  get homeOfNew () { return 'file' }

  /**
   * Returns true if the whole blob is in one extent of at most this length.
   *
   * @param {number} _len  bytes; at most the length of a full extent
   */
  isOneExtent (_len) { return false }

  /**
   * Returns true if the bytes may stay where they are when the blob is put again. Bytes that the store keeps may always
   * stay.
   *
   * @param {string} [_path]  of the file, when the put makes a reference to it
   * @returns {boolean | Promise<boolean>}
   */
  mayStay (_path) { return this.isKept }

  /**
   * Returns true if an entry of the data database belongs to the blob, as far as its key says.
   *
   * @param {ReturnType<placeOfKey>} place
   * @returns {place is { id: number, chunk: number, band?: number }}
   */
  ownsEntry (place) { return place?.id === this.record.id && place.band !== undefined }

  /**
   * Leaves out the chunks whose bytes may not be on the disk yet.
   *
   * @param {ChunkRanges} chunks @param {ChunkRanges} _present  chunks that are recorded as present
   */
  certainlyStored (chunks, _present) { return chunks }

  /**
   * Finds the file of the store that has exactly the bytes of this blob, so that callers may link it.
   *
   * @returns {Promise<string | undefined>} its path; undefined when there is none
   */
  async ownFile () { return undefined }

  /**
   * Finds the path of the file that a reference reads.
   *
   * @returns {Promise<string | undefined>} undefined when the blob is not a reference, or the index has lost the path
   */
  async path () { return undefined }

  /** Returns true if the file of the earlier record is now the file of this content. @param {BlobRecord} _before */
  hasFileOf (_before) { return false }
}
