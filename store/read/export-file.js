// Writes a whole blob to a file, verified on its way.

import { writeFileAtomically } from '#disk'

/** @import { BlobName, StoreContext } from '../blob-store.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */

/**
 * See `BlobStore.exportFile`.
 *
 * @param {StoreContext} store
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
