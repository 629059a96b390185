// Blobs and files: large blobs are kept in files of the store, others' files may be referred to, and blobs go out to files.

import { absolute, openRegular, writeFileAtomically } from '#disk'
import { ChunkRanges } from '../lib/ranges.js'
import { NOT_REGULAR, isDenied, isNoFile, missing } from './faults.js'
import { VIEWS, decodePath, pathKey } from './keys.js'
import { BaoError, truncated } from '../lib/errors.js'

/** @import { BlobName, PutOptions } from './blobs.js' */
/** @import { BlobReader } from './reader.js' */
/** @import { BlobRecord } from './keys.js' */
/** @import { BlobWriter } from './writer.js' */
/** @import { Databases } from './databases.js' */
/** @import { ProgressOptions } from '../lib/types.js' */

/** Reads a blob that is in a file. Nothing read here is believed yet. */
export class FileReader {
  overlaps = true
  #databases
  #root
  #record
  #file = /** @type {Promise<import('./disk/blob-file.js').BlobFile> | undefined} */ (undefined)
  /** Where the blob begins in the file. */
  #offset
  size

  /** @param {Databases} databases @param {Uint8Array} root @param {BlobRecord} record */
  constructor (databases, root, record) {
    this.#databases = databases
    this.#root = root
    this.#record = record
    this.#offset = databases.fileOf(record).offset
    this.size = record.size
  }

  /**
   * @param {number} start @param {number} end
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the file ends before
   */
  async read (start, end) { return (await this.#opened(start, end)).read(this.#offset + start, this.#offset + end) }

  /** Fills memory of the caller. @param {Uint8Array} buffer @param {number} start @returns {Promise<number>} how many bytes: fewer where the file ends before */
  async readInto (buffer, start) { return (await this.#opened(start, start + buffer.length)).readInto(buffer, this.#offset + start) }

  /** The file, which bytes are wanted of. @param {number} start @param {number} end */
  async #opened (start, end) {
    try {
      this.#file ??= this.#open()
      const file = await this.#file
      await file.handle
      return file
    } catch (error) {
      if (!isNoFile(error) && !isDenied(error)) throw error
      if (this.#record.home === 'reference') throw missing(this.#root, ChunkRanges.all.canonical(this.size), error)
      throw truncated({ start, wanted: end - start, got: 0, cause: error })
    }
  }

  /** Is the file there? Then it stays, for this reader, whatever happens to its name. */
  async isThere () { return await this.#fileLen() !== undefined }

  /** Bytes from where the blob begins to where the file ends: 0 where there is none. */
  async len () { return Math.max(0, (await this.#fileLen() ?? 0) - this.#offset) }

  async #fileLen () {
    try {
      this.#file ??= this.#open()
      const handle = await (await this.#file).handle
      return (await handle.stat()).size
    } catch (error) {
      if (error instanceof BaoError || isNoFile(error)) return undefined
      throw error
    }
  }

  async close () {
    if (this.#file !== undefined) await this.#file.then(file => file.release(), () => {})
  }

  async #open () {
    const { id, home } = this.#record
    const { files } = this.#databases.fileOf(this.#record)
    if (files !== undefined) return files.reader(id)
    const stored = home === 'reference' ? await this.#databases.index.get(pathKey(id), VIEWS) : undefined
    const path = stored && decodePath(id, stored)
    if (path === undefined || this.#databases.files === undefined) throw missing(this.#root, ChunkRanges.all.canonical(this.size))
    return this.#databases.files.readerOf(path)
  }
}

/**
 * See `BlobStore.importFile`.
 *
 * @param {{ databases: Databases, writer: BlobWriter }} store
 * @param {string | URL} path
 * @param {PutOptions & { mode?: 'copy' | 'reference' }} options
 */
export async function importFile ({ databases, writer }, path, { mode = 'copy', ...options }) {
  if (mode !== 'copy' && mode !== 'reference') throw new TypeError(`"mode" expected 'copy' or 'reference', got '${mode}'`)
  const source = absolute(path)
  if (mode === 'copy') return writer.put(source, options)
  if (databases.files === undefined) throw new TypeError('"mode" expected \'copy\': only a store in a directory can refer to files')
  await assertRegular(source)
  return writer.put(source, options, { path: source })
}

/** @param {string} path */
async function assertRegular (path) {
  try {
    const file = await openRegular(path, { follows: true })
    await file.close()
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== NOT_REGULAR) throw error
    throw new TypeError(`"path" expected a regular file, got ${path}`, { cause: error })
  }
}

/**
 * See `BlobStore.exportFile`.
 *
 * @param {{ databases: Databases, reader: BlobReader }} store
 * @param {BlobName} cid @param {string | URL} path @param {ProgressOptions} options
 * @returns {Promise<{ size: number }>}
 */
export async function exportFile ({ databases, reader }, cid, path, { signal, onProgress }) {
  let size = 0
  await writeFileAtomically(path, (async function * () {
    for await (const piece of reader.get(cid, { verify: true, reuse: true, signal })) {
      yield piece
      size += piece.length
      onProgress?.({ type: 'baobox:export', detail: { done: size } })
    }
    signal?.throwIfAborted()
  })(), databases.isSync)
  return { size }
}
