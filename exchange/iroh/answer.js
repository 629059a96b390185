// Makes the answer to a Get: slices, one after the other.

import { HASH_LEN } from '../../lib/core/constants.js'
import { HEADER_LEN, areEqual } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'
import { invalid } from './wire/request.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { GetRequest } from './wire/request.js' */

/** How many members' hashes are read together. */
const BATCH = 256
const EMPTY_ROOT = hash(new Uint8Array(0))

/**
 * Yields the verified bytes of the answer to a request. Leaves out members beyond the end of the sequence.
 *
 * @param {Store} store @param {GetRequest} request @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND or STORE_MISSING before the first blob of which
 *   the store lacks a wanted part; REQUEST_INVALID when the request asks for members of a blob that is not a sequence;
 *   and the errors of `store.slice`
 */
export async function * answerPieces (store, { root, wanted }, signal) {
  /** The number of members of the sequence. @type {number | undefined} */
  let count
  for (const [i, [index, ranges]] of wanted.entries()) {
    if (ranges.isEmpty) continue
    if (index === 0) yield * slicePieces(store, root, ranges, signal)
    const [first, end] = [Math.max(index - 1, 0), (wanted[i + 1]?.[0] ?? Infinity) - 1]
    if (first >= end) continue
    count ??= await memberCount(store, root)
    // A short request may name many members that do not exist.
    if (first >= count) return
    for await (const member of members(store, root, first, Math.min(end, count), signal)) {
      yield * slicePieces(store, member, ranges, signal)
    }
  }
}

/** @param {Store} store @param {Uint8Array} root @param {ChunkRanges} ranges @param {AbortSignal} signal */
async function * slicePieces (store, root, ranges, signal) {
  // Every store of iroh has the empty blob, so peers expect this store to have it, too.
  if (areEqual(root, 0, EMPTY_ROOT)) yield new Uint8Array(HEADER_LEN)
  else yield * store.slice(root, ranges, { readAhead: false, signal })
}

/**
 * Returns the number of hashes in a sequence.
 *
 * @param {Store} store @param {Uint8Array} root
 */
async function memberCount (store, root) {
  const [found] = await store.statMany([root])
  const { size } = found ?? await store.stat(root) // throws the error that says why the blob was not found
  if (size % HASH_LEN === 0) return size / HASH_LEN
  throw invalid('it asks for members of a blob that is not a sequence of hashes')
}

/**
 * Yields hashes of a sequence.
 *
 * @param {Store} store @param {Uint8Array} root
 * @param {number} first @param {number} end  not included
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * members (store, root, first, end, signal) {
  for (let i = first; i < end; i += BATCH) {
    const range = { start: i * HASH_LEN, end: Math.min(i + BATCH, end) * HASH_LEN }
    const bytes = await store.bytes(root, range, { signal })
    for (let at = 0; at < bytes.length; at += HASH_LEN) yield bytes.subarray(at, at + HASH_LEN)
  }
}
