// A window of chunks in the arena: their chaining values side by side, then their parents level by level.
// After a reduction, every pair of the window is in the arena and can be copied out.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN } from '../core/constants.js'
import { CHUNK_TABLE, CVS, PAIR_TABLE, STAGE, u32 } from './arena.js'
import { PAIRS_BEFORE, firstOfHeight } from '../tree/geometry.js'
import { kernel } from './kernel/index.js'

/** @import { PairSink } from '../core/types.js' */

const PAIR_WORDS = PAIR_LEN / 4

/** The low and high 32 bits of a chunk index or output block. @param {number} n */
export const low = n => n >>> 0
/** @param {number} n */
export const high = n => Math.floor(n / 2 ** 32)

/**
 * Writes the chaining values of the chunks at INPUT to CVS.
 *
 * @param {number} len  bytes, 1 to WINDOW_LEN; the last chunk may be short
 * @param {number} chunkIndex  the chunk index of the first
 * @param {number} flags  the flags of the mode
 * @returns {number} how many chunks there are
 */
export function hashChunks (len, chunkIndex, flags) {
  const chunks = Math.ceil(len / CHUNK_LEN)
  hashChunkTable(CHUNK_TABLE, chunks, len - (chunks - 1) * CHUNK_LEN, chunkIndex, flags)
  return chunks
}

/**
 * Writes to CVS the chaining values of the chunks that a table points to.
 *
 * @param {number} table  of pointers to them
 * @param {number} chunks  how many, at least 1
 * @param {number} lastLen  bytes of the last: 1 to 1024
 * @param {number} chunkIndex  the chunk index of the first
 * @param {number} flags  the flags of the mode
 */
export function hashChunkTable (table, chunks, lastLen, chunkIndex, flags) {
  kernel.compressMany(table, chunks, lastLen, flags, low(chunkIndex), high(chunkIndex), CVS)
}

/** Where each level of the last reduction begins, and how many chaining values it has. */
const levelAt = [CVS]
const levelCount = [0]

/**
 * Joins the chaining values at CVS in pairs, level by level. An odd value at the end of a level moves up unchanged.
 * This gives BLAKE3's tree, in which all left subtrees are perfect.
 *
 * @param {number} count  the number of chaining values at CVS, at least 1
 * @param {number} flags  the flags of the mode
 * @param {number} [downTo]  the reduction stops when this many values or fewer are left
 * @returns {number} the level at which the reduction stopped; 0 is that of the chunks
 */
export function reduce (count, flags, downTo = 2) {
  kernel.reduce(count, flags, downTo)
  let level = 0
  levelCount[0] = count
  while (levelCount[level] > downTo) {
    const pairs = Math.ceil(levelCount[level] / 2) // the last one may be half a pair
    levelAt[level + 1] = levelAt[level] + pairs * PAIR_LEN
    levelCount[++level] = pairs
  }
  return level
}

/**
 * Returns where the chaining values of a level are in the arena, until the next reduction.
 *
 * @param {number} level  the level of the last reduction
 * @returns {{ at: number, count: number }}
 */
export const cvsOf = level => ({ at: levelAt[level], count: levelCount[level] })

/**
 * Copies all pairs below one chaining value of the last reduction. In both orders, these pairs are adjacent. The call
 * overwrites STAGE.
 *
 * @param {number} level  the level of the chaining value
 * @param {number} index  the index of the chaining value in its level
 * @param {number} groupLog  pairs below this level are left out
 * @param {'pre' | 'post'} order
 * @param {Uint32Array} words  written
 * @param {number} at  where the first pair goes, in words
 * @returns {number} where the last pair ends, in words
 */
export function copyPairs (level, index, groupLog, order, words, at) {
  if (level <= groupLog) return at
  if ((index + 1) * 2 ** level <= levelCount[0]) return copyPerfect(level, index, groupLog, order, words, at)
  const below = level - 1
  const left = 2 * index
  if (left + 1 === levelCount[below]) return copyPairs(below, left, groupLog, order, words, at)
  const pairAt = levelAt[below] + left * HASH_LEN
  if (order === 'pre') at = copyPair(pairAt, words, at)
  at = copyPairs(below, left, groupLog, order, words, at)
  at = copyPairs(below, left + 1, groupLog, order, words, at)
  return order === 'pre' ? at : copyPair(pairAt, words, at)
}

/**
 * Does the work of `copyPairs` for a perfect subtree. The places of its pairs follow from the index, so the kernel
 * gathers them for one copy.
 *
 * @type {typeof copyPairs}
 */
function copyPerfect (level, index, groupLog, order, words, at) {
  const depth = level - groupLog
  const pairs = (1 << depth) - 1
  for (let height = 1; height <= depth; height++) {
    const count = 1 << (depth - height)
    const first = PAIR_TABLE / 4 + firstOfHeight(height, depth, order)
    const from = levelAt[groupLog + height - 1] + index * count * PAIR_LEN
    for (let i = 0; i < count; i++) u32[first + PAIRS_BEFORE[i << height]] = from + i * PAIR_LEN
  }
  kernel.gather(PAIR_TABLE, pairs, PAIR_LEN, STAGE)
  words.set(u32.subarray(STAGE / 4, STAGE / 4 + pairs * PAIR_WORDS), at)
  return at + pairs * PAIR_WORDS
}

/**
 * Copies one pair.
 *
 * @param {number} from  where it is in the arena, in bytes
 * @param {Uint32Array} words  written
 * @param {number} at  words
 * @returns {number} where the pair ends, in words
 */
export function copyPair (from, words, at) {
  for (let i = 0; i < PAIR_WORDS; i++) words[at + i] = u32[from / 4 + i]
  return at + PAIR_WORDS
}

/**
 * Passes the pairs below one chaining value of the last reduction to a sink, in post-order.
 *
 * @param {number} level  the level of the chaining value
 * @param {number} index  the index of the chaining value in its level
 * @param {number} chunkIndex  where the window starts
 * @param {number} groupLog  pairs below this level are left out
 * @param {PairSink['pair']} sink
 */
export function emitPairs (level, index, chunkIndex, groupLog, sink) {
  if (level <= groupLog) return
  const below = level - 1
  const left = 2 * index
  emitPairs(below, left, chunkIndex, groupLog, sink)
  if (left + 1 < levelCount[below]) {
    emitPairs(below, left + 1, chunkIndex, groupLog, sink)
    sink(chunkIndex + (left + 1) * 2 ** below - 1, levelAt[below] + left * HASH_LEN)
  }
}
