// Reads blobs: as verified bytes, as slices that others verify, and as outboards.

import { BaoError } from '../../lib/core/errors.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { assertInteger, assertOptions, concat } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { Outboard } from '../../encoder/outboard.js'
import { encodeSlice } from '../../encoder/slice.js'
import { RegroupedOutboard, outboardPieces } from './regrouped-outboard.js'
import { SmallReads } from './small-read.js'
import { StoredView } from './snapshot.js'
import { TrustedTrees } from './tree-cache.js'
import { changed, closedError, corrupt, missing, notFound, outdated } from '../storage/errors.js'
import { unverified, verified } from './verified-pieces.js'

/** @import { BlobName, GetOptions, ReadOptions, SliceOptions } from '../blob-store.js' */
/** @import { StoreContext } from '../exchange/store-context.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { ProgressOptions } from '../../lib/core/types.js' */
/** @import { RangesLike } from '../../lib/tree/ranges.js' */

/**
 * @typedef {object} Wanted  what is to be read
 * @property {Uint8Array} root
 * @property {BlobRecord} record
 * @property {number} start  bytes
 * @property {number} end  inside the blob, if that is complete
 * @property {boolean} verify
 * @property {boolean} [reuse]  are pieces borrowed until the next piece?
 * @property {AbortSignal} [signal]
 * @property {ProgressOptions['onProgress']} [onProgress]
 */

/**
 * @typedef {object} OutboardPart
 * @property {number} groupLog  0 to 16
 * @property {number} [start]  bytes of the outboard. Default: 0
 * @property {number} [end]  Default: its end
 * @property {AbortSignal} [signal]
 */

const READ_OPTIONS = ['verify', 'reuse', 'signal', 'onProgress']
const RANGE_OPTIONS = ['start', 'end', ...READ_OPTIONS]
/** @type {ReadOptions} */
const NO_OPTIONS = {}

export class BlobReader {
  #store
  #trees = new TrustedTrees()
  #smallReads

  /** @param {StoreContext} store */
  constructor (store) {
    this.#store = store
    this.#smallReads = new SmallReads(store.databases, this.#trees)
  }

  /**
   * @param {BlobName} cid @param {GetOptions | ChunkRanges} [range] @param {ReadOptions} [options]  see `BlobStore.get`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * get (cid, range, options) {
    yield * this.#told(await this.#findAll(cid, range, options))
  }

  /** @param {Wanted[]} all */
  #told (all) { return all[0]?.onProgress === undefined ? this.#piecesOf(all) : withProgress(this.#piecesOf(all), all) }

  /** @param {Wanted[]} all @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #piecesOf (all) {
    for (const wanted of all) {
      const small = this.#smallReads.read(wanted)
      const release = this.#store.protection.use(wanted.root)
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
   * @param {BlobName} cid
   * @param {GetOptions | ChunkRanges} [range]
   * @param {ReadOptions} [options]  see `BlobStore.bytes`
   * @returns {Promise<Uint8Array<ArrayBuffer>>}
   */
  async bytes (cid, range, options) {
    const all = await this.#findAll(cid, range, options)
    if (all.length === 1 && all[0].onProgress === undefined) return this.#bytesOf(all[0])
    const parts = []
    for await (const piece of this.#told(all.map(wanted => ({ ...wanted, reuse: false })))) parts.push(piece)
    return concat(parts)
  }

  /** @param {Wanted} wanted @returns {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} */
  #bytesOf (wanted) {
    const small = this.#smallReads.read(wanted)
    // A synchronous read needs no protection: nothing else ran meanwhile.
    return small instanceof Uint8Array ? small : this.#bytesLater(wanted, small)
  }

  /** @param {Wanted} wanted @param {Promise<Uint8Array<ArrayBuffer> | undefined> | undefined} small */
  async #bytesLater (wanted, small) {
    const release = this.#store.protection.use(wanted.root)
    try {
      const bytes = await small
      if (bytes !== undefined) return bytes
      const pieces = []
      for await (const piece of this.#pieces({ ...wanted, reuse: false })) pieces.push(piece)
      // A small part of a piece would keep all of its memory.
      return pieces.length === 1 && pieces[0].length === pieces[0].buffer.byteLength ? pieces[0] : concat(pieces)
    } finally {
      release()
    }
  }

