// Writes and checks the encodings of perfect subtrees that are wanted whole. All of them have the same shape, so a walk
// is unnecessary: places follow from the index of a leaf. A subtree is hashed like a blob, first all chunks and then
// level by level. Then the computed pairs are compared with the sent ones.

import { CHUNK_LEN, PAIR_LEN } from '../core/constants.js'
import { OUT, PAIR_TABLE, TABLE, u32 } from '../engine/arena.js'
import { PAIRS_BEFORE, firstOfHeight } from '../tree/geometry.js'
import { cvsOf, hashChunkTable, reduce } from '../engine/window.js'
import { parentStep } from '../tree/walk.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { Step } from '../core/types.js' */

/**
 * @typedef {object} Subtree
 * @property {number} start  its offset in the blob: a multiple of `len`
 * @property {number} len  bytes: a power of two
 * @property {number} leafLen  bytes of each leaf: a power of two
 */

/** For parents whose children are both wanted. */
const WHOLE = { hasLeft: true, hasRight: true }

/** The length of a subtree's encoding in bytes. @param {number} len  bytes of the subtree @param {number} leafLen */
export const encodedLen = (len, leafLen) => len + (len / leafLen - 1) * PAIR_LEN

/**
 * Visits the steps of a subtree in the order of its encoding.
 *
 * @param {Subtree} subtree
 * @param {(node: number, at: number) => void} onPair  `at`: bytes from the start of the encoding
 * @param {(start: number, at: number, len: number) => void} onLeaf
 */
export function forEachStep ({ start, len, leafLen }, onPair, onLeaf) {
  const leaves = len / leafLen
  const depth = Math.log2(leaves)
  for (let leaf = 0; leaf < leaves; leaf++) {
    const at = leafAt(leaf, depth, leafLen)
    const firstChunk = (start + leaf * leafLen) / CHUNK_LEN
    for (let level = levelsStartingAt(leaf, depth) - 1; level >= 0; level--) {
      const chunksOnLeft = leafLen / CHUNK_LEN * 2 ** level
      onPair(firstChunk + chunksOnLeft - 1, at - (level + 1) * PAIR_LEN)
    }
    onLeaf(start + leaf * leafLen, at, leafLen)
  }
}

/**
 * Visits the steps of a subtree that a walk did not enter. Ends when a visitor returns false.
 *
 * @param {Step} subtree
 * @param {number} leafLen
 * @param {(parent: Step) => boolean} onPair  always gets the same object
 * @param {(start: number, len: number) => boolean} onLeaf
 * @returns {boolean} false if a visitor has returned false
 */
export function visitSteps ({ start, len, pre, post }, leafLen, onPair, onLeaf) {
  const leaves = len / leafLen
  const depth = Math.log2(leaves)
  const leafLog = Math.log2(leafLen / CHUNK_LEN)
  const firstPost = post + 2 - leaves
  /** @type {Step} */
  const parent = { kind: 'enter', node: 0, level: 0, start, len, isRoot: false, isStored: true, pre, post, ...WHOLE }
  for (let leaf = 0; leaf < leaves; leaf++) {
    parent.start = start + leaf * leafLen
    for (let level = levelsStartingAt(leaf, depth) - 1; level >= 0; level--) {
      parent.len = leafLen * 2 ** (level + 1)
      parent.node = (parent.start + parent.len / 2) / CHUNK_LEN - 1
      parent.level = leafLog + level
      parent.post = firstPost + PAIRS_BEFORE[leaf] + 2 ** (level + 1) - 2
      if (!onPair(parent)) return false
      parent.pre++
    }
    if (!onLeaf(parent.start, leafLen)) return false
  }
  return true
}

/**
 * Visits the parents of a perfect subtree in pre-order. Their places in outboards follow from the place of the topmost
 * parent.
 *
 * @param {Subtree} subtree @param {number} size @param {number} groupLog
 * @param {(step: Step) => void} visit  always gets the same object
 */
export function forEachParent ({ start, len, leafLen }, size, groupLog, visit) {
  const step = parentStep((start + len / 2) / CHUNK_LEN - 1, size, groupLog, true, true)
  let { pre, post } = step
  post -= len / leafLen - 2

  /**
   * @param {number} from  bytes
   * @param {number} below  bytes
   * @param {number} level
   * @param {number} before  pairs in post-order
   */
  const descend = (from, below, level, before) => {
    const half = below / 2
    step.node = (from + half) / CHUNK_LEN - 1
    step.level = level
    step.start = from
    step.len = below
    step.pre = pre++
    step.post = before + below / leafLen - 2
    visit(step)
    if (half === leafLen) return
    descend(from, half, level - 1, before)
    descend(from + half, half, level - 1, before + half / leafLen - 1)
  }
  descend(start, len, step.level, post)
}

/**
 * Hashes the bytes of an encoding, and compares the pairs in it. Callers must have entered the mode.
 *
 * @param {Subtree} subtree
 * @param {number} at  where its encoding is in the arena
 * @param {number} flags  the flags of the mode
 * @returns {number | undefined} where the chaining value of the subtree is in the arena; undefined if a pair does not
 *   follow from the bytes
 */
