// Says what the store knows of blobs, and what is missing of them.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'
import { toRanges } from '../../../lib/tree/ranges.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { contentOf } from '../../storage/content/content-of.js'
import { notFound } from '../../storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { StoreContext } from '../../store-context.js' */
/** @import { Content } from '../../storage/content/content-of.js' */
/** @import { ChunkRanges, RangesLike } from '../../../lib/tree/ranges.js' */

/**
 * @typedef {object} BlobStat
 * @property {CID} cid
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  is every byte present?
 * @property {boolean} isReference  does the store read the bytes from a file that is not its own?
 * @property {boolean} isAliasOnly  does the store keep the blob under names of other hash functions only? Then
 *   `aliases.resolve` does not find it by its own CID
 * @property {boolean} isDamaged  has damage cost the blob bytes that have not all come back yet?
 * @property {Date} created
 * @property {Date} lastUsed
 */

/**
 * @typedef {object} BlobDetails  what takes more looks
 * @property {ChunkRanges} present  which chunks are present
 * @property {number} names  how many aliases lead here
 * @property {string} [path]  of the file that a reference reads; undefined when the store has lost it
 */

/** See `BlobStore.has`. @param {StoreContext} store @param {BlobName} cid */
export async function has ({ catalog }, cid) {
  return (await catalog.get(parseRoot(cid, 'cid')))?.complete ?? false
}

/**
 * See `BlobStore.stat`.
 *
 * @param {StoreContext} store @param {BlobName} cid
 * @returns {Promise<BlobStat & BlobDetails>}
 */
export async function stat ({ catalog, presence, databases }, cid) {
  const root = parseRoot(cid, 'cid')
  const record = await catalog.get(root)
  if (record === undefined) throw notFound(root)
  const content = contentOf(databases, root, record)
  const [lastUse, present, aliases, path] = await Promise.all([
    catalog.uses.lastUse(root, record),
    presence.of(record),
    catalog.aliases.of(root),
    content.path()
  ])
  const names = aliases.filter(({ isForgotten }) => !isForgotten).length
  return { ...statOf(content, lastUse), present, names, ...path !== undefined && { path } }
}

/**
 * See `BlobStore.statMany`.
 *
 * @param {StoreContext} store @param {Iterable<BlobName>} cids
 * @returns {Promise<(BlobStat | undefined)[]>}
 */
export async function statMany ({ catalog, databases }, cids) {
  assertMany('cids', cids, 'CIDs')
  const roots = [...cids].map(cid => parseRoot(cid, 'cid'))
  if (roots.length === 0) return []
  const [looks, lastUses] = await Promise.all([catalog.findMany(roots), catalog.uses.lastUses(roots)])
  return looks.map(({ record }, i) =>
    record && statOf(contentOf(databases, roots[i], record), Math.max(lastUses[i], record.created)))
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
 * @param {Content} content @param {number} lastUse  milliseconds since 1970
 * @returns {BlobStat}
 */
export function statOf ({ root, record, isOurs }, lastUse) {
  const { size, sizeProven, complete, isNameless = false, isDamaged = false, created } = record
  return {
    cid: toCid(root),
    size,
    sizeProven,
    complete,
    isReference: !isOurs,
    isAliasOnly: isNameless,
    isDamaged,
    created: new Date(created),
    lastUsed: new Date(lastUse)
  }
}
