// The JavaScript kernel: it does the same as simd.js in the same memory, for runtimes that refuse
// WebAssembly. The contract is `Kernel` in types.d.ts. Source: BLAKE3 paper 2.1 to 2.4.

import { BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, PAIR_LEN, PARENT } from '../../core/constants.js'
import { BLOCK, CVS, CVS_TABLE, KEY, OUT, ZEROS, u8 } from '../arena.js'

/** @import { Kernel } from '../../core/types.js' */

/**
 * The arena as signed words, because bit operators return signed words, and V8 would not keep an unsigned word from
 * 2^31 on as a 32-bit integer. The array is a constant of this module because then V8 compiles its address and length
 * into the code. For an imported constant, it would load them each time.
 */
const words = new Int32Array(u8.buffer)
const [IV0, IV1, IV2, IV3] = new Int32Array(IV)

/**
 * Compresses adjacent blocks, each with the chaining value of the previous block. All places are word indices.
 *
 * State, message and chaining value stay in local variables. The seven rounds are written out, so that message words
 * never move: each round names the words that it takes (SCHEDULE in constants.js). A loop over one round would move all
 * sixteen words six times.
 *
 * @param {number} cv  where the first chaining value is
 * @param {number} block  where the blocks are
 * @param {number} last  where the last block is. It may be somewhere else than the others, with zeros after its bytes
 * @param {number} len  bytes of all blocks: 64 in each except the last
 * @param {number} firstFlags  of the first block
 * @param {number} flags  the flags of the others
 * @param {number} endFlags  further flags of the last one
 * @param {number} counterLo @param {number} counterHi
 * @param {number} out  where the last chaining value, 8 words, is written
 * @param {boolean} isWhole  true to write all 16 words of the result instead; only for a single block
 */
function compress (cv, block, last, len, firstFlags, flags, endFlags, counterLo, counterHi, out, isWhole) {
  let s0 = words[cv]; let s1 = words[cv + 1]; let s2 = words[cv + 2]; let s3 = words[cv + 3]
  let s4 = words[cv + 4]; let s5 = words[cv + 5]; let s6 = words[cv + 6]; let s7 = words[cv + 7]

  for (let blockFlags = firstFlags; ; blockFlags = flags, block += BLOCK_LEN / 4, len -= BLOCK_LEN) {
    const isLast = len <= BLOCK_LEN
    if (isLast) block = last

    const m0 = words[block]; const m1 = words[block + 1]; const m2 = words[block + 2]; const m3 = words[block + 3]
    const m4 = words[block + 4]; const m5 = words[block + 5]; const m6 = words[block + 6]; const m7 = words[block + 7]
    const m8 = words[block + 8]; const m9 = words[block + 9]; const m10 = words[block + 10]
    const m11 = words[block + 11]; const m12 = words[block + 12]; const m13 = words[block + 13]
    const m14 = words[block + 14]; const m15 = words[block + 15]

    let s8 = IV0; let s9 = IV1; let s10 = IV2; let s11 = IV3
    let s12 = counterLo | 0; let s13 = counterHi | 0
    let s14 = isLast ? len : BLOCK_LEN; let s15 = isLast ? blockFlags | endFlags : blockFlags

    // Round 1: four columns, then four diagonals, four lines each.
    s0 = s0 + m0 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m1 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m2 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m3 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m4 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m5 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m6 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m7 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m8 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m9 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m10 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m11 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m12 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m13 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m14 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m15 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    // Round 2.
    s0 = s0 + m2 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m6 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m3 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m10 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m7 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m0 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m4 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m13 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m1 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m11 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m12 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m5 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m9 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m14 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m15 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m8 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    // Round 3.
    s0 = s0 + m3 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m4 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m10 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m12 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m13 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m2 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m7 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m14 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m6 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m5 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m9 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m0 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m11 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m15 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m8 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m1 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    // Round 4.
    s0 = s0 + m10 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m7 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m12 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m9 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m14 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m3 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m13 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m15 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m4 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m0 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m11 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m2 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m5 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m8 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m1 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m6 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    // Round 5.
    s0 = s0 + m12 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m13 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m9 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m11 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m15 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m10 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m14 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m8 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m7 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m2 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m5 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m3 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m0 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m1 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m6 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m4 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    // Round 6.
    s0 = s0 + m9 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m14 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m11 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m5 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m8 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m12 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m15 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m1 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m13 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m3 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m0 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m10 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m2 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m6 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m4 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m7 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    // Round 7.
    s0 = s0 + m11 + s4 | 0; s12 ^= s0; s12 = s12 >>> 16 | s12 << 16
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 12 | s4 << 20
    s0 = s0 + m15 + s4 | 0; s12 ^= s0; s12 = s12 >>> 8 | s12 << 24
    s8 = s8 + s12 | 0; s4 ^= s8; s4 = s4 >>> 7 | s4 << 25
    s1 = s1 + m5 + s5 | 0; s13 ^= s1; s13 = s13 >>> 16 | s13 << 16
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 12 | s5 << 20
    s1 = s1 + m0 + s5 | 0; s13 ^= s1; s13 = s13 >>> 8 | s13 << 24
    s9 = s9 + s13 | 0; s5 ^= s9; s5 = s5 >>> 7 | s5 << 25
    s2 = s2 + m1 + s6 | 0; s14 ^= s2; s14 = s14 >>> 16 | s14 << 16
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 12 | s6 << 20
    s2 = s2 + m9 + s6 | 0; s14 ^= s2; s14 = s14 >>> 8 | s14 << 24
    s10 = s10 + s14 | 0; s6 ^= s10; s6 = s6 >>> 7 | s6 << 25
    s3 = s3 + m8 + s7 | 0; s15 ^= s3; s15 = s15 >>> 16 | s15 << 16
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 12 | s7 << 20
    s3 = s3 + m6 + s7 | 0; s15 ^= s3; s15 = s15 >>> 8 | s15 << 24
    s11 = s11 + s15 | 0; s7 ^= s11; s7 = s7 >>> 7 | s7 << 25
    s0 = s0 + m14 + s5 | 0; s15 ^= s0; s15 = s15 >>> 16 | s15 << 16
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 12 | s5 << 20
    s0 = s0 + m10 + s5 | 0; s15 ^= s0; s15 = s15 >>> 8 | s15 << 24
    s10 = s10 + s15 | 0; s5 ^= s10; s5 = s5 >>> 7 | s5 << 25
    s1 = s1 + m2 + s6 | 0; s12 ^= s1; s12 = s12 >>> 16 | s12 << 16
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 12 | s6 << 20
    s1 = s1 + m12 + s6 | 0; s12 ^= s1; s12 = s12 >>> 8 | s12 << 24
    s11 = s11 + s12 | 0; s6 ^= s11; s6 = s6 >>> 7 | s6 << 25
    s2 = s2 + m3 + s7 | 0; s13 ^= s2; s13 = s13 >>> 16 | s13 << 16
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 12 | s7 << 20
    s2 = s2 + m4 + s7 | 0; s13 ^= s2; s13 = s13 >>> 8 | s13 << 24
    s8 = s8 + s13 | 0; s7 ^= s8; s7 = s7 >>> 7 | s7 << 25
    s3 = s3 + m7 + s4 | 0; s14 ^= s3; s14 = s14 >>> 16 | s14 << 16
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 12 | s4 << 20
    s3 = s3 + m13 + s4 | 0; s14 ^= s3; s14 = s14 >>> 8 | s14 << 24
    s9 = s9 + s14 | 0; s4 ^= s9; s4 = s4 >>> 7 | s4 << 25

    s0 ^= s8; s1 ^= s9; s2 ^= s10; s3 ^= s11; s4 ^= s12; s5 ^= s13; s6 ^= s14; s7 ^= s15
    if (!isLast) continue

    if (isWhole) {
      words[out + 8] = s8 ^ words[cv]; words[out + 9] = s9 ^ words[cv + 1]
      words[out + 10] = s10 ^ words[cv + 2]; words[out + 11] = s11 ^ words[cv + 3]
      words[out + 12] = s12 ^ words[cv + 4]; words[out + 13] = s13 ^ words[cv + 5]
      words[out + 14] = s14 ^ words[cv + 6]; words[out + 15] = s15 ^ words[cv + 7]
    }
    words[out] = s0; words[out + 1] = s1; words[out + 2] = s2; words[out + 3] = s3
    words[out + 4] = s4; words[out + 5] = s5; words[out + 6] = s6; words[out + 7] = s7
    return
  }
}

