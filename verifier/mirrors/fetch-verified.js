// Downloads a blob or a part of it as a `Response` whose body is verified while it streams.

import { defaultFetch } from '#default-fetch'
import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { toRange, toRanges } from '../../lib/tree/ranges.js'
import { HTTP_OPTIONS } from '../sources/http/options.js'
import { urlOf } from '../sources/http/urls.js'
import { FailoverReader } from './failover.js'
import { MirrorBook, TRY_OPTIONS } from './mirror-book.js'
import { assertInteger, assertOptions } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { Mirror, filledIn, mirrorOf, mirrorsOf } from './mirror.js'
import { isRasl } from './server/rasl.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { eitherOf } from '../../lib/source/async-util.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { parseRoot, toCid } from '../../lib/hash/cid.js'

/** @import { NamedBlob } from '../../lib/hash/cid.js' */
/** @import { RangeLike } from '../../lib/tree/ranges.js' */
/** @import { HttpOptions } from '../sources/http/options.js' */
/** @import { MirrorLike } from './mirror.js' */
/** @import { TryOptions } from './mirror-book.js' */
/** @import { ProgressOptions, SliceOutboard } from '../../lib/core/types.js' */

/**
 * @typedef {object} FetchParts
 * @property {Iterable<MirrorLike>} [from]  more mirrors of the blob. When one fails, the next one is asked
 * @property {RangeLike} [range]  bytes of the blob, `end` not included; bytes beyond the end of the blob are left out;
 *   default: the `Range` header of a Request, or everything
 * @property {SliceOutboard} [outboard]  the outboard, if the server has only the bytes; it may come from anywhere
 * @property {number} [groupLog]  the group log of the slices that Bao endpoints are asked for; default: 4
 * @property {Uint8Array} [key]  the key of a keyed tree
 * @property {string} [type]  the Content-Type of the returned Response; default: `application/octet-stream`
 */
/**
 * @typedef {NamedBlob & FetchParts & TryOptions & HttpOptions & ProgressOptions} FetchOptions  only `cid` is believed.
 *   `onProgress` gets `baobox:fetch` events, in verified bytes. For their `total`, the size is proven by one more small
 *   request
 */

const OPTIONS = ['cid', 'from', 'range', 'outboard', 'groupLog', 'key', 'type', 'onProgress',
  ...TRY_OPTIONS, ...HTTP_OPTIONS]
/** Headers of a Request that concern its range or a cached answer. They are not sent to the server. */
const OWN_HEADERS = ['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']
const DEFAULT_TYPE = 'application/octet-stream'

/**
 * Downloads a blob or a part of it. The body is verified while it streams, and never contains a wrong byte. Where a
 * mirror sends a wrong byte, the next mirror continues. If there is none, the body fails.
 *
 *     const response = await fetchVerified('https://example.org/movie.mp4', { cid, range: { start: 1_000_000 } })
 *     for await (const bytes of response.body) play(bytes)
 *
 * The server may be a Bao endpoint, or any HTTP server that has an outboard beside the blob: see `mirrorOf`. With
 * `outboard`, the server needs only the bytes.
 *
 * With a Request, this function can replace `fetch`, for example in a service worker. The `Range` header of a GET is
 * followed if it has a single range, and if `If-Range` is missing or is the ETag of this blob, which is the quoted CID.
 * Then the size is proven first, so the Response has Content-Range and Content-Length, or is 416. HEAD gets the length
 * without a body.
 *
 * The download continues only while the body is read; cancelling the body ends it. The headers of the server's answer
 * are not passed on, because nothing proves them. So there is a Content-Length only if the size is proven before the
 * body begins: for HEAD, for a `Range` header, with `onProgress`, and for blobs that arrive whole with the first bytes.
 *
 * @param {Request | MirrorLike} input  a Request must be GET or HEAD; its headers, credentials and signal are used
 * @param {FetchOptions} options
 * @returns {Promise<Response>} when the first bytes have been verified: 200, or 206 for a part
 * @throws {import('../../lib/core/errors.js').BaoError} FETCH_FAILED, FETCH_STATUS, FETCH_REFUSED, and the errors of
 *   `SliceVerifier`, with `location`; FETCH_EXHAUSTED when several mirrors have failed. The body fails with the same
 *   errors
 */
