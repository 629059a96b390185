// Changes one bit of a slice of the file, and lets the verifier find it. Nothing here is simulated: these are the calls
// with which programs verify what they receive.

import { ChunkRanges, ENTER, LEAF, PAIR_LEN, walk } from '../../../../lib/index.js'
import { encodeSlice } from '../../../../encoder/index.js'
import { SliceVerifier } from '../../../../verifier/index.js'
import { GROUP_LEN } from './model.js'

/** @import { BaoError, ByteRange } from '../../../../lib/index.js' */
/** @import { FileTree } from './model.js' */

/** `byte`: of the file. `hash`: in the tree, above this byte. @typedef {'byte' | 'hash'} FaultKind */
/**
 * @typedef {object} FaultReport
 * @property {FaultKind} kind
 * @property {number} offset  byte of the file
 * @property {ByteRange} span  what the slice was to prove
 * @property {number} sliceLen  bytes
 * @property {number} place  of the wrong byte in the slice
 * @property {ByteRange[]} accepted  the groups that were right
 * @property {number} arrived  bytes of the slice that had arrived when the fault was found
 * @property {BaoError} error
 */

const GROUP_LOG = 4
const HEADER_LEN = 8
const HASH_LEN = 32
/** About what one packet of a network carries. */
const PACKET_LEN = 1400
/** How many groups are asked for on each side of the wrong one. */
const AROUND = 3

/** @param {FileTree} tree @param {number} offset @param {FaultKind} kind @returns {Promise<FaultReport>} */
export async function findFault ({ file, outboard }, offset, kind) {
  const { size, cid } = outboard
  const group = Math.floor(offset / GROUP_LEN)
  const span = {
    start: Math.max(0, group - AROUND) * GROUP_LEN,
    end: Math.min(size, (group + AROUND + 1) * GROUP_LEN)
  }
  const pieces = []
  for await (const piece of encodeSlice(file, outboard, span)) pieces.push(/** @type {BlobPart} */ (piece))
  const slice = new Uint8Array(await new Blob(pieces).arrayBuffer())
  const place = placeIn(size, span, offset, kind)
  slice[place] ^= 1

  const verifier = new SliceVerifier({ cid, ranges: span, release: 'leaf' })
  const accepted = /** @type {ByteRange[]} */ ([])
  let arrived = 0
  let error
  try {
    while (arrived < slice.length && verifier.error === undefined) {
      const packet = slice.subarray(arrived, arrived += PACKET_LEN)
      for (const { offset, bytes } of verifier.write(packet)) {
        accepted.push({ start: offset, end: offset + bytes.length })
      }
    }
    error = verifier.error
  } catch (thrown) {
    error = thrown
  }
  if (error === undefined) throw new Error('a wrong slice was accepted: this is a bug in baobox')
  arrived = Math.min(arrived, slice.length)
  const fault = /** @type {BaoError} */ (error)
  return { kind, offset, span, sliceLen: slice.length, place, accepted, arrived, error: fault }
}

/**
 * Where a byte of the file is in a slice, or the hash of its group. The walk gives pairs and leaves in the order of the
 * slice.
 *
 * @param {number} size @param {ByteRange} span @param {number} offset @param {FaultKind} kind
 */
function placeIn (size, span, offset, kind) {
  let at = HEADER_LEN
  let hashAt = -1
  const ranges = ChunkRanges.fromBytes(span.start, span.end)
  for (const { kind: step, start, len, node } of walk(size, GROUP_LOG, ranges)) {
    const isAbove = start <= offset && offset < start + len
    if (step === ENTER) {
      const right = (node + 1) * 1024
      if (isAbove) hashAt = at + (offset < right ? 0 : HASH_LEN)
      at += PAIR_LEN
    }
    if (step !== LEAF) continue
    if (isAbove) return kind === 'byte' || hashAt < 0 ? at + offset - start : hashAt
    at += len
  }
  throw new RangeError(`byte ${offset} is not in the slice`)
}
