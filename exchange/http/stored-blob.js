// Finds out which part of a blob the store has, and makes sure that it has the chunks of an answer.

import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { toCid } from '../../lib/hash/cid.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { changed, missing } from '../../store/interface.js'

/** @import { BaoError } from '../../lib/core/errors.js' */
/** @import { Store } from '../../store/interface.js' */
/** @import { BlobStat } from '../../store/index.js' */
/** @import { ServedRequest } from './served-request.js' */

/**
 * @typedef {object} StoredBlob
 * @property {Uint8Array} root
 * @property {string} cid  the root as a CID of plain bytes
 * @property {number} size  bytes
 * @property {boolean} sizeProven
 * @property {boolean} complete  true if the store has every byte
 * @property {boolean} isFresh  true if the store had nothing of the blob, and has just fetched the first wanted bytes
 */

/**
 * @typedef {object} FindOptions  how a store with `supply` fetches the blob
 * @property {number} [at]  a wanted byte; undefined if only the size is wanted
 * @property {ServedRequest} [served]  the request that wants it
 */

/** The chunks that a store with `supply` must have before the status is sent. Later reads fetch the rest. */
const FIRST_CHUNKS = 2 ** DEFAULT_GROUP_LOG

/**
 * Finds a blob. If the store has nothing of it, or its size is not proven, a store with `supply` fetches the wanted
 * byte, or the first bytes, and the proof of the size.
 *
 * @param {Store} store @param {Uint8Array} root @param {FindOptions} [options]
 * @returns {Promise<StoredBlob>}
 * @throws {BaoError} STORE_NOT_FOUND
 */
export async function findBlob (store, root, { at, served } = {}) {
  const [found] = await store.statMany([root])
  if (found?.sizeProven) return blobOf(root, found)
  const { hops, signal } = served ?? {} // a short answer does not need the signal, which takes time to make
  if (found !== undefined) {
    await store.bytes(root, ChunkRanges.last, { hops, signal }).catch(error => {
      signal?.throwIfAborted()
      // Without the proof, the parts that the store has can be served. But a bucket only claims to have a whole blob.
      if (found.complete) throw error
    })
  } else if (at === undefined) await store.has(root, { supply: true, hops, signal })
  else await store.bytes(root, { start: at, end: at + 1 }, { hops, signal })
  const [now] = await store.statMany([root])
  // `stat` throws the error that says why there is nothing.
  return blobOf(root, now ?? await store.stat(root), found === undefined)
}

/** @param {Uint8Array} root @param {BlobStat} stat @param {boolean} [isFresh] @returns {StoredBlob} */
const blobOf = (root, { size, sizeProven, complete }, isFresh = false) =>
  ({ root, cid: `${toCid(root)}`, size, sizeProven, complete, isFresh })

/**
 * Makes sure that the store has the chunks of an answer, or can fetch them: a store with `supply` must fetch the first
 * of the missing ones now, unless it has just fetched others of the blob. For HEAD, whose answer needs no bytes, it
 * fetches only the first missing group.
 *
 * @param {ServedRequest} served @param {StoredBlob} blob @param {ChunkRanges} ranges
 * @throws {BaoError} STORE_MISSING { ranges }
 */
export async function requirePresent (served, { root, size, complete, isFresh }, ranges) {
  if (complete || isFresh) return
  const { store, hops, signal, isHead } = served
  const lacking = await store.missing(root, ranges)
  if (lacking.isEmpty) return
  const [first] = lacking.boundaries
  const beginning = lacking.intersect(ChunkRanges.fromBoundaries([first, first + FIRST_CHUNKS]))
  try {
    if (!isHead) await store.bytes(root, beginning, { hops, signal })
    else if (!await store.has(root, { supply: true, hops, signal })) throw missing(root, size, lacking)
  } catch (cause) {
    throw missing(root, size, lacking, cause)
  }
  const [now] = await store.statMany([root])
  if (now?.size !== size) throw changed(root, undefined)
}
