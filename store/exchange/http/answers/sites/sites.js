// Collections and manifests that a handler serves, kept in memory between requests: what a hash names never changes.

import { base16 } from 'multiformats/bases/base16'
import { LruCache } from '../../../../../lib/core/lru.js'
import { BaoError } from '../../../../../lib/core/errors.js'
import { HASH_LEN } from '../../../../../lib/core/constants.js'
import { toCid } from '../../../../../lib/hash/cid.js'
import { getCollection } from '../../../collections/get.js'
import { getManifest, rootOfSource } from '../../../collections/web/stored.js'
import { filesOfCollection, filesOfManifest } from './site-files.js'
import { Folders } from './folders.js'

/** @import { BlobStore } from '../../../../blob-store.js' */
/** @import { SiteFile, SiteFiles } from './site-files.js' */

/** @typedef {{ files: SiteFiles, folders: Folders }} Site */

/** Sites in memory, and bytes of the names and hashes of each, at most. */
const MAX_SITES = 8
const LIMIT = { maxLen: 1 << 23 }
/** Items of a manifest: about 75 000 files with media types. Reading as many holds up other requests for a second. */
const MAX_ITEMS = 1 << 19
/** Blobs that are known to be no manifest, or no collection. They are kept apart, so that they push no site out. */
const MAX_REFUSED = 1000
/** Codes of errors that depend on the bytes of one blob alone, so they stay. */
const LASTING = ['COLLECTION_INVALID', 'COLLECTION_TOO_LONG', 'MANIFEST_INVALID']

export class Sites {
  #store
  /** Sites that were read or are being read, because many requests may ask for one at once. */
  #sites = /** @type {LruCache<string, Promise<Site>>} */ (new LruCache(MAX_SITES))
  #refused = /** @type {LruCache<string, BaoError>} */ (new LruCache(MAX_REFUSED))

  /** @param {BlobStore} store */
  constructor (store) {
    this.#store = store
  }

  /**
   * @param {Uint8Array} root  of a collection, of a manifest, or of a hash sequence whose first member is a manifest
   * @returns {Promise<Site>}
   * @throws {BaoError} STORE_NOT_FOUND, STORE_MISSING; COLLECTION_INVALID, MANIFEST_INVALID, COLLECTION_TOO_LONG
   */
  async get (root) {
    const key = base16.baseEncode(root)
    const { size } = await this.#store.stat(root) // it may be gone since
    const known = this.#sites.get(key)
    if (known !== undefined) return known
    const site = this.#read(root, size)
    this.#sites.set(key, site)
    site.catch(() => {
      if (this.#sites.peek(key) === site) this.#sites.delete(key)
    })
    return site
  }

  /** The blob of a file here. @param {SiteFile} file @returns {Promise<Uint8Array | undefined>} */
  rootOf ({ src }) { return rootOfSource(this.#store, src) }

  /** @param {Uint8Array} root @param {number} size @returns {Promise<Site>} */
  async #read (root, size) {
    const files = await this.#filesOf(root, size)
    return { files, folders: new Folders(files.names) }
  }

  /** @param {Uint8Array} root @param {number} size @returns {Promise<SiteFiles>} */
  async #filesOf (root, size) {
    if (size < HASH_LEN || size % HASH_LEN !== 0) return this.#manifest(root)
    const own = await this.#manifest(root).catch(whenInvalid)
    if (own !== undefined) return own
    const first = await this.#store.bytes(root, { start: 0, end: HASH_LEN })
    const other = await this.#manifest(first).catch(whenInvalid).catch(error => {
      // The first bytes of any blob may be taken for a hash.
      throw error.code === 'STORE_NOT_FOUND' ? noSite(root, first) : error
    })
    return other ?? this.#remembered('collection', root, async () =>
      filesOfCollection(await getCollection(this.#store, root, LIMIT)))
  }

  /** @param {Uint8Array} root @returns {Promise<SiteFiles>} */
  #manifest (root) {
    return this.#remembered('manifest', root, async () =>
      filesOfManifest(await getManifest(this.#store, root, { ...LIMIT, maxItems: MAX_ITEMS })))
  }

  /**
   * Reads a blob in one of the two forms, unless it is known that it has not this form.
   *
   * @param {string} form @param {Uint8Array} root @param {() => Promise<SiteFiles>} read
   */
  async #remembered (form, root, read) {
    const key = `${form} ${base16.baseEncode(root)}`
    const refusal = this.#refused.get(key)
    if (refusal !== undefined) throw refusal
    try {
      return await read()
    } catch (error) {
      if (error instanceof BaoError && LASTING.includes(error.code)) this.#refused.set(key, error)
      throw error
    }
  }
}

/** For a blob that may be of another form. @param {BaoError} error */
function whenInvalid (error) {
  if (error.code === 'MANIFEST_INVALID') return undefined
  throw error
}

/** @param {Uint8Array} root @param {Uint8Array} first  what would be the hash of its names */
function noSite (root, first) {
  const names = `its names are not in the store: ${toCid(first)}`
  return new BaoError('COLLECTION_INVALID', `${toCid(root)} is neither a collection nor a manifest, or ${names}`)
}
