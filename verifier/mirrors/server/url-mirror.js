// The mirror at a URL. It finds out how the server has the blob: as a Bao endpoint, as a plain file with an outboard,
// or as a plain file alone. What it finds is tried first at the next URL of that server.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { HEADER_LEN, u64FromBytes } from '../../../lib/core/bytes.js'
import { meansNotHere } from '../../sources/http/answer.js'
import { HttpFile } from '../../sources/http/file.js'
import { optionsFor } from '../../sources/http/options.js'
import { locationOf, urlOf } from '../../sources/http/urls.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { PlainFinder } from './plain-finder.js'
import { KnownServers, serverOf } from './known-servers.js'
import { membersOfEndpoint, sliceOfEndpoint } from './bao-endpoint.js'
import { duplicateLinks } from './links.js'
import { sliceOfPlain } from '../plain/plain-slice.js'

/** @import { LinkHeader } from '../../sources/http/answer.js' */
/** @import { HttpOptions } from '../../sources/http/options.js' */
/** @import { FoundBlob } from './plain-finder.js' */
/** @import { PlainBlob } from '../plain/plain-slice.js' */

/** Bytes that are read of an endpoint's least slice. */
const FIRST_READ_LEN = 1 << 14

/** Statuses of servers that may know a request for members: it lacks credentials, or they lack the first member. */
const MAY_KNOW = [401, 403, 404, 407]

