// Verifies slices: bytes of a slice go in, verified leaves come out. lib/slice/checker.js compares the hashes.
// Source: Bao spec, "Decoder".

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { BaoError, truncated } from '../../lib/core/errors.js'
import { Checker, SOON_CHUNKS, WINDOW_CHUNKS } from '../../lib/slice/checker.js'
import { HEADER_LEN, assertBytes, assertInteger, assertOptions, describe, u64FromBytes } from '../../lib/core/bytes.js'
import { KEEP_OPTIONS, Leaves } from './leaves.js'
import { assertKnownOptions } from '../../lib/core/options.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { FIRST_CHUNKS } from '../../lib/slice/batches.js'
import { wantedBytes } from './wanted-bytes.js'
import { toRanges } from '../../lib/tree/ranges.js'

/** @import { BlobName, NamedBlob } from '../../lib/hash/cid.js' */
/** @import { VerifiedSink } from '../../lib/core/types.js' */
/** @import { ExactOptions } from './wanted-bytes.js' */
/** @import { KeepOptions, Leaf } from './leaves.js' */
/** @import { RangesLike } from '../../lib/tree/ranges.js' */

/**
 * @typedef {object} SliceTerms
 * @property {RangesLike} [ranges]  the ranges that were asked for; default: everything
 * @property {number} [groupLog]  0 to 16; default: 4
 * @property {number} [size]  bytes of the blob, for slices without a header. Like the size in a header, it is only a
 *   claim
 * @property {Uint8Array} [key]  the key of a keyed tree
 */
/**
 * @typedef {NamedBlob & SliceTerms} SliceOptions  the facts that a slice does not contain; both sides must agree on all
 *   of them
 */

/**
 * @typedef {object} ReleaseOptions
 * @property {'soon' | 'leaf' | 'window'} [release]  when verified bytes are returned. `soon`: after the first 16 KiB,
 *   then each time 32 KiB or more have arrived; `leaf`: each leaf as soon as its last byte has arrived, which is slower
 *   below group log 4; `window`: 128 KiB at a time, for input in very small pieces. Default: `soon`
 */

/** @typedef {SliceOptions & ExactOptions & ReleaseOptions & KeepOptions} VerifyOptions */

export const SLICE_OPTIONS = ['cid', 'ranges', 'groupLog', 'size', 'key', 'exact']
export const VERIFY_OPTIONS = [...SLICE_OPTIONS, 'release', ...KEEP_OPTIONS]

const MIN_CHUNKS = { leaf: 1, soon: SOON_CHUNKS, window: WINDOW_CHUNKS }

const NOTHING = new Uint8Array(0)

/**
 * Takes a slice in pieces of any length, and returns the leaves that it has verified. It never reads from a source, and
 * keeps at most one batch in memory.
 *
 * A call that finds a fault returns the leaves before the fault and sets `error`. Every later call throws that error.
 */
export class SliceVerifier {
  #options
  #header = new Uint8Array(HEADER_LEN)
  #headerLen = 0
  /** @type {Checker | undefined} */
  #checker
  #size = /** @type {number | undefined} */ (undefined)
  #leaves
  #sink
  #bytesRead = 0
  #rest = /** @type {Uint8Array} */ (NOTHING)

  /** The error that ended the verification. @type {BaoError | Error | undefined} */
  error

  /**
   * @param {VerifyOptions} options
   * @param {VerifiedSink | Leaves} [sink]  gets pairs and whole leaves as soon as they are verified. With any sink
   *   except `Leaves`, the methods below do not return leaves
   */
  constructor (options, sink) {
    assertOptions('options', options, '{ cid, ... }')
    assertKnownOptions(options, VERIFY_OPTIONS)
    const { release = 'soon', size, ranges, exact } = options
    if (!Object.hasOwn(MIN_CHUNKS, release)) {
      const got = typeof release === 'string' ? `'${release}'` : describe(release)
      throw new TypeError(`"release" expected 'soon', 'leaf' or 'window', got ${got}`)
    }
    const minChunks = MIN_CHUNKS[release]
    this.#options = { ...checked(options), minChunks, firstChunks: release === 'soon' ? FIRST_CHUNKS : minChunks }
    this.#leaves = sink instanceof Leaves ? sink : new Leaves(options, wantedBytes(ranges, exact))
    this.#sink = sink ?? this.#leaves
    if (size !== undefined) this.#begin(size, 0)
  }

