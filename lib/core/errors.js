// Errors that callers can act on: each has a stable code, and properties that say where it happened. For a mistake of
// the caller (a wrong type, an impossible number), a plain TypeError or RangeError is thrown instead: see bytes.js.

/** @import { CID } from 'multiformats/cid' */
/** @import { ChunkRanges } from '../tree/ranges.js' */

/**
 * @typedef {'BAO_BAD_HEADER' | 'BAO_BAD_PROOF' | 'BAO_LEAF_MISMATCH' | 'BAO_PARENT_MISMATCH'
 *   | 'BAO_PROOF_MISMATCH' | 'BAO_SIZE_TOO_LARGE' | 'BAO_SOURCE_CHANGED' | 'BAO_TRUNCATED'
 *   | 'BAO_WORKER_FAILED' | 'BLOB_TOO_LONG' | 'BLOCK_TOO_LONG' | 'BUCKET_ABSENT' | 'BUCKET_CLOCK' | 'BUCKET_FAILED'
 *   | 'BUCKET_INVALID' | 'BUCKET_REFUSED' | 'BUCKET_UNKNOWN' | 'BUCKET_UNSAFE'
 *   | 'CAR_INVALID' | 'CAR_TRUNCATED' | 'CID_MISMATCH'
 *   | 'CID_UNSUPPORTED' | 'COLLECTION_INVALID' | 'COLLECTION_TOO_LONG' | 'FETCH_CHANGED' | 'FETCH_EXHAUSTED'
 *   | 'FETCH_FAILED' | 'FETCH_MEMBERS_MISSING' | 'FETCH_REFUSED' | 'FETCH_STATUS' | 'HASHSEQ_INVALID'
 *   | 'HASHSEQ_TOO_LONG' | 'MANIFEST_INVALID' | 'PATH_EXISTS' | 'PATH_MOVED' | 'PATH_UNSAFE' | 'SIZE_MISMATCH'
 *   | 'STORE_ABSENT' | 'STORE_CHANGED' | 'STORE_CLOSED' | 'STORE_CONDEMNED' | 'STORE_CORRUPT' | 'STORE_FULL'
 *   | 'STORE_LOCKED' | 'STORE_MISSING' | 'STORE_MOVED' | 'STORE_NOT_FOUND' | 'STORE_OPEN_FAILED' | 'STORE_READ_ONLY'
 *   | 'STORE_REOPENED' | 'STORE_TAGGED' | 'STORE_TAG_NOT_FOUND' | 'STORE_UNSUPPORTED' | 'STORE_VERSION'
 *   | 'STORE_WRITE_FAILED'
 *   | 'WATCH_GAP'
 *   | 'IROH_ABSENT' | 'REQUEST_INVALID' | 'REQUEST_UNSUPPORTED' | 'TICKET_INVALID'} BaoErrorCode
 */

/**
 * @typedef {object} Place  where the error happened; docs/errors.md says which codes have which of these properties
 * @property {number} [node]      in-order number of a parent
 * @property {number} [start]     byte offset in the blob
 * @property {number} [len]       bytes
 * @property {number} [wanted]    bytes that were expected
 * @property {number} [got]       bytes that arrived
 * @property {unknown} [cid]      the CID of a blob; in CID_UNSUPPORTED, the value that was given as a CID
 * @property {CID} [actual]       the CID of what arrived: a claim, unless all bytes were hashed
 * @property {ChunkRanges} [ranges]
 * @property {string} [location]
 * @property {string} [tag]       a tag's name
 * @property {string} [entry]     a name in a collection
 * @property {number} [status]    a status code of HTTP
 * @property {number} [retryAfter]  milliseconds that a server wants a client to wait before it asks again
 * @property {number} [pid]       id of a process
 * @property {{ index: number, cid: CID, error: BaoError }[]} [members]  members of a sequence that no mirror has
 */

/** An error with a stable `code`, which stays the same in all releases. The message may change. */
export class BaoError extends Error {
  /**
   * @param {BaoErrorCode} code
   * @param {string} message
   * @param {Place & { cause?: unknown }} [place]  becomes properties of the error; `cause` is kept as the cause
   */
  constructor (code, message, { cause, ...place } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'BaoError'
    this.code = code
    const { node, start, len, wanted, got, cid, actual, ranges, location, tag, entry } = place
    const { status, retryAfter, pid, members } = place
    /** @type {number | undefined} */ if (node !== undefined) this.node = node
    /** @type {number | undefined} */ if (start !== undefined) this.start = start
    /** @type {number | undefined} */ if (len !== undefined) this.len = len
    /** @type {number | undefined} */ if (wanted !== undefined) this.wanted = wanted
    /** @type {number | undefined} */ if (got !== undefined) this.got = got
    /** A CID; in CID_UNSUPPORTED, the value that was given as one. @type {CID | string | Uint8Array | undefined} */
    if (cid !== undefined) this.cid = /** @type {CID | string | Uint8Array} */ (cid)
    /** @type {CID | undefined} */ if (actual !== undefined) this.actual = actual
    /** @type {ChunkRanges | undefined} */ if (ranges !== undefined) this.ranges = ranges
    /** @type {string | undefined} */ if (location !== undefined) this.location = location
    /** @type {string | undefined} */ if (tag !== undefined) this.tag = tag
    /** @type {string | undefined} */ if (entry !== undefined) this.entry = entry
    /** @type {number | undefined} */ if (status !== undefined) this.status = status
    /** @type {number | undefined} */ if (retryAfter !== undefined) this.retryAfter = retryAfter
    /** @type {number | undefined} */ if (pid !== undefined) this.pid = pid
    /** @type {{ index: number, cid: CID, error: BaoError }[] | undefined} */
    if (members !== undefined) this.members = members
  }
}

