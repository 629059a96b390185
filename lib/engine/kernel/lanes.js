// Assembles `compressMany`: hashes chunks or parents side by side, four at a time, one in each lane of
// the vectors.
// Source: BLAKE3 paper 5.3.

import { BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, PARENT } from '../../core/constants.js'
import { CV, KEY, LANE_CVS, LANE_MESSAGE, OUT } from '../arena.js'
import { call, func, i32, i32x4, i64, i64x2, loopWhile, select, v128, when, whenElse } from './assembler.js'
import { vectorArithmetic, sevenRounds } from './mixing.js'

/** @import { Local } from './assembler.js' */
/** @import { Code } from '../../core/types.js' */

const WORDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

/**
 * Vectors in the arena, used like local variables.
 *
 * @param {number} region @param {number} count
 */
const vectorsAt = (region, count) => WORDS.slice(0, count).map(i => ({
  get: v128.load(i32.const(region), 16 * i),
  set: (/** @type {Code} */ value) => v128.store(i32.const(region), value, 16 * i)
}))

/**
 * Transposes four vectors of four words.
 *
 * @param {{ get: Code }[]} rows
 * @param {{ set: (value: Code) => Code }[]} columns  may be the rows themselves
 * @param {Local[]} scratch  four
 * @returns {Code}
 */
const transpose = (rows, columns, scratch) => {
  const [a, b, c, d] = rows.map(row => row.get)
  const [ab01, cd01, ab23, cd23] = scratch
  return [
    ab01.set(i32x4.shuffle(a, b, [0, 4, 1, 5])),
    cd01.set(i32x4.shuffle(c, d, [0, 4, 1, 5])),
    ab23.set(i32x4.shuffle(a, b, [2, 6, 3, 7])),
    cd23.set(i32x4.shuffle(c, d, [2, 6, 3, 7])),
    columns[0].set(i32x4.shuffle(ab01.get, cd01.get, [0, 1, 4, 5])),
    columns[1].set(i32x4.shuffle(ab01.get, cd01.get, [2, 3, 6, 7])),
    columns[2].set(i32x4.shuffle(ab23.get, cd23.get, [0, 1, 4, 5])),
    columns[3].set(i32x4.shuffle(ab23.get, cd23.get, [2, 3, 6, 7]))
  ]
}

/** The indices, in the module, of the functions that compress a block or chunk alone. */
const [COMPRESS_BLOCK, COMPRESS_CHUNK] = [0, 1]

/**
 * @param {number} secondAlone  two chunks are compressed one after the other if the second has at most this many bytes
 */
