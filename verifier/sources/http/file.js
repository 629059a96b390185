// Reads a file at a URL, from any HTTP server. Nothing that the server says is believed. Its answers are checked only
// so that a read fails early with a clear error, and never downloads more than was asked for.

import { defaultFetch } from '#default-fetch'
import { BaoError, fetchChanged, fetchRefused } from '../../../lib/core/errors.js'
import { ByteQueue } from '../../../lib/core/byte-queue.js'
import { assertInteger, describe } from '../../../lib/core/bytes.js'
import { claimsOf, linkHeaderOf, statusError, wholeLen } from './answer.js'
import { requestBody } from './request.js'
import { locationOf, urlOf } from './urls.js'

/** @import { FileClaims, LinkHeader } from './answer.js' */
/** @import { HttpOptions } from './options.js' */

/** The maximum number of bytes that are read and dropped when a server gives files only from their start. */
const MAX_SKIP = 1 << 20
/** How many answers in a row may end too early before 16 KiB have arrived. */
const MAX_BREAKS = 4
const MIN_ANSWER_LEN = 1 << 14

/** One file of one server, in the version of the first answer. */
export class HttpFile {
  #url
  #http
  #isLenient
  /** The claims of the first answer. Later answers must make the same claims. @type {FileClaims | undefined} */
  #first
  /** The size that the server claims. @type {number | undefined} */
  size
  /** The `Link` header of the first answer that had one. @type {LinkHeader | undefined} */
  link
  /** True if the server has answered a request for a range with the whole file. */
  ignoresRanges = false

  /**
   * @param {string | URL} url @param {HttpOptions} [options]
   * @param {{ isLenient?: boolean }} [reading]  `isLenient`: true if all bytes are verified later. Then answers that
   *   may still be right are accepted: those of a changed file, those with another end of the range, and those that
   *   begin at the start of the file. Default: false
   */
  constructor (url, { fetch = defaultFetch(), headers, signal } = {}, { isLenient = false } = {}) {
    this.#url = urlOf(url)
    this.#isLenient = isLenient
    if (typeof fetch !== 'function') throw new TypeError(`"fetch" expected a function, got ${describe(fetch)}`)
    this.#http = { fetch, headers: new Headers(headers), signal }
  }

  get location () { return locationOf(this.#url) }

  /**
   * @param {number} start @param {number} end @param {AbortSignal} [signal]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes only at the end of the file
   */
  async read (start, end, signal) {
    const read = new ByteQueue()
    for await (const piece of this.pieces(start, end, signal)) read.push(piece, end - start)
    return new Uint8Array(read.bytes)
  }

  /**
   * Yields the bytes of a range, piece by piece. If an answer ends too early, another request continues there.
   *
   * @param {number} start @param {number} end  Infinity for the end of the file
   * @param {AbortSignal} [signal]
   * @param {(len: number) => void} [onSkipped]  called when bytes before `start` arrive, with their number
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async * pieces (start, end, signal, onSkipped) {
    assertInteger('start', start)
    const isEnd = (/** @type {number} */ at) => at >= (this.#isLenient ? end : Math.min(end, this.size ?? Infinity))
    for (let at = start, breaks = 0; !isEnd(at);) {
      const before = at
      const answer = { isWhole: false }
      let failure
      try {
        for await (const piece of this.#answer(at, end, answer, signal, onSkipped)) {
          at += piece.length
          yield piece
        }
      } catch (error) {
        const isBreak = error instanceof BaoError && error.code === 'FETCH_FAILED' && at > start
        if (!isBreak) throw error
        failure = error
      }
      if (failure === undefined) {
        if (at === before || (this.size === undefined && !this.#isLenient)) return
        if (at === this.size || (answer.isWhole && at >= (this.size ?? 0))) return
      }
      breaks = at - before < MIN_ANSWER_LEN ? breaks + 1 : 0
      if (breaks <= MAX_BREAKS || isEnd(at)) continue
      throw failure ?? fetchRefused(this.location, 'one answer after the other ends too early')
    }
  }

  /**
   * Finds the size of the whole file by a request without a range: from the Content-Length, which scripts may read from
   * other origins, or otherwise by counting the bytes.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<number>} a claim
   */
  async measure (signal) {
    let claim
    let counted = 0
    const pieces = requestBody(this.#request({}, signal), response => {
      if (response.status !== 200) throw statusError(this.location, response)
      claim = wholeLen(response.headers)
      return claim === undefined
    })
    for await (const { length } of pieces) counted += length
    return claim ?? counted
  }

  /**
   * Yields the bytes of one answer, at most those that were asked for.
   *
   * @param {number} start @param {number} end
   * @param {{ isWhole: boolean }} answer  `isWhole` is set when the server answers with the whole file
   * @param {AbortSignal} [signal] @param {(len: number) => void} [onSkipped]
   */
  async * #answer (start, end, answer, signal, onSkipped) {
    let toSkip = 0
    let left = end - start
    const pieces = requestBody(this.#request(this.#rangeHeaders(start, end), signal), (response, url) => {
      toSkip = this.#check(response, url, start, end)
      answer.isWhole = response.status === 200
      return toSkip < Infinity
    })
    for await (const piece of pieces) {
      const skipped = Math.min(toSkip, piece.length)
      const wanted = piece.subarray(skipped, skipped + left)
      toSkip -= skipped
      left -= wanted.length
      if (skipped > 0) onSkipped?.(skipped)
      if (wanted.length > 0) yield wanted
      if (left === 0) return
    }
  }

