// The interface of a bucket: a place that keeps objects under keys, as S3 does. Everything in this folder uses buckets
// through these eight calls.

import { assertInteger, assertOptions, describe } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'

/** @import { Source } from '../../lib/core/types.js' */

/**
 * @typedef {object} ObjectInfo  what a bucket says about an object: claims, all of them
 * @property {number} size  bytes
 * @property {string} [etag]  names the version of the object, without quotes; undefined if the bucket does not say it
 * @property {Date} [modified]  when the object was written, by the clock of the bucket
 */
/** @typedef {ObjectInfo & { key: string }} ListedObject */
/**
 * @typedef {object} ReadPart
 * @property {{ start: number, end: number }} range  which bytes of the object `body` gives: those that were asked for,
 *   as far as the object has them
 * @property {AsyncGenerator<Uint8Array>} body  gives exactly `range.end - range.start` bytes, in pieces of any length.
 *   A piece is the caller's. If the connection breaks, another request continues there, if the bucket says which
 *   version the object has. A caller that does not read to the end must call `body.return()`, or the connection stays
 *   open
 */
/** @typedef {ObjectInfo & ReadPart} ReadObject */
/**
 * @typedef {object} PutResult
 * @property {boolean} isWritten  false if `ifAbsent` was set and there was an object under the key. This may be the one
 *   that this call has written: if an answer is lost, the call asks again. So callers that must know read the object
 * @property {string} [etag]  of the new object, if it was written and the bucket says it
 */

/**
 * @typedef {object} UrlOptions  headers of the answer. Not all stores can set them, and none for requests that are not
 *   signed
 * @property {string} [type]  Content-Type
 * @property {string} [disposition]  Content-Disposition
 */

/**
 * A bucket. `s3`, `r2Bucket` and `memoryBucket` make one; any object with these calls is one.
 *
 * **Keys** are strings like `blobs/1f/1f00`: segments with a slash between them, at most 1024 bytes of UTF-8. Empty
 * segments, `.`, `..`, control characters and lone surrogates are refused with a TypeError. No key should be the folder
 * of another one (`a` and `a/b`), because some stores keep objects as files.
 *
 * **Consistency.** A call that begins after a write has been acknowledged sees this write, in `get`, `head` and `list`.
 * Of several `put` with `ifAbsent` for the same key, at most one writes. `probe` tests both.
 *
 * **Errors.** `BUCKET_FAILED`: no answer, or one that asks to try again, again and again; nothing was written.
 * `BUCKET_UNKNOWN`: the same for a call that writes or deletes, which may have done so, or may do so at any later time.
 * `BUCKET_REFUSED`, `BUCKET_ABSENT`, `BUCKET_CLOCK`: the bucket refuses, and nothing was written. `BUCKET_INVALID`: the
 * answer cannot be used. `FETCH_CHANGED`: the object has another ETag than `ifMatch`. After an abort, the signal's
 * reason is thrown, and the outcome of a write is unknown.
 *
 * @typedef {object} Bucket
 * @property {string} location  the name of the bucket in errors
 * @property {Date} [lastAnswer]  when the bucket sent its last answer, by its own clock. Without it, the clock of this
 *   machine counts
 * @property {(key: string, range?: { start?: number, end?: number }, options?: {
 *   ifMatch?: string, signal?: AbortSignal
 * }) => Promise<ReadObject | undefined>} get  reads an object, or a part of it; undefined if there is none under the
 *   key. If the range begins beyond the end, `body` is empty. `ifMatch` is an ETag
 * @property {(key: string, options?: { signal?: AbortSignal }) => Promise<ObjectInfo | undefined>} head
 * @property {(key: string, body: Uint8Array, options?: {
 *   ifAbsent?: boolean, type?: string, signal?: AbortSignal
 * }) => Promise<PutResult>} put  writes an object. The bytes must not change until the call has ended. `ifAbsent`: only
 *   if there is no object under the key; default: false, which replaces one. `type`: the media type with which the
 *   bucket serves the object, such as `text/html`; default: the bucket's
 * @property {(key: string, source: Source, options?: { size?: number, signal?: AbortSignal }
 * ) => Promise<{ size: number, etag?: string }>} putParts  writes an object of up to 5 TiB, in parts, and replaces
 *   one. The object appears as a whole, or not at all. At most five parts are in memory, of 8 MiB each up to 78 GiB.
 *   `size`: the length in bytes, if it is known. It decides how long the parts are, so longer objects need it. Throws
 *   SIZE_MISMATCH { wanted, got, location }, BLOB_TOO_LONG { location }
 * @property {(key: string, options?: { signal?: AbortSignal }) => Promise<void>} delete  deletes an object if there is
 *   one. Resolves when the bucket has acknowledged it
 * @property {(prefix?: string, after?: string, options?: { signal?: AbortSignal }
 * ) => AsyncGenerator<ListedObject>} list  yields the objects whose keys begin with `prefix` and come after the key
 *   `after`, in the order of the UTF-8 bytes of their keys. Objects that are written or deleted during the list may or
 *   may not be in it
 * @property {(olderThan: Date, options?: { signal?: AbortSignal }) => Promise<number>} abortUploads  deletes the parts
 *   of calls of `putParts` that began before a time and have not ended, for example because the process died. Returns
 *   how many there were
 * @property {(key: string, seconds: number, options?: UrlOptions) => Promise<string | undefined>} url  a URL from which
 *   anybody can read the object for so many seconds, at most a week; undefined if the bucket has no such URLs
 */

const CALLS = ['get', 'head', 'put', 'putParts', 'delete', 'list', 'abortUploads', 'url']
const MAX_SECONDS = 7 * 24 * 60 * 60

/** @param {unknown} bucket @param {string} [name] @returns {asserts bucket is Bucket} */
export function assertBucket (bucket, name = 'bucket') {
  assertOptions(name, bucket, 'a bucket')
  const missing = CALLS.find(call => typeof /** @type {any} */ (bucket)[call] !== 'function')
  if (missing !== undefined) throw new TypeError(`"${name}" expected a bucket, got an object without ${missing}()`)
}

/**
 * @param {unknown} range
 * @returns {{ start: number, end: number }} `end` may be Infinity
 */
export function rangeOf (range = {}) {
  assertOptions('range', range, '{ start, end }')
  const { start = 0, end = Infinity } = /** @type {{ start?: number, end?: number }} */ (range)
  assertInteger('start', start)
  if (end !== Infinity) assertInteger('end', end, start)
  return { start, end }
}

/** @param {unknown} seconds @returns {asserts seconds is number} */
export const assertSeconds = seconds => assertInteger('seconds', seconds, 1, MAX_SECONDS)

/**
 * @param {UrlOptions} options
 * @returns {[string, string][]} the parameters of S3 that set these headers. Source: Amazon S3, "GetObject"
 */
export function headersInQuery (options = {}) {
  assertKnownOptions(options, ['type', 'disposition'])
  const { type, disposition } = options
  const named = { disposition, type }
  return Object.entries(named).flatMap(([name, value]) => {
    if (value === undefined) return []
    if (typeof value === 'string' && /^[\x20-\x7e]+$/.test(value)) return [[`response-content-${name}`, value]]
    throw new TypeError(`"${name}" expected visible ASCII characters, got ${describe(value)}`)
  })
}

/** @param {unknown} time @returns {asserts time is Date} */
export function assertTime (time) {
  if (time instanceof Date && !Number.isNaN(time.getTime())) return
  throw new TypeError(`"olderThan" expected a Date, got ${describe(time)}`)
}
