// Reads bytes behind a URL, from any HTTP server. Nothing that the server says is believed. Its answers
// are checked only to fail early with a clear error, and to download no more than was asked for.
// Source: RFC 9110, 13 and 14 (validators, ranges).

import { BaoError, fetchChanged, fetchFailed, fetchRefused, fetchStatus } from '../../lib/core/errors.js'
import { ByteQueue } from '../../lib/core/byte-queue.js'
import { assertInteger, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { untilAborted } from '../../lib/source/async-util.js'

/** @import { RandomAccess } from '../../lib/core/types.js' */

/**
 * @typedef {object} HttpOptions
 * @property {typeof globalThis.fetch} [fetch]  replaces the runtime's, to add credentials, to retry, to
 *   refuse redirects
 * @property {ConstructorParameters<typeof Headers>[0]} [headers]  of every request, in whatever form
 *   `new Headers` takes them
 * @property {AbortSignal} [signal]
 */

export const HTTP_OPTIONS = ['fetch', 'headers', 'signal']

/**
 * Bytes of the first request: the header of an encoding and the pairs above its first group, and all of
 * many small files.
 */
const FIRST_READ_LEN = 1 << 14
/** Bytes that are read and thrown away, at most, if a server gives files only from their start. */
const MAX_SKIP = 1 << 20
/** How often in a row an answer may end before its range does without bringing 16 KiB. */
const MAX_BREAKS = 4
const MIN_ANSWER_LEN = 1 << 14

/**
 * A file behind a URL that can be read at any place, as a source for `VerifiedReader`, `openOutboard`
 * and everything else.
 *
 * Every read is a request for exactly its bytes. When a connection breaks, another request continues
 * where it broke. If the file is replaced meanwhile, that is an error, as far as the server tells
 * (ETag, Last-Modified, length).
 *
 *     const reader = new VerifiedReader({ root, encoded: await httpSource('https://example.org/movie.bao') })
 *
 * @param {string | URL} url
 * @param {HttpOptions} [options]  `signal` ends all reads
 * @returns {Promise<RandomAccess>} when the server has told the size, which is a claim like everything else
 * @throws {BaoError} FETCH_FAILED { cause }, FETCH_STATUS { status }, FETCH_CHANGED, FETCH_REFUSED;
 *   each with `location`
 */
export async function httpSource (url, options) {
  assertKnownOptions(options, HTTP_OPTIONS)
  const file = new HttpFile(url, options)
  const start = await file.read(0, FIRST_READ_LEN)
  const { size } = file
  if (size === undefined) throw fetchRefused(file.location, 'it does not tell the size')
  return {
    size,
    overlaps: true,
    read: (from, to, signal) => to <= start.length ? start.slice(from, to) : file.read(from, to, signal)
  }
}

/** One file of one server, as it was when first seen. */
export class HttpFile {
  #url
  #fetch
  #headers
  #signal
  /**
   * Tells this state of the file from others. Undefined until the first answer.
   *
   * @type {{ etag: string | null, modified: string | null } | undefined}
   */
  #seen
  #isLenient
  /** As the server claims. @type {number | undefined} */
  size
  /**
   * The `Link` header of the first answer that had one, and where that came from.
   *
   * @type {{ header: string, base: URL } | undefined}
   */
  link
  /** Has the server answered with the whole file instead of the range that it was asked for? */
  ignoresRanges = false

  /**
   * @param {string | URL} url @param {HttpOptions} [options]
   * @param {{ isLenient?: boolean }} [reading]  `isLenient`: are all bytes verified later? Then whatever may be right
   *   is taken: a changed file, a range with a wrong end, a file that must be read from its beginning. Default: false
   */
  constructor (url, { fetch = globalThis.fetch, headers, signal } = {}, { isLenient = false } = {}) {
    this.#url = urlOf(url)
    this.#isLenient = isLenient
    if (typeof fetch !== 'function') throw new TypeError(`"fetch" expected a function, got ${describe(fetch)}`)
    this.#fetch = fetch
    this.#headers = new Headers(headers)
    this.#signal = signal
  }

  get location () { return locationOf(this.#url) }

  /**
   * @param {number} start @param {number} end @param {AbortSignal} [signal]
   * @returns {Promise<Uint8Array<ArrayBuffer>>} fresh; fewer bytes only where the file ends
   */
  async read (start, end, signal) {
    const read = new ByteQueue()
    for await (const piece of this.pieces(start, end, signal)) read.push(piece, end - start)
    return new Uint8Array(read.bytes)
  }

  /**
   * The same piece by piece. If an answer ends too early, the next request continues there.
   *
   * @param {number} start @param {number} end  Infinity for all there is
   * @param {AbortSignal} [signal]
   * @returns {AsyncGenerator<Uint8Array>}
   */
  async * pieces (start, end, signal) {
    assertInteger('start', start)
    const isEnd = (/** @type {number} */ at) => at >= (this.#isLenient ? end : Math.min(end, this.size ?? Infinity))
    for (let at = start, breaks = 0; !isEnd(at);) {
      const before = at
      const answer = { hasRest: false }
      try {
        for await (const piece of this.#answer(at, end, answer, signal)) {
          at += piece.length
          yield piece
        }
        if (at === before || (this.size === undefined && !this.#isLenient)) return
        if (answer.hasRest && at >= (this.size ?? 0)) return
        breaks = at - before < MIN_ANSWER_LEN ? breaks + 1 : 0
        if (breaks > MAX_BREAKS) throw fetchRefused(this.location, 'one answer after the other ends too early')
      } catch (error) {
        breaks = at - before < MIN_ANSWER_LEN ? breaks + 1 : 1
        const isBreak = error instanceof BaoError && error.code === 'FETCH_FAILED' && at > start
        if (!isBreak || breaks > MAX_BREAKS) throw error
      }
    }
  }

  /**
   * Bytes of the whole file, found without a range: as Content-Length tells, which scripts may read at other origins,
   * or else counted to the end.
   *
   * @param {AbortSignal} [signal]
   * @returns {Promise<number>} a claim
   */
  async measure (signal) {
    const headers = new Headers(this.#headers)
    headers.set('accept-encoding', 'identity')
    const request = { fetch: this.#fetch, url: this.#url, headers, signals: [this.#signal, signal] }
    let told
    let counted = 0
    const pieces = download(request, response => {
      if (response.status !== 200) throw statusError(this.location, response)
      told = lenToldBy(response)
      return told === undefined
    })
    for await (const { length } of pieces) counted += length
    return told ?? counted
  }

  /**
   * The bytes that one request brings, at most those it asked for.
   *
   * @param {number} start @param {number} end
   * @param {{ hasRest: boolean }} answer  is told whether all bytes up to the end of the file are in it
   * @param {AbortSignal} [signal]
   */
  async * #answer (start, end, answer, signal) {
    let toSkip = 0
    let left = end - start
    const headers = this.#headersFor(start, end)
    const request = { fetch: this.#fetch, url: this.#url, headers, signals: [this.#signal, signal] }
    const pieces = download(request, response => {
      toSkip = this.#check(response, start, end)
      answer.hasRest = response.status === 200
      return toSkip < Infinity
    })
    for await (const piece of pieces) {
      const skipped = Math.min(toSkip, piece.length)
      const wanted = piece.subarray(skipped, skipped + left)
      toSkip -= skipped
      left -= wanted.length
      if (wanted.length > 0) yield wanted
      if (left === 0) return
    }
  }

  /** @param {number} start @param {number} end */
  #headersFor (start, end) {
    const headers = new Headers(this.#headers)
    headers.set('accept-encoding', 'identity')
    headers.set('range', `bytes=${start}-${end === Infinity ? '' : end - 1}`)
    // If the file has changed, this saves a body that would be thrown away. Pages must not send it to
    // other origins without asking them first, so they leave it out there.
    const etag = this.#isLenient ? undefined : this.#seen?.etag
    const origin = globalThis.location?.origin ?? this.#url.origin
    if (etag?.startsWith('"') && origin === this.#url.origin) headers.set('if-range', etag)
    return headers
  }

  /**
   * Checks that an answer belongs to its request.
   *
   * @param {Response} response @param {number} start @param {number} end
   * @returns {number} bytes of the body before `start`; Infinity when the file ends there
   */
  #check (response, start, end) {
    const { status, headers } = response
    if (status !== 200 && status !== 206 && status !== 416) throw statusError(this.location, response)
    const link = headers.get('link')
    if (link !== null) this.link ??= { header: link, base: finalUrlOf(response, this.#url) }
    const isEncoded = isEncodedIn(headers)
    const range = rangeOf(headers.get('content-range'))
    const size = status === 200 ? lenToldBy(response) : range?.size
    this.#recognize({ etag: headers.get('etag'), modified: headers.get('last-modified') }, size)
    if (status === 416) {
      if (!this.#isLenient && (size === undefined || start < size)) {
        throw fetchRefused(this.location, `it says that it has no bytes from ${start} on, but not that it ends before`)
      }
      return Infinity
    }
    if (status === 200) {
      this.ignoresRanges = true
      if (start <= MAX_SKIP || this.#isLenient) return start
      throw fetchRefused(this.location, `it does not support ranges: ${start} bytes would have to be thrown away`)
    }
    const begins = range !== undefined && range.start === start && !isEncoded
    if (begins && range.end > start && range.end <= Math.min(end, range.size ?? Infinity)) return 0
    if (this.#isLenient && !isEncoded && (range?.start ?? start) === start) return 0
    const got = headers.get('content-range') ?? 'no readable Content-Range (servers of other origins must expose it)'
    throw fetchRefused(this.location, `asked for bytes ${start} to ${end}, it answers with ${got}`)
  }

  /**
   * Is it still the same file?
   *
   * @param {{ etag: string | null, modified: string | null }} state @param {number} [size]
   */
  #recognize (state, size) {
    const { etag, modified } = this.#seen ?? state
    const isChanged = differ(etag, state.etag) || differ(modified, state.modified) || differ(size, this.size)
    if (isChanged && !this.#isLenient) throw fetchChanged(this.location)
    this.#seen ??= state
    this.size ??= size
  }
}

/**
 * The body of an answer, piece by piece. However it ends, the download ends with it.
 *
 * @param {{ fetch: typeof globalThis.fetch, url: URL, headers: Headers, signals: (AbortSignal | undefined)[] }} request
 * @param {(response: Response) => boolean | Promise<boolean>} check  is the body wanted? Throws when the answer is no
 *   answer to the request
 * @returns {AsyncGenerator<Uint8Array>}
 */
export async function * download ({ fetch, url, headers, signals }, check) {
  const ended = new AbortController()
  const given = signals.filter(signal => signal !== undefined)
  const signal = AbortSignal.any([ended.signal, ...given])
  try {
    for (const signal of given) signal.throwIfAborted()
    yield * bodyOf(await answered(fetch(url, { headers, signal }), signal), check, signal)
  } catch (error) {
    for (const signal of given) signal.throwIfAborted()
    throw error instanceof BaoError ? error : fetchFailed(locationOf(url), error)
  } finally {
    ended.abort()
  }
}

/**
 * The answer, or an abort, whichever comes first: a caller's own `fetch` may ignore the signal.
 *
 * @param {Promise<Response>} answer @param {AbortSignal} signal
 * @returns {Promise<Response>}
 */
function answered (answer, signal) {
  return untilAborted(answer, signal).catch(error => {
    answer.then(late => late.body?.cancel()).catch(() => {})
    throw error
  })
}

/**
 * @param {Response} response @param {(response: Response) => boolean | Promise<boolean>} check
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * bodyOf (response, check, signal) {
  let reader
  try {
    if (!await check(response) || response.body === null) return
    reader = response.body.getReader()
    for (;;) {
      const next = await untilAborted(reader.read(), signal)
      if (next.done) return
      yield next.value
    }
  } finally {
    const rest = reader ?? (response.bodyUsed ? undefined : response.body)
    rest?.cancel().catch(() => {}) // the rest is not wanted, nor are its errors
  }
}

/**
 * Are two values different, if both are known?
 *
 * @template T
 * @param {T | null | undefined} a @param {T | null | undefined} b
 */
const differ = (a, b) => a != null && b != null && a !== b

/** @param {string | null} header @returns {{ start: number, end: number, size?: number } | undefined} */
function rangeOf (header) {
  const match = header?.match(/^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/)
  if (!match) return undefined
  const [start, last, size] = match.slice(1).map(lengthOf)
  return { start: start ?? NaN, end: (last ?? NaN) + 1, size }
}

/** @param {Headers} headers */
const isEncodedIn = headers => (headers.get('content-encoding') ?? 'identity') !== 'identity'

/** Bytes of a whole file, as an answer tells. @param {Response} response */
const lenToldBy = ({ headers }) => isEncodedIn(headers) ? undefined : lengthOf(headers.get('content-length'))

/** Where an answer came from, after redirects. @param {Response} response @param {URL} url  that was asked for */
export const finalUrlOf = ({ redirected, url: final }, url) => redirected && URL.canParse(final) ? new URL(final) : url

/** A number of bytes in a header; undefined if it is none. @param {string | null | undefined} text */
function lengthOf (text) {
  const len = /^\d+$/.test(text ?? '') ? Number(text) : NaN
  return Number.isSafeInteger(len) ? len : undefined
}

/**
 * The error of an answer with another status than those of success, and when the server may be asked again.
 *
 * @param {string} location @param {Response} response
 */
export function statusError (location, { status, headers }) {
  const error = fetchStatus(location, status)
  const after = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(after) ? 1000 * Number(after) : Date.parse(after) - Date.now()
  if (ms > 0) error.retryAfter = ms
  return error
}

/** Will a server that answers with this status do so again? @param {number} status */
export const isFinal = status => status < 500 && status !== 408 && status !== 425 && status !== 429

/** Does a server say that it has no such thing? It may have another. @param {unknown} error */
export function meansNotHere (error) {
  if (!(error instanceof BaoError) || error.ranges !== undefined) return false
  return error.code === 'FETCH_REFUSED' || (error.code === 'FETCH_STATUS' && isFinal(error.status ?? 0))
}

/**
 * Options for requests to a URL that a server has named. What the caller sends to one server is not for another: its
 * headers are not sent to another origin, nor are cookies.
 *
 * @param {URL} url
 * @param {URL[]} from  the URL that was asked for, and the one that has answered after redirects
 * @param {HttpOptions} options  for the first of these
 * @returns {HttpOptions}
 */
export function optionsFor (url, from, options) {
  return from.every(({ origin }) => origin === url.origin) ? options : withoutCredentials(options)
}

/** Options for requests without headers of the caller and without cookies. @param {HttpOptions} options */
export function withoutCredentials ({ fetch = globalThis.fetch, signal }) {
  // Some servers' runtimes have no cookies, and refuse the option.
  if (!('credentials' in Request.prototype)) return { fetch, signal }
  /** @type {typeof globalThis.fetch} */
  const fetchPlain = (input, init) => fetch(input, { ...init, credentials: 'omit' })
  return { fetch: fetchPlain, signal }
}

/** A URL as errors show it, without the parts that may be secret. @param {URL} url */
export const locationOf = url => url.origin + url.pathname

/**
 * @param {string | URL} url
 * @param {{ name?: string, shown?: string | URL }} [inErrors]  the name of the argument, default: url; what it is
 * @returns {URL} a copy
 */
export function urlOf (url, { name = 'url', shown = url } = {}) {
  if (typeof url !== 'string' && !(url instanceof URL)) {
    throw new TypeError(`"${name}" expected a string or URL, got ${describe(url)}`)
  }
  const base = globalThis.location?.href
  const absolute = URL.canParse(url, base) ? new URL(url, base) : undefined
  if (absolute?.protocol === 'http:' || absolute?.protocol === 'https:') return absolute
  const advice = absolute?.protocol === 'file:'
    ? '. A file is given as { source: path, outboard }, a store as the open store'
    : ''
  throw new TypeError(`"${name}" expected a URL that begins with https:// or http://, got '${shown}'${advice}`)
}
