// Deletes blobs.

import { parseRoot } from '../../../lib/hash/cid.js'
import { tagged } from '../../storage/errors.js'
import { nameOf } from '../roots.js'

/** @import { BlobName, StoreContext } from '../../blob-store.js' */

/**
 * See `BlobStore.delete`.
 *
 * @param {StoreContext} store @param {BlobName} cid @param {{ force?: boolean }} options
 * @returns {Promise<boolean>}
 */
export async function deleteBlob ({ catalog, databases, locks, tags }, cid, { force = false }) {
  const root = parseRoot(cid, 'cid')
  databases.assertWritable()
  return locks.run(nameOf(root), async () => {
    const { isThere, record } = await catalog.find(root)
    if (!isThere || record?.size === 0) return false
    const { isTagged, name } = await tags.tagOf(root)
    if (isTagged && !force) throw tagged(root, name)
    await catalog.remove(root, record)
    return true
  })
}
