// Verified downloads: a Response whose body is right as far as it has come.

import { HttpFile, download, locationOf, urlOf } from './http.js'
import { SliceVerifier } from '../slice/slice.js'
import { VerifiedReader } from './reader.js'
import { DEFAULT_GROUP_LOG } from '../../lib/core/constants.js'
import { assertInteger } from '../../lib/core/bytes.js'
import { fetchRefused, fetchStatus } from '../../lib/core/errors.js'
import { pairsOf } from '../../lib/outboard/paged-outboard.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { toRanges } from '../../lib/tree/ranges.js'
import { verifyPieces } from '../slice/pieces.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { HttpOptions } from './http.js' */
/** @import { ProgressOptions, SliceOutboard } from '../../lib/core/types.js' */

/** What a Bao endpoint answers with: the length of the blob in 8 bytes, then the slice. */
const SLICE_TYPE = 'application/vnd.bao-slice'

/**
 * @typedef {object} FetchOptions
 * @property {CID | string | Uint8Array} cid  of the blob: nothing else is believed
 * @property {number} [start]  bytes
 * @property {number} [end]  bytes, not included; what lies beyond the end of the blob is left out
 * @property {SliceOutboard} [outboard]  the tree, from anywhere; without it the server is asked for a slice
 * @property {number} [groupLog]  of the slice, 4 unless told
 * @property {Uint8Array} [key]  of a keyed tree
 */

/**
 * Downloads a blob or a part of it, verified as it streams: at a wrong byte the body fails, and everything before it was right.
 *
 *     const response = await fetchVerified('https://example.org/movie.mp4', { cid, outboard, start: 1_000_000 })
 *     for await (const bytes of response.body) play(bytes)
 *
 * With an outboard, any HTTP server will do: it is asked for whole chunk groups. Without one, the server must be a Bao endpoint: it gets
 * `GET url?start=...&end=...` (as far as they were told) with `Accept: application/vnd.bao-slice; group-log=4`, and answers with a slice of that type.
 *
 * The body is read only as it is asked for; cancelling it ends the download. The answer's own headers are not passed on: nothing proves them. Nor
 * is there a length: it is proven only by the last chunk.
 *
 * @param {string | URL} url
 * @param {FetchOptions & HttpOptions & ProgressOptions} options  `onProgress` gets `baobox:fetch`, in verified bytes
 * @returns {Promise<Response>} when the first bytes have been verified: 200, or 206 for a part
 * @throws {import('../../lib/core/errors.js').BaoError} FETCH_FAILED, FETCH_STATUS, FETCH_REFUSED, FETCH_CHANGED, and as `SliceVerifier`; from the body as well
 */
export async function fetchVerified (url, { cid, start = 0, end = Infinity, outboard, groupLog, key, signal, onProgress, ...http }) {
  const root = parseRoot(cid, 'cid')
  if (outboard !== undefined) pairsOf(outboard)
  assertInteger('start', start)
  if (end !== Infinity) assertInteger('end', end)
  if (end < start) throw new RangeError(`"end" expected at least "start", ${start}, got ${end}`)
  const cancelled = new AbortController()
  const options = { ...http, signal: signal ? AbortSignal.any([signal, cancelled.signal]) : cancelled.signal }
  const what = { root, start, end, key }
  const pieces = outboard === undefined ? ofEndpoint(urlOf(url), { ...what, groupLog }, options) : ofFile(new HttpFile(url, options), outboard, what)

  let next = await pieces.next()
  let done = 0
  const leave = (/** @type {unknown} */ reason) => {
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
        leave(error)
        throw error
      }
    },
    cancel: leave
  }, { highWaterMark: 0 })
  return new Response(body, { status: start > 0 || end < Infinity ? 206 : 200, headers: { 'content-type': 'application/octet-stream' } })
}

/** @typedef {{ root: Uint8Array, start: number, end: number, key?: Uint8Array }} What */

/**
 * From a plain server, in one request as long as no connection breaks: the outboard says which bytes make which tree.
 *
 * @param {HttpFile} file @param {SliceOutboard} outboard @param {What} what
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * ofFile (file, outboard, { root, start, end, key }) {
  if (start === end) return
  const { size, groupLog } = outboard
  const [[from, to]] = size === 0 ? [[0, 0]] : toRanges({ start, end }).canonical(size).roundToGroups(groupLog).toBytes(size)
  const pieces = file.pieces(from, to)
  try {
    const reader = new VerifiedReader({ root, source: { size, read: inOrder(pieces, from) }, outboard, key })
    yield * reader.stream(start, end)
  } finally {
    await pieces.return(undefined)
  }
}

/**
 * From a Bao endpoint.
 *
 * @param {URL} url @param {What & { groupLog?: number }} what @param {HttpOptions} options
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * ofEndpoint (url, { root, start, end, groupLog = DEFAULT_GROUP_LOG, key }, { fetch = globalThis.fetch, headers, signal }) {
  if (start === end) return
  const verifier = new SliceVerifier({ root, ranges: { start, end }, groupLog, key })
  if (start > 0) url.searchParams.set('start', String(start))
  if (end < Infinity) url.searchParams.set('end', String(end))
  const request = { fetch, url, headers: new Headers(headers), signals: [signal] }
  request.headers.set('accept', `${SLICE_TYPE}; group-log=${groupLog}`)
  const pieces = download(request, ({ status, headers }) => {
    if (status !== 200) throw fetchStatus(locationOf(url), status)
    const [type, ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';').map(part => part.trim())
    const log = parameters.find(parameter => parameter.startsWith('group-log='))
    if (type === SLICE_TYPE && (log === undefined || log === `group-log=${groupLog}`)) return true
    throw fetchRefused(locationOf(url), `asked for a slice at group log ${groupLog}, it answers with ${headers.get('content-type') ?? 'no type'}. Where there is no Bao endpoint, an outboard is needed`)
  })
  for await (const { offset, bytes } of verifyPieces(verifier, pieces)) {
    const part = bytes.subarray(Math.max(start - offset, 0), Math.max(end - offset, 0))
    if (part.length > 0) yield part
  }
}

/**
 * A stream as a source that is read from front to back. It gives what has come, and does not wait for all that was asked for: readers ask again.
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
