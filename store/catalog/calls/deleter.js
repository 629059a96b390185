// Deletes blobs when a caller asks.

import { parseRoot } from '../../../lib/hash/cid.js'
import { assertMany, untilSignal } from '../../../lib/async/in-order.js'
import { tagged } from '../../storage/errors.js'
import { nameOf } from '../../../lib/hash/roots.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Catalog, Change } from '../catalog.js' */
/** @import { TagIndex } from '../names/tag-index.js' */
/** @import { Many } from '../../../lib/async/in-order.js' */
/** @import { ProgressOptions } from '../../../lib/core/types.js' */

/**
 * @typedef {{ blobs: number, bytes: number }} Deleted  how many blobs were deleted, and how many bytes of them the
 *   store had
 */

/** At most this many blobs are deleted in one write. */
const BATCH_BLOBS = 1000

export class Deleter {
  #catalog
  #databases
  #locks
  #tags

  /** @param {{ catalog: Catalog, databases: Databases, locks: Locks, tags: TagIndex }} parts */
  constructor ({ catalog, databases, locks, tags }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#locks = locks
    this.#tags = tags
  }

  /** See `Store.delete`. @param {BlobName} cid @param {{ force?: boolean }} [options] @returns {Promise<Deleted>} */
  async delete (cid, { force = false } = {}) {
    const root = parseRoot(cid, 'cid')
    this.#databases.assertWritable()
    return this.#locks.run(nameOf(root), async () => {
      const { isThere, record } = await this.#catalog.find(root)
      if (!isThere || record?.size === 0) return { blobs: 0, bytes: 0 }
      if (!force) await this.assertUntagged(root)
      const { gained } = await this.#catalog.remove(root, record)
      return { blobs: 1, bytes: 0 - gained }
    })
  }

  /** @param {Uint8Array} root @throws {BaoError} STORE_TAGGED { cid, tag } */
  async assertUntagged (root) {
    const { isTagged, name } = await this.#tags.tagOf(root)
    if (isTagged) throw tagged(root, name)
  }

  /**
   * See `Store.deleteMany`.
   *
   * @param {Many<BlobName>} cids @param {ProgressOptions & { force?: boolean }} options
   * @returns {Promise<Deleted>}
   */
  async deleteMany (cids, { force = false, signal, onProgress }) {
    assertMany('cids', cids, 'CIDs')
    const deleted = { blobs: 0, bytes: 0 }
    let done = 0
    let roots = /** @type {Map<string, Uint8Array>} */ (new Map())
    const deleteGathered = async () => {
      signal?.throwIfAborted()
      const batch = roots
      roots = new Map()
      await this.#deleteBatch(batch, { force, deleted })
      done += batch.size
      onProgress?.({ type: 'baobox:delete', detail: { done, unit: 'cids' } })
    }
    for await (const cid of untilSignal(cids, signal)) {
      const root = parseRoot(cid, 'cid')
      roots.set(nameOf(root), root)
      if (roots.size === BATCH_BLOBS) await deleteGathered()
    }
    if (roots.size > 0) await deleteGathered()
    return deleted
  }

  /**
   * @param {Map<string, Uint8Array>} batch  roots by their names
   * @param {{ force: boolean, deleted: Deleted }} options  `deleted`: the counts, to which this call adds its own
   * @throws {BaoError} STORE_TAGGED { cid, tag }, after it has deleted the blobs before the tagged one
   */
  async #deleteBatch (batch, { force, deleted }) {
    const roots = [...batch.values()]
    const { removals, refusal } = await this.#locks.runAll([...batch.keys()], async () => {
      const removals = /** @type {Change[]} */ ([])
      let refusal
      for (const [i, { isThere, record }] of (await this.#catalog.findMany(roots)).entries()) {
        if (!isThere || record?.size === 0) continue
        const { isTagged, name } = await this.#tags.tagOf(roots[i])
        if (isTagged && !force) refusal = tagged(roots[i], name)
        if (refusal !== undefined) break
        removals.push(await this.#catalog.removal(roots[i], record))
      }
      await this.#catalog.commit(removals, { deletesData: false })
      return { removals, refusal }
    })
    await this.#catalog.deleteData(removals)
    deleted.blobs += removals.length
    for (const { gained } of removals) deleted.bytes -= gained
    if (refusal !== undefined) throw refusal
  }
}
