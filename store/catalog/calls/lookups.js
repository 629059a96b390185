// Tells callers what the store knows of blobs, which chunks of them are missing, and which blob a name leads to.

import { DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { multihashOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { toRanges } from '../../../lib/tree/ranges.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { contentOf } from '../../storage/content/content-of.js'
import { notFound } from '../../storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Catalog } from '../catalog.js' */
/** @import { AliasIndex } from '../names/alias-index.js' */
/** @import { Presence } from '../presence.js' */
/** @import { Uses } from '../uses.js' */
/** @import { Content } from '../../storage/content/content-of.js' */
/** @import { ChunkRanges, RangesLike } from '../../../lib/tree/ranges.js' */

/**
 * @typedef {object} BlobStat
 * @property {CID} cid
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  true if every byte is present
 * @property {boolean} isReference  true if the store reads the bytes from a file that does not belong to it
 * @property {boolean} isAliasOnly  true if the store keeps the blob under its aliases only, so that `aliases.resolve`
 *   does not find it by its own CID
 * @property {boolean} isDamaged  true if the blob has lost bytes to damage and has not received all of them since
 * @property {Date} created
 */

/** @typedef {BlobStat & { lastUsed: Date }} ListedBlob */

/**
 * @typedef {object} BlobDetails  properties that take more reads of the index
 * @property {Date} lastUsed
 * @property {ChunkRanges} present  which chunks are present
 * @property {number} names  how many aliases lead to the blob
 * @property {string} [path]  the file that a reference reads; undefined when the store has lost the path
 */

export class Lookups {
  #aliases
  #catalog
  #databases
  #presence
  #uses

  /**
   * @param {object} parts
   * @param {AliasIndex} parts.aliases
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Presence} parts.presence
   * @param {Uses} parts.uses
   */
  constructor ({ aliases, catalog, databases, presence, uses }) {
    this.#aliases = aliases
    this.#catalog = catalog
    this.#databases = databases
    this.#presence = presence
    this.#uses = uses
  }

  /** See `Store.has`. @param {BlobName} cid */
  async has (cid) { return (await this.#catalog.get(parseRoot(cid, 'cid')))?.complete ?? false }

  /** See `Store.stat`. @param {BlobName} cid @returns {Promise<BlobStat & BlobDetails>} */
  async stat (cid) {
    const root = parseRoot(cid, 'cid')
    const record = await this.#catalog.get(root)
    if (record === undefined) throw notFound(root)
    const content = contentOf(this.#databases, root, record)
    const [lastUse, present, aliases, path] = await Promise.all([
      this.#uses.lastUse(root, record),
      this.#presence.of(record),
      this.#aliases.of(root),
      content.path()
    ])
    const names = aliases.filter(({ isForgotten }) => !isForgotten).length
    return { ...statOf(content), lastUsed: new Date(lastUse), present, names, ...path !== undefined && { path } }
  }

  /** See `Store.statMany`. @param {Iterable<BlobName>} cids @returns {Promise<(BlobStat | undefined)[]>} */
  async statMany (cids) {
    assertMany('cids', cids, 'CIDs')
    const roots = [...cids].map(cid => parseRoot(cid, 'cid'))
    if (roots.length === 0) return []
    // A single record may be read synchronously.
    const looks = roots.length === 1 ? [await this.#catalog.find(roots[0])] : await this.#catalog.findMany(roots)
    return looks.map(({ record }, i) => record && statOf(contentOf(this.#databases, roots[i], record)))
  }

  /** See `Store.missing`. @param {BlobName} cid @param {RangesLike} [ranges] @returns {Promise<ChunkRanges>} */
  async missing (cid, ranges) {
    const root = parseRoot(cid, 'cid')
    const wanted = toRanges(ranges)
    const record = await this.#catalog.get(root)
    return record === undefined ? wanted.roundToGroups(DEFAULT_GROUP_LOG) : this.#presence.missing(record, wanted)
  }

  /** See `Store.resolve`. @param {BlobName} cid @returns {Promise<CID | undefined>} */
  async resolve (cid) {
    const alias = multihashOf(cid)
    const root = alias === undefined ? parseRoot(cid, 'cid') : await this.#aliases.resolve(alias)
    return root !== undefined && (await this.#catalog.find(root)).isThere ? toCid(root) : undefined
  }
}

/** @param {Content} content @returns {BlobStat} */
export function statOf ({ root, record, isOurs }) {
  const { size, sizeProven, complete, isNameless = false, isDamaged = false, created } = record
  return {
    cid: toCid(root),
    size,
    sizeProven,
    complete,
    isReference: !isOurs,
    isAliasOnly: isNameless,
    isDamaged,
    created: new Date(created)
  }
}
