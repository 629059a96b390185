// Reads a source in pages, and keeps the most recently used ones.

import { LruCache } from '../core/lru.js'
import { concat } from '../core/bytes.js'
import { readUpTo } from './read-pieces.js'

/** @import { RandomAccess } from '../core/types.js' */

/** The length of a page in bytes. */
export const PAGE_LEN = 1 << 14
/** The maximum number of pages in the cache: 2 MiB. */
const MAX_PAGES = 128
/**
 * The maximum number of pages in one read, and the minimum if the previous page is in the cache, because the reader
 * will then probably continue.
 */
const MAX_RUN = 64
const AHEAD = 4

export class PageCache {
  #source
  #start
  #pages = /** @type {LruCache<number, Promise<Uint8Array>>} */ (new LruCache(MAX_PAGES))

  /** @param {RandomAccess} source @param {number} start  byte offset of the first page */
  constructor (source, start) {
    this.#source = source
    this.#start = start
  }

  /**
   * @param {Iterable<number>} indices  increasing
   * @returns {Promise<Map<number, Uint8Array>>} the pages by their indices. Where the source ends, pages have fewer
   *   bytes, or are missing
   */
  async load (indices) {
    const wanted = [...indices]
    const pages = this.#find(wanted)
    const loaded = new Map()
    for (let i = 0; i < wanted.length; i++) loaded.set(wanted[i], await pages[i])
    return loaded
  }

  /**
   * @param {[start: number, end: number][]} parts  offsets from the first page on, increasing
   * @returns {Promise<Uint8Array<ArrayBuffer>>} the bytes of all parts, fresh; fewer where the source ends
   */
  async read (parts) {
    const first = Math.floor(parts[0][0] / PAGE_LEN)
    const last = Math.floor((parts[parts.length - 1][1] - 1) / PAGE_LEN)
    const pages = await this.load(Array.from({ length: last - first + 1 }, (_, i) => first + i))
    const found = []
    for (const [start, end] of parts) {
      for (let at = start; at < end;) {
        const offset = at % PAGE_LEN
        const due = Math.min(end - at, PAGE_LEN - offset)
        const part = pages.get(Math.floor(at / PAGE_LEN))?.subarray(offset, offset + due) ?? new Uint8Array(0)
        found.push(part)
        if (part.length < due) return concat(found)
        at += due
      }
    }
    return concat(found)
  }

  /** Finds pages in the cache, or begins to read them. @param {number[]} wanted  increasing */
  #find (wanted) {
    const pages = []
    for (let i = 0; i < wanted.length;) {
      const first = wanted[i]
      const page = this.#pages.get(first)
      if (page !== undefined) {
        pages.push(page)
        i++
        continue
      }
      let count = this.#pages.has(first - 1) ? AHEAD : 1
      const run = [first]
      for (i++; this.#belongsTo(first, count, wanted[i]); i++) {
        run.push(wanted[i])
        count = Math.max(count, wanted[i] - first + 1)
      }
      const read = this.#readRun(first, count)
      pages.push(...run.map(index => read[index - first]))
    }
    return pages
  }

  /**
   * True if a page is read together with the `count` pages from `first` on.
   *
   * @param {number} first @param {number} count @param {number} index  undefined: false
   */
  #belongsTo (first, count, index) {
    return index < first + MAX_RUN && index <= first + count && !this.#pages.has(index)
  }

  /** Begins to read adjacent pages. @param {number} first @param {number} count */
  #readRun (first, count) {
    const start = this.#start + first * PAGE_LEN
    const end = Math.max(start, Math.min(start + count * PAGE_LEN, this.#source.size))
    const run = (async () => start === end ? concat([]) : readUpTo(this.#source, start, end))()
    return Array.from({ length: count }, (_, i) => {
      const page = run.then(bytes => new Uint8Array(bytes.subarray(i * PAGE_LEN, (i + 1) * PAGE_LEN)))
      // Forget a page that could not be read, so that it is read again next time. Callers that await it get the error.
      page.catch(() => { if (this.#pages.peek(first + i) === page) this.#pages.delete(first + i) })
      this.#pages.set(first + i, page)
      return page
    })
  }
}
