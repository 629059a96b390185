// Reads collections from a store: whole, or entry by entry in bounded memory.

import { HASH_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { HASHSEQ, parseRoot, toCid } from '../../lib/hash/cid.js'
import { SliceSource } from '../../verifier/slice/slice-source.js'
import { assertStore, missing } from '../../store/interface.js'
import { Collection, memberCount } from './collection.js'
import { MetaParser } from './meta.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { CollectionEntry } from './collection.js' */

/** The default of `maxBytes`: enough for about two million entries. */
const MAX_LEN = 1 << 27

/**
 * Reads a whole collection into memory.
 *
 * @param {Store} store
 * @param {BlobName} cid
 * @param {{ maxBytes?: number, signal?: AbortSignal }} [options]  `maxBytes`: the maximum number of bytes that its two
 *   blobs may have. Default: 128 MiB
 * @returns {Promise<Collection>}
 * @throws {BaoError} COLLECTION_INVALID { start }; COLLECTION_TOO_LONG { cid, len } when there are more bytes than
 *   `maxBytes`; and the errors of `store.bytes`
 */
export async function getCollection (store, cid, options = {}) {
  const reader = new BoundedReader(store, cid, HASHSEQ, { ...options, maxBytes: options.maxBytes ?? MAX_LEN })
  memberCount(await wholeLen(store, reader.root))
  const sequence = await reader.bytes(reader.root)
  const metaRoot = sequence.subarray(0, HASH_LEN)
  return Collection.fromBytes({ sequence, meta: await reader.bytes(metaRoot).catch(orNoNames(reader.root, metaRoot)) })
}

/** @param {CID} cid @param {number} maxBytes @param {number} len  bytes that would be read @returns {BaoError} */
export const tooLong = (cid, maxBytes, len) =>
  new BaoError('COLLECTION_TOO_LONG', `${cid} has more than ${maxBytes} bytes`, { cid, len })

/**
 * Reads the blobs of a collection or manifest into memory, unless they have more bytes together than the caller allows.
 */
export class BoundedReader {
  #store
  #cid
  #maxBytes
  #signal
  #len = 0

  /**
   * @param {Store} store @param {BlobName} name  the name of the collection or manifest @param {number} code  the code
   *   of its CID
   * @param {{ maxBytes: number, signal?: AbortSignal }} options
   */
  constructor (store, name, code, options) {
    assertStore(store)
    assertKnownOptions(options, ['maxBytes', 'signal'])
    assertInteger('maxBytes', options.maxBytes)
    this.#store = store
    this.root = parseRoot(name, 'cid')
    this.#cid = toCid(this.root, code)
    this.#maxBytes = options.maxBytes
    this.#signal = options.signal
  }

  /**
   * @param {Uint8Array} root  the hash of one of the blobs
   * @throws {BaoError} COLLECTION_TOO_LONG { cid, len }, before anything is read
   */
  async bytes (root) {
    this.#len += await wholeLen(this.#store, root)
    if (this.#len > this.#maxBytes) throw tooLong(this.#cid, this.#maxBytes, this.#len)
    return this.#store.bytes(root, undefined, { signal: this.#signal })
  }
}

/**
 * Reads the entries of a collection one after the other, however many there are.
 *
 * @param {Store} store
 * @param {BlobName} cid
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {AsyncGenerator<CollectionEntry>} in their order. It may yield entries and fail after that
 * @throws {BaoError} COLLECTION_INVALID { start }; and the errors of `store.get`
 */
export function collectionEntries (store, cid, options = {}) {
  assertStore(store)
  assertKnownOptions(options, ['signal'])
  return oneByOne(entryBatches(store, parseRoot(cid, 'cid'), options.signal))
}

/** @param {AsyncIterable<CollectionEntry[]>} batches @returns {AsyncGenerator<CollectionEntry>} */
async function * oneByOne (batches) {
  for await (const batch of batches) for (const entry of batch) yield entry
}

/**
 * Reads the entries of a collection in batches of 1 to 1024.
 *
 * @param {Store} store @param {Uint8Array} root @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<CollectionEntry[]>}
 */
export async function * entryBatches (store, root, signal) {
  const parser = new MetaParser(memberCount(await wholeLen(store, root)))
  const hashes = new SliceSource(store.get(root, undefined, { reuse: true, signal }))
  try {
    const metaRoot = await hashes.read(HASH_LEN)
    await wholeLen(store, metaRoot).catch(orNoNames(root, metaRoot))
    for await (const piece of store.get(metaRoot, undefined, { reuse: true, signal })) {
      for (const names of parser.push(piece)) {
        const roots = await hashes.read(names.length * HASH_LEN)
        yield names.map((name, i) => [name, toCid(roots.subarray(i * HASH_LEN, (i + 1) * HASH_LEN))])
      }
    }
    parser.end()
  } finally {
    await hashes.close()
  }
}

/**
 * @param {Store} store @param {Uint8Array} root
 * @returns {Promise<number>} bytes of a blob that is complete, or that the store can fetch
 * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }
 */
async function wholeLen (store, root) {
  const isWhole = await store.has(root, { supply: true })
  const { size } = await store.stat(root)
  if (!isWhole) throw missing(root, size, await store.missing(root))
  return size
}

/**
 * Changes the error for a missing meta blob. The message says that the blob may not be a collection, because any
 * sequence of hashes looks like one.
 *
 * @param {Uint8Array} root @param {Uint8Array} metaRoot
 */
const orNoNames = (root, metaRoot) => (/** @type {BaoError} */ error) => {
  if (error.code !== 'STORE_NOT_FOUND') throw error
  const cid = toCid(metaRoot)
  const message = `${toCid(root)} is not a collection, or its names are not in the store: ${cid}`
  throw new BaoError('STORE_NOT_FOUND', message, { cid, cause: error.cause })
}
