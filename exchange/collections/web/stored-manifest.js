// Keeps manifests in a store and reads them. A tag can protect the members of a hash sequence, but not the blobs of a
// manifest. So a manifest is kept together with a sequence, which names first the manifest and then its blobs. Tags,
// downloads and copies of this sequence cover the manifest and its blobs.

import { BaoError } from '../../../lib/core/errors.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { HASHSEQ, RAW, blake3, fromCid, toCid } from '../../../lib/hash/cid.js'
import { concat, describe } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { assertStore } from '../../../store/interface.js'
import { BoundedReader } from '../get-collection.js'
import { PUT_COLLECTION_OPTIONS } from '../put-collection.js'
import { isMapHead } from './drisl.js'
import { Manifest } from './manifest.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../../lib/hash/cid.js' */
/** @import { Store } from '../../../store/interface.js' */
/** @import { CollectionEntry } from '../collection.js' */
/** @import { PutCollectionOptions } from '../put-collection.js' */

/** The default of `maxBytes`: enough for a few hundred thousand resources. */
const MAX_LEN = 1 << 24

/**
 * @typedef {object} PutManifestResult
 * @property {CID} cid  the CID of the manifest, with the codec of DRISL
 * @property {CID} sequence  the CID of the hash sequence of the manifest and its blobs, which the tag names
 * @property {number} length  the number of resources
 * @property {boolean} isNew  true if the store lacked the manifest or the sequence before
 */

/**
 * Keeps a manifest, and a hash sequence that names the manifest first and then each of its blobs once. Does not check
 * the blobs, because the store need not have them.
 *
 * @param {Store} store @param {Manifest} manifest
 * @param {PutCollectionOptions} [options]  the options of the tag, which protects the manifest and its blobs
 * @returns {Promise<PutManifestResult>}
 * @throws {BaoError} the errors of `store.put`; STORE_NOT_FOUND { cid } for a `src` of another hash function that is
 *   not an alias in the store
 */
export async function putManifest (store, manifest, options = {}) {
  assertStore(store)
  if (!(manifest instanceof Manifest)) throw new TypeError(`"manifest" expected a Manifest, got ${describe(manifest)}`)
  assertKnownOptions(options, PUT_COLLECTION_OPTIONS)
  const { signal } = options
  const roots = /** @type {Map<string, Uint8Array>} */ (new Map())
  for (const [, { src }] of manifest) {
    const root = await knownRoot(store, src)
    roots.set(`${toCid(root)}`, root)
  }
  const hold = store.tempTag()
  try {
    const blob = await store.put(manifest.toBytes(), { tag: hold, signal })
    const sequence = await store.put(concat([fromCid(blob.cid), ...roots.values()]), { ...options, format: 'hashseq' })
    return {
      cid: manifest.cid,
      sequence: toCid(fromCid(sequence.cid), HASHSEQ),
      length: manifest.length,
      isNew: blob.isNew || sequence.isNew
    }
  } finally {
    hold.release()
  }
}

/**
 * Reads a manifest into memory.
 *
 * @param {Store} store
 * @param {BlobName} cid  the CID of the manifest
 * @param {{ maxBytes?: number, maxItems?: number, signal?: AbortSignal }} [options]  `maxBytes`: the maximum number of
 *   bytes that it may have. Default: 16 MiB. `maxItems`: the same as in `Manifest.fromBytes`
 * @returns {Promise<Manifest>}
 * @throws {BaoError} MANIFEST_INVALID; COLLECTION_TOO_LONG { cid, len } when there are more bytes than `maxBytes`; and
 *   the errors of `store.bytes`
 */
export async function getManifest (store, cid, options = {}) {
  const { maxBytes = MAX_LEN, maxItems, ...rest } = options
  const reader = new BoundedReader(store, cid, RAW, { ...rest, maxBytes })
  return Manifest.fromBytes(await reader.bytes(reader.root), { maxItems })
}

/**
 * Reads a blob as a manifest. If the blob is not a manifest, reads it as a hash sequence whose first member is one.
 *
 * @param {Store} store @param {BlobName} cid
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<Manifest | undefined>} undefined if neither is a manifest: the blob may be a collection
 * @throws {BaoError} the errors of `getManifest`, except MANIFEST_INVALID
 */
export async function findManifest (store, cid, options = {}) {
  const { size } = await store.stat(cid)
  const isSequence = size >= HASH_LEN && size % HASH_LEN === 0
  const first = isSequence ? await store.bytes(cid, { end: HASH_LEN }, options) : undefined
  for (const name of [cid, first]) {
    if (name === undefined || !await store.has(name)) continue
    const [byte] = await store.bytes(name, { end: 1 }, options)
    if (!isMapHead(byte)) continue // so that long sequences and lists of names are not read to their end
    try {
      return await getManifest(store, name, options)
    } catch (error) {
      if (/** @type {BaoError} */ (error).code !== 'MANIFEST_INVALID') throw error
    }
  }
  return undefined
}

/**
 * The files that a manifest names, with the CIDs that their blobs have in the store.
 *
 * @param {Store} store @param {Manifest} manifest
 * @returns {Promise<CollectionEntry[]>}
 * @throws {BaoError} STORE_NOT_FOUND { cid } for a `src` of another hash function that is not an alias in the store
 */
export async function filesIn (store, manifest) {
  const files = /** @type {CollectionEntry[]} */ ([])
  for (const [name, src] of manifest.files()) files.push([name, toCid(await knownRoot(store, src))])
  return files
}

/**
 * Does what `rootOfSource` does, but throws if the store does not have the blob.
 *
 * @param {Store} store
 * @param {CID} src
 */
async function knownRoot (store, src) {
  const root = await rootOfSource(store, src)
  if (root === undefined) throw new BaoError('STORE_NOT_FOUND', `the store does not have the blob ${src}`, { cid: src })
  return root
}

/**
 * The hash under which the store has the blob of a resource.
 *
 * @param {Store} store @param {CID} src
 * @returns {Promise<Uint8Array | undefined>} undefined for a CID of another hash function that is not an alias in the
 *   store
 */
export async function rootOfSource (store, src) {
  if (src.multihash.code === blake3.code && src.multihash.digest.length === HASH_LEN) return fromCid(src)
  const known = await store.resolve(src)
  return known && fromCid(known)
}
