// Verifies the bytes of ranges with an outboard, span by span: quicker mirrors get longer spans. A span is a subtree
// that is hashed as a whole. If its chaining value and its pairs are right, so are its bytes. If not, each of its pairs
// and leaves is verified alone.

import { BaoError, leafMismatch, parentMismatch, truncated } from '../../../lib/core/errors.js'
import { CHUNK_LEN, DEFAULT_GROUP_LOG, HASH_LEN, PAIR_LEN } from '../../../lib/core/constants.js'
import { PairTable } from '../../../lib/outboard/pairs.js'
import { PairsAhead } from './pairs-ahead.js'
import { TreeBuilder } from '../../../lib/hash/tree-builder.js'
import { areEqual, concat } from '../../../lib/core/bytes.js'
import { chunkCount, leftLen } from '../../../lib/tree/geometry.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { parentCvIn } from '../../../lib/hash/subtree.js'
import { parseRoot, toCid } from '../../../lib/hash/cid.js'
import { toRanges } from '../../../lib/tree/ranges.js'

/** @import { NamedBlob } from '../../../lib/hash/cid.js' */
/** @import { RangesLike } from '../../../lib/tree/ranges.js' */
/** @import { SliceOutboard } from '../../../lib/core/types.js' */
/** @import { Leaf } from '../../slice/leaves.js' */

/**
 * @typedef {object} SpanTerms
 * @property {SliceOutboard} outboard  where the pairs come from. Its size is a claim, and its group log is that of the
 *   leaves
 * @property {RangesLike} [ranges]  whole groups of the outboard, or parts of them, which mean the whole ones. Default:
 *   everything
 * @property {Uint8Array} [key]  the key of a keyed tree
 */
/** @typedef {NamedBlob & SpanTerms} SpanOptions */

/** A subtree that is expected. @typedef {{ start: number, len: number, cv: Uint8Array, isRoot: boolean }} Subtree */

/**
 * @typedef {object} Span
 * @property {Subtree} subtree
 * @property {Uint8Array} pairs  the pairs of the outboard, in pre-order; fewer if the outboard lacks some
 * @property {PairTable} table  gets the pairs that follow from the bytes
 * @property {Uint8Array[]} pieces  the bytes that have arrived
 * @property {number} filled  how many they are
 * @property {number} since  the time at which the span began, as `performance.now` gives it
 */

/** The maximum length of a span, in bytes, unless a single group is longer. */
const MAX_SPAN_LEN = 1 << 20
/** A span should be complete within this many milliseconds, because no byte of it is verified before. */
const SPAN_MS = 20

const OTHER_LOG = ': it is wrong, or the outboard is of another group log'
const NOTHING = new Uint8Array(0)

/**
 * Takes the bytes of ranges, without pairs between them, in pieces of any length. Reads the pairs from an outboard.
 * Differs from `SliceVerifier` in that its methods are asynchronous.
 */
export class SpanVerifier {
  #root
  #mode
  #groupLog
  #groupLen
  #wanted
  #pairs
  #tree
  /** The subtrees whose bytes have not begun to arrive, the next one on top. @type {Subtree[]} */
  #due
  /** The maximum length of the next span, in bytes. */
  #spanLen
  /** The span whose bytes are arriving. @type {Span | undefined} */
  #span
  #leaves = /** @type {Leaf[]} */ ([])
  /** The error to throw at the end, because bytes are missing. @type {BaoError | undefined} */
  #missing

  /** The size of the blob in bytes: a claim until `sizeProven` is true. */
  size
  /** True if the last chunk has been verified, which proves the size. */
  sizeProven = false
  /** How many bytes have been read. */
  bytesRead = 0
  /** The error that ended the verification. @type {BaoError | undefined} */
  error

  /** @param {SpanOptions} options */
  constructor ({ cid, outboard, ranges, key }) {
    const { size, groupLog = DEFAULT_GROUP_LOG } = outboard
    this.#root = parseRoot(cid)
    this.#mode = modeOf({ key })
    this.#groupLog = groupLog
    this.#groupLen = CHUNK_LEN * 2 ** groupLog
    this.#wanted = toRanges(ranges).canonical(size).roundToGroups(groupLog)
    this.#pairs = new PairsAhead(outboard, size, this.#wanted)
    this.#tree = new TreeBuilder(this.#mode)
    this.#due = [{ start: 0, len: size, cv: this.#root, isRoot: true }]
    this.#spanLen = this.#groupLen
    this.size = size
  }

