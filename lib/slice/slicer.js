// Cutting a slice: which pairs and which bytes go on the wire, window by window. `Slicer` says what it needs and never reads; the two
// loops around it do.
// Source: Bao spec, "Slice Format"; with chunk groups, as in bao-tree.

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
import { encodedLen, forEachStep, encodeWithPairs, placePairs, walkInto } from './subtree-encoding.js'
import { enter, whileBorrowed } from '../engine/mode.js'

/** @import { ChunkRanges } from '../tree/ranges.js' */
/** @import { BaoError } from '../core/errors.js' */
/** @import { Mode, PairReader, RandomAccess, SliceOutboard, Step } from '../core/types.js' */

/** Bytes of groups that are read for one window, unless one group is larger. */
const MAX_NEEDED = 1 << 21

/** Where the pairs of a subtree are put beside its bytes. */
const PAIRS = STAGE + WINDOW_LEN
/** Leaves from this length on are put to their places one by one; shorter ones the kernel spreads. */
const LONG_LEAF = 1 << 12

/** @typedef {{ start: number, end: number }} Span  bytes of the blob, half-open */
/** @typedef {{ size: number, groupLog: number, ranges: ChunkRanges, mode: Mode }} SliceOf */
/**
 * Looks at a window as it is written, before it leaves: bytes of it that are right, from its start on, and what is wrong behind them.
 *
 * @callback Check
 * @param {Uint8Array} window
 * @returns {{ good: number, fault?: BaoError }}
 */

/**
 * The windows of a slice, without its header. Where the source ends too early, what stands before is given and then the fault is thrown.
 *
 * @param {RandomAccess} source
 * @param {SliceOutboard} outboard
 * @param {SliceOf} what
 * @param {{ check?: Check, signal?: AbortSignal, reuse?: boolean }} [options]  `reuse`: windows are lent until the next
 */
export async function * cut (source, outboard, what, { check, signal, reuse = false } = {}) {
  const pairs = pairsOf(outboard)
  const slicer = new Slicer(what, pairs, check)
  const reader = new Prefetcher(source, neededBytes(what), signal)
  const yieldWhenDue = createYielder(signal)
  let memory = new Uint8Array(0)
  while (slicer.plan()) {
    await untilAborted(pairs.prepare?.(slicer.nodes), signal)
    const bytes = []
    reader.reclaimBuffers()
    for (const { start, end } of slicer.spans) bytes.push(await reader.read(start, end))
    if (!reuse || memory.length < slicer.len) memory = new Uint8Array(slicer.len)
    const len = slicer.emit(bytes, memory, 0)
    // After a fault nobody waits for the rest of the window.
    if (len > 0) yield slicer.fault ? memory.slice(0, len) : memory.subarray(0, len)
    if (slicer.fault) throw slicer.fault
    await yieldWhenDue()
  }
}

/** What a slice is made from: of a chunk group that is wanted in part, all. @param {SliceOf} what */
const neededBytes = ({ size, groupLog, ranges }) => ranges.canonical(size).roundToGroups(groupLog).toBytes(size)

/**
 * The same from bytes that are at hand, into one piece of memory.
 *
 * @param {Uint8Array} source
 * @param {PairReader} outboard
 * @param {SliceOf} what
 * @param {object} options
 * @param {number} options.headerLen  bytes that are left free in front
 * @param {Uint8Array<ArrayBuffer>} [options.into]  that memory
 * @param {Check} [options.check]
 * @returns {Uint8Array<ArrayBuffer>} fresh, unless in `into`
 */
export function cutSync (source, outboard, what, { headerLen, into, check }) {
  const slicer = new Slicer(what, outboard, check)
  // A size that lies takes no more memory than the bytes that are there, with all pairs that can stand before one that is not.
  const most = source.length + PAIR_LEN * (chunkCount(source.length) + 2 * MAX_DEPTH)
  const out = resultBuffer(into, headerLen + Math.min(sliceLenOf(what), most))
  let at = headerLen
  while (slicer.plan()) {
    at = slicer.emit(slicer.spans.map(({ start, end }) => source.subarray(start, end)), out, at)
    if (slicer.fault) throw slicer.fault
  }
  return out
}

