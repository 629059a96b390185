// Reads an object into memory.

import { ByteQueue } from '../../lib/core/byte-queue.js'

/** @import { ReadObject } from './bucket.js' */

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
