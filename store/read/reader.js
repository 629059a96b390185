// Reads the bytes of blobs, and verifies them: `get` and `bytes` of a store. Small reads take a fast path
// (small-read.js); all others go piece by piece, as reads.js says.

import { CHUNK_LEN } from '../../lib/core/constants.js'
import { ChunkRanges, joined, toRange } from '../../lib/tree/ranges.js'
import { concat } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { contentOf } from '../storage/content/content-of.js'
import { missing } from '../storage/errors.js'
import { spanOf } from './blob-access.js'
import { assertHops } from './reads.js'
import { SmallReads } from './verified/small-read.js'
import { unverified, verified } from './verified/verified-pieces.js'

/** @import { Protection } from '../gc/protection.js' */
/** @import { Lifetime } from '../storage/concurrency/lifetime.js' */
/** @import { Databases } from '../storage/databases.js' */
/** @import { BlobName } from '../blob-store.js' */
/** @import { BlobAccess } from './blob-access.js' */
/** @import { PassedOn, Reads } from './reads.js' */
/** @import { Content } from '../storage/content/content-of.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { ByteRange, RangesLike } from '../../lib/tree/ranges.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */

/**
 * @typedef {object} ReadOwnOptions
 * @property {boolean} [verify]  compare the bytes with the hash. Default: the option `verify` of the store
 * @property {boolean} [reuse]  let `get` reuse the memory of its pieces: each is then borrowed until the next piece.
 *   The results of `bytes` and `stream` always belong to the caller. Default: false
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]  gets `baobox:get`
 */
/** @typedef {ReadOwnOptions & PassedOn} ReadOptions */
/** @typedef {{ ranges: ByteRange[] | ChunkRanges, options: ReadOptions }} Asked  what the caller asks for */

/**
 * @typedef {object} Wanted  one range of a blob to read
 * @property {Content} content
 * @property {number} start  bytes
 * @property {number} end  bytes; inside the blob, if the blob is complete
 * @property {boolean} verify
 * @property {boolean} [reuse]  true if pieces are borrowed until the next piece
 * @property {number} [hops]
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]
 */

const READ_OPTIONS = ['verify', 'reuse', 'hops', 'signal', 'onProgress']
/** @type {ReadOptions} */
const NO_OPTIONS = {}
const EVERYTHING = [{ start: 0, end: Infinity }]

export class BlobReader {
  #access
  #databases
  #reads
  #life
  #protection
  #smallReads
  #verifies

  /**
   * @param {object} parts
   * @param {BlobAccess} parts.access
   * @param {Databases} parts.databases
   * @param {Reads} parts.reads
   * @param {Lifetime} parts.life
   * @param {Protection} parts.protection
   * @param {boolean} parts.verifies  true to compare bytes with the hash, unless a call says otherwise
   */
  constructor ({ access, databases, life, protection, reads, verifies }) {
    this.#access = access
    this.#databases = databases
    this.#reads = reads
    this.#life = life
    this.#protection = protection
    this.#smallReads = new SmallReads(databases, access.trees)
    this.#verifies = verifies
  }

  /**
   * @param {BlobName} cid @param {RangesLike} [ranges] @param {ReadOptions} [options]  see `Store.get`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  get (cid, ranges, options) {
    const asked = askedOf(ranges, options)
    return this.#get(parseRoot(cid, 'cid'), asked)
  }

  /** @param {Uint8Array} root @param {Asked} asked @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #get (root, asked) {
    const all = await this.#findAll(root, asked)
    yield * withProgress(this.#piecesOfAll(all), all)
  }

  /**
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]
   * @param {ReadOptions} [options]  see `Store.bytes`
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async bytes (cid, ranges, options) {
    const all = await this.#findAll(cid, askedOf(ranges, options))
    if (all.length === 1 && all[0].onProgress === undefined) return this.#bytesOf(all[0])
    const pieces = this.#piecesOfAll(all.map(wanted => ({ ...wanted, reuse: false })))
    const parts = []
    for await (const piece of withProgress(pieces, all)) parts.push(piece)
    return concat(parts)
  }

  /**
   * Looks up the blob, and returns the ranges to read.
   *
   * @param {BlobName} cid @param {Asked} asked
   * @returns {Promise<Wanted[]>}
   */
  async #findAll (cid, { ranges, options }) {
    const { root, record: found } = await this.#reads.lookUp(cid, () => chunksOf(ranges), options)
    if (!(ranges instanceof ChunkRanges)) {
      return ranges.map(({ start, end }) => this.#wanted(root, found, start, end, options))
    }
    // A claimed size may be too small, and fetched groups may correct it. So fetch before computing the byte ranges.
    const record = found.complete ? found : await this.#present(root, found, ranges, options)
    return ranges.toBytes(record.size).map(({ start, end }) => this.#wanted(root, record, start, end, options))
  }

  /**
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {number} start
   * @param {number} end
   * @param {ReadOptions} options
   * @returns {Wanted}
   */
  #wanted (root, record, start, end, { verify = this.#verifies, reuse, hops, signal, onProgress }) {
    const last = record.complete ? Math.min(end, record.size) : end
    const content = contentOf(this.#databases, root, record)
    return { content, start, end: last, verify: verify || !content.isOurs, reuse, hops, signal, onProgress }
  }

  /**
   * Waits until ranges of a blob are present, or throws if they cannot be fetched.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted @param {ReadOptions} options
   * @returns {Promise<BlobRecord>} the record after the wait
   */
  #present (root, record, wanted, { verify = this.#verifies, hops, signal }) {
    const read = this.#reads.retried(root, { notes: verify, hops, signal })
    return this.#life.run(() => read.present(record, wanted))
  }

