// Puts a file into the store, as a copy of its bytes or as a reference to it.

import { absolute, openRegular } from '#disk'
import { NOT_REGULAR } from '../storage/errors.js'

/** @import { PutOptions } from './put.js' */
/** @import { StoreContext } from '../exchange/store-context.js' */

/**
 * See `BlobStore.importFile`.
 *
 * @param {StoreContext} store
 * @param {string | URL} path
 * @param {PutOptions & { mode?: 'copy' | 'reference' }} options
 */
export async function importFile ({ databases, writer }, path, { mode = 'copy', ...options }) {
  if (mode !== 'copy' && mode !== 'reference') {
    throw new TypeError(`"mode" expected 'copy' or 'reference', got '${mode}'`)
  }
  const source = absolute(path)
  if (mode === 'copy') return writer.put(source, options)
  if (databases.files === undefined) {
    throw new TypeError('"mode" expected \'copy\': only a store in a directory can refer to files')
  }
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
