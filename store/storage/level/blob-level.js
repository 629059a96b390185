// The level of the data of a store in a browser. It keeps long values as Blobs, because IndexedDB writes and reads
// Blobs faster than bytes: the browser keeps each Blob in a file of its own, beside its database.
//
// Callers pass bytes and get bytes. Where the browser refuses Blobs, as in private windows of some browsers, the level
// writes bytes. It reads values of both forms.

import { VIEWS } from '../format/keys.js'
import { DAMAGED, isDiskFull } from '../errors.js'
import { IndexedLevel, resultOf } from './indexed-level.js'

/** @typedef {{ type: 'put' | 'del', key: Uint8Array, value: any }} Operation */
/** @typedef {[key: Uint8Array, value: Uint8Array<ArrayBuffer>]} Entry */

/** Values of at least this many bytes are kept as Blobs. For shorter ones, a file of their own costs more. */
const BLOB_FROM = 1 << 18
/** An iterator reads at most this many entries at a time: 4 MiB, because pages of the tree come between extents. */
const AHEAD = 8
/** The errors by which browsers say that the file of a Blob is gone: when they read it, and when they look it up. */
const UNREADABLE = ['TypeError', 'NotFoundError', 'NotReadableError', 'UnknownError']

export class BlobLevel extends IndexedLevel {
  /** Becomes false when the browser has refused a Blob, and the same value as bytes could be written. */
  #takesBlobs = true
  /** Tells the store that `get` reads only a part of a value, if the option `part` says so. */
  readsParts = true

  /** @param {Operation[]} operations @param {object} options @returns {Promise<void>} */
  async _batch (operations, options) {
    const isLong = (/** @type {Operation} */ { type, value }) => type === 'put' && value.length >= BLOB_FROM
    if (!this.#takesBlobs || !operations.some(isLong)) return super._batch(operations, options)
    try {
      await super._batch(operations.map(operation =>
        isLong(operation) ? { ...operation, value: new Blob([operation.value]) } : operation), options)
    } catch (error) {
      if (isDiskFull(error)) throw error
      await super._batch(operations, options) // A transaction that has failed has written nothing.
      this.#takesBlobs = false
    }
  }

  /** @param {Uint8Array<ArrayBuffer>} key @param {{ part?: [start: number, end: number] }} options */
  async _get (key, { part }) { return bytesOf(this.startRead().get(key), part) }

  /** @param {Uint8Array<ArrayBuffer>[]} keys */
  async _getMany (keys) {
    const values = this.startRead()
    return Promise.all(keys.map(key => bytesOf(values.get(key))))
  }

  /** @param {any} options */
  iterator (options) {
    const keys = super.iterator({ ...options, values: false })
    return options.values === false ? keys : new BlobIterator(this, keys)
  }
}

/** Iterates over keys, and reads the values of a few keys at a time. */
class BlobIterator {
  #level
  #keys
  #entries = /** @type {Entry[]} */ ([])

  /** @param {any} level @param {any} keys  an iterator over entries without values */
  constructor (level, keys) {
    this.#level = level
    this.#keys = keys
  }

  async next () {
    if (this.#entries.length === 0) this.#entries = await this.#read(AHEAD)
    return this.#entries.shift()
  }

  /** @param {number} size */
  async nextv (size) { return this.#entries.length > 0 ? this.#entries.splice(0, size) : this.#read(size) }

  async all () {
    const all = []
    for await (const entry of this) all.push(entry)
    return all
  }

  /** @param {Uint8Array} key @param {object} options */
  seek (key, options) {
    this.#entries = []
    this.#keys.seek(key, options)
  }

  close () { return this.#keys.close() }

  async * [Symbol.asyncIterator] () {
    try {
      for (let entry = await this.next(); entry !== undefined; entry = await this.next()) yield entry
    } finally {
      await this.close()
    }
  }

  /** @param {number} size @returns {Promise<Entry[]>} none at the end */
  async #read (size) {
    while (true) {
      /** @type {[Uint8Array][]} */
      const keys = await this.#keys.nextv(Math.min(size, AHEAD))
      const values = await this.#level.getMany(keys.map(([key]) => key), VIEWS)
      const entries = /** @type {Entry[]} */ (keys.map(([key], i) => [key, values[i]]).filter(([, value]) => value))
      if (entries.length > 0 || keys.length === 0) return entries // Others were deleted after their keys were read.
    }
  }
}

/**
 * Returns a value as bytes. It returns no bytes for a Blob whose file the browser cannot read, and for a value that no
 * store writes. An extent without bytes counts as damaged.
 *
 * @param {IDBRequest} request @param {[start: number, end: number]} [part]  of the value. Default: all
 * @returns {Promise<Uint8Array<ArrayBuffer> | undefined>} undefined when there is no value
 */
async function bytesOf (request, part) {
  try {
    const value = await resultOf(request)
    if (value === undefined || value instanceof Uint8Array) return part === undefined ? value : value?.subarray(...part)
    // If the file was cut short, `arrayBuffer` of a part of a Blob never settles in Chromium. That of a Response does.
    const readable = value instanceof Blob && (part === undefined ? value : new Response(value.slice(...part)))
    if (readable) return new Uint8Array(await readable.arrayBuffer())
  } catch (error) {
    if (!UNREADABLE.includes(/** @type {Error} */ (error).name)) throw error
  }
  return DAMAGED
}
