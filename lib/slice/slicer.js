// Cuts slices out of a blob: decides which pairs and bytes a slice has, batch by batch. `Slicer` only says which bytes
// it needs. The two functions that use it read them. Source: Bao spec, "Slice Format"; with chunk groups, as in
// bao-tree.

import { CHUNK_LEN, MAX_DEPTH, PAIR_LEN } from '../core/constants.js'
import { ENTER, LEAF, SUBTREE, Walk } from '../tree/walk.js'
import { TreeBuilder } from '../hash/tree-builder.js'
import { PairTable } from '../outboard/pairs.js'
import { pairsOf } from '../outboard/paged-outboard.js'
import { INPUT, INPUT_LEN, STAGE, WINDOW_CHUNKS, WINDOW_LEN, u8 } from '../engine/arena.js'
import { Batch, FIRST_CHUNKS } from './batches.js'
import { Prefetcher } from '../source/prefetch.js'
import { createYielder, untilAborted } from '../source/async-util.js'
import { chunkCount, leftChunks } from '../tree/geometry.js'
import { resultBuffer } from '../core/bytes.js'
import { truncated } from '../core/errors.js'
import { encodedLen, forEachStep, encodeWithPairs, placePairs, visitSteps } from './subtree-encoding.js'
import { enter, whileBorrowed } from '../engine/mode.js'

/** @import { ByteRange, ChunkRanges } from '../tree/ranges.js' */
/** @import { BaoError } from '../core/errors.js' */
/** @import { Mode, PairReader, RandomAccess, SliceOutboard, Step } from '../core/types.js' */

/** The maximum number of bytes of groups that are read for one batch, unless a single group has more. */
const MAX_NEEDED = 1 << 21

/** Where the pairs of a subtree go in the arena: after its bytes. */
const PAIRS = STAGE + WINDOW_LEN
/** Leaves of at least this length are copied to their places one by one; the kernel copies shorter ones. */
const LONG_LEAF = 1 << 12

/** @typedef {{ size: number, groupLog: number, ranges: ChunkRanges, mode: Mode }} SliceJob */
/**
 * Checks a batch before it is sent. Returns how many bytes from its start are right, and the fault that follows them.
 *
 * @callback Check
 * @param {Uint8Array} batch
 * @returns {{ good: number, fault?: BaoError }}
 */

/**
 * Yields the batches of a slice, without its header. If there is a fault, for example if the source ends too early,
 * everything before the fault is yielded, and then the error is thrown.
 *
 * @param {RandomAccess} source
 * @param {SliceOutboard} outboard
 * @param {SliceJob} job
 * @param {{ check?: Check, signal?: AbortSignal, reuse?: boolean }} [options]  `reuse`: batches are borrowed until the
 *   next one
 */
export async function * cut (source, outboard, job, { check, signal, reuse = false } = {}) {
  const pairs = pairsOf(outboard)
  const slicer = new Slicer(job, pairs, check)
  const reader = new Prefetcher(source, neededBytes(job), signal)
  const yieldWhenDue = createYielder(signal)
  let memory = new Uint8Array(0)
  while (slicer.plan()) {
    await untilAborted(pairs.prepare?.(slicer.nodes), signal)
    const bytes = []
    reader.reclaimBuffers()
    for (const { start, end } of slicer.spans) bytes.push(await reader.read(start, end))
    if (!reuse || memory.length < slicer.len) memory = new Uint8Array(slicer.len)
    const len = slicer.emit(bytes, memory, 0)
    // After a fault, the rest of the memory is not needed.
    if (len > 0) yield slicer.fault ? memory.slice(0, len) : memory.subarray(0, len)
    if (slicer.fault) throw slicer.fault
    await yieldWhenDue()
  }
}

/** The bytes from which a slice is made: groups that are wanted in part are needed whole. @param {SliceJob} job */
const neededBytes = ({ size, groupLog, ranges }) => ranges.canonical(size).roundToGroups(groupLog).toBytes(size)

