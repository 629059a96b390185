// Verified slices: bytes of a slice in, believed leaves out. Source: Bao spec, "Decoder"; the decisions are in lib/checker.js.

import { DEFAULT_GROUP_LOG, MAX_GROUP_LOG } from '../lib/constants.js'
import { BaoError, truncated } from '../lib/errors.js'
import { Checker } from '../lib/checker.js'
import { HEADER_LEN, assertBytes, assertInteger, u64FromBytes } from '../lib/bytes.js'
import { modeOf } from '../lib/hasher.js'
import { parseRoot } from '../lib/cid.js'
import { toRanges } from '../lib/ranges.js'

/** @import { CID } from 'multiformats/cid' */
/** @import { BelievedSink } from '../lib/types.js' */
/** @import { RangesLike } from '../lib/ranges.js' */

/** @typedef {{ offset: number, bytes: Uint8Array<ArrayBuffer> }} Leaf  verified bytes and where they stand in the blob; the caller's to keep */

/**
 * @typedef {object} VerifyOptions  a slice does not say what it is a slice of: both sides must agree on all of these
 * @property {Uint8Array | CID | string} root  the hash of the blob: bytes, CID or 64 hexadecimal digits
 * @property {RangesLike} [ranges]  what was asked for; everything unless told
 * @property {number} [groupLog]  0 to 16, 4 unless told
 * @property {number} [size]  bytes of the blob, for slices without the length in front. As little believed as the length is
 * @property {Uint8Array} [key]  of a keyed tree
 * @property {'window' | 'leaf'} [release]  `window` (unless told) hashes up to 128 chunks side by side, `leaf` gives each leaf as soon as
 *   its last byte has come: slower, for playback over slow lines
 */

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
  #leaves = /** @type {Leaf[]} */ ([])
  #bytesRead = 0
  #flushes
  #sink

  /** What ended the verification, if something did. @type {BaoError | Error | undefined} */
  error

  /**
   * @param {VerifyOptions} options
   * @param {BelievedSink} [sink]  takes pairs and leaves the moment they are believed; then the calls below return no leaves
   */
  constructor ({ root, ranges, groupLog = DEFAULT_GROUP_LOG, size, key, release = 'window' }, sink) {
    if (release !== 'window' && release !== 'leaf') throw new TypeError(`"release" expected 'window' or 'leaf', got '${release}'`)
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    this.#options = { root: parseRoot(root), ranges: toRanges(ranges), groupLog, mode: modeOf({ key }) }
    this.#flushes = release === 'leaf'
    this.#sink = sink ?? { leaf: (offset, memory, at, len) => this.#leaves.push({ offset, bytes: copyOf(memory, at, len) }) }
    if (size !== undefined) this.#begin(size)
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

  /**
   * @param {Uint8Array} bytes  the next piece, of any length; read, not kept. Bytes behind the end of the slice are not looked at
   * @returns {Leaf[]} what is verified now: also when a fault stands behind it, which `error` then tells
   * @throws {BaoError} BAO_PARENT_MISMATCH { node }, BAO_LEAF_MISMATCH { start, len }, BAO_SIZE_TOO_LARGE
   */
  write (bytes) {
    assertBytes('bytes', bytes)
    return this.#release(() => {
      const header = this.#takeHeader(bytes)
      if (this.#checker === undefined) return
      this.#bytesRead += this.#checker.write(header === 0 ? bytes : bytes.subarray(header))
      if (this.#flushes) this.#checker.flush()
    })
  }

  /**
   * Looks at every leaf that is complete, without waiting for a window to fill.
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
      if (this.#leaves.length === 0 || !(error instanceof BaoError)) throw error
    }
    const leaves = this.#leaves
    this.#leaves = []
    return leaves
  }

  /** @param {Uint8Array} bytes @returns {number} how many of them belonged to the header */
  #takeHeader (bytes) {
    if (this.#checker !== undefined) return 0
    const taken = bytes.subarray(0, HEADER_LEN - this.#headerLen)
    this.#header.set(taken, this.#headerLen)
    this.#headerLen += taken.length
    this.#bytesRead += taken.length
    if (this.#headerLen === HEADER_LEN) this.#begin(u64FromBytes(this.#header))
    return taken.length
  }

  /** @param {number} size */
  #begin (size) {
    assertInteger('size', size)
    this.#size = size
    this.#checker = new Checker({ size, ...this.#options }, this.#sink)
  }
}

/** @param {Uint8Array} memory @param {number} at @param {number} len @returns {Uint8Array<ArrayBuffer>} */
const copyOf = (memory, at, len) => /** @type {Uint8Array<ArrayBuffer>} */ (memory.slice(at, at + len))

/**
 * Verifies a slice that is at hand.
 *
 * @param {Uint8Array} slice
 * @param {VerifyOptions} options
 * @returns {Leaf[]} in increasing order
 * @throws {BaoError} as `SliceVerifier`
 */
export function verifySlice (slice, options) {
  assertBytes('slice', slice)
  const verifier = new SliceVerifier(options)
  const leaves = verifier.write(slice)
  return leaves.concat(verifier.end())
}

/**
 * The blob in a combined encoding.
 *
 * @param {Uint8Array} combined
 * @param {Uint8Array | CID | string} root
 * @param {{ groupLog?: number, key?: Uint8Array }} [options]  group log 0 unless told, as for `encode`
 * @returns {Uint8Array<ArrayBuffer>} fresh
 * @throws {BaoError} as `SliceVerifier`
 */
export function decode (combined, root, { groupLog = 0, key } = {}) {
  assertBytes('combined', combined)
  // The size is a claim, but there cannot be more bytes than came.
  let blob = new Uint8Array(0)
  const verifier = new SliceVerifier({ root, groupLog, key }, {
    leaf (start, memory, at, len) {
      if (blob.length === 0) blob = new Uint8Array(Math.min(/** @type {number} */ (verifier.size), combined.length))
      blob.set(memory.subarray(at, at + len), start)
    }
  })
  verifier.write(combined)
  verifier.end()
  return blob
}
