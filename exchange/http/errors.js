// The errors of requests, and the status that the client gets for each.

import { BaoError } from '../../lib/core/errors.js'
import { CHUNK_LEN } from '../../lib/core/constants.js'
import { isMiss } from '../../store/interface.js'

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

/** The codes of errors whose causes say why something is missing. */
const LACKS = ['STORE_NOT_FOUND', 'STORE_MISSING']

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
  if (status === 404 && error.cause !== undefined && !isMiss(error)) return supplyFailed(error)
  if (status >= 500 || location !== undefined) return { status, details: { code } }
  return { status, details: { code, message, ...ranges && { missing: missingIn(ranges) } } }
}

/**
 * The answer if the blob may be somewhere, but could not be fetched. A 404 would say that it is nowhere.
 *
 * @param {BaoError} error
 * @returns {{ status: number, details: { code: string } }}
 */
function supplyFailed ({ cause }) {
  const isFull = cause instanceof BaoError && cause.code === 'STORE_FULL'
  if (isFull) return { status: STATUSES.STORE_FULL, details: { code: cause.code } }
  return cause instanceof BaoError && LACKS.includes(cause.code)
    ? supplyFailed(cause)
    : { status: 502, details: { code: 'HTTP_SUPPLY_FAILED' } }
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
