// Verifies inclusion proofs: computes the root that follows from the chunks and siblings, and compares it with the
// expected root.

import { CHUNK_LEN, HASH_LEN } from '../lib/core/constants.js'
import { Proof, foldProof } from '../lib/slice/proof.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { areEqual, assertBytes, assertOptions } from '../lib/core/bytes.js'
import { badProof, proofMismatch } from '../lib/core/errors.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { parentCv, rootHash } from '../lib/hash/subtree.js'
import { parseRoot } from '../lib/hash/cid.js'
import { trimTo, wantedBytes } from './slice/wanted-bytes.js'
import { toRanges } from '../lib/tree/ranges.js'

/** @import { NamedBlob } from '../lib/hash/cid.js' */
/** @import { BaoError } from '../lib/core/errors.js' */
/** @import { RangesLike } from '../lib/tree/ranges.js' */
/** @import { ExactOptions } from './slice/wanted-bytes.js' */

/**
 * @typedef {object} ProofTerms
 * @property {RangesLike} [ranges]  the ranges that were asked for. A proof of other chunks is refused; default: the
 *   ranges of the proof
 * @property {Uint8Array} [key]  the key of a keyed tree
 */

/**
 * Verifies a proof. Returns the proven bytes with their offsets, or throws.
 *
 *     const [{ offset, bytes }] = verifyProof(proofBytes, content, { cid, ranges: { start: 5000, end: 6000 } })
 *
 * A proof shows that the blob has these bytes at these offsets. It proves the size of the blob only if it
 * contains the last chunk: see `provesSize` of the proof.
 *
 * @param {Proof | Uint8Array} proof  as it was sent, or parsed by `Proof.fromBytes`
 * @param {Uint8Array} bytes  the bytes of the proof's `byteRanges`, one range after the other
 * @param {NamedBlob & ProofTerms & ExactOptions} options
 * @returns {{ offset: number, bytes: Uint8Array }[]} an item for each range, in increasing order, with a view of
 *   `bytes`. The views are whole chunks, unless `ranges` are in bytes. There is no item for the empty blob, or for a
 *   range beyond the end
 * @throws {BaoError} BAO_BAD_PROOF when the proof, the bytes and the ranges do not fit each other; BAO_PROOF_MISMATCH
 *   when they fit, but lead to a different root; BAO_SIZE_TOO_LARGE
 */
export function verifyProof (proof, bytes, options) {
  const parsed = proof instanceof Proof ? proof : Proof.fromBytes(proof)
  assertBytes('bytes', bytes)
  assertOptions('options', options, '{ cid, ... }')
  assertKnownOptions(options, ['cid', 'ranges', 'key', 'exact'])
  const { cid, ranges, key, exact } = options
  const expected = parseRoot(cid)
  const wanted = toRanges(ranges)
  modeOf({ key })
  const { size, contentLen } = parsed
  if (ranges !== undefined && !wanted.canonical(size).equals(parsed.ranges)) {
    throw badProof('it is about other chunks', { ranges: parsed.ranges })
  }
  if (bytes.length !== contentLen) {
    throw badProof(`it is about ${contentLen} bytes, got ${bytes.length}`, { wanted: contentLen, got: bytes.length })
  }
  if (!areEqual(expected, 0, computeRoot(parsed, bytes, key))) throw proofMismatch()
  const trimmed = trimTo(wantedBytes(ranges, exact) ?? parsed.byteRanges)
  let at = 0
  return parsed.byteRanges.flatMap(({ start, end }) => {
    const before = at - start
    at += end - start
    return trimmed(start, end - start)
      .map(part => ({ offset: part.start, bytes: bytes.subarray(before + part.start, before + part.end) }))
  })
}

/**
 * The root that follows from the bytes and the siblings.
 *
 * @param {Proof} proof @param {Uint8Array} bytes @param {Uint8Array} [key]
 */
function computeRoot ({ size, ranges, siblings }, bytes, key) {
  const mode = modeOf({ key })
  let at = 0
  let next = 0
  return foldProof(size, ranges, {
    content (startChunk, endChunk, isRoot) {
      const from = at
      at += (endChunk - startChunk) * CHUNK_LEN // at the end of the blob, this may exceed the number of bytes
      const tree = new TreeBuilder(mode, { startChunk })
      tree.update(bytes.subarray(from, at))
      return isRoot ? tree.hash() : tree.cv()
    },
    sibling () {
      next += HASH_LEN
      return /** @type {Uint8Array<ArrayBuffer>} */ (siblings.subarray(next - HASH_LEN, next))
    },
    parent: (left, right, isRoot) => isRoot ? rootHash(left, right, { key }) : parentCv(left, right, { key })
  })
}
