// Verifies an encoding against a root: bytes go in, verified pairs and leaves come out. It says how many bytes it
// needs, and never reads a source.
//
// It works batch by batch. The chaining value of a parent follows from its own pair, and that of a leaf from its own
// bytes. So all nodes of a batch are hashed side by side before any of them is believed. After that, each value is
// compared with its expected chaining value, in the order of the walk. The first value that differs ends the
// verification. Source: Bao spec, "Decoder"; BLAKE3 paper 6.4.

import { CHUNK_LEN, HASH_LEN } from '../core/constants.js'
import { Batch, HAS_LEFT, HAS_RIGHT, IS_LEAF, IS_PARENT, IS_SUBTREE } from './batches.js'
import { INPUT, INPUT_LEN, LEAF_CVS, PAIR_CVS, TABLE, WINDOW_CHUNKS, u8 } from '../engine/arena.js'
import { ByteQueue } from '../core/byte-queue.js'
import { ExpectedCvs } from './expected-cvs.js'
import { TreeBuilder } from '../hash/tree-builder.js'
import { Walk } from '../tree/walk.js'
import { enter, whileBorrowed } from '../engine/mode.js'
import { forEachStep, hashEncoding } from './subtree-encoding.js'
import { hashLeaves, hashPairs } from './node-hashes.js'
import { kernel } from '../engine/kernel/index.js'
import { toCid } from '../hash/cid.js'
import { leafMismatch, parentMismatch, truncated } from '../core/errors.js'

/** @import { VerifiedSink, Mode } from '../core/types.js' */
/** @import { ChunkRanges } from '../tree/ranges.js' */
/** @import { BaoError } from '../core/errors.js' */

export { WINDOW_CHUNKS }
/**
 * How many chunks can be hashed side by side at nearly full speed. Verifiers wait for this many, unless their callers
 * want each leaf immediately.
 */
export const SOON_CHUNKS = 32

const OTHER_LOG = ': it is wrong, or the slice is of other ranges, or the slice or outboard is of another group log'

export class Checker {
  #mode
  #size
  #sink
  #batch
  #minChunks
  #pending = new ByteQueue()
  /** True if the next step is the root. */
  #isAtRoot = true
  #expected

  /** How many bytes of the encoding have been verified. */
  verified = 0
  /** True if the last chunk has been verified. Until then, the size is only a claim. Bao spec, "Decoder". */
  isSizeProven = false
  /** The error that ended the verification. @type {BaoError | undefined} */
  error

  /**
   * @param {object} job
   * @param {Uint8Array} job.root  32 bytes
   * @param {number} job.size  bytes; a claim
   * @param {number} job.groupLog  0 to 16
   * @param {ChunkRanges} job.ranges
   * @param {Mode} job.mode
   * @param {number} [job.minChunks]  a batch has at least this many chunks if the slice has that many, and more if
   *   their bytes are available; default: 128, a whole window
   * @param {number} [job.firstChunks]  the minimum number of chunks in the first batch; default: `minChunks`
   * @param {number} [job.available]  how many bytes the first `write` will get
   * @param {VerifiedSink} [sink]  gets verified pairs and leaves. Without a sink, they are verified and dropped
   */
  constructor (job, sink) {
    const { root, size, groupLog, ranges, mode } = job
    const { minChunks = WINDOW_CHUNKS, firstChunks = minChunks, available = 0 } = job
    this.#mode = mode
    this.#size = size
    this.#sink = sink
    this.#expected = new ExpectedCvs(root)
    this.#minChunks = minChunks
    this.#batch = new Batch(new Walk(size, groupLog, ranges), groupLog)
    this.#batch.fill(firstChunks, available)
  }

