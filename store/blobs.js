// BlobStore: blobs under their BLAKE3 hashes, whole or in part. What comes out is verified against the hash on its way.

import { concat } from '../lib/bytes.js'
import { parseRoot, toCid } from '../lib/cid.js'
import { toRanges } from '../lib/ranges.js'
import { BlobReader } from './reader.js'
import { BlobWriter } from './writer.js'
import { Catalog, nameOf } from './catalog.js'
import { Databases } from './databases.js'
import { Lifetime } from './lifetime.js'
import { Locks } from './locks.js'
import { Presence } from './presence.js'
import { notFound } from './faults.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from './keys.js' */
/** @import { Database, DatabasePair } from './databases.js' */
/** @import { ProgressOptions, Source } from '../lib/types.js' */
/** @import { ChunkRanges, RangesLike } from '../lib/ranges.js' */

/** @typedef {CID | string | Uint8Array} BlobName  a CID in any form, 64 hexadecimal digits, or the 32-byte hash */

/**
 * @typedef {object} StoreOptions
 * @property {'sync' | 'process'} [durability]  what a resolved write survives: `sync` (unless told) a power cut, `process` the end of the process
 * @property {boolean} [verify]  check what is read against the hash; true unless told
 */

/**
 * @typedef {object} BlobStat
 * @property {CID} cid
 * @property {number} size  bytes; a claim unless `sizeProven`
 * @property {boolean} sizeProven
 * @property {boolean} complete  is every byte here?
 * @property {Date} created
 * @property {Date} lastUsed
 */

/** @typedef {{ start?: number, end?: number, verify?: boolean, signal?: AbortSignal }} GetOptions  bytes; `end` is not included, and may lie beyond the end */

/**
 * What the parts of a store know of each other.
 *
 * @typedef {object} StoreParts
 * @property {Databases} databases
 * @property {Database} data
 * @property {Catalog} catalog
 * @property {Locks} locks
 * @property {Presence} presence
 * @property {Lifetime} life
 * @property {boolean} verifies
 */

/** For what is built upon a store and not reached through it: blockstore.js. @type {(store: BlobStore) => StoreParts & { writer: BlobWriter }} */
export let partsOf

