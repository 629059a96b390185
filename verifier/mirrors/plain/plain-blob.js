// Makes blobs from bytes in memory, and proves the sizes of blobs whose bytes and outboard are in different places.

import { BaoError } from '../../../lib/core/errors.js'
import { areEqual } from '../../../lib/core/bytes.js'
import { DEFAULT_GROUP_LOG, PAIR_LEN } from '../../../lib/core/constants.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { TreeBuilder } from '../../../lib/hash/tree-builder.js'
import { PairTable } from '../../../lib/outboard/pairs.js'
import { ChunkRanges } from '../../../lib/tree/ranges.js'
import { verifyPieces } from '../../slice/pieces.js'
import { SliceVerifier } from '../../slice/slice.js'
import { sliceOfPlain } from './plain-slice.js'

/** @import { SliceRequest } from '../server/url-mirror.js' */
/** @import { SliceOutboard, Step } from '../../../lib/core/types.js' */
/** @import { PlainBlob } from './plain-slice.js' */

/**
 * Yields whole groups without pairs if the caller can take them, and their outboard has the group log of the request.
 * Otherwise yields the slice with its header.
 *
 * @param {PlainBlob} blob @param {SliceRequest} request @param {AbortSignal} signal
 * @returns {AsyncGenerator<Uint8Array>} a piece of a slice is borrowed until the next one; others belong to the caller
 */
export async function * piecesOfPlain (blob, request, signal) {
  const { outboard, size, isBorrowed } = blob
  /** @type {PlainBlob['pieces']} */
  const pieces = (start, end, signal) => blob.pieces(start, end, signal, request.onSkipped)
  if (request.onPlain === undefined || outboard.groupLog !== request.groupLog) {
    return yield * sliceOfPlain({ ...blob, pieces }, request, signal)
  }
  request.onPlain(outboard)
  const groups = request.ranges.canonical(size).roundToGroups(outboard.groupLog)
  for (const { start, end } of groups.toBytes(size)) {
    let at = start
    for await (const piece of pieces(start, end, signal)) {
      at += piece.length
      yield isBorrowed ? new Uint8Array(piece) : piece
    }
    if (at < end) return // The blob ends here, so the next range would be taken for the rest of this one.
  }
}

/**
 * True if the last chunk of the blob verifies. Then the size is right, and the outboard has the pairs above the last
 * chunk.
 *
 * @param {PlainBlob} blob @param {{ root: Uint8Array, key?: Uint8Array }} name @param {AbortSignal} signal
 */
export async function hasProvenSize (blob, { root, key }, signal) {
  const wanted = { cid: root, ranges: ChunkRanges.last, groupLog: blob.outboard.groupLog, key }
  const verifier = new SliceVerifier(wanted)
  try {
    const leaves = verifyPieces(verifier, sliceOfPlain(blob, wanted, signal))
    while (!(await leaves.next()).done);
    return verifier.sizeProven
  } catch (error) {
    if (error instanceof BaoError && error.code.startsWith('BAO_')) return false
    throw error
  }
}

/**
 * Makes a blob from its bytes in memory.
 *
 * @param {Uint8Array} bytes @param {{ root: Uint8Array, key?: Uint8Array }} name
 * @returns {PlainBlob | undefined} undefined if the bytes have a different root
 */
export function blobInMemory (bytes, { root, key }) {
  const table = new PairTable(bytes.length, DEFAULT_GROUP_LOG, 'pre')
  const tree = new TreeBuilder(modeOf({ key }), { sink: table })
  tree.update(bytes)
  if (!areEqual(root, 0, tree.hash())) return undefined
  return {
    size: bytes.length,
    outboard: outboardOfPairs(root, bytes.length, table.bytes),
    pieces: async function * (start, end) { yield bytes.subarray(start, end) }
  }
}

/**
 * Makes the outboard of a blob of one group, which has no pairs.
 *
 * @param {Uint8Array} root @param {number} size @param {number} groupLog
 * @returns {SliceOutboard}
 */
export const emptyOutboard = (root, size, groupLog) => ({ root, size, groupLog, copyPair: () => false })

/** @param {Uint8Array} root @param {number} size @param {Uint8Array} pairs @returns {SliceOutboard} */
const outboardOfPairs = (root, size, pairs) => ({
  root,
  size,
  groupLog: DEFAULT_GROUP_LOG,
  copyPair (/** @type {Step} */ { pre }, /** @type {Uint8Array} */ out, /** @type {number} */ at) {
    out.set(pairs.subarray(pre * PAIR_LEN, (pre + 1) * PAIR_LEN), at)
    return true
  }
})
