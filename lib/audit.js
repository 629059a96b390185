// An audit: which leaves of a blob are right, and can be proven with the pairs at hand. It says what it needs and never reads.
//
// It lays a window out as its encoding would be, so everything is hashed as for a slice: side by side, before any of it is believed. Unlike
// the checker it goes on after a fault: what is below a wrong parent is lost, and nothing else. Semantics as bao-tree's `valid_ranges`.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from './constants.js'
import { HAS_LEFT, HAS_RIGHT, IS_LEAF, IS_PARENT, IS_SUBTREE, Plan } from './plan.js'
import { INPUT, INPUT_LEN, LEAF_CVS, PAIR_CVS, WINDOW_CHUNKS, u8 } from './arena.js'
import { Findings } from './findings.js'
import { Promised } from './promised.js'
import { TreeBuilder } from './builder.js'
import { Walk } from './walk.js'
import { enter } from './mode.js'
import { forEachStep, hashEncoded } from './perfect.js'
import { hashLeaves, hashPairs } from './wide.js'
import { levelOf, placeOf } from './tree.js'

/** @import { ChunkRanges } from './ranges.js' */
/** @import { Mode, PairSource, Step } from './types.js' */

/** @typedef {{ start: number, end: number }} Span  bytes of the blob, half-open */
/** @typedef {{ root: Uint8Array, size: number, groupLog: number, ranges: ChunkRanges, mode: Mode }} AuditOf  `ranges`: whole groups, canonical */

export class Audit {
  #what
  #pairs
  #plan
  #promised
  #findings = new Findings()
  /** Is the next step the root? */
  #isAtRoot = true
  /** Where the window ends in the blob. */
  #end = 0
  /** The window's pairs, one after the other, and what could not be had. */
  #memory = new Uint8Array(0)
  #missingNodes = /** @type {Set<number>} */ (new Set())
  #missingLeaves = /** @type {Set<number>} */ (new Set())

  /** What the next `check` needs: bytes of the blob, increasing and apart; and the parents whose pairs are copied. */
  spans = /** @type {Span[]} */ ([])
  nodes = /** @type {number[]} */ ([])
  /** Of a leaf that does not fit into the arena, and comes in pieces: its tree. @type {TreeBuilder | undefined} */
  large

  /** @param {AuditOf} what @param {PairSource} pairs */
  constructor (what, pairs) {
    this.#what = what
    this.#pairs = pairs
    this.#promised = new Promised(what.root)
    this.#plan = planOf(what)
  }

