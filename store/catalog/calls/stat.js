// Says what the store knows of one blob, and what is missing of it.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'
import { toRanges } from '../../../lib/tree/ranges.js'
import { notFound } from '../../storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { StoreContext } from '../../store-context.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */
/** @import { ChunkRanges, RangesLike } from '../../../lib/tree/ranges.js' */

/**
 * @typedef {object} BlobStat
 * @property {CID} cid
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  is every byte present?
 * @property {Date} created
 * @property {Date} lastUsed
 */

/** See `BlobStore.has`. @param {StoreContext} store @param {BlobName} cid */
export async function has ({ catalog }, cid) {
  return (await catalog.get(parseRoot(cid, 'cid')))?.complete ?? false
}

/**
 * See `BlobStore.stat`.
 *
 * @param {StoreContext} store @param {BlobName} cid
 * @returns {Promise<BlobStat & { present: ChunkRanges }>}
 */
export async function stat ({ catalog, presence }, cid) {
  const root = parseRoot(cid, 'cid')
  const record = await catalog.get(root)
  if (record === undefined) throw notFound(root)
  const lastUse = await catalog.uses.lastUse(root, record)
  return { ...statOf(root, record, lastUse), present: await presence.of(record) }
}

/**
 * See `BlobStore.missing`.
 *
 * @param {StoreContext} store @param {BlobName} cid @param {RangesLike} [ranges]
 * @returns {Promise<ChunkRanges>}
 */
export async function missing ({ catalog, presence }, cid, ranges) {
  const root = parseRoot(cid, 'cid')
  const wanted = toRanges(ranges)
  const record = await catalog.get(root)
  return record === undefined ? wanted.roundToGroups(DEFAULT_GROUP_LOG) : presence.missing(record, wanted)
}

/**
 * @param {Uint8Array} root @param {BlobRecord} record @param {number} lastUse  milliseconds since 1970
 * @returns {BlobStat}
 */
export const statOf = (root, { size, sizeProven, complete, created }, lastUse) =>
  ({ cid: toCid(root), size, sizeProven, complete, created: new Date(created), lastUsed: new Date(lastUse) })
