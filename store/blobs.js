// BlobStore: blobs under their BLAKE3 hashes, whole or in part. What comes out is verified against the hash on its way.

import { BaoError, truncated } from '../lib/errors.js'
import { CHUNK_LEN } from '../lib/constants.js'
import { ChunkRanges, toRanges } from '../lib/ranges.js'
import { assertInteger } from '../lib/bytes.js'
import { chunkCount, levelOf } from '../lib/tree.js'
import { concat } from 'uint8arrays/concat'
import { parseRoot, toCid } from '../lib/cid.js'
import { toPieces } from '../lib/source.js'
import { totalOf } from '../lib/stream.js'
import { encodeSlice } from '../encoder/slice.js'
import { SliceVerifier } from '../verifier/slice.js'
import { VerifiedReader } from '../verifier/reader.js'
import { Catalog, nameOf } from './catalog.js'
import { Databases, VIEWS } from './databases.js'
import { ExtentReader } from './extents.js'
import { GROUP_LEN, StoredOutboard, presentChunks } from './pages.js'
import { IncomingBlob } from './incoming.js'
import { Locks } from './locks.js'
import { Received } from './received.js'
import { allOfId } from './keys.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from './keys.js' */
/** @import { DatabasePair } from './databases.js' */
/** @import { ProgressOptions, Source } from '../lib/types.js' */
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

/** Bytes of verified groups that are gathered before they are written. */
const RECEIVE_BATCH_LEN = 1 << 22

export class BlobStore {
  #databases
  #catalog
  #verifies
  #locks = new Locks()
  #isClosed = false
  /** Puts and receives under way. */
  #writers = 0
  /** Did something fail that should have been cleaned up? Then the next opening does it. */
  #isUnclean = false
  /** What is here of incomplete blobs: looked up once, then kept up to date. */
  #present = /** @type {Map<string, ChunkRanges>} */ (new Map())

  /** @param {Databases} databases @param {boolean} verifies */
  constructor (databases, verifies) {
    this.#databases = databases
    this.#catalog = new Catalog(databases)
    this.#verifies = verifies
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
  put (source, { signal, onProgress } = {}) {
    return this.#write(async () => {
      const id = await this.#databases.newId()
      const blob = new IncomingBlob(this.#databases, id)
      const total = totalOf(source)
      try {
        for await (const piece of toPieces(source, { signal })) {
          await blob.write(piece)
          onProgress?.({ type: 'baobox:put', detail: { done: blob.size, total } })
        }
        const root = blob.root()
        return await this.#locks.run(nameOf(root), () => this.#adopt(id, root, blob, signal))
      } catch (error) {
        await this.#discard(id, blob)
        throw error
      }
    })
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
    await this.#require(root, record, ChunkRanges.fromBytes(start, stop))
    const reader = new ExtentReader(this.#databases.data, record, start, Math.min(stop, record.size))
    try {
      if (verify) {
        const outboard = this.#outboard(root, record)
        yield * new VerifiedReader({ root, source: reader, outboard }).stream(start, stop, { signal })
      } else {
        for (let at = start; at < Math.min(stop, record.size); at += GROUP_LEN) {
          signal?.throwIfAborted()
          const pieceEnd = Math.min(at + GROUP_LEN, stop, record.size)
          const piece = await reader.read(at, pieceEnd)
          if (piece.length < pieceEnd - at) throw truncated({ start: at, wanted: pieceEnd - at, got: piece.length })
          yield /** @type {Uint8Array<ArrayBuffer>} */ (piece)
        }
      }
    } catch (error) {
      throw await this.#explain(error, root)
    } finally {
      await reader.close()
    }
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
    return /** @type {Uint8Array<ArrayBuffer>} */ (concat(pieces))
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
    return (await this.#record(parseRoot(cid)))?.complete ?? false
  }

  /**
   * What is known of a blob, and which chunks are here.
   *
   * @param {BlobName} cid
   * @returns {Promise<BlobStat & { present: ChunkRanges }>}
   * @throws {BaoError} STORE_NOT_FOUND { cid }
   */
  async stat (cid) {
    const { root, record } = await this.#find(cid, { isUse: false })
    return { ...await this.#describe(root, record), present: await this.#presentOf(root, record) }
  }

  /** All blobs, whole or in part, in the order of their hashes. @returns {AsyncGenerator<BlobStat>} */
  async * list () {
    this.#assertOpen()
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
    return this.#locks.run(nameOf(root), async () => {
      const record = await this.#record(root)
      if (record === undefined || record.size === 0) return false
      this.#present.delete(nameOf(root))
      await this.#catalog.remove(root, record)
      return true
    })
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
    const reader = new ExtentReader(this.#databases.data, record, ...spanOf(wanted, record.size))
    try {
      yield * encodeSlice(reader, this.#outboard(root, record), wanted, { header, validate: this.#verifies, signal })
    } catch (error) {
      throw await this.#explain(error, root)
    } finally {
      await reader.close()
    }
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
  receive (cid, source, ranges, { size, signal, onProgress } = {}) {
    return this.#write(async () => {
      const root = parseRoot(cid)
      const received = new Received()
      /** @type {SliceVerifier} */
      const verifier = new SliceVerifier({ root, ranges: toRanges(ranges), size }, {
        pair: (node, at) => received.pair(node, at),
        leaf: (start, memory, at, len) => received.group(start, memory, at, len, /** @type {number} */ (verifier.size))
      })
      let len = 0
      let fault
      try {
        for await (const piece of toPieces(source, { signal })) {
          verifier.write(piece)
          if (received.len >= RECEIVE_BATCH_LEN) len += await this.#keep(root, received, verifier, false)
          onProgress?.({ type: 'baobox:receive', detail: { done: verifier.bytesRead } })
          if (verifier.done) break
        }
        verifier.end()
      } catch (error) {
        fault = error
        // A source that failed says nothing against what it gave before.
        if (verifier.error === undefined) attempt(() => verifier.flush())
      }
      len += await this.#keep(root, received, verifier, true)
      if (fault !== undefined) throw fault
      return { received: len, complete: await this.has(root) }
    })
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
    const record = await this.#record(root)
    return record === undefined ? wanted : this.#missingOf(root, record, wanted)
  }

  /** Ends what is under way and lets go of the databases. Every later call fails with STORE_CLOSED. */
  async close () {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      await this.#catalog.flush()
    } finally {
      await this.#databases.close(this.#writers === 0 && !this.#isUnclean)
    }
  }

  async [Symbol.asyncDispose] () { await this.close() }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async #write (work) {
    this.#assertOpen()
    this.#writers++
    try {
      return await work()
    } catch (error) {
      throw this.#isClosed ? closed(error) : error
    } finally {
      this.#writers--
    }
  }

