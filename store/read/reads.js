// Begins reads: looks up a blob, and makes the `RetriedRead` that reads it.
//
// The readers (reader.js, slice-reader.js, ../write/compose/original.js) call `lookUp`, and then a method of the
// `RetriedRead` (retried-read.js). This calls the reader back to read from some byte on, and the reader opens a view
// of the blob with `BlobAccess` (blob-access.js). `Supplies` (supplies.js) is called only if the store lacks something.

import { assertInteger } from '../../lib/core/bytes.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { RetriedRead } from './retried-read.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { Uses } from '../catalog/uses.js' */
/** @import { Lifetime } from '../storage/concurrency/lifetime.js' */
/** @import { RetryOptions, RetryParts } from './retried-read.js' */

/**
 * @typedef {object} PassedOn
 * @property {number} [hops]  how many stores have passed this call on, because each lacked the blob and has this store
 *   in its `supply`. From 4 on, the call does not use the `supply` of this store, so that loops of stores end.
 *   Default: 0
 */
/**
 * @typedef {PassedOn & { supply?: boolean, signal?: AbortSignal }} HasOptions  `supply`: true to ask `supply` for what
 *   the store lacks. Default: false
 */

/** @param {PassedOn} options @throws {TypeError | RangeError} */
export function assertHops ({ hops }) {
  if (hops !== undefined) assertInteger('hops', hops)
}

export class Reads {
  #parts

  /** @param {RetryParts & { life: Lifetime, uses: Uses }} parts */
  constructor (parts) {
    this.#parts = parts
  }

  /** True if a read can fetch what the store lacks. @param {number} [hops]  those of the read */
  canFetch (hops) { return this.#parts.supplies.isFor(hops) }

  /**
   * Looks up a blob, and notes its use. If the blob has no record and the store has a `supply`, it fetches the first
   * wanted groups, and the end of the blob, which proves the size.
   *
   * @param {BlobName} cid
   * @param {() => ChunkRanges} wantedOf  returns the wanted chunks
   * @param {PassedOn & { signal?: AbortSignal }} options
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND { cid }
   */
  async lookUp (cid, wantedOf, { hops, signal }) {
    signal?.throwIfAborted()
    const root = parseRoot(cid, 'cid')
    const { catalog, life, supplies, uses } = this.#parts
    return life.run(async () => {
      const record = await catalog.get(root) ?? await supplies.find(root, wantedOf(), { hops, signal })
      uses.touch(root)
      return { root, record }
    })
  }

  /** See `Store.has`, with `supply: true`. @param {BlobName} cid @param {HasOptions} options */
  async canGive (cid, { hops, signal }) {
    const root = parseRoot(cid, 'cid')
    return this.#parts.supplies.canGive(root, { hops, signal })
  }

  /** @param {Uint8Array} root @param {RetryOptions} options */
  retried (root, options) { return new RetriedRead(this.#parts, root, options) }
}