/**
 * Returns the word index where a block can be read as 16 words. A short block is copied, and zeros are added. A loop
 * over words does that, because for so few words, calls of `copyWithin` and `fill` cost more.
 *
 * @param {number} at  in bytes
 * @param {number} len  0 to 64
 * @returns {number}
 */
function padded (at, len) {
  if (len === BLOCK_LEN) return at >> 2
  if (len === 0) return ZEROS / 4
  const used = (len + 3) >> 2
  for (let i = 0; i < used; i++) words[BLOCK / 4 + i] = words[(at >> 2) + i]
  for (let i = used; i < BLOCK_LEN / 4; i++) words[BLOCK / 4 + i] = 0
  for (let end = len; end % 4 !== 0; end++) u8[BLOCK + end] = 0 // bytes of the last word after the input
  return BLOCK / 4
}

/** @type {Kernel['compressChunk']} */
function compressChunk (input, len, flags, endFlags, counterLo, counterHi, out) {
  const before = Math.max(0, len - 1) & -BLOCK_LEN
  const last = padded(input + before, len - before)
  compress(KEY / 4, input >> 2, last, len, flags | CHUNK_START, flags, endFlags, counterLo, counterHi, out >> 2, false)
}

/** @type {Kernel['compressBlock']} */
function compressBlock (cv, block, len, flags, counterLo, counterHi, out) {
  const at = padded(block, len)
  compress(cv >> 2, at, at, len, flags, flags, 0, counterLo, counterHi, out >> 2, true)
}

/** @type {Kernel['compressMany']} */
function compressMany (table, count, lastLen, flags, counterLo, counterHi, out) {
  const isParent = (flags & PARENT) !== 0
  for (let i = 0; i < count; i++, out += HASH_LEN) {
    const input = words[(table >> 2) + i]
    if (isParent) {
      compress(KEY / 4, input >> 2, input >> 2, BLOCK_LEN, flags, flags, 0, 0, 0, out >> 2, false)
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

/** @type {Kernel['gather']} */
function gather (table, count, len, out) {
  for (let i = 0; i < count; i++, out += len) {
    const at = words[(table >> 2) + i]
    u8.copyWithin(out, at, at + len)
  }
}

/** @type {Kernel['scatter']} */
function scatter (table, count, len, input) {
  for (let i = 0; i < count; i++, input += len) u8.copyWithin(words[(table >> 2) + i], input, input + len)
}

/** @type {Kernel['compare']} */
function compare (table, count, len, at) {
  let difference = 0
  for (let i = 0, word = at >> 2; i < count; i++) {
    const other = words[(table >> 2) + i] >> 2
    for (let n = 0; n < len >> 2; n++) difference |= words[word++] ^ words[other + n]
  }
  words.fill(difference, OUT >> 2, (OUT >> 2) + 4)
}

/** @type {Kernel} */
export const jsKernel = { name: 'js', compressMany, compressChunk, compressBlock, reduce, gather, scatter, compare }
