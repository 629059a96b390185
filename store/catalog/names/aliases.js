// Names of blobs by hash functions other than BLAKE3, for guests that know blobs by these names.

import { multihashOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { missing, notFound } from '../../storage/errors.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { cidOfAlias } from './alias-index.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../blob-store.js' */
/** @import { Locks } from '../../../lib/async/locks.js' */
/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Catalog } from '../catalog.js' */
/** @import { Presence } from '../presence.js' */
/** @import { AliasIndex } from './alias-index.js' */
/** @import { TagIndex } from './tag-index.js' */

/**
 * The names under which a store keeps blobs. A name is either an alias, which is a CID of another hash function, or the
 * blob's own name, which is its CID. If a blob was put with `alias`, it has no name of its own until a call puts or
 * receives it without an alias.
 */
export class Aliases {
  #aliases
  #catalog
  #databases
  #life
  #locks
  #presence
  #tags

  /**
   * @param {object} parts
   * @param {AliasIndex} parts.aliases
   * @param {Catalog} parts.catalog
   * @param {Databases} parts.databases
   * @param {Lifetime} parts.life
   * @param {Locks} parts.locks
   * @param {Presence} parts.presence
   * @param {TagIndex} parts.tags
   */
  constructor ({ aliases, catalog, databases, life, locks, presence, tags }) {
    this.#aliases = aliases
    this.#catalog = catalog
    this.#databases = databases
    this.#life = life
    this.#locks = locks
    this.#presence = presence
    this.#tags = tags
  }

  /**
   * Finds the blob that the store keeps under a name, whole or in part. `resolve` of the store also finds a blob by a
   * forgotten alias, and a nameless blob by its CID. This call does not.
   *
   * @param {BlobName} name
   * @returns {Promise<CID | undefined>} the CID of the blob; undefined when there is no such blob, or the entry of the
   *   alias is damaged
   */
  async resolve (name) {
    const { alias, root } = nameFrom(name)
    return this.#life.run(async () => {
      const isFound = root === undefined || hasOwnName(await this.#catalog.find(root))
      const found = root ?? await this.#aliases.rootOf(/** @type {Uint8Array} */ (alias))
      return isFound && found ? toCid(found) : undefined
    })
  }

  /**
   * Finds the blobs under several names, as `resolve` does. It reads the index at most twice.
   *
   * @param {Iterable<BlobName>} names
   * @returns {Promise<(CID | undefined)[]>} in the order of the names
   */
  async resolveMany (names) {
    assertMany('names', names, 'CIDs')
    const parsed = [...names].map(nameFrom)
    return this.#life.run(async () => {
      const aliases = parsed.flatMap(({ alias }) => alias ?? [])
      const own = parsed.flatMap(({ root }) => root ?? [])
      const leadsTo = await this.#aliases.rootsOf(aliases)
      const looks = own.length === 0 ? [] : await this.#catalog.findMany(own)
      let [aliasAt, ownAt] = [0, 0]
      return parsed.map(({ root }) => {
        const found = root === undefined ? leadsTo[aliasAt++] : hasOwnName(looks[ownAt++]) ? root : undefined
        return found && toCid(found)
      })
    })
  }

  /**
   * Returns the aliases of a blob.
   *
   * @param {BlobName} cid
   * @param {{ deleted?: boolean }} [options]  `deleted`: true to include forgotten aliases, which were deleted while a
   *   tag named them. Such a tag still protects the blob. Default: false
   * @returns {Promise<CID[]>} CIDs of raw bytes
   */
  async of (cid, options = {}) {
    assertKnownOptions(options, ['deleted'])
    const root = parseRoot(cid, 'cid')
    return this.#life.run(async () => (await this.#aliases.of(root))
      .filter(({ isForgotten }) => !isForgotten || options.deleted)
      .flatMap(({ multihash }) => cidIfValid(multihash) ?? []))
  }

  /**
   * Gives a blob another name. The store does not check that an alias is a hash of the blob's bytes, so whoever reads
   * the blob by its alias must check the bytes.
   *
   * @param {BlobName} cid  of a whole blob
   * @param {BlobName} name  an alias, or the CID of the blob itself
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }
   */
  async add (cid, name) {
    const root = parseRoot(cid, 'cid')
    const { alias, root: own } = nameFrom(name)
    if (own !== undefined && nameOf(own) !== nameOf(root)) {
      throw new TypeError('"name" expected an alias, or the CID of the blob itself, got the CID of another blob')
    }
    return this.#life.run(() => {
      this.#databases.assertWritable()
      return this.#locks.run(nameOf(root), async () => {
        const record = await this.#catalog.get(root)
        if (record === undefined) throw notFound(root)
        if (!record.complete) throw missing(root, record.size, await this.#presence.missing(record, ChunkRanges.all))
        await this.#catalog.putAgain(root, record, alias)
      })
    })
  }

  /**
   * Deletes a name of a blob. If the blob then has neither a name nor a tag, the store deletes the blob, too.
   *
   * @param {BlobName} name
   * @returns {Promise<boolean>} true if the name led to a blob
   */
  async delete (name) {
    const { alias, root: own } = nameFrom(name)
    return this.#life.run(async () => {
      this.#databases.assertWritable()
      const root = own ?? await this.#aliases.rootOf(/** @type {Uint8Array} */ (alias))
      if (root === undefined) return false
      return this.#locks.run(nameOf(root), async () => {
        const { isTagged } = await this.#tags.tagOf(root)
        if (alias === undefined) return this.#catalog.removeOwnName(root, { isTagged })
        const isTaggedItself = await this.#tags.namesAlias(alias)
        await this.#catalog.removeAlias(root, alias, { isTagged, isTaggedItself })
        return true
      })
    })
  }

  /**
   * Lists all aliases, in the order of the hashes of their blobs.
   *
   * @param {{ deleted?: boolean }} [options]  as for `of`
   * @returns {AsyncGenerator<{ cid: CID, alias: CID }>} `cid`: of the blob; `alias`: a CID of raw bytes
   * @throws {BaoError} STORE_CORRUPT when some aliases cannot be read. The call yields all others first
   */
  list (options = {}) {
    assertKnownOptions(options, ['deleted'])
    return this.#life.each(() => this.#list(options))
  }

  /** @param {{ deleted?: boolean }} options */
  async * #list ({ deleted = false }) {
    for await (const { multihash, root, isForgotten } of this.#aliases.byBlob()) {
      const alias = cidIfValid(multihash)
      if (alias !== undefined && (!isForgotten || deleted)) yield { cid: toCid(root), alias }
    }
  }
}

/**
 * Reads a name: an alias, or the CID of a blob.
 *
 * @param {BlobName} name
 * @returns {{ alias: Uint8Array, root?: undefined } | { alias?: undefined, root: Uint8Array }}
 */
function nameFrom (name) {
  const alias = multihashOf(name)
  return alias === undefined ? { root: parseRoot(name, 'name') } : { alias }
}

/**
 * Returns the CID of an alias; undefined if its key is damaged, or is the BLAKE3 hash of another blob.
 *
 * @param {Uint8Array} multihash  from the key
 */
function cidIfValid (multihash) {
  try {
    const alias = cidOfAlias(multihash)
    return multihashOf(alias) && alias
  } catch {}
}

/**
 * Returns true if a blob is there, and has its own name.
 *
 * @param {{ isThere: boolean, record?: { isNameless?: boolean } }} look
 */
const hasOwnName = ({ isThere, record }) => isThere && !record?.isNameless
