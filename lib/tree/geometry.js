// The shape of the tree in numbers, without any bytes. Sources: BLAKE3 paper 2.1; Bao spec, "Slice Format". Parents are
// numbered in-order over the chunks: if the complete subtree of a parent starts at chunk c and spans 2^(level+1)
// chunks, the parent has the number c + 2^level - 1. The numbers do not depend on the size of the blob.

import { CHUNK_LEN, DEFAULT_GROUP_LOG, MAX_GROUP_LOG, PAIR_LEN } from '../core/constants.js'
import { assertInteger } from '../core/bytes.js'

/**
 * The number of chunks of a blob. The empty blob has one empty chunk.
 *
 * @param {number} size  bytes
 */
export function chunkCount (size) {
  assertInteger('size', size)
  return Math.max(1, Math.ceil(size / CHUNK_LEN))
}

/**
 * The number of chunk groups of a blob. The empty blob has one empty group.
 *
 * @param {number} size  bytes
 * @param {number} [groupLog]  0 to 16: a group is 2^groupLog chunks
 */
export function groupCount (size, groupLog = DEFAULT_GROUP_LOG) {
  assertInteger('size', size)
  assertInteger('groupLog', groupLog, 0, MAX_GROUP_LOG)
  return Math.max(1, Math.ceil(size / (CHUNK_LEN * 2 ** groupLog)))
}

/**
 * The length of an outboard in bytes: it has a pair for every parent of more than one chunk group.
 *
 * @param {number} size  bytes
 * @param {number} [groupLog]  0 to 16
 */
export function outboardLen (size, groupLog = DEFAULT_GROUP_LOG) {
  return PAIR_LEN * (groupCount(size, groupLog) - 1)
}

/**
 * The number of bytes under the left child of a parent.
 *
 * @param {number} len  bytes under the parent: more than one chunk
 */
export function leftLen (len) {
  assertInteger('len', len, CHUNK_LEN + 1)
  return CHUNK_LEN * leftChunks(Math.ceil(len / CHUNK_LEN))
}

/**
 * The maximum length of a subtree that starts at an offset, in bytes. A subtree is shorter only at the end of its blob.
 *
 * @param {number} offset  bytes, whole chunks
 * @returns {number} bytes; Infinity at offset 0
 */
export function maxSubtreeLen (offset) {
  assertInteger('offset', offset)
  if (offset % CHUNK_LEN !== 0) throw new RangeError(`"offset" expected a multiple of ${CHUNK_LEN}, got ${offset}`)
  if (offset === 0) return Infinity
  let len = CHUNK_LEN
  while (offset % (2 * len) === 0) len *= 2
  return len
}

/**
 * The level of the parent over this many chunks. Its left child has 2^level chunks.
 *
 * @param {number} chunks  at least 2
 */
export const levelOver = chunks => chunks <= 2 ** 32
  ? 31 - Math.clz32(chunks - 1)
  : 63 - Math.clz32((chunks - 1) / 2 ** 32)

/**
 * The number of chunks under the left child of a parent.
 *
 * @param {number} chunks  under the parent: at least 2
 */
export const leftChunks = chunks => chunks <= 2 ** 31
  ? 1 << (31 - Math.clz32(chunks - 1)) // many times quicker than computing a power
  : 2 ** levelOver(chunks)

/**
 * The level of a parent: 0 over two chunks.
 *
 * @param {number} node  in-order number
 */
export function levelOf (node) {
  const middle = node + 1
  return middle % 2 ** 32 === 0 ? 32 + lowestBit(middle / 2 ** 32) : lowestBit(middle)
}

/** The index of the lowest set bit. @param {number} n  has a set bit among its lowest 32 bits */
const lowestBit = n => 31 - Math.clz32(n & -n)

/**
 * Finds a parent's pair in the outboards of a blob in pre-order and post-order.
 *
 * @param {number} node  in-order number
 * @param {number} size  bytes
 * @param {number} groupLog  0 to 16
 * @returns {{ pre: number, post: number } | undefined} indices of pairs; undefined if the outboard does not have this
 *   parent
 */
export function placeOf (node, size, groupLog) {
  const group = 2 ** groupLog
  let start = 0
  let end = chunkCount(size)
  let before = 0
  for (let above = 0; end - start > group; above++) {
    const middle = start + leftChunks(end - start)
    if (node === middle - 1) return { pre: before + above, post: before + Math.ceil((end - start) / group) - 2 }
    if (node < middle) {
      end = middle
    } else {
      before += (middle - start) / group - 1
      start = middle
    }
  }
  return undefined
}

/**
 * Yields the parents whose pairs are in a part of an outboard in pre-order. It skips whole subtrees before the part.
 *
 * @param {number} size  bytes of the blob
 * @param {number} groupLog  0 to 16
 * @param {number} from  index of the first pair
 * @param {number} to  index after the last pair
 * @returns {Generator<number>} in-order numbers
 */
export function * nodesInPreOrder (size, groupLog, from, to) {
  const group = 2 ** groupLog
  const subtrees = [[0, chunkCount(size)]]
  for (let at = 0; at < to;) {
    const [start, end] = subtrees.pop() ?? [0, 0]
    if (end === 0) return
    const pairs = Math.ceil((end - start) / group) - 1
    if (pairs === 0 || at + pairs <= from) {
      at += pairs
      continue
    }
    const middle = start + leftChunks(end - start)
    if (at >= from) yield middle - 1
    at++
    subtrees.push([middle, end], [start, middle])
  }
}

/**
 * The number of pairs before a leaf in pre-order: the pairs above the leaf, and all pairs to its left.
 *
 * @param {number} chunk  in the leaf
 * @param {number} size  bytes of the blob
 * @param {number} groupLog  0 to 16
 * @returns {number}
 */
export function pairsBeforeLeaf (chunk, size, groupLog) {
  const group = 2 ** groupLog
  let start = 0
  let end = chunkCount(size)
  let above = 0
  for (; end - start > group; above++) {
    const middle = start + leftChunks(end - start)
    if (chunk < middle) {
      end = middle
    } else {
      above += (middle - start) / group - 1
      start = middle
    }
  }
  return above
}

/**
 * The number of parents in a perfect subtree that have only leaves to the left of a given leaf.
 *
 * @param {number} leaf  the index of the leaf in the subtree
 * @returns {number}
 */
const pairsBefore = leaf => leaf === 0 ? 0 : (leaf >> 1) + pairsBefore(leaf >> 1)
/** The results of `pairsBefore` for all leaves that a window can have. */
export const PAIRS_BEFORE = Array.from({ length: 256 }, (_, leaf) => pairsBefore(leaf))

/**
 * The index of the leftmost parent of a height among the parents of a perfect subtree. In pre-order, the parents above
 * it come before it; in post-order, the parents below it. For another parent of this height, add the value of
 * `PAIRS_BEFORE` for the first leaf under that parent.
 *
 * @param {number} height  at least 1
 * @param {number} depth  levels of parents
 * @param {'pre' | 'post'} order
 */
export const firstOfHeight = (height, depth, order) => order === 'pre' ? depth - height : (1 << height) - 2
