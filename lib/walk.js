// The walk: every use of the tree goes over the same steps, in pre-order, and reads the kinds it needs. Numbers in, numbers out.
// Cutting a slice and verifying one read ENTER and LEAF; who works from the leaves up may want LEAVE.

import { CHUNK_LEN, DEFAULT_GROUP_LOG, MAX_DEPTH, MAX_GROUP_LOG } from './constants.js'
import { assertInteger, describe } from './bytes.js'
import { chunkCount, levelOver } from './tree.js'
import { ChunkRanges } from './ranges.js'

/** @import { Step } from './types.js' */

/** A walk comes to a parent whose subtree holds something wanted. */
export const ENTER = 'enter'
/** A walk comes to wanted bytes that travel in one piece: a chunk group, or a part of one. */
export const LEAF = 'leaf'
/** A walk has been through everything below a parent. Only where it was asked to tell. */
export const LEAVE = 'leave'
/** A walk comes to a perfect subtree of several leaves that is wanted whole, and does not look inside. Only where it was asked not to. */
export const SUBTREE = 'subtree'

/** 2^level, which is slower to compute than to look up. */
const POWERS = Array.from({ length: MAX_DEPTH }, (_, level) => 2 ** level)

const MIN_SUBTREE_CHUNKS = 16
const TO_ENTER = 0
const TO_LEAVE = 1

/**
 * A pre-order walk over the wanted part of a tree. It is its own current step: `next` moves it, and its fields tell what is there.
 * Walks of millions of steps make no garbage.
 */
export class Walk {
  /** @type {typeof ENTER | typeof LEAF | typeof LEAVE | typeof SUBTREE} */
  kind = ENTER
  /** In-order number of a parent. */
  node = 0
  /** Of a parent: the binary logarithm of the chunks on its left. Of a leaf: -1. */
  level = -1
  /** The bytes below: start, length. */
  start = 0
  len = 0
  /** Is this the topmost node of the blob? */
  isRoot = true
  /** Is the parent's pair in the outboard? Below the group level it is not. */
  isStored = false
  /**
   * Place of the parent's pair in a pre-order and in a post-order outboard. Below the group level: in those that the group would have
   * if it were a tree of its own with pairs down to the chunks. Of a leaf, `pre` is the number of pairs that stand before it; of a subtree that
   * is not looked into, both are those of its topmost parent.
   */
  pre = -1
  post = -1
  /** Does the walk go on to the left child of a parent, and to the right one? */
  hasLeft = false
  hasRight = false

  #size
  #chunks
  #groupChunks
  #comesBack
  #subtreeChunks
  #ranges
  /** Subtrees still to be walked, the next on top. */
  #depth = 0
  #todo = /** @type {number[]} */ ([])
  #startChunks = /** @type {number[]} */ ([])
  #endChunks = /** @type {number[]} */ ([])
  /** Pairs that stand before a subtree in post-order, and parents above it, in the outboard that its parents are in. */
  #pairsBefore = /** @type {number[]} */ ([])
  #parentsAbove = /** @type {number[]} */ ([])
  /** Is that the blob's outboard, or one of a group's own? */
  #isInGroup = /** @type {boolean[]} */ ([])
  /** Is everything in the subtree wanted? */
  #isWhole = /** @type {boolean[]} */ ([])

