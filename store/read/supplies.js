// Fetches missing and damaged groups for reads, with the option `supply` of a store, even if the blob has no record.
// `receive` verifies and keeps the fetched groups before a read gets any of them.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { LruCache } from '../../lib/core/lru.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { nameOf } from '../../lib/hash/roots.js'
import { toCid } from '../../lib/hash/cid.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { cancelSource } from '../../lib/source/source.js'
import { fullError, missing, notFound } from '../storage/errors.js'
import { SupplyCall, Turns } from './supply-call.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Source } from '../../lib/core/types.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Presence } from '../catalog/presence.js' */
/** @import { Quota } from '../catalog/quota.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { BlobReceiver } from '../write/receive/receive.js' */

/** A call of `supply` asks for this many chunks (1 MiB), even if the read that needs them wants fewer. */
const FIRST_CHUNKS = (1 << 20) / CHUNK_LEN
/** If reads go on where the last call has ended, the next call asks for twice as much, but at most for 64 MiB. */
const MAX_CHUNKS = (1 << 26) / CHUNK_LEN
const FIRST_GROUP = new ChunkRanges([0, 2 ** GROUP_LOG])
/**
 * The end of a blob is fetched at most this often. It is fetched again when the size turns out to differ from the
 * claim.
 */
const MAX_PROOFS = 3
/** The maximum number of calls of `supply` that run at the same time. Others wait. */
const MAX_CALLS = 64
/** The maximum number of blobs for which it is remembered that `supply` has nothing of them. */
const MAX_MISSES = 10_000
/** The maximum number of blobs for which it is remembered where the last call has ended. */
const MAX_RUNS = 1000
/** A read that has been passed on by this many stores does not call `supply`, so that loops of stores end. */
export const MAX_HOPS = 4
export const DEFAULT_MISS_AGE = 5000

/**
 * A function of the store's caller that fetches missing or damaged groups of a blob.
 *
 * @callback Supply
 * @param {CID} cid
 * @param {ChunkRanges} ranges  whole groups of the blob, 64 MiB at most. A read that needs more asks again. If the
 *   store has nothing of the blob, the ranges may go beyond its end, and have its last chunk, too, which proves the
 *   size (`ChunkRanges.last`)
 * @param {SupplyOptions} options
 * @returns {Promise<Source | undefined>} a slice of exactly these ranges, at group log 4 and with a header; undefined
 *   if the blob, or this part of it, is nowhere. STORE_NOT_FOUND and STORE_MISSING say the same. If the slice fails,
 *   the groups before the fault stay, and the function is called again for the others
 */
/**
 * @typedef {object} SupplyOptions
 * @property {number} [size]  bytes of the blob, if the size is proven
 * @property {'missing' | 'damaged'} reason  `damaged` if the store has found damage in the blob and has not received
 *   all of it since then
 * @property {number} hops  how many stores have passed the read on when another store gets it from this one: at least 1
 * @property {AbortSignal} signal  aborted when the last read that waits for the call is aborted, or when the store is
 *   closed
 */

/**
 * @typedef {object} FetchOptions
 * @property {number} [hops]  how many stores have passed this read on. Default: 0
 * @property {boolean} [readsAhead]  true to fetch more than the wanted groups. Default: true
 * @property {AbortSignal} [signal]
 */

/** @typedef {{ error: unknown, ranges: ChunkRanges, hops: number, until: number }} Miss  `until`: milliseconds */

/** @type {Miss} */
const NO_MISS = { error: undefined, ranges: ChunkRanges.none, hops: 0, until: 0 }

export class Supplies {
  #activity
  #catalog
  #presence
  #protection
  #quota
  #receiver
  #supply
  #maxMissAge
  #turns = new Turns(MAX_CALLS)
  /** The calls of `supply` that are under way, by the names of the blobs. */
  #calls = /** @type {Map<string, Set<SupplyCall>>} */ (new Map())
  #misses = /** @type {LruCache<string, Miss>} */ (new LruCache(MAX_MISSES))
  /** The last calls for blobs: where they end, and their length. In chunks. */
  #runs = /** @type {LruCache<string, { end: number, len: number }>} */ (new LruCache(MAX_RUNS))

