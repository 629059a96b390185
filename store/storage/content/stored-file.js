// Reads the bytes of a blob that is kept in a file: a blob file of the store, or the file of a reference.

import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { isNoFile } from '../../../lib/source/open-files.js'
import { isDenied, missing } from '../errors.js'
import { VIEWS, pathKey } from '../format/keys.js'
import { decodePath, fileIdOf, isInOwnFile } from '../format/records.js'
import { BaoError, truncated } from '../../../lib/core/errors.js'

/** @import { BlobRecord } from '../format/records.js' */
/** @import { BlobFile } from '../disk/blob-file.js' */
/** @import { Databases } from '../databases.js' */

/** Reads bytes without verifying them. */
export class FileReader {
  overlaps = true
  #databases
  #root
  #record
  #file = /** @type {Promise<BlobFile> | undefined} */ (undefined)
  size

  /** @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record */
  constructor (databases, root, record) {
    this.#databases = databases
    this.#root = root
    this.#record = record
    this.size = record.size
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes when the file ends before `end`
   */
  async read (start, end) {
    const file = await this.#opened(start, end)
    return file.read(start, end)
  }

  /**
   * @param {Uint8Array} buffer  filled from the front @param {number} start
   * @returns {Promise<number>} how many bytes were read: fewer when the file ends before
   */
  async readInto (buffer, start) {
    const file = await this.#opened(start, start + buffer.length)
    return file.readInto(buffer, start)
  }

  /** Opens the file once. The range serves only for the error. @param {number} start @param {number} end */
  async #opened (start, end) {
    try {
      this.#file ??= this.#open()
      const file = await this.#file
      await file.handle
      return file
    } catch (error) {
      if (!isNoFile(error) && !isDenied(error)) throw error
      if (this.#record.home === 'reference') throw this.#allMissing(error)
      throw truncated({ start, wanted: end - start, got: 0, cause: error })
    }
  }

  /** Returns how many bytes the file has: 0 when there is none. */
  async len () {
    try {
      this.#file ??= this.#open()
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

  async #open () {
    const { id } = this.#record
    const { files } = this.#databases
    if (files === undefined) throw this.#allMissing()
    if (isInOwnFile(this.#record)) return files.reader(fileIdOf(this.#record))
    const path = await pathOfReference(this.#databases, id)
    if (path === undefined) throw this.#allMissing()
    return files.readerOf(path)
  }

  /** @param {unknown} [cause] */
  #allMissing (cause) { return missing(this.#root, this.size, ChunkRanges.all.canonical(this.size), cause) }
}

/**
 * Finds the path of the file that a reference is about.
 *
 * @param {Databases} databases @param {number} id
 * @returns {Promise<string | undefined>} undefined when the index has lost the path
 */
export async function pathOfReference ({ index }, id) {
  const stored = await index.get(pathKey(id), VIEWS)
  return stored && decodePath(id, stored)
}