  /**
   * Makes a written blob one that can be seen, unless it is here already.
   *
   * @param {number} id @param {Uint8Array} root @param {IncomingBlob} blob @param {AbortSignal} [signal]
   */
  async #adopt (id, root, blob, signal) {
    const before = await this.#record(root)
    const result = { cid: toCid(root), size: blob.size, isNew: !before?.complete }
    if (before?.complete) {
      await this.#discard(id, blob)
      return result
    }
    // First the data, then the record that says it is there: the order is what makes two databases one truth.
    await blob.finish()
    signal?.throwIfAborted()
    const record = { id, size: blob.size, sizeProven: true, complete: true, created: Date.now() }
    await this.#catalog.write(root, record, { sync: true, replaces: before })
    this.#catalog.touch(root)
    this.#present.delete(nameOf(root))
    return result
  }

  /** Deletes what was written of a blob that nobody has seen. @param {number} id @param {IncomingBlob} blob */
  async #discard (id, blob) {
    await blob.settle()
    if (!blob.isWritten) return
    try {
      await this.#databases.data.clear({ ...allOfId(id), ...VIEWS })
    } catch {
      this.#isUnclean = true
    }
  }

  /** Writes verified groups. @param {Uint8Array} root @param {Received} received @param {SliceVerifier} verifier @param {boolean} isLast */
  #keep (root, received, verifier, isLast) {
    return this.#locks.run(nameOf(root), async () => {
      const { data, syncOptions } = this.#databases
      const before = await this.#record(root)
      if (verifier.size === undefined || before?.complete || (before === undefined && received.len === 0)) {
        received.drop()
        return 0
      }
      const record = { ...before ?? { id: await this.#databases.newId(), size: 0, sizeProven: false, complete: false, created: Date.now() } }
      if (!record.sizeProven) {
        record.size = verifier.size
        record.sizeProven = verifier.sizeProven
      }
      // Data without a record would be swept away after a crash.
      if (before === undefined) await this.#catalog.write(root, record, { sync: false })
      const present = before === undefined ? ChunkRanges.none : await this.#presentOf(root, record)
      const { puts, fresh, len } = await received.take(data, record.id)
      await data.batch(puts, isLast ? syncOptions : VIEWS)
      const now = present.union(fresh)
      record.complete = record.sizeProven && now.contains(0, chunkCount(record.size))
      await this.#catalog.write(root, record, { sync: isLast })
      this.#catalog.touch(root)
      if (record.complete) this.#present.delete(nameOf(root))
      else this.#present.set(nameOf(root), now)
      return len
    })
  }

  /** @param {Uint8Array} root */
  async #record (root) {
    this.#assertOpen()
    return this.#catalog.record(root)
  }

  /** @param {BlobName} cid @param {{ isUse?: boolean }} [options] */
  async #find (cid, { isUse = true } = {}) {
    const root = parseRoot(cid)
    const record = await this.#record(root)
    if (record === undefined) throw notFound(root)
    if (isUse) this.#catalog.touch(root)
    return { root, record }
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted */
  async #require (root, record, wanted) {
    const missing = await this.#missingOf(root, record, wanted)
    if (!missing.isEmpty) throw missingError(root, missing)
  }

  /** Whole groups: none can be proven in part. @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted */
  async #missingOf (root, record, wanted) {
    if (record.complete) return ChunkRanges.none
    const groups = wanted.canonical(record.size).roundToGroups(4).intersect(new ChunkRanges([0, chunkCount(record.size)]))
    return groups.difference(await this.#presentOf(root, record))
  }

  /** @param {Uint8Array} root @param {BlobRecord} record */
  async #presentOf (root, record) {
    if (record.complete) return ChunkRanges.all.canonical(record.size)
    const name = nameOf(root)
    const present = this.#present.get(name) ?? await presentChunks(this.#databases.data, record)
    this.#present.set(name, present)
    return present
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @returns {Promise<BlobStat>} */
  async #describe (root, { size, sizeProven, complete, created }) {
    const lastUsed = await this.#catalog.lastUsed(root) ?? created
    return { cid: toCid(root), size, sizeProven, complete, created: new Date(created), lastUsed: new Date(lastUsed) }
  }

  /** @param {Uint8Array} root @param {BlobRecord} record */
  #outboard (root, { id, size }) {
    return new StoredOutboard(this.#databases.data, { id, root, size }, node => new BaoError('BAO_PARENT_MISMATCH', `parent ${node} is not there`, { node }))
  }

  /**
   * What it means that stored bytes did not verify or were not there.
   *
   * @param {unknown} error
   * @param {Uint8Array} root
   */
  async #explain (error, root) {
    if (this.#isClosed) return closed(error)
    if (!(error instanceof BaoError) || !/^(BAO|STORE_CORRUPT)/.test(error.code)) return error
    if (await this.#record(root) === undefined) return notFound(root)
    const { start, len } = placeOf(error)
    return new BaoError('STORE_CORRUPT', `bytes ${start} to ${start + len} of ${toCid(root)} are damaged`, { cid: toCid(root), start, len, cause: error })
  }

  #assertOpen () {
    if (this.#isClosed) throw closed()
  }
}

