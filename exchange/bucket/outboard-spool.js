// The outboard of an object that is being read. Its pairs come in another order than that in which they are kept, so it
// is gathered in pages. When there are too many pages for the memory, the first ones wait in the bucket.

import { base16 } from 'multiformats/bases/base16'
import { areEqual } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'
import { bucketInvalid } from './errors.js'
import { noteKey } from './layout.js'
import { PART_LEN } from './parts.js'
import { readAll } from './read-all.js'

/** @import { Bucket } from './bucket.js' */
/** @import { RandomAccessSink } from '../../lib/core/types.js' */

/**
 * @typedef {object} SpilledPage  a page that is in the bucket
 * @property {string} key
 * @property {Uint8Array} hash
 * @property {string | undefined} etag
 * @property {{ at: number, pairs: Uint8Array }[]} late  pairs that came later: those of parents above long subtrees,
 *   so there are only some
 */
/** @typedef {{ pageLen?: number, maxPages?: number }} SpoolSizes */

/** How many pages are in memory: the outboard of 4 GiB. */
const MAX_PAGES = 2
const ID_LEN = 4
/** Pages of calls that were killed are deleted when they are a day old: nobody reads an object for so long. */
const LEFT_MS = 24 * 60 * 60 * 1000

/** @implements {RandomAccessSink} */
export class OutboardSpool {
  #bucket
  #len
  #signal
  #pageLen
  #maxPages
  #start
  #pages = /** @type {Map<number, Uint8Array>} */ (new Map())
  #spilled = /** @type {Map<number, SpilledPage>} */ (new Map())
  /** In the names of pages, so that two calls that read the same object do not share them. */
  #id = base16.baseEncode(crypto.getRandomValues(new Uint8Array(ID_LEN)))
  /** Why a page could not be put into the bucket. @type {unknown} */
  failure

  /**
   * @param {Bucket} bucket
   * @param {{ key: string, len: number, signal: AbortSignal }} options  `key`: of the object that is read. `len`: the
   *   bytes of the outboard, a claim. Memory is allocated for pages in which pairs have come
   * @param {SpoolSizes} [inTests]
   */
  constructor (bucket, { key, len, signal }, { pageLen = PART_LEN, maxPages = MAX_PAGES } = {}) {
    this.#bucket = bucket
    this.#len = len
    this.#signal = signal
    this.#pageLen = pageLen
    this.#maxPages = maxPages
    this.#start = `${noteKey(key)}.`
  }

  /** @param {number} start @param {Uint8Array} pairs  kept */
  async write (start, pairs) {
    for (let at = 0; at < pairs.length;) {
      const index = Math.floor((start + at) / this.#pageLen)
      const atInPage = start + at - index * this.#pageLen
      const part = pairs.subarray(at, at + this.#pageLen - atInPage)
      await this.#writeIn(index, atInPage, part)
      at += part.length
    }
  }

  /** Writes the whole outboard to an object. @param {string} key */
  async copyTo (key) {
    await this.#bucket.putParts(key, this.#bytes(), { size: this.#len, signal: this.#signal })
  }

  /** Deletes what was kept in the bucket. */
  async close () {
    this.#pages.clear()
    await Promise.allSettled([...this.#spilled.values()].map(({ key }) => this.#bucket.delete(key)))
  }

  /** @param {number} index @param {number} at @param {Uint8Array} pairs */
  async #writeIn (index, at, pairs) {
    const spilled = this.#spilled.get(index)
    if (spilled !== undefined) {
      spilled.late.push({ at, pairs: new Uint8Array(pairs) })
      return
    }
    let page = this.#pages.get(index)
    if (page === undefined) {
      if (this.#pages.size === this.#maxPages) await this.#spillFirst()
      page = new Uint8Array(Math.min(this.#pageLen, this.#len - index * this.#pageLen))
      this.#pages.set(index, page)
    }
    page.set(pairs, at)
  }

  async #spillFirst () {
    try {
      await this.#spill(Math.min(...this.#pages.keys()))
    } catch (error) {
      this.failure = error
      throw error
    }
  }

  /** Puts a page into the bucket. @param {number} index */
  async #spill (index) {
    if (this.#spilled.size === 0) await this.#deleteLeft()
    const page = /** @type {Uint8Array} */ (this.#pages.get(index))
    const key = `${this.#start}${this.#id}.${String(index).padStart(8, '0')}`
    const spilled = /** @type {SpilledPage} */ ({ key, hash: hash(page), etag: undefined, late: [] })
    this.#spilled.set(index, spilled)
    this.#pages.delete(index)
    spilled.etag = (await this.#bucket.put(key, page, { signal: this.#signal })).etag
  }

  /** Deletes the pages of calls that have read the same object and were killed. */
  async #deleteLeft () {
    const now = Date.now()
    for await (const { key, modified } of this.#bucket.list(this.#start, '', { signal: this.#signal })) {
      const isLeft = modified !== undefined && now - modified.getTime() > LEFT_MS
      if (isLeft) await this.#bucket.delete(key, { signal: this.#signal })
    }
  }

  async * #bytes () {
    for (let index = 0; index * this.#pageLen < this.#len; index++) {
      const page = this.#pages.get(index) ?? await this.#readBack(/** @type {any} */ (this.#spilled.get(index)))
      this.#pages.delete(index)
      yield page
    }
  }

  /** @param {SpilledPage} spilled @returns {Promise<Uint8Array>} */
  async #readBack ({ key, hash: expected, etag, late }) {
    const object = await this.#bucket.get(key, undefined, { ifMatch: etag, signal: this.#signal })
    const location = `${this.#bucket.location}/${key}`
    if (object === undefined) throw bucketInvalid(location, 'it was written a short time ago, and is not there')
    if (object.size > this.#pageLen) await object.body.return(undefined)
    const page = object.size > this.#pageLen ? new Uint8Array(0) : await readAll(object, this.#pageLen)
    if (!areEqual(expected, 0, hash(page))) throw bucketInvalid(location, 'it has other bytes than were written')
    for (const { at, pairs } of late) page.set(pairs, at)
    return page
  }
}
