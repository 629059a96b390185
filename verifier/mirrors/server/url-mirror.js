// A mirror behind a URL. It finds out how the server has the blob: as a Bao endpoint, as a plain file with an outboard,
// or as a plain file alone. What it finds is tried first at the next URL of that server.

import { BaoError, fetchRefused, leafMismatch } from '../../../lib/core/errors.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG, HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { HEADER_LEN, areEqual, u64FromBytes } from '../../../lib/core/bytes.js'
import { HttpFile, isFinal, locationOf, optionsFor, urlOf } from '../../sources/http.js'
import { LruCache } from '../../../lib/core/lru.js'
import { PairTable } from '../../../lib/outboard/pairs.js'
import { TreeBuilder } from '../../../lib/hash/tree-builder.js'
import { groupCount, outboardLen } from '../../../lib/tree/geometry.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { openOutboard } from '../../../lib/outboard/paged-outboard.js'
import { rootHash } from '../../../lib/hash/subtree.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { membersOfEndpoint, sliceOfEndpoint } from './bao-endpoint.js'
import { duplicateLinks, outboardLinks } from './links.js'
import { sliceOfPlain } from '../plain/plain-slice.js'

/** @import { HttpOptions } from '../../sources/http.js' */
/** @import { PlainBlob } from '../plain/plain-slice.js' */
/** @import { SliceOutboard, Step } from '../../../lib/core/types.js' */

/** Bytes of the first request to a plain server. */
const HEAD_LEN = 1 << 14
/** Bytes that are kept in memory of a blob that has no outboard anywhere, at most. */
const MAX_WHOLE_LEN = 1 << 24
/** Milliseconds for a part of an outboard: reads of several slices may wait for it, so none of them can end it. */
const OUTBOARD_MS = 30_000

/** Origins whose servers do not give many members at once. */
const single = /** @type {LruCache<string, boolean>} */ (new LruCache(1000))
/** How the servers of an origin had their blobs: `bao` or `plain`. */
const seen = /** @type {LruCache<string, string>} */ (new LruCache(1000))

/**
 * @typedef {object} SliceRequest
 * @property {Uint8Array} root  the hash of the blob
 * @property {ChunkRanges} ranges
 * @property {number} groupLog
 * @property {Uint8Array} [key]  of a keyed tree
 * @property {number} [size]  of the blob, if it is proven; then what the server says about it is not used
 * @property {OnDuplicate} [onDuplicate]
 * @property {(file: WholeFile) => void} [onWhole]  called before FETCH_REFUSED when the server has the bytes of the
 *   blob but nothing that proves a part of them, and they are too many to be verified in memory
 */
/**
 * @typedef {object} WholeFile  all bytes of a blob, unverified
 * @property {number} [size]  a claim
 * @property {(signal: AbortSignal) => AsyncIterable<Uint8Array>} open  reads it from its beginning
 */
/**
 * Called for each further URL of the blob that a server names, as soon as its first answer has come.
 *
 * @callback OnDuplicate
 * @param {URL} url
 * @param {HttpOptions} http  for requests to it
 * @returns {void}
 */

/** One blob of one server. */
export class UrlMirror {
  #url
  #http
  #file
  /** How the server has the blob, once that is known. @type {'bao' | PlainBlob | undefined} */
  #access
  #isNoEndpoint = false
  /** Further URLs of the blob. @type {URL[] | undefined} */
  #duplicates

  /** @param {string | URL} url @param {HttpOptions} http */
  constructor (url, http) {
    this.#url = urlOf(url)
    this.#http = http
    this.#file = new HttpFile(url, http, { isLenient: true })
  }

