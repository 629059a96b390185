// Writes a whole blob to a file, and verifies each piece before it is written.

import { replaceFile } from '#files'

/** @import { BlobName } from '../blob-store.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { BlobReader } from './reader.js' */
/** @import { ProgressEvent, ProgressOptions } from '../../lib/core/types.js' */

/**
 * See `BlobStore.exportFile`.
 *
 * @param {StoreContext} store
 * @param {BlobName} cid @param {string | URL} path @param {ProgressOptions} options
 * @returns {Promise<{ size: number }>}
 */
export async function exportFile ({ databases, reader }, cid, path, options) {
  const size = await replaceFile(path, verifiedPieces(reader, cid, options), { sync: databases.isSync })
  return { size }
}

/** @param {BlobReader} reader @param {BlobName} cid @param {ProgressOptions} options */
async function * verifiedPieces (reader, cid, { signal, onProgress }) {
  /** @param {ProgressEvent} event */
  const tell = ({ detail }) => onProgress?.({ type: 'baobox:export', detail })
  yield * reader.get(cid, undefined, { verify: true, reuse: true, signal, onProgress: tell })
  signal?.throwIfAborted()
}
