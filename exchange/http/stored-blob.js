// Finds out which part of a blob the store has, and makes sure that it has the chunks of an answer.

import { toCid } from '../../lib/hash/cid.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { changed, missing } from '../../store/interface.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { ServedRequest } from './served-request.js' */

/**
 * @typedef {object} StoredBlob
 * @property {Uint8Array} root
 * @property {string} cid  the root as a CID of plain bytes
 * @property {number} size  bytes
 * @property {boolean} sizeProven
 * @property {boolean} complete  true if the store has every byte
 */

/** The chunks that a store with `supply` fetches before the status is sent: 256 KiB. Later reads fetch the rest. */
const FIRST_CHUNKS = 256

/**
 * @param {Store} store @param {Uint8Array} root @param {string} [cid]
 * @returns {Promise<StoredBlob>}
 * @throws {BaoError} STORE_NOT_FOUND
 */
export async function findBlob (store, root, cid = `${toCid(root)}`) {
  const [found] = await store.statMany([root])
  const { size, sizeProven, complete } = found ?? await store.stat(root) // throws the error that says why
  return { root, cid, size, sizeProven, complete }
}

/**
 * Makes sure that the store has the chunks of an answer, or can fetch them: a store with `supply` must fetch the first
 * of the missing ones now.
 *
 * @param {ServedRequest} served @param {StoredBlob} blob @param {ChunkRanges} ranges
 * @throws {BaoError} STORE_MISSING { ranges }
 */
export async function requirePresent (served, { root, size, complete }, ranges) {
  if (complete) return
  const { store } = served
  const lacking = await store.missing(root, ranges)
  if (lacking.isEmpty) return
  const [first] = lacking.boundaries
  const beginning = lacking.intersect(ChunkRanges.fromBoundaries([first, first + FIRST_CHUNKS]))
  try {
    await store.bytes(root, beginning, { signal: served.signal })
  } catch (cause) {
    throw missing(root, size, lacking, cause)
  }
  const [now] = await store.statMany([root])
  if (now?.size !== size) throw changed(root, undefined)
}