  /** True if everything that was asked for has been verified. */
  get done () {
    return this.#due.length === 0 && this.#span === undefined && (this.error ?? this.#missing) === undefined
  }

  /**
   * Takes the next piece.
   *
   * @param {Uint8Array} bytes  not copied: leaves are views of it, and may come with later calls
   * @returns {Promise<Leaf[]>} the leaves that are verified now. If a fault follows them, `error` is set
   * @throws {BaoError} BAO_PARENT_MISMATCH { node }, BAO_LEAF_MISMATCH { start, len }, BAO_TRUNCATED { node }, and the
   *   errors of the outboard
   */
  async write (bytes) {
    if (this.error !== undefined) throw this.error
    try {
      for (let at = 0; at < bytes.length;) {
        this.#span ??= await this.#nextSpan()
        if (this.#span === undefined) break
        at += this.#fill(this.#span, bytes, at)
      }
    } catch (error) {
      this.#note(error)
      if (this.#leaves.length === 0) throw error
    }
    return this.#take()
  }

  /**
   * Verifies the complete groups of the last span. No more bytes may follow.
   *
   * @returns {Promise<Leaf[]>} the leaves that are verified now. If a fault follows them, `error` is set
   */
  async flush () {
    const span = this.#span
    this.#span = undefined
    try {
      if (span !== undefined && this.error === undefined) this.#lookAtEach(span)
    } catch (error) {
      this.#note(error)
    }
    return this.#take()
  }

  /**
   * Ends the bytes. Callers that want all leaves call `flush` first.
   *
   * @returns {Promise<Leaf[]>} none
   * @throws {BaoError} BAO_TRUNCATED { start, wanted, got } when bytes are missing, and the errors of `write`
   */
  async end () {
    await this.flush()
    if (this.error === undefined && this.#missing === undefined) {
      try {
        this.#span = await this.#nextSpan()
      } catch (error) {
        this.#note(error)
      }
      await this.flush()
    }
    this.error ??= this.#missing
    if (this.error !== undefined) throw this.error
    return []
  }

  /** Notes a fault, or that bytes are missing. @param {unknown} error @throws other errors */
  #note (error) {
    if (!(error instanceof BaoError) || !error.code.startsWith('BAO_')) throw error
    if (error.code === 'BAO_TRUNCATED' && error.node === undefined) this.#missing = error
    else this.error = error
  }

  #take () {
    const leaves = this.#leaves
    this.#leaves = []
    return leaves
  }

  /**
   * Goes down from the next subtree, along verified pairs, to one that is wanted whole and is short enough.
   *
   * @returns {Promise<Span | undefined>} undefined when all wanted bytes have arrived
   */
  async #nextSpan () {
    for (let subtree; (subtree = this.#due.pop()) !== undefined;) {
      const { start, len } = subtree
      const from = Math.floor(start / CHUNK_LEN)
      const to = from + chunkCount(len)
      if (!this.#wanted.intersects(from, to)) continue
      if (len <= this.#groupLen || (len <= this.#spanLen && this.#wanted.contains(from, to))) {
        const span = this.#begin(subtree, await this.#takePairs(Math.ceil(len / this.#groupLen) - 1))
        if (len > 0) return span
        this.#lookAtEach(span) // an empty blob
      } else {
        const pair = this.#verified(subtree, await this.#takePairs(1), 0)
        this.#due.push(...childrenOf(subtree, pair).reverse())
      }
    }
  }

  /** Takes pairs of the outboard; fewer if it lacks some. @param {number} count @returns {Promise<Uint8Array>} */
  async #takePairs (count) {
    if (count === 0) return NOTHING
    let pairs = this.#pairs.take(count)
    while (pairs === undefined) {
      if (!await this.#pairs.load()) return NOTHING
      pairs = this.#pairs.take(count)
    }
    return pairs
  }

  /** @param {Subtree} subtree @param {Uint8Array} pairs @returns {Span} */
  #begin (subtree, pairs) {
    const startChunk = subtree.start / CHUNK_LEN
    const table = new PairTable(subtree.len, this.#groupLog, 'pre', startChunk)
    this.#tree.reset(this.#mode, { startChunk, sink: table })
    return { subtree, pairs, table, pieces: [], filled: 0, since: performance.now() }
  }

  /** @param {Span} span @param {Uint8Array} bytes @param {number} at @returns {number} how many of them it takes */
  #fill (span, bytes, at) {
    const part = bytes.subarray(at, at + span.subtree.len - span.filled)
    this.#tree.update(part)
    span.pieces.push(part)
    span.filled += part.length
    this.bytesRead += part.length
    if (span.filled === span.subtree.len) this.#check(span)
    return part.length
  }

