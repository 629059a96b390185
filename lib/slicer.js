// Cutting a slice: which pairs and which bytes go on the wire, window by window. `Slicer` says what it needs and never reads; the two
// loops around it do.
// Source: Bao spec, "Slice Format"; with chunk groups, as in bao-tree.

import { CHUNK_LEN, PAIR_LEN } from './constants.js'
import { ENTER, LEAF, Walk } from './walk.js'
import { TreeBuilder } from './builder.js'
import { PairList } from './pairs.js'
import { Windows } from './windows.js'
import { readUpTo, untilAborted } from './reading.js'
import { truncated } from './errors.js'

/** @import { ChunkRanges } from './ranges.js' */
/** @import { BaoError } from './errors.js' */
/** @import { Mode, PairSource, RandomAccess, SliceOutboard } from './types.js' */

/** Bytes of groups that are read for one window, unless one group is larger. */
const MAX_NEEDED = 1 << 21
const NOTHING = new Uint8Array(0)

/** @typedef {{ start: number, end: number }} Span  bytes of the blob, half-open */
/** @typedef {{ size: number, groupLog: number, ranges: ChunkRanges, mode: Mode }} SliceOf */

/**
 * The windows of a slice, without its header. Where the source ends too early, what stands before is given and then the fault is thrown.
 *
 * @param {RandomAccess} source
 * @param {SliceOutboard} outboard
 * @param {SliceOf} what
 * @param {AbortSignal} [signal]
 */
export async function * cut (source, outboard, what, signal) {
  const slicer = new Slicer(what, outboard)
  while (slicer.plan()) {
    await untilAborted(outboard.prepare?.(slicer.nodes), signal)
    const bytes = []
    for (const { start, end } of slicer.spans) bytes.push(await readUpTo(source, start, end, signal))
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
  /** The group that was last looked at, when it is wanted in part: where it starts, its bytes, its pairs in post-order. */
  #group = { start: -1, bytes: new Uint8Array(0), pairs: new Uint8Array(0) }

  /** What the next `emit` needs: bytes of the blob, increasing and apart; and the parents whose pairs are in the outboard. */
  spans = /** @type {Span[]} */ ([])
  nodes = /** @type {number[]} */ ([])
  /** Bytes or a pair were not there: the last window ends where they should be. @type {BaoError | undefined} */
  fault

  /** @param {SliceOf} what @param {PairSource} pairs */
  constructor ({ size, groupLog, ranges, mode }, pairs) {
    this.#ahead = new Windows(new Walk(size, groupLog, ranges), groupLog)
    this.#behind = new Walk(size, groupLog, ranges)
    this.#groupLen = CHUNK_LEN * 2 ** groupLog
    this.#size = size
    this.#mode = mode
    this.#pairs = pairs
  }

  /** Looks ahead over the next window. @returns {boolean} false when everything has been written */
  plan () {
    const windows = this.#ahead
    const { step } = windows
    this.spans = []
    this.nodes = []
    let needed = 0
    windows.begin()
    while (windows.next()) {
      if (step.kind === ENTER && step.isStored) {
        this.nodes.push(step.node)
        continue
      }
      const group = this.#groupOf(step.start)
      const extra = this.#extra(group)
      // Who wants a little of many groups gets them in many windows: memory does not follow what was asked for.
      if (windows.count > 1 && extra > 0 && needed + extra > MAX_NEEDED) {
        windows.putBack()
        break
      }
      needed += extra
      if (extra > 0) this.#need(group)
    }
    return windows.count > 0
  }

  /**
   * Writes the planned window.
   *
   * @param {Uint8Array[]} bytes  of each of `spans`; fewer than asked for are a fault
   * @returns {Uint8Array<ArrayBuffer>} fresh
   */
  emit (bytes) {
    const out = new Uint8Array(this.#ahead.len)
    let at = 0
    const step = this.#behind
    for (let steps = this.#ahead.count; steps > 0 && step.next(); steps--) {
      if (step.kind === ENTER && step.isStored) {
        if (!this.#pairs.copyPair(step, out, at)) {
          this.fault = truncated({ node: step.node, wanted: PAIR_LEN, got: 0 })
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
