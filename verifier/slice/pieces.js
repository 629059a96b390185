// Reads the pieces of a stream and verifies them. All verifying streams share this loop.

/** @import { Leaf } from './leaves.js' */
/** @import { SliceVerifier } from './slice.js' */

/**
 * Verifies pieces until the slice ends. Verified leaves are yielded before any error is thrown.
 *
 * @param {SliceVerifier} verifier
 * @param {AsyncIterable<Uint8Array>} pieces
 * @returns {AsyncGenerator<Leaf>}
 */
export async function * verifyPieces (verifier, pieces) {
  if (verifier.done) return
  try {
    for await (const piece of pieces) {
      yield * verifier.write(piece)
      if (verifier.error) throw verifier.error
      if (verifier.done) return
    }
  } catch (error) {
    if (verifier.error === undefined) yield * flushed(verifier)
    throw error
  }
  yield * verifier.flush()
  verifier.end()
}

/**
 * The leaves that are complete when the stream has failed. A fault in them is ignored, because the stream's own error
 * is thrown.
 *
 * @param {SliceVerifier} verifier
 * @returns {Leaf[]}
 */
function flushed (verifier) {
  try {
    return verifier.flush()
  } catch {
    return []
  }
}
