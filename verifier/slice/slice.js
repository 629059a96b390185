// Verified slices: bytes of a slice in, believed leaves out. Source: Bao spec, "Decoder"; the decisions are in lib/slice/checker.js.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../../lib/core/constants.js'
import { BaoError, truncated } from '../../lib/core/errors.js'
import { Checker, SOON_CHUNKS, WINDOW_CHUNKS } from '../../lib/slice/checker.js'
import { HEADER_LEN, assertBytes, assertInteger, assertOptions, describe, u64FromBytes } from '../../lib/core/bytes.js'
import { Leaves } from './leaves.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { parseRoot } from '../../lib/hash/cid.js'
import { FIRST_CHUNKS } from '../../lib/slice/batches.js'
import { toRanges } from '../../lib/tree/ranges.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { VerifiedSink } from '../../lib/core/types.js' */
/** @import { KeepOptions, Leaf } from './leaves.js' */
/** @import { RangesLike } from '../../lib/tree/ranges.js' */

/**
 * @typedef {object} SliceOptions  a slice does not say what it is a slice of: both sides must agree on all of these
 * @property {Uint8Array | CID | string} root  the hash of the blob: bytes, CID or 64 hexadecimal digits
 * @property {RangesLike} [ranges]  what was asked for; everything unless told
 * @property {number} [groupLog]  0 to 16, 4 unless told
 * @property {number} [size]  bytes of the blob, for slices without the length in front. As little believed as the length is
 * @property {Uint8Array} [key]  of a keyed tree
 */

/**
 * @typedef {object} ReleaseOptions
 * @property {'soon' | 'leaf' | 'window'} [release]  when verified bytes come out. `soon` (unless told): 16 KiB at first, then whenever 32 KiB or more are in hand; `leaf`: each
 *   leaf with its last byte, which below group log 4 is slower; `window`: 128 KiB at a time, for input in very small pieces
 */

/** @typedef {SliceOptions & ReleaseOptions & KeepOptions} VerifyOptions */

const MIN_CHUNKS = { leaf: 1, soon: SOON_CHUNKS, window: WINDOW_CHUNKS }

const NOTHING = new Uint8Array(0)

