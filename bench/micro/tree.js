// The tree over windows: many chunks side by side, then their parents level by level, four at a time like the chunks.

import { CHUNK_LEN, HASH_LEN, PAIR_LEN, PARENT, ROOT } from '../../lib/core/constants.js'
import { SCRATCH_LEN, compile, compressMany, compressParent } from './kernel.js'
import { STACK_WORDS, chunkHasher } from './steps/offsets.js'
import { compressOf } from './steps/compress.js'

/** @import { Choices } from './kernel.js' */

const PAGE_LEN = 65536
const LANES = 4

/**
 * @param {object} [options]
 * @param {number} [options.windowChunks]  a power of two
 * @param {number} [options.chunksPerCall]  at least four, a power of two
 * @param {Choices} [options.choices]  for the kernel
 * @returns {Promise<(bytes: Uint8Array) => Uint8Array>}
 */
export async function createHash ({ windowChunks = 128, chunksPerCall = windowChunks, choices } = {}) {
  const windowLen = windowChunks * CHUNK_LEN
  const { memory, CVS, CHUNK_TABLE, PAIR_TABLE, STACK, OUT, INPUT, SCRATCH } = layOut(windowChunks)
  const { exports } = compile(memory, [compressMany(SCRATCH, choices), compressParent])
  const u8 = new Uint8Array(memory.buffer)
  const u32 = new Uint32Array(memory.buffer)
  const block = new Uint32Array(16)
  const compress = await compressOf({ state: 'locals', message: 'locals', isInPlace: true, isUnrolled: true })
  const hashShortChunk = chunkHasher(compress)

  return bytes => {
    if (bytes.length <= CHUNK_LEN) {
      u8.set(bytes, INPUT)
      hashShortChunk(u8, u32, INPUT, bytes.length, 0, ROOT, block, u32, OUT / 4)
      return u8.slice(OUT, OUT + HASH_LEN)
    }
    const windows = Math.ceil(bytes.length / windowLen)
    if (windows === 1) {
      exports.compressParent(reduce(hashChunks(bytes, 0, bytes.length), 2), PARENT | ROOT, OUT)
      return u8.slice(OUT, OUT + HASH_LEN)
    }
    let depth = 0
    for (let index = 0; index < windows; index++) {
      for (let ones = onesIn(index); depth > ones; depth--) join(depth, 0)
      const start = index * windowLen
      const top = reduce(hashChunks(bytes, start, Math.min(windowLen, bytes.length - start)), 1)
      u8.copyWithin(STACK + depth * HASH_LEN, top, top + HASH_LEN)
      depth++
    }
    for (; depth > 1; depth--) join(depth, depth === 2 ? ROOT : 0)
    return u8.slice(STACK, STACK + HASH_LEN)
  }

  /**
   * Chaining values of some chunks, to CVS.
   *
   * @param {Uint8Array} bytes
   * @param {number} start
   * @param {number} len
   * @returns {number} how many
   */
  function hashChunks (bytes, start, len) {
    const first = start / CHUNK_LEN
    const whole = Math.floor(len / CHUNK_LEN)
    const rest = len % CHUNK_LEN
    for (let done = 0; done < whole; done += chunksPerCall) {
      const count = Math.min(chunksPerCall, whole - done)
      const from = start + done * CHUNK_LEN
      u8.set(bytes.subarray(from, from + count * CHUNK_LEN), INPUT)
      exports.compressMany(CHUNK_TABLE, count, 0, first + done, CVS + done * HASH_LEN)
    }
    if (rest === 0) return whole
    u8.set(bytes.subarray(start + len - rest, start + len), INPUT)
    hashShortChunk(u8, u32, INPUT, rest, first + whole, 0, block, u32, (CVS + whole * HASH_LEN) / 4)
    return whole + 1
  }

  /**
   * @param {number} count of chaining values at CVS
   * @param {number} downTo
   * @returns {number} where the last ones are
   */
  function reduce (count, downTo) {
    let at = CVS
    while (count > downTo) {
      const parents = count >> 1
      const above = at + Math.ceil(count / 2) * PAIR_LEN
      exports.compressMany(PAIR_TABLE + (at - CVS) / PAIR_LEN * 4, parents, PARENT, 0, above)
      if (count % 2 === 1) u8.copyWithin(above + parents * HASH_LEN, at + (count - 1) * HASH_LEN, at + count * HASH_LEN)
      at = above
      count = parents + count % 2
    }
    return at
  }

  /** Joins the two on top of the stack. @param {number} depth @param {number} flag */
  function join (depth, flag) {
    const at = STACK + (depth - 2) * HASH_LEN
    exports.compressParent(at, PARENT | flag, at)
  }
}

/** A memory with room for a window, its tables filled. @param {number} windowChunks */
export function layOut (windowChunks) {
  // All levels of a reduction, each rounded up to whole pairs, and room for unused lanes.
  const cvsPairs = windowChunks + 2 * Math.ceil(Math.log2(windowChunks)) + LANES
  let end = 0
  const region = (/** @type {number} */ len) => {
    const at = end
    end = Math.ceil((at + len) / 64) * 64
    return at
  }
  const places = {
    SCRATCH: region(SCRATCH_LEN),
    OUT: region(HASH_LEN),
    STACK: region(4 * STACK_WORDS),
    CHUNK_TABLE: region(4 * (windowChunks + LANES)),
    PAIR_TABLE: region(4 * cvsPairs),
    CVS: region(PAIR_LEN * cvsPairs),
    INPUT: region(windowChunks * CHUNK_LEN)
  }
  const pages = Math.ceil(end / PAGE_LEN)
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
  const u32 = new Uint32Array(memory.buffer)
  for (let i = 0; i < windowChunks + LANES; i++) {
    u32[places.CHUNK_TABLE / 4 + i] = places.INPUT + Math.min(i, windowChunks - 1) * CHUNK_LEN
  }
  for (let i = 0; i < cvsPairs; i++) u32[places.PAIR_TABLE / 4 + i] = places.CVS + i * PAIR_LEN
  return { memory, ...places }
}

/** @param {number} n  below 2^31 */
function onesIn (n) {
  let ones = 0
  for (; n > 0; n &= n - 1) ones++
  return ones
}
