// Reads many small blobs with few lookups: for up to 64 blobs, one lookup of their records, and one of their bytes.

import { BaoError } from '../../lib/core/errors.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'
import { hashesTo } from './verified/subtrees.js'
import { contentOf } from '../storage/content/content-of.js'
import { LOOKUP_COUNT, LOOKUP_LEN } from '../sizes.js'
import { VIEWS, extentKey } from '../storage/format/keys.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { assertMany, inOrder, untilSignal } from '../../lib/async/in-order.js'
import { blobTooLong, orIfUnreadable } from '../storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Uses } from '../catalog/uses.js' */
/** @import { Lifetime } from '../storage/concurrency/lifetime.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobReader } from './reader.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { Many } from '../../lib/async/in-order.js' */

/**
 * @typedef {{ cid: CID, bytes: Uint8Array<ArrayBuffer>, error?: undefined } |
 *   { cid: CID, bytes?: undefined, error: BaoError }} GetResult
 */

/**
 * @typedef {ProgressOptions & { verify?: boolean, maxBytes?: number }} GetManyOptions  `verify`: as for `get`.
 *   `maxBytes`: a longer blob is not read, and its error is BLOB_TOO_LONG { cid, len }. Default: Infinity. `onProgress`
 *   gets `baobox:get`, with the bytes of all blobs that were yielded
 */

/**
 * @typedef {{ root: Uint8Array, record?: BlobRecord, bytes?: Uint8Array }} Found  `bytes`: as they are stored, not
 *   verified
 */

/** Reads many blobs. It looks up the next blobs while the caller works with the previous ones. */
export class ManyReader {
  #catalog
  #databases
  #life
  #reader
  #uses
  #verifies

  /**
   * @param {object} parts
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Lifetime} parts.life
   * @param {BlobReader} parts.reader
   * @param {Uses} parts.uses
   * @param {boolean} parts.verifies  true to compare bytes with the hash, unless a call says otherwise
   */
  constructor ({ catalog, databases, life, reader, uses, verifies }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#life = life
    this.#reader = reader
    this.#uses = uses
    this.#verifies = verifies
  }

  /**
   * See `Store.getMany`.
   *
   * @param {Many<BlobName>} cids @param {GetManyOptions} [options]
   * @returns {AsyncGenerator<GetResult>}
   */
  getMany (cids, options = {}) {
    assertMany('cids', cids, 'CIDs')
    assertKnownOptions(options, ['verify', 'maxBytes', 'signal', 'onProgress'])
    if (options.maxBytes !== undefined && options.maxBytes !== Infinity) assertInteger('maxBytes', options.maxBytes)
    return this.#get(cids, options)
  }

  /** @param {Many<BlobName>} cids @param {GetManyOptions} options @returns {AsyncGenerator<GetResult>} */
  async * #get (cids, { verify = this.#verifies, maxBytes = Infinity, signal, onProgress }) {
    let done = 0
    /** @param {Uint8Array[]} roots */
    const look = roots => this.#life.run(() => this.#lookUp(roots))
    for await (const found of inOrder(lookupsOf(cids, signal), () => 1, look)) {
      for await (const result of this.#results(found, { verify, maxBytes, signal })) {
        yield result
        done += result.bytes?.length ?? 0
        onProgress?.({ type: 'baobox:get', detail: { done, unit: 'bytes' } })
      }
    }
  }

  /**
   * Looks up blobs, and the bytes of those that are kept in one extent.
   *
   * @param {Uint8Array[]} roots  at most LOOKUP_COUNT
   * @returns {Promise<Found[]>} in the order of the roots
   */
  async #lookUp (roots) {
    const looked = await this.#catalog.findMany(roots)
    const found = looked.map(({ record }, i) => /** @type {Found} */ ({ root: roots[i], record }))
    const small = found.filter(({ root, record }) =>
      record !== undefined && contentOf(this.#databases, root, record).isOneExtent(LOOKUP_LEN))
    if (small.length === 0) return found
    const { data, allocate } = this.#databases
    const keys = small.map(({ record }) => extentKey(/** @type {BlobRecord} */ (record).id, 0, allocate))
    const values = await orIfUnreadable(data.getMany(keys, VIEWS)) ?? []
    for (const [i, blob] of small.entries()) blob.bytes = values[i]
    return found
  }

  /**
   * Yields the result for each blob: the bytes that were looked up, if they are right. Other blobs are read one by one.
   *
   * @param {Found[]} found @param {{ verify: boolean, maxBytes: number, signal?: AbortSignal }} options
   * @returns {AsyncGenerator<GetResult>}
   */
  async * #results (found, { verify, maxBytes, signal }) {
    for (const { root, record, bytes } of found) {
      signal?.throwIfAborted()
      const cid = toCid(root)
      if (record !== undefined && record.size > maxBytes) {
        yield { cid, error: blobTooLong(cid, record.size) }
        continue
      }
      if (bytes !== undefined && (verify ? hashesTo(bytes, 0, bytes.length, root) : bytes.length === record?.size)) {
        this.#uses.touch(root)
        yield { cid, bytes: this.#databases.owned(bytes) }
        continue
      }
      try {
        yield { cid, bytes: await this.#reader.bytes(root, undefined, { verify, signal }) }
      } catch (error) {
        if (!(error instanceof BaoError) || error.code === 'STORE_CLOSED') throw error
        yield { cid, error }
      }
    }
  }
}

/**
 * @param {Many<BlobName>} cids @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array[]>} the roots for each lookup
 */
async function * lookupsOf (cids, signal) {
  let roots = []
  try {
    for await (const cid of untilSignal(cids, signal)) {
      roots.push(parseRoot(cid, 'cid'))
      if (roots.length < LOOKUP_COUNT) continue
      yield roots
      roots = []
    }
  } catch (failure) {
    if (roots.length > 0) yield roots // Yield the results of earlier CIDs before the failure.
    throw failure
  }
  if (roots.length > 0) yield roots
}
