// Audits a blob: finds the leaves that the pairs of its outboard prove to be right. It says which bytes it needs, and
// its callers read them.
//
// Every batch is put into the arena in the form of its encoding, so that it is hashed like a slice: all steps side by
// side, before any of them is believed. Unlike the checker, an audit continues after a fault, because only the subtree
// below a wrong parent is lost. It does what `valid_ranges` of bao-tree does.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../core/constants.js'
import { Batch, HAS_LEFT, HAS_RIGHT, IS_LEAF, IS_PARENT, IS_SUBTREE } from './batches.js'
import { INPUT, INPUT_LEN, LEAF_CVS, PAIR_CVS, TABLE, u32, u8 } from '../engine/arena.js'
import { ExpectedCvs } from './expected-cvs.js'
import { ChunkRanges } from '../tree/ranges.js'
import { TreeBuilder } from '../hash/tree-builder.js'
import { Walk, endOf, parentStep, startOf } from '../tree/walk.js'
import { cvsOf, hashChunkTable, reduce } from '../engine/window.js'
import { enter } from '../engine/mode.js'
import { forEachParent, forEachStep } from './subtree-encoding.js'
import { hashLeaves, hashPairs } from './node-hashes.js'

/** @import { Mode, PairReader, Step } from '../core/types.js' */
/** @import { ByteRange } from '../tree/ranges.js' */

const PAIR_WORDS = PAIR_LEN / 4
/**
 * The maximum number of lost bytes that a walk passes over. If more are lost, a new walk from the root takes less time.
 */
const MAX_WALKED = 128 << 20

/**
 * @typedef {object} AuditJob
 * @property {Uint8Array} root
 * @property {number} size
 * @property {number} groupLog
 * @property {ChunkRanges} ranges  whole groups, canonical
 * @property {Mode} mode
 */

export class Audit {
  #job
  #pairs
  #batch
  #expected
  #findings = new Findings()
  /** True if the next step is the root. */
  #isAtRoot = true
  /** The byte offset in the blob at which the batch ends. */
  #end = 0
  /** The pairs of the batch, one after the other. Below: the parents and leaves of the batch that are missing. */
  #memory = new Uint8Array(INPUT_LEN)
  #words = new Uint32Array(this.#memory.buffer)
  #missingNodes = /** @type {Set<number>} */ (new Set())
  #missingLeaves = /** @type {Set<number>} */ (new Set())

  /**
   * The spans of the blob that the next `check` needs, in increasing order, and the parents whose pairs the check
   * copies.
   */
  spans = /** @type {ByteRange[]} */ ([])
  nodes = /** @type {number[]} */ ([])
  /**
   * The tree of a leaf that does not fit into the arena, so that its bytes arrive in pieces.
   *
   * @type {TreeBuilder | undefined}
   */
  large

  /** @param {AuditJob} job @param {PairReader} pairs */
  constructor (job, pairs) {
    this.#job = job
    this.#pairs = pairs
    this.#expected = new ExpectedCvs(job.root)
    this.#batch = firstBatchOf(job)
  }

