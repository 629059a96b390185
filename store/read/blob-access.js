// Looks up blobs that are to be read, opens snapshots of them, and explains why a read has failed.

import { BaoError } from '../../lib/core/errors.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { changed, closedError, corrupt, missing, notFound, outdated } from '../storage/errors.js'
import { StoredView } from './snapshot.js'
import { TrustedTrees } from './verified/tree-cache.js'

/** @import { BlobName } from '../blob-store.js' */
/** @import { StoreContext } from '../store-context.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */

export class BlobAccess {
  #store
  /** The trees of blobs, with the pairs that earlier reads have compared. All readers share them. */
  trees = new TrustedTrees()

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * Looks up a blob that is about to be read, and notes its use. A blob without a record is fetched, if the store has
   * a `supply`: the beginning of what is wanted, and the proof of the size.
   *
   * @param {BlobName} cid
   * @param {{ ranges?: ChunkRanges, start?: number, end?: number }} wanted  `start`, `end`: bytes, if there are no
   *   `ranges`. Default: the whole blob
   * @param {AbortSignal} [signal]
   * @throws {BaoError} STORE_NOT_FOUND { cid }
   */
  async use (cid, { ranges, start = 0, end }, signal) {
    signal?.throwIfAborted()
    const root = parseRoot(cid, 'cid')
    return this.#store.life.run(async () => {
      const { catalog, supplies } = this.#store
      const record = await catalog.get(root) ??
        await supplies.find(root, ranges ?? ChunkRanges.fromBytes(start, end), signal)
      this.#store.catalog.uses.touch(root)
      return { root, record }
    })
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted
   * @throws {BaoError} STORE_MISSING { cid, ranges }
   */
  async require (root, record, wanted) {
    const ranges = await this.missing(record, wanted)
    if (!ranges.isEmpty) throw missing(root, record.size, ranges)
  }

  /** What is wanted and missing, in whole groups. @param {BlobRecord} record @param {ChunkRanges} wanted */
  missing (record, wanted) {
    return this.#store.life.run(() => this.#store.presence.missing(record, wanted))
  }

  /**
   * Reads a blob through a view of it. When the reading fails, throws the error for callers. The caller protects the
   * blob.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {[start: number, end: number]} span  bytes that may be read
   * @template T
   * @param {(view: StoredView) => AsyncGenerator<T>} use
   */
  async * reading (root, record, span, use) {
    const view = new StoredView(this.#store.databases, root, record, this.trees.of(root, record), span)
    try {
      yield * use(view)
    } catch (error) {
      throw await this.#explain(error, root, record)
    } finally {
      await view.close()
    }
  }

  /**
   * Returns the error for callers when stored bytes did not verify, or were missing.
   *
   * @param {unknown} error @param {Uint8Array} root @param {BlobRecord} record  as it was when the read began
   */
  async #explain (error, root, record) {
    if (this.#store.life.isEnded) return closedError(error)
    if (!(error instanceof BaoError) || error.code.startsWith('STORE_')) return error
    const now = await this.#store.catalog.get(root)
    if (now === undefined) return notFound(root)
    if (now.id !== record.id && !now.isDamaged) return changed(root, error)
    return await this.#store.databases.hasChanged() ? outdated(root, error) : corrupt(root, record.size, error)
  }
}

/**
 * Returns where the first group of the wanted chunks begins, and where the last one ends.
 *
 * @param {ChunkRanges} wanted @param {number} size
 * @returns {[start: number, end: number]}
 */
export function spanOf (wanted, size) {
  const groups = wanted.canonical(size).roundToGroups(GROUP_LOG).toBytes(size)
  return groups.length === 0 ? [0, 0] : [groups[0][0], groups[groups.length - 1][1]]
}
