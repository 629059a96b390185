// Fetches missing and damaged groups for reads, with the option `supply` of a store, even if the blob has no record.
// `receive` verifies and keeps the fetched groups before a read gets any of them.

import { CHUNK_LEN, DEFAULT_GROUP_LOG as GROUP_LOG } from '../../lib/core/constants.js'
import { ChunkRanges } from '../../lib/tree/ranges.js'
import { nameOf } from '../../lib/hash/roots.js'
import { toCid } from '../../lib/hash/cid.js'
import { untilAborted } from '../../lib/source/async-util.js'
import { cancelSource } from '../../lib/source/source.js'
import { notFound } from '../storage/errors.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BlobRecord } from '../storage/format/records.js' */
/** @import { Source } from '../../lib/core/types.js' */
/** @import { Catalog } from '../catalog/catalog.js' */
/** @import { Protection } from '../gc/protection.js' */
/** @import { Activity } from '../storage/concurrency/activity.js' */
/** @import { BlobReceiver } from '../write/receive/receive.js' */

/** A call of `supply` asks for at most this many chunks (8 MiB), so that `supply` may hold them in memory. */
const MAX_CHUNKS = (1 << 23) / CHUNK_LEN
const FIRST_GROUP = new ChunkRanges([0, 2 ** GROUP_LOG])
/**
 * The end of a blob is fetched at most this often. It is fetched again when the size turns out to differ from the
 * claim.
 */
const MAX_PROOFS = 3

/**
 * A function of the store's caller that fetches missing or damaged groups of a blob.
 *
 * @callback Supply
 * @param {CID} cid
 * @param {ChunkRanges} ranges  whole groups of the blob, 8 MiB at most. A read that needs more asks again. While the
 *   size is not known, they may go beyond the end of the blob. Such ranges mean the last chunk
 * @param {SupplyOptions} options
 * @returns {Promise<Source | undefined>} a slice of exactly these ranges, at group log 4 and with a header; undefined
 *   if the function has none
 */
/**
 * @typedef {object} SupplyOptions
 * @property {number} [size]  bytes of the blob, if the size is proven
 * @property {'missing' | 'damaged'} reason  `damaged` if the store has found damage in the blob and has not received
 *   all of it since then
 * @property {AbortSignal} signal  aborted when no read waits for the call any longer, or when the store is closed
 */

/**
 * @typedef {{ ranges: ChunkRanges, done: Promise<unknown>, enter: () => () => void }} Call  a call of `supply`.
 *   Several reads may wait for it. A read calls `enter` when it begins to wait, and the returned function when it stops
 */

export class Supplies {
  #activity
  #catalog
  #protection
  #receiver
  #supply
  /** The calls of `supply` that are under way, by the names of the blobs. */
  #calls = /** @type {Map<string, Set<Call>>} */ (new Map())

  /**
   * @param {object} parts
   * @param {Activity} parts.activity
   * @param {Catalog} parts.catalog
   * @param {Protection} parts.protection
   * @param {BlobReceiver} parts.receiver
   * @param {Supply} [supply]
   */
  constructor ({ activity, catalog, protection, receiver }, supply) {
    this.#activity = activity
    this.#catalog = catalog
    this.#protection = protection
    this.#receiver = receiver
    this.#supply = supply
  }

  /** True if the store has a `supply`. */
  get hasSupply () { return this.#supply !== undefined }

  /**
   * Fetches the first wanted groups of a blob without a record, and the end of the blob, which proves its size.
   *
   * @param {Uint8Array} root @param {ChunkRanges} wanted @param {AbortSignal} [signal]
   * @returns {Promise<BlobRecord>} with a proven size
   * @throws {import('../../lib/core/errors.js').BaoError} STORE_NOT_FOUND, with the reason as its `cause`
   */
  async find (root, wanted, signal) {
    if (!this.hasSupply) throw notFound(root)
    const release = this.#protection.use(root)
    try {
      const groups = wanted.roundToGroups(GROUP_LOG)
      // `receive` does not keep anything for ranges after the end of the blob. Then fetching the first group makes the
      // record.
      const record = await this.#fetchNew(root, groups, signal) ?? await this.#fetchNew(root, FIRST_GROUP, signal)
      return await this.#proveSize(root, record, signal)
    } catch (cause) {
      signal?.throwIfAborted()
      throw Object.assign(notFound(root), { cause })
    } finally {
      release()
    }
  }

  /**
   * @param {Uint8Array} root @param {ChunkRanges} ranges  of a blob without a record @param {AbortSignal} [signal]
   * @returns {Promise<BlobRecord | undefined>} the blob's record; undefined when nothing was kept
   */
  async #fetchNew (root, ranges, signal) {
    const isAskable = !ranges.isEmpty && ranges.boundaries[0] < Number.MAX_SAFE_INTEGER
    if (isAskable) await this.fetch(root, undefined, ranges, signal)
    return this.#catalog.get(root)
  }

