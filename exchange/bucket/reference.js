// The small objects that say under which key of the bucket the bytes of a blob are: references, found by the hash of
// the blob, and notes, found by the key. Both are claims: whoever reads a blob compares its bytes with the hash.

import { HASH_LEN } from '../../lib/core/constants.js'
import { BaoError } from '../../lib/core/errors.js'
import { bucketInvalid } from './errors.js'
import { fullKey } from './keys.js'
import { isOwnKey } from './layout.js'
import { readRecord } from './record.js'

/** @import { Bucket } from './bucket.js' */

/** @typedef {{ key: string, etag: string, size: number }} Reference  an object, and its version */
/**
 * @typedef {Reference & { hash: string, id: string }} Note  `hash`: that of the blob, in 64 digits; `id`: that of its
 *   reference and its outboard
 */

/**
 * Matches ETags that can be compared in `If-Match`. Weak ones (`W/"..."`) never match. Source: RFC 9110, 8.8.3 and
 * 13.1.1.
 */
const ETAG = /^[\x21\x23-\x7e]{1,1024}$/
const ID = /^(?:[\da-f]{8})?$/
const HEX = new RegExp(`^[\\da-f]{${2 * HASH_LEN}}$`)

/** @param {unknown} etag @returns {etag is string} true if an object with this ETag can be adopted */
export const isUsableEtag = etag => typeof etag === 'string' && ETAG.test(etag)

/**
 * @param {Bucket} bucket @param {string} key  of the reference @param {AbortSignal} [signal]
 * @returns {Promise<Reference | undefined>} undefined if there is none
 * @throws {BaoError} BUCKET_INVALID if the object is not a reference; errors of the bucket
 */
export async function readReference (bucket, key, signal) {
  const record = await readRecord(bucket, key, signal)
  return record && referenceIn(record, `${bucket.location}/${key}`)
}

/** The same for a note. @param {Bucket} bucket @param {string} key @param {AbortSignal} [signal] */
export async function readNote (bucket, key, signal) {
  const record = await readRecord(bucket, key, signal)
  if (record === undefined) return undefined
  const { hash, id = '' } = record
  const isRight = typeof hash === 'string' && HEX.test(hash) && typeof id === 'string' && ID.test(id)
  if (isRight) return { ...referenceIn(record, `${bucket.location}/${key}`), hash, id }
  throw bucketInvalid(`${bucket.location}/${key}`, 'it should have the hash of a blob')
}

/**
 * Runs a read of `readReference` or `readNote`. What is no reference counts as absent, because it will be replaced.
 *
 * @template T @param {Promise<T>} reading @returns {Promise<T | undefined>}
 */
export const unlessInvalid = reading => reading.catch(error => {
  if (error instanceof BaoError && error.code === 'BUCKET_INVALID') return undefined
  throw error
})

/** @param {Record<string, unknown>} record @param {string} location @returns {Reference} */
function referenceIn ({ key, etag, size }, location) {
  if (typeof key !== 'string' || !isUsableKey(key)) throw bucketInvalid(location, 'it should have the key of an object')
  if (!isUsableEtag(etag)) throw bucketInvalid(location, 'it should have the ETag of an object')
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return { key, etag, size }
  throw bucketInvalid(location, 'it should have the size of an object')
}

/** True if an object under this key can be adopted. @param {string} key */
export function isUsableKey (key) {
  try {
    fullKey(key)
  } catch {
    return false
  }
  return !isOwnKey(key)
}
