// Opens views of blobs for reads, and turns the failure of a read into the error for its caller. The readers call it,
// and it calls them back with the view.

import { BaoError } from '../../lib/core/errors.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { changed, closedError, corrupt, missing, notFound, outdated } from '../storage/errors.js'
import { StoredView } from './stored-view.js'
import { TrustedTrees } from './verified/trusted-trees.js'
import { verified } from './verified/verified-pieces.js'

/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Lifetime } from '../storage/concurrency/lifetime.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */

export class BlobAccess {
  #catalog
  #databases
  #life
  #presence
  #protection
  /** The trees of blobs, with the pairs that earlier reads have verified. All readers share them. */
  trees = new TrustedTrees()

  /**
   * @param {object} parts
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Lifetime} parts.life
   * @param {Presence} parts.presence
   * @param {Protection} parts.protection
   */
  constructor ({ catalog, databases, life, presence, protection }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#life = life
    this.#presence = presence
    this.#protection = protection
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted
   * @throws {BaoError} STORE_MISSING { cid, ranges }
   */
  async require (root, record, wanted) {
    const ranges = await this.missing(record, wanted)
    if (!ranges.isEmpty) throw missing(root, record.size, ranges)
  }

  /**
   * Returns the wanted chunks that are missing, in whole groups.
   *
   * @param {BlobRecord} record @param {ChunkRanges} wanted
   */
  missing (record, wanted) {
    return this.#life.run(() => this.#presence.missing(record, wanted))
  }

  /**
   * Reads a blob through a view of it. A failure becomes the error for the store's caller. The caller of this method
   * protects the blob.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {[start: number, end: number]} span  bytes that may be read
   * @template T
   * @param {(view: StoredView) => AsyncGenerator<T>} use
   */
  async * reading (root, record, span, use) {
    const view = new StoredView(this.#databases, root, record, this.trees.of(root, record), span)
    try {
      yield * use(view)
    } catch (error) {
      throw await this.#explain(error, root, record)
    } finally {
      await view.close()
    }
  }

  /**
   * Reads all bytes of a blob that are present, and always verifies them. This does not count as a use.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * present (root, record, signal) {
    const release = this.#protection.use(root)
    try {
      for (const { start, end } of (await this.#presence.of(record)).toBytes(record.size)) {
        const span = spanOf(ChunkRanges.fromBytes(start, end), record.size)
        yield * this.reading(root, record, span, view => verified(view, { start, end }, { signal }))
      }
    } finally {
      release()
    }
  }

  /**
   * Returns the error for the store's caller: damage, missing bytes, or a blob that was deleted or replaced during the
   * read.
   *
   * @param {unknown} error @param {Uint8Array} root @param {BlobRecord} record  as it was when the read began
   */
  async #explain (error, root, record) {
    if (this.#life.isEnded) return closedError(error)
    if (!(error instanceof BaoError) || error.code.startsWith('STORE_')) return error
    const now = await this.#catalog.get(root)
    if (now === undefined) return notFound(root)
    if (now.id !== record.id && !now.isDamaged) return changed(root, error)
    return await this.#databases.hasChanged() ? outdated(root, error) : corrupt(root, record.size, error)
  }
}

/**
 * Returns where the first wanted group begins and the last one ends, in bytes.
 *
 * @param {ChunkRanges} wanted @param {number} size
 * @returns {[start: number, end: number]}
 */
export function spanOf (wanted, size) {
  const groups = wanted.canonical(size).roundToGroups(GROUP_LOG).toBytes(size)
  return groups.length === 0 ? [0, 0] : [groups[0].start, groups[groups.length - 1].end]
}