/** @typedef {{ cid: CID, actual: CID }} OtherBlob  the blob that was wanted, and the one whose root came instead */

/** Where the root itself differs, the error names the blob that came. @param {OtherBlob} [other] */
const insteadText = other => other === undefined ? '' : `: this is the root of ${other.actual}, not of ${other.cid}`

/** @param {number} node @param {OtherBlob} [other] @param {string} [why] @returns {BaoError} */
export const parentMismatch = (node, other, why = '') =>
  new BaoError('BAO_PARENT_MISMATCH', `parent ${node} does not match the root${insteadText(other) || why}`,
    { node, ...other })

/** @param {number} start bytes @param {number} len bytes @param {OtherBlob} [other] @returns {BaoError} */
export const leafMismatch = (start, len, other) => {
  const place = len === 0 ? 'an empty blob does' : `bytes ${start} to ${start + len} do`
  return new BaoError('BAO_LEAF_MISMATCH', `${place} not match the root${insteadText(other)}`, { start, len, ...other })
}

/** @param {Place & { wanted: number, got: number, cause?: unknown }} place @returns {BaoError} */
export const truncated = place => {
  const { node, start, wanted, got } = place
  const where = node !== undefined ? `parent ${node}` : start !== undefined ? `bytes from ${start}` : 'the header'
  return new BaoError('BAO_TRUNCATED', `input ended at ${where}: ${got} of ${wanted} bytes`, place)
}

/** @param {string} location  the path of a file @returns {BaoError} */
export const sourceChanged = location =>
  new BaoError('BAO_SOURCE_CHANGED', `${location} changed while it was read`, { location })

/** @param {string} reason @param {unknown} [cause] @returns {BaoError} */
export const workerFailed = (reason, cause) =>
  new BaoError('BAO_WORKER_FAILED', `hashing on several threads ended: ${reason}`, { cause })

/** @param {string} fault @param {Place} [place] @returns {BaoError} */
export const badProof = (fault, place) =>
  new BaoError('BAO_BAD_PROOF', `the proof is not for what was asked: ${fault}`, place)

/** @returns {BaoError} */
export const proofMismatch = () =>
  new BaoError('BAO_PROOF_MISMATCH', 'the bytes and the proof do not match the root')

/** @param {string} location @param {unknown} cause @returns {BaoError} */
export const fetchFailed = (location, cause) =>
  new BaoError('FETCH_FAILED', `the connection to ${location} failed: ${reasonOf(cause)}`, { location, cause })

/** @param {string} location @param {number} status @returns {BaoError} */
export const fetchStatus = (location, status) =>
  new BaoError('FETCH_STATUS', `${location} answers with status ${status}`, { location, status })

/** @param {string} location @returns {BaoError} */
export const fetchChanged = location =>
  new BaoError('FETCH_CHANGED', `${location} changed since the first request`, { location })

/** @param {string} location @param {string} why @param {OtherBlob} [other] @returns {BaoError} */
export const fetchRefused = (location, why, other) =>
  new BaoError('FETCH_REFUSED', `${location} gives no usable answer: ${why}`, { location, ...other })

/** Matches URLs in messages of runtimes. Their queries may be secret. */
const URLS = /\w+:\/\/[^\s)'"]*/g

/**
 * The reason why a request has failed: the code of the innermost error, such as ECONNREFUSED, or if there is no code,
 * its message.
 *
 * @param {unknown} cause
 */
function reasonOf (cause) {
  let reason = String(cause)
  for (let error = cause; error instanceof Error; error = error.cause) {
    const { code } = /** @type {{ code?: unknown }} */ (error)
    if (typeof code === 'string' && !(error instanceof BaoError)) reason = code
    else if (error.message !== '') reason = error.message
  }
  return reason.replace(URLS, '...')
}

/** @param {Error[]} errors  the last error of each mirror @returns {BaoError} */
export const fetchExhausted = errors => {
  const each = errors.map(error => {
    const { message, location } = /** @type {Error & Partial<BaoError>} */ (error)
    return location === undefined || message.includes(location) ? message : `${location}: ${message}`
  }).join('; ')
  const message = errors.length === 0 ? 'there is no mirror to fetch from' : `no mirror is left: ${each}`
  return new BaoError('FETCH_EXHAUSTED', message, { cause: new AggregateError(errors, message) })
}
