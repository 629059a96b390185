// Lists the blobs of a store in the order of their hashes, which is the order of the index, or of their times.
//
// The index is not sorted by times, and a million blobs are too many to sort in memory. So each walk through the index
// collects the next KEPT_BLOBS blobs in memory and yields them; the next walk continues after them.

import { assertBoolean, assertInteger, describe } from '../../../lib/core/bytes.js'
import { FirstItems } from '../../../lib/core/first-items.js'
import { assertKnownOptions } from '../../../lib/core/options.js'
import { parseRoot } from '../../../lib/hash/cid.js'
import { contentOf } from '../../storage/content/content-of.js'
import { damagedRecord, notFound } from '../../storage/errors.js'
import { nameOf, rootOf } from '../../../lib/hash/roots.js'
import { statOf } from './lookups.js'

/** @import { BlobName } from '../../blob-store.js' */
/** @import { Lifetime } from '../../storage/concurrency/lifetime.js' */
/** @import { Databases } from '../../storage/databases.js' */
/** @import { Catalog } from '../catalog.js' */
/** @import { Uses } from '../uses.js' */
/** @import { ListedBlob } from './lookups.js' */
/** @import { BlobRecord } from '../../storage/format/records.js' */

/**
 * @typedef {object} ListOptions
 * @property {string} [prefix]  the beginning of the hash, in hexadecimal digits
 * @property {BlobName} [after]  list only blobs after this one. In the order `created` or `used`, the store must have
 *   it, or the call throws STORE_NOT_FOUND { cid }
 * @property {number} [maxBlobs]  list at most this many blobs. Default: all
 * @property {boolean} [reverse]  list from the last blob to the first. Default: false
 * @property {ListOrder} [order]  `created` and `used` take one walk through the index for every 65 536 listed blobs. A
 *   walk takes 5 us for each blob of the store, and 20 MB of memory. A use during the call changes the blob's place in
 *   the order of uses, so the call may list that blob twice or not at all. Default: `hash`
 */
/** @typedef {'hash' | 'created' | 'used'} ListOrder */

/** @type {ListOrder[]} */
const ORDERS = ['hash', 'created', 'used']

/** @typedef {{ name: string, created: number, used: number }} Place  a blob's name (see `nameOf`) and times */

/** One walk through the index yields at most this many blobs. It holds up to twice this many in memory. */
const KEPT_BLOBS = 1 << 16
/** How many blobs are looked up together. */
const LOOKUP_BLOBS = 256

/** @typedef {{ prefix: string, after?: Uint8Array, reverse: boolean }} Range  `prefix` in lower case */
/** @typedef {Range & { order: ListOrder, limit: number }} CheckedListOptions  `limit`: that of `maxBlobs` */

/**
 * Checks the options of `list`.
 *
 * @param {ListOptions} options
 * @returns {CheckedListOptions}
 */
export function checkedListOptions (options) {
  assertKnownOptions(options, ['prefix', 'after', 'maxBlobs', 'reverse', 'order'])
  const { prefix = '', after, maxBlobs: limit = Infinity, reverse = false, order = 'hash' } = options
  if (typeof prefix !== 'string' || !/^[0-9a-f]{0,64}$/i.test(prefix)) {
    throw new TypeError('"prefix" expected up to 64 hexadecimal digits')
  }
  if (limit !== Infinity) assertInteger('maxBlobs', limit)
  assertBoolean('reverse', reverse)
  if (!ORDERS.includes(order)) throw new TypeError(`"order" expected ${ORDERS.join(', ')}, got ${describe(order)}`)
  const last = after === undefined ? undefined : parseRoot(after, 'after')
  return { prefix: prefix.toLowerCase(), after: last, limit, reverse, order }
}

export class Lister {
  #catalog
  #databases
  #life
  #uses

  /** @param {{ catalog: Catalog, databases: Databases, life: Lifetime, uses: Uses }} parts */
  constructor ({ catalog, databases, life, uses }) {
    this.#catalog = catalog
    this.#databases = databases
    this.#life = life
    this.#uses = uses
  }

