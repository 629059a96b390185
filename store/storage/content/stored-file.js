// Blobs and files: large blobs are kept in files of the store, others' files may be referred to, and blobs go out to files.

import { absolute, openRegular, writeFileAtomically } from '#disk'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { NOT_REGULAR, isDenied, isNoFile, missing } from '../errors.js'
import { VIEWS, decodePath, pathKey } from '../format/keys.js'
import { BaoError, truncated } from '../../../lib/core/errors.js'

/** @import { BlobName, PutOptions } from '../../blob-store.js' */
/** @import { BlobReader } from '../../read/reader.js' */
/** @import { BlobRecord } from '../format/keys.js' */
/** @import { BlobWriter } from '../../write/put.js' */
/** @import { Databases } from '../databases.js' */
/** @import { ProgressOptions } from '../../../lib/core/types.js' */

/** Reads a blob that is in a file. Nothing read here is believed yet. */
export class FileReader {
  overlaps = true
  #databases
  #root
  #record
  #file = /** @type {Promise<import('../disk/blob-file.js').BlobFile> | undefined} */ (undefined)
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
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes where the file ends before
   */
  async read (start, end) { return (await this.#opened(start, end)).read(start, end) }

  /** Fills memory of the caller. @param {Uint8Array} buffer @param {number} start @returns {Promise<number>} how many bytes: fewer where the file ends before */
  async readInto (buffer, start) { return (await this.#opened(start, start + buffer.length)).readInto(buffer, start) }

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

  /** Bytes of the file: 0 where there is none. */
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
    const { id, home } = this.#record
    const { files, index } = this.#databases
    if (files === undefined) throw missing(this.#root, ChunkRanges.all.canonical(this.size))
    if (home === 'file') return files.reader(id)
    const stored = await index.get(pathKey(id), VIEWS)
    const path = stored && decodePath(id, stored)
    if (path === undefined) throw missing(this.#root, ChunkRanges.all.canonical(this.size))
    return files.readerOf(path)
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
