// Reads blobs: as verified bytes, as slices that others verify, and as outboards.

import { BaoError } from '../../lib/core/errors.js'
import { DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { assertInteger, assertOptions, concat } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { encodeSlice } from '../../encoder/slice.js'
import { copyOutboard } from '../storage/content/copy-outboard.js'
import { HealingRead } from './healer.js'
import { SmallReads } from './small-read.js'
import { StoredView } from './snapshot.js'
import { TrustedTrees } from './tree-cache.js'
import { changed, closedError, corrupt, missing, notFound } from '../storage/errors.js'
import { unverified, verified } from './verified-pieces.js'

/** @import { BlobName, GetOptions, ReadOptions, StoreContext } from '../blob-store.js' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Outboard } from '../../encoder/outboard.js' */
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
 */

const READ_OPTIONS = ['verify', 'reuse', 'signal']
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
    for (const wanted of await this.#findAll(cid, range, options)) {
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
    if (all.length === 1) return this.#bytesOf(all[0])
    const parts = []
    for (const wanted of all) parts.push(await this.#bytesOf(wanted))
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
  async * #pieces ({ root, record, start, end, verify, reuse, signal }) {
    const healing = new HealingRead(this.#store, root, { notes: verify, signal })
    for (let [at, now] = [start, record]; at < end;) {
      try {
        for await (const piece of this.#piecesFrom({ root, record: now, start: at, end, verify, reuse, signal })) {
          at += piece.length
          yield piece
        }
        return
      } catch (error) {
        now = await healing.after(error, now, ChunkRanges.fromBytes(at, end))
      }
    }
  }

  /** @param {Wanted} wanted @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} */
  async * #piecesFrom ({ root, record, start, end, verify, reuse, signal }) {
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
   * @param {{ header?: boolean, reuse?: boolean, signal?: AbortSignal }} [options]  see `BlobStore.slice`
   * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
   */
  async * slice (cid, ranges, options = {}) {
    assertKnownOptions(options, ['header', 'reuse', 'signal'])
    const { header = true, reuse, signal } = options
    const wanted = toRanges(ranges)
    const { root, record } = await this.#use(cid, signal)
    const release = this.#store.protection.use(root)
    const validate = this.#store.verifies || record.home === 'reference'
    const healing = new HealingRead(this.#store, root, { notes: validate, signal })
    let given = 0
    try {
      for (let now = record; ;) {
        let skipped = 0
        try {
          await this.#require(root, now, wanted)
          const pieces = this.#reading(root, now, spanOf(wanted, now.size), ({ source, outboard }) =>
            encodeSlice(source, outboard, wanted, { header, validate, reuse, signal }))
          for await (const piece of pieces) {
            const fresh = piece.subarray(Math.min(given - skipped, piece.length))
            skipped += piece.length - fresh.length
            if (fresh.length === 0) continue
            given += fresh.length
            skipped += fresh.length
            yield fresh
          }
          return
        } catch (error) {
          const next = await healing.after(error, now, wanted)
          // What was given began with another size.
          if (given > 0 && next.size !== now.size) throw error
          now = next
        }
      }
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
    const release = this.#store.protection.use(root)
    const healing = new HealingRead(this.#store, root, { notes: true, signal })
    try {
      for (let now = record; ;) {
        try {
          await this.#require(root, now, ChunkRanges.all)
          const reading = this.#reading(root, now, [0, 0], view => given(copyOutboard(view.outboard, signal)))
          const { value } = await reading.next()
          await reading.return(undefined)
          return /** @type {Outboard} */ (value)
        } catch (error) {
          now = await healing.after(error, now, ChunkRanges.all)
        }
      }
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
  #wanted (root, record, start, end, { verify = this.#store.verifies, reuse, signal }) {
    const last = record.complete ? Math.min(end, record.size) : end
    return { root, record, start, end: last, verify: verify || record.home === 'reference', reuse, signal }
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
    const healing = new HealingRead(this.#store, root, { notes: verify, signal })
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
    return now.id === record.id || now.isDamaged ? corrupt(root, record.size, error) : changed(root, error)
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

/** One value. @template T @param {Promise<T>} value @returns {AsyncGenerator<T>} */
async function * given (value) { yield await value }