  /** See `Store.list`. @param {ListOptions} options @returns {AsyncGenerator<ListedBlob>} */
  list (options) {
    const { order, limit, ...range } = checkedListOptions(options)
    return this.#life.each(() => this.#list(range, { order, limit }))
  }

  /**
   * @param {Range} range @param {{ order: ListOrder, limit: number }} options
   * @returns {AsyncGenerator<ListedBlob>}
   */
  async * #list (range, { order, limit }) {
    let left = limit
    if (left === 0) return
    for await (const stat of order === 'hash' ? this.#byHash(range) : this.byTime(range, { order, limit })) {
      yield stat
      this.#life.assertOpen()
      if (--left === 0) return
    }
  }

  /** @param {Range} range @returns {AsyncGenerator<ListedBlob>} */
  async * #byHash (range) {
    const uses = this.#uses.inOrder(range)
    try {
      for await (const batch of this.#catalog.recordBatches(range)) {
        for (const { root, record } of batch) yield this.#listed(root, record, await uses.of(root, record))
      }
    } finally {
      await uses.close()
    }
  }

  /**
   * @param {Range} range
   * @param {{ order: 'created' | 'used', limit: number, kept?: number }} options  `kept`: how many blobs a walk yields
   * @returns {AsyncGenerator<ListedBlob>}
   */
  async * byTime ({ prefix, after, reverse }, { order, limit, kept = KEPT_BLOBS }) {
    const sign = reverse ? -1 : 1
    const compare = (/** @type {Place} */ a, /** @type {Place} */ b) =>
      sign * (a[order] - b[order] || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    let last = after && await this.#placeOf(after)
    const count = Math.min(kept, limit)
    for (;;) {
      const first = new FirstItems(count, compare)
      const error = await this.#eachPlace(prefix, place => {
        if (last === undefined || compare(place, last) > 0) first.add(place)
      })
      const places = first.take()
      for (let i = 0; i < places.length; i += LOOKUP_BLOBS) yield * this.#statsOf(places.slice(i, i + LOOKUP_BLOBS))
      last = places.at(-1)
      if (places.length < count && error !== undefined) throw error
      if (places.length < count) return
    }
  }

  /**
   * Walks through the index, and calls `onPlace` for each blob.
   *
   * @param {string} prefix @param {(place: Place) => void} onPlace
   * @returns {Promise<unknown>} the error to throw for damaged records; undefined when there are none
   */
  async #eachPlace (prefix, onPlace) {
    let error
    const uses = this.#uses.inOrder({ prefix })
    try {
      for await (const batch of this.#catalog.entryBatches({ prefix }, () => { error ??= damagedRecord() })) {
        for (const { root, record } of batch) {
          if (root === undefined || record === undefined) error ??= damagedRecord(root)
          else onPlace({ name: nameOf(root), created: record.created, used: await uses.of(root, record) })
        }
        this.#life.assertOpen()
      }
    } finally {
      await uses.close()
    }
    return error
  }

  /** @param {Uint8Array} root @returns {Promise<Place>} */
  async #placeOf (root) {
    const record = await this.#catalog.get(root)
    if (record === undefined) throw notFound(root)
    return { name: nameOf(root), created: record.created, used: await this.#uses.lastUse(root, record) }
  }

  /**
   * Looks up the current records of blobs that a walk has found. It skips blobs that were deleted since then.
   *
   * @param {Place[]} places
   * @returns {AsyncGenerator<ListedBlob>}
   */
  async * #statsOf (places) {
    const roots = places.map(({ name }) => rootOf(name))
    for (const [i, { record }] of (await this.#catalog.findMany(roots)).entries()) {
      if (record !== undefined) yield this.#listed(roots[i], record, places[i].used)
    }
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord} record @param {number} used  milliseconds since 1970
   * @returns {ListedBlob}
   */
  #listed (root, record, used) {
    return { ...statOf(contentOf(this.#databases, root, record)), lastUsed: new Date(used) }
  }
}