/** Bytes of a slice, without a step of the walk: a size that lies takes no time. @param {{ size: number, groupLog: number, ranges: ChunkRanges }} what */
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
 * Two walks over the same steps: one looks ahead and collects what a window needs, the other follows and writes the window.
 *
 * Chunk groups that are wanted only in part travel with pairs down to the chunks. No outboard has these, so the whole group is
 * asked for and hashed.
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
  /** Must pairs of the planned window be made from the bytes of their group? */
  #hashes = false
  /** The group that was last looked at, when it is wanted in part: where it starts, its bytes, its pairs in post-order. */
  #group = { start: -1, bytes: new Uint8Array(0), pairs: new Uint8Array(0) }

  /** What the next `emit` needs: bytes of the blob, increasing and apart; and, if they must be fetched, the parents whose pairs are in the outboard. */
  spans = /** @type {Span[]} */ ([])
  nodes = /** @type {number[]} */ ([])
  /** Bytes or a pair were not there, or are wrong: the last window ends where they should be. @type {BaoError | undefined} */
  fault

  /** @param {SliceOf} what @param {PairReader} pairs @param {Check} [check] */
  constructor ({ size, groupLog, ranges, mode }, pairs, check) {
    this.#ahead = new Batch(new Walk(size, groupLog, ranges), groupLog)
    this.#behind = new Walk(size, groupLog, ranges)
    this.#groupLen = CHUNK_LEN * 2 ** groupLog
    this.#size = size
    this.#mode = mode
    this.#pairs = pairs
    this.#check = check
  }

  /** Bytes of the planned window. */
  get len () { return this.#ahead.len }

  /** Looks ahead over the next window. @returns {boolean} false when everything has been written */
  plan () {
    const batch = this.#ahead
    const { step } = batch
    this.spans = []
    this.nodes = []
    let needed = 0
    this.#hashes = false
    // The first is short: whoever waits for the source does not wait for a whole window of it.
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
      if (step.kind === SUBTREE && this.#pairs.prepare) walkInto(step, this.#groupLen, parent => this.nodes.push(parent.node) > 0, () => true)
      const group = this.#groupsOf(step)
      const extra = this.#extra(group)
      // Who wants a little of many groups gets them in many windows: memory does not follow what was asked for.
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
   * Writes the planned window, checked.
   *
   * @param {Uint8Array[]} bytes  of each of `spans`; fewer than asked for are a fault
   * @param {Uint8Array} out  takes `len` bytes
   * @param {number} at  from here on
   * @returns {number} where it ends: earlier than planned at a fault
   */
  emit (bytes, out, at) {
    enter(this.#mode) // nothing of the arena may be lent: pairs and leaves meet there
    if (this.#check === undefined) return this.#write(bytes, out, at)
    if (!this.#canStandInArena) {
      const { good, fault } = this.#check(out.subarray(at, this.#write(bytes, out, at)))
      this.fault = fault ?? this.fault
      return at + good
    }
    // Where it is checked, so that it need not be copied there. Whoever checks may use the memory for something else.
    let end = INPUT
    whileBorrowed(() => { end = this.#write(bytes, u8, INPUT) })
    const window = u8.subarray(INPUT, end)
    out.set(window, at)
    const { good, fault } = this.#check(window)
    this.fault = fault ?? this.fault
    return at + good
  }

  /** Does it fit, and can it be written without hashing anything? Who fetches pairs may do that. */
  get #canStandInArena () { return this.len <= INPUT_LEN && !this.#hashes && this.#pairs.copySubtree !== undefined }

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
    /** A leaf, of which some bytes may be missing. @param {Uint8Array} part @param {number} start @param {number} len */
    const putLeaf = (part, start, len) => {
      out.set(part, at)
      at += part.length
      if (part.length < len) this.fault = truncated({ start, wanted: len, got: part.length })
      return part.length === len
    }
    const putSubtree = () => {
      const { start, len } = step
      const whole = this.#bytesOf(bytes, start, len)
      const order = whole.length === len ? this.#pairs.copySubtree?.(step, u8, PAIRS) : undefined
      if (order !== undefined) {
        const subtree = { start, len, leafLen: this.#groupLen }
        const encoded = encodedLen(len, this.#groupLen)
        // The kernel works in the arena: there it is put together, where it is to stand or else at INPUT, from where it is copied out.
        const isInArena = out === u8
        const to = isInArena ? at : INPUT
        if (this.#groupLen < LONG_LEAF) {
          u8.set(whole, STAGE)
          encodeWithPairs(subtree, STAGE, PAIRS, order, to)
        } else {
          forEachStep(subtree, () => {}, (leafStart, leafAt, leafLen) => u8.set(whole.subarray(leafStart - start, leafStart - start + leafLen), to + leafAt))
          placePairs(subtree, PAIRS, order, to)
        }
        if (!isInArena) out.set(u8.subarray(to, to + encoded), at)
        at += encoded
        return true
      }
      return walkInto(step, this.#groupLen, putPair,
        (leafStart, leafLen) => putLeaf(whole.subarray(leafStart - start, leafStart - start + leafLen), leafStart, leafLen))
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

  /** @param {number} start  any byte of the group @returns {Span} */
  #groupOf (start) {
    const from = Math.floor(start / this.#groupLen) * this.#groupLen
    return { start: from, end: Math.min(from + this.#groupLen, this.#size) }
  }

  /** All bytes that are needed for a leaf, a subtree, or a parent within a group. @param {Walk} step @returns {Span} */
  #groupsOf (step) {
    return step.kind === SUBTREE ? { start: step.start, end: step.start + step.len } : this.#groupOf(step.start)
  }

  /** Bytes that are needed for a group beyond those that are needed already. @param {Span} group  at or behind the ones before */
  #extra ({ start, end }) {
    if (start === this.#group.start) return 0
    return end - Math.max(start, Math.min(end, this.spans.at(-1)?.end ?? 0))
  }

  /** @param {Span} group  at or behind the ones before */
  #need ({ start, end }) {
    const last = this.spans.at(-1)
    if (last === undefined || last.end < start) this.spans.push({ start, end })
    else last.end = end
  }

  /** Bytes of the blob that have come for this window; fewer where the source has ended. @param {Uint8Array[]} bytes @param {number} start @param {number} len */
  #bytesOf (bytes, start, len) {
    const i = this.spans.findIndex(span => span.start <= start && start + len <= span.end)
    const [from, all] = i < 0 ? [this.#group.start, this.#group.bytes] : [this.spans[i].start, bytes[i]]
    return all.subarray(start - from, start - from + len)
  }

  /**
   * @param {Uint8Array[]} bytes @param {Walk} step  a parent below the group level
   * @returns {Uint8Array | undefined} undefined where the group is not whole
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
      // The next window may start within this group.
      this.#group = { start, bytes: new Uint8Array(group), pairs: table.bytes }
    }
    return this.#group.pairs.subarray(step.post * PAIR_LEN, (step.post + 1) * PAIR_LEN)
  }
}
