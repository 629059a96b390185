// The JavaScript kernel: the twin of simd.js over the same memory, for places that refuse WebAssembly.
// The state and the message live in local variables, and the round is written once.
// Source: BLAKE3 paper 2.2. The contract is `Kernel` in types.d.ts.

import { BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, PAIR_LEN, PARENT, SCHEDULE } from '../constants.js'
import { BLOCK, CV, CVS, CVS_TABLE, KEY, OUT, u32, u8 } from '../arena.js'

/** @import { Kernel } from '../types.js' */

const ROUNDS = SCHEDULE.length
const [IV0, IV1, IV2, IV3] = IV

/**
 * All parameters but the lengths, counters and flags are word indices into the arena. Writes 16 words when `whole`, else 8.
 *
 * @param {number} cv @param {number} block @param {number} len bytes @param {number} flags
 * @param {number} counterLo @param {number} counterHi @param {number} out @param {boolean} whole
 */
function compress (cv, block, len, flags, counterLo, counterHi, out, whole) {
  let m0 = u32[block] | 0; let m1 = u32[block + 1] | 0; let m2 = u32[block + 2] | 0; let m3 = u32[block + 3] | 0
  let m4 = u32[block + 4] | 0; let m5 = u32[block + 5] | 0; let m6 = u32[block + 6] | 0; let m7 = u32[block + 7] | 0
  let m8 = u32[block + 8] | 0; let m9 = u32[block + 9] | 0; let m10 = u32[block + 10] | 0; let m11 = u32[block + 11] | 0
  let m12 = u32[block + 12] | 0; let m13 = u32[block + 13] | 0; let m14 = u32[block + 14] | 0; let m15 = u32[block + 15] | 0

  let s0 = u32[cv] | 0; let s1 = u32[cv + 1] | 0; let s2 = u32[cv + 2] | 0; let s3 = u32[cv + 3] | 0
  let s4 = u32[cv + 4] | 0; let s5 = u32[cv + 5] | 0; let s6 = u32[cv + 6] | 0; let s7 = u32[cv + 7] | 0
  let s8 = IV0 | 0; let s9 = IV1 | 0; let s10 = IV2 | 0; let s11 = IV3 | 0
  let s12 = counterLo | 0; let s13 = counterHi | 0; let s14 = len | 0; let s15 = flags | 0

  for (let round = 0; ;) {
    // Columns.
    s0 = (s0 + s4 + m0) | 0; s12 ^= s0; s12 = (s12 >>> 16) | (s12 << 16); s8 = (s8 + s12) | 0; s4 ^= s8; s4 = (s4 >>> 12) | (s4 << 20)
    s0 = (s0 + s4 + m1) | 0; s12 ^= s0; s12 = (s12 >>> 8) | (s12 << 24); s8 = (s8 + s12) | 0; s4 ^= s8; s4 = (s4 >>> 7) | (s4 << 25)
    s1 = (s1 + s5 + m2) | 0; s13 ^= s1; s13 = (s13 >>> 16) | (s13 << 16); s9 = (s9 + s13) | 0; s5 ^= s9; s5 = (s5 >>> 12) | (s5 << 20)
    s1 = (s1 + s5 + m3) | 0; s13 ^= s1; s13 = (s13 >>> 8) | (s13 << 24); s9 = (s9 + s13) | 0; s5 ^= s9; s5 = (s5 >>> 7) | (s5 << 25)
    s2 = (s2 + s6 + m4) | 0; s14 ^= s2; s14 = (s14 >>> 16) | (s14 << 16); s10 = (s10 + s14) | 0; s6 ^= s10; s6 = (s6 >>> 12) | (s6 << 20)
    s2 = (s2 + s6 + m5) | 0; s14 ^= s2; s14 = (s14 >>> 8) | (s14 << 24); s10 = (s10 + s14) | 0; s6 ^= s10; s6 = (s6 >>> 7) | (s6 << 25)
    s3 = (s3 + s7 + m6) | 0; s15 ^= s3; s15 = (s15 >>> 16) | (s15 << 16); s11 = (s11 + s15) | 0; s7 ^= s11; s7 = (s7 >>> 12) | (s7 << 20)
    s3 = (s3 + s7 + m7) | 0; s15 ^= s3; s15 = (s15 >>> 8) | (s15 << 24); s11 = (s11 + s15) | 0; s7 ^= s11; s7 = (s7 >>> 7) | (s7 << 25)
    // Diagonals.
    s0 = (s0 + s5 + m8) | 0; s15 ^= s0; s15 = (s15 >>> 16) | (s15 << 16); s10 = (s10 + s15) | 0; s5 ^= s10; s5 = (s5 >>> 12) | (s5 << 20)
    s0 = (s0 + s5 + m9) | 0; s15 ^= s0; s15 = (s15 >>> 8) | (s15 << 24); s10 = (s10 + s15) | 0; s5 ^= s10; s5 = (s5 >>> 7) | (s5 << 25)
    s1 = (s1 + s6 + m10) | 0; s12 ^= s1; s12 = (s12 >>> 16) | (s12 << 16); s11 = (s11 + s12) | 0; s6 ^= s11; s6 = (s6 >>> 12) | (s6 << 20)
    s1 = (s1 + s6 + m11) | 0; s12 ^= s1; s12 = (s12 >>> 8) | (s12 << 24); s11 = (s11 + s12) | 0; s6 ^= s11; s6 = (s6 >>> 7) | (s6 << 25)
    s2 = (s2 + s7 + m12) | 0; s13 ^= s2; s13 = (s13 >>> 16) | (s13 << 16); s8 = (s8 + s13) | 0; s7 ^= s8; s7 = (s7 >>> 12) | (s7 << 20)
    s2 = (s2 + s7 + m13) | 0; s13 ^= s2; s13 = (s13 >>> 8) | (s13 << 24); s8 = (s8 + s13) | 0; s7 ^= s8; s7 = (s7 >>> 7) | (s7 << 25)
    s3 = (s3 + s4 + m14) | 0; s14 ^= s3; s14 = (s14 >>> 16) | (s14 << 16); s9 = (s9 + s14) | 0; s4 ^= s9; s4 = (s4 >>> 12) | (s4 << 20)
    s3 = (s3 + s4 + m15) | 0; s14 ^= s3; s14 = (s14 >>> 8) | (s14 << 24); s9 = (s9 + s14) | 0; s4 ^= s9; s4 = (s4 >>> 7) | (s4 << 25)

    if (++round === ROUNDS) break
    // The permutation of the message, as its two cycles of moves.
    let first = m0; m0 = m2; m2 = m3; m3 = m10; m10 = m12; m12 = m9; m9 = m11; m11 = m5; m5 = first
    first = m1; m1 = m6; m6 = m4; m4 = m7; m7 = m13; m13 = m14; m14 = m15; m15 = m8; m8 = first
  }

  if (whole) {
    u32[out + 8] = s8 ^ u32[cv]; u32[out + 9] = s9 ^ u32[cv + 1]; u32[out + 10] = s10 ^ u32[cv + 2]; u32[out + 11] = s11 ^ u32[cv + 3]
    u32[out + 12] = s12 ^ u32[cv + 4]; u32[out + 13] = s13 ^ u32[cv + 5]; u32[out + 14] = s14 ^ u32[cv + 6]; u32[out + 15] = s15 ^ u32[cv + 7]
  }
  u32[out] = s0 ^ s8; u32[out + 1] = s1 ^ s9; u32[out + 2] = s2 ^ s10; u32[out + 3] = s3 ^ s11
  u32[out + 4] = s4 ^ s12; u32[out + 5] = s5 ^ s13; u32[out + 6] = s6 ^ s14; u32[out + 7] = s7 ^ s15
}

