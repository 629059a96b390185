// Cutting a slice: which pairs and which bytes go on the wire, window by window. It says what it needs and never reads.
// Source: Bao spec, "Slice Format"; with chunk groups, as in bao-tree.

import { CHUNK_LEN, PAIR_LEN } from './constants.js'
import { ENTER, LEAF, Walk } from './walk.js'
import { TreeBuilder } from './builder.js'
import { PairList } from './pairs.js'
import { overflows } from './arena.js'
import { readUpTo } from './source.js'
import { parentMismatch, truncated } from './errors.js'

/** @import { ChunkRanges } from './ranges.js' */
/** @import { BaoError } from './errors.js' */
/** @import { Mode, PairSource, RandomAccess, SliceOutboard } from './types.js' */

/** @typedef {{ start: number, end: number }} Span  bytes of the blob, half-open */
/** @typedef {{ size: number, groupLog: number, ranges: ChunkRanges, mode: Mode }} SliceOf */

/**
 * The windows of a slice, without its header. Where the source ends too early, what stands before is given and then the fault is thrown.
 *
 * @param {RandomAccess} source
 * @param {SliceOutboard} outboard
 * @param {SliceOf} what
 */
export async function * cut (source, outboard, what) {
  const slicer = new Slicer(what, outboard)
  while (slicer.plan()) {
    await outboard.prepare?.(slicer.nodes)
    const bytes = []
    for (const { start, end } of slicer.spans) bytes.push(await readUpTo(source, start, end))
    yield slicer.emit(bytes)
    if (slicer.fault) throw slicer.fault
  }
}

/**
 * The same from bytes that are at hand.
 *
 * @param {Uint8Array} source
 * @param {PairSource} outboard
 * @param {SliceOf} what
 */
export function * cutSync (source, outboard, what) {
  const slicer = new Slicer(what, outboard)
  while (slicer.plan()) {
    yield slicer.emit(slicer.spans.map(({ start, end }) => source.subarray(start, end)))
    if (slicer.fault) throw slicer.fault
  }
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
  /** Does the walk ahead stand at a step that did not fit? */
  #isHeld = false
  /** Steps and bytes of the window in hand. */
  #steps = 0
  #len = 0
  /** The group that was last looked at, when it is wanted in part: where it starts, its bytes, its pairs in post-order. */
  #group = { start: -1, bytes: new Uint8Array(0), pairs: new Uint8Array(0) }

  /** What the next `emit` needs: bytes of the blob, increasing and apart; and the parents whose pairs are in the outboard. */
  spans = /** @type {Span[]} */ ([])
  nodes = /** @type {number[]} */ ([])
  /** Bytes or a pair were not there: the last window ends where they should be. @type {BaoError | undefined} */
  fault

  /** @param {SliceOf} what @param {PairSource} pairs */
  constructor ({ size, groupLog, ranges, mode }, pairs) {
    this.#ahead = new Walk(size, groupLog, ranges)
    this.#behind = new Walk(size, groupLog, ranges)
    this.#groupLen = CHUNK_LEN * 2 ** groupLog
    this.#size = size
    this.#mode = mode
    this.#pairs = pairs
  }

  /** Looks ahead over the next window. @returns {boolean} false when everything has been written */
  plan () {
    const step = this.#ahead
    this.spans = []
    this.nodes = []
    this.#steps = 0
    this.#len = 0
    let chunks = 0
    while (this.#isHeld || step.next()) {
      this.#isHeld = false
      const len = step.kind === ENTER ? PAIR_LEN : step.len
      if (step.kind === LEAF) chunks += Math.ceil(len / CHUNK_LEN)
      if (this.#steps > 0 && overflows(this.#len + len, chunks)) {
        this.#isHeld = true
        break
      }
      if (step.kind === ENTER && step.isStored) this.nodes.push(step.node)
      else this.#need(this.#groupOf(step.start))
      this.#steps++
      this.#len += len
    }
    return this.#steps > 0
  }

  /**
   * Writes the planned window.
   *
   * @param {Uint8Array[]} bytes  of each of `spans`; fewer than asked for are a fault
   * @returns {Uint8Array<ArrayBuffer>} fresh
   */
  emit (bytes) {
    const out = new Uint8Array(this.#len)
    let at = 0
    const step = this.#behind
    for (let steps = this.#steps; steps > 0 && step.next();) {
      steps--
      if (step.kind === ENTER && step.isStored) {
        if (!this.#pairs.copyPair(step, out, at)) {
          this.fault = parentMismatch(step.node)
          return out.subarray(0, at)
        }
        at += PAIR_LEN
        continue
      }
      const part = step.kind === LEAF ? this.#bytesOf(bytes, step.start, step.len) : this.#pairInGroup(bytes, step)
      out.set(part, at)
      at += part.length
      if (this.fault) return out.subarray(0, at)
    }
    return out
  }

  /** @param {number} start  any byte of the group @returns {Span} */
  #groupOf (start) {
    const from = Math.floor(start / this.#groupLen) * this.#groupLen
    return { start: from, end: Math.min(from + this.#groupLen, this.#size) }
  }

  /** @param {Span} span  at or behind the ones before */
  #need ({ start, end }) {
    if (start === this.#group.start) return
    const last = this.spans.at(-1)
    if (last === undefined || last.end < start) this.spans.push({ start, end })
    else last.end = Math.max(last.end, end)
  }

  /** @param {Uint8Array[]} bytes @param {number} start @param {number} len */
  #bytesOf (bytes, start, len) {
    const i = this.spans.findIndex(span => span.start <= start && start + len <= span.end)
    const [from, all] = i < 0 ? [this.#group.start, this.#group.bytes] : [this.spans[i].start, bytes[i]]
    const part = all.subarray(start - from, start - from + len)
    if (part.length < len) this.fault = truncated({ start, wanted: len, got: part.length })
    return part
  }

  /** @param {Uint8Array[]} bytes @param {Walk} step  a parent below the group level */
  #pairInGroup (bytes, step) {
    const { start, end } = this.#groupOf(step.start)
    if (start !== this.#group.start) {
      const group = this.#bytesOf(bytes, start, end - start)
      if (this.fault) return NOTHING
      const list = new PairList(group.length, 0)
      const tree = new TreeBuilder(this.#mode, { startChunk: start / CHUNK_LEN, sink: list.push })
      tree.update(group)
      tree.cv()
      // The next window may start within this group.
      this.#group = { start, bytes: new Uint8Array(group), pairs: list.bytes }
    }
    return this.#group.pairs.subarray(step.post * PAIR_LEN, (step.post + 1) * PAIR_LEN)
  }
}

const NOTHING = new Uint8Array(0)
