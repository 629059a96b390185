// Puts a file into the store: as a file that shares its blocks where the file system can do that, else as a copy, or as
// a reference to the file.

import { absolute, openRegular } from '#disk'
import { CheckedFile, toPieces } from '../../../lib/source/source.js'
import { NOT_REGULAR } from '../../../lib/source/open-files.js'
import { FILE_FROM } from '../blob-builder.js'
import { FileBlob } from './file-blob.js'

/** @import { Begin, Fill, PutOptions } from '../put.js' */
/** @import { IncomingBlob } from '../blob-builder.js' */
/** @import { StoreContext } from '../../store-context.js' */

/**
 * See `BlobStore.importFile`.
 *
 * @param {StoreContext} store
 * @param {string | URL} path
 * @param {PutOptions & { mode?: 'copy' | 'reference' }} options
 * @param {CheckedFile['check']} [check]  throws when the file is not the one that is meant; the path must not be a link
 *   then
 */
export async function importFile ({ databases, writer }, path, { mode = 'copy', onProgress, ...options }, check) {
  if (mode !== 'copy' && mode !== 'reference') {
    throw new TypeError(`"mode" expected 'copy' or 'reference', got '${mode}'`)
  }
  const { files } = databases
  const location = absolute(path)
  const source = check === undefined ? location : new CheckedFile(location, check)
  if (mode === 'reference') {
    if (files === undefined) {
      throw new TypeError('"mode" expected \'copy\': only a store in a directory can refer to files')
    }
    if (check === undefined) await assertRegular(location)
  }
  /** @type {Begin<FileBlob>} */
  const begin = async (id, assertSizeAllowed) => {
    if (mode === 'reference') return new FileBlob(databases, id, { source, assertSizeAllowed })
    const file = await files?.clone(location, id, { from: FILE_FROM + 1, check })
    if (files === undefined || file === undefined) return undefined
    return new FileBlob(databases, id, { source: files.pathOf(id), file, assertSizeAllowed })
  }
  /** @type {Fill<IncomingBlob | FileBlob>} */
  const fill = async (blob, signal) => {
    const how = { signal, onProgress, type: 'baobox:put' }
    if (blob instanceof FileBlob) return blob.hash(how)
    for await (const piece of toPieces(source, how)) await blob.write(piece)
  }
  const keeper = mode === 'reference' ? location : undefined
  const known = { path: keeper, begin, closing: new AbortController(), cancel () {} }
  return writer.fill(fill, options, known)
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
