// Says which blob a name leads to.

import { multihashOf, parseRoot, toCid } from '../../../lib/hash/cid.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { StoreContext } from '../../store-context.js' */

/**
 * See `BlobStore.resolve`.
 *
 * @param {StoreContext} store @param {BlobName} cid
 * @returns {Promise<CID | undefined>}
 */
export async function resolve ({ catalog }, cid) {
  const alias = multihashOf(cid)
  const root = alias === undefined ? parseRoot(cid, 'cid') : await catalog.aliases.resolve(alias)
  return root !== undefined && (await catalog.find(root)).isThere ? toCid(root) : undefined
}
