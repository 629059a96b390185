// Verification around streams: the loop that reads, and nothing else.

import { SliceVerifier } from './slice.js'
import { toPieces } from '../lib/source.js'

/** @import { Leaf, VerifyOptions } from './slice.js' */
/** @import { Source } from '../lib/types.js' */

/**
 * The verified leaves of a slice that comes as a stream. Reading stops where the slice ends.
 *
 * @param {Source} source
 * @param {VerifyOptions & { signal?: AbortSignal }} options
 * @returns {AsyncGenerator<Leaf>}
 * @throws {import('../lib/errors.js').BaoError} as `SliceVerifier`, after everything before the fault has been given
 */
export function verifyStream (source, { signal, ...options }) {
  return verifyPieces(new SliceVerifier(options), toPieces(source, { signal }))
}

/**
 * The loop: whatever ends it, what came before is given first.
 *
 * @param {SliceVerifier} verifier
 * @param {AsyncIterable<Uint8Array>} pieces
 * @returns {AsyncGenerator<Leaf>}
 */
export async function * verifyPieces (verifier, pieces) {
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

/**
 * A transform from the bytes of a slice to the verified bytes of the blob, one range after the other.
 *
 * @param {VerifyOptions} options
 * @returns {TransformStream<Uint8Array, Uint8Array>}
 */
export function verifyTransform (options) {
  const verifier = new SliceVerifier(options)
  /** @param {Leaf[]} leaves @param {TransformStreamDefaultController<Uint8Array>} controller */
  const give = (leaves, controller) => {
    for (const { bytes } of leaves) if (bytes.length > 0) controller.enqueue(bytes)
    if (verifier.error) throw verifier.error
    if (verifier.done) controller.terminate() // what follows is none of ours
  }
  return new TransformStream({
    transform: (piece, controller) => give(verifier.write(piece), controller),
    flush: controller => {
      give(verifier.flush(), controller)
      verifier.end()
    }
  })
}
