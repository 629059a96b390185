// The loop around a verifier that reads, and nothing else.

/** @import { Leaf } from './leaves.js' */
/** @import { SliceVerifier } from './slice.js' */

/**
 * Whatever ends it, what came before is given first.
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

/** What is complete. A fault that shows only now is not what ended it. @param {SliceVerifier} verifier @returns {Leaf[]} */
function flushed (verifier) {
  try {
    return verifier.flush()
  } catch {
    return []
  }
}