  /**
   * @param {number} size  bytes
   * @param {number} groupLog  0 to 16
   * @param {ChunkRanges} [ranges]  what is wanted, canonical or not
   * @param {{ comesBack?: boolean, subtrees?: number }} [options]  `comesBack`: with LEAVE steps; `subtrees`: with SUBTREE steps for
   *   subtrees of up to so many chunks
   */
  constructor (size, groupLog, ranges = ChunkRanges.all, { comesBack = false, subtrees = 0 } = {}) {
    assertInteger('size', size)
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    if (!(ranges instanceof ChunkRanges)) throw new TypeError(`"ranges" expected ChunkRanges, got ${describe(ranges)}`)
    this.#size = size
    this.#groupChunks = 2 ** groupLog
    this.#comesBack = comesBack
    this.#subtreeChunks = subtrees
    this.#ranges = ranges.canonical(size)
    this.#chunks = chunkCount(size)
    if (!this.#ranges.isEmpty) this.#push(TO_ENTER, 0, this.#chunks, 0, 0, false, false)
  }

  /** Moves to the next step. @returns {boolean} false when there is none */
  next () {
    if (this.#depth === 0) return false
    const top = --this.#depth
    const start = this.#startChunks[top]
    const end = this.#endChunks[top]
    const chunks = end - start
    const isWhole = this.#isWhole[top] || this.#ranges.contains(start, end)
    this.start = start * CHUNK_LEN
    this.len = Math.min(end * CHUNK_LEN, this.#size) - this.start
    this.isRoot = chunks === this.#chunks

    const isLeaf = chunks === 1 || (isWhole && chunks <= this.#groupChunks)
    if (isLeaf || (isWhole && chunks <= this.#subtreeChunks && this.#isWorthwhile(chunks))) {
      this.kind = isLeaf ? LEAF : SUBTREE
      this.level = this.node = -1
      this.pre = this.#pairsBefore[top] + this.#parentsAbove[top]
      this.post = isLeaf ? -1 : this.#pairsBefore[top] + chunks / this.#groupChunks - 2
      this.isStored = this.hasLeft = this.hasRight = false
      return true
    }

    const level = levelOver(chunks)
    const onLeft = POWERS[level]
    const middle = start + onLeft
    const isStored = chunks > this.#groupChunks
    // A group that is wanted in part is walked as a tree of its own.
    const isTopOfGroup = !isStored && !this.#isInGroup[top]
    const unit = isStored ? this.#groupChunks : 1
    const before = isTopOfGroup ? 0 : this.#pairsBefore[top]
    const above = isTopOfGroup ? 0 : this.#parentsAbove[top]
    this.node = middle - 1
    this.level = level
    this.isStored = isStored
    this.pre = before + above
    this.post = before + Math.ceil(chunks / unit) - 2
    this.hasLeft = isWhole || this.#ranges.intersects(start, middle)
    this.hasRight = isWhole || this.#ranges.intersects(middle, end)

    if (this.#todo[top] === TO_LEAVE) {
      this.kind = LEAVE
      return true
    }
    this.kind = ENTER
    if (this.#comesBack) this.#push(TO_LEAVE, start, end, this.#pairsBefore[top], this.#parentsAbove[top], this.#isInGroup[top], isWhole)
    if (this.hasRight) this.#push(TO_ENTER, middle, end, before + onLeft / unit - 1, above + 1, !isStored, isWhole)
    if (this.hasLeft) this.#push(TO_ENTER, start, middle, before, above + 1, !isStored, isWhole)
    return true
  }

  /** Smaller subtrees would leave lanes empty; others have no fixed shape; the root is not like other nodes. @param {number} chunks */
  #isWorthwhile (chunks) {
    return chunks >= MIN_SUBTREE_CHUNKS && (chunks & (chunks - 1)) === 0 && this.len === chunks * CHUNK_LEN && !this.isRoot
  }

  /**
   * @param {number} todo @param {number} start @param {number} end @param {number} before @param {number} above
   * @param {boolean} isInGroup @param {boolean} isWhole
   */
  #push (todo, start, end, before, above, isInGroup, isWhole) {
    const top = this.#depth++
    this.#todo[top] = todo
    this.#startChunks[top] = start
    this.#endChunks[top] = end
    this.#pairsBefore[top] = before
    this.#parentsAbove[top] = above
    this.#isInGroup[top] = isInGroup
    this.#isWhole[top] = isWhole
  }
}

/**
 * The steps of a walk, as plain objects. For many steps, a `Walk` is quicker.
 *
 * @param {number} size  bytes
 * @param {number} [groupLog]  0 to 16
 * @param {ChunkRanges} [ranges]  what is wanted
 * @returns {Generator<Step>}
 */
export function * walk (size, groupLog = DEFAULT_GROUP_LOG, ranges = ChunkRanges.all) {
  const steps = new Walk(size, groupLog, ranges, { comesBack: true })
  while (steps.next()) yield { ...steps }
}
