// Records: small objects that are JSON. What a record says is a claim, so its reader checks each value.

import { bucketInvalid } from './errors.js'
import { readSmall } from './read-all.js'

/** @import { Bucket } from './bucket.js' */

/**
 * The maximum length of a record: a key of 1024 bytes and an ETag of 1024, each byte escaped, and names; or the 4096
 * bytes of a tag's metadata in base64, and names.
 */
const MAX_LEN = 8192

/**
 * @param {Bucket} bucket @param {string} key @param {AbortSignal} [signal]
 * @returns {Promise<Record<string, unknown> | undefined>} undefined if there is no object
 * @throws {import('../../lib/core/errors.js').BaoError} BUCKET_INVALID if the object is no record; errors of the bucket
 */
export async function readRecord (bucket, key, signal) {
  const bytes = await readSmall(bucket, key, { max: MAX_LEN, what: 'a record', signal })
  if (bytes === undefined) return undefined
  const location = `${bucket.location}/${key}`
  let record
  try {
    record = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw bucketInvalid(location, 'it should be JSON', { cause })
  }
  if (typeof record === 'object' && record !== null && !Array.isArray(record)) return record
  throw bucketInvalid(location, 'it should be an object in JSON')
}

/** @param {Bucket} bucket @param {string} key @param {object} record @param {AbortSignal} [signal] */
export const writeRecord = (bucket, key, record, signal) => bucket.put(key, encodeRecord(record), { signal })

/** @param {object} record */
export const encodeRecord = record => new TextEncoder().encode(JSON.stringify(record))
