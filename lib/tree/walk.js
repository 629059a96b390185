// Walks the tree in pre-order. Every user of the tree gets the same steps, and handles the kinds that it needs: cutting
// and verifying a slice need ENTER and LEAF; work from the leaves up needs LEAVE. This module does not read any bytes.

import { CHUNK_LEN, DEFAULT_GROUP_LOG, MAX_DEPTH, MAX_GROUP_LOG } from '../core/constants.js'
import { assertInteger, describe } from '../core/bytes.js'
import { assertKnownOptions } from '../core/options.js'
import { chunkCount, levelOf, levelOver, placeOf } from './geometry.js'
import { ChunkRanges } from './ranges.js'

/** @import { Step, WalkStep } from '../core/types.js' */

/** The walk reaches a parent whose subtree has wanted bytes. */
export const ENTER = 'enter'
/** The walk reaches wanted bytes that are encoded without pairs between them: a chunk group, or a part of one. */
export const LEAF = 'leaf'
/** The walk has visited everything below a parent. Without the option `withLeave`, it leaves this step out. */
export const LEAVE = 'leave'
/**
 * The walk reaches a perfect subtree of several leaves that is wanted whole, and does not enter it. See `setSubtrees`.
 */
export const SUBTREE = 'subtree'

/** The values of 2^level, because computing them takes longer than looking them up. */
const POWERS = Array.from({ length: MAX_DEPTH }, (_, level) => 2 ** level)

const MIN_SUBTREE_CHUNKS = 16

const WALK_OPTIONS = ['withLeave']

/** How many numbers the stack has for each subtree that is still to be walked. The last of them has the flags. */
const FIELDS = 5
const TO_LEAVE = 1
/** Everything in the subtree is wanted. */
const IS_WHOLE = 2
/**
 * The parents in the subtree are below the group level. They are counted as if the group had an outboard of its own.
 */
const IS_IN_GROUP = 4

/**
 * A pre-order walk over the wanted part of a tree. `next` moves it to the next step, and its fields describe the
 * current step. So even a walk of millions of steps allocates no objects.
 */
export class Walk {
  /** @type {typeof ENTER | typeof LEAF | typeof LEAVE | typeof SUBTREE} */
  kind = ENTER
  /** In-order number of a parent. */
  node = 0
  /** For a parent, the binary logarithm of the number of chunks under its left child; for a leaf, -1. */
  level = -1
  /** Where the bytes below the node begin in the blob, and how many they are. */
  start = 0
  len = 0
  /** True for the topmost node of the blob. */
  isRoot = true
  /** True if the parent's pair is in the outboard. Pairs below the group level are not. */
  isStored = false
  /**
   * The place of the parent's pair in an outboard in pre-order, and in one in post-order. Below the group level, these
   * are the outboards that the group would have if it were a tree of its own with pairs down to the chunks. For a leaf,
   * `pre` is the number of pairs before it. For a subtree that is not entered, both are the places of its topmost
   * parent.
   */
  pre = -1
  post = -1
  /** True if the walk visits the left child of a parent, and if it visits the right child. */
  hasLeft = false
  hasRight = false

  #size
  #chunks
  #groupChunks
  #withLeave
  #subtreeChunks = 0
  #ranges
  /**
   * Subtrees that are still to be walked, the next one on top. For each: its first chunk, the chunk after its last, the
   * number of pairs before it in post-order, the number of parents above it in the outboard that has its parents,
   * flags. This is a single array, because several would have to grow one by one.
   */
  #stack = /** @type {number[]} */ ([])
  #top = 0

