// Begins reads: looks up a blob, and makes the `RetriedRead` that reads it.
//
// The readers (reader.js, slice-reader.js, ../write/compose/original.js) call `lookUp`, and then a method of the
// `RetriedRead` (retried-read.js). This calls the reader back to read from some byte on, and the reader opens a view
// of the blob with `BlobAccess` (blob-access.js). `Supplies` (supplies.js) is called only if the store lacks something.

import { parseRoot } from '../../lib/hash/cid.js'
import { RetriedRead } from './retried-read.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { Uses } from '../catalog/uses.js' */
/** @import { Lifetime } from '../storage/concurrency/lifetime.js' */
/** @import { RetryOptions, RetryParts } from './retried-read.js' */

export class Reads {
  #parts

  /** @param {RetryParts & { life: Lifetime, uses: Uses }} parts */
  constructor (parts) {
    this.#parts = parts
  }

  /** True if the store can fetch what it lacks. */
  get hasSupply () { return this.#parts.supplies.hasSupply }

  /**
   * Looks up a blob, and notes its use. If the blob has no record and the store has a `supply`, it fetches the first
   * wanted groups, and the end of the blob, which proves the size.
   *
   * @param {BlobName} cid
   * @param {() => ChunkRanges} wantedOf  returns the wanted chunks
   * @param {AbortSignal} [signal]
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND { cid }
   */
  async lookUp (cid, wantedOf, signal) {
    signal?.throwIfAborted()
    const root = parseRoot(cid, 'cid')
    const { catalog, life, supplies, uses } = this.#parts
    return life.run(async () => {
      const record = await catalog.get(root) ?? await supplies.find(root, wantedOf(), signal)
      uses.touch(root)
      return { root, record }
    })
  }

  /** @param {Uint8Array} root @param {RetryOptions} options */
  retried (root, options) { return new RetriedRead(this.#parts, root, options) }
}