  /** @param {Uint8Array} root @param {BlobRecord | undefined} record @param {AbortSignal} [signal] */
  async #proveSize (root, record, signal) {
    let now = record
    for (let proofs = 0; now !== undefined && !now.sizeProven && proofs < MAX_PROOFS; proofs++) {
      await this.fetch(root, now, ChunkRanges.last.canonical(now.size).roundToGroups(GROUP_LOG), signal)
      now = await this.#catalog.get(root)
    }
    if (!now?.sizeProven) throw new Error(`the slices that "supply" gave of ${toCid(root)} do not prove its size`)
    return now
  }

  /**
   * Fetches the first 8 MiB of some groups, and stores them. It does not fetch groups for which another read is already
   * waiting.
   *
   * @param {Uint8Array} root
   * @param {BlobRecord | undefined} record  of the blob, if it has one
   * @param {ChunkRanges} groups
   * @param {AbortSignal} [signal]
   * @returns {Promise<ChunkRanges>} the fetched groups
   * @throws the error of `supply` or `receive`
   */
  async fetch (root, record, groups, signal) {
    const ranges = firstOf(groups)
    const calls = this.#calls.get(nameOf(root)) ?? new Set()
    const shared = [...calls].filter(call => !call.ranges.intersect(ranges).isEmpty)
    const rest = shared.reduce((rest, call) => rest.difference(call.ranges), ranges)
    const needed = rest.isEmpty ? shared : [...shared, this.#call(root, record, rest, calls)]
    const leaves = needed.map(call => call.enter())
    try {
      await untilAborted(Promise.all(needed.map(({ done }) => done)), signal)
    } finally {
      for (const leave of leaves) leave()
    }
    return ranges
  }

  /**
   * @param {Uint8Array} root @param {BlobRecord | undefined} record @param {ChunkRanges} ranges
   * @param {Set<Call>} calls  for the same blob
   * @returns {Call}
   */
  #call (root, record, ranges, calls) {
    const name = nameOf(root)
    const ending = new AbortController()
    let readers = 0
    const enter = () => {
      readers++
      return () => {
        if (--readers > 0) return
        end() // Later reads must not wait for this call, although it may still be storing groups.
        ending.abort(new DOMException('no read waits any longer', 'AbortError'))
      }
    }
    const receiving = () => this.#receive(root, ranges, {
      size: record?.sizeProven ? record.size : undefined,
      reason: record?.isDamaged ? 'damaged' : 'missing',
      signal: ending.signal
    })
    const done = this.#activity.run(receiving, reason => ending.abort(reason))
    const call = { ranges, done, enter }
    this.#calls.set(name, calls.add(call))
    const end = () => { if (calls.delete(call) && calls.size === 0) this.#calls.delete(name) }
    done.then(end, end)
    return call
  }

  /** @param {Uint8Array} root @param {ChunkRanges} ranges @param {SupplyOptions} options */
  async #receive (root, ranges, options) {
    const { signal } = options
    const supply = /** @type {Supply} */ (this.#supply)
    const cid = toCid(root)
    const asked = (async () => supply(cid, ranges, options))()
    const source = await untilAborted(asked, signal).catch(error => {
      asked.then(late => { if (late !== undefined) cancelSource(late) }, () => {}) // Nobody reads a late source.
      throw error
    })
    if (source === undefined) throw new Error(`"supply" has returned nothing for ${cid}`)
    await this.#receiver.receive(cid, source, ranges, { signal })
  }
}

/**
 * Returns the first ranges, up to the number of chunks that one call of `supply` may have.
 *
 * @param {ChunkRanges} ranges
 */
function firstOf (ranges) {
  let left = MAX_CHUNKS
  for (const [start, end] of ranges) {
    if (end - start >= left) return ranges.intersect(new ChunkRanges([0, start + left]))
    left -= end - start
  }
  return ranges
}