  /** True if everything that was wanted has been verified. */
  get isDone () { return this.#batch.count === 0 }

  /** How many more bytes the current batch needs before it can be verified. */
  get wanted () { return this.#batch.len - this.#pending.len }

  /**
   * Takes bytes of the encoding, and verifies every batch that they complete.
   *
   * @param {Uint8Array} bytes  a piece of any length; not kept. It may be at INPUT in the arena, where it is
   *   overwritten
   * @param {number} [at]  where the bytes to take begin
   * @returns {number} where the encoding ends in `bytes`. This is before the end of `bytes` only if `isDone` is true
   * @throws {BaoError} BAO_PARENT_MISMATCH, BAO_LEAF_MISMATCH, after everything before the fault has gone to the sink
   */
  write (bytes, at = 0) {
    if (this.error) throw this.error
    while (!this.isDone) {
      const due = this.wanted
      if (bytes.length - at < due) {
        // Memory grows with the bytes that have arrived, not with a claimed size.
        this.#pending.push(at === 0 ? bytes : bytes.subarray(at), this.#batch.len)
        return bytes.length
      }
      this.#check(this.#batch.count, this.#pending.bytes, bytes.subarray(at, at + due))
      this.#pending.clear()
      at += due
      this.#batch.fill(this.#minChunks, bytes.length - at)
    }
    return at
  }

  /** Verifies every step whose bytes have arrived, without waiting for the rest of the batch. */
  flush () {
    if (this.error) throw this.error
    const { kinds, lens } = this.#batch
    let count = 0
    let len = 0
    for (; count < this.#batch.count; count++) {
      const isPartly = len < this.#pending.len && len + lens[count] > this.#pending.len
      if (isPartly && kinds[count] === IS_SUBTREE) this.#batch.expand(count)
      if (len + lens[count] > this.#pending.len) break
      len += lens[count]
    }
    if (count === 0) return
    this.#check(count, this.#pending.bytes.subarray(0, len), NOTHING)
    this.#pending.shift(len)
    this.#batch.drop(count, len)
    if (this.isDone) this.#batch.fill(this.#minChunks, 0)
  }

  /**
   * Ends the encoding: no more bytes follow.
   *
   * @throws {BaoError} BAO_TRUNCATED when bytes are missing
   */
  end () {
    this.flush()
    if (this.isDone) return
    if (this.#batch.kinds[0] === IS_SUBTREE) this.#batch.expand(0)
    const { kinds: [kind], places: [place], lens: [wanted] } = this.#batch
    const got = this.#pending.len
    this.error = truncated(kind === IS_LEAF ? { start: place, wanted, got } : { node: place, wanted, got })
    throw this.error
  }

  /**
   * Verifies the next steps.
   *
   * @param {number} count
   * @param {Uint8Array} head  the first bytes of these steps
   * @param {Uint8Array} tail  the rest
   */
  #check (count, head, tail) {
    if (head.length + tail.length > INPUT_LEN) return this.#checkLarge(head, tail)
    enter(this.#mode)
    const isInPlace = head.length === 0 && isAtInput(tail)
    const at = isInPlace ? tail.byteOffset : INPUT
    if (!isInPlace) {
      u8.set(tail, INPUT + head.length) // The tail is moved first, because it may be where the head goes.
      u8.set(head, INPUT)
    }
    this.#hash(0, count, at)
    whileBorrowed(() => this.#compare(0, count, u8, at))
  }

  /** Verifies one leaf that does not fit into the arena. @param {Uint8Array} head @param {Uint8Array} tail */
  #checkLarge (head, tail) {
    const bytes = tail.length === 0 ? head : new Uint8Array(head.length + tail.length)
    if (bytes !== head) {
      bytes.set(head)
      bytes.set(tail, head.length)
    }
    const tree = new TreeBuilder(this.#mode, { startChunk: this.#batch.places[0] / CHUNK_LEN })
    tree.update(bytes)
    u8.set(this.#isAtRoot ? tree.hash() : tree.cv(), LEAF_CVS)
    whileBorrowed(() => this.#compare(0, 1, bytes, 0))
  }

  /**
   * Hashes all steps except subtrees.
   *
   * @param {number} from  step
   * @param {number} to
   * @param {number} at  in the arena
   */
  #hash (from, to, at) {
    const steps = { batch: this.#batch, from, to, at, flags: this.#mode.flags, hasRoot: this.#isAtRoot }
    hashPairs(steps)
    hashLeaves(steps)
  }

  /**
   * Compares the steps one after the other, and passes them to the sink.
   *
   * @param {number} from  step
   * @param {number} to
   * @param {Uint8Array} memory  has the bytes of the steps; those of earlier steps may be overwritten
   * @param {number} at  where the first step begins in memory
   */
  #compare (from, to, memory, at) {
    const { kinds, places, spans, lens } = this.#batch
    const joiner = new LeafJoiner(memory, this.#sink)
    let pairCv = PAIR_CVS
    let leafCv = LEAF_CVS
    for (let i = from; i < to; i++) {
      if (kinds[i] === IS_LEAF) {
        if (!this.#expected.isNext(leafCv)) {
          throw this.#fail(joiner, leafMismatch(places[i], lens[i], this.#otherBlob(leafCv)))
        }
        this.#expected.drop()
        leafCv += HASH_LEN
        joiner.add(places[i], at, lens[i])
      } else if (kinds[i] === IS_SUBTREE) {
        if (!this.#takeSubtree(i, at, joiner)) {
          joiner.end()
          this.#findFault(i, at)
        }
      } else {
        if (!this.#expected.isNext(pairCv)) {
          throw this.#fail(joiner, parentMismatch(places[i], this.#otherBlob(pairCv), OTHER_LOG))
        }
        this.#expected.drop()
        pairCv += HASH_LEN
        if (kinds[i] & HAS_RIGHT) this.#expected.push(at + HASH_LEN)
        if (kinds[i] & HAS_LEFT) this.#expected.push(at)
        this.#sink?.pair?.(places[i], at)
        this.#sink?.parent?.(places[i], at)
      }
      // Only here, bytes have been verified as the end of a blob of this size, which proves the size.
      if (!(kinds[i] & IS_PARENT) && places[i] + spans[i] === this.#size) this.isSizeProven = true
      this.#isAtRoot = false
      this.verified += lens[i]
      at += lens[i]
    }
    joiner.end()
  }

  /** @param {number} step @param {number} at @param {LeafJoiner} joiner @returns {boolean} true if it is right */
  #takeSubtree (step, at, joiner) {
    const subtree = this.#batch.subtreeAt(step)
    const cv = hashEncoding(subtree, at, this.#mode.flags)
    if (cv === undefined || !this.#expected.isNext(cv)) return false
    this.#expected.drop()
    const { start, len, leafLen } = subtree
    if (this.#sink === undefined) return true
    if (this.#sink.pair === undefined) {
      kernel.gather(TABLE, len / CHUNK_LEN, CHUNK_LEN, at)
      joiner.add(start, at, len)
    } else {
      forEachStep(subtree,
        (node, pairAt) => this.#sink?.pair?.(node, at + pairAt),
        (leafStart, leafAt) => joiner.add(leafStart, at + leafAt, leafLen))
    }
    return true
  }

  /**
   * Replaces a wrong subtree with its steps, and throws the first fault among them.
   *
   * @param {number} step @param {number} at
   * @returns {never}
   */
  #findFault (step, at) {
    const { lens } = this.#batch
    const end = at + lens[step]
    this.#batch.expand(step)
    let to = step
    for (let next = at; next < end; to++) next += lens[to]
    this.#hash(step, to, at)
    this.#compare(step, to, u8, at)
    throw new Error(`no step of a subtree differs, but the whole at ${this.#batch.places[step]} does`)
  }

  /**
   * The blob that was wanted, and the one whose root came instead, if the next step is the root. The second is only
   * what the sender has sent.
   *
   * @param {number} cv  where the root that came is in the arena
   */
  #otherBlob (cv) {
    if (!this.#isAtRoot) return undefined
    return { cid: toCid(this.#expected.next), actual: toCid(u8.slice(cv, cv + HASH_LEN)) }
  }

  /** @param {LeafJoiner} joiner @param {BaoError} error */
  #fail (joiner, error) {
    joiner.end()
    this.error = error
    return error
  }
}

/**
 * Joins verified leaves that are adjacent in the blob. It moves them together in memory, and passes them to the sink as
 * one leaf.
 */
class LeafJoiner {
  #memory
  #sink
  #start = 0
  #at = 0
  #len = 0

  /** @param {Uint8Array} memory @param {VerifiedSink} [sink] */
  constructor (memory, sink) {
    this.#memory = memory
    this.#sink = sink
  }

  /**
   * Takes a leaf. The memory before `at` may be overwritten.
   *
   * @param {number} start  byte offset in the blob @param {number} at  in memory @param {number} len
   */
  add (start, at, len) {
    // A sink that also takes pairs gets every leaf alone, after the pairs above it.
    if (this.#sink === undefined) return
    if (this.#sink.pair !== undefined) return this.#sink.leaf(start, this.#memory, at, len)
    if (this.#len === 0 || start !== this.#start + this.#len) {
      this.end()
      this.#start = start
      this.#at = at
    } else if (at !== this.#at + this.#len) {
      this.#memory.copyWithin(this.#at + this.#len, at, at + len)
    }
    this.#len += len
  }

  end () {
    if (this.#len > 0) this.#sink?.leaf(this.#start, this.#memory, this.#at, this.#len)
    this.#len = 0
  }
}

/** True if the bytes are at INPUT in the arena. @param {Uint8Array} bytes */
const isAtInput = ({ buffer, byteOffset }) =>
  buffer === u8.buffer && byteOffset >= INPUT && byteOffset < INPUT + INPUT_LEN

const NOTHING = new Uint8Array(0)