  /** How many bytes of the blob are before the end of the batch. */
  get end () { return this.#end }

  /** The chunks that the audit has found right so far. */
  get valid () { return this.#findings.ranges }

  /** Plans the next batch that is not lost as a whole. @returns {boolean} false if there is none */
  plan () {
    while (this.#batch.count > 0) {
      this.spans = []
      this.nodes = []
      this.#collectNeeds()
      if (this.spans.length > 0 || this.nodes.length > 0) {
        const { lens: [len], places: [start] } = this.#batch
        const isLarge = len > INPUT_LEN
        this.large = isLarge ? new TreeBuilder(this.#job.mode, { startChunk: start / CHUNK_LEN }) : undefined
        return true
      }
      this.#advance()
    }
    return false
  }

  /**
   * Finds the right leaves of the batch.
   *
   * @param {Uint8Array[]} bytes  the bytes of each of `spans`, unless the batch is `large`. Fewer bytes than a span has
   *   mean that the rest is missing
   */
  check (bytes) {
    if (this.large === undefined) this.#checkBatch(bytes)
    else this.#checkLarge(this.large)
    this.#missingNodes.clear()
    this.#missingLeaves.clear()
    this.#advance()
  }

  /** Moves to the next batch. If much is lost, a new walk begins after the lost part. */
  #advance () {
    if (!this.#findings.isFar(this.#end)) return this.#batch.fill()
    const { root, ranges } = this.#job
    this.#batch = firstBatchOf({ ...this.#job, ranges: this.#findings.takeRest(ranges) })
    this.#expected = new ExpectedCvs(root)
    this.#isAtRoot = true
  }

  /** Collects the spans and nodes of the batch. */
  #collectNeeds () {
    const { kinds, places, spans } = this.#batch
    for (let i = 0; i < this.#batch.count; i++) {
      if (kinds[i] & IS_PARENT) {
        if (!this.#isLost(i)) this.nodes.push(places[i])
        continue
      }
      const end = this.#end = places[i] + spans[i]
      if (this.#isLost(i)) continue
      if (kinds[i] === IS_SUBTREE && this.#pairs.prepare) {
        forEachStep(this.#batch.subtreeAt(i), node => this.nodes.push(node), () => {})
      }
      const last = this.spans.at(-1)
      if (last?.end === places[i]) last.end = end
      else this.spans.push({ start: places[i], end })
    }
  }

  /** @param {number} step */
  #isLost (step) {
    const place = this.#batch.places[step]
    return this.#findings.isLost(this.#batch.kinds[step] & IS_PARENT ? startOf(place) : place)
  }

  /** @param {Uint8Array[]} bytes */
  #checkBatch (bytes) {
    this.#fetch()
    enter(this.#job.mode)
    this.#layOut(bytes, 0, INPUT, 0)
    this.#hash(0, INPUT)
    this.#compare(bytes)
    this.#isAtRoot = false
  }

  /**
   * Copies the pairs of the batch in their order. During this, the outboard may hash, because the batch is not in the
   * arena yet.
   */
  #fetch () {
    const { size, groupLog } = this.#job
    const { kinds, places } = this.#batch
    let at = 0
    /** @param {Step} step */
    const fetch = step => {
      if (!this.#pairs.copyPair(step, this.#memory, at)) this.#missingNodes.add(step.node)
      at += PAIR_LEN
    }
    for (let i = 0; i < this.#batch.count; i++) {
      if (this.#isLost(i)) at += this.#pairsOf(i) * PAIR_LEN
      else if (kinds[i] & IS_PARENT) fetch(parentStep(places[i], size, groupLog, hasLeft(kinds[i]), hasRight(kinds[i])))
      else if (kinds[i] === IS_SUBTREE) forEachParent(this.#batch.subtreeAt(i), size, groupLog, fetch)
    }
  }

  /**
   * Copies pairs and bytes to the arena in the order of an encoding, except that the bytes of a subtree are next to
   * each other. The space of lost steps stays free.
   *
   * @param {Uint8Array[]} bytes  of `spans`
   * @param {number} from  the first step
   * @param {number} at  in the arena
   * @param {number} pair  place of the next pair in the batch
   */
  #layOut (bytes, from, at, pair) {
    const { kinds, places, spans, lens } = this.#batch
    for (let i = from, span = 0; i < this.#batch.count; pair += this.#pairsOf(i), at += lens[i++]) {
      if (this.#isLost(i)) continue
      if (kinds[i] & IS_PARENT) {
        for (let word = 0; word < PAIR_WORDS; word++) u32[at / 4 + word] = this.#words[pair * PAIR_WORDS + word]
        continue
      }
      while (this.spans[span].end <= places[i]) span++
      const offset = places[i] - this.spans[span].start
      const part = bytes[span].subarray(offset, offset + spans[i])
      u8.set(part, at)
      if (part.length < spans[i]) this.#missingLeaves.add(places[i])
    }
  }

  /** Hashes all steps except subtrees. @param {number} from  the first step @param {number} at  in the arena */
  #hash (from, at) {
    const { flags } = this.#job.mode
    const hasRoot = from === 0 && this.#isAtRoot
    const steps = { batch: this.#batch, from, to: this.#batch.count, at, flags, hasRoot }
    hashPairs(steps)
    hashLeaves(steps)
  }

  /** @param {Uint8Array[]} bytes */
  #compare (bytes) {
    const { kinds, places, spans, lens } = this.#batch
    let pairCv = PAIR_CVS
    let leafCv = LEAF_CVS
    for (let i = 0, at = INPUT, pair = 0; i < this.#batch.count; pair += this.#pairsOf(i), at += lens[i++]) {
      if (kinds[i] === IS_SUBTREE && !this.#isLost(i) && !this.#isSubtreeRight(i, at, pair)) {
        // Replace the subtree with its steps, which are compared one by one.
        this.#batch.expand(i)
        this.#missingLeaves.clear()
        this.#layOut(bytes, i, at, pair)
        this.#hash(i, at)
        pairCv = PAIR_CVS
        leafCv = LEAF_CVS
      }
      if (!this.#isLost(i)) {
        if (kinds[i] & IS_PARENT) this.#takeParent(i, pairCv, at)
        else this.#take(places[i], spans[i], kinds[i] === IS_SUBTREE || this.#isLeafRight(places[i], leafCv))
      }
      if (kinds[i] & IS_PARENT) pairCv += HASH_LEN
      else if (kinds[i] === IS_LEAF) leafCv += HASH_LEN
    }
  }

  /** The number of pairs of a step. @param {number} step */
  #pairsOf (step) {
    const kind = this.#batch.kinds[step]
    if (kind !== IS_SUBTREE) return kind === IS_LEAF ? 0 : 1
    return (this.#batch.lens[step] - this.#batch.spans[step]) / PAIR_LEN
  }

  /**
   * Hashes the bytes of a subtree, and compares its pairs with those computed from the bytes.
   *
   * @param {number} step
   * @param {number} at  where its bytes are in the arena
   * @param {number} pair  place of its first pair
   */
  #isSubtreeRight (step, at, pair) {
    const start = this.#batch.places[step]
    if (this.#missingNodes.size > 0 || this.#missingLeaves.has(start)) return false
    const { groupLog, mode } = this.#job
    const chunks = this.#batch.spans[step] / CHUNK_LEN
    for (let i = 0; i < chunks; i++) u32[TABLE / 4 + i] = at + i * CHUNK_LEN
    hashChunkTable(TABLE, chunks, CHUNK_LEN, start / CHUNK_LEN, mode.flags)
    const top = reduce(chunks, mode.flags, 1)
    const levels = Array.from({ length: top }, (_, level) => cvsOf(level).at / 4)
    const words = this.#words
    let next = pair * PAIR_WORDS

    /**
     * @param {number} level  the level of a parent's children
     * @param {number} index  the index of the parent in its level
     * @returns {boolean}
     */
    const isRight = (level, index) => {
      const cvs = levels[level] + index * PAIR_WORDS
      for (let i = 0; i < PAIR_WORDS; i++) if (u32[cvs + i] !== words[next + i]) return false
      next += PAIR_WORDS
      return level === groupLog || (isRight(level - 1, 2 * index) && isRight(level - 1, 2 * index + 1))
    }
    return isRight(top - 1, 0) && this.#expected.isNext(cvsOf(top).at)
  }

  /** @param {number} start  the start of a leaf @param {number} cv  in the arena */
  #isLeafRight (start, cv) { return this.#expected.isNext(cv) && !this.#missingLeaves.has(start) }

  /** @param {number} start @param {number} len @param {boolean} isRight */
  #take (start, len, isRight) {
    this.#expected.drop()
    if (isRight) this.#findings.add(start, len)
  }

  /** @param {number} step @param {number} cv @param {number} at  where its pair is in the arena */
  #takeParent (step, cv, at) {
    const node = this.#batch.places[step]
    const kind = this.#batch.kinds[step]
    const isRight = this.#expected.isNext(cv) && !this.#missingNodes.has(node)
    this.#expected.drop()
    if (!isRight) {
      this.#findings.lostTo = endOf(node, this.#job.size)
      return
    }
    if (kind & HAS_RIGHT) this.#expected.push(at + HASH_LEN)
    if (kind & HAS_LEFT) this.#expected.push(at)
  }

  /** @param {TreeBuilder} tree */
  #checkLarge (tree) {
    const { places: [start], spans: [len] } = this.#batch
    const isWhole = tree.size === len
    u8.set(this.#isAtRoot ? tree.hash() : tree.cv(), LEAF_CVS)
    this.#take(start, len, isWhole && this.#expected.isNext(LEAF_CVS))
    this.#isAtRoot = false
  }
}

/** Records the bytes that an audit has found right so far, and where the current lost part ends. */
export class Findings {
  #boundaries = /** @type {number[]} */ ([])
  /** From the current step of the walk, everything up to this byte offset is lost. */
  lostTo = 0

  /** @param {number} start  bytes, not before the end of the last addition @param {number} len */
  add (start, len) {
    const from = start / CHUNK_LEN
    const to = Math.ceil((start + len) / CHUNK_LEN)
    if (this.#boundaries.at(-1) === from) this.#boundaries[this.#boundaries.length - 1] = to
    else this.#boundaries.push(from, to)
  }

  /** True if a byte is lost. @param {number} start  its offset */
  isLost (start) { return start < this.lostTo }

  /**
   * True if so much is lost that a new walk after the lost part takes less time.
   *
   * @param {number} at  the byte offset of the walk
   */
  isFar (at) { return this.lostTo - at > MAX_WALKED }

  /** Takes the ranges after the lost part, for a new walk from the root. @param {ChunkRanges} ranges */
  takeRest (ranges) {
    const rest = ranges.difference(new ChunkRanges([0, Math.ceil(this.lostTo / CHUNK_LEN)]))
    this.lostTo = 0
    return rest
  }

  get ranges () { return new ChunkRanges([...this.#boundaries]) }
}

/** @param {number} kind */
const hasLeft = kind => (kind & HAS_LEFT) > 0

/** @param {number} kind */
const hasRight = kind => (kind & HAS_RIGHT) > 0

/** @param {AuditJob} job */
function firstBatchOf ({ size, groupLog, ranges }) {
  const batch = new Batch(new Walk(size, groupLog, ranges), groupLog)
  batch.fill()
  return batch
}
