// Pages of something that is too long for memory. The last that were used are kept, for whoever asks next.

import { concat } from '../core/bytes.js'
import { readUpTo } from './read-pieces.js'

/** @import { RandomAccess } from '../core/types.js' */

/** Bytes of a page. */
export const PAGE_LEN = 1 << 14
/** Pages that are kept: 2 MiB of them. */
const MAX_PAGES = 128
/** Pages that are read at a time at most; and at least, where the page before was read too: whoever reads on wants more. */
const MAX_RUN = 64
const AHEAD = 4

export class PageCache {
  #source
  #start
  /** Those used last stand last. @type {Map<number, Promise<Uint8Array>>} */
  #kept = new Map()

  /** @param {RandomAccess} source @param {number} start  byte offset of the first page */
  constructor (source, start) {
    this.#source = source
    this.#start = start
  }

  /**
   * @param {Iterable<number>} indices  increasing
   * @returns {Promise<Map<number, Uint8Array>>} by index; fewer bytes, or none, where the source ends
   */
  async load (indices) {
    const wanted = [...indices]
    this.#read(wanted)
    const pages = wanted.map(index => /** @type {Promise<Uint8Array>} */ (this.#kept.get(index)))
    this.#forget()
    const loaded = new Map()
    for (let i = 0; i < wanted.length; i++) loaded.set(wanted[i], await pages[i])
    return loaded
  }

  /**
   * @param {[start: number, end: number][]} parts  bytes from the first page on, increasing
   * @returns {Promise<Uint8Array<ArrayBuffer>>} all of them, fresh; fewer where the source ends
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

  /** Begins to read those that are not there; all become the ones used last. @param {number[]} wanted */
  #read (wanted) {
    for (let i = 0; i < wanted.length;) {
      const first = wanted[i]
      const page = this.#kept.get(first)
      if (page !== undefined) {
        this.#keep(first, page)
        i++
        continue
      }
      let count = this.#kept.has(first - 1) ? AHEAD : 1
      for (i++; i < wanted.length && wanted[i] < first + MAX_RUN && wanted[i] <= first + count && !this.#kept.has(wanted[i]); i++) {
        count = Math.max(count, wanted[i] - first + 1)
      }
      this.#readRun(first, count)
    }
  }

  /** @param {number} first @param {number} count */
  #readRun (first, count) {
    const start = this.#start + first * PAGE_LEN
    const end = Math.max(start, Math.min(start + count * PAGE_LEN, this.#source.size))
    const run = (async () => start === end ? concat([]) : readUpTo(this.#source, start, end))()
    for (let i = 0; i < count; i++) {
      const page = run.then(bytes => new Uint8Array(bytes.subarray(i * PAGE_LEN, (i + 1) * PAGE_LEN)))
      // What could not be read may be there another time. Whoever awaits it is told.
      page.catch(() => { if (this.#kept.get(first + i) === page) this.#kept.delete(first + i) })
      this.#keep(first + i, page)
    }
  }

  /** @param {number} index @param {Promise<Uint8Array>} page */
  #keep (index, page) {
    this.#kept.delete(index)
    this.#kept.set(index, page)
  }

  #forget () {
    for (const index of this.#kept.keys()) {
      if (this.#kept.size <= MAX_PAGES) break
      this.#kept.delete(index)
    }
  }
}
