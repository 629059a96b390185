// Names of blobs by other hash functions, in a bucket: empty objects `aliases/{multihash}/{version}-{hash}`, with the
// hash of the blob, or `deleted` in its place. The highest version counts. So a list of keys says everything.
//
// A multihash leads to one blob only, so two processes that write the same version mean the same, unless one of them
// deletes the alias. Then the alias stays.

import { base16 } from 'multiformats/bases/base16'
import { decode as decodeDigest } from 'multiformats/hashes/digest'
import { CID } from 'multiformats/cid'
import { missing, notFound } from '../../../store/interface.js'
import { assertMany } from '../../../lib/async/in-order.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { RAW, multihashOf, parseRoot, toCid } from '../../../lib/hash/cid.js'
import { nameOf } from '../../../lib/hash/roots.js'
import { versionKey } from '../layout.js'
import { aliasFolder } from './name-keys.js'

/** @import { BlobName, BlobStore } from '../../../store/index.js' */
/** @import { Bucket } from '../bucket.js' */
/** @import { Calls } from './calls.js' */
/** @import { Placements } from './placements.js' */

/** @typedef {{ key: string, version: number, hex: string | undefined }} AliasVersion  no `hex` if it is deleted */

const KEY = /^aliases\/([\da-f]+)\/(\d{16})-([\da-f]{64}|deleted)$/
const DELETED = 'deleted'

export class BucketAliases {
  #bucket
  #calls
  #deleteBlob
  #local
  #placements

  /**
   * @param {object} parts
   * @param {Bucket} parts.bucket
   * @param {Calls} parts.calls
   * @param {(root: Uint8Array, signal: AbortSignal) => Promise<boolean>} parts.deleteBlob  deletes a blob, or throws
   *   STORE_TAGGED
   * @param {BlobStore} parts.local
   * @param {Placements} parts.placements
   */
  constructor ({ bucket, calls, deleteBlob, local, placements }) {
    this.#bucket = bucket
    this.#calls = calls
    this.#deleteBlob = deleteBlob
    this.#local = local
    this.#placements = placements
  }

  /**
   * Finds the blob that the store has under a name.
   *
   * @param {BlobName} name  an alias, or the CID of a blob @returns {Promise<CID | undefined>}
   */
  async resolve (name) { return (await this.resolveMany([name]))[0] }