export async function fetchVerified (input, options) {
  assertOptions('options', options, '{ cid, ... }')
  assertKnownOptions(options, OPTIONS)
  const { outboard, groupLog = DEFAULT_GROUP_LOG, key, type = DEFAULT_TYPE, signal, onProgress } = options
  const { retries, stall, maxDuplicates } = options
  const book = new MirrorBook({ retries, stall, maxDuplicates })
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  modeOf({ key })
  if (outboard !== undefined) pairsOf(outboard)
  const request = input instanceof Request ? input : undefined
  if (request !== undefined && !['GET', 'HEAD'].includes(request.method)) {
    throw new TypeError(`"input" expected a request with GET or HEAD, got ${request.method}`)
  }
  const root = parseRoot(options.cid)
  const etag = `"${toCid(root)}"`
  const cancelled = new AbortController()
  const ending = eitherOf(request?.signal, eitherOf(signal, cancelled.signal))
  const http = httpOf(request, options)
  const own = firstMirrors(request?.url ?? /** @type {MirrorLike} */ (input), root, outboard, http)
  for (const mirror of own) book.add(mirror)
  // The headers and credentials of a Request go only to its own server.
  const forOthers = { fetch: http.fetch, headers: options.headers }
  for (const from of options.from ?? []) for (const mirror of mirrorsOf(from, forOthers)) book.add(mirror)
  const reader = new FailoverReader(book, { root, groupLog, key, signal: ending })

  let { start, end } = toRange(options.range)
  const headers = new Headers({ 'content-type': type, 'accept-ranges': 'bytes', etag })
  const isWhole = start === 0 && end === Infinity
  const asked = isWhole ? askedRange(request, etag) : undefined
  if (asked !== undefined) {
    const size = await reader.provenSize()
    ;({ start, end } = asked(size))
    end = Math.min(end, size)
    headers.set('content-range', start < end ? `bytes ${start}-${end - 1}/${size}` : `bytes */${size}`)
    if (start >= end) return new Response(null, { status: 416, headers })
  }
  const status = isWhole && asked === undefined ? 200 : 206
  const setLength = (/** @type {number} */ size) => {
    end = Math.min(end, size)
    headers.set('content-length', String(Math.max(end - start, 0)))
  }
  if (request?.method === 'HEAD') {
    setLength(await reader.provenSize())
    return new Response(null, { status, headers })
  }

  // A mirror that cannot prove the size may still be able to give the range.
  if (onProgress !== undefined) await reader.provenSize().catch(() => {})
  const pieces = piecesOf(reader, start, end, outboard?.groupLog ?? groupLog)
  const first = await pieces.next()
  if (reader.size !== undefined) setLength(reader.size)
  // A body that is whole needs no more of its mirror, even if nobody reads it.
  if (first.value?.length === end - start) await pieces.return(undefined)
  const total = reader.size === undefined ? undefined : Math.max(end - start, 0)
  const body = streamOf(first, pieces, {
    onSent: done => onProgress?.({ type: 'baobox:fetch', detail: { done, total, unit: 'bytes' } }),
    onCancel: reason => cancelled.abort(reason)
  })
  return new Response(body, { status, headers })
}

/**
 * Makes a stream of pieces. It asks for a piece only when its reader wants one.
 *
 * @param {IteratorResult<Uint8Array, void>} first @param {AsyncGenerator<Uint8Array, void>} rest
 * @param {object} options
 * @param {(done: number) => void} options.onSent  called with the number of bytes so far
 * @param {(reason: unknown) => void} options.onCancel  called when pieces are no longer wanted, or one has failed
 */
function streamOf (first, rest, { onSent, onCancel }) {
  let next = first
  let done = 0
  const cancel = (/** @type {unknown} */ reason) => {
    onCancel(reason)
    rest.return(undefined).catch(() => {})
  }
  return new ReadableStream({
    async pull (controller) {
      try {
        if (!next.done) {
          controller.enqueue(next.value)
          done += next.value.length
          onSent(done)
          next = await rest.next()
        }
        if (next.done) controller.close()
      } catch (error) {
        cancel(error)
        throw error
      }
    },
    cancel
  }, { highWaterMark: 0 })
}

/**
 * @param {MirrorLike} input @param {Uint8Array} root  of the blob
 * @param {SliceOutboard | undefined} outboard @param {HttpOptions} http
 */
function firstMirrors (input, root, outboard, http) {
  const isOther = typeof input === 'function' ||
    (typeof input === 'object' && input !== null && ('slice' in input || 'source' in input))
  if (isOther || input instanceof Mirror || isRasl(input)) return mirrorsOf(input, http)
  const given = /** @type {string | URL} */ (input)
  const url = urlOf(typeof given === 'string' ? filledIn(given, root) : given, { name: 'input', shown: given })
  return [outboard === undefined ? mirrorOf(url, http) : mirrorOf({ source: url, outboard }, http)]
}

/** Returns the options of requests to servers. @param {Request | undefined} request @param {FetchOptions} options */
function httpOf (request, { fetch = defaultFetch(), headers }) {
  if (request === undefined) return { fetch, headers }
  const own = new Headers(request.headers)
  for (const name of OWN_HEADERS) own.delete(name)
  for (const [name, value] of new Headers(headers)) own.set(name, value)
  const { credentials, redirect } = request
  /** @type {typeof globalThis.fetch} */
  const fetchLike = (url, init) =>
    fetch(url, { credentials, ...init, ...(redirect !== 'follow' && { redirect: 'error' }) })
  return { fetch: fetchLike, headers: own }
}

/**
 * Returns the range in the `Range` header of a Request, as a function of the size. The header is ignored if it has
 * several ranges or a different unit, if the method is not GET, or if `If-Range` is a different ETag. Source: RFC 9110,
 * 13.1.5, 14.1.2, 14.2.
 *
 * @param {Request | undefined} request @param {string} etag
 * @returns {((size: number) => { start: number, end: number }) | undefined} undefined when the header is missing or
 *   ignored
 */
function askedRange (request, etag) {
  if (request?.method !== 'GET' || (request.headers.get('if-range') ?? etag) !== etag) return undefined
  const header = request.headers.get('range') ?? ''
  const [all, first = '', last = ''] = /^bytes= *(?:(\d+) *)?- *(?:(\d+) *)?$/i.exec(header) ?? []
  if (all === undefined || (first === '' && last === '')) return undefined
  if (first === '') return size => ({ start: Math.max(size - Number(last), 0), end: last === '0' ? 0 : size })
  if (last !== '' && Number(last) < Number(first)) return undefined
  return size => ({ start: Number(first), end: last === '' ? size : Number(last) + 1 })
}

/**
 * Yields the verified bytes of a range, cut from whole groups.
 *
 * @param {FailoverReader} reader @param {number} start @param {number} end @param {number} groupLog
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * piecesOf (reader, start, end, groupLog) {
  if (start === end) return
  for await (const { offset, bytes } of reader.leaves(toRanges({ start, end }).roundToGroups(groupLog))) {
    const part = bytes.subarray(Math.max(start - offset, 0), Math.max(end - offset, 0))
    if (part.length > 0) yield part
  }
}
