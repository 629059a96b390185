// BlobStore: blobs under their BLAKE3 hashes, whole or in part. What comes out is verified against the hash on its way.

import { BaoError, truncated } from '../lib/errors.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../lib/constants.js'
import { ChunkRanges, toRanges } from '../lib/ranges.js'
import { assertInteger, concat } from '../lib/bytes.js'
import { parseRoot, toCid } from '../lib/cid.js'
import { encodeSlice } from '../encoder/slice.js'
import { VerifiedReader } from '../verifier/reader.js'
import { BlobWriter } from './writer.js'
import { Catalog, nameOf } from './catalog.js'
import { Databases } from './databases.js'
import { GROUP_LEN } from './pages.js'
import { Locks } from './locks.js'
import { Presence } from './presence.js'
import { StoredView } from './view.js'
import { changed, closed, corrupt, missing, notFound } from './faults.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from './keys.js' */
/** @import { DatabasePair } from './databases.js' */
/** @import { ProgressOptions, RandomAccess, Source } from '../lib/types.js' */
/** @import { RangesLike } from '../lib/ranges.js' */

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

export class BlobStore {
  #databases
  #catalog
  #verifies
  #locks = new Locks()
  #presence
  #writer
  #closing = /** @type {Promise<void> | undefined} */ (undefined)

  /** @param {Databases} databases @param {boolean} verifies */
  constructor (databases, verifies) {
    this.#databases = databases
    this.#catalog = new Catalog(databases)
    this.#verifies = verifies
    this.#presence = new Presence(databases.data)
    this.#writer = new BlobWriter({ databases, catalog: this.#catalog, locks: this.#locks, presence: this.#presence })
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
   * @param {{ start?: number, end?: number, verify?: boolean, signal?: AbortSignal }} [range]  bytes; `end` is not included, and may lie beyond the end
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces
   * @throws {BaoError} STORE_NOT_FOUND { cid }, STORE_MISSING { cid, ranges }, STORE_CORRUPT { cid, start, len }
   */
  async * get (cid, { start = 0, end = Infinity, verify = this.#verifies, signal } = {}) {
    assertInteger('start', start)
    if (end !== Infinity) assertInteger('end', end)
    signal?.throwIfAborted()
    const { root, record } = await this.#find(cid)
    const stop = record.complete ? Math.min(end, record.size) : end
    if (start >= stop) return
    const wanted = ChunkRanges.fromBytes(start, stop)
    await this.#require(root, record, wanted)
    yield * this.#reading(root, record, spanOf(wanted, record.size), view => verify
      ? new VerifiedReader({ root, ...view }).stream(start, stop, { signal })
      : unverified(view.source, start, Math.min(stop, record.size), signal))
  }

  /**
   * The same, in one piece of memory.
   *
   * @param {BlobName} cid
   * @param {{ start?: number, end?: number, verify?: boolean, signal?: AbortSignal }} [range]
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
   * @param {{ start?: number, end?: number, verify?: boolean, signal?: AbortSignal }} [range]
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
  async * list () {
    this.#assertOpen()
    try {
      for await (const { root, record } of this.#catalog.records()) yield await this.#describe(root, record)
    } catch (error) {
      throw this.#closing ? closed(error) : error
    }
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
  async * slice (cid, ranges, { header = true, signal } = {}) {
    const wanted = toRanges(ranges)
    signal?.throwIfAborted()
    const { root, record } = await this.#find(cid)
    await this.#require(root, record, wanted)
    yield * this.#reading(root, record, spanOf(wanted, record.size), ({ source, outboard }) =>
      encodeSlice(source, outboard, wanted, { header, validate: this.#verifies, signal }))
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

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async #whileOpen (work) {
    this.#assertOpen()
    try {
      return await work()
    } catch (error) {
      throw this.#closing ? closed(error) : error
    }
  }

  /**
   * A blob that is about to be read.
   *
   * @param {BlobName} cid
   */
  #find (cid) {
    const root = parseRoot(cid)
    return this.#whileOpen(async () => {
      const record = await this.#catalog.record(root)
      if (record === undefined) throw notFound(root)
      this.#catalog.touch(root)
      return { root, record }
    })
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted */
  async #require (root, record, wanted) {
    const ranges = await this.#whileOpen(() => this.#presence.missing(root, record, wanted))
    if (!ranges.isEmpty) throw missing(root, ranges)
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @returns {Promise<BlobStat>} */
  async #describe (root, { size, sizeProven, complete, created }) {
    const lastUsed = await this.#catalog.lastUsed(root) ?? created
    return { cid: toCid(root), size, sizeProven, complete, created: new Date(created), lastUsed: new Date(lastUsed) }
  }

  /**
   * Reads a blob in whatever way, and says what it means when that fails.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {[start: number, end: number]} span  bytes that may be read
   * @param {(view: StoredView) => AsyncGenerator<Uint8Array<ArrayBuffer>>} use
   */
  async * #reading (root, record, span, use) {
    const view = new StoredView(this.#databases.data, root, record, ...span)
    try {
      yield * use(view)
    } catch (error) {
      throw await this.#explain(error, root, record)
    } finally {
      await view.close()
    }
  }

  /**
   * What it means that stored bytes did not verify or were not there.
   *
   * @param {unknown} error @param {Uint8Array} root @param {BlobRecord} record  as it was when reading began
   */
  async #explain (error, root, record) {
    if (this.#closing) return closed(error)
    if (!(error instanceof BaoError)) return error
    const now = await this.#catalog.record(root)
    if (now === undefined) return notFound(root)
    return now.id === record.id ? corrupt(root, record.size, error) : changed(root, error)
  }

  #assertOpen () {
    if (this.#closing) throw closed()
  }
}

/**
 * @param {RandomAccess} source @param {number} start @param {number} end @param {AbortSignal} [signal]
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * unverified (source, start, end, signal) {
  for (let at = start; at < end; at += GROUP_LEN) {
    signal?.throwIfAborted()
    const wanted = Math.min(GROUP_LEN, end - at)
    const piece = await source.read(at, at + wanted)
    if (piece.length < wanted) throw truncated({ start: at, wanted, got: piece.length })
    yield /** @type {Uint8Array<ArrayBuffer>} */ (piece)
  }
}

/** The bytes between which all groups of the wanted chunks lie. @param {ChunkRanges} wanted @param {number} size @returns {[start: number, end: number]} */
function spanOf (wanted, size) {
  const groups = wanted.canonical(size).roundToGroups(GROUP_LOG).toBytes(size)
  return groups.length === 0 ? [0, 0] : [groups[0][0], groups[groups.length - 1][1]]
}
