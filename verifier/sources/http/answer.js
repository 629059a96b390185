// Reads the status and the headers of an answer. Everything in them is a claim. Source: RFC 9110, 13 and 14
// (validators, ranges).

import { BaoError, fetchStatus } from '../../../lib/core/errors.js'

/** @typedef {{ header: string, base: URL }} LinkHeader  `base`: the URL of the answer */

/**
 * @typedef {object} FileClaims
 * @property {string | null} etag
 * @property {string | null} modified
 * @property {number} [size]  bytes of the whole file
 * @property {{ start: number, end: number }} [range]  which bytes of the file are in the body; NaN where unknown
 * @property {boolean} isEncoded  true if the body is compressed
 */

/** The claims about a file in an answer of status 200, 206 or 416. @param {Response} response @returns {FileClaims} */
export function claimsOf ({ status, headers }) {
  const range = contentRange(headers.get('content-range'))
  return {
    etag: headers.get('etag'),
    modified: headers.get('last-modified'),
    size: status === 200 ? wholeLen(headers) : range?.size,
    range,
    isEncoded: isEncoded(headers)
  }
}

/** The size of the whole file, from the headers of an answer of status 200. @param {Headers} headers */
export const wholeLen = headers => isEncoded(headers) ? undefined : lengthOf(headers.get('content-length'))

/** @param {Headers} headers */
const isEncoded = headers => (headers.get('content-encoding') ?? 'identity') !== 'identity'

/** @param {string | null} header @returns {{ start: number, end: number, size?: number } | undefined} */
function contentRange (header) {
  const match = header?.match(/^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/)
  if (!match) return undefined
  const [start, last, size] = match.slice(1).map(lengthOf)
  return { start: start ?? NaN, end: (last ?? NaN) + 1, size }
}

/** Parses a number of bytes; undefined if the text is not one. @param {string | null | undefined} text */
function lengthOf (text) {
  const len = /^\d+$/.test(text ?? '') ? Number(text) : NaN
  return Number.isSafeInteger(len) ? len : undefined
}

/**
 * The `Link` header of an answer, if it has one.
 *
 * @param {Response} response @param {URL} base  the URL of the answer
 * @returns {LinkHeader | undefined}
 */
export function linkHeaderOf ({ headers }, base) {
  const header = headers.get('link')
  return header === null ? undefined : { header, base }
}

/**
 * The error for an answer whose status does not mean success. Its `retryAfter` comes from the `Retry-After` header.
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

/** True if an error says that the server lacks this resource, but may have others. @param {unknown} error */
export function meansNotHere (error) {
  if (!(error instanceof BaoError) || error.ranges !== undefined) return false
  return error.code === 'FETCH_REFUSED' || (error.code === 'FETCH_STATUS' && isFinal(error.status ?? 0))
}

/** True if a server that answers with this status will probably do so again. @param {number} status */
const isFinal = status => status < 500 && status !== 408 && status !== 425 && status !== 429
