// Downloads a blob or a part of it as a `Response` whose body is verified while it streams.

import { HTTP_OPTIONS, HttpFile, download, locationOf, urlOf } from './http.js'
import { SliceVerifier } from '../slice/slice.js'
import { VerifiedReader } from './reader.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { assertOptions } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { fetchRefused, fetchStatus } from '../../lib/core/errors.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { rootOf } from '../../lib/hash/cid.js'
import { ChunkRanges, toRanges } from '../../lib/tree/ranges.js'
import { verifyPieces } from '../slice/pieces.js'

/** @import { NamedBlob } from '../../lib/hash/cid.js' */
/** @import { RangesLike } from '../../lib/tree/ranges.js' */
/** @import { HttpOptions } from './http.js' */
/** @import { ProgressOptions, SliceOutboard } from '../../lib/core/types.js' */

/** The type of a Bao endpoint's answers: the size of the blob in 8 bytes, then the slice. */
const SLICE_TYPE = 'application/vnd.bao-slice'

/**
 * @typedef {object} FetchParts
 * @property {RangesLike} [ranges]  one range: `{ start, end }` in bytes, or chunks; bytes beyond the
 *   end of the blob are left out; default: everything
 * @property {number} [start]  bytes: short for `ranges: { start, end }`
 * @property {number} [end]  bytes, not included
 * @property {SliceOutboard} [outboard]  the tree, from anywhere; without it the server is asked for a slice
 * @property {number} [groupLog]  of the slice; default: 4
 * @property {Uint8Array} [key]  of a keyed tree
 */
/** @typedef {NamedBlob & FetchParts} FetchOptions  the name of the blob is all that is believed */

const OPTIONS = ['root', 'cid', 'ranges', 'start', 'end', 'outboard', 'groupLog', 'key', 'onProgress', ...HTTP_OPTIONS]

/**
 * Downloads a blob or a part of it. The body is verified while it streams: at a wrong byte it fails,
 * and everything before was right.
 *
 *     const response = await fetchVerified('https://example.org/movie.mp4', { cid, outboard, start: 1_000_000 })
 *     for await (const bytes of response.body) play(bytes)
 *
 * With an outboard, any HTTP server will do: it is asked for whole chunk groups. Without one, the
 * server must be a Bao endpoint. It gets `GET url?start=...&end=...` (without those that are the
 * default) and `Accept: application/vnd.bao-slice; group-log=4`, and answers with a slice of that type.
 *
 * The body is read only as it is asked for; cancelling it ends the download. The headers of the answer
 * are not passed on, because nothing proves them. There is no length either: only the last chunk proves
 * it.
 *
 * @param {string | URL} url
 * @param {FetchOptions & HttpOptions & ProgressOptions} options  `onProgress` gets `baobox:fetch`, in verified bytes
 * @returns {Promise<Response>} when the first bytes have been verified: 200, or 206 for a part
 * @throws {import('../../lib/core/errors.js').BaoError} FETCH_FAILED, FETCH_STATUS, FETCH_REFUSED,
 *   FETCH_CHANGED, and as `SliceVerifier`; from the body as well
 */
export async function fetchVerified (url, options) {
  assertOptions('options', options, '{ cid, ... }')
  assertKnownOptions(options, OPTIONS)
  const { outboard, groupLog, key, fetch, headers, signal, onProgress } = options
  if (outboard !== undefined) pairsOf(outboard)
  const { start, end } = rangeOf(options)
  const cancelled = new AbortController()
  const http = { fetch, headers, signal: signal ? AbortSignal.any([signal, cancelled.signal]) : cancelled.signal }
  const part = { root: rootOf(options), start, end, key }
  const pieces = outboard === undefined
    ? ofEndpoint(urlOf(url), { ...part, groupLog }, http)
    : ofFile(new HttpFile(url, http), outboard, part)

  let next = await pieces.next()
  let done = 0
  const cancel = (/** @type {unknown} */ reason) => {
    cancelled.abort(reason)
    pieces.return(undefined).catch(() => {})
  }
  const body = new ReadableStream({
    async pull (controller) {
      try {
        if (!next.done) {
          controller.enqueue(next.value)
          done += next.value.length
          onProgress?.({ type: 'baobox:fetch', detail: { done, total: end === Infinity ? undefined : end - start } })
          next = await pieces.next()
        }
        if (next.done) controller.close()
      } catch (error) {
        cancel(error)
        throw error
      }
    },
    cancel
  }, { highWaterMark: 0 })
  const status = start > 0 || end < Infinity ? 206 : 200
  return new Response(body, { status, headers: { 'content-type': 'application/octet-stream' } })
}

