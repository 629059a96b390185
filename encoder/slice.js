// Makes slices: those parts of an encoding that prove some ranges of a blob. Source: Bao spec, "Slice Format"; several
// ranges, and chunk groups, are those of bao-tree.

import { BaoError, leafMismatch } from '../lib/core/errors.js'
import { CHUNK_LEN, HASH_LEN, MAX_GROUP_LOG } from '../lib/core/constants.js'
import { Checker } from '../lib/slice/checker.js'
import { FIRST_CHUNKS } from '../lib/slice/batches.js'
import { cut, cutSync, sliceLenOf } from '../lib/slice/slicer.js'
import { pairsAtHand, pairsOf } from '../lib/outboard/paged-outboard.js'
import { HEADER_LEN, assertBytes, assertBytesOf, assertInteger, u64ToBytes } from '../lib/core/bytes.js'
import { assertKnownOptions } from '../lib/core/options.js'
import { assertRandomAccess, closeSource, toRandomAccess } from '../lib/source/source.js'
import { levelOf } from '../lib/tree/geometry.js'
import { modeOf } from '../lib/hash/mode-options.js'
import { toRanges } from '../lib/tree/ranges.js'

/** @import { ProgressOptions, RandomAccess, SliceOutboard } from '../lib/core/types.js' */
/** @import { RangesLike } from '../lib/tree/ranges.js' */
/** @import { Check } from '../lib/slice/slicer.js' */

/**
 * @typedef {object} SliceOptions
 * @property {boolean} [header]  true to begin with the size in 8 bytes, as bao and iroh do; default: true
 * @property {boolean} [verify]  true to check pairs and bytes against the root before they are returned. If false, they
 *   are trusted. Default: true
 * @property {Uint8Array} [key]  the key of a keyed tree
 */

const OPTIONS = ['header', 'verify', 'key']

/**
 * Makes a slice of bytes in memory.
 *
 * @param {Uint8Array} bytes  the whole blob
 * @param {SliceOutboard} outboard
 * @param {RangesLike} [ranges]  default: everything
 * @param {SliceOptions & { into?: Uint8Array<ArrayBuffer> }} [options]  `into`: memory for the slice, at least
 *   `sliceLen` bytes, which must not overlap `bytes`. After an error, its content is undefined
 * @returns {Uint8Array<ArrayBuffer>} fresh, or a view of `into`
 * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH, BAO_TRUNCATED when the blob or the outboard does not
 *   belong to the root
 */
export function encodeSliceSync (bytes, outboard, ranges, options = {}) {
  assertBytes('bytes', bytes)
  assertKnownOptions(options, [...OPTIONS, 'into'])
  const { into } = options
  const { job, header, check } = begin(outboard, ranges, options)
  const slice = cutSync(bytes, pairsAtHand(outboard), job, { headerLen: header.length, into, check })
  slice.set(header)
  return slice
}

/**
 * Computes the length of a slice without making it, for callers that announce the length or allocate memory for the
 * slice.
 *
 * @param {{ size: number, groupLog: number }} outboard  an outboard, or any other object with these two properties
 * @param {RangesLike} [ranges]  default: everything, which gives the length of a combined encoding
 * @param {SliceOptions} [options]  the options of the slice. Only `header` changes the length
 * @returns {number} bytes
 */
export function sliceLen ({ size, groupLog }, ranges, options = {}) {
  assertKnownOptions(options, OPTIONS)
  const { header = true } = options
  assertInteger('size', size)
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  return (header ? HEADER_LEN : 0) + sliceLenOf({ size, groupLog, ranges: toRanges(ranges) })
}

/**
 * @typedef {ProgressOptions & { reuse?: boolean }} StreamOptions  `reuse`: true if pieces may be borrowed: each is
 *   valid until the next one is requested, which gets the same memory. Default: false
 */

/**
 * Yields a slice of a source of any size, batch by batch.
 *
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source  the whole blob
 * @param {SliceOutboard} outboard
 * @param {RangesLike} [ranges]  default: everything
 * @param {SliceOptions & StreamOptions} [options]  `onProgress` gets `baobox:slice`
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>} fresh pieces, unless `reuse` is set
 * @throws {BaoError} the errors of `encodeSliceSync`, after all bytes before the fault
 */
export function encodeSlice (source, outboard, ranges, options = {}) {
  assertKnownOptions(options, [...OPTIONS, 'reuse', 'signal', 'onProgress'])
  const { signal, onProgress, reuse } = options
  const begun = begin(outboard, ranges, options)
  assertRandomAccess(source)
  return give(source, outboard, begun, { signal, onProgress, reuse })
}

/**
 * @param {Uint8Array | Blob | RandomAccess | string | URL} source @param {SliceOutboard} outboard
 * @param {ReturnType<typeof begin>} begun @param {StreamOptions} options
 * @returns {AsyncGenerator<Uint8Array<ArrayBuffer>>}
 */
async function * give (source, outboard, { job, header, check }, { signal, onProgress, reuse }) {
  signal?.throwIfAborted()
  const blob = await toRandomAccess(source, signal)
  let done = 0
  try {
    if (header.length > 0) yield header
    for await (const piece of cut(blob, outboard, job, { check, signal, reuse })) {
      signal?.throwIfAborted()
      yield piece
      done += piece.length
      onProgress?.({ type: 'baobox:slice', detail: { done, unit: 'bytes' } })
    }
  } finally {
    await closeSource(blob, signal)
  }
}

/**
 * Checks the arguments of `encodeSliceSync` and `encodeSlice`, and makes the job and the check that both need.
 *
 * @param {SliceOutboard} outboard @param {RangesLike} [like] @param {SliceOptions} [options]
 */
function begin (outboard, like, { header = true, verify = true, key } = {}) {
  pairsOf(outboard)
  const { root, size, groupLog } = outboard
  if (verify) assertBytesOf('outboard.root', root, HASH_LEN)
  const job = { root, size, groupLog, ranges: toRanges(like), mode: modeOf({ key }) }
  const check = verify ? checkedBy(new Checker({ ...job, firstChunks: FIRST_CHUNKS }), outboard) : undefined
  return { job, header: header ? u64ToBytes(size) : new Uint8Array(0), check }
}

/** @param {Checker} checker @param {SliceOutboard} outboard @returns {Check} */
const checkedBy = (checker, outboard) => batch => {
  const before = checker.verified
  let fault
  try {
    checker.write(batch)
    checker.flush()
  } catch (error) {
    if (!(error instanceof BaoError)) throw error
    fault = blame(error, outboard)
  }
  // A leaf that is only there in part does not count as good.
  return { good: checker.verified - before, fault }
}

/**
 * Turns an error that names a pair below the group level into one that names bytes, because such a pair was computed
 * from the bytes of its group.
 *
 * @param {BaoError} error @param {SliceOutboard} outboard
 */
function blame (error, { groupLog, size }) {
  if (error.node === undefined || levelOf(error.node) >= groupLog) return error
  const groupLen = CHUNK_LEN * 2 ** groupLog
  const start = Math.floor(error.node * CHUNK_LEN / groupLen) * groupLen
  return leafMismatch(start, Math.min(groupLen, size - start))
}
