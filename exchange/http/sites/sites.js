// The collections and manifests that a handler serves, kept in memory between requests, because the content of a hash
// never changes. While a site is read, no other request is answered, and the time grows with the bytes of the site. So
// the number of bytes that are read in a second is limited.

import { base16 } from 'multiformats/bases/base16'
import { LruCache } from '../../../lib/core/lru.js'
import { BaoError } from '../../../lib/core/errors.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { HASH_LEN } from '../../../lib/core/constants.js'
import { RAW, toCid } from '../../../lib/hash/cid.js'
import { BoundedReader, getCollection, tooLong } from '../../collections/get-collection.js'
import { isMapHead } from '../../collections/web/drisl.js'
import { invalid } from '../../collections/web/resources.js'
import { rootOfSource } from '../../collections/web/stored-manifest.js'
import { findBlob } from '../stored-blob.js'
import { Budget } from './budget.js'
import { filesOfCollection, filesOfManifest } from './site-files.js'
import { Folders } from './folders.js'

/** @import { Store } from '../../../store/interface.js' */
/** @import { SiteFile, SiteFiles } from './site-files.js' */

/** @typedef {{ files: SiteFiles, folders: Folders }} Site */
/** @typedef {{ site: Promise<Site>, weight: number }} KeptSite  `weight`: the bytes that it counts as */

/** The maximum bytes of a site's names and hashes. To read this many delays other requests by a quarter second. */
const LIMIT = { maxBytes: 1 << 23 }
/** The maximum bytes of the sites that are kept. */
const MAX_KEPT_LEN = 1 << 26
/** The minimum number of bytes that a site counts as, because reading a short one also takes time. */
const MIN_WEIGHT = 1 << 14
/** The bytes of sites that are read in one burst, and then in each second. */
const READING = { burst: 1 << 24, rate: 1 << 21 }
/** The maximum number of entries in the cache of refusals, and in that of keys. They do not evict sites. */
const MAX_KNOWN = 1000
/** Codes of errors that depend only on the bytes of a site. Such errors are remembered. */
const LASTING = ['COLLECTION_INVALID', 'MANIFEST_INVALID']

export class Sites {
  #store
  #budget
  /** Sites by their form and blob, including those that are being read, so that concurrent requests share one read. */
  #kept = /** @type {LruCache<string, KeptSite>} */ (new LruCache())
  #keptLen = 0
  /** The errors of blobs that are not sites, by the same keys. */
  #refused = /** @type {LruCache<string, BaoError>} */ (new LruCache(MAX_KNOWN))
  /** The keys of sites, and which member was read for them, by root. */
  #keys = /** @type {LruCache<string, { key: string, member?: Uint8Array }>} */ (new LruCache(MAX_KNOWN))

  /** @param {Store} store @param {() => number} [now]  milliseconds; replaced in tests */
  constructor (store, now = () => performance.now()) {
    this.#store = store
    this.#budget = new Budget(READING, now)
  }