export function hashEncoding ({ start, len, leafLen }, at, flags) {
  const leaves = len / leafLen
  const depth = Math.log2(leaves)
  const chunkIndex = start / CHUNK_LEN
  const chunks = len / CHUNK_LEN
  let entry = TABLE / 4
  for (let leaf = 0; leaf < leaves; leaf++) {
    const leafStart = at + leafAt(leaf, depth, leafLen)
    for (let done = 0; done < leafLen; done += CHUNK_LEN) u32[entry++] = leafStart + done
  }
  hashChunkTable(TABLE, chunks, CHUNK_LEN, chunkIndex, flags)
  const top = reduce(chunks, flags, 1)
  // The pairs are in the order of the levels, and in each level from left to right.
  entry = PAIR_TABLE / 4
  for (let height = 1; height <= depth; height++) {
    for (let leaf = 0; leaf < leaves; leaf += 1 << height) {
      u32[entry++] = at + leafAt(leaf, depth, leafLen) - height * PAIR_LEN
    }
  }
  if (leaves > 1 && !areSame(PAIR_TABLE, leaves - 1, cvsOf(top - depth).at)) return undefined
  return cvsOf(top).at
}

/**
 * Writes the encoding of a subtree whose chaining values have just been reduced.
 *
 * @param {Subtree} subtree
 * @param {number} bytesAt  where its bytes are in the arena
 * @param {number} level  the level of its chaining value in the last reduction
 * @param {number} index  the index of its chaining value in that level
 * @param {number} out  where the encoding goes in the arena
 */
export function encodeReduced ({ len, leafLen }, bytesAt, level, index, out) {
  const depth = Math.log2(len / leafLen)
  putLeaves(len, leafLen, bytesAt, out)
  for (let height = 1; height <= depth; height++) {
    const count = 1 << (depth - height)
    for (let i = 0; i < count; i++) u32[TABLE / 4 + i] = out + leafAt(i << height, depth, leafLen) - height * PAIR_LEN
    kernel.scatter(TABLE, count, PAIR_LEN, cvsOf(level - depth + height - 1).at + index * count * PAIR_LEN)
  }
}

/**
 * Writes the encoding of a subtree whose pairs are in the arena.
 *
 * @param {Subtree} subtree
 * @param {number} bytesAt  where its bytes are in the arena
 * @param {number} pairsAt  where its pairs are in the arena
 * @param {'pre' | 'post'} order  the order of the pairs
 * @param {number} out  where the encoding goes in the arena
 */
export function encodeWithPairs (subtree, bytesAt, pairsAt, order, out) {
  putLeaves(subtree.len, subtree.leafLen, bytesAt, out)
  placePairs(subtree, pairsAt, order, out)
}

/**
 * Copies the pairs of a subtree to their places in its encoding.
 *
 * @param {Subtree} subtree
 * @param {number} pairsAt  where they are in the arena
 * @param {'pre' | 'post'} order  the order of the pairs
 * @param {number} out  where the encoding is in the arena
 */
export function placePairs ({ len, leafLen }, pairsAt, order, out) {
  const leaves = len / leafLen
  const depth = Math.log2(leaves)
  for (let height = 1; height <= depth; height++) {
    const first = TABLE / 4 + firstOfHeight(height, depth, order)
    for (let leaf = 0; leaf < leaves; leaf += 1 << height) {
      u32[first + PAIRS_BEFORE[leaf]] = out + leafAt(leaf, depth, leafLen) - height * PAIR_LEN
    }
  }
  kernel.scatter(TABLE, leaves - 1, PAIR_LEN, pairsAt)
}

/**
 * Copies leaves to their places.
 *
 * @param {number} len  the length of the subtree
 * @param {number} leafLen @param {number} bytesAt @param {number} out
 */
function putLeaves (len, leafLen, bytesAt, out) {
  const leaves = len / leafLen
  const depth = Math.log2(leaves)
  for (let leaf = 0; leaf < leaves; leaf++) u32[TABLE / 4 + leaf] = out + leafAt(leaf, depth, leafLen)
  kernel.scatter(TABLE, leaves, leafLen, bytesAt)
}

/**
 * The offset of a leaf. All leaves and pairs to its left, and the parents above it, come before it.
 *
 * @param {number} leaf @param {number} depth @param {number} leafLen
 */
const leafAt = (leaf, depth, leafLen) => leaf * leafLen + PAIR_LEN * (PAIRS_BEFORE[leaf] + depth)

/** The number of parents whose first leaf this is. @param {number} leaf @param {number} depth */
const levelsStartingAt = (leaf, depth) => leaf === 0 ? depth : Math.min(depth, 31 - Math.clz32(leaf & -leaf))

/**
 * True if the pairs at a place are the same as those to which the table points.
 *
 * @param {number} table @param {number} count @param {number} at
 */
function areSame (table, count, at) {
  kernel.compare(table, count, PAIR_LEN, at)
  return (u32[OUT / 4] | u32[OUT / 4 + 1] | u32[OUT / 4 + 2] | u32[OUT / 4 + 3]) === 0
}