  /**
   * @param {object} parts
   * @param {Activity} parts.activity
   * @param {Catalog} parts.catalog
   * @param {Presence} parts.presence
   * @param {Protection} parts.protection
   * @param {Quota} parts.quota
   * @param {BlobReceiver} parts.receiver
   * @param {{ supply?: Supply, maxMissAge?: number }} [options]  `maxMissAge`: milliseconds
   */
  constructor ({ activity, catalog, presence, protection, quota, receiver }, options = {}) {
    const { supply, maxMissAge = DEFAULT_MISS_AGE } = options
    this.#activity = activity
    this.#catalog = catalog
    this.#presence = presence
    this.#protection = protection
    this.#quota = quota
    this.#receiver = receiver
    this.#supply = supply
    this.#maxMissAge = maxMissAge
  }

  /** True if the store has a `supply`, and a read may call it. @param {number} [hops]  those of the read */
  isFor (hops = 0) { return this.#supply !== undefined && hops < MAX_HOPS }

  /**
   * Fetches the first wanted groups of a blob without a record, and the end of the blob, which proves its size.
   *
   * @param {Uint8Array} root @param {ChunkRanges} wanted @param {FetchOptions} [options]
   * @returns {Promise<BlobRecord>} with a proven size
   * @throws {BaoError} STORE_NOT_FOUND, with the reason as its `cause`
   */
  async find (root, wanted, options = {}) {
    if (!this.isFor(options.hops)) throw notFound(root)
    const release = this.#protection.use(root)
    try {
      const groups = wanted.roundToGroups(GROUP_LOG)
      // `receive` does not keep anything for ranges after the end of the blob. Then fetching the first group makes the
      // record.
      const record = await this.#fetchNew(root, groups, options) ?? await this.#fetchNew(root, FIRST_GROUP, options)
      return await this.#proveSize(root, record, options)
    } catch (cause) {
      options.signal?.throwIfAborted()
      throw Object.assign(notFound(root), { cause })
    } finally {
      release()
    }
  }

  /**
   * Returns true if the store has all of a blob, or `supply` gives the first group that is missing. Then the size is
   * proven.
   *
   * @param {Uint8Array} root @param {FetchOptions} options
   * @returns {Promise<boolean>} false if `supply` has nothing
   * @throws {BaoError} STORE_NOT_FOUND or STORE_MISSING, with the reason as its `cause`
   */
  async canGive (root, options) {
    const record = await this.#catalog.get(root)
    if (record?.complete || !this.isFor(options.hops)) return record?.complete ?? false
    const exact = { ...options, readsAhead: false }
    try {
      if (record === undefined) await this.find(root, FIRST_GROUP, exact)
      else await this.#fetchFirst(root, record, exact)
      return true
    } catch (error) {
      if (isMiss(error)) return false
      throw error
    }
  }

  /**
   * Fetches the first missing group of a blob, and proves its size.
   *
   * @param {Uint8Array} root @param {BlobRecord} record @param {FetchOptions} options
   * @throws {BaoError} STORE_MISSING, with the reason as its `cause`
   */
  async #fetchFirst (root, record, options) {
    const lost = await this.#presence.missing(record, ChunkRanges.all)
    try {
      const now = await this.#proveSize(root, record, options)
      const [first] = lost.boundaries
      const group = lost.intersect(new ChunkRanges([first, first + 2 ** GROUP_LOG]))
      let rest = await this.#presence.missing(now, group)
      // The first call may be that of another read, and fail just before this group.
      for (let calls = 0; !rest.isEmpty && calls < 2; calls++) {
        rest = rest.difference(await this.fetch(root, now, rest, options))
      }
      if (!rest.isEmpty) throw missing(root, now.size, rest)
    } catch (cause) {
      options.signal?.throwIfAborted()
      throw missing(root, record.size, lost, cause)
    }
  }

