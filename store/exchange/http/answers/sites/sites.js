// Collections and manifests that a handler serves, kept in memory between requests: what a hash names never changes.

import { LruCache } from '../../../../lib/core/lru.js'
import { BaoError } from '../../../../lib/core/errors.js'
import { HASH_LEN } from '../../../../lib/core/constants.js'
import { base16 } from 'multiformats/bases/base16'
import { getCollection } from '../../collections/get.js'
import { typeOfName } from '../../collections/web/media-types.js'
import { getManifest, rootOfSource } from '../../collections/web/stored.js'
import { Folders } from './folders.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobStore } from '../../../blob-store.js' */
/** @import { Resource } from '../../collections/web/manifest.js' */

/**
 * A file of a site. `headers` say what it is.
 *
 * @typedef {object} SiteFile
 * @property {CID} src
 * @property {Record<string, string>} headers
 */
/**
 * @typedef {object} Site
 * @property {Map<string, SiteFile>} files  by path, without a slash in front; `` is what is shown for the top
 * @property {Folders} folders
 */

/** Sites in memory, and bytes of the names and hashes of each, at most. */
const MAX_SITES = 8
const LIMIT = { maxLen: 1 << 23 }

/** Headers of a resource that are sent. Others might undo what the handler says, or have meaning for other origins. */
const HEADERS = ['content-type', 'content-encoding', 'content-language', 'content-disposition']

export class Sites {
  #store
  #kept = /** @type {LruCache<string, Site>} */ (new LruCache(MAX_SITES))

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
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const site = await this.#read(root, size)
    this.#kept.set(key, site)
    return site
  }

  /** @param {Uint8Array} root @param {number} size @returns {Promise<Site>} */
  async #read (root, size) {
    const store = this.#store
    if (size < HASH_LEN || size % HASH_LEN !== 0) return siteOfManifest(await getManifest(store, root, LIMIT))
    const first = () => store.bytes(root, { start: 0, end: HASH_LEN })
    return await this.#ifManifest(root) ?? await this.#ifManifest(await first()) ??
      siteOfNames(await getCollection(store, root, LIMIT))
  }

  /** @param {Uint8Array} root @returns {Promise<Site | undefined>} undefined for a blob of another kind */
  async #ifManifest (root) {
    try {
      return siteOfManifest(await getManifest(this.#store, root, LIMIT))
    } catch (error) {
      if (error instanceof BaoError && error.code === 'MANIFEST_INVALID') return undefined
      throw error
    }
  }

  /** The blob of a file here. @param {SiteFile} file @returns {Promise<Uint8Array | undefined>} */
  rootOf ({ src }) { return rootOfSource(this.#store, src) }
}

/** @param {Iterable<[string, Resource]>} manifest @returns {Site} */
function siteOfManifest (manifest) {
  const files = /** @type {Site['files']} */ (new Map())
  for (const [path, { src, ...fields }] of manifest) {
    const headers = /** @type {Record<string, string>} */ ({})
    for (const name of HEADERS) {
      const value = fields[name]
      if (typeof value === 'string' && /^[\x20-\x7e]{1,4096}$/.test(value)) headers[name] = value
    }
    files.set(path.slice(1), { src, headers })
  }
  return { files, folders: new Folders(files) }
}

/** @param {Iterable<[string, CID]>} collection @returns {Site} */
function siteOfNames (collection) {
  const files = /** @type {Site['files']} */ (new Map())
  for (const [name, src] of collection) {
    if (files.has(name)) continue
    const type = typeOfName(name)
    files.set(name, { src, headers: type === undefined ? {} : { 'content-type': type } })
  }
  return { files, folders: new Folders(files) }
}
