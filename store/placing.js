// Where the data of many blobs goes, and how it gets there: small ones into a pack where there are files and enough of them, else into extents.

import { PACK_FROM, writePack } from './pack.js'
import { extentKey } from './keys.js'
import { allOf } from './activity.js'

/** @import { BlobRecord } from './keys.js' */
/** @import { Databases } from './databases.js' */
/** @import { Operation } from './catalog.js' */

/**
 * @typedef {object} Data
 * @property {Uint8Array} root
 * @property {number} size  bytes
 * @property {Uint8Array} [bytes]  of a blob of one chunk group; nobody writes to them
 * @property {{ id: number, puts: Operation[] }} [tree]  of a longer one: what there is to be written, under an id of its own
 */
/** @typedef {Pick<BlobRecord, 'id' | 'home' | 'offset'>} Place */

/** Ids that are under way together. */
export class GivenIds {
  #ids
  #given = /** @type {{ id: number, count: number }[]} */ ([])

  /** @param {Databases} databases */
  constructor ({ ids }) {
    this.#ids = ids
  }

  /** @param {number} count @returns {Promise<number>} the first of so many */
  async take (count) {
    const id = await this.#ids.newIds(count)
    this.#given.push({ id, count })
    return id
  }

  settle () { for (const { id, count } of this.#given) this.#ids.settle(id, count) }
}

/**
 * Writes the data of blobs. Records may name it then.
 *
 * @param {Databases} databases @param {Data[]} blobs  at most as many as a pack may hold @param {GivenIds} given
 * @param {{ isSync?: boolean }} [options]  is it to outlast a power cut? What the store promises, unless told
 * @returns {Promise<Place[]>} where each is now
 */
export async function writeData (databases, blobs, given, { isSync = databases.isSync } = {}) {
  const { data, packs, room } = databases
  const sync = { sync: isSync }
  const small = /** @type {{ root: Uint8Array, bytes: Uint8Array }[]} */ (blobs.filter(({ bytes }) => bytes !== undefined))
  const isPacked = packs !== undefined && small.reduce((len, { bytes }) => len + bytes.length, 0) >= PACK_FROM
  const first = small.length > 0 ? await given.take(isPacked ? 1 : small.length) : 0
  const puts = /** @type {Operation[]} */ ([])
  let id = first
  for (const { bytes, tree } of blobs) {
    if (tree !== undefined) puts.push(...tree.puts)
    else if (!isPacked) puts.push({ type: 'put', key: extentKey(id++, 0, room), value: /** @type {Uint8Array} */ (bytes) })
  }
  const [packed] = await allOf([isPacked ? writePack(databases, first, small, isSync) : undefined, puts.length > 0 ? data.batch(puts, sync) : undefined])
  let i = 0
  return blobs.map(({ tree }) => {
    if (tree !== undefined) return { id: tree.id, home: 'extents' }
    return packed === undefined ? { id: first + i++, home: 'extents' } : { id: first, home: 'pack', offset: packed[i++].offset }
  })
}
