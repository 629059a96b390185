// Reads the pieces of a stream and verifies them. All verifying streams share this loop.

import { cancelIterable } from '../../lib/source/async-util.js'

/** @import { Leaf } from './leaves.js' */
/** @import { SliceVerifier } from './slice.js' */
/** @import { SpanVerifier } from '../mirrors/plain/span-verifier.js' */

/**
 * Verifies pieces until everything that was wanted has come. Verified leaves are yielded before any error is thrown.
 *
 * @param {SliceVerifier | SpanVerifier} verifier
 * @param {AsyncIterable<Uint8Array>} pieces
 * @returns {AsyncGenerator<Leaf>}
 */
export async function * verifyPieces (verifier, pieces) {
  if (verifier.done) return cancelIterable(pieces)
  try {
    for await (const piece of pieces) {
      yield * await verifier.write(piece)
      if (verifier.error) throw verifier.error
      if (verifier.done) return
    }
  } catch (error) {
    if (verifier.error === undefined) yield * await flushed(verifier)
    throw error
  }
  yield * await verifier.flush()
  yield * await verifier.end()
}

/**
 * The leaves that are complete when the stream has failed. A fault in them is ignored, because the stream's own error
 * is thrown.
 *
 * @param {SliceVerifier | SpanVerifier} verifier
 * @returns {Promise<Leaf[]>}
 */
async function flushed (verifier) {
  try {
    return await verifier.flush()
  } catch {
    return []
  }
}
