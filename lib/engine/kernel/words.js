// Assembles `compressBlock` and `compressChunk` in scalar code. On many processors, a vector operation takes two cycles
// and a scalar one takes one, and within a single block, each operation waits for the previous one. Source: BLAKE3
// paper 2.2 and 2.4.

import { BLOCK_LEN, CHUNK_LEN, CHUNK_START, HASH_LEN, IV } from '../../core/constants.js'
import { BLOCK, KEY } from '../arena.js'
import { call, func, i32, i8x16, loopWhile, select, v128, when } from './assembler.js'
import { wordArithmetic, sevenRounds } from './mixing.js'

/** @import { Local } from './assembler.js' */
/** @import { Code } from '../../core/types.js' */

const WORDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

/**
 * If the second of two chunks is at most this long, hashing the two one after the other is quicker than hashing them in
 * four lanes, two of which are empty.
 */
export const SECOND_ALONE = CHUNK_LEN

/**
 * Sets `last` to a place where the last block can be read as 16 words. The block is the `len` bytes at `at`. A short
 * block is copied to BLOCK, with zeros after its bytes.
 *
 * @param {Local} last @param {Code} at @param {Code} len
 * @returns {Code}
 */
const layOut = (last, at, len) => [
  last.set(at),
  when(i32.ltS(len, i32.const(BLOCK_LEN)), [
    [0, 16, 32, 48].map(part => {
      const places = i8x16.const(WORDS.map(byte => part + byte))
      const bytes = v128.and(v128.load(last.get, part), i8x16.gtS(i8x16.splat(len), places))
      return v128.store(i32.const(BLOCK), bytes, part)
    }),
    last.set(i32.const(BLOCK))
  ])
]

/**
 * Compresses adjacent blocks, each with the chaining value of the previous block. State and message stay in local
 * variables. js.js has the same function.
 *
 * Its parameters: `cv`, where the first chaining value is; `block`, where the blocks are; `last`, where the last block
 * is; `len`, bytes of all blocks; `blockFlags`, the flags of the first block; `flags`, those of the others; `endFlags`,
 * further flags of the last block; the counter; `out`, where the last chaining value is written; `isWhole`, true if all
 * 16 words of the result are written there instead.
 */
const compressBlocks = () => func('', 11, (params, local) => {
  const [cv, block, last, len, blockFlags, flags, endFlags, counterLo, counterHi, out, isWhole] = params
  const isLast = local('i32')
  const state = WORDS.map(() => local('i32'))
  const message = WORDS.map(() => local('i32'))
  const [chaining, others] = [state.slice(0, 8), state.slice(8)]
  return [
    chaining.map((word, i) => word.set(i32.load(cv.get, 4 * i))),
    loopWhile([
      isLast.set(i32.leS(len.get, i32.const(BLOCK_LEN))),
      block.set(select(isLast.get, last.get, block.get)),
      message.map((word, i) => word.set(i32.load(block.get, 4 * i))),
      [0, 1, 2, 3].map(i => state[8 + i].set(i32.const(IV[i]))),
      state[12].set(counterLo.get),
      state[13].set(counterHi.get),
      state[14].set(select(isLast.get, len.get, i32.const(BLOCK_LEN))),
      state[15].set(i32.or(blockFlags.get, select(isLast.get, endFlags.get, i32.const(0)))),
      sevenRounds(wordArithmetic, state, message, 2),
      chaining.map((word, i) => word.set(i32.xor(word.get, others[i].get))),
      blockFlags.set(flags.get),
      block.set(i32.add(block.get, i32.const(BLOCK_LEN)))
    ], i32.gtS(len.tee(i32.sub(len.get, i32.const(BLOCK_LEN))), i32.const(0))),
    chaining.map((word, i) => i32.store(out.get, word.get, 4 * i)),
    when(isWhole.get, others.map((word, i) => {
      const whole = i32.xor(word.get, i32.load(cv.get, 4 * i))
      return i32.store(out.get, whole, HASH_LEN + 4 * i)
    }))
  ]
})

const compressChunk = () => func('compressChunk', 7, (params, local) => {
  const [input, len, flags, endFlags, counterLo, counterHi, out] = params
  const [before, last] = [local('i32'), local('i32')]
  const wholeBlocksBefore = i32.and(i32.sub(len.get, i32.const(1)), i32.const(-BLOCK_LEN))
  return [
    before.set(select(len.get, wholeBlocksBefore, i32.const(0))),
    layOut(last, i32.add(input.get, before.get), i32.sub(len.get, before.get)),
    call(COMPRESS_BLOCKS,
      i32.const(KEY), input.get, last.get, len.get,
      i32.or(flags.get, i32.const(CHUNK_START)), flags.get, endFlags.get,
      counterLo.get, counterHi.get, out.get, i32.const(0))
  ]
})

const compressBlock = () => func('compressBlock', 7, params => {
  const [cv, block, len, flags, counterLo, counterHi, out] = params
  return [
    layOut(block, block.get, len.get),
    call(COMPRESS_BLOCKS,
      cv.get, block.get, block.get, len.get,
      flags.get, flags.get, i32.const(0),
      counterLo.get, counterHi.get, out.get, i32.const(1))
  ]
})

/** Functions in the order that lanes.js expects: `compressBlock`, `compressChunk`, others. */
export const functions = () => [compressBlock(), compressChunk(), compressBlocks()]
/** Place of `compressBlocks` in the module. */
const COMPRESS_BLOCKS = 2