export class BlobStore {
  static {
    partsOf = store => ({ ...store.#parts, writer: store.#writer })
  }

  #parts
  #databases
  #catalog
  #locks = new Locks()
  #presence
  #reader
  #writer
  #life = new Lifetime()
  #closing = /** @type {Promise<void> | undefined} */ (undefined)

  /** @param {Databases} databases @param {boolean} verifies */
  constructor (databases, verifies) {
    this.#databases = databases
    this.#catalog = new Catalog(databases)
    this.#presence = new Presence(databases.data)
    this.#parts = { data: databases.data, databases, catalog: this.#catalog, locks: this.#locks, presence: this.#presence, life: this.#life, verifies }
    this.#reader = new BlobReader(this.#parts)
    this.#writer = new BlobWriter(this.#parts)
  }

  /**
   * @param {string | DatabasePair} where  a directory, made when missing (in a browser: a name); or two levels `{ index, data }`,
   *   which the store then owns
   * @param {StoreOptions} [options]
   * @returns {Promise<BlobStore>}
   * @throws {BaoError} STORE_LOCKED { location } when it is open elsewhere, STORE_VERSION, STORE_OPEN_FAILED
   */
  static async open (where, { durability = 'sync', verify = true } = {}) {
    if (durability !== 'sync' && durability !== 'process') throw new TypeError(`"durability" expected 'sync' or 'process', got '${durability}'`)
    return new BlobStore(await Databases.open(where, { sync: durability === 'sync' }), verify)
  }

  /**
   * Keeps a blob. Memory stays bounded however long it is; until it is whole nobody sees it, and a failure leaves nothing.
   *
   * @param {Source} source
   * @param {ProgressOptions} [options]  `onProgress` gets `baobox:put`
   * @returns {Promise<{ cid: CID, size: number, isNew: boolean }>} `isNew`: it was not here before
   */
  put (source, options = {}) {
    return this.#whileOpen(() => this.#writer.put(source, options))
  }

  /**
   * The bytes of a blob, piece by piece, each verified before it is given.
   *
   * @param {BlobName} cid
   * @param {GetOptions} [options]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT { cid, start, len }
   */
  get (cid, options) {
    return this.#reader.get(cid, options)
  }

  /**
   * The same, in one piece of memory.
   *
   * @param {BlobName} cid
   * @param {GetOptions} [range]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh
   */
  async bytes (cid, range) {
    const pieces = []
    for await (const piece of this.get(cid, range)) pieces.push(piece)
    return concat(pieces)
  }

  /**
   * The same, as a web stream of bytes.
   *
   * @param {BlobName} cid
   * @param {GetOptions} [range]
   * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
   */
  stream (cid, range) {
    const pieces = this.get(cid, range)
    return new ReadableStream({
      async pull (controller) {
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel () { await pieces.return(undefined) }
    })
  }

  /** Is the whole blob here? @param {BlobName} cid */
  async has (cid) {
    const root = parseRoot(cid)
    return this.#whileOpen(async () => (await this.#catalog.record(root))?.complete ?? false)
  }

  /**
   * What is known of a blob, and which chunks are here.
   *
   * @param {BlobName} cid
   * @returns {Promise<BlobStat & { present: ChunkRanges }>}
   * @throws {BaoError} STORE_NOT_FOUND { cid }
   */
  async stat (cid) {
    const root = parseRoot(cid)
    return this.#whileOpen(async () => {
      const record = await this.#catalog.record(root)
      if (record === undefined) throw notFound(root)
      return { ...await this.#describe(root, record), present: await this.#presence.of(root, record) }
    })
  }

  /** All blobs, whole or in part, in the order of their hashes. @returns {AsyncGenerator<BlobStat>} */
  list () {
    return this.#life.each(() => this.#list())
  }

  async * #list () {
    for await (const { root, record } of this.#catalog.records()) yield await this.#describe(root, record)
  }

  /**
   * Forgets a blob, whole or in part. Who is reading it gets the rest, or STORE_NOT_FOUND.
   *
   * @param {BlobName} cid
   * @returns {Promise<boolean>} was it here?
   */
  async delete (cid) {
    const root = parseRoot(cid)
    return this.#whileOpen(() => this.#locks.run(nameOf(root), async () => {
      const { isThere, record } = await this.#catalog.look(root)
      if (!isThere || record?.size === 0) return false
      this.#presence.forget(root)
      await this.#catalog.remove(root, record)
      return true
    }))
  }

  /**
   * A slice that proves these ranges of a blob, from whatever is here of it: the length, then pairs and bytes at group log 4.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  everything unless told
   * @param {{ header?: boolean, signal?: AbortSignal }} [options]  `header`: begin with the length; true unless told
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   * @throws {BaoError} as `get`
   */
  slice (cid, ranges, options) {
    return this.#reader.slice(cid, ranges, options)
  }

  /**
   * Keeps what a slice proves: verified first, then written, window by window. What has been kept stays, also when the rest fails.
   * The unit that is kept is the chunk group (16 KiB).
   *
   * @param {BlobName} cid
   * @param {Source} source  the slice, at group log 4
   * @param {RangesLike} [ranges]  of what: everything unless told
   * @param {ProgressOptions & { size?: number }} [options]  `size`: of the blob, for slices without the length in front.
   *   `onProgress` gets `baobox:receive`
   * @returns {Promise<{ received: number, complete: boolean }>} bytes that were not here before; whether the blob is whole now
   * @throws {BaoError} as `SliceVerifier`
   */
  receive (cid, source, ranges, options) {
    return this.#whileOpen(() => this.#writer.receive(cid, source, ranges, options))
  }

  /**
   * What is not here of a blob.
   *
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]  of these; everything unless told
   * @returns {Promise<ChunkRanges>}
   */
  async missing (cid, ranges) {
    const root = parseRoot(cid)
    const wanted = toRanges(ranges)
    return this.#whileOpen(async () => {
      const record = await this.#catalog.record(root)
      return record === undefined ? wanted : this.#presence.missing(root, record, wanted)
    })
  }

  /** Ends what is under way and lets go of the databases. Every later call fails with STORE_CLOSED. */
  close () {
    this.#life.end()
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close () {
    try {
      await this.#catalog.flush()
    } finally {
      await this.#databases.close(this.#writer.isClean)
    }
  }

  async [Symbol.asyncDispose] () { await this.close() }

  /** @template T @param {() => Promise<T>} work */
  #whileOpen (work) { return this.#life.run(work) }

  /** @param {Uint8Array} root @param {BlobRecord} record @returns {Promise<BlobStat>} */
  async #describe (root, { size, sizeProven, complete, created }) {
    const lastUsed = await this.#catalog.lastUsed(root) ?? created
    return { cid: toCid(root), size, sizeProven, complete, created: new Date(created), lastUsed: new Date(lastUsed) }
  }
}