  /** @param {Wanted} wanted @returns {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} */
  #bytesOf (wanted) {
    const small = this.#smallReads.read(wanted)
    // A synchronous read does not need protection, because nothing else runs during it.
    return small instanceof Uint8Array ? small : this.#bytesLater(wanted, small)
  }

  /** @param {Wanted} wanted @param {Promise<Uint8Array<ArrayBuffer> | undefined> | undefined} small */
  async #bytesLater (wanted, small) {
    const release = this.#protection.use(wanted.content.root)
    try {
      const bytes = await small
      if (bytes !== undefined) return bytes
      const pieces = []
      for await (const piece of this.#pieces({ ...wanted, reuse: false })) pieces.push(piece)
      // Copy a piece that is only a part of its buffer, because it would keep the whole buffer in memory.
      return pieces.length === 1 && pieces[0].length === pieces[0].buffer.byteLength ? pieces[0] : concat(pieces)
    } finally {
      release()
    }
  }

  /** @param {Wanted[]} all @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #piecesOfAll (all) {
    for (const wanted of all) {
      const small = this.#smallReads.read(wanted)
      const release = this.#protection.use(wanted.content.root)
      try {
        const bytes = await small
        if (bytes === undefined) yield * this.#pieces(wanted)
        else yield bytes
      } finally {
        release()
      }
    }
  }

  /**
   * Reads piece by piece, and waits for missing or damaged groups if they can be fetched. The caller protects the blob.
   *
   * @param {Wanted} wanted
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  #pieces (wanted) {
    const { content: { root, record }, start, end, verify, hops, signal } = wanted
    const rest = (/** @type {number} */ given) => ChunkRanges.fromBytes(start + given, Math.max(start + given, end))
    return this.#reads.retried(root, { notes: verify, hops, signal }).pieces(record, rest, (now, given) =>
      this.#piecesOnce({ ...wanted, content: contentOf(this.#databases, root, now), start: start + given }))
  }

  /**
   * Reads piece by piece, up to the first missing or damaged group. If missing groups cannot be fetched, it reads
   * nothing.
   *
   * @param {Wanted} wanted
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   * @throws {BaoError} STORE_MISSING, STORE_CORRUPT
   */
  async * #piecesOnce ({ content: { root, record }, start, end, verify, reuse, hops, signal }) {
    if (start >= end) return
    const chunks = ChunkRanges.fromBytes(start, end)
    const lost = await this.#access.missing(record, chunks)
    // Yield the bytes before the first missing group before `supply` is asked for that group.
    const [first = Infinity] = lost.boundaries
    const range = { start, end: Math.min(end, record.size, first * CHUNK_LEN) }
    const hasBeginning = range.start < range.end
    if (!lost.isEmpty && !(this.#reads.canFetch(hops) && hasBeginning)) throw missing(root, record.size, lost)
    if (!hasBeginning) return
    const pieces = verify ? verified : unverified
    const span = spanOf(chunks, record.size)
    yield * this.#access.reading(root, record, span, view => pieces(view, range, { signal, reuse }))
    if (!lost.isEmpty) throw missing(root, record.size, lost)
  }
}

/**
 * @param {RangesLike} [ranges] @param {ReadOptions} [options]
 * @returns {Asked}
 * @throws {TypeError | RangeError}
 */
function askedOf (ranges, options = NO_OPTIONS) {
  assertKnownOptions(options, READ_OPTIONS)
  assertHops(options)
  if (ranges instanceof ChunkRanges) return { ranges, options }
  if (Array.isArray(ranges)) return { ranges: joined(ranges.map(range => toRange(range, 'ranges'))), options }
  return { ranges: ranges === undefined ? EVERYTHING : [toRange(ranges, 'ranges')], options }
}

/** @param {Asked['ranges']} ranges */
const chunksOf = ranges => ranges instanceof ChunkRanges
  ? ranges
  : ranges.reduce((all, { start, end }) => all.union(ChunkRanges.fromBytes(start, end)), ChunkRanges.none)

/**
 * Reports progress, if the caller wants that.
 *
 * @param {AsyncGenerator<Uint8Array<ArrayBuffer>>} pieces @param {Wanted[]} all  the ranges of the pieces
 */
const withProgress = (pieces, all) => all[0]?.onProgress === undefined ? pieces : reported(pieces, all)

/**
 * Reports progress after the caller is done with a piece.
 *
 * @param {AsyncIterable<Uint8Array<ArrayBuffer>>} pieces @param {Wanted[]} all  at least one
 */
async function * reported (pieces, all) {
  const total = all.reduce((len, { start, end, content }) =>
    len + Math.max(0, Math.min(end, content.record.size) - start), 0)
  let done = 0
  for await (const piece of pieces) {
    yield piece
    done += piece.length
    all[0].onProgress?.({ type: 'baobox:get', detail: { done, total, unit: 'bytes' } })
  }
}
