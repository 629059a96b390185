// The mirror at a URL. It finds out how the server gives the blob: as a Bao endpoint, as a plain file with an outboard,
// or as a plain file alone. For the next URL of the same server, it first tries the way that has worked.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { HEADER_LEN, u64FromBytes } from '../../../lib/core/bytes.js'
import { BaoError, fetchFailed } from '../../../lib/core/errors.js'
import { meansNotHere } from '../../sources/http/answer.js'
import { HttpFile } from '../../sources/http/file.js'
import { optionsFor } from '../../sources/http/options.js'
import { locationOf, urlOf } from '../../sources/http/urls.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { PlainFinder } from './plain-finder.js'
import { KnownServers, serverOf } from './known-servers.js'
import { membersOfEndpoint, sliceOfEndpoint } from './bao-endpoint.js'
import { duplicateLinks, hasPlainLink } from './links.js'
import { piecesOfPlain } from '../plain/plain-blob.js'

/** @import { LinkHeader } from '../../sources/http/answer.js' */
/** @import { HttpOptions } from '../../sources/http/options.js' */
/** @import { FoundBlob } from './plain-finder.js' */
/** @import { PlainBlob } from '../plain/plain-slice.js' */
/** @import { SliceOutboard } from '../../../lib/core/types.js' */

/** How many bytes of an endpoint's smallest slice are read, to get the size at its start. */
const FIRST_READ_LEN = 1 << 14

/** From how many bytes on a range is read as plain bytes, if the server redirects requests for these. */
const MIN_PLAIN_LEN = 1 << 20

/** Statuses that do not rule out requests for members: the server wants credentials, or lacks the first member. */
const MAY_KNOW = [401, 403, 404, 407]

const allKnown = new KnownServers()

/**
 * @typedef {object} SliceRequest
 * @property {Uint8Array} root  the hash of the blob
 * @property {ChunkRanges} ranges
 * @property {number} groupLog
 * @property {Uint8Array} [key]  the key of a keyed tree
 * @property {number} [size]  the size of the blob in bytes, if it is proven. Then the size that the server states is
 *   ignored
 * @property {number} [hops]  how many stores have passed the request on, with this one. Default: 0, for a request of
 *   a client
 * @property {OnDuplicate} [onDuplicate]
 * @property {(len: number) => void} [onSkipped]  called when bytes arrive that were not asked for, with their number: a
 *   server without ranges sends all bytes before the wanted ones
 * @property {(outboard: SliceOutboard) => void} [onPlain]  called before the first piece if the pieces are whole groups
 *   alone, whose pairs are in this outboard, in place of a slice
 * @property {(file: WholeFile) => void} [onWhole]  called before FETCH_REFUSED if the server has the bytes of the
 *   blob but no outboard, and the blob is too long to be verified in memory
 */
/**
 * @typedef {object} WholeFile  all bytes of a blob, unverified
 * @property {number} [size]  a claim
 * @property {(signal: AbortSignal) => AsyncIterable<Uint8Array>} open  reads the file from its start
 */
/**
 * Called for each other URL of the blob that a server names, when the first answer of the server arrives.
 *
 * @callback OnDuplicate
 * @param {URL} url
 * @param {HttpOptions} http  for requests to it
 * @returns {void}
 */

/** @typedef {{ access: 'bao' | PlainBlob, claim?: number }} Access  `claim`: the size that an endpoint has stated */

/** One blob of one server. */
export class UrlMirror {
  #url
  #http
  #file
  #finder
  #known
  /** @type {string | undefined} */
  #name
  /** How the server gives the blob, once that is known. @type {'bao' | PlainBlob | undefined} */
  #access
  /** The blob as an endpoint gives it by redirects, once it was found. @type {PlainBlob | undefined} */
  #redirected
  /** Other URLs of the blob, and the options of requests to them. @type {[URL, HttpOptions][] | undefined} */
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

