// Hashing of anything that gives bytes over time.

import { growTree } from './grow.js'
import { modeOf } from '../hash/mode-options.js'

/** @import { ModeOptions, ProgressOptions, Source, ThreadOptions } from '../core/types.js' */

/**
 * BLAKE3 of a stream, a file, a Blob or bytes, in bounded memory. Long files, Blobs and bytes in shared memory are hashed on several threads.
 *
 * @param {Source} source
 * @param {ProgressOptions & ModeOptions & ThreadOptions} [options]  `onProgress` gets `baobox:hash`
 * @returns {Promise<Uint8Array<ArrayBuffer>>} 32 fresh bytes
 * @throws {BaoError} BAO_TRUNCATED, BAO_SOURCE_CHANGED when a file changes meanwhile, BAO_WORKER_FAILED
 */
export async function hashStream (source, { signal, onProgress, threads, ...options } = {}) {
  const { root } = await growTree(source, { mode: modeOf(options), threads, signal, onProgress, type: 'baobox:hash' })
  return root
}
