// Puts a file into the store: as a reference to the file, as a clone that shares its blocks, or as a copy if the file
// system cannot share blocks.

import { absolute, openRegular } from '#disk'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { CheckedFile, toPieces } from '../../../lib/source/source.js'
import { NOT_REGULAR } from '../../../lib/source/open-files.js'
import { FILE_FROM } from '../../sizes.js'
import { PUT_OPTIONS } from '../put.js'
import { FileBlob } from './file-blob.js'

/** @import { Databases } from '../../storage/databases.js' */
/** @import { BlobWriter, MakeBlob, PutOptions, WriteBytes } from '../put.js' */
/** @import { PutResult } from '../put-many.js' */
/** @import { IncomingBlob } from '../incoming-blob.js' */

/**
 * @typedef {object} ImportFileOwnOptions
 * @property {'copy' | 'reference'} [mode]  `copy` keeps the bytes as `put` does, or shares the blocks of a file of more
 *   than 1 MiB if the file system can do that. `reference` keeps only the tree, and reads the file each time a caller
 *   reads the blob. These bytes are always verified: reading a changed file throws STORE_CORRUPT { cid, start, len },
 *   and reading a missing one throws STORE_MISSING { cid, ranges }. The store never deletes the file. Default: `copy`
 * @property {(fd: number) => void} [check]  gets the descriptor of the open file, and throws if that is the wrong file.
 *   With `check`, the path must not be a link
 */
/** @typedef {PutOptions & ImportFileOwnOptions} ImportFileOptions */

/** The names of all options in `ImportFileOptions`. */
const IMPORT_OPTIONS = [...PUT_OPTIONS, 'mode', 'check']

/** @typedef {{ databases: Databases, writer: BlobWriter }} ImportParts */

export class FileImporter {
  #databases
  #writer

  /** @param {ImportParts} parts */
  constructor ({ databases, writer }) {
    this.#databases = databases
    this.#writer = writer
  }

  /**
   * See `BlobStore.importFile`.
   *
   * @param {string | URL} path @param {ImportFileOptions} given
   * @returns {Promise<PutResult>}
   */
  async importFile (path, given) {
    assertKnownOptions(given, IMPORT_OPTIONS)
    const { mode = 'copy', check, onProgress, ...options } = given
    if (mode !== 'copy' && mode !== 'reference') {
      throw new TypeError(`"mode" expected 'copy' or 'reference', got '${mode}'`)
    }
    const databases = this.#databases
    const { files } = databases
    const location = absolute(path)
    const source = check === undefined ? location : new CheckedFile(location, check)
    if (mode === 'reference') {
      if (files === undefined) {
        throw new TypeError('"mode" expected \'copy\': only a store in a directory can refer to files')
      }
      if (check === undefined) await assertRegular(location)
    }
    /** @type {MakeBlob<FileBlob>} */
    const makeBlob = async (id, assertSizeAllowed) => {
      if (mode === 'reference') return new FileBlob(databases, id, { source, assertSizeAllowed })
      const file = await files?.clone(location, id, { from: FILE_FROM + 1, check })
      if (files === undefined || file === undefined) return undefined
      return new FileBlob(databases, id, { source: files.pathOf(id), file, assertSizeAllowed })
    }
    /** @type {WriteBytes<IncomingBlob | FileBlob>} */
    const writeBytes = async (blob, signal) => {
      const reading = { signal, onProgress, type: 'baobox:put' }
      if (blob instanceof FileBlob) return blob.hash(reading)
      for await (const piece of toPieces(source, reading)) await blob.write(piece)
    }
    return this.#writer.putFilled(options, {
      writeBytes,
      makeBlob,
      path: mode === 'reference' ? location : undefined,
      closing: new AbortController(),
      cancel () {}
    })
  }
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