  /** The size of the blob in bytes: a claim until `sizeProven` is true. Undefined until the header has arrived. */
  get size () { return this.#size }

  /** True if the last chunk has been verified, which proves the size. */
  get sizeProven () { return this.#checker?.isSizeProven ?? false }

  /** True if everything that was asked for has been verified. */
  get done () { return this.#checker?.isDone ?? false }

  /** How many bytes of the slice have been read, header included. Bytes after its end do not count. */
  get bytesRead () { return this.#bytesRead }

  /** How many more bytes the next batch needs before it can be verified. */
  get bytesWanted () { return this.#checker === undefined ? HEADER_LEN - this.#headerLen : this.#checker.wanted }

  /** The bytes after the end of the slice in the last piece that was written: a view of it. Empty until `done`. */
  get rest () { return this.#rest }

  /**
   * Takes the next piece of the slice.
   *
   * @param {Uint8Array} bytes  of any length; not kept. Bytes after the end of the slice are not verified: `rest` has
   *   them
   * @returns {Leaf[]} the leaves that are verified now. If a fault follows them, `error` is set
   * @throws {BaoError} BAO_PARENT_MISMATCH { node }, BAO_LEAF_MISMATCH { start, len }, BAO_SIZE_TOO_LARGE
   */
  write (bytes) {
    assertBytes('bytes', bytes)
    return this.#release(() => {
      this.#rest = NOTHING
      const header = this.#takeHeader(bytes)
      if (this.#checker === undefined) return
      const end = this.#checker.write(bytes, header)
      this.#bytesRead += end - header
      if (end < bytes.length) this.#rest = bytes.subarray(end)
    })
  }

  /**
   * Verifies every complete leaf, without waiting for more bytes.
   *
   * @returns {Leaf[]} the leaves that are verified now
   * @throws {BaoError} the errors of `write`
   */
  flush () {
    return this.#release(() => this.#checker?.flush())
  }

  /**
   * Ends the slice. If bytes may be missing, call `flush` first, which returns the complete leaves.
   *
   * @returns {Leaf[]} the leaves that are verified now
   * @throws {BaoError} BAO_TRUNCATED { node | start, wanted, got } when bytes are missing, and the errors of `write`
   */
  end () {
    const leaves = this.#release(() => {
      if (this.#checker === undefined) throw truncated({ wanted: HEADER_LEN, got: this.#headerLen })
      this.#checker.end()
    })
    if (this.error !== undefined) throw this.error
    return leaves
  }

  /**
   * Does some work and returns the leaves that it has verified. If it fails with a fault after verified leaves, the
   * leaves are returned and the next call throws the error.
   *
   * @param {() => void} work
   */
  #release (work) {
    if (this.error !== undefined) throw this.error
    try {
      work()
    } catch (error) {
      this.error = /** @type {Error} */ (error)
      if (this.#leaves.count === 0 || !(error instanceof BaoError)) throw error
    }
    return this.#leaves.take()
  }

  /** @param {Uint8Array} bytes @returns {number} how many of them belong to the header */
  #takeHeader (bytes) {
    if (this.#checker !== undefined) return 0
    const taken = bytes.subarray(0, HEADER_LEN - this.#headerLen)
    this.#header.set(taken, this.#headerLen)
    this.#headerLen += taken.length
    this.#bytesRead += taken.length
    if (this.#headerLen === HEADER_LEN) this.#begin(u64FromBytes(this.#header), bytes.length - taken.length)
    return taken.length
  }

  /** @param {number} size @param {number} available  bytes that have arrived with the header */
  #begin (size, available) {
    assertInteger('size', size)
    this.#size = size
    this.#checker = new Checker({ ...this.#options, size, available }, this.#sink)
  }
}

/** The options of a checker, without the size. @param {SliceOptions} options */
function checked (options) {
  const { cid, ranges, groupLog = DEFAULT_GROUP_LOG, key } = options
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  return { root: parseRoot(cid), ranges: toRanges(ranges), groupLog, mode: modeOf({ key }) }
}

/**
 * Verifies a slice in memory. Bytes after its end are ignored.
 *
 * @param {Uint8Array} slice
 * @param {SliceOptions & ExactOptions & KeepOptions} options
 * @returns {Leaf[]} in increasing order
 * @throws {BaoError} the errors of `SliceVerifier`
 * @throws {RangeError} when `into` is too short
 */
export function verifySlice (slice, options) {
  assertBytes('slice', slice)
  assertOptions('options', options, '{ cid, ... }')
  assertKnownOptions(options, [...SLICE_OPTIONS, ...KEEP_OPTIONS])
  const { root, ranges, groupLog, mode } = checked(options)
  const leaves = new Leaves(options, wantedBytes(options.ranges, options.exact))
  const at = options.size === undefined ? HEADER_LEN : 0
  const size = options.size ?? headerOf(slice)
  const checker = new Checker({ root, ranges, groupLog, mode, size }, leaves)
  checker.write(slice, at)
  checker.end()
  return leaves.take()
}

/**
 * Verifies a combined encoding, and returns its blob.
 *
 * @param {Uint8Array} combined
 * @param {BlobName} cid
 * @param {{ groupLog?: number, key?: Uint8Array, into?: Uint8Array }} [options]  `groupLog`: default:
 *   4, as for `encode`; `into`: memory for the blob
 * @returns {Uint8Array} fresh, or a view of `into`
 * @throws {BaoError} the errors of `SliceVerifier`
 * @throws {RangeError} when `into` is too short
 */
export function decode (combined, cid, options = {}) {
  assertBytes('combined', combined)
  assertKnownOptions(options, ['groupLog', 'key', 'into'])
  const { groupLog = DEFAULT_GROUP_LOG, key, into } = options
  // The size is a claim, but the blob cannot be longer than its encoding.
  const blob = into ?? new Uint8Array(Math.min(headerOf(combined), combined.length))
  const leaves = verifySlice(combined, { cid, groupLog, key, into: blob })
  return blob.subarray(0, leaves.reduce((len, { bytes }) => len + bytes.length, 0))
}

/** The size in the header, a claim. @param {Uint8Array} bytes */
function headerOf (bytes) {
  if (bytes.length < HEADER_LEN) throw truncated({ wanted: HEADER_LEN, got: bytes.length })
  return u64FromBytes(bytes)
}