/**
 * Makes a whole slice of bytes in memory, in one piece.
 *
 * @param {Uint8Array} source  the blob, or all bytes of it that the slice needs
 * @param {PairReader} outboard
 * @param {SliceJob} job
 * @param {object} options
 * @param {number} options.headerLen  bytes that are left free at the start
 * @param {number} [options.start]  where `source` begins in the blob, in bytes. Default: 0
 * @param {Uint8Array<ArrayBuffer>} [options.into]  memory for the slice; default: fresh
 * @param {Check} [options.check]
 * @returns {Uint8Array<ArrayBuffer>} fresh, or a view of `into`
 */
export function cutSync (source, outboard, job, { headerLen, start: from = 0, into, check }) {
  const slicer = new Slicer(job, outboard, check)
  // If the size is wrong, take only memory for the existing bytes, and for all pairs that can come before the first
  // missing byte.
  const most = source.length + PAIR_LEN * (chunkCount(source.length) + 2 * MAX_DEPTH)
  const out = resultBuffer(into, headerLen + Math.min(sliceLenOf(job), most))
  let at = headerLen
  while (slicer.plan()) {
    at = slicer.emit(slicer.spans.map(({ start, end }) => source.subarray(start - from, end - from)), out, at)
    if (slicer.fault) throw slicer.fault
  }
  return out
}

/**
 * The number of bytes of a slice. It is computed without a walk, so a wrong, huge size costs no time.
 *
 * @param {{ size: number, groupLog: number, ranges: ChunkRanges }} job
 */
export function sliceLenOf ({ size, groupLog, ranges }) {
  const wanted = ranges.canonical(size)
  /** @param {number} start  chunk @param {number} end @returns {number} */
  const visit = (start, end) => {
    if (!wanted.intersects(start, end)) return 0
    const chunks = end - start
    if (chunks === 1 || wanted.contains(start, end)) {
      return Math.min(end * CHUNK_LEN, size) - start * CHUNK_LEN + PAIR_LEN * (Math.ceil(chunks / 2 ** groupLog) - 1)
    }
    const middle = start + leftChunks(chunks)
    return PAIR_LEN + visit(start, middle) + visit(middle, end)
  }
  return visit(0, chunkCount(size))
}

/**
 * Walks twice over the same steps. The first walk collects what a batch needs, and the second one writes the batch.
 *
 * Chunk groups that are wanted in part are sent with pairs down to the chunks. An outboard does not have the pairs
 * inside a group, so the whole group is read and hashed.
 */
class Slicer {
  #ahead
  #behind
  #pairs
  #groupLen
  #mode
  #size
  #check
  #isFirst = true
  /** True if pairs of the planned batch must be computed from the bytes of their group. */
  #hashes = false
  /** The last group that was wanted in part: its start, its bytes, and its pairs in post-order. */
  #group = { start: -1, bytes: new Uint8Array(0), pairs: new Uint8Array(0) }

  /**
   * The spans of the blob that the next `emit` needs, in increasing order, and the parents whose pairs
   * it copies from the outboard.
   */
  spans = /** @type {ByteRange[]} */ ([])
  nodes = /** @type {number[]} */ ([])
  /**
   * The fault that ends the slice: a missing or wrong pair, or missing or wrong bytes. The last batch ends
   * before it.
   *
   * @type {BaoError | undefined}
   */
  fault

  /** @param {SliceJob} job @param {PairReader} pairs @param {Check} [check] */
  constructor ({ size, groupLog, ranges, mode }, pairs, check) {
    this.#ahead = new Batch(new Walk(size, groupLog, ranges), groupLog)
    this.#behind = new Walk(size, groupLog, ranges)
    this.#groupLen = CHUNK_LEN * 2 ** groupLog
    this.#size = size
    this.#mode = mode
    this.#pairs = pairs
    this.#check = check
  }

