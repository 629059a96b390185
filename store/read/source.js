// Opens blobs for libraries that read files at any offset.

import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { missing } from '../storage/errors.js'

/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { RandomAccess } from '../../lib/core/types.js' */
/** @import { Store } from '../interface.js' */

/**
 * See `Store.source`.
 *
 * @param {Pick<Store, 'bytes' | 'has' | 'missing' | 'stat' | 'statMany'>} store
 * @param {BlobName} cid @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<RandomAccess>}
 */
export async function sourceOf (store, cid, options = {}) {
  assertKnownOptions(options, ['signal'])
  const root = parseRoot(cid)
  const { signal } = options
  const [known] = await store.statMany([root])
  if (!known?.sizeProven) await store.has(root, { supply: true, signal })
  const { size, sizeProven } = await store.stat(root)
  if (!sizeProven) throw missing(root, size, await store.missing(root))
  return { size, overlaps: true, read: (start, end, signal) => store.bytes(root, { start, end }, { signal }) }
}
