// The errors of requests, and the status that the client gets for each.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN } from '../../lib/core/constants.js'

/** @import { ChunkRanges } from '../../lib/tree/ranges.js' */

/** A request that is refused. The client gets `status`, and `code` and the message as JSON. */
export class HttpError extends Error {
  /**
   * @param {number} status @param {string} code @param {string} message
   * @param {Record<string, string>} [headers]
   */
  constructor (status, code, message, headers = {}) {
    super(message)
    this.name = 'HttpError'
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** @param {string} message */
export const badRequest = message => new HttpError(400, 'HTTP_BAD_REQUEST', message)

/** @param {string} message */
export const notAcceptable = message => new HttpError(406, 'HTTP_NOT_ACCEPTABLE', message)

export const noRoute = () => new HttpError(404, 'HTTP_NOT_FOUND', 'there is nothing at this path')

/** @param {number} ms */
export const stalled = ms => new HttpError(408, 'HTTP_STALLED', `the client took nothing for ${ms} ms`)

export const closing = () => new HttpError(503, 'HTTP_CLOSING', 'the server is closing', { 'retry-after': '1' })

/** Used in logs, because the client may have disconnected before this answer. @param {unknown} reason  of the abort */
export const asAborted = reason =>
  reason instanceof HttpError ? reason : new HttpError(499, 'HTTP_ABORTED', 'the client has gone')

/** The status for each code of the store and of uploads; all others get 500. */
const STATUSES = /** @type {Record<string, number>} */ ({
  CID_UNSUPPORTED: 400,
  STORE_READ_ONLY: 403,
  STORE_NOT_FOUND: 404,
  STORE_MISSING: 404,
  STORE_TAG_NOT_FOUND: 404,
  STORE_TAGGED: 409,
  CID_MISMATCH: 422,
  BAO_LEAF_MISMATCH: 422,
  BAO_PARENT_MISMATCH: 422,
  BAO_TRUNCATED: 422,
  BAO_SIZE_TOO_LARGE: 422,
  COLLECTION_INVALID: 422,
  COLLECTION_TOO_LONG: 422,
  MANIFEST_INVALID: 422,
  STORE_CHANGED: 503,
  STORE_CLOSED: 503,
  STORE_REOPENED: 503,
  STORE_FULL: 507
})

/** The maximum number of missing ranges that an answer lists. */
const MOST_RANGES = 1000

/**
 * The part of an error that a client gets. If the status is 500 or more, or the error has a location, the message is
 * left out, because it may name files of the server.
 *
 * @param {unknown} error
 * @returns {{ status: number, headers?: Record<string, string>, details: { code: string, message?: string,
 *   missing?: [number, number | null][] } }}
 */
export function errorAnswer (error) {
  if (error instanceof HttpError) {
    const { status, headers, code, message } = error
    return { status, headers, details: { code, message } }
  }
  if (!(error instanceof BaoError)) return { status: 500, details: { code: 'HTTP_INTERNAL' } }
  const { code, message, ranges, location } = error
  const status = STATUSES[code] ?? 500
  if (status >= 500 || location !== undefined) return { status, details: { code } }
  return { status, details: { code, message, ...ranges && { missing: missingIn(ranges) } } }
}

/** Ranges in bytes; an open one ends with null. @param {ChunkRanges} ranges @returns {[number, number | null][]} */
function missingIn ({ boundaries }) {
  const spans = /** @type {[number, number | null][]} */ ([])
  for (let i = 0; i < boundaries.length && spans.length < MOST_RANGES; i += 2) {
    const end = boundaries[i + 1]
    spans.push([boundaries[i] * CHUNK_LEN, end === undefined ? null : end * CHUNK_LEN])
  }
  return spans
}
