// The store of the page, and what the page does with it. A blob has its name in a weak tag, which does not protect it
// from a quota; a second tag, which does, pins it.

import { BlobStore } from '../../../../store/index.js'
import { download } from '../../../../exchange/download/index.js'
import { exportCar, importCar } from '../../../../exchange/transfer/index.js'
import { FILM, FILM_LEN } from '../film/facts.js'

/** @import { ByteRange } from '../../../../lib/index.js' */

/**
 * @typedef {object} KeptBlob
 * @property {string} cid
 * @property {string} name  of the file; empty if it is not known
 * @property {number} size
 * @property {boolean} complete
 * @property {boolean} isPinned
 * @property {ByteRange[]} present
 * @property {Date} lastUsed
 */

const LOCATION = 'baobox-demo-kept'
const PIN = 'pin/'
const NAME = 'name/'
/** How much of the film one call fetches. */
const FILM_PART = Math.ceil(FILM_LEN / 3 / 16384) * 16384

export class KeptBlobs {
  #store
  #onChange
  #onEvict
  #names = /** @type {Map<string, string>} */ (new Map())
  /** The blobs that the user has deleted. @type {Set<string>} */
  #deleted = new Set()
  #closing = new AbortController()

  /**
   * @param {BlobStore} store
   * @param {{ onChange: () => void, onEvict: (name: string) => void }} events
   */
  constructor (store, { onChange, onEvict }) {
    this.#store = store
    this.#onChange = onChange
    this.#onEvict = onEvict
  }

  /**
   * @param {number} quota  bytes @param {{ onChange: () => void, onEvict: (name: string) => void }} events
   */
  static async open (quota, events) {
    const kept = new KeptBlobs(await BlobStore.open(LOCATION, { quota, wait: 3000 }), events)
    kept.#watch().catch(() => {})
    return kept
  }

  async close () {
    this.#closing.abort()
    await this.#store.close()
  }

  /** Tells of every change, and of blobs that the quota has evicted. */
  async #watch () {
    for await (const { type, cid } of this.#store.watch({ signal: this.#closing.signal })) {
      if (type === 'removed' && !this.#deleted.delete(`${cid}`)) {
        this.#onEvict(this.#names.get(`${cid}`) || `${cid}`)
      }
      this.#onChange()
    }
  }

  /** @returns {Promise<{ blobs: KeptBlob[], bytes: number, quota: number }>} the last used blob first */
  async list () {
    const pinned = new Set()
    for await (const { name, cid } of this.#store.tags.list()) {
      if (name.startsWith(PIN)) pinned.add(`${cid}`)
      if (name.startsWith(NAME)) this.#names.set(`${cid}`, name.slice(NAME.length + `${cid}`.length + 1))
    }
    const blobs = []
    for await (const { cid, size, complete, lastUsed } of this.#store.list({ order: 'used', reverse: true })) {
      const { present } = await this.#store.stat(cid)
      const id = `${cid}`
      const name = this.#names.get(id) ?? ''
      const isPinned = pinned.has(id)
      blobs.push({ cid: id, name, size, complete, isPinned, present: present.toBytes(size), lastUsed })
    }
    const { bytes, quota } = await this.#store.info()
    return { blobs, bytes, quota: quota ?? Infinity }
  }

  /** @param {Blob} file @param {string} name */
  async put (file, name) {
    const { cid } = await this.#store.put(file)
    await this.#nameBlob(`${cid}`, name)
  }

  /**
   * Fetches the next third of the film from the hosts.
   *
   * @param {string[]} from  URLs @param {(done: number) => void} onProgress  `done`: bytes
   */
  async fetchFilm (from, onProgress) {
    const [first] = (await this.#store.missing(FILM)).toBytes(FILM_LEN)
    if (first === undefined) return
    const ranges = { start: first.start, end: Math.min(first.start + FILM_PART, FILM_LEN) }
    this.#names.set(FILM, 'the film')
    await download(this.#store, FILM, {
      from, ranges, stall: 3000, onProgress: ({ detail: { done } }) => onProgress(done)
    })
    await this.#nameBlob(FILM, 'the film')
  }

  /** @param {string} cid @param {string} name */
  #nameBlob (cid, name) {
    this.#names.set(cid, name)
    return this.#store.tags.set(`${NAME}${cid}/${name}`, cid, { weak: true })
  }

  /** @param {string} cid @param {boolean} isPinned */
  async pin (cid, isPinned) {
    if (isPinned) await this.#store.tags.set(PIN + cid, cid)
    else await this.#store.tags.delete(PIN + cid)
  }

  /** Reads the first bytes of a blob, so that it is the last one to be evicted. @param {KeptBlob} blob */
  async read ({ cid, present: [first] }) {
    return this.#store.bytes(cid, { start: first.start, end: Math.min(first.start + 16, first.end) })
  }

  /** @param {string} cid */
  async delete (cid) {
    this.#deleted.add(cid)
    await this.pin(cid, false)
    await this.#store.delete(cid)
  }

  /** All whole blobs, as a CAR archive. @returns {Promise<Blob>} */
  async export () {
    const cids = (await this.list()).blobs.filter(({ complete }) => complete).map(({ cid }) => cid)
    const pieces = []
    for await (const piece of exportCar(this.#store, { cids })) pieces.push(/** @type {BlobPart} */ (piece))
    return new Blob(pieces, { type: 'application/vnd.ipld.car' })
  }

  /** @param {Blob} file  a CAR archive @returns {Promise<number>} how many blobs it had */
  async import (file) {
    const { blocks } = await importCar(this.#store, file)
    return blocks
  }
}
