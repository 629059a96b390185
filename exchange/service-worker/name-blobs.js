// Keeps the manifest or the collection's names of a site in the Cache Storage of the browser. The worker of the old
// version has the store open until the new one takes over, so the new worker cannot use the store while it is
// installed.

import { BaoError } from '../../lib/core/errors.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { Sites } from '../http/sites/sites.js'
import { openMemoryStore } from './worker-store.js'

/** @import { Store } from '../../store/interface.js' */
/** @import { StoreOptions } from '../../store/index.js' */

/** The codes of errors of a cache in which others have written. */
const WRONG = ['CID_MISMATCH', 'CID_UNSUPPORTED']
/** The keys of a cache are URLs. */
const urlOf = (/** @type {string} */ cid) => `https://blobs.invalid/${cid}`

/** The blobs that have the names of a site's files: its manifest, or its collection and the meta blob of that. */
export class NameBlobs {
  #caches
  #prefix
  #site
  #name

  /** @param {CacheStorage} caches @param {{ base: string, site: string }} options  `site`: a CID */
  constructor (caches, { base, site }) {
    this.#caches = caches
    this.#site = site
    this.#prefix = `baobox ${base} `
    this.#name = this.#prefix + site
  }

  /** Fetches the blobs, unless they are kept. @param {StoreOptions['supply']} supply */
  async fetch (supply) {
    const cache = await this.#caches.open(this.#name)
    if (await cache.match(urlOf(this.#site)) !== undefined) return
    const store = await openMemoryStore({ supply })
    try {
      await new Sites(store).get(parseRoot(this.#site))
      const blobs = []
      for await (const { cid } of store.list()) blobs.push(`${cid}`)
      // The blob of the site comes last, because it says that all others are kept.
      blobs.sort((a, b) => Number(a === this.#site) - Number(b === this.#site))
      for (const cid of blobs) await cache.put(urlOf(cid), new Response(await store.bytes(cid)))
    } finally {
      await store.close()
    }
  }

  /** Deletes the blobs of all other versions. */
  async dropOthers () {
    const names = await this.#caches.keys()
    const others = names.filter(name => name.startsWith(this.#prefix) && name !== this.#name)
    await Promise.all(others.map(name => this.#caches.delete(name)))
  }

  /**
   * Puts the blobs into a store, whose quota does not evict them, and releases those of other versions. Other pages of
   * the origin can write to the cache, so it is not believed.
   *
   * @param {Store} store
   */
  async putInto (store) {
    const cache = await this.#caches.open(this.#name)
    const kept = new Set()
    for (const { url } of await cache.keys()) {
      const cid = url.slice(urlOf('').length)
      const tag = `site ${cid}`
      try {
        await store.tags.set(tag, cid)
        kept.add(tag)
        const bytes = await store.has(cid) ? undefined : await bytesIn(cache, url)
        if (bytes !== undefined) await store.put(bytes, { expect: cid })
      } catch (error) {
        if (!(error instanceof BaoError) || !WRONG.includes(error.code)) throw error
        await cache.delete(url)
      }
    }
    const others = []
    for await (const { name } of store.tags.list()) if (!kept.has(name)) others.push(name)
    for (const name of others) await store.tags.delete(name)
  }
}

/**
 * Reads an entry of a cache.
 *
 * @param {Cache} cache @param {string} url
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} undefined if the browser has lost it: mirrors have it, too
 */
async function bytesIn (cache, url) {
  try {
    const response = await cache.match(url)
    return response && new Uint8Array(await response.arrayBuffer())
  } catch {
    return undefined
  }
}
