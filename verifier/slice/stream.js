// Verifies slices that arrive as streams.

import { SliceSource } from './slice-source.js'
import { assertOptions } from '../../lib/core/bytes.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { SliceVerifier, VERIFY_OPTIONS } from './slice.js'
import { cancelSource, toPieces } from '../../lib/source/source.js'
import { verifyPieces } from './pieces.js'

/** @import { Leaf } from './leaves.js' */
/** @import { VerifyOptions } from './slice.js' */
/** @import { Source } from '../../lib/core/types.js' */

/**
 * Yields the verified leaves of a slice that arrives as a stream. Reading stops at the end of the slice. After that, a
 * `SliceSource` can be read further. Any other source is closed.
 *
 * @param {Source | SliceSource} source
 * @param {VerifyOptions & { signal?: AbortSignal }} options
 * @returns {AsyncGenerator<Leaf>}
 * @throws {import('../../lib/core/errors.js').BaoError} the errors of `SliceVerifier`, after all leaves before the
 *   fault
 */
export function verifyStream (source, options) {
  assertOptions('options', options, '{ cid, ... }')
  assertKnownOptions(options, [...VERIFY_OPTIONS, 'signal'])
  const { signal, ...verifyOptions } = options
  const verifier = new SliceVerifier(verifyOptions)
  if (source instanceof SliceSource) return source.verifyNext(verifier, { signal })
  return verifier.done ? nothingOf(source) : verifyPieces(verifier, toPieces(source, { signal }))
}

/** Closes a source from which no bytes are wanted. @param {Source} source @returns {AsyncGenerator<Leaf>} */
async function * nothingOf (source) { cancelSource(source) }