  /**
   * Finds the blobs under several names, at the same time.
   *
   * @param {Iterable<BlobName>} names @returns {Promise<(CID | undefined)[]>} in the order of the names
   */
  async resolveMany (names) {
    assertMany('names', names, 'CIDs')
    const parsed = [...names].map(name => ({ alias: multihashOf(name), name }))
    return this.#calls.run(signal => Promise.all(parsed.map(async ({ alias, name }) => {
      const root = alias === undefined ? parseRoot(name, 'name') : await this.rootOf(alias, signal)
      return root !== undefined && await this.#placements.has(root, signal) ? toCid(root) : undefined
    })))
  }

  /**
   * Returns the aliases of a blob. It lists all aliases of the bucket.
   *
   * @param {BlobName} cid @param {{ deleted?: boolean }} [options]  as for `Aliases.of`
   * @returns {Promise<CID[]>} CIDs of raw bytes
   */
  async of (cid, options = {}) {
    assertKnownOptions(options, ['deleted'])
    const hex = base16.baseEncode(parseRoot(cid, 'cid'))
    return this.#calls.run(async signal => {
      const found = []
      for await (const entry of this.#all(signal)) if (entry.hex === hex) found.push(entry.alias)
      return found
    })
  }

  /**
   * Gives a blob another name, as `Aliases.add` does.
   *
   * @param {BlobName} cid  of a whole blob @param {BlobName} name  an alias, or the CID of the blob itself
   * @returns {Promise<void>}
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }
   */
  async add (cid, name) {
    const root = parseRoot(cid, 'cid')
    const alias = multihashOf(name)
    if (alias === undefined && nameOf(parseRoot(name, 'name')) !== nameOf(root)) {
      throw new TypeError('"name" expected an alias, or the CID of the blob itself, got the CID of another blob')
    }
    await this.#calls.write(async signal => {
      this.#placements.forget(root) // It may have been deleted a moment ago.
      const [local] = await this.#local.statMany([root])
      const isThere = local?.complete || await this.#placements.find(root, signal) !== undefined
      if (!isThere && local === undefined) throw notFound(root)
      if (!isThere && local !== undefined) throw missing(root, local.size, await this.#local.missing(root))
      const name = alias && (() => this.write(alias, root, signal))
      await this.#placements.keep([root], { required: root, name, signal })
    })
  }

  /**
   * Deletes a name of a blob: an alias; or, for the CID of a blob, the blob itself.
   *
   * @param {BlobName} name @returns {Promise<boolean>} true if the name led to a blob
   * @throws {BaoError} STORE_TAGGED { cid, tag } for the CID of a blob that a tag names
   */
  async delete (name) {
    const alias = multihashOf(name)
    const own = alias === undefined ? parseRoot(name, 'name') : undefined
    return this.#calls.write(async signal => {
      if (own !== undefined) return this.#deleteBlob(own, signal)
      const folder = aliasFolder(/** @type {Uint8Array} */ (alias))
      const versions = await this.#versionsOf(folder, signal)
      if (topOf(versions)?.hex === undefined) return false
      await this.#create(folder, versions, DELETED, signal)
      return true
    })
  }

  /**
   * Lists all aliases. It holds them in memory, because a bucket lists them in another order.
   *
   * @param {{ deleted?: boolean }} [options]  as for `of`
   * @returns {AsyncGenerator<{ cid: CID, alias: CID }>} in the order of the hashes of their blobs
   */
  list (options = {}) {
    assertKnownOptions(options, ['deleted'])
    return this.#calls.each(signal => this.#list(signal))
  }

  /** @param {AbortSignal} signal */
  async * #list (signal) {
    const all = []
    for await (const entry of this.#all(signal)) all.push(entry)
    all.sort((a, b) => a.hex < b.hex ? -1 : a.hex > b.hex ? 1 : 0)
    for (const { hex, alias } of all) yield { cid: toCid(base16.baseDecode(hex)), alias }
  }

  /**
   * The blob to which an alias leads, even if the bucket does not have it.
   *
   * @param {Uint8Array} alias  a multihash @param {AbortSignal} [signal]
   */
  async rootOf (alias, signal) {
    const hex = topOf(await this.#versionsOf(aliasFolder(alias), signal))?.hex
    return hex === undefined ? undefined : base16.baseDecode(hex)
  }

  /**
   * Makes an alias lead to a blob.
   *
   * @param {Uint8Array} alias  a multihash @param {Uint8Array} root @param {AbortSignal} [signal]
   * @returns {Promise<{ takeBack: () => Promise<void> }>} an alias protects nothing, so it may stay
   */
  async write (alias, root, signal) {
    const folder = aliasFolder(alias)
    const versions = await this.#versionsOf(folder, signal)
    const hex = base16.baseEncode(root)
    if (topOf(versions)?.hex !== hex) await this.#create(folder, versions, hex, signal)
    return { takeBack: async () => {} }
  }

  /**
   * Creates the next version, and deletes those that were there.
   *
   * @param {string} folder @param {AliasVersion[]} versions @param {string} value @param {AbortSignal} [signal]
   */
  async #create (folder, versions, value, signal) {
    const version = (versions.at(-1)?.version ?? 0) + 1
    await this.#bucket.put(`${versionKey(folder, version)}-${value}`, new Uint8Array(0), { ifAbsent: true, signal })
    // One that stays is below the new one, and does not count.
    for (const { key } of versions) await this.#bucket.delete(key, { signal }).catch(() => {})
  }

  /** @param {string} folder @param {AbortSignal} [signal] @returns {Promise<AliasVersion[]>} the lowest first */
  async #versionsOf (folder, signal) {
    const versions = []
    for await (const { key } of this.#bucket.list(`${folder}/`, '', { signal })) {
      const parsed = parse(key)
      if (parsed !== undefined) versions.push(parsed)
    }
    return versions
  }

  /** @param {AbortSignal} signal @returns {AsyncGenerator<{ hex: string, alias: CID }>} in the order of the aliases */
  async * #all (signal) {
    let versions = /** @type {(AliasVersion & { digits: string })[]} */ ([])
    for await (const { key } of this.#bucket.list('aliases/', '', { signal })) {
      const parsed = parse(key)
      if (parsed === undefined) continue
      if (versions.length > 0 && versions[0].digits !== parsed.digits) {
        yield * topAlias(versions)
        versions = []
      }
      versions.push(parsed)
    }
    yield * topAlias(versions)
  }
}

/** @param {string} key @returns {AliasVersion & { digits: string } | undefined} */
function parse (key) {
  const match = KEY.exec(key)
  if (match === null) return undefined
  const [, digits, version, value] = match
  return { key, digits, version: Number(version), hex: value === DELETED ? undefined : value }
}

/**
 * The version that counts. Of two with the same number, one was deleted and added at the same time.
 *
 * @param {AliasVersion[]} versions  the lowest first
 */
function topOf (versions) {
  const top = versions.at(-1)
  return top && (versions.find(({ version, hex }) => version === top.version && hex !== undefined) ?? top)
}

/** @param {(AliasVersion & { digits: string })[]} versions  of one alias */
function * topAlias (versions) {
  const hex = topOf(versions)?.hex
  if (hex === undefined) return
  try {
    const alias = CID.createV1(RAW, decodeDigest(base16.baseDecode(versions[0].digits)))
    if (multihashOf(alias) !== undefined) yield { hex, alias } // The BLAKE3 hash of another blob is no alias.
  } catch {} // no multihash: the object of somebody else
}