  /** @param {Span} span  complete */
  #check (span) {
    this.#span = undefined
    const { subtree: { start, len, cv, isRoot }, table, pieces } = span
    const ms = performance.now() - span.since
    if (ms > 2 * SPAN_MS) this.#spanLen = Math.max(this.#groupLen, len / 2)
    else if (ms < SPAN_MS) this.#spanLen = Math.min(MAX_SPAN_LEN, Math.max(this.#spanLen, 2 * len))
    const hashed = isRoot ? this.#tree.hash() : this.#tree.cv()
    const pairs = table.bytes
    const isRight = areEqual(hashed, 0, cv) && pairs.length === span.pairs.length && areEqual(pairs, 0, span.pairs)
    if (isRight) this.#give(start, len, pieces)
    else this.#lookAtEach(span)
  }

  /** Passes on verified bytes. @param {number} start @param {number} len @param {Uint8Array[]} pieces */
  #give (start, len, pieces) {
    if (start + len === this.size) this.sizeProven = true
    let offset = start
    for (const piece of pieces) {
      this.#leaves.push({ offset, bytes: /** @type {Uint8Array<ArrayBuffer>} */ (piece) })
      offset += piece.length
    }
  }

  /**
   * Looks at each pair and each leaf of a span, and passes on the leaves before the first fault.
   *
   * @param {Span} span
   * @throws {BaoError} the first fault
   */
  #lookAtEach (span) {
    const arrived = concat(span.pieces)
    let pairs = 0
    const look = (/** @type {Subtree} */ subtree) => {
      const { start, len, cv, isRoot } = subtree
      if (len > this.#groupLen) {
        const pair = this.#verified(subtree, span.pairs, pairs++)
        for (const child of childrenOf(subtree, pair)) look(child)
        return
      }
      const at = start - span.subtree.start
      const leaf = arrived.subarray(at, at + len)
      if (leaf.length < len) throw truncated({ start, wanted: len, got: leaf.length })
      this.#tree.reset(this.#mode, { startChunk: start / CHUNK_LEN })
      this.#tree.update(leaf)
      const hashed = isRoot ? this.#tree.hash() : this.#tree.cv()
      if (!areEqual(hashed, 0, cv)) throw leafMismatch(start, len, this.#otherBlob(isRoot, hashed))
      this.#give(start, len, [leaf])
    }
    look(span.subtree)
  }

  /**
   * Returns the pair of a parent, if it is the expected one.
   *
   * @param {Subtree} subtree @param {Uint8Array} pairs  of the outboard @param {number} index  of the pair
   */
  #verified (subtree, pairs, index) {
    const node = nodeOf(subtree)
    const pair = pairs.slice(index * PAIR_LEN, (index + 1) * PAIR_LEN)
    if (pair.length < PAIR_LEN) throw truncated({ node, wanted: PAIR_LEN, got: 0 })
    const cv = parentCvIn(this.#mode, pair, subtree.isRoot)
    if (!areEqual(cv, 0, subtree.cv)) throw parentMismatch(node, this.#otherBlob(subtree.isRoot, cv), OTHER_LOG)
    return pair
  }

  /** The blob that was wanted, and the one that came instead. @param {boolean} isRoot @param {Uint8Array} actual */
  #otherBlob (isRoot, actual) {
    return isRoot ? { cid: toCid(this.#root), actual: toCid(actual) } : undefined
  }
}

/** The in-order number of the parent at the top of a subtree. @param {Subtree} subtree */
const nodeOf = ({ start, len }) => (start + leftLen(len)) / CHUNK_LEN - 1

/** @param {Subtree} subtree @param {Uint8Array} pair @returns {[Subtree, Subtree]} */
function childrenOf ({ start, len }, pair) {
  const left = leftLen(len)
  return [
    { start, len: left, cv: pair.subarray(0, HASH_LEN), isRoot: false },
    { start: start + left, len: len - left, cv: pair.subarray(HASH_LEN), isRoot: false }
  ]
}
