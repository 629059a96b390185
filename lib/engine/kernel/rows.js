// Assembles `compressBlock` and `compressChunk` with vectors: each of four vectors holds a row of the state. After the
// columns, rows are rotated so that the diagonals become columns. Row b is computed last, so it stays in place and the
// other three are rotated instead. The four message vectors hold the words in the order in which a round takes them: x
// and y of the columns, then x and y of the diagonals. The words of the diagonals are in the lanes of the b that they
// belong to. Source: BLAKE3 paper 5.3.

import { BLOCK_LEN, CHUNK_START, IV, PERMUTATION, SCHEDULE } from '../../core/constants.js'
import { KEY } from '../arena.js'
import { func, i32, i32x4, i8x16, loopWhile, v128, when } from './assembler.js'
import { mix, vectorArithmetic } from './mixing.js'

/** @import { Local, Type } from './assembler.js' */
/** @import { Code } from '../../core/types.js' */

const WORDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
const [A, B, C, D] = [0, 1, 2, 3]

/**
 * If the second of two chunks is at most this long, hashing the two one after the other is quicker than hashing them in
 * four lanes, two of which are empty.
 */
export const SECOND_ALONE = 9 * BLOCK_LEN
const MESSAGE_VECTORS = [[0, 2, 4, 6], [1, 3, 5, 7], [14, 8, 10, 12], [15, 9, 11, 13]]

/** The place of word `i` of the message: which of the four vectors, and which lane. @param {number} i */
const placeOfWord = i => {
  const vector = MESSAGE_VECTORS.findIndex(words => words.includes(i))
  return { vector, lane: MESSAGE_VECTORS[vector].indexOf(i) }
}

/**
 * Makes a vector of four words. Each word may come from any lane of up to three vectors.
 *
 * @param {{ vector: number, lane: number }[]} places
 * @param {Local[]} from
 * @returns {Code}
 */
const pick = (places, from) => {
  const [first, second = first, third] = [...new Set(places.map(place => place.vector))]
  const two = i32x4.shuffle(from[first].get, from[second].get,
    places.map(({ vector, lane }) => vector === first ? lane : vector === second ? 4 + lane : 0))
  return third === undefined
    ? two
    : i32x4.shuffle(two, from[third].get, places.map(({ vector, lane }, i) => vector === third ? 4 + lane : i))
}

/**
 * Compresses the block at `at` with the chaining value in rows A and B. Rows A to D become the state after seven
 * rounds.
 *
 * @param {(type: Type) => Local} local
 */
const oneBlock = local => {
  const state = [A, B, C, D].map(() => local('v128'))
  const message = [0, 1, 2, 3].map(() => local('v128'))
  const words = [0, 1, 2, 3].map(() => local('v128'))
  const { arithmetic, setUp: setUpArithmetic } = vectorArithmetic(local)
  const round = local('i32')
  const [a, b, c, d] = state
  const [x, y, xDiagonal, yDiagonal] = message
  /** @param {Local} row @param {number} by @returns {Code} */
  const rotate = (row, by) => row.set(i32x4.shuffle(row.get, row.get, [0, 1, 2, 3].map(lane => (lane + by) % 4)))

  // Sets the bytes after the end of the block, which may have any value, to zero.
  /** @param {Code} len @returns {Code} */
  const clearAfter = len => words.map((row, i) => row.set(v128.and(row.get,
    i8x16.gtS(i8x16.splat(len), i8x16.const(WORDS.map(byte => 16 * i + byte))))))

  /** @param {Code} at @param {Code} len @param {Code} lo @param {Code} hi @param {Code} flags @returns {Code} */
  const compress = (at, len, lo, hi, flags) => [
    words.map((row, i) => row.set(v128.load(at, 16 * i))),
    when(i32.ltS(len, i32.const(BLOCK_LEN)), clearAfter(len)),
    message.map((vector, i) => vector.set(
      pick(MESSAGE_VECTORS[i].map(word => ({ vector: word >> 2, lane: word & 3 })), words))),
    c.set(v128.const(IV.subarray(0, 4))),
    d.set(i32x4.replaceLane(i32x4.replaceLane(i32x4.replaceLane(i32x4.splat(lo), 1, hi), 2, len), 3, flags)),
    round.set(i32.const(SCHEDULE.length)),
    loopWhile([
      mix(arithmetic, [{ a, b, c, d, x: x.get, y: y.get }]),
      rotate(a, 3), rotate(c, 1), rotate(d, 2),
      mix(arithmetic, [{ a, b, c, d, x: xDiagonal.get, y: yDiagonal.get }]),
      rotate(a, 1), rotate(c, 3), rotate(d, 2),
      words.map((row, i) => row.set(pick(MESSAGE_VECTORS[i].map(word => placeOfWord(PERMUTATION[word])), message))),
      message.map((vector, i) => vector.set(words[i].get))
    ], round.tee(i32.sub(round.get, i32.const(1))))
  ]
  return { state, setUp: setUpArithmetic, compress }
}

const compressChunk = () => func('compressChunk', 7, (params, local) => {
  const [input, len, flags, endFlags, counterLo, counterHi, out] = params
  const { state: [a, b, c, d], setUp, compress } = oneBlock(local)
  const blockLen = local('i32')
  const blockFlags = local('i32')
  return [
    setUp,
    a.set(v128.load(i32.const(KEY), 0)),
    b.set(v128.load(i32.const(KEY), 16)),
    blockFlags.set(i32.or(flags.get, i32.const(CHUNK_START))),
    loopWhile([
      blockLen.set(i32.const(BLOCK_LEN)),
      when(i32.eqz(i32.gtS(len.get, i32.const(BLOCK_LEN))), [
        blockLen.set(len.get),
        blockFlags.set(i32.or(blockFlags.get, endFlags.get))
      ]),
      compress(input.get, blockLen.get, counterLo.get, counterHi.get, blockFlags.get),
      a.set(v128.xor(a.get, c.get)),
      b.set(v128.xor(b.get, d.get)),
      blockFlags.set(flags.get),
      input.set(i32.add(input.get, i32.const(BLOCK_LEN)))
    ], i32.gtS(len.tee(i32.sub(len.get, i32.const(BLOCK_LEN))), i32.const(0))),
    v128.store(out.get, a.get, 0),
    v128.store(out.get, b.get, 16)
  ]
})

const compressBlock = () => func('compressBlock', 7, (params, local) => {
  const [cv, block, len, flags, counterLo, counterHi, out] = params
  const { state: [a, b, c, d], setUp, compress } = oneBlock(local)
  return [
    setUp,
    a.set(v128.load(cv.get, 0)),
    b.set(v128.load(cv.get, 16)),
    compress(block.get, len.get, counterLo.get, counterHi.get, flags.get),
    v128.store(out.get, v128.xor(a.get, c.get), 0),
    v128.store(out.get, v128.xor(b.get, d.get), 16),
    v128.store(out.get, v128.xor(c.get, v128.load(cv.get, 0)), 32),
    v128.store(out.get, v128.xor(d.get, v128.load(cv.get, 16)), 48)
  ]
})

/** Functions in the order that lanes.js expects. */
export const functions = () => [compressBlock(), compressChunk()]