const allKnown = new KnownServers()

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
  #finder
  #known
  /** @type {string | undefined} */
  #name
  /** How the server has the blob, once that is known. @type {'bao' | PlainBlob | undefined} */
  #access
  /** Further URLs of the blob, and the options of requests to them. @type {[URL, HttpOptions][] | undefined} */
  #duplicates

  /** @param {string | URL} url @param {HttpOptions} http @param {KnownServers} [known] */
  constructor (url, http, known = allKnown) {
    this.#url = urlOf(url)
    this.#http = { ...http, headers: new Headers(http.headers) }
    this.#known = known
    this.#file = new HttpFile(url, this.#http, { isLenient: true })
    this.#finder = new PlainFinder(this.#url, this.#http, this.#file)
  }

  get location () { return locationOf(this.#url) }

  /** The name under which the server is known. */
  get #server () { return (this.#name ??= serverOf(this.#url, this.#http)) }

  /** Does the server give files only from their beginning? Then one long range costs less than many short ones. */
  get isSequential () { return this.#file.ignoresRanges }

  /**
   * The slice with the size in front, unverified.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>}
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_STATUS, FETCH_REFUSED, FETCH_FAILED,
   *   BAO_LEAF_MISMATCH
   */
  async * slice (request, signal) {
    this.#reportDuplicates(request)
    if (typeof this.#access === 'object' && request.size !== undefined && this.#access.size !== request.size) {
      this.#access = undefined // nothing proved its size
    }
    const way = this.#known.ways.get(this.#server)
    const mayBeEndpoint = this.#access === undefined && way !== 'plain' && !isLastChunk(request.ranges)
    // Most often no other request is needed to find out that it is an endpoint.
    if (mayBeEndpoint && (yield * this.#tryEndpoint(request, signal))) return
    this.#access ??= await this.#findAccess(request, signal, { isNoEndpoint: mayBeEndpoint })
    if (this.#access !== 'bao') yield * sliceOfPlain(this.#access, request, signal)
    else yield * this.#sliceOfEndpoint(await this.#canonical(request, signal), signal)
  }

  /**
   * Whole members of the sequence at the URL, as slices one after the other, unverified. When a server does not
   * know such a request, it gets no other one for some minutes.
   *
   * @param {number[]} indices  rising, from 0
   * @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>} ends where the server lacks a member; empty when it does not know the request
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_STATUS, FETCH_FAILED
   */
  async * members (indices, signal) {
    const { ways, withoutMembers } = this.#known
    if (ways.get(this.#server) === 'plain' || withoutMembers.get(this.#server)) return
    try {
      yield * membersOfEndpoint(this.#url, indices, this.#http, signal)
    } catch (error) {
      if (!meansNotHere(error)) throw error
      const { status } = /** @type {import('../../../lib/core/errors.js').BaoError} */ (error)
      if (!MAY_KNOW.includes(status ?? 0)) withoutMembers.set(this.#server, true)
    }
  }

  /** @param {SliceRequest} request @param {AbortSignal} signal */
  #sliceOfEndpoint (request, signal) {
    return sliceOfEndpoint(this.#url, request, this.#http, signal, link => this.#noteDuplicates(request, link))
  }

  /**
   * Takes the further URLs of the blob from the first answer that has a `Link` header.
   *
   * @param {SliceRequest} request @param {LinkHeader} [link]
   */
  #noteDuplicates (request, link) {
    if (this.#duplicates !== undefined || link === undefined) return
    const { header, base } = link
    this.#duplicates = duplicateLinks(header, base, this.#url).map(url =>
      [url, optionsFor(url, [this.#url, base], this.#http)])
    this.#reportDuplicates(request)
  }

  /** Tells a caller which further URLs there are, as far as they are known. @param {SliceRequest} request */
  #reportDuplicates (request) {
    for (const [url, http] of this.#duplicates ?? []) request.onDuplicate?.(url, http)
  }

  /**
   * The slice of a server that may be an endpoint.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array, boolean>} returns whether it is one
   */
  async * #tryEndpoint (request, signal) {
    try {
      yield * this.#sliceOfEndpoint(request, signal)
    } catch (error) {
      if (meansNotHere(error)) return false
      throw error
    }
    this.#known.ways.set(this.#server, 'bao')
    this.#access = 'bao'
    return true
  }

  /**
   * Tries the ways in which a server may have a blob, one after the other.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @param {{ isNoEndpoint: boolean }} tried  has it just turned out that the server is no endpoint?
   * @returns {Promise<'bao' | PlainBlob>}
   */
  async #findAccess (request, signal, { isNoEndpoint }) {
    const { ways: known } = this.#known
    /** @type {PlainBlob | undefined} */
    let likely
    const ways = {
      bao: async () => {
        if (isNoEndpoint || await this.#claimedSize(request, signal) === undefined) return undefined
        return /** @type {const} */ ('bao')
      },
      plain: async () => {
        const found = await this.#findPlainBlob(request, signal)
        if (found?.isSettled) return found.blob
        likely = found?.blob
        return undefined
      }
    }
    /** @type {('bao' | 'plain')[]} */
    const order = known.get(this.#server) === 'plain' ? ['plain', 'bao'] : ['bao', 'plain']
    let refusal
    for (const way of order) {
      try {
        const access = await ways[way]()
        if (access === undefined) continue
        known.set(this.#server, way)
        return access
      } catch (error) {
        if (!meansNotHere(error)) throw error
        refusal = error
      }
    }
    if (refusal !== undefined) throw refusal
    try {
      return await this.#finder.readWhole(request, signal)
    } catch (error) {
      // A blob whose end is wrong or missing has an outboard that proves the rest.
      if (likely === undefined || signal.aborted) throw error
      return likely
    }
  }

  /** @param {SliceRequest} request @param {AbortSignal} signal @returns {Promise<FoundBlob | undefined>} */
  #findPlainBlob (request, signal) {
    return this.#finder.find(request, signal, () => this.#noteDuplicates(request, this.#file.link))
  }

  /**
   * Ranges that an endpoint understands: the last chunk, wherever it is, has a number when the size is known.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {Promise<SliceRequest>}
   */
  async #canonical (request, signal) {
    if (!isLastChunk(request.ranges)) return request
    const size = request.size ?? await this.#claimedSize(request, signal) ?? 0
    return { ...request, ranges: request.ranges.canonical(size) }
  }

  /**
   * Asks a Bao endpoint for as little as it can give, which begins with the size.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {Promise<number | undefined>} a claim; undefined when the server is no endpoint
   */
  async #claimedSize (request, signal) {
    const start = new ByteQueue()
    const least = { ...request, ranges: ChunkRanges.none }
    try {
      for await (const piece of this.#sliceOfEndpoint(least, signal)) {
        start.push(piece.subarray(0, FIRST_READ_LEN - start.len), FIRST_READ_LEN)
        if (start.len === FIRST_READ_LEN) break
      }
    } catch (error) {
      if (meansNotHere(error)) return undefined
      throw error
    }
    return start.len < HEADER_LEN ? undefined : u64FromBytes(start.bytes)
  }
}

/** Are these ranges about the last chunk alone, wherever that is? @param {ChunkRanges} ranges */
const isLastChunk = ranges => (ranges.boundaries[0] ?? 0) * CHUNK_LEN >= Number.MAX_SAFE_INTEGER