  /** @param {Record<string, string>} headers @param {AbortSignal} [signal] */
  #request (headers, signal) {
    return { url: this.#url, http: this.#http, headers: { ...headers, 'accept-encoding': 'identity' }, signal }
  }

  /** @param {number} start @param {number} end @returns {Record<string, string>} */
  #rangeHeaders (start, end) {
    const range = `bytes=${start}-${end === Infinity ? '' : end - 1}`
    // With If-Range, the server never sends a part of a changed file. Pages leave the header out for other origins,
    // because the browser would first ask the origin for permission.
    const etag = this.#isLenient ? undefined : this.#first?.etag
    const origin = globalThis.location?.origin ?? this.#url.origin
    return etag?.startsWith('"') && origin === this.#url.origin ? { range, 'if-range': etag } : { range }
  }

  /**
   * Checks that an answer belongs to its request.
   *
   * @param {Response} response @param {URL} url  the URL of the answer
   * @param {number} start @param {number} end
   * @returns {number} how many bytes of the body are before `start`; Infinity if the file ends before `start`
   */
  #check (response, url, start, end) {
    const { status, headers } = response
    if (status !== 200 && status !== 206 && status !== 416) throw statusError(this.location, response)
    this.link ??= linkHeaderOf(response, url)
    const claims = claimsOf(response)
    this.#recognize(claims)
    if (status === 206) {
      if (this.#isPart(claims, start, end)) return 0
      const got = headers.get('content-range') ?? 'no readable Content-Range (servers of other origins must expose it)'
      throw fetchRefused(this.location, `asked for bytes ${start} to ${end}, it answers with ${got}`)
    }
    if (status === 416) {
      if (this.#isLenient || (claims.size !== undefined && start >= claims.size)) return Infinity
      throw fetchRefused(this.location, `it says that it has no bytes from ${start} on, but not that it ends there`)
    }
    this.ignoresRanges = true
    if (this.#isLenient || start <= MAX_SKIP) return start
    throw fetchRefused(this.location, `it does not support ranges: ${start} bytes would have to be dropped`)
  }

  /** Compares the claims with those of the first answer. @param {FileClaims} claims */
  #recognize (claims) {
    const { etag, modified } = this.#first ?? claims
    const isChanged = differ(etag, claims.etag) || differ(modified, claims.modified) || differ(claims.size, this.size)
    if (isChanged && !this.#isLenient) throw fetchChanged(this.location)
    this.#first ??= claims
    this.size ??= claims.size
  }

  /**
   * True if the body has the range that was asked for, or its beginning.
   *
   * @param {FileClaims} claims @param {number} start @param {number} end
   */
  #isPart ({ range, size = Infinity, isEncoded }, start, end) {
    if (isEncoded) return false
    if (this.#isLenient) return (range?.start ?? start) === start
    return range !== undefined && range.start === start && range.end > start && range.end <= Math.min(end, size)
  }
}

/**
 * True if both values are known and different.
 *
 * @template T
 * @param {T | null | undefined} a @param {T | null | undefined} b
 */
const differ = (a, b) => a != null && b != null && a !== b
