// The bytes of a blob in a file: a file of its own, a file that it shares with longer or shorter blobs, or a file that
// does not belong to the store.

import { BaoError, truncated } from '../../../lib/core/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { isNoFile } from '../../../lib/source/open-files.js'
import { isDenied, isOfSystem, missing } from '../errors.js'
import { VIEWS, allOfId, pathKey } from '../format/keys.js'
import { decodePath } from '../format/records.js'
import { CommonContent } from './content.js'
import { ExtentContent } from './extent-content.js'
import { readSoon } from './sync-reads.js'
import { FileScan, allChunks } from './scan.js'

/** @import { BlobFile } from '../disk/blob-file.js' */
/** @import { BlobFolder } from '../disk/blob-folder.js' */
/** @import { Home, BlobRecord } from '../format/records.js' */
/** @import { KeyRange } from './scan.js' */

/** How many bytes of a file are copied in one step. */
const COPY_LEN = 1 << 20

/** @typedef {{ complete: boolean, signal?: AbortSignal }} SafetyOptions  `complete`: true if the whole blob is right */

/** The base class of all content in files. */
export class StoredFile extends CommonContent {
  /** False if the store has no files, because a caller has opened only the databases of a store with files. */
  get isReachable () { return this.databases.files !== undefined }

  /**
   * This content; in a store without files, content in extents, for the groups that are received from now on.
   *
   * @returns {StoredFile | ExtentContent}
   */
  get reachable () {
    const { databases, root, record } = this
    return this.isReachable ? this : new ExtentContent(databases, root, { ...record, home: 'extents' })
  }

  /** True, because all bytes after the end of the file are missing. */
  get endsAtFirstGap () { return true }

  /** The id of the store's file that has the bytes. Received groups are also written to this file. */
  get fileId () { return /** @type {number | undefined} */ (this.record.id) }

  /** See `ExtentContent.reader`. */
  reader () { return new FileReader(this) }

  /**
   * See `ExtentContent.readSoon`.
   *
   * @param {number} from @param {number} to
   * @returns {Uint8Array | undefined | Promise<Uint8Array | undefined>}
   */
  readSoon (from, to) {
    const { fileId, databases: { files } } = this
    return fileId === undefined || files === undefined ? undefined : readSoon(files, fileId, from, to)
  }

  /**
   * See `ExtentContent.scan`. It opens the file again, because the file may have been replaced.
   *
   * @param {object} [options] @param {KeyRange} [keys]
   */
  scan (options = {}, keys = allOfId(this.record.id)) {
    if (this.fileId !== undefined) this.databases.files?.forget(this.fileId)
    return new FileScan(this, options, keys)
  }

  /**
   * Finds the chunks that may have stored bytes: those up to the end of the file.
   *
   * @returns {Promise<ChunkRanges | undefined>} undefined when the system cannot read the file
   */
  async held () {
    const file = this.reader()
    try {
      const len = Math.min(await file.len(), this.record.size)
      return len === 0 ? ChunkRanges.none : allChunks(len)
    } catch (error) {
      if (!isOfSystem(error)) throw error
      return undefined
    } finally {
      await file.close()
    }
  }

  /** Returns true if something else has the name of the blob's file, or of the file that a repair would make. */
  async isObstructed () { return await this.databases.files?.isTaken(this.fileId ?? this.record.id) ?? false }

  /**
   * Makes right groups safe before marks name them: syncs the file.
   *
   * @param {ChunkRanges} _right @param {SafetyOptions} _options
   */
  async makeSafe (_right, _options) {
    const { files, isSync } = this.databases
    const writer = await this.files.writer(/** @type {number} */ (this.fileId), { mayBeShared: true })
    try {
      if (isSync) await Promise.all([writer.sync(), files?.sync()])
    } finally {
      await writer.close()
    }
  }

  /** @returns {BlobFolder} */
  get files () {
    const { files } = this.databases
    if (files === undefined) throw new Error('a blob is in a file, and this store has no files')
    return files
  }

  /** Opens the file, which the caller releases. @returns {Promise<BlobFile>} */
  async open () {
    const { fileId, databases: { files } } = this
    if (files === undefined || fileId === undefined) throw this.allMissing()
    return files.reader(fileId)
  }

  /**
   * Returns the error for a read that could not open the file.
   *
   * @param {{ start: number, end: number }} span  bytes to read @param {unknown} cause
   */
  unopened ({ start, end }, cause) { return truncated({ start, wanted: end - start, got: 0, cause }) }

