// A collection in memory: names, and the CID of a blob for each.

import { HASH_LEN } from '../../lib/core/constants.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { areEqual, assertBytes, concat } from '../../lib/core/bytes.js'
import { HASHSEQ, parseRoot, toCid } from '../../lib/hash/cid.js'
import { hash } from '../../lib/hash/hasher.js'
import { assertMany } from '../../lib/async/in-order.js'
import { MetaParser, encodeName, invalid, metaHead } from './meta.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobName } from '../../lib/hash/cid.js' */

/** @typedef {[name: string, cid: CID]} CollectionEntry */
/** @typedef {readonly [name: string, cid: BlobName]} NewEntry  only the hash of the CID is kept */

/**
 * Names for many blobs under one CID, as iroh's `Collection` has them. Entries keep the order in which they were given.
 * A name may be any string, even the empty one, and may occur twice.
 */
export class Collection {
  #names
  #hashes
  #cid = /** @type {CID | undefined} */ (undefined)
  /** The index of the first entry with each name; undefined until `get` is called. */
  #firstIndices = /** @type {Map<string, number> | undefined} */ (undefined)

  /** Call `Collection.from` instead. @param {string[]} names @param {Uint8Array} hashes  one after the other */
  constructor (names, hashes) {
    this.#names = names
    this.#hashes = hashes
  }

  /**
   * Makes a collection.
   *
   * @param {Iterable<NewEntry>} entries
   * @returns {Collection}
   * @throws {TypeError | RangeError} for a name that is not a string or has more than 65 536 bytes
   * @throws {import('../../lib/core/errors.js').BaoError} CID_UNSUPPORTED
   */
  static from (entries) {
    assertMany('entries', entries, 'pairs of a name and a CID')
    const names = []
    const hashes = new ByteQueue()
    for (const entry of entries) {
      const { name, root } = parseEntry(entry)
      encodeName(name) // only to check it
      names.push(name)
      hashes.push(root, Infinity)
    }
    return new Collection(names, hashes.bytes)
  }

  /**
   * Reads the two blobs of a collection.
   *
   * @param {{ sequence: Uint8Array, meta: Uint8Array }} blobs  not kept
   * @returns {Collection}
   * @throws {import('../../lib/core/errors.js').BaoError} COLLECTION_INVALID
   */
  static fromBytes ({ sequence, meta }) {
    assertBytes('sequence', sequence)
    assertBytes('meta', meta)
    const parser = new MetaParser(memberCount(sequence.length))
    if (!areEqual(sequence, 0, hash(meta))) throw invalid('the sequence names another meta blob')
    const names = [...parser.push(meta)].flat()
    parser.end()
    return new Collection(names, new Uint8Array(sequence.subarray(HASH_LEN))) // the `slice` of a Buffer is no copy
  }

  /** The number of entries. */
  get length () { return this.#names.length }

  /** The CID of the collection, which is the CID of its sequence. */
  get cid () {
    this.#cid ??= toCid(hash(this.toBytes().sequence), HASHSEQ)
    return this.#cid
  }

  /** The two blobs, in the form that iroh has. @returns {{ sequence: Uint8Array, meta: Uint8Array }} fresh */
  toBytes () {
    const queue = new ByteQueue()
    queue.push(metaHead(this.length), Infinity)
    for (const name of this.#names) queue.push(encodeName(name), Infinity)
    const meta = queue.bytes.slice()
    return { sequence: concat([hash(meta), this.#hashes]), meta }
  }

  /** The CID of the first entry that has a name. @param {string} name @returns {CID | undefined} */
  get (name) {
    this.#firstIndices ??= firstPlaces(this.#names)
    const place = this.#firstIndices.get(name)
    return place === undefined ? undefined : this.#cidAt(place)
  }

  /** The names, in the order of the entries. @returns {IterableIterator<string>} */
  names () { return this.#names.values() }

  /** The entries, in their order. @returns {Generator<CollectionEntry>} */
  * entries () {
    for (const [i, name] of this.#names.entries()) yield [name, this.#cidAt(i)]
  }

  [Symbol.iterator] () { return this.entries() }

  /** @param {number} i */
  #cidAt (i) { return toCid(this.#hashes.subarray(i * HASH_LEN, (i + 1) * HASH_LEN)) }
}

/** @param {string[]} names @returns {Map<string, number>} */
function firstPlaces (names) {
  const firstIndices = new Map()
  for (let i = names.length - 1; i >= 0; i--) firstIndices.set(names[i], i)
  return firstIndices
}

/**
 * Checks the form of an entry.
 *
 * @param {NewEntry} entry  from a caller
 * @returns {{ name: string, root: Uint8Array }} the name is not checked
 */
export function parseEntry (entry) {
  if (!Array.isArray(entry)) throw new TypeError('"entries" expected pairs of a name and a CID')
  return { name: entry[0], root: parseRoot(entry[1], 'cid') }
}

/**
 * @param {number} len  bytes of the sequence
 * @returns {number} how many entries the collection has
 * @throws {import('../../lib/core/errors.js').BaoError} COLLECTION_INVALID
 */
export function memberCount (len) {
  if (len % HASH_LEN !== 0) throw invalid(`its sequence has ${len} bytes, which is not a multiple of ${HASH_LEN}`)
  if (len === 0) throw invalid('its sequence is empty, so there is no meta blob')
  return len / HASH_LEN - 1
}
