// Hashing of anything that gives bytes over time.

import { Hasher } from './hasher.js'
import { toPieces } from './source.js'

/** @import { ModeOptions, ProgressOptions, Source } from './types.js' */

/**
 * BLAKE3 of a stream, a file, a Blob or bytes, in bounded memory.
 *
 * @param {Source} source
 * @param {ProgressOptions & ModeOptions} [options]  `onProgress` gets `baobox:hash`
 * @returns {Promise<Uint8Array<ArrayBuffer>>} 32 fresh bytes
 */
export async function hashStream (source, { signal, onProgress, ...options } = {}) {
  const hasher = new Hasher(options)
  for await (const piece of toPieces(source, { signal, onProgress, type: 'baobox:hash' })) hasher.update(piece)
  return hasher.digest()
}