/** A short block is compressed from a copy with zeros behind it. @param {number} at @param {number} len @returns {number} */
function padded (at, len) {
  if (len === BLOCK_LEN) return at
  u8.copyWithin(BLOCK, at, at + len)
  u8.fill(0, BLOCK + len, BLOCK + BLOCK_LEN)
  return BLOCK
}

/** @type {Kernel['compressChunk']} */
function compressChunk (input, len, flags, endFlags, counterLo, counterHi, out) {
  let cv = KEY / 4
  let blockFlags = flags | CHUNK_START
  for (; len > BLOCK_LEN; len -= BLOCK_LEN, input += BLOCK_LEN) {
    compress(cv, input >> 2, BLOCK_LEN, blockFlags, counterLo, counterHi, CV / 4, false)
    cv = CV / 4
    blockFlags = flags
  }
  compress(cv, padded(input, len) >> 2, len, blockFlags | endFlags, counterLo, counterHi, out >> 2, false)
}

/** @type {Kernel['compressBlock']} */
function compressBlock (cv, block, len, flags, counterLo, counterHi, out) {
  compress(cv >> 2, padded(block, len) >> 2, len, flags, counterLo, counterHi, OUT / 4, true)
  if (out !== OUT) u8.copyWithin(out, OUT, OUT + BLOCK_LEN)
}

/** @type {Kernel['compressMany']} */
function compressMany (table, count, lastLen, flags, counterLo, counterHi, out) {
  const isParent = (flags & PARENT) !== 0
  for (let i = 0; i < count; i++, out += HASH_LEN) {
    const input = u32[(table >> 2) + i]
    if (isParent) {
      compress(KEY / 4, input >> 2, BLOCK_LEN, flags, 0, 0, out >> 2, false)
    } else {
      compressChunk(input, i === count - 1 ? lastLen : CHUNK_LEN, flags, CHUNK_END, counterLo, counterHi, out)
      counterLo = (counterLo + 1) >>> 0
      if (counterLo === 0) counterHi++
    }
  }
}

/** @type {Kernel['reduce']} */
function reduce (count, flags, downTo) {
  for (let at = CVS; count > downTo;) {
    const pairs = count >> 1
    const above = at + Math.ceil(count / 2) * PAIR_LEN
    compressMany(CVS_TABLE + (at - CVS) / PAIR_LEN * 4, pairs, PAIR_LEN, flags | PARENT, 0, 0, above)
    if (count % 2 === 1) u8.copyWithin(above + pairs * HASH_LEN, at + (count - 1) * HASH_LEN, at + count * HASH_LEN)
    at = above
    count -= pairs
  }
}

/** @type {Kernel} */
export const jsKernel = { name: 'js', compressMany, compressChunk, compressBlock, reduce }