  /**
   * @param {Uint8Array} root @param {ChunkRanges} ranges  of a blob without a record @param {FetchOptions} options
   * @returns {Promise<BlobRecord | undefined>} the blob's record; undefined when nothing was kept
   */
  async #fetchNew (root, ranges, options) {
    const isAskable = !ranges.isEmpty && ranges.boundaries[0] < Number.MAX_SAFE_INTEGER
    if (isAskable) await this.fetch(root, undefined, ranges, options)
    return this.#catalog.get(root)
  }

  /** @param {Uint8Array} root @param {BlobRecord | undefined} record @param {FetchOptions} options */
  async #proveSize (root, record, options) {
    let now = record
    for (let proofs = 0; now !== undefined && !now.sizeProven && proofs < MAX_PROOFS; proofs++) {
      const end = ChunkRanges.last.canonical(now.size).roundToGroups(GROUP_LOG)
      await this.fetch(root, now, end, { ...options, readsAhead: false }) // It must not count as a read of the end.
      now = await this.#catalog.get(root)
    }
    if (!now?.sizeProven) throw new Error(`the slices that "supply" gave of ${toCid(root)} do not prove its size`)
    this.#assertFits(now)
    return now
  }

  /**
   * Fetches the first of some groups, and stores them. If a call that is under way fetches the first one, it waits for
   * that.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord | undefined} record  of the blob, if it has one
   * @param {ChunkRanges} groups  at least one
   * @param {FetchOptions} [options]
   * @returns {Promise<ChunkRanges>} the fetched groups. If the fetch has failed after some of them, they may lack the
   *   first one
   * @throws the error of `supply` or `receive`
   */
  async fetch (root, record, groups, { hops = 0, readsAhead = true, signal } = {}) {
    const [first] = groups.boundaries
    const shared = this.#callsFor(root, hops).find(({ ranges }) => ranges.has(first))
    const call = shared ?? this.#begin(root, record, groups, { hops, readsAhead })
    await call.wait(first, signal)
    return call.kept
  }

  /**
   * Returns the calls for which a read may wait: those with at least its hops. Stores may supply each other, and a call
   * with fewer hops might be waiting for this very read.
   *
   * @param {Uint8Array} root @param {number} hops  those of the read
   */
  #callsFor (root, hops) { return [...this.#calls.get(nameOf(root)) ?? []].filter(call => call.hops >= hops) }

  /**
   * Begins a call of `supply`.
   *
   * @param {Uint8Array} root @param {BlobRecord | undefined} record @param {ChunkRanges} groups
   * @param {{ hops: number, readsAhead: boolean }} options
   * @returns {SupplyCall}
   * @throws {BaoError} if it is known that the call would fail
   */
  #begin (root, record, groups, { hops, readsAhead }) {
    const name = nameOf(root)
    if (record?.sizeProven) this.#assertFits(record)
    this.#assertNotMissed(name, groups, hops)
    const part = readsAhead ? this.#takePart(name, groups) : firstOf(groups, FIRST_CHUNKS)
    const ranges = this.#callsFor(root, hops).reduce((rest, call) => rest.difference(call.ranges), part)
    const calls = this.#calls.get(name) ?? new Set()
    const end = () => { if (calls.delete(call) && calls.size === 0) this.#calls.delete(name) }
    // Later reads must not wait for a call that nobody wants, although it may still be storing groups.
    const call = new SupplyCall(ranges, hops, end)
    this.#calls.set(name, calls.add(call))
    this.#activity.run(async () => {
      call.gained(await this.#turns.run(() => this.#receive(root, call), call.signal))
      // If this fails, the next read begins the call.
      if (readsAhead && call.isWanted) await this.#readAhead(root, call).catch(() => {})
    }, reason => call.abort(reason)).then(() => undefined, error => {
      if (isMiss(error)) this.#noteMiss(name, call, { error, isNowhere: record === undefined && call.kept.isEmpty })
      return error ?? new Error('"supply" has failed')
    }).then(error => {
      end()
      call.ended(error)
    })
    return call
  }

  /**
   * Returns the chunks for the next call: the first of the wanted ones, and more after them. Notes where they end.
   *
   * @param {string} name  of the blob @param {ChunkRanges} groups  wanted
   */
  #takePart (name, groups) {
    const [first] = groups.boundaries
    const last = this.#runs.get(name)
    const isNext = last !== undefined && last.end <= first && first <= last.end + last.len
    const len = isNext ? Math.min(2 * last.len, MAX_CHUNKS) : FIRST_CHUNKS
    const ranges = firstOf(groups, len).union(new ChunkRanges([first, first + len]))
    this.#runs.set(name, { end: /** @type {number} */ (ranges.boundaries.at(-1)), len })
    return ranges
  }

  /**
   * Begins the next call, if reads go through a blob in order. No read waits for it yet.
   *
   * @param {Uint8Array} root @param {SupplyCall} last  the call that has just ended
   */
  async #readAhead (root, { ranges, hops }) {
    const run = this.#runs.get(nameOf(root))
    const record = await this.#catalog.get(root)
    const isRun = run !== undefined && run.end === ranges.boundaries.at(-1) && run.len > FIRST_CHUNKS
    if (record === undefined || !isRun) return
    const lost = await this.#presence.missing(record, new ChunkRanges([run.end]))
    const [first] = lost.boundaries
    const isUnderWay = this.#callsFor(root, hops).some(({ ranges }) => ranges.has(first))
    if (first !== undefined && !isUnderWay) this.#begin(root, record, lost, { hops, readsAhead: true })
  }

  /**
   * @param {Uint8Array} root @param {SupplyCall} call
   * @returns {Promise<ChunkRanges>} what was fetched
   */
  async #receive (root, call) {
    const { ranges, signal } = call
    const supply = /** @type {Supply} */ (this.#supply)
    const cid = toCid(root)
    const record = await this.#catalog.get(root)
    // The groups may have come since the read has looked for them.
    const lost = record === undefined ? ranges : await this.#presence.missing(record, ranges)
    if (lost.isEmpty) return lost
    const wanted = record === undefined ? lost.union(ChunkRanges.last) : lost
    const asked = (async () => supply(cid, wanted, {
      size: record?.sizeProven ? record.size : undefined,
      reason: record?.isDamaged ? 'damaged' : 'missing',
      hops: call.hops + 1,
      signal
    }))()
    const source = await untilAborted(asked, signal).catch(error => {
      asked.then(late => { if (late !== undefined) cancelSource(late) }, () => {}) // Nobody reads a late source.
      throw error
    })
    if (source === undefined) throw nowhere(cid)
    let noting = Promise.resolve()
    // If this fails, the reads wait until the call has ended.
    const onKept = () => { noting = noting.then(() => this.#noteKept(root, call, lost)).catch(() => {}) }
    try {
      await this.#receiver.receive(cid, source, wanted, { signal, onKept })
    } finally {
      await noting
    }
    return lost
  }

  /**
   * Tells the reads that wait for a call which of its groups are present now.
   *
   * @param {Uint8Array} root @param {SupplyCall} call @param {ChunkRanges} groups  that were missing before
   */
  async #noteKept (root, call, groups) {
    const record = await this.#catalog.get(root)
    if (record !== undefined) call.gained(groups.difference(await this.#presence.missing(record, groups)))
  }

  /** @param {BlobRecord} record @throws {BaoError} STORE_FULL when the blob can never be complete */
  #assertFits ({ size, complete }) {
    const { limit } = this.#quota
    if (size > limit && !complete) throw fullError(size, limit)
  }

  /** @param {string} name @param {ChunkRanges} groups @param {number} hops @throws the error of an earlier call */
  #assertNotMissed (name, { boundaries: [first] }, hops) {
    const { error, ranges, hops: least, until } = this.#misses.get(name) ?? NO_MISS
    if (performance.now() < until && hops >= least && ranges.has(first)) throw error
  }

  /**
   * @param {string} name @param {SupplyCall} call
   * @param {{ error: unknown, isNowhere: boolean }} found  `isNowhere`: true if there is nothing of the blob
   */
  #noteMiss (name, { ranges: asked, kept, hops }, { error, isNowhere }) {
    const ranges = isNowhere ? ChunkRanges.all : asked.difference(kept)
    this.#misses.set(name, { error, ranges, hops, until: performance.now() + this.#maxMissAge })
  }
}

/** @param {CID} cid */
const nowhere = cid => new BaoError('STORE_NOT_FOUND', `"supply" has nothing of ${cid}`, { cid })

/**
 * Returns true if an error says that `supply` lacks the blob or this part of it, and has not failed.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isMiss (error) {
  if (!(error instanceof BaoError) || !['STORE_NOT_FOUND', 'STORE_MISSING'].includes(error.code)) return false
  return error.cause === undefined || isMiss(error.cause)
}

/**
 * Returns the first ranges, up to a number of chunks.
 *
 * @param {ChunkRanges} ranges @param {number} most
 */
function firstOf (ranges, most) {
  let left = most
  for (const [start, end] of ranges) {
    if (end - start >= left) return ranges.intersect(new ChunkRanges([0, start + left]))
    left -= end - start
  }
  return ranges
}
