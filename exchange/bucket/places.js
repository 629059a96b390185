// Where the bytes of a blob may be in a bucket.

import { BaoError } from '../../lib/core/errors.js'
import { blobKey, parseBlobKey, referenceKey } from './layout.js'
import { readReference } from './reference.js'

/** @import { Bucket } from './bucket.js' */
/** @import { BlobKey } from './layout.js' */

/**
 * @typedef {object} BlobPlace
 * @property {string} key
 * @property {string} [etag]  of the version that is meant, if the blob was adopted
 * @property {number} [size]  that of an adopted object: a claim
 */

/** How many places are looked at. One or two are usual. */
const MAX_PLACES = 16
/** How many keys of a list are looked at: its first page. */
const MAX_LISTED = 1000

/**
 * Yields the places of a blob: its usual key, its reference, then keys and references with an id, which blobs get that
 * are put again. Each is looked for when the ones before it were of no use.
 *
 * @param {Bucket} bucket @param {string} hex
 * @param {{ signal?: AbortSignal, onInvalid: (error: BaoError) => void }} options  `onInvalid`: called with the error
 *   of an object that should be a reference and is none
 * @returns {AsyncGenerator<BlobPlace>}
 */
export async function * placesOf (bucket, hex, { signal, onInvalid }) {
  const [blob, reference] = [blobKey(hex), referenceKey(hex)]
  yield { key: blob }
  yield * referred(bucket, reference, { signal, onInvalid })
  let left = MAX_PLACES
  for await (const key of keysWithId(bucket, blob, 'bytes', signal)) {
    yield { key }
    if (--left === 0) return
  }
  for await (const key of keysWithId(bucket, reference, 'reference', signal)) {
    yield * referred(bucket, key, { signal, onInvalid })
    if (--left === 0) return
  }
}

/**
 * Yields the keys that are a key and an id. A list may be endless, so only its beginning is read.
 *
 * @param {Bucket} bucket @param {string} key @param {BlobKey['kind']} kind  of objects @param {AbortSignal} [signal]
 */
export async function * keysWithId (bucket, key, kind, signal) {
  let left = MAX_LISTED
  for await (const { key: listed } of bucket.list(`${key}.`, '', { signal })) {
    if (parseBlobKey(listed)?.kind === kind) yield listed
    if (--left === 0) return
  }
}

/**
 * @param {Bucket} bucket @param {string} key
 * @param {{ signal?: AbortSignal, onInvalid: (error: BaoError) => void }} options
 * @returns {AsyncGenerator<BlobPlace>}
 */
async function * referred (bucket, key, { signal, onInvalid }) {
  try {
    const reference = await readReference(bucket, key, signal)
    if (reference !== undefined) yield reference
  } catch (error) {
    if (!(error instanceof BaoError) || error.code !== 'BUCKET_INVALID') throw error
    onInvalid(error)
  }
}