  /**
   * @param {Uint8Array} root  of a collection, of a manifest, or of a hash sequence whose first member is a manifest
   * @param {(member: Uint8Array) => Promise<void>} [assertReadable]  throws if the client may not read the first
   *   member, which has the names. A client that may put can make a sequence with any first member
   * @returns {Promise<Site>}
   * @throws {BaoError} STORE_NOT_FOUND, STORE_MISSING; COLLECTION_INVALID, MANIFEST_INVALID, COLLECTION_TOO_LONG
   * @throws {import('../errors.js').HttpError} 503 when too many bytes were read recently
   */
  async get (root, assertReadable = async () => {}) {
    const { size } = await findBlob(this.#store, root, { at: 0 }) // throws if the blob is gone
    const { key = '', member } = this.#keys.get(base16.baseEncode(root)) ?? {}
    const known = this.#kept.get(key)
    if (known !== undefined && member !== undefined) await assertReadable(member)
    return known?.site ?? this.#find(root, size, assertReadable)
  }

  /** The root of the blob of a file. @param {SiteFile} file @returns {Promise<Uint8Array | undefined>} */
  rootOf ({ src }) { return rootOfSource(this.#store, src) }

  /**
   * @param {Uint8Array} root @param {number} size @param {(member: Uint8Array) => Promise<void>} assertReadable
   * @returns {Promise<Site>}
   */
  async #find (root, size, assertReadable) {
    if (size < HASH_LEN || size % HASH_LEN !== 0) return this.#manifest(root, root)
    const own = await this.#manifest(root, root).catch(whenInvalid)
    if (own !== undefined) return own
    const first = await this.#store.bytes(root, { start: 0, end: HASH_LEN })
    await assertReadable(first)
    const other = await this.#manifest(root, first).catch(whenInvalid).catch(error => {
      // If the blob is not a sequence, its first bytes are not a hash.
      throw error.code === 'STORE_NOT_FOUND' ? noSite(root, first) : error
    })
    return other ?? this.#read(root, `collection ${base16.baseEncode(root)}`, [root, first], async () =>
      filesOfCollection(await getCollection(this.#store, root, LIMIT)))
  }

  /** @param {Uint8Array} root  that names a manifest @param {Uint8Array} blob  the manifest @returns {Promise<Site>} */
  async #manifest (root, blob) {
    const [byte] = await this.#store.bytes(blob, { start: 0, end: 1 })
    if (!isMapHead(byte)) throw invalid('it is not a map') // so a long blob of another form is not read
    return this.#read(root, `manifest ${base16.baseEncode(blob)}`, [blob], async () =>
      filesOfManifest(await new BoundedReader(this.#store, blob, RAW, LIMIT).bytes(blob)))
  }

  /**
   * Gives a site from memory, or reads it. Throws if the blobs are known not to be a site of this form.
   *
   * @param {Uint8Array} root  that names it @param {string} key  its form and blob
   * @param {Uint8Array[]} blobs  that are read @param {() => Promise<SiteFiles>} read
   * @returns {Promise<Site>}
   */
  async #read (root, key, blobs, read) {
    const refusal = this.#refused.get(key)
    if (refusal !== undefined) throw refusal
    const found = await Promise.all(blobs.map(blob => findBlob(this.#store, blob, { at: 0 })))
    const len = found.reduce((sum, { size }) => sum + size, 0)
    if (len > LIMIT.maxBytes) throw tooLong(toCid(root), LIMIT.maxBytes, len)
    const isWhole = (await Promise.all(blobs.map(blob => this.#store.has(blob, { supply: true })))).every(has => has)
    const { site } = this.#kept.get(key) ?? this.#begin(key, isWhole ? Math.max(len, MIN_WEIGHT) : 0, read)
    this.#keys.set(base16.baseEncode(root), { key, member: blobs.find(blob => !areEqual(blob, 0, root)) })
    return site
  }

  /**
   * @param {string} key @param {number} weight  0 for an incomplete blob, because its read fails early
   * @param {() => Promise<SiteFiles>} read
   */
  #begin (key, weight, read) {
    if (weight > 0) this.#budget.spend(weight)
    const kept = { site: read().then(files => ({ files, folders: new Folders(files.names) })), weight }
    this.#kept.set(key, kept)
    this.#keptLen += weight
    for (const oldest of this.#kept.keys()) {
      if (this.#keptLen <= MAX_KEPT_LEN) break
      this.#drop(oldest)
    }
    kept.site.catch(error => {
      if (this.#kept.peek(key) === kept) this.#drop(key)
      if (error instanceof BaoError && LASTING.includes(error.code)) this.#refused.set(key, error)
    })
    return kept
  }

  /** @param {string} key */
  #drop (key) {
    this.#keptLen -= this.#kept.peek(key)?.weight ?? 0
    this.#kept.delete(key)
  }
}

/** Drops the error of a blob that may be of another form. @param {BaoError} error */
function whenInvalid (error) {
  if (error.code === 'MANIFEST_INVALID') return undefined
  throw error
}

/** @param {Uint8Array} root @param {Uint8Array} first  the hash of its names, if it were a collection */
function noSite (root, first) {
  const names = `its names are not in the store: ${toCid(first)}`
  return new BaoError('COLLECTION_INVALID', `${toCid(root)} is neither a collection nor a manifest, or ${names}`)
}
