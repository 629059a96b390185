// Hashing of anything that gives bytes over time.

import { Hasher } from './hasher.js'
import { toPieces, totalOf } from './source.js'

/** @import { ProgressOptions, Source } from './types.js' */

/**
 * BLAKE3 of a stream, a file, a Blob or bytes, in bounded memory.
 *
 * @param {Source} source
 * @param {ProgressOptions & { key?: Uint8Array }} [options]  `onProgress` gets `baobox:hash`
 * @returns {Promise<Uint8Array<ArrayBuffer>>} 32 fresh bytes
 */
export async function hashStream (source, { key, signal, onProgress } = {}) {
  const hasher = key === undefined ? new Hasher() : Hasher.keyed(key)
  for await (const piece of toPieces(source, { signal })) {
    hasher.update(piece)
    onProgress?.({ type: 'baobox:hash', detail: { done: hasher.bytesHashed, total: totalOf(source) } })
  }
  return hasher.digest()
}
