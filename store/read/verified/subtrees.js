// Divides a read into subtrees of the BLAKE3 tree, and compares the bytes of a subtree with its expected chaining
// value. Small reads, long reads and checks of the whole store all use this comparison.

import { CHUNK_LEN } from '../../../lib/core/constants.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { GROUP_LEN } from '../../sizes.js'
import { hash } from '../../../lib/hash/hasher.js'
import { subtreeCv } from '../../../lib/hash/subtree.js'

/** A subtree of at most this many bytes, which is a power of two, is read as one piece. */
const MAX_SUBTREE_LEN = 1 << 20

/** @import { ByteRange } from '../../../lib/tree/ranges.js' */

/**
 * Yields subtrees that lie side by side and cover the wanted bytes. Each is as large as possible.
 *
 * @param {ByteRange} wanted @param {number} size  of the blob
 * @returns {Generator<ByteRange>}
 */
export function * subtreesOf ({ start, end }, size) {
  const last = Math.min(Math.ceil(end / GROUP_LEN) * GROUP_LEN, size)
  for (let at = start - start % GROUP_LEN; at < last;) {
    let len = MAX_SUBTREE_LEN
    while (len > GROUP_LEN && (at % len !== 0 || at + len > last)) len /= 2
    const stop = Math.min(at + len, last)
    yield { start: at, end: stop }
    at = stop
  }
}

/**
 * Returns true if bytes hash to the expected chaining value of their subtree.
 *
 * @param {Uint8Array} bytes  of a whole subtree
 * @param {number} start  where the subtree begins in the blob, in bytes
 * @param {number} size  of the blob
 * @param {Uint8Array} expected  chaining value; the root, if the subtree is the whole blob
 */
export const hashesTo = (bytes, start, size, expected) =>
  areEqual(bytes.length === size ? hash(bytes) : subtreeCv(bytes, start / CHUNK_LEN), 0, expected)