  /** Bytes from the start of the blob to the end of the window. */
  get end () { return this.#end }

  /** The chunks that were found right so far. */
  get valid () { return this.#findings.ranges }

  /** Looks ahead over the next window of which not everything is lost. @returns {boolean} false when there is none */
  plan () {
    while (this.#plan.count > 0) {
      this.spans = []
      this.nodes = []
      this.#look()
      if (this.spans.length > 0 || this.nodes.length > 0) {
        const [len] = this.#plan.lens
        this.large = len > INPUT_LEN ? new TreeBuilder(this.#what.mode, { startChunk: this.#plan.places[0] / CHUNK_LEN }) : undefined
        return true
      }
      this.#goOn()
    }
    return false
  }

  /**
   * Says which leaves of the window are right.
   *
   * @param {Uint8Array[]} bytes  of each of `spans`, unless the window is `large`; fewer than asked for are missing
   */
  check (bytes) {
    if (this.large === undefined) this.#checkWindow(bytes)
    else this.#checkLarge(this.large)
    this.#missingNodes.clear()
    this.#missingLeaves.clear()
    this.#goOn()
  }

  /** To the next window; where much is lost, by a new walk that begins behind it. */
  #goOn () {
    if (!this.#findings.isFar(this.#end)) return this.#plan.fill()
    const { root, ranges } = this.#what
    this.#plan = planOf({ ...this.#what, ranges: this.#findings.restOf(ranges) })
    this.#promised = new Promised(root)
    this.#isAtRoot = true
  }

  #look () {
    const { kinds, places, spans } = this.#plan
    for (let i = 0; i < kinds.length; i++) {
      if (kinds[i] & IS_PARENT) {
        if (!this.#isLost(i)) this.nodes.push(places[i])
        continue
      }
      const end = this.#end = places[i] + spans[i]
      if (this.#isLost(i)) continue
      if (kinds[i] === IS_SUBTREE) forEachStep(this.#plan.subtreeAt(i), node => this.nodes.push(node), () => {})
      const last = this.spans.at(-1)
      if (last?.end === places[i]) last.end = end
      else this.spans.push({ start: places[i], end })
    }
  }

  /** @param {number} step */
  #isLost (step) {
    const place = this.#plan.places[step]
    return this.#findings.isLost(this.#plan.kinds[step] & IS_PARENT ? startOf(place) : place)
  }

  /** @param {Uint8Array[]} bytes */
  #checkWindow (bytes) {
    this.#fetch()
    enter(this.#what.mode)
    this.#layOut(bytes)
    this.#hash(0, INPUT)
    this.#compare()
    this.#isAtRoot = false
  }

  /** Whoever keeps the pairs may hash meanwhile: the arena is not touched yet. */
  #fetch () {
    const { size, groupLog } = this.#what
    const { kinds, places } = this.#plan
    if (this.#memory.length < this.#plan.count * PAIR_LEN + this.nodes.length * PAIR_LEN) this.#memory = new Uint8Array(2 * PAIR_LEN * (this.#plan.count + this.nodes.length))
    let at = 0
    /** @param {Step} step */
    const fetch = step => {
      if (!this.#pairs.copyPair(step, this.#memory, at)) this.#missingNodes.add(step.node)
      at += PAIR_LEN
    }
    for (let i = 0; i < kinds.length; i++) {
      if (kinds[i] === IS_LEAF) continue
      if (this.#isLost(i)) {
        if (kinds[i] & IS_PARENT) at += PAIR_LEN
      } else if (kinds[i] & IS_PARENT) {
        fetch(parentStep(places[i], size, groupLog, (kinds[i] & HAS_LEFT) > 0, (kinds[i] & HAS_RIGHT) > 0))
      } else {
        forEachParent(this.#plan.subtreeAt(i), size, groupLog, fetch)
      }
    }
  }

  /** Brings pairs and bytes to INPUT, as they stand in an encoding. What is lost keeps its place. @param {Uint8Array[]} bytes */
  #layOut (bytes) {
    const { kinds, places, spans, lens } = this.#plan
    let from = 0
    let span = 0
    let to = INPUT
    /** @param {number} at */
    const pair = at => {
      for (let i = 0; i < PAIR_LEN; i++) u8[at + i] = this.#memory[from + i]
      from += PAIR_LEN
    }
    /** @param {number} start @param {number} at @param {number} len */
    const leaf = (start, at, len) => {
      while (this.spans[span].end <= start) span++
      const offset = start - this.spans[span].start
      const part = bytes[span].subarray(offset, offset + len)
      u8.set(part, at)
      if (part.length < len) this.#missingLeaves.add(start)
    }
    for (let i = 0; i < kinds.length; to += lens[i++]) {
      if (kinds[i] & IS_PARENT) pair(to)
      else if (this.#isLost(i)) continue
      else if (kinds[i] === IS_LEAF) leaf(places[i], to, spans[i])
      else forEachStep(this.#plan.subtreeAt(i), (_node, at) => pair(to + at), (start, at, len) => leaf(start, to + at, len))
    }
  }

  /** Chaining values of all but subtrees. @param {number} from  step, and those behind it @param {number} at  in the arena */
  #hash (from, at) {
    const stretch = { plan: this.#plan, from, to: this.#plan.count, at, flags: this.#what.mode.flags, hasRoot: from === 0 && this.#isAtRoot }
    hashPairs(stretch)
    hashLeaves(stretch)
  }

  #compare () {
    const { kinds, places, spans, lens } = this.#plan
    let pairCv = PAIR_CVS
    let leafCv = LEAF_CVS
    for (let i = 0, at = INPUT; i < kinds.length; at += lens[i++]) {
      if (kinds[i] === IS_SUBTREE && !this.#isLost(i) && !this.#isSubtreeRight(i, at)) {
        // Taken apart, it and what follows are looked at step by step.
        this.#plan.expand(i)
        this.#hash(i, at)
        pairCv = PAIR_CVS
        leafCv = LEAF_CVS
      }
      const isLost = this.#isLost(i)
      if (!isLost && kinds[i] & IS_PARENT) this.#takeParent(i, pairCv, at)
      else if (!isLost && kinds[i] === IS_SUBTREE) this.#take(places[i], spans[i], true)
      else if (!isLost) this.#take(places[i], spans[i], this.#promised.isNext(leafCv) && !this.#missingLeaves.has(places[i]))
      if (kinds[i] & IS_PARENT) pairCv += HASH_LEN
      else if (kinds[i] === IS_LEAF) leafCv += HASH_LEN
    }
  }

  /** @param {number} step @param {number} at */
  #isSubtreeRight (step, at) {
    if (this.#missingNodes.size + this.#missingLeaves.size > 0) return false
    const cv = hashEncoded(this.#plan.subtreeAt(step), at, this.#what.mode.flags)
    return cv !== undefined && this.#promised.isNext(cv)
  }

  /** @param {number} start @param {number} len @param {boolean} isRight */
  #take (start, len, isRight) {
    this.#promised.drop()
    if (isRight) this.#findings.add(start, len)
  }

  /** @param {number} step @param {number} cv @param {number} at  where in the arena its pair stands */
  #takeParent (step, cv, at) {
    const node = this.#plan.places[step]
    const kind = this.#plan.kinds[step]
    const isRight = this.#promised.isNext(cv) && !this.#missingNodes.has(node)
    this.#promised.drop()
    if (!isRight) {
      this.#findings.lostTo = endOf(node, this.#what.size)
      return
    }
    if (kind & HAS_RIGHT) this.#promised.push(at + HASH_LEN)
    if (kind & HAS_LEFT) this.#promised.push(at)
  }

  /** @param {TreeBuilder} tree */
  #checkLarge (tree) {
    const { places: [start], spans: [len] } = this.#plan
    const isWhole = tree.size === len
    u8.set(this.#isAtRoot ? tree.hash() : tree.cv(), LEAF_CVS)
    this.#take(start, len, isWhole && this.#promised.isNext(LEAF_CVS))
    this.#isAtRoot = false
  }
}

/** @param {AuditOf} what */
const planOf = ({ size, groupLog, ranges }) => new Plan(new Walk(size, groupLog, ranges, { subtrees: WINDOW_CHUNKS }), groupLog)

/** Where the bytes below a parent begin. @param {number} node */
const startOf = node => (node + 1 - 2 ** levelOf(node)) * CHUNK_LEN

/** Where they end. @param {number} node @param {number} size */
const endOf = (node, size) => Math.min(size, (node + 1 + 2 ** levelOf(node)) * CHUNK_LEN)

/**
 * A parent as a walk would come to it.
 *
 * @param {number} node @param {number} size @param {number} groupLog @param {boolean} hasLeft @param {boolean} hasRight
 * @returns {Step}
 */
function parentStep (node, size, groupLog, hasLeft, hasRight) {
  const place = placeOf(node, size, groupLog)
  if (place === undefined) throw new Error(`parent ${node} is not in an outboard of ${size} bytes at group log ${groupLog}`)
  const start = startOf(node)
  const len = endOf(node, size) - start
  return { kind: 'enter', node, level: levelOf(node), start, len, isRoot: len === size, isStored: true, ...place, hasLeft, hasRight }
}

/**
 * The parents of a perfect subtree in pre-order. Their places follow from that of the topmost.
 *
 * @param {import('./perfect.js').Subtree} subtree @param {number} size @param {number} groupLog
 * @param {(step: Step) => void} visit  the same step each time
 */
function forEachParent (subtree, size, groupLog, visit) {
  const { start, len, leafLen } = subtree
  const leaves = len / leafLen
  const step = parentStep((start + len / 2) / CHUNK_LEN - 1, size, groupLog, true, true)
  const postBefore = step.post - (leaves - 2)
  let pre = step.pre
  forEachStep(subtree, node => {
    const level = levelOf(node)
    const onLeft = 2 ** level * CHUNK_LEN
    step.node = node
    step.level = level
    step.start = (node + 1) * CHUNK_LEN - onLeft
    step.len = 2 * onLeft
    step.pre = pre++
    // Complete subtrees on its left: one pair less than leaves in each, and there is one for each bit of the leaf's index.
    const leaf = (step.start - start) / leafLen
    step.post = postBefore + leaf - ones(leaf) + step.len / leafLen - 2
    visit(step)
  }, () => {})
}

/** Bits that are set. @param {number} n  below 2^31 */
function ones (n) {
  let count = 0
  for (; n > 0; n &= n - 1) count++
  return count
}
