// Says what a store has of each blob of a collection, a manifest or another sequence of hashes. The store itself does
// not know which blobs are members, except to protect those of tagged sequences.

import { HASH_LEN } from '../../lib/core/constants.js'
import { areEqual } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { fromCid, parseRoot, toCid } from '../../lib/hash/cid.js'
import { LOOKUP_COUNT, assertStore } from '../../store/interface.js'
import { memberCount } from './collection.js'
import { entryBatches } from './get-collection.js'
import { META_START } from './meta.js'
import { findManifest, rootOfSource } from './web/stored-manifest.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../lib/hash/cid.js' */
/** @import { BlobStat } from '../../store/index.js' */
/** @import { Store } from '../../store/interface.js' */

/**
 * @typedef {object} MemberStat
 * @property {CID} cid  of the blob, as the collection, manifest or sequence names it
 * @property {string} [name]  the name in the collection, or the path in the manifest without its first slash; undefined
 *   for the collection or manifest itself, for a meta blob, and for members of other sequences
 * @property {BlobStat} [stat]  undefined if the store does not have the blob, or its record is damaged
 */

/**
 * Says what a store has of a collection, a manifest or another sequence of hashes: first of the blob itself, then of
 * its members in order. The store has everything if each `stat` is `complete`. The call keeps only a few members in
 * memory at a time, but all resources of a manifest.
 *
 * @param {Store} store
 * @param {BlobName} cid
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {AsyncGenerator<MemberStat>} one for the blob itself, and one for each member, even if two members are the
 *   same blob. If the blob itself is not complete, its members are not known, so there is only the first
 * @throws {import('../../lib/core/errors.js').BaoError} COLLECTION_INVALID when the blob is not a sequence of hashes;
 *   and the errors of `store.get`
 */
export function memberStats (store, cid, options = {}) {
  assertStore(store)
  assertKnownOptions(options, ['signal'])
  return statsOf(store, parseRoot(cid, 'cid'), options.signal)
}

/** @typedef {Omit<MemberStat, 'stat'>} Member */

/** @param {Store} store @param {Uint8Array} root @param {AbortSignal} [signal] @returns {AsyncGenerator<MemberStat>} */
async function * statsOf (store, root, signal) {
  const [own] = await store.statMany([root])
  yield { cid: toCid(root), stat: own }
  if (own?.complete !== true) return
  for await (const batch of memberBatches(store, root, own.size, signal)) {
    signal?.throwIfAborted()
    const roots = await Promise.all(batch.map(({ cid }) => rootOfSource(store, cid)))
    const stats = await store.statMany(roots.flatMap(known => known ?? []))
    for (const [i, member] of batch.entries()) yield { ...member, stat: roots[i] && stats.shift() }
  }
}

/**
 * @param {Store} store @param {Uint8Array} root @param {number} size  bytes of the blob, which is complete
 * @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Member[]>}
 */
async function * memberBatches (store, root, size, signal) {
  const manifest = await findManifest(store, root, { signal })
  if (manifest !== undefined) {
    if (!areEqual(root, 0, fromCid(manifest.cid))) yield [{ cid: toCid(fromCid(manifest.cid)) }]
    yield manifest.files().map(([name, cid]) => ({ name, cid }))
    return
  }
  const count = memberCount(size) + 1
  const first = await store.bytes(root, { start: 0, end: HASH_LEN }, { signal })
  if (await beginsWithNames(store, first)) {
    yield [{ cid: toCid(first) }]
    for await (const entries of entryBatches(store, root, signal)) yield entries.map(([name, cid]) => ({ name, cid }))
    return
  }
  for (let start = 0; start < count; start += LOOKUP_COUNT) {
    const end = Math.min(start + LOOKUP_COUNT, count)
    const hashes = await store.bytes(root, { start: start * HASH_LEN, end: end * HASH_LEN }, { signal })
    yield Array.from({ length: end - start }, (_, i) =>
      ({ cid: toCid(hashes.subarray(i * HASH_LEN, (i + 1) * HASH_LEN)) }))
  }
}

/** Returns true if a blob is whole, and begins like a meta blob. @param {Store} store @param {Uint8Array} root */
async function beginsWithNames (store, root) {
  if (!await store.has(root)) return false
  return areEqual(await store.bytes(root, { start: 0, end: META_START.length }), 0, META_START)
}