  /** @param {unknown} [cause] */
  allMissing (cause) {
    const { root, record: { size } } = this
    return missing(root, size, ChunkRanges.all.canonical(size), cause)
  }
}

/** A file of the store for this blob alone. */
export class FileContent extends StoredFile {
  /**
   * Bytes that are not yet marked as present may not be on the disk.
   *
   * @param {ChunkRanges} chunks @param {ChunkRanges} present
   */
  certainlyStored (chunks, present) { return chunks.intersect(present) }

  async ownFile () {
    const { databases: { files }, record: { id, size, complete } } = this
    return complete && await files?.len(id) === size ? files?.pathOf(id) : undefined
  }
}

/**
 * The first bytes of a file of the store, which longer or shorter blobs share. The file belongs to a base: see `Bases`.
 */
export class SharedContent extends StoredFile {
  get isCounted () { return false }

  get isChangedByOthers () { return true }

  /** True, because the entry of the sharer also has the size. */
  get isSizeNoted () { return true }

  get fileId () { return this.record.base }

  /**
   * When a blob is extended for the first time, its file becomes the file of a base.
   *
   * @param {BlobRecord} before
   */
  hasFileOf (before) { return this.record.complete && this.record.base === before.id }
}

/** A file that does not belong to the store. The index has its path. */
export class ReferenceContent extends StoredFile {
  get isOurs () { return false }

  get isCounted () { return false }

  get isChangedByOthers () { return true }

  get fileId () { return undefined }

  /** The store never writes received bytes to a file that does not belong to it. @type {Home} */
  get homeOfRest () { return 'file' }

  /** @param {string} [path] */
  async mayStay (path) { return path !== undefined && path === await this.path() }

  async path () {
    const { databases: { index }, record: { id } } = this
    const stored = await index.get(pathKey(id), VIEWS)
    return stored && decodePath(id, stored)
  }

  /**
   * If a part of the blob is wrong, copies the right groups into a file of the store.
   *
   * @param {ChunkRanges} right @param {SafetyOptions} options
   */
  async makeSafe (right, { complete, signal }) {
    if (complete) return
    const { files, databases: { isSync }, record } = this
    const writer = await files.writer(record.id)
    const theirs = this.reader()
    try {
      for (const { start, end } of right.toBytes(record.size)) {
        for (let at = start; at < end; at += COPY_LEN) {
          signal?.throwIfAborted()
          await writer.write([await theirs.read(at, Math.min(at + COPY_LEN, end))], at)
        }
      }
      if (isSync) await Promise.all([writer.sync(), files.sync()])
    } finally {
      await theirs.close()
      await writer.close()
    }
  }

  async open () {
    const { files } = this.databases
    const path = files && await this.path()
    if (files === undefined || path === undefined) throw this.allMissing()
    return files.readerOf(path)
  }

  /**
   * The bytes count as missing, because a lost file may return.
   *
   * @param {{ start: number, end: number }} _span @param {unknown} cause
   */
  unopened (_span, cause) { return this.allMissing(cause) }
}

/** Reads the bytes of a file without verifying them. */
export class FileReader {
  overlaps = true
  #content
  #file = /** @type {Promise<BlobFile> | undefined} */ (undefined)
  size

  /** @param {StoredFile} content */
  constructor (content) {
    this.#content = content
    this.size = content.record.size
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} new memory; fewer bytes when the file ends before `end`
   */
  async read (start, end) {
    const file = await this.#opened(start, end)
    return file.read(start, end)
  }

  /**
   * @param {Uint8Array} buffer  filled from its start @param {number} start
   * @returns {Promise<number>} how many bytes were read: fewer when the file ends early
   */
  async readInto (buffer, start) {
    const file = await this.#opened(start, start + buffer.length)
    return file.readInto(buffer, start)
  }

  /** Opens the file once. The range is for the error only. @param {number} start @param {number} end */
  async #opened (start, end) {
    try {
      this.#file ??= this.#content.open()
      const file = await this.#file
      await file.handle
      return file
    } catch (error) {
      if (!isNoFile(error) && !isDenied(error)) throw error
      throw this.#content.unopened({ start, end }, error)
    }
  }

  /** Returns how many bytes the file has; 0 if there is no file. */
  async len () {
    try {
      this.#file ??= this.#content.open()
      const handle = await (await this.#file).handle
      return (await handle.stat()).size
    } catch (error) {
      if (error instanceof BaoError || isNoFile(error)) return 0
      throw error
    }
  }

  async close () {
    if (this.#file !== undefined) await this.#file.then(file => file.release(), () => {})
  }
}