/**
 * Takes a slice in any pieces, and gives what it has verified. It never reads, and holds at most one window.
 *
 * After a fault nothing more comes out: leaves that stood before it are still given, and every call after that throws it.
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

  /** What ended the verification, if something did. @type {BaoError | Error | undefined} */
  error

  /**
   * @param {VerifyOptions} options
   * @param {VerifiedSink | Leaves} [sink]  takes pairs and leaves the moment they are believed; unless it is one that keeps leaves, the calls
   *   below return none
   */
  constructor (options, sink) {
    assertOptions('options', options, '{ root, ... }')
    const { release = 'soon', size } = options
    if (!Object.hasOwn(MIN_CHUNKS, release)) throw new TypeError(`"release" expected 'soon', 'leaf' or 'window', got ${typeof release === 'string' ? `'${release}'` : describe(release)}`)
    const minChunks = MIN_CHUNKS[release]
    this.#options = { ...checked(options), minChunks, firstChunks: release === 'soon' ? FIRST_CHUNKS : minChunks }
    this.#leaves = sink instanceof Leaves ? sink : new Leaves(options)
    this.#sink = sink ?? this.#leaves
    if (size !== undefined) this.#begin(size, 0)
  }

  /** Bytes of the blob: a claim until `sizeProven`. Undefined until the header is in. */
  get size () { return this.#size }

  /** Has the last chunk been verified, so that the size is more than a claim? */
  get sizeProven () { return this.#checker?.isSizeProven ?? false }

  /** Has everything that was asked for been verified? */
  get done () { return this.#checker?.isDone ?? false }

  /** Bytes of the slice so far, header included. Of the last `write`, what is beyond was not looked at. */
  get bytesRead () { return this.#bytesRead }

  /** Bytes that are missing until something can be said again. */
  get bytesWanted () { return this.#checker === undefined ? HEADER_LEN - this.#headerLen : this.#checker.wanted }

  /** What stands behind the end of the slice in the last piece that was written: a view of it. Empty until `done`. */
  get rest () { return this.#rest }

  /**
   * @param {Uint8Array} bytes  the next piece, of any length; read, not kept. Bytes behind the end of the slice are not looked at: `rest` has them
   * @returns {Leaf[]} what is verified now: also when a fault stands behind it, which `error` then tells
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
   * Looks at every leaf that is complete, without waiting for more.
   *
   * @returns {Leaf[]} what is verified now
   * @throws {BaoError} what `write` throws
   */
  flush () {
    return this.#release(() => this.#checker?.flush())
  }

  /**
   * Says that the slice has ended. Of a slice that ended too early, `flush` gives what came before.
   *
   * @returns {Leaf[]} what is verified now
   * @throws {BaoError} BAO_TRUNCATED { node | start, wanted, got } when more was due, and what `write` throws
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
   * Leaves that came before a fault are given first; then it is thrown, now and ever after.
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

  /** @param {Uint8Array} bytes @returns {number} how many of them belonged to the header */
  #takeHeader (bytes) {
    if (this.#checker !== undefined) return 0
    const taken = bytes.subarray(0, HEADER_LEN - this.#headerLen)
    this.#header.set(taken, this.#headerLen)
    this.#headerLen += taken.length
    this.#bytesRead += taken.length
    if (this.#headerLen === HEADER_LEN) this.#begin(u64FromBytes(this.#header), bytes.length - taken.length)
    return taken.length
  }

  /** @param {number} size @param {number} inHand  bytes that come at once */
  #begin (size, inHand) {
    assertInteger('size', size)
    this.#size = size
    this.#checker = new Checker({ ...this.#options, size, inHand }, this.#sink)
  }
}

/** What a checker wants to know, but for the size. @param {SliceOptions} options */
function checked ({ root, ranges, groupLog = DEFAULT_GROUP_LOG, key }) {
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  return { root: parseRoot(root), ranges: toRanges(ranges), groupLog, mode: modeOf({ key }) }
}

/**
 * Verifies a slice that is at hand. Bytes behind its end are not looked at.
 *
 * @param {Uint8Array} slice
 * @param {SliceOptions & KeepOptions} options
 * @returns {Leaf[]} in increasing order
 * @throws {BaoError} as `SliceVerifier`
 * @throws {RangeError} when `into` is too short
 */
export function verifySlice (slice, options) {
  assertBytes('slice', slice)
  assertOptions('options', options, '{ root, ... }')
  const { root, ranges, groupLog, mode } = checked(options)
  const leaves = new Leaves(options)
  const at = options.size === undefined ? HEADER_LEN : 0
  const size = options.size ?? headerOf(slice)
  const checker = new Checker({ root, ranges, groupLog, mode, size }, leaves)
  checker.write(slice, at)
  checker.end()
  return leaves.take()
}

/**
 * The blob in a combined encoding.
 *
 * @param {Uint8Array} combined
 * @param {Uint8Array | CID | string} root
 * @param {{ groupLog?: number, key?: Uint8Array, into?: Uint8Array }} [options]  group log 0 unless told, as for `encode`; `into` takes the blob
 * @returns {Uint8Array} fresh, or a view of `into`
 * @throws {BaoError} as `SliceVerifier`
 * @throws {RangeError} when `into` is too short
 */
export function decode (combined, root, { groupLog = 0, key, into } = {}) {
  assertBytes('combined', combined)
  // The size is a claim, but there cannot be more bytes than came.
  const blob = into ?? new Uint8Array(Math.min(headerOf(combined), combined.length))
  const leaves = verifySlice(combined, { root, groupLog, key, into: blob })
  return blob.subarray(0, leaves.reduce((len, { bytes }) => len + bytes.length, 0))
}

/** The length in front, a claim. @param {Uint8Array} bytes */
function headerOf (bytes) {
  if (bytes.length < HEADER_LEN) throw truncated({ wanted: HEADER_LEN, got: bytes.length })
  return u64FromBytes(bytes)
}
