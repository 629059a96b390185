// Deletes blobs.

import { parseRoot } from '../../../lib/hash/cid.js'
import { assertMany, untilSignal } from '../../../lib/async/in-order.js'
import { tagged } from '../../storage/errors.js'
import { nameOf } from '../../../lib/hash/roots.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { StoreContext } from '../../store-context.js' */
/** @import { Change } from '../catalog.js' */
/** @import { Many } from '../../../lib/async/in-order.js' */
/** @import { ProgressOptions } from '../../../lib/core/types.js' */

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

/** Most blobs that are deleted in one write. */
const BATCH_BLOBS = 1000

/**
 * See `BlobStore.deleteMany`.
 *
 * @param {StoreContext} store @param {Many<BlobName>} cids
 * @param {ProgressOptions & { force?: boolean }} options
 * @returns {Promise<{ blobs: number, bytes: number }>}
 */
export async function deleteMany (store, cids, { force = false, signal, onProgress }) {
  assertMany('cids', cids, 'CIDs')
  const deleted = { blobs: 0, bytes: 0 }
  let done = 0
  let roots = /** @type {Map<string, Uint8Array>} */ (new Map())
  const take = async () => {
    signal?.throwIfAborted()
    const batch = roots
    roots = new Map()
    await deleteBatch(store, batch, { force, deleted })
    done += batch.size
    onProgress?.({ type: 'baobox:delete', detail: { done } })
  }
  for await (const cid of untilSignal(cids, signal)) {
    const root = parseRoot(cid, 'cid')
    roots.set(nameOf(root), root)
    if (roots.size === BATCH_BLOBS) await take()
  }
  if (roots.size > 0) await take()
  return deleted
}

/**
 * @param {StoreContext} store @param {Map<string, Uint8Array>} batch  roots by their names
 * @param {{ force: boolean, deleted: { blobs: number, bytes: number } }} options  `deleted`: counts to add to
 * @throws {BaoError} STORE_TAGGED after the blobs before the tagged one were deleted
 */
async function deleteBatch ({ catalog, locks, tags }, batch, { force, deleted }) {
  const roots = [...batch.values()]
  const { removals, refusal } = await locks.runAll([...batch.keys()], async () => {
    const removals = /** @type {Change[]} */ ([])
    let refusal
    for (const [i, { isThere, record }] of (await catalog.findMany(roots)).entries()) {
      if (!isThere || record?.size === 0) continue
      const { isTagged, name } = await tags.tagOf(roots[i])
      if (isTagged && !force) refusal = tagged(roots[i], name)
      if (refusal !== undefined) break
      removals.push(await catalog.removal(roots[i], record))
    }
    await catalog.commit(removals, { deletesData: false })
    return { removals, refusal }
  })
  await catalog.deleteData(removals)
  deleted.blobs += removals.length
  for (const { gained } of removals) deleted.bytes -= gained
  if (refusal !== undefined) throw refusal
}