export const compressMany = secondAlone => func('compressMany', 7, (params, local) => {
  const [table, count, lastLen, flags, counterLo, counterHi, out] = params
  const start = local('i32')
  const end = local('i32')
  const lastBlock = local('i32')
  const block = local('i32')
  const countAlone = local('i32')
  const shortAt = local('i32')
  const counter = local('i64')
  const four = local('i64')
  const lanes01 = local('v128')
  const lanes23 = local('v128')
  const counters01 = local('v128')
  const counters23 = local('v128')
  const pointers = [0, 1, 2, 3].map(() => local('i32'))
  const state = WORDS.map(() => local('v128'))
  const scratch = [0, 1, 2, 3].map(() => local('v128'))
  const { arithmetic, setUp: setUpArithmetic } = vectorArithmetic(local)
  // The state takes 16 of the 16 or 32 vector registers. Vectors that are used less stay in the arena, because with the
  // message in local variables, JavaScriptCore takes more than twice as long.
  const message = vectorsAt(LANE_MESSAGE, 16)
  const cv = vectorsAt(LANE_CVS, 8)

  const isParent = i32.and(flags.get, i32.const(PARENT))

  // Chunks have 16 blocks and increasing counters. Parents have one block, and all have the counter 0. If at most
  // `countAlone` inputs remain, they are compressed one by one.
  const setUp = [
    setUpArithmetic,
    countAlone.set(i32.const(1)),
    when(i32.eqz(isParent), [
      when(i32.eqz(i32.gtS(lastLen.get, i32.const(secondAlone))), countAlone.set(i32.const(2))),
      start.set(i32.const(CHUNK_START)),
      end.set(i32.const(CHUNK_END)),
      lastBlock.set(i32.const(CHUNK_LEN - BLOCK_LEN)),
      counter.set(i64.or(i64.extendI32u(counterLo.get), i64.shl(i64.extendI32u(counterHi.get), i64.const(32)))),
      four.set(i64.const(4)),
      lanes01.set(v128.const([0, 0, 1, 0])),
      lanes23.set(v128.const([2, 0, 3, 0]))
    ])
  ]

  // Only the last chunk can be short. It is hashed in a lane up to its last block, which is then
  // compressed alone.
  const lane = i32.and(i32.sub(count.get, i32.const(1)), i32.const(3))
  const hasShort = i32.and(
    i32.eqz(i32.gtS(count.get, i32.const(4))),
    i32.and(i32.ltS(lastLen.get, i32.const(CHUNK_LEN)), i32.eqz(isParent))
  )
  const leaveLane = when(i32.eq(block.get, shortAt.get), cv.map((_, i) =>
    i32.store(i32.const(CV), i32.load(i32.shl(lane, i32.const(2)), LANE_CVS + 16 * i), 4 * i)))
  const finishShort = when(i32.eqz(i32.ltS(shortAt.get, i32.const(0))), [
    counter.set(i64.add(counter.get, i64.extendI32u(lane))),
    call(COMPRESS_BLOCK,
      i32.const(CV),
      i32.add(i32.load(i32.add(table.get, i32.shl(lane, i32.const(2)))), shortAt.get),
      i32.sub(lastLen.get, shortAt.get),
      i32.or(i32.or(flags.get, i32.const(CHUNK_END)), select(shortAt.get, i32.const(0), i32.const(CHUNK_START))),
      i64.low(counter.get), i64.high(counter.get),
      i32.const(OUT)),
    [0, 16].map(half =>
      v128.store(i32.add(out.get, i32.shl(lane, i32.const(5))), v128.load(i32.const(OUT), half), half))
  ])

  const blockFlags = i32.or(flags.get, i32.or(
    select(block.get, i32.const(0), start.get),
    select(i32.eq(block.get, lastBlock.get), end.get, i32.const(0))
  ))

  const compressBlockOfFour = [
    [0, 4, 8, 12].map(first => {
      const rows = state.slice(0, 4)
      return [
        rows.map((row, lane) => row.set(v128.load(i32.add(pointers[lane].get, block.get), 4 * first))),
        transpose(rows, message.slice(first, first + 4), scratch)
      ]
    }),
    cv.map((word, i) => state[i].set(word.get)),
    [0, 1, 2, 3].map(i => state[8 + i].set(v128.const(Array(4).fill(IV[i])))),
    state[12].set(i32x4.shuffle(counters01.get, counters23.get, [0, 2, 4, 6])),
    state[13].set(i32x4.shuffle(counters01.get, counters23.get, [1, 3, 5, 7])),
    state[14].set(v128.const(Array(4).fill(BLOCK_LEN))),
    state[15].set(i32x4.splat(blockFlags)),
    sevenRounds(arithmetic, state, message, 4),
    cv.map((word, i) => word.set(v128.xor(state[i].get, state[8 + i].get)))
  ]

  const compressFour = [
    shortAt.set(select(hasShort, i32.and(i32.sub(lastLen.get, i32.const(1)), i32.const(-BLOCK_LEN)), i32.const(-1))),
    counters01.set(i64x2.add(i64x2.splat(counter.get), lanes01.get)),
    counters23.set(i64x2.add(i64x2.splat(counter.get), lanes23.get)),
    pointers.map((pointer, lane) => pointer.set(i32.load(table.get, 4 * lane))),
    cv.map((word, i) => word.set(v128.loadSplat32(i32.const(KEY), 4 * i))),
    block.set(i32.const(0)),
    loopWhile(
      [leaveLane, compressBlockOfFour, block.set(i32.add(block.get, i32.const(BLOCK_LEN)))],
      i32.eqz(i32.gtS(block.get, lastBlock.get))
    ),
    [0, 4].map(first => [
      transpose(cv.slice(first, first + 4), state.slice(0, 4), scratch),
      state.slice(0, 4).map((half, lane) => v128.store(out.get, half.get, HASH_LEN * lane + 4 * first))
    ]),
    finishShort,
    counter.set(i64.add(counter.get, four.get)),
    table.set(i32.add(table.get, i32.const(16))),
    out.set(i32.add(out.get, i32.const(4 * HASH_LEN))),
    count.set(i32.sub(count.get, i32.const(4)))
  ]

  const compressOne = [
    count.set(i32.sub(count.get, i32.const(1))),
    whenElse(isParent,
      call(COMPRESS_BLOCK, i32.const(KEY), i32.load(table.get), i32.const(BLOCK_LEN),
        flags.get, i32.const(0), i32.const(0), out.get),
      call(COMPRESS_CHUNK, i32.load(table.get), select(count.get, i32.const(CHUNK_LEN), lastLen.get),
        flags.get, i32.const(CHUNK_END), i64.low(counter.get), i64.high(counter.get), out.get)),
    counter.set(i64.add(counter.get, i64.const(1))),
    table.set(i32.add(table.get, i32.const(4))),
    out.set(i32.add(out.get, i32.const(HASH_LEN)))
  ]

  return [
    setUp,
    when(i32.gtS(count.get, countAlone.get), loopWhile(compressFour, i32.gtS(count.get, countAlone.get))),
    when(i32.gtS(count.get, i32.const(0)), loopWhile(compressOne, i32.gtS(count.get, i32.const(0))))
  ]
})
