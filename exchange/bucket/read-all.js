// Reads objects into memory.

import { ByteQueue } from '../../lib/core/byte-queue.js'
import { BaoError } from '../../lib/core/errors.js'
import { bucketInvalid } from './errors.js'

/** @import { Bucket, ReadObject } from './bucket.js' */

/** How often an object is read again that has changed while it was read. */
const MAX_TRIES = 10

/**
 * Reads a small object. If the object changes while it is read over a broken connection, it is read again from the
 * start.
 *
 * @param {Bucket} bucket @param {string} key
 * @param {{ max: number, what: string, signal?: AbortSignal }} options  `max`: bytes that the object may have. `what`:
 *   what it should be, for the message
 * @returns {Promise<Uint8Array | undefined>} undefined if there is no object
 * @throws {BaoError} BUCKET_INVALID if the object is longer; errors of the bucket
 */
export function readSmall (bucket, key, { max, what, signal }) {
  return untilUnchanged(async () => {
    const object = await bucket.get(key, { start: 0, end: max }, { signal })
    if (object === undefined || object.size <= max) return object && readAll(object, max)
    await object.body.return(undefined)
    const why = `${what} has at most ${max} bytes, and this object has ${object.size}`
    throw bucketInvalid(`${bucket.location}/${key}`, why)
  })
}

/**
 * Runs a read. If the object changes while it is read over a broken connection, the read is run again.
 *
 * @template T @param {() => Promise<T>} read @returns {Promise<T>}
 */
export async function untilUnchanged (read) {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof BaoError && error.code === 'FETCH_CHANGED') || tries === MAX_TRIES) throw error
    }
  }
}

/**
 * @param {ReadObject} object
 * @param {number} max  the caller has asked for at most so many bytes. Memory grows only with the bytes that arrive
 * @returns {Promise<Uint8Array>}
 */
export async function readAll ({ body }, max) {
  const queue = new ByteQueue()
  for await (const piece of body) queue.push(piece, max)
  return queue.bytes
}