  /**
   * @param {number} size  bytes
   * @param {number} groupLog  0 to 16
   * @param {ChunkRanges} [ranges]  the wanted chunks, canonical or not
   * @param {{ withLeave?: boolean }} [options]  `withLeave`: true to get LEAVE steps, too
   */
  constructor (size, groupLog, ranges = ChunkRanges.all, options = undefined) {
    assertKnownOptions(options, WALK_OPTIONS)
    assertInteger('size', size)
    assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
    if (!(ranges instanceof ChunkRanges)) throw new TypeError(`"ranges" expected ChunkRanges, got ${describe(ranges)}`)
    this.#size = size
    this.#groupChunks = 2 ** groupLog
    this.#withLeave = options?.withLeave ?? false
    this.#ranges = ranges.canonical(size)
    this.#chunks = chunkCount(size)
    if (!this.#ranges.isEmpty) this.#push(0, this.#chunks, 0, 0, 0)
  }

  /** Moves to the next step. @returns {boolean} false when there is none */
  next () {
    if (this.#top === 0) return false
    const stack = this.#stack
    const top = this.#top -= FIELDS
    const start = stack[top]
    const end = stack[top + 1]
    const flags = stack[top + 4]
    const chunks = end - start
    const isWhole = (flags & IS_WHOLE) !== 0 || this.#ranges.contains(start, end)
    this.start = start * CHUNK_LEN
    this.len = Math.min(end * CHUNK_LEN, this.#size) - this.start
    this.isRoot = chunks === this.#chunks

    const isLeaf = chunks === 1 || (isWhole && chunks <= this.#groupChunks)
    if (isLeaf || (isWhole && chunks <= this.#subtreeChunks && this.#isWorthwhile(chunks))) {
      this.kind = isLeaf ? LEAF : SUBTREE
      this.level = this.node = -1
      this.pre = stack[top + 2] + stack[top + 3]
      this.post = isLeaf ? -1 : stack[top + 2] + chunks / this.#groupChunks - 2
      this.isStored = this.hasLeft = this.hasRight = false
      return true
    }

    const level = levelOver(chunks)
    const onLeft = POWERS[level]
    const middle = start + onLeft
    const isStored = chunks > this.#groupChunks
    // A group that is wanted in part is walked as a tree of its own.
    const isTopOfGroup = !isStored && (flags & IS_IN_GROUP) === 0
    const unit = isStored ? this.#groupChunks : 1
    const before = isTopOfGroup ? 0 : stack[top + 2]
    const above = isTopOfGroup ? 0 : stack[top + 3]
    this.node = middle - 1
    this.level = level
    this.isStored = isStored
    this.pre = before + above
    this.post = before + Math.ceil(chunks / unit) - 2
    this.hasLeft = isWhole || this.#ranges.intersects(start, middle)
    this.hasRight = isWhole || this.#ranges.intersects(middle, end)

    if (flags & TO_LEAVE) {
      this.kind = LEAVE
      return true
    }
    this.kind = ENTER
    const below = (isWhole ? IS_WHOLE : 0) | (isStored ? 0 : IS_IN_GROUP)
    if (this.#withLeave) {
      this.#push(start, end, stack[top + 2], stack[top + 3], flags | (isWhole ? IS_WHOLE : 0) | TO_LEAVE)
    }
    if (this.hasRight) this.#push(middle, end, before + onLeft / unit - 1, above + 1, below)
    if (this.hasLeft) this.#push(start, middle, before, above + 1, below)
    return true
  }

  /** From now on, subtrees of up to `chunks` chunks are SUBTREE steps. @param {number} chunks */
  setSubtrees (chunks) { this.#subtreeChunks = chunks }

  /** Enters the subtree of a SUBTREE step, which the next step would pass over. */
  lookInside () {
    this.#top += FIELDS
    this.#subtreeChunks = this.len / CHUNK_LEN / 2
    this.next()
  }

  /**
   * True if a subtree is perfect, is not the whole tree, and is large enough to fill the lanes of the kernel.
   *
   * @param {number} chunks
   */
  #isWorthwhile (chunks) {
    const isPerfect = (chunks & (chunks - 1)) === 0 && this.len === chunks * CHUNK_LEN
    return chunks >= MIN_SUBTREE_CHUNKS && isPerfect && !this.isRoot
  }

  /** @param {number} start @param {number} end @param {number} before @param {number} above @param {number} flags */
  #push (start, end, before, above, flags) {
    const stack = this.#stack
    const top = this.#top
    this.#top += FIELDS
    stack[top] = start
    stack[top + 1] = end
    stack[top + 2] = before
    stack[top + 3] = above
    stack[top + 4] = flags
  }
}

/**
 * Yields the steps of a walk as plain objects. For many steps, a `Walk` is quicker.
 *
 * @param {number} size  bytes
 * @param {number} [groupLog]  0 to 16
 * @param {ChunkRanges} [ranges]  the wanted chunks
 * @returns {Generator<WalkStep>}
 */
export function walk (size, groupLog = DEFAULT_GROUP_LOG, ranges = ChunkRanges.all) {
  return stepsOf(new Walk(size, groupLog, ranges, { withLeave: true }))
}

/** @param {Walk} steps @returns {Generator<WalkStep>} */
function * stepsOf (steps) {
  while (steps.next()) yield /** @type {WalkStep} */ ({ ...steps })
}

/** The first byte below a parent. @param {number} node */
export const startOf = node => (node + 1 - 2 ** levelOf(node)) * CHUNK_LEN

/** The end of the bytes below a parent. @param {number} node @param {number} size */
export const endOf = (node, size) => Math.min(size, (node + 1 + 2 ** levelOf(node)) * CHUNK_LEN)

/**
 * The step with which a walk would enter a parent.
 *
 * @param {number} node @param {number} size @param {number} groupLog @param {boolean} hasLeft @param {boolean} hasRight
 * @returns {Step}
 */
export function parentStep (node, size, groupLog, hasLeft, hasRight) {
  const place = placeOf(node, size, groupLog)
  if (place === undefined) {
    throw new Error(`parent ${node} is not in the outboard of ${size} bytes at group log ${groupLog}`)
  }
  const start = startOf(node)
  const len = endOf(node, size) - start
  const isRoot = len === size
  return { kind: 'enter', node, level: levelOf(node), start, len, isRoot, isStored: true, ...place, hasLeft, hasRight }
}
