// Checking inclusion proofs: chunks and siblings in, the root out, and believed only when that is the root that was asked for.

import { CHUNK_LEN, HASH_LEN } from '../lib/core/constants.js'
import { Proof, foldProof } from '../lib/slice/proof.js'
import { TreeBuilder } from '../lib/hash/tree-builder.js'
import { areEqual, assertBytes } from '../lib/core/bytes.js'
import { badProof, proofMismatch } from '../lib/core/errors.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { parentCv, rootHash } from '../lib/hash/subtree.js'
import { parseRoot } from '../lib/hash/cid.js'
import { toRanges } from '../lib/tree/ranges.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BaoError } from '../lib/core/errors.js' */
/** @import { RangesLike } from '../lib/tree/ranges.js' */

/**
 * Says which bytes of a blob these are, or throws.
 *
 *     const [{ offset, bytes }] = verifyProof(proofBytes, content, { root, ranges: { start: 5000, end: 6000 } })
 *
 * What is proven is that the bytes stand at these offsets. The size of the blob, and with it that nothing follows, is proven only when
 * `provesSize` of the proof says so: when the last chunk is among them.
 *
 * @param {Proof | Uint8Array} proof  as it was sent, or parsed by `Proof.fromBytes`
 * @param {Uint8Array} bytes  those of the proof's `spans`, one after the other
 * @param {object} options
 * @param {Uint8Array | CID | string} options.root  the hash of the blob
 * @param {RangesLike} [options.ranges]  what was asked for: a proof of anything else is refused. Unless told, the proof says
 * @param {Uint8Array} [options.key]  of a keyed tree
 * @returns {{ offset: number, bytes: Uint8Array }[]} one for each range, increasing: views of `bytes`. For the empty blob none
 * @throws {BaoError} BAO_BAD_PROOF when proof, bytes and ranges do not fit each other; BAO_SIZE_TOO_LARGE; BAO_PROOF_MISMATCH when they do,
 *   but are not what the root names
 */
export function verifyProof (proof, bytes, { root, ranges, key }) {
  const parsed = proof instanceof Proof ? proof : Proof.fromBytes(proof)
  assertBytes('bytes', bytes)
  const expected = parseRoot(root)
  const wanted = toRanges(ranges)
  modeOf({ key })
  const { size, contentLen } = parsed
  if (ranges !== undefined && !wanted.canonical(size).equals(parsed.ranges)) throw badProof('it is about other chunks', { ranges: parsed.ranges })
  if (bytes.length !== contentLen) throw badProof(`it is about ${contentLen} bytes, got ${bytes.length}`, { wanted: contentLen, got: bytes.length })
  if (!areEqual(expected, 0, rootOf(parsed, bytes, key))) throw proofMismatch()
  let at = 0
  return parsed.spans.map(([start, end]) => {
    const from = at
    at += end - start
    return { offset: start, bytes: bytes.subarray(from, at) }
  })
}

/** The root that follows from the bytes and the siblings. @param {Proof} proof @param {Uint8Array} bytes @param {Uint8Array} [key] */
function rootOf ({ size, ranges, siblings }, bytes, key) {
  const mode = modeOf({ key })
  let at = 0
  let next = 0
  return foldProof(size, ranges, {
    content (startChunk, endChunk, isRoot) {
      const from = at
      at += (endChunk - startChunk) * CHUNK_LEN // more than there are at the end of the blob
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
