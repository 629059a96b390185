// Asks a Bao endpoint for slices. Its answers have the type `application/vnd.bao-slice`: the size of the blob in 8
// bytes, then the slice. Some endpoints can also give many members of a hash sequence in one answer.

import { BaoError, fetchFailed, fetchRefused } from '../../../lib/core/errors.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG } from '../../../lib/core/constants.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { linkHeaderOf, statusError, wholeLen } from '../../sources/http/answer.js'
import { requestBody } from '../../sources/http/request.js'
import { locationOf } from '../../sources/http/urls.js'

/** @import { LinkHeader } from '../../sources/http/answer.js' */
/** @import { HttpOptions } from '../../sources/http/options.js' */
/**
 * Called with the `Link` header of an answer, if the answer has one. It returns false if the body is not wanted.
 *
 * @callback OnLink
 * @param {LinkHeader} link @param {number} len  how many bytes the answer has; Infinity if that is not known
 * @returns {boolean}
 */

const SLICE_TYPE = 'application/vnd.bao-slice'
const MEMBERS_TYPE = 'application/vnd.bao-members'
/**
 * The maximum number of ranges of members in a request, and the maximum length of their text, because servers limit the
 * length of a URL.
 */
const MAX_RANGES = 256
const MAX_TEXT_LEN = 2048
/** The maximum number of characters of the JSON in which a server says which bytes it lacks. */
const MAX_REPORT_LEN = 1 << 16

/**
 * Yields the slice as it arrives, unverified.
 *
 * @param {URL} url
 * @param {{ ranges: ChunkRanges, groupLog: number }} wanted
 * @param {HttpOptions} options
 * @param {AbortSignal} signal
 * @param {OnLink} [onLink]
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {BaoError} FETCH_REFUSED when the answer is not a slice; FETCH_STATUS, with `ranges` if the server says
 *   which bytes it lacks; FETCH_FAILED
 */
export function sliceOfEndpoint (url, { ranges, groupLog }, options, signal, onLink) {
  const query = [['format', 'bao-slice'], ...rangeQuery(ranges)]
  return askEndpoint(url, { query, type: SLICE_TYPE, groupLog }, options, signal, onLink)
}

/**
 * Yields whole members of a sequence, as slices one after the other, unverified. Ends early where the server lacks a
 * member, or if the URL does not have space for all indices.
 *
 * @param {URL} url  the URL of the sequence
 * @param {number[]} indices  in increasing order, counted from 0
 * @param {HttpOptions} options
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>}
 * @throws {BaoError} FETCH_REFUSED; FETCH_STATUS when the server does not know this request, or lacks the first member;
 *   FETCH_FAILED
 */
export function membersOfEndpoint (url, indices, options, signal) {
  const query = [['format', 'bao-members'], ['members', membersText(indices)]]
  return askEndpoint(url, { query, type: MEMBERS_TYPE, groupLog: DEFAULT_GROUP_LOG }, options, signal)
}

/**
 * Yields the body of the answer, if the answer has the right type.
 *
 * @param {URL} url @param {{ query: string[][], type: string, groupLog: number }} wanted
 * @param {HttpOptions} options @param {AbortSignal} signal
 * @param {OnLink} [onLink]
 * @returns {AsyncGenerator<Uint8Array>}
 */
async function * askEndpoint (url, { query, type, groupLog }, options, signal, onLink) {
  const asked = new URL(url)
  for (const [name, value] of [...query, ['group-log', `${groupLog}`]]) asked.searchParams.set(name, value)
  const headers = { accept: `${type}; group-log=${groupLog}` }
  yield * requestBody({ url: asked, http: options, headers, signal }, async (response, answering) => {
    const { status, headers } = response
    if (status !== 200) throw await refusal(locationOf(url), response)
    if (isOfType(headers.get('content-type'), type, groupLog)) {
      const link = linkHeaderOf(response, answering)
      return link === undefined || onLink === undefined || onLink(link, wholeLen(headers) ?? Infinity)
    }
    const got = headers.get('content-type') ?? 'no type'
    throw fetchRefused(locationOf(url), `asked for ${type} at group log ${groupLog}, it answers with ${got}`)
  })
}

/**
 * Writes the indices of members as ranges whose ends are not included. Leaves out those that do not fit into a URL.
 *
 * @param {number[]} indices  in increasing order
 */
function membersText (indices) {
  let text = ''
  for (let i = 0, ranges = 0; i < indices.length && ranges < MAX_RANGES; ranges++) {
    const start = indices[i]
    let end = start + 1
    while (indices[++i] === end) end++
    const more = `${text === '' ? '' : ','}${start}-${end}`
    if (text.length + more.length > MAX_TEXT_LEN) break
    text += more
  }
  return text
}

/**
 * Writes ranges as a query: a single range in bytes, which every endpoint understands, and several ranges in chunks.
 * The ends are not included. If there are no ranges, the query asks for an empty range, which means one chunk.
 *
 * @param {ChunkRanges} ranges
 * @returns {[name: string, value: string][]}
 */
function rangeQuery (ranges) {
  const parts = [...ranges]
  if (parts.length === 0) return [['start', '0'], ['end', '0']] // Endpoints give the last chunk, or the first one.
  if (parts.length !== 1) {
    return [['chunks', parts.map(([start, end]) => `${start}-${end === Infinity ? '' : end}`).join(',')]]
  }
  const [[start, end]] = parts
  const from = Math.min(start * CHUNK_LEN, Number.MAX_SAFE_INTEGER)
  const to = end * CHUNK_LEN
  return to > Number.MAX_SAFE_INTEGER ? [['start', `${from}`]] : [['start', `${from}`], ['end', `${to}`]]
}

/** @param {string | null} contentType @param {string} wanted @param {number} groupLog */
function isOfType (contentType, wanted, groupLog) {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';').map(part => part.trim())
  const log = parameters.find(parameter => parameter.startsWith('group-log='))
  return type === wanted && (log === undefined || log === `group-log=${groupLog}`)
}

/**
 * The error for a status other than 200. Some servers say in JSON which bytes they lack: `{ missing: [[0, 16384]] }`.
 *
 * @param {string} location @param {Response} response
 */
async function refusal (location, response) {
  const error = statusError(location, response)
  const { body, headers } = response
  if (body === null || !(headers.get('content-type') ?? '').startsWith('application/json')) return error
  const reader = body.getReader()
  try {
    let text = ''
    const decoder = new TextDecoder()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += decoder.decode(next.value, { stream: true })
      if (text.length > MAX_REPORT_LEN) return error
    }
    error.ranges = rangesOf(JSON.parse(text).missing)
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof TypeError || cause instanceof RangeError)) {
      throw cause instanceof BaoError ? cause : fetchFailed(location, cause)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
  return error
}

/** @param {[start: number, end: number | null][]} missing  bytes @returns {ChunkRanges | undefined} */
function rangesOf (missing) {
  if (!Array.isArray(missing)) return undefined
  const parts = missing.map(([start, end]) => ChunkRanges.fromBytes(start, end ?? Infinity))
  // Adjacent parts are joined in rounds that halve their number. Ten thousand ranges would take seconds one by one.
  while (parts.length > 1) {
    for (let i = 0; i * 2 < parts.length; i++) {
      parts[i] = i * 2 + 1 < parts.length ? parts[i * 2].union(parts[i * 2 + 1]) : parts[i * 2]
    }
    parts.length = Math.ceil(parts.length / 2)
  }
  return parts[0] ?? ChunkRanges.none
}