  /**
   * Reads the long way, and goes on where damage was healed. The caller protects the blob.
   *
   * @param {Wanted} wanted
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  #pieces (wanted) {
    const { root, record, start, end, verify, signal } = wanted
    const rest = (/** @type {number} */ given) => ChunkRanges.fromBytes(start + given, Math.max(start + given, end))
    return this.#store.healer.read(root, { notes: verify, signal }).pieces(record, rest, (now, given) =>
      this.#piecesFrom({ ...wanted, record: now, start: start + given }))
  }

  /** @param {Wanted} wanted @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #piecesFrom ({ root, record, start, end, verify, reuse, signal }) {
    if (start >= end) return
    const chunks = ChunkRanges.fromBytes(start, end)
    await this.#require(root, record, chunks)
    const range = { start, end: Math.min(end, record.size) }
    if (range.start >= range.end) return
    const pieces = verify ? verified : unverified
    yield * this.#reading(root, record, spanOf(chunks, record.size), view => pieces(view, range, { signal, reuse }))
  }

  /**
   * @param {BlobName} cid
   * @param {RangesLike} [ranges]
   * @param {SliceOptions} [options]  see `BlobStore.slice`
   * @param {{ readsAhead?: boolean }} [how]  `false` for callers that may wait long between pieces: see `calmSource`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * slice (cid, ranges, options = {}, { readsAhead = true } = {}) {
    assertKnownOptions(options, ['groupLog', 'header', 'reuse', 'signal'])
    const { groupLog = GROUP_LOG, header = true, reuse, signal } = options
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    const wanted = toRanges(ranges)
    const { root, record } = await this.#use(cid, signal)
    const release = this.#store.protection.use(root)
    const validate = this.#store.verifies || record.home === 'reference'
    // The pairs inside a group that is wanted in part are computed from all of its bytes.
    const needed = groupLog <= GROUP_LOG ? wanted : wanted.canonical(record.size).roundToGroups(groupLog)
    /** @param {BlobRecord} now @param {number} given  bytes of the slice */
    const read = async (now, given) => {
      await this.#require(root, now, needed)
      return withoutFirst(given, this.#reading(root, now, spanOf(needed, now.size), view => {
        const outboard = groupLog === GROUP_LOG ? view.outboard : new RegroupedOutboard(view, groupLog)
        const source = readsAhead ? view.source : view.calmSource
        return encodeSlice(source, outboard, wanted, { header, validate, reuse, signal })
      }))
    }
    try {
      yield * this.#store.healer.read(root, { notes: validate, signal }).pieces(record, () => needed, read)
    } finally {
      release()
    }
  }

  /**
   * @param {BlobName} cid @param {{ signal?: AbortSignal }} [options]  see `BlobStore.outboard`
   * @returns {Promise<Outboard>}
   */
  async outboard (cid, options = {}) {
    assertKnownOptions(options, ['signal'])
    const { signal } = options
    const { root, record } = await this.#use(cid, signal)
    const pieces = []
    // The size is a claim: the memory grows with the pairs that are there.
    for await (const piece of this.#outboardPieces(root, record, { groupLog: GROUP_LOG, signal })) pieces.push(piece)
    return Outboard.from({ root, size: record.size, groupLog: GROUP_LOG, order: 'pre', bytes: concat(pieces) })
  }

  /**
   * A part of the outboard of a whole blob, in pre-order, piece by piece. Each pair is verified before it is given.
   *
   * @param {BlobName} cid @param {OutboardPart} part
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} the caller's own pieces
   */
  async * outboardPieces (cid, part) {
    const { root, record } = await this.#use(cid, part.signal)
    yield * this.#outboardPieces(root, record, part)
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {OutboardPart} part */
  async * #outboardPieces (root, record, { groupLog, start = 0, end = Infinity, signal }) {
    const release = this.#store.protection.use(root)
    /** @param {BlobRecord} now @param {number} given  bytes of the outboard */
    const read = async (now, given) => {
      await this.#require(root, now, ChunkRanges.all)
      const stop = Math.min(end, outboardLen(now.size, groupLog))
      return this.#reading(root, now, [0, now.size], view =>
        outboardPieces(view, { groupLog, start: start + given, end: stop, signal }))
    }
    try {
      yield * this.#store.healer.read(root, { notes: true, signal }).pieces(record, () => ChunkRanges.all, read)
    } finally {
      release()
    }
  }

  /**
   * Everything that is present of a blob, verified in any case. This does not count as a use.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * present (root, record, signal) {
    const release = this.#store.protection.use(root)
    try {
      for (const [start, end] of (await this.#store.presence.of(record)).toBytes(record.size)) {
        const span = spanOf(ChunkRanges.fromBytes(start, end), record.size)
        yield * this.#reading(root, record, span, view => verified(view, { start, end }, { signal }))
      }
    } finally {
      release()
    }
  }

  /**
   * What is about to be read: one part of the blob, or one for each range of chunks.
   *
   * @param {BlobName} cid @param {GetOptions | ChunkRanges} [range] @param {ReadOptions} [options]
   * @returns {Promise<Wanted[]>}
   */
  async #findAll (cid, range = {}, options = NO_OPTIONS) {
    assertOptions('range', range, '{ start, end, ... } or ChunkRanges')
    assertKnownOptions(options, READ_OPTIONS)
    if (range instanceof ChunkRanges) {
      const { root, record: found } = await this.#use(cid, options.signal)
      // Behind the end that was claimed there may be chunks, too.
      const record = found.complete ? found : await this.#present(root, found, range, options)
      return range.toBytes(record.size).map(([start, end]) => this.#wanted(root, record, start, end, options))
    }
    assertKnownOptions(range, RANGE_OPTIONS)
    const { start = 0, end = Infinity } = range
    assertInteger('start', start)
    if (end !== Infinity) assertInteger('end', end)
    const given = options === NO_OPTIONS ? range : { ...range, ...options }
    const { root, record } = await this.#use(cid, given.signal)
    return [this.#wanted(root, record, start, end, given)]
  }

  /**
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {number} start
   * @param {number} end
   * @param {ReadOptions} options
   * @returns {Wanted}
   */
  #wanted (root, record, start, end, { verify = this.#store.verifies, reuse, signal, onProgress }) {
    const last = record.complete ? Math.min(end, record.size) : end
    return { root, record, start, end: last, verify: verify || record.home === 'reference', reuse, signal, onProgress }
  }

  /**
   * Looks up a blob that is about to be read, and notes its use.
   *
   * @param {BlobName} cid @param {AbortSignal} [signal]
   */
  async #use (cid, signal) {
    signal?.throwIfAborted()
    const root = parseRoot(cid, 'cid')
    return this.#store.life.run(async () => {
      const record = await this.#store.catalog.get(root)
      if (record === undefined) throw notFound(root)
      this.#store.catalog.uses.touch(root)
      return { root, record }
    })
  }

  /**
   * Waits until ranges are present of a blob, if they can be healed.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted @param {ReadOptions} options
   * @returns {Promise<BlobRecord>} the record as it is then
   */
  #present (root, record, wanted, { verify = this.#store.verifies, signal }) {
    const healing = this.#store.healer.read(root, { notes: verify, signal })
    return this.#store.life.run(() => healing.present(record, wanted))
  }

  /** @param {Uint8Array} root @param {BlobRecord} record @param {ChunkRanges} wanted */
  async #require (root, record, wanted) {
    const ranges = await this.#store.life.run(() => this.#store.presence.missing(record, wanted))
    if (!ranges.isEmpty) throw missing(root, ranges)
  }

  /**
   * Reads a blob through a view of it, and explains a failure. The caller protects the blob.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord} record
   * @param {[start: number, end: number]} span  bytes that may be read
   * @template T
   * @param {(view: StoredView) => AsyncGenerator<T>} use
   */
  async * #reading (root, record, span, use) {
    const view = new StoredView(this.#store.databases, root, record, this.#trees.of(root, record), span)
    try {
      yield * use(view)
    } catch (error) {
      throw await this.#explain(error, root, record)
    } finally {
      await view.close()
    }
  }

  /**
   * The error that callers get when stored bytes did not verify, or were missing.
   *
   * @param {unknown} error @param {Uint8Array} root @param {BlobRecord} record  as it was when reading began
   */
  async #explain (error, root, record) {
    if (this.#store.life.isEnded) return closedError(error)
    if (!(error instanceof BaoError) || error.code.startsWith('STORE_')) return error
    const now = await this.#store.catalog.get(root)
    if (now === undefined) return notFound(root)
    if (now.id !== record.id && !now.isDamaged) return changed(root, error)
    return await this.#store.databases.hasChanged() ? outdated(root, error) : corrupt(root, record.size, error)
  }
}