/** Does what may fail, when the failure tells nothing new. @param {() => void} work */
const attempt = work => {
  try {
    work()
  } catch {}
}
/** @param {unknown} [cause] */
const closed = cause => new BaoError('STORE_CLOSED', 'the store is closed', { cause })
/** @param {Uint8Array} root */
const notFound = root => new BaoError('STORE_NOT_FOUND', `${toCid(root)} is not in the store`, { cid: toCid(root) })
/** @param {Uint8Array} root @param {ChunkRanges} ranges */
const missingError = (root, ranges) => new BaoError('STORE_MISSING', `parts of ${toCid(root)} are not here`, { cid: toCid(root), ranges })

/** The bytes that a fault casts doubt on: a leaf's own, all below a parent. @param {BaoError} error */
function placeOf ({ node, start = 0, len, wanted = 0 }) {
  if (node === undefined) return { start, len: len ?? wanted }
  const side = 2 ** levelOf(node)
  return { start: (node + 1 - side) * CHUNK_LEN, len: 2 * side * CHUNK_LEN }
}

/** The bytes between which all wanted chunks lie, as whole groups. @param {ChunkRanges} wanted @param {number} size @returns {[start: number, end: number]} */
function spanOf (wanted, size) {
  const ranges = wanted.toBytes(size)
  if (ranges.length === 0) return [0, 0]
  return [ranges[0][0], Math.min(Math.ceil(ranges[ranges.length - 1][1] / GROUP_LEN) * GROUP_LEN, size)]
}
