// What the store has of the blob that a client asks for.

import { toCid } from '../../lib/hash/cid.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { contextOf } from '../../store/context-of.js'
import { changed, missing, notFound } from '../../store/storage/errors.js'

/** @import { BlobStore } from '../../store/blob-store.js' */
/** @import { BlobRecord } from '../../store/storage/format/records.js' */
/** @import { ServedRequest } from './served-request.js' */

/**
 * @typedef {object} StoredBlob
 * @property {Uint8Array} root
 * @property {string} cid  of plain bytes with this hash
 * @property {number} size  bytes
 * @property {boolean} sizeProven
 * @property {BlobRecord} record
 */

/** Chunks that a store with `heal` fetches before the status is sent: 256 KiB. The reads fetch the rest. */
const FIRST_CHUNKS = 256

/**
 * @param {BlobStore} store @param {Uint8Array} root @param {string} [cid]
 * @returns {Promise<StoredBlob>}
 * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND
 */
export async function findBlob (store, root, cid = `${toCid(root)}`) {
  const { catalog, life } = contextOf(store)
  const record = await life.run(() => catalog.get(root))
  if (record === undefined) throw notFound(root)
  return { root, cid, size: record.size, sizeProven: record.sizeProven, record }
}

/**
 * Makes sure that the store has the chunks of an answer. A store with `heal` may fetch missing ones; the first of them
 * must come now.
 *
 * @param {ServedRequest} served @param {StoredBlob} blob @param {ChunkRanges} ranges
 * @throws {import('../../lib/core/errors.js').BaoError} STORE_MISSING { ranges }
 */
export async function requirePresent (served, { root, record }, ranges) {
  const { presence, healer, catalog } = contextOf(served.store)
  const lacking = await presence.missing(record, ranges)
  if (lacking.isEmpty) return
  if (!healer.canHeal) throw missing(root, record.size, lacking)
  const [first] = lacking.boundaries
  const beginning = lacking.intersect(ChunkRanges.fromBoundaries([first, first + FIRST_CHUNKS]))
  try {
    await healer.bring(root, beginning, served.signal)
  } catch (cause) {
    throw missing(root, record.size, lacking, cause)
  }
  if ((await catalog.get(root))?.size !== record.size) throw changed(root, undefined)
}
