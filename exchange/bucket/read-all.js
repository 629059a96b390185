// Reads an object into memory.

import { ByteQueue } from '../../lib/core/byte-queue.js'
import { BaoError } from '../../lib/core/errors.js'

/** @import { ReadObject } from './bucket.js' */

/** How often an object is read again that has changed while it was read. */
const MAX_TRIES = 10

/**
 * Runs the read of a small object. If the connection breaks, and the object changes or goes before the read goes on,
 * it is read again from the start.
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
