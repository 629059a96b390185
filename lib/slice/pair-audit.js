// Audits only the pairs of an outboard: finds the chunks that these pairs can prove. It never reads bytes of the blob.

import { HASH_LEN, PAIR_LEN, PARENT, ROOT } from '../core/constants.js'
import { ENTER, Walk } from '../tree/walk.js'
import { INPUT, KEY, OUT, PAIR_CVS, TABLE, u32, u8 } from '../engine/arena.js'
import { Findings } from './audit.js'
import { HAS_LEFT, HAS_RIGHT, IS_LEAF, kindOf } from './batches.js'
import { ExpectedCvs } from './expected-cvs.js'
import { enter } from '../engine/mode.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { AuditJob } from './audit.js' */
/** @import { PairSource } from '../core/types.js' */

/**
 * The maximum number of pairs, and of leaves, in a batch. Many more would fit into the arena, but remote outboards
 * should get small requests.
 */
const BATCH_PAIRS = 1024
const BATCH_LEAVES = 1024

export class PairAudit {
  #job
  #pairs
  #findings = new Findings()
  #expected
  /** One walk looks ahead, and the other one follows it. */
  #ahead
  #behind
  #isAtRoot = true
  #steps = 0
  #end = 0
  #memory = new Uint8Array(BATCH_PAIRS * PAIR_LEN)

  /** The parents whose pairs the next `check` copies. */
  nodes = /** @type {number[]} */ ([])

  /** @param {AuditJob} job @param {PairSource} pairs */
  constructor (job, pairs) {
    this.#job = job
    this.#pairs = pairs
    this.#expected = new ExpectedCvs(job.root)
    this.#ahead = walkOf(job)
    this.#behind = walkOf(job)
  }

  /** The byte offset in the blob at which the batch ends. */
  get end () { return this.#end }

  /** The chunks whose pairs the audit has found right so far. */
  get valid () { return this.#findings.ranges }

  /** Plans the next batch. @returns {boolean} false at the end */
  plan () {
    const step = this.#ahead
    this.nodes = []
    let leaves = 0
    this.#steps = 0
    while (this.nodes.length < BATCH_PAIRS && leaves < BATCH_LEAVES && step.next()) {
      this.#steps++
      if (step.kind !== ENTER) {
        leaves++
        this.#end = step.start + step.len
      } else if (!this.#findings.isLost(step.start)) this.nodes.push(step.node)
    }
    return this.#steps > 0
  }

  /** Finds the correct pairs of the batch. */
  check () {
    const steps = this.#fetch()
    const flags = enter(this.#job.mode) | PARENT
    u8.set(this.#memory.subarray(0, this.nodes.length * PAIR_LEN), INPUT)
    this.#hash(flags)
    let pair = 0
    for (const { kind, start, len, isMissing } of steps) {
      if (kind === IS_LEAF) {
        if (!this.#findings.isLost(start)) this.#takeLeaf(start, len)
        continue
      }
      if (!this.#findings.isLost(start)) this.#takePair(pair, kind, start + len, isMissing)
      pair++
    }
    if (this.#findings.isFar(this.#end)) this.#restart()
  }

  #fetch () {
    const step = this.#behind
    const found = []
    let at = 0
    for (let steps = this.#steps; steps > 0 && step.next(); steps--) {
      const { start, len } = step
      if (this.#findings.isLost(start)) continue
      if (step.kind !== ENTER) {
        found.push({ kind: IS_LEAF, start, len, isMissing: false })
        continue
      }
      const isMissing = !this.#pairs.copyPair(step, this.#memory, at)
      found.push({ kind: kindOf(step), start, len, isMissing })
      at += PAIR_LEN
    }
    return found
  }

  /** @param {number} flags */
  #hash (flags) {
    const count = this.nodes.length
    if (count === 0) return
    for (let i = 0; i < count; i++) u32[TABLE / 4 + i] = INPUT + i * PAIR_LEN
    kernel.compressMany(TABLE, count, PAIR_LEN, flags, 0, 0, PAIR_CVS)
    if (!this.#isAtRoot) return
    kernel.compressBlock(KEY, INPUT, PAIR_LEN, flags | ROOT, 0, 0, OUT)
    u8.copyWithin(PAIR_CVS, OUT, OUT + HASH_LEN)
    this.#isAtRoot = false
  }

  /** @param {number} start @param {number} len */
  #takeLeaf (start, len) {
    this.#expected.drop()
    this.#findings.add(start, len)
  }

  /**
   * @param {number} pair  its place in the batch
   * @param {number} kind
   * @param {number} end  the end of the bytes below
   * @param {boolean} isMissing
   */
  #takePair (pair, kind, end, isMissing) {
    const isRight = this.#expected.isNext(PAIR_CVS + pair * HASH_LEN) && !isMissing
    this.#expected.drop()
    if (!isRight) {
      this.#findings.lostTo = end
      return
    }
    const at = INPUT + pair * PAIR_LEN
    if (kind & HAS_RIGHT) this.#expected.push(at + HASH_LEN)
    if (kind & HAS_LEFT) this.#expected.push(at)
  }

  /** Begins a new walk after the lost part. */
  #restart () {
    const rest = { ...this.#job, ranges: this.#findings.takeRest(this.#job.ranges) }
    this.#ahead = walkOf(rest)
    this.#behind = walkOf(rest)
    this.#expected = new ExpectedCvs(rest.root)
    this.#isAtRoot = true
  }
}

/** @param {AuditJob} job */
const walkOf = ({ size, groupLog, ranges }) => new Walk(size, groupLog, ranges)
