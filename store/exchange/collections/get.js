// Reads collections from a store: whole, or entry by entry in bounded memory.

import { HASH_LEN } from '../../../lib/core/constants.js'
import { BaoError } from '../../../lib/core/errors.js'
import { assertInteger } from '../../../lib/core/bytes.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { HASHSEQ, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { SliceSource } from '../../../verifier/slice/slice-source.js'
import { missing } from '../../storage/errors.js'
import { contextOf } from '../context-of.js'
import { Collection, memberCount } from './collection.js'
import { MetaParser } from './meta.js'

/** @import { BlobName, BlobStore } from '../../blob-store.js' */
/** @import { CollectionEntry } from './collection.js' */

/** Bytes of both blobs of a collection in memory, unless the caller allows more: about two million entries. */
const MAX_LEN = 1 << 27

/**
 * Reads a whole collection into memory.
 *
 * @param {BlobStore} store
 * @param {BlobName} cid
 * @param {{ maxLen?: number, signal?: AbortSignal }} [options]  `maxLen`: bytes that its two blobs may have. Default:
 *   128 MiB
 * @returns {Promise<Collection>}
 * @throws {BaoError} COLLECTION_INVALID { start }; COLLECTION_TOO_LONG { cid, len } when there are more bytes than
 *   `maxLen`; and what `store.bytes` may throw
 */
export async function getCollection (store, cid, options = {}) {
  contextOf(store)
  assertKnownOptions(options, ['maxLen', 'signal'])
  const { maxLen = MAX_LEN, signal } = options
  assertInteger('maxLen', maxLen)
  const root = parseRoot(cid, 'cid')
  const sequenceLen = await wholeLen(store, root)
  memberCount(sequenceLen)
  assertLen(root, sequenceLen, maxLen)
  const sequence = await store.bytes(root, { signal })
  const metaRoot = sequence.subarray(0, HASH_LEN)
  assertLen(root, sequenceLen + await wholeLen(store, metaRoot), maxLen)
  return Collection.fromBytes({ sequence, meta: await store.bytes(metaRoot, { signal }) })
}

/** @param {Uint8Array} root @param {number} len @param {number} maxLen */
function assertLen (root, len, maxLen) {
  if (len <= maxLen) return
  const cid = toCid(root, HASHSEQ)
  throw new BaoError('COLLECTION_TOO_LONG', `${cid} has more than ${maxLen} bytes of names and hashes`, { cid, len })
}

/**
 * Reads the entries of a collection one after the other, however many there are.
 *
 * @param {BlobStore} store
 * @param {BlobName} cid
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {AsyncGenerator<CollectionEntry>} in their order. An error may come after entries that were right
 * @throws {BaoError} COLLECTION_INVALID { start }; and what `store.get` may throw
 */
export async function * collectionEntries (store, cid, options = {}) {
  contextOf(store)
  assertKnownOptions(options, ['signal'])
  for await (const batch of entryBatches(store, parseRoot(cid, 'cid'), options.signal)) {
    for (const entry of batch) yield entry
  }
}

/**
 * The same in batches of 1 to 1024 entries.
 *
 * @param {BlobStore} store @param {Uint8Array} root @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<CollectionEntry[]>}
 */
export async function * entryBatches (store, root, signal) {
  const parser = new MetaParser(memberCount(await wholeLen(store, root)))
  const hashes = new SliceSource(store.get(root, { reuse: true, signal }))
  try {
    const metaRoot = await hashes.read(HASH_LEN)
    await wholeLen(store, metaRoot)
    for await (const piece of store.get(metaRoot, { reuse: true, signal })) {
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
 * @param {BlobStore} store @param {Uint8Array} root
 * @returns {Promise<number>} bytes of a blob that is complete
 * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }
 */
async function wholeLen (store, root) {
  const { size, complete } = await store.stat(root)
  if (!complete) throw missing(root, await store.missing(root))
  return size
}
