// Verification of what comes over time.

import { SliceSource } from './slice-source.js'
import { SliceVerifier } from './slice.js'
import { toPieces } from '../lib/source.js'
import { verifyPieces } from './pieces.js'

/** @import { Leaf } from './leaves.js' */
/** @import { VerifyOptions } from './slice.js' */
/** @import { Source } from '../lib/types.js' */

/**
 * The verified leaves of a slice that comes as a stream. Reading stops where the slice ends: a `SliceSource` can be read on from there, any
 * other source is closed.
 *
 * @param {Source | SliceSource} source
 * @param {VerifyOptions & { signal?: AbortSignal }} options
 * @returns {AsyncGenerator<Leaf>}
 * @throws {import('../lib/errors.js').BaoError} as `SliceVerifier`, after everything before the fault has been given
 */
export function verifyStream (source, { signal, ...options }) {
  const verifier = new SliceVerifier(options)
  return source instanceof SliceSource ? source.verifyNext(verifier, signal) : verifyPieces(verifier, toPieces(source, { signal }))
}
