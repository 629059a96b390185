// One chunk, or one block, alone: scalar code. On many processors a vector operation takes two cycles and a scalar one
// takes one, and within a single block each operation waits for the one before it.
// Source: BLAKE3 paper 2.2 and 2.4.

import { BLOCK_LEN, CHUNK_LEN, CHUNK_START, IV } from '../../core/constants.js'
import { BLOCK, KEY } from '../arena.js'
import { func, i32, i8x16, loopWhile, select, v128, when } from './assembler.js'
import { wordArithmetic, sevenRounds } from './mixing.js'

/** @import { Local } from './assembler.js' */
/** @import { Code } from '../../core/types.js' */

const WORDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
const CV_WORDS = WORDS.slice(0, 8)

/** Two chunks, the second up to this long, are quicker one after the other than in lanes of which two stay empty. */
export const SECOND_ALONE = CHUNK_LEN

/**
 * Sets `last` to a place where the last block, `len` bytes from `at` on, can be read as 16 words. A short block is
 * copied to BLOCK, with zeros behind its bytes, whatever stands there in the input.
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
 * Compresses one block. Rows of the state and the message are local variables.
 *
 * @param {Local[]} state  16: the first eight hold the chaining value
 * @param {Local[]} message  16
 * @param {{ at: Code, len: Code, flags: Code, counterLo: Code, counterHi: Code }} block
 * @returns {Code}
 */
const compress = (state, message, { at, len, flags, counterLo, counterHi }) => [
  message.map((word, i) => word.set(i32.load(at, 4 * i))),
  [0, 1, 2, 3].map(i => state[8 + i].set(i32.const(IV[i]))),
  [counterLo, counterHi, len, flags].map((word, i) => state[12 + i].set(word)),
  sevenRounds(wordArithmetic, state, message, 2)
]

export const compressChunk = () => func('compressChunk', 7, (params, local) => {
  const [input, len, flags, endFlags, counterLo, counterHi, out] = params
  const [before, last, isLast, blockFlags] = [0, 1, 2, 3].map(() => local('i32'))
  const state = WORDS.map(() => local('i32'))
  const message = WORDS.map(() => local('i32'))
  const wholeBlocksBefore = i32.and(i32.sub(len.get, i32.const(1)), i32.const(-BLOCK_LEN))
  return [
    before.set(select(len.get, wholeBlocksBefore, i32.const(0))),
    layOut(last, i32.add(input.get, before.get), i32.sub(len.get, before.get)),
    CV_WORDS.map(i => state[i].set(i32.load(i32.const(KEY), 4 * i))),
    blockFlags.set(i32.or(flags.get, i32.const(CHUNK_START))),
    loopWhile([
      isLast.set(i32.leS(len.get, i32.const(BLOCK_LEN))),
      compress(state, message, {
        at: input.tee(select(isLast.get, last.get, input.get)),
        len: select(isLast.get, len.get, i32.const(BLOCK_LEN)),
        flags: i32.or(blockFlags.get, select(isLast.get, endFlags.get, i32.const(0))),
        counterLo: counterLo.get,
        counterHi: counterHi.get
      }),
      CV_WORDS.map(i => state[i].set(i32.xor(state[i].get, state[8 + i].get))),
      blockFlags.set(flags.get),
      input.set(i32.add(input.get, i32.const(BLOCK_LEN)))
    ], i32.gtS(len.tee(i32.sub(len.get, i32.const(BLOCK_LEN))), i32.const(0))),
    CV_WORDS.map(i => i32.store(out.get, state[i].get, 4 * i))
  ]
})

export const compressBlock = () => func('compressBlock', 7, (params, local) => {
  const [cv, block, len, flags, counterLo, counterHi, out] = params
  const state = WORDS.map(() => local('i32'))
  const message = WORDS.map(() => local('i32'))
  return [
    layOut(block, block.get, len.get),
    CV_WORDS.map(i => state[i].set(i32.load(cv.get, 4 * i))),
    compress(state, message, {
      at: block.get, len: len.get, flags: flags.get, counterLo: counterLo.get, counterHi: counterHi.get
    }),
    CV_WORDS.map(i => i32.store(out.get, i32.xor(state[i].get, state[8 + i].get), 4 * i)),
    CV_WORDS.map(i => i32.store(out.get, i32.xor(state[8 + i].get, i32.load(cv.get, 4 * i)), 32 + 4 * i))
  ]
})