  /** The length of the planned batch in bytes. */
  get len () { return this.#ahead.len }

  /** Plans the next batch. @returns {boolean} false if everything has been written */
  plan () {
    const batch = this.#ahead
    const { step } = batch
    this.spans = []
    this.nodes = []
    let needed = 0
    this.#hashes = false
    // The first batch is short, so that the first bytes arrive soon.
    if (this.#isFirst) batch.begin(FIRST_CHUNKS, 0)
    else batch.begin()
    this.#behind.setSubtrees(this.#isFirst ? FIRST_CHUNKS : WINDOW_CHUNKS)
    this.#isFirst = false
    while (batch.takeStep()) {
      if (step.kind === ENTER && step.isStored) {
        this.nodes.push(step.node)
        continue
      }
      this.#hashes ||= step.kind === ENTER
      if (step.kind === SUBTREE && this.#pairs.prepare) {
        visitSteps(step, this.#groupLen, parent => this.nodes.push(parent.node) > 0, () => true)
      }
      const group = this.#groupsOf(step)
      const extra = this.#extra(group)
      // Small parts of many groups are sent in many batches, so that memory does not grow with the ranges.
      if (batch.count > 1 && extra > 0 && needed + extra > MAX_NEEDED) {
        batch.putBackStep()
        break
      }
      needed += extra
      if (extra > 0) this.#need(group)
    }
    return batch.count > 0
  }

  /**
   * Writes the planned batch, and checks it.
   *
   * @param {Uint8Array[]} bytes  the bytes of each of `spans`. If there are too few, that is a fault
   * @param {Uint8Array} out  memory for `len` bytes
   * @param {number} at  where the batch begins in `out`
   * @returns {number} where the batch ends in `out`. After a fault, this is earlier than planned
   */
  emit (bytes, out, at) {
    enter(this.#mode) // throws if the arena is borrowed: batches are made there
    if (this.#check === undefined) return this.#write(bytes, out, at)
    if (!this.#fitsInArena) {
      const { good, fault } = this.#check(out.subarray(at, this.#write(bytes, out, at)))
      this.fault = fault ?? this.fault
      return at + good
    }
    // The batch is written to the place where it is checked, which saves a copy. The check may overwrite the batch, so
    // the batch is first copied out of the arena.
    let end = INPUT
    whileBorrowed(() => { end = this.#write(bytes, u8, INPUT) })
    const batch = u8.subarray(INPUT, end)
    out.set(batch, at)
    const { good, fault } = this.#check(batch)
    this.fault = fault ?? this.fault
    return at + good
  }

  /**
   * True if the batch can be written to the arena: it fits, and nothing hashes while it is written. Outboards with
   * `copySubtree` never hash.
   */
  get #fitsInArena () { return this.len <= INPUT_LEN && !this.#hashes && this.#pairs.copySubtree !== undefined }

  /** @param {Uint8Array[]} bytes @param {Uint8Array} out @param {number} at @returns {number} */
  #write (bytes, out, at) {
    const step = this.#behind
    const putPair = (/** @type {Step} */ parent) => {
      if (!this.#pairs.copyPair(parent, out, at)) {
        this.fault = truncated({ node: parent.node, wanted: PAIR_LEN, got: 0 })
        return false
      }
      at += PAIR_LEN
      return true
    }
    /**
     * Writes a leaf, some bytes of which may be missing.
     *
     * @param {Uint8Array} part @param {number} start @param {number} len
     */
    const putLeaf = (part, start, len) => {
      out.set(part, at)
      at += part.length
      if (part.length < len) this.fault = truncated({ start, wanted: len, got: part.length })
      return part.length === len
    }
    const putSubtree = () => {
      const { start, len } = step
      const whole = this.#bytesOf(bytes, start, len)
      const leafOf = (/** @type {number} */ leafStart, /** @type {number} */ leafLen) =>
        whole.subarray(leafStart - start, leafStart - start + leafLen)
      const order = whole.length === len ? this.#pairs.copySubtree?.(step, u8, PAIRS) : undefined
      if (order !== undefined) {
        const subtree = { start, len, leafLen: this.#groupLen }
        const encoded = encodedLen(len, this.#groupLen)
        // The kernel writes only to the arena: to the final place if that is there, otherwise to INPUT, and the subtree
        // is copied out.
        const isInArena = out === u8
        const to = isInArena ? at : INPUT
        if (this.#groupLen < LONG_LEAF) {
          u8.set(whole, STAGE)
          encodeWithPairs(subtree, STAGE, PAIRS, order, to)
        } else {
          forEachStep(subtree, () => {}, (leafStart, leafAt, leafLen) => {
            u8.set(leafOf(leafStart, leafLen), to + leafAt)
          })
          placePairs(subtree, PAIRS, order, to)
        }
        if (!isInArena) out.set(u8.subarray(to, to + encoded), at)
        at += encoded
        return true
      }
      return visitSteps(step, this.#groupLen, putPair,
        (leafStart, leafLen) => putLeaf(leafOf(leafStart, leafLen), leafStart, leafLen))
    }
    const putPairInGroup = () => {
      const pair = this.#pairInGroup(bytes, step)
      if (pair === undefined) return false
      out.set(pair, at)
      at += PAIR_LEN
      return true
    }

    let isGood = true
    for (let steps = this.#ahead.count; isGood && steps > 0 && step.next(); steps--) {
      if (step.kind === LEAF) isGood = putLeaf(this.#bytesOf(bytes, step.start, step.len), step.start, step.len)
      else if (step.kind === SUBTREE) isGood = putSubtree()
      else isGood = step.isStored ? putPair(step) : putPairInGroup()
    }
    return at
  }

  /** The group that contains a byte. @param {number} start  the offset of the byte @returns {ByteRange} */
  #groupOf (start) {
    const from = Math.floor(start / this.#groupLen) * this.#groupLen
    return { start: from, end: Math.min(from + this.#groupLen, this.#size) }
  }

  /** The bytes of all groups that a step needs. @param {Walk} step @returns {ByteRange} */
  #groupsOf (step) {
    return step.kind === SUBTREE ? { start: step.start, end: step.start + step.len } : this.#groupOf(step.start)
  }

  /**
   * How many bytes a group adds to the needed ones.
   *
   * @param {ByteRange} group  not before the last one
   */
  #extra ({ start, end }) {
    if (start === this.#group.start) return 0
    return end - Math.max(start, Math.min(end, this.spans.at(-1)?.end ?? 0))
  }

  /** Adds a group to the needed ones. @param {ByteRange} group  not before the last one */
  #need ({ start, end }) {
    const last = this.spans.at(-1)
    if (last === undefined || last.end < start) this.spans.push({ start, end })
    else last.end = end
  }

  /**
   * Bytes of the blob that were read for this batch; fewer at the end of the source.
   *
   * @param {Uint8Array[]} bytes @param {number} start @param {number} len
   */
  #bytesOf (bytes, start, len) {
    const i = this.spans.findIndex(span => span.start <= start && start + len <= span.end)
    const [from, all] = i < 0 ? [this.#group.start, this.#group.bytes] : [this.spans[i].start, bytes[i]]
    return all.subarray(start - from, start - from + len)
  }

  /**
   * Computes a pair from the bytes of its group.
   *
   * @param {Uint8Array[]} bytes @param {Walk} step  a parent below the group level
   * @returns {Uint8Array | undefined} undefined if bytes of the group are missing
   */
  #pairInGroup (bytes, step) {
    const { start, end } = this.#groupOf(step.start)
    if (start !== this.#group.start) {
      const group = this.#bytesOf(bytes, start, end - start)
      if (group.length < end - start) {
        this.fault = truncated({ start, wanted: end - start, got: group.length })
        return undefined
      }
      const table = new PairTable(group.length, 0, 'post', start / CHUNK_LEN)
      const tree = new TreeBuilder(this.#mode, { startChunk: start / CHUNK_LEN, sink: table })
      tree.update(group)
      tree.cv()
      // The next batch may start within this group.
      this.#group = { start, bytes: new Uint8Array(group), pairs: table.bytes }
    }
    return this.#group.pairs.subarray(step.post * PAIR_LEN, (step.post + 1) * PAIR_LEN)
  }
}