/**
 * Reports progress when the caller has finished a piece.
 *
 * @param {AsyncIterable<Uint8Array<ArrayBuffer>>} pieces @param {Wanted[]} all  of which they are; at least one
 */
async function * withProgress (pieces, all) {
  const total = all.reduce((len, { start, end, record }) => len + Math.max(0, Math.min(end, record.size) - start), 0)
  let done = 0
  for await (const piece of pieces) {
    yield piece
    done += piece.length
    all[0].onProgress?.({ type: 'baobox:get', detail: { done, total } })
  }
}

/**
 * The bytes between which all groups of the wanted chunks lie.
 *
 * @param {ChunkRanges} wanted @param {number} size
 * @returns {[start: number, end: number]}
 */
function spanOf (wanted, size) {
  const groups = wanted.canonical(size).roundToGroups(GROUP_LOG).toBytes(size)
  return groups.length === 0 ? [0, 0] : [groups[0][0], groups[groups.length - 1][1]]
}

/**
 * Pieces without the first bytes.
 *
 * @param {number} len  of the first bytes @param {AsyncIterable<Uint8Array<ArrayBuffer>>} pieces
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * withoutFirst (len, pieces) {
  let left = len
  for await (const piece of pieces) {
    const rest = left === 0 ? piece : piece.subarray(Math.min(left, piece.length))
    left -= piece.length - rest.length
    if (rest.length > 0) yield rest
  }
}