  /** True if the server gives files only from their start, so that one long range costs less than many short ones. */
  get isSequential () { return this.#file.ignoresRanges }

  /**
   * Yields the slice with its header, unverified; for a caller with `onPlain`, a plain server's groups without pairs.
   *
   * 1. Usually the request for the slice itself shows whether the server is an endpoint.
   * 2. If it is not, or if that request cannot be made yet, `#findAccess` finds the way.
   * 3. Then the slice is requested in that way.
   *
   * `ChunkRanges.last` cannot be requested at once: an endpoint takes only the index of the last chunk, which follows
   * from the size. So step 2 asks an endpoint for its smallest slice, which begins with the size, and step 3 requests
   * the last chunk. If the way is known already, step 3 asks for the size first, unless it is proven.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>}
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_STATUS, FETCH_REFUSED, FETCH_FAILED,
   *   BAO_LEAF_MISMATCH
   */
  async * slice (request, signal) {
    this.#reportDuplicates(request)
    if (typeof this.#access === 'object' && request.size !== undefined && this.#access.size !== request.size) {
      this.#access = undefined // the size that it was found with was only a claim
    }
    const way = this.#known.ways.get(this.#server)
    const mayBeEndpoint = this.#access === undefined && way !== 'plain' && !isLastChunk(request.ranges)
    if (mayBeEndpoint && (yield * this.#tryEndpoint(request, signal))) return
    let claim
    if (this.#access === undefined) {
      ({ access: this.#access, claim } = await this.#findAccess(request, signal, { isNoEndpoint: mayBeEndpoint }))
    }
    if (this.#access !== 'bao') yield * piecesOfPlain(this.#access, request, signal)
    else yield * this.#sliceOfEndpoint(await this.#canonical(request, signal, claim), signal)
  }

  /**
   * Yields whole members of the sequence at the URL, as slices one after the other, unverified. If the server does not
   * know this kind of request, it does not get another one for ten minutes.
   *
   * @param {number[]} indices  in increasing order, counted from 0
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

  /**
   * Yields the slice of an endpoint. If the endpoint says that it redirects requests for plain bytes, long ranges are
   * read in this way: the first one is requested as a slice, whose body is then not read.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async * #sliceOfEndpoint (request, signal) {
    if (isLong(request.ranges, this.#redirected)) return yield * this.#piecesByRedirects(request, signal)
    const { withoutPlain } = this.#known
    let isPlainBetter = false
    yield * sliceOfEndpoint(this.#url, request, this.#http, signal, (link, len) => {
      this.#noteDuplicates(request, link)
      isPlainBetter = this.#redirected === undefined && len >= MIN_PLAIN_LEN && hasPlainLink(link.header, link.base) &&
        !withoutPlain.get(this.#server)
      return !isPlainBetter
    })
    if (!isPlainBetter) return
    try {
      const found = await this.#findPlainBlob(request, signal)
      if (found?.isSettled && !this.#file.ignoresRanges) this.#redirected = found.blob
    } catch {
      // For example, a page may not be allowed to read from the place to which it is sent, or that place may stall.
      if (isUnwanted(signal)) throw signal.reason
    }
    if (this.#redirected === undefined) withoutPlain.set(this.#server, true)
    yield * this.#sliceOfEndpoint(request, signal)
  }

  /**
   * Yields what `piecesOfPlain` does. The error of a redirected request means nothing but that the next requests should
   * be for slices.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array>}
   * @throws {import('../../../lib/core/errors.js').BaoError} FETCH_FAILED
   */
  async * #piecesByRedirects (request, signal) {
    try {
      yield * piecesOfPlain(/** @type {PlainBlob} */ (this.#redirected), request, signal)
    } catch (error) {
      if (isUnwanted(signal)) throw signal.reason
      this.#known.withoutPlain.set(this.#server, true)
      this.#redirected = undefined
      throw fetchFailed(this.location, error)
    }
  }

  /**
   * Takes other URLs of the blob from the first answer that has a `Link` header.
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

  /** Passes the other URLs that are known so far to a caller. @param {SliceRequest} request */
  #reportDuplicates (request) {
    for (const [url, http] of this.#duplicates ?? []) request.onDuplicate?.(url, http)
  }

  /**
   * Yields the slice of a server, if the server is an endpoint.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {AsyncGenerator<Uint8Array, boolean>} returns false if it is not one
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
   * Tries the ways in which a server may give a blob, one after the other. Returns the first one that works.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @param {{ isNoEndpoint: boolean }} tried  `isNoEndpoint`: true if the server has just answered that it is not an
   *   endpoint
   * @returns {Promise<Access>}
   */
  async #findAccess (request, signal, { isNoEndpoint }) {
    const { ways: known } = this.#known
    /** @type {PlainBlob | undefined} */
    let likely
    /** @type {Record<'bao' | 'plain', () => Promise<Access | undefined>>} */
    const ways = {
      bao: async () => {
        const claim = isNoEndpoint ? undefined : await this.#claimedSize(request, signal)
        return claim === undefined ? undefined : { access: 'bao', claim }
      },
      plain: async () => {
        const found = await this.#findPlainBlob(request, signal)
        if (found?.isSettled) return { access: found.blob }
        likely = found?.blob
        return undefined
      }
    }
    /** @type {('bao' | 'plain')[]} */
    const order = known.get(this.#server) === 'plain' ? ['plain', 'bao'] : ['bao', 'plain']
    let refusal
    for (const way of order) {
      try {
        const found = await ways[way]()
        if (found === undefined) continue
        known.set(this.#server, way)
        return found
      } catch (error) {
        if (!meansNotHere(error)) throw error
        refusal = error
      }
    }
    if (refusal !== undefined) throw refusal
    try {
      return { access: await this.#finder.readWhole(request, signal) }
    } catch (error) {
      // Even if the end of the blob is wrong or missing, this outboard can prove the rest.
      if (likely === undefined || signal.aborted) throw error
      return { access: likely }
    }
  }

  /** @param {SliceRequest} request @param {AbortSignal} signal @returns {Promise<FoundBlob | undefined>} */
  #findPlainBlob (request, signal) {
    return this.#finder.find(request, signal, () => this.#noteDuplicates(request, this.#file.link))
  }

  /**
   * Makes a request that an endpoint understands: `ChunkRanges.last` becomes the index of the last chunk.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal @param {number} [claim]  the size, if the endpoint has
   *   just stated it
   * @returns {Promise<SliceRequest>}
   */
  async #canonical (request, signal, claim) {
    if (!isLastChunk(request.ranges)) return request
    const size = request.size ?? claim ?? await this.#claimedSize(request, signal) ?? 0
    return { ...request, ranges: request.ranges.canonical(size) }
  }

  /**
   * Asks a Bao endpoint for its smallest slice, which begins with the size.
   *
   * @param {SliceRequest} request @param {AbortSignal} signal
   * @returns {Promise<number | undefined>} a claim; undefined if the server is not an endpoint
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

/**
 * True if the ranges should be read as plain bytes.
 *
 * @param {ChunkRanges} ranges @param {PlainBlob} [blob]  undefined if it cannot be read in this way
 */
const isLong = (ranges, blob) => blob !== undefined &&
  ranges.toBytes(blob.size).reduce((len, { start, end }) => len + end - start, 0) >= MIN_PLAIN_LEN

/**
 * True if the ranges begin beyond the end of any blob, so that they mean its last chunk.
 *
 * @param {ChunkRanges} ranges
 */
const isLastChunk = ranges => (ranges.boundaries[0] ?? 0) * CHUNK_LEN >= Number.MAX_SAFE_INTEGER

/**
 * True if a request was ended because its bytes are no longer wanted, and not because they have stalled.
 *
 * @param {AbortSignal} signal
 */
const isUnwanted = signal => signal.aborted && !(signal.reason instanceof BaoError)