  get location () { return locationOf(this.#url) }

  /** Does the server give files only from their beginning? Then one long range costs less than many short ones. */
  get isSequential () { return this.#file.ignoresRanges }

  /**
   * The slice with the size in front, unverified.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>}
   * @throws {BaoError} FETCH_STATUS, FETCH_REFUSED, FETCH_FAILED, BAO_LEAF_MISMATCH
   */
  async * slice (what, signal) {
    this.#tell(what)
    if (typeof this.#access === 'object' && what.size !== undefined && this.#access.size !== what.size) {
      this.#access = undefined // it was found with a size that was a lie
    }
    if (this.#access === undefined && seen.get(this.#url.origin) !== 'plain' && !isLastChunk(what.ranges)) {
      // Most often no other request is needed to find out that it is an endpoint.
      if (yield * this.#tryEndpoint(what, signal)) return
      this.#isNoEndpoint = true
    }
    this.#access ??= await this.#find(what, signal)
    if (this.#access !== 'bao') yield * sliceOfPlain(this.#access, what, signal)
    else yield * this.#sliceOfEndpoint(await this.#canonical(what, signal), signal)
  }

  /**
   * Whole members of the sequence that is here, as slices one behind the other, unverified. A server that does not know
   * such requests answers one of them, and its origin is not asked again.
   *
   * @param {number[]} indices  rising, from 0
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>} ends where the server lacks a member; empty where it cannot be asked
   * @throws {BaoError} FETCH_STATUS, FETCH_FAILED
   */
  async * members (indices, signal) {
    const { origin } = this.#url
    if (seen.get(origin) === 'plain' || single.has(origin)) return
    try {
      yield * membersOfEndpoint(this.#url, indices, this.#http, signal)
    } catch (error) {
      if (!isNo(error)) throw error
      // It may have the sequence, and not the first of the members.
      if (/** @type {BaoError} */ (error).status !== 404) single.set(origin, true)
    }
  }

  /** @param {SliceRequest} what @param {AbortSignal} signal */
  #sliceOfEndpoint (what, signal) {
    return sliceOfEndpoint(this.#url, what, this.#http, signal, link => this.#hear(link, what))
  }

  /** @param {string} [link]  the header of an answer @param {SliceRequest} [what] */
  #hear (link, what) {
    if (this.#duplicates !== undefined || link === undefined) return
    this.#duplicates = duplicateLinks(link, this.#url)
    this.#tell(what)
  }

  /** Tells a caller which further URLs there are, as far as they are known. @param {SliceRequest} [what] */
  #tell (what) {
    for (const url of this.#duplicates ?? []) what?.onDuplicate?.(url, optionsFor(url, this.#url, this.#http))
  }

  /**
   * The slice of a server that may be an endpoint.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array, boolean>} returns whether it is one
   */
  async * #tryEndpoint (what, signal) {
    try {
      yield * this.#sliceOfEndpoint(what, signal)
    } catch (error) {
      if (isNo(error)) return false
      throw error
    }
    seen.set(this.#url.origin, 'bao')
    this.#access = 'bao'
    return true
  }

  /**
   * Tries the ways in which a server may have a blob, one after the other.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {Promise<'bao' | PlainBlob>}
   */
  async #find (what, signal) {
    const { origin } = this.#url
    const isEndpoint = async () => !this.#isNoEndpoint && await this.#claimedSize(what, signal) !== undefined
    let refusal
    for (const way of seen.get(origin) === 'plain' ? ['plain', 'bao'] : ['bao', 'plain']) {
      try {
        const access = way === 'plain' ? await this.#findOutboard(what, signal) : await isEndpoint() && 'bao'
        if (!access) continue
        seen.set(origin, way)
        return access
      } catch (error) {
        if (!isNo(error)) throw error
        refusal = error
      }
    }
    if (refusal !== undefined) throw refusal
    return this.#readWhole(what, signal)
  }

  /**
   * Ranges that an endpoint understands: the last chunk, wherever it is, has a number when the size is known.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {Promise<SliceRequest>}
   */
  async #canonical (what, signal) {
    if (!isLastChunk(what.ranges)) return what
    const size = what.size ?? await this.#claimedSize(what, signal) ?? 0
    return { ...what, ranges: what.ranges.canonical(size) }
  }

  /**
   * Asks a Bao endpoint for as little as it can give, which begins with the size.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {Promise<number | undefined>} a claim; undefined when the server is no endpoint
   */
  async #claimedSize (what, signal) {
    const head = new ByteQueue()
    const least = { ...what, ranges: ChunkRanges.none }
    try {
      for await (const piece of this.#sliceOfEndpoint(least, signal)) {
        head.push(piece.subarray(0, HEAD_LEN - head.len), HEAD_LEN)
        if (head.len === HEAD_LEN) break
      }
    } catch (error) {
      if (isNo(error)) return undefined
      throw error
    }
    return head.len < HEADER_LEN ? undefined : u64FromBytes(head.bytes)
  }

  /**
   * Looks for the outboard of a plain blob: where the server says that it is, and beside the blob.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {Promise<PlainBlob | undefined>} undefined when there is none, or it is of another blob
   */
  async #findOutboard (what, signal) {
    await this.#file.read(0, HEAD_LEN, signal)
    this.#hear(this.#file.link, what)
    const size = what.size ?? this.#file.size
    if (size === undefined) return undefined
    const plain = (/** @type {SliceOutboard} */ outboard) => ({ size, outboard, pieces: this.#pieces })
    if (groupCount(size, DEFAULT_GROUP_LOG) === 1) return plain(emptyOutboard(what.root, size))
    for (const { url, groupLog } of this.#outboardUrls()) {
      const outboard = await this.#outboardAt(url, { ...what, size, groupLog }, signal)
      if (outboard !== undefined) return plain(outboard)
    }
    return undefined
  }

  /** @type {PlainBlob['pieces']} */
  #pieces = (start, end, signal) => this.#file.pieces(start, end, signal)

  /** Where outboards may be. @returns {{ url: URL, groupLog: number }[]} */
  #outboardUrls () {
    const urls = outboardLinks(this.#file.link ?? '', this.#url)
    for (const groupLog of [4, 6]) {
      const url = new URL(this.#url)
      url.pathname += `.obao${groupLog}`
      urls.push({ url, groupLog })
    }
    return urls
  }

  /**
   * Opens an outboard if it is that of the blob: its first pair leads to the root. Some outboards begin with the size.
   *
   * @param {URL} url @param {{ root: Uint8Array, size: number, groupLog: number, key?: Uint8Array }} what
   * @param {AbortSignal} signal
   * @returns {Promise<SliceOutboard | undefined>}
   */
  async #outboardAt (url, what, signal) {
    const { root, size, groupLog, key } = what
    if (groupCount(size, groupLog) === 1) return emptyOutboard(root, size, groupLog)
    const file = new HttpFile(url, optionsFor(url, this.#url, this.#http), { isLenient: true })
    /** @type {Uint8Array} */
    let head
    try {
      head = await file.read(0, HEADER_LEN + PAIR_LEN, signal)
    } catch (error) {
      if (isNo(error)) return undefined
      throw error
    }
    const isAt = (/** @type {number} */ at) => head.length >= at + PAIR_LEN && areEqual(root, 0,
      rootHash(head.subarray(at, at + HASH_LEN), head.subarray(at + HASH_LEN, at + PAIR_LEN), { key }))
    const at = [0, HEADER_LEN].find(isAt)
    if (at === undefined) return undefined
    const pairs = {
      size: outboardLen(size, groupLog),
      overlaps: true,
      read: (/** @type {number} */ start, /** @type {number} */ end) =>
        file.read(at + start, at + end, AbortSignal.timeout(OUTBOARD_MS))
    }
    return openOutboard(pairs, { root, size, groupLog })
  }

  /**
   * Reads the whole blob into memory, and verifies it there.
   *
   * @param {SliceRequest} what @param {AbortSignal} signal
   * @returns {Promise<PlainBlob>}
   */
  async #readWhole ({ root, key, onWhole }, signal) {
    const { size = 0 } = this.#file
    const most = size > MAX_WHOLE_LEN ? 0 : MAX_WHOLE_LEN + 1
    const queue = new ByteQueue()
    for await (const piece of this.#file.pieces(0, most, signal)) queue.push(piece, most)
    if (queue.len === most) {
      onWhole?.({ size: this.#file.size, open: signal => this.#file.pieces(0, Infinity, signal) })
      const why = 'it gives no slices and no outboard, and the blob is longer than 16 MiB. Give an outboard'
      throw fetchRefused(this.location, why)
    }
    const { bytes } = queue
    const table = new PairTable(bytes.length, DEFAULT_GROUP_LOG, 'pre')
    const tree = new TreeBuilder(modeOf({ key }), { sink: table })
    tree.update(bytes)
    if (!areEqual(root, 0, tree.hash())) throw leafMismatch(0, bytes.length)
    return {
      size: bytes.length,
      outboard: outboardOf(root, bytes.length, table.bytes),
      pieces: async function * (start, end) { yield bytes.subarray(start, end) }
    }
  }
}

/** Does a server say that it has no such thing? It may have another. @param {unknown} error */
function isNo (error) {
  if (!(error instanceof BaoError) || error.ranges !== undefined) return false
  return error.code === 'FETCH_REFUSED' || (error.code === 'FETCH_STATUS' && isFinal(error.status ?? 0))
}

/** Are these ranges about the last chunk alone, wherever that is? @param {ChunkRanges} ranges */
const isLastChunk = ranges => (ranges.boundaries[0] ?? 0) * CHUNK_LEN >= Number.MAX_SAFE_INTEGER

/**
 * The outboard of a blob that is one group: there are no pairs.
 *
 * @param {Uint8Array} root @param {number} size @param {number} [groupLog]
 * @returns {SliceOutboard}
 */
const emptyOutboard = (root, size, groupLog = DEFAULT_GROUP_LOG) => ({ root, size, groupLog, copyPair: () => false })

/** @param {Uint8Array} root @param {number} size @param {Uint8Array} pairs @returns {SliceOutboard} */
const outboardOf = (root, size, pairs) => ({
  root,
  size,
  groupLog: DEFAULT_GROUP_LOG,
  copyPair (/** @type {Step} */ { pre }, /** @type {Uint8Array} */ out, /** @type {number} */ at) {
    out.set(pairs.subarray(pre * PAIR_LEN, (pre + 1) * PAIR_LEN), at)
    return true
  }
})
