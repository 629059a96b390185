// Reads the header, the size of the blob, at the beginning of an encoding or outboard. Source: Bao spec, "Combined
// Encoding Format".

import { BaoError } from '../core/errors.js'
import { HEADER_LEN, u64FromBytes } from '../core/bytes.js'
import { readUpTo } from './read-pieces.js'

/** @import { RandomAccess } from '../core/types.js' */

/**
 * Reads the size in the header: a claim, until the last chunk is verified.
 *
 * @param {RandomAccess} file
 */
export async function readHeader (file) {
  const header = await readUpTo(file, 0, Math.min(HEADER_LEN, file.size))
  if (header.length < HEADER_LEN) {
    throw new BaoError('BAO_BAD_HEADER', `expected a header of ${HEADER_LEN} bytes, got ${header.length}`)
  }
  return u64FromBytes(header)
}
