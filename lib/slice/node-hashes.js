// Hashes the parents and leaves of a batch side by side, wherever they are in the arena. Nothing is believed yet,
// because the value of a parent is computed from the sent pair, and that of a leaf from the sent bytes.

import { CHUNK_END, CHUNK_LEN, HASH_LEN, PAIR_LEN, PARENT, ROOT } from '../core/constants.js'
import { KEY, LEAF_CVS, OUT, PAIR_CVS, TABLE, u32, u8 } from '../engine/arena.js'
import { IS_LEAF, IS_PARENT } from './batches.js'
import { cvsOf, hashChunkTable, reduce } from '../engine/window.js'
import { kernel } from '../engine/kernel/index.js'

/** @import { Batch } from './batches.js' */

/**
 * @typedef {object} Steps  of a batch, whose bytes are in the arena
 * @property {Batch} batch
 * @property {number} from  the index of the first step
 * @property {number} to  the index after the last step
 * @property {number} at  where the first step is in the arena
 * @property {number} flags  the flags of the mode
 * @property {boolean} hasRoot  true if the first step is the root
 */

/** Writes the chaining values of parents to PAIR_CVS, one after the other. @param {Steps} steps */
export function hashPairs ({ batch, from, to, at, flags, hasRoot }) {
  let pairs = 0
  for (let i = from, pairAt = at; i < to; pairAt += batch.lens[i++]) {
    if (batch.kinds[i] & IS_PARENT) u32[TABLE / 4 + pairs++] = pairAt
  }
  if (pairs === 0) return
  kernel.compressMany(TABLE, pairs, PAIR_LEN, flags | PARENT, 0, 0, PAIR_CVS)
  if (!hasRoot) return
  kernel.compressBlock(KEY, at, PAIR_LEN, flags | PARENT | ROOT, 0, 0, OUT)
  u8.copyWithin(PAIR_CVS, OUT, OUT + HASH_LEN)
}

/**
 * Writes the chaining values of leaves to LEAF_CVS, one after the other. Adjacent leaves of the same length, a power of
 * two of chunks, are reduced together.
 *
 * @param {Steps} steps
 */
export function hashLeaves ({ batch, from, to, at, flags, hasRoot }) {
  let leaves = 0
  for (let i = from; i < to;) {
    if (batch.kinds[i] !== IS_LEAF) {
      at += batch.lens[i++]
      continue
    }
    const [first, start, len] = [i, batch.places[i], batch.lens[i]]
    const isPerfect = Number.isInteger(Math.log2(len / CHUNK_LEN))
    let count = 0
    let chunks = 0
    for (; i < to; at += batch.lens[i++]) {
      if (batch.kinds[i] & IS_PARENT) continue
      const isAlike = isPerfect && batch.kinds[i] === IS_LEAF && batch.lens[i] === len
      if (i !== first && !(isAlike && batch.places[i] === start + count * len)) break
      for (let done = 0; done < len; done += CHUNK_LEN) u32[TABLE / 4 + chunks++] = at + done
      count++
    }
    const out = LEAF_CVS + leaves * HASH_LEN
    if (hasRoot && first === from) hashRootLeaf(len, chunks, at - len, flags, out)
    else hashAlike(count, len, start / CHUNK_LEN, chunks, flags, out)
    leaves += count
  }
}

/**
 * Hashes adjacent leaves of the same length.
 *
 * @param {number} count  leaves
 * @param {number} len  bytes of each leaf
 * @param {number} chunkIndex  the chunk index of the first
 * @param {number} chunks  of all leaves, at the pointers in TABLE
 * @param {number} flags
 * @param {number} out
 */
function hashAlike (count, len, chunkIndex, chunks, flags, out) {
  hashChunkTable(TABLE, chunks, lastChunkLen(len), chunkIndex, flags)
  const { at } = cvsOf(reduce(chunks, flags, count))
  u8.copyWithin(out, at, at + count * HASH_LEN)
}

/**
 * Hashes a blob that is a single leaf.
 *
 * @param {number} len @param {number} chunks @param {number} at @param {number} flags
 * @param {number} out
 */
function hashRootLeaf (len, chunks, at, flags, out) {
  if (len <= CHUNK_LEN) return kernel.compressChunk(at, len, flags, CHUNK_END | ROOT, 0, 0, out)
  hashChunkTable(TABLE, chunks, lastChunkLen(len), 0, flags)
  kernel.compressBlock(KEY, cvsOf(reduce(chunks, flags)).at, PAIR_LEN, flags | PARENT | ROOT, 0, 0, OUT)
  u8.copyWithin(out, OUT, OUT + HASH_LEN)
}

/** @param {number} len  the length of a leaf, at least 1 */
const lastChunkLen = len => (len - 1) % CHUNK_LEN + 1