/** The bytes that options ask for. @param {FetchOptions} options @returns {{ start: number, end: number }} */
function rangeOf ({ ranges, start, end }) {
  if (ranges !== undefined && (start !== undefined || end !== undefined)) {
    throw new TypeError('"ranges" and "start" or "end" exclude each other')
  }
  if (ranges instanceof ChunkRanges) {
    const [[first, last] = [0, 0], ...others] = ranges
    if (others.length > 0) throw new RangeError(`"ranges" expected one range, got ${others.length + 1}`)
    return checkedRange({ start: first * CHUNK_LEN, end: last * CHUNK_LEN })
  }
  return checkedRange(ranges ?? { start, end })
}

/** @param {{ start?: number, end?: number }} range */
function checkedRange (range) {
  toRanges(range)
  const { start = 0, end = Infinity } = range
  return { start, end }
}

/** @typedef {{ root: Uint8Array, start: number, end: number, key?: Uint8Array }} BlobPart */

/**
 * Downloads from a plain server, in one request as long as no connection breaks. The outboard proves the bytes.
 *
 * @param {HttpFile} file @param {SliceOutboard} outboard @param {BlobPart} part
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * ofFile (file, outboard, { root, start, end, key }) {
  if (start === end) return
  const { size, groupLog } = outboard
  const groups = toRanges({ start, end }).canonical(size).roundToGroups(groupLog)
  const [[from, to]] = size === 0 ? [[0, 0]] : groups.toBytes(size)
  const pieces = file.pieces(from, to)
  try {
    const reader = new VerifiedReader({ root, source: { size, read: inOrder(pieces, from) }, outboard, key })
    yield * reader.stream(start, end)
  } finally {
    await pieces.return(undefined)
  }
}

/**
 * Downloads from a Bao endpoint.
 *
 * @param {URL} url @param {BlobPart & { groupLog?: number }} part @param {HttpOptions} options
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * ofEndpoint (url, part, { fetch = globalThis.fetch, headers, signal }) {
  const { root, start, end, groupLog = DEFAULT_GROUP_LOG, key } = part
  if (start === end) return
  const verifier = new SliceVerifier({ root, ranges: { start, end }, groupLog, key })
  if (start > 0) url.searchParams.set('start', String(start))
  if (end < Infinity) url.searchParams.set('end', String(end))
  const request = { fetch, url, headers: new Headers(headers), signals: [signal] }
  request.headers.set('accept', `${SLICE_TYPE}; group-log=${groupLog}`)
  const pieces = download(request, ({ status, headers }) => {
    if (status !== 200) throw fetchStatus(locationOf(url), status)
    if (isSliceType(headers.get('content-type'), groupLog)) return true
    const got = headers.get('content-type') ?? 'no type'
    const why = `asked for a slice at group log ${groupLog}, it answers with ${got}`
    throw fetchRefused(locationOf(url), `${why}. If it is no Bao endpoint, give an outboard`)
  })
  for await (const { bytes } of verifyPieces(verifier, pieces)) yield bytes
}

/** @param {string | null} contentType @param {number} groupLog */
function isSliceType (contentType, groupLog) {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';').map(part => part.trim())
  const log = parameters.find(parameter => parameter.startsWith('group-log='))
  return type === SLICE_TYPE && (log === undefined || log === `group-log=${groupLog}`)
}

/**
 * The `read` of a source that is a stream, and is read from front to back. It returns the bytes that
 * have come, and does not wait for all that were asked for: readers ask again.
 *
 * @param {AsyncGenerator<Uint8Array>} pieces @param {number} at  where they begin
 */
function inOrder (pieces, at) {
  let piece = /** @type {Uint8Array} */ (new Uint8Array(0))
  return async (/** @type {number} */ start, /** @type {number} */ end) => {
    while (at + piece.length <= start) {
      at += piece.length
      const next = await pieces.next()
      if (next.done) return new Uint8Array(0)
      piece = next.value
    }
    return piece.subarray(start - at, end - at)
  }
}
