// The WebAssembly kernel, assembled at run time. `compressMany` takes four inputs at a time, one in each lane of the
// vectors. `compressChunk` and `compressBlock` take one, with a row of the state in each vector. `reduce` joins the
// chaining values of a window, `gather` and `scatter` copy, and `compare` compares.
// Source: BLAKE3 paper 2.2 (compression), 5.3 (both ways of using SIMD). The contract is `Kernel` in types.d.ts.

import {
  BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, MIXINGS, PAIR_LEN, PARENT, PERMUTATION, SCHEDULE
} from '../../core/constants.js'
import { CV, CVS, CVS_TABLE, KEY, LANE_CVS, OUT, memory } from '../arena.js'
import {
  call, func, i32, i32x4, i64, i64x2, i8x16, loopWhile, module, select, v128, when, whenElse
} from './assembler.js'

/** @import { Local } from './assembler.js' */
/** @import { Code, Kernel } from '../../core/types.js' */

const WORDS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
const [A, B, C, D] = [0, 1, 2, 3]
/** Places of the functions in the module. */
const [COMPRESS_BLOCK, COMPRESS_CHUNK, COMPRESS_MANY] = [0, 1, 2]

/**
 * Sets a local to a value rotated to the right.
 *
 * @param {Local} x @param {Code} value @param {number} bits
 * @returns {Code}
 */
const setRotated = (x, value, bits) =>
  x.set(v128.or(i32x4.shrU(x.tee(value), i32.const(bits)), i32x4.shl(x.get, i32.const(32 - bits))))
/** Places of the bytes of four words, each rotated to the right by so many bytes. @param {number} by @returns {Code} */
const rotated = by => i8x16.const(WORDS.map(byte => (byte & ~3) + (byte + by) % 4))

/**
 * The mixing function on vectors: the lines of the paper's G, in its order. The message word is added first, because it
 * is ready before `b` is. Independent mixings are interleaved, because some engines keep the order of the code.
 * Rotations by whole bytes are swizzles. Their masks are locals, because engines build a constant again at each use.
 *
 * @param {Local[]} masks  of rotations by 16 and 8: `rotated(2)` and `rotated(1)`
 * @param {{ a: Local, b: Local, c: Local, d: Local, x: Code, y: Code }[]} mixings
 * @returns {Code}
 */
const mix = ([by16, by8], mixings) => [
  mixings.map(({ a, b, x }) => a.set(i32x4.add(i32x4.add(a.get, x), b.get))),
  mixings.map(({ a, d }) => d.set(i8x16.swizzle(v128.xor(d.get, a.get), by16.get))),
  mixings.map(({ c, d }) => c.set(i32x4.add(c.get, d.get))),
  mixings.map(({ b, c }) => setRotated(b, v128.xor(b.get, c.get), 12)),
  mixings.map(({ a, b, y }) => a.set(i32x4.add(i32x4.add(a.get, y), b.get))),
  mixings.map(({ a, d }) => d.set(i8x16.swizzle(v128.xor(d.get, a.get), by8.get))),
  mixings.map(({ c, d }) => c.set(i32x4.add(c.get, d.get))),
  mixings.map(({ b, c }) => setRotated(b, v128.xor(b.get, c.get), 7))
]

/**
 * Four vectors of four words become their transpose.
 *
 * @param {{ get: Code }[]} rows
 * @param {Local[]} columns  may be the rows themselves
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

// One input: rows of the state in four vectors. After the columns, rows are rotated so that the diagonals become
// columns. Row b is the last to be ready, so it stays and the others rotate around it. The four message vectors hold
// the words in the order in which a round takes them: x and y of the columns, x and y of the diagonals. The last two
// are placed where their b stands.

const MESSAGE_VECTORS = [[0, 2, 4, 6], [1, 3, 5, 7], [14, 8, 10, 12], [15, 9, 11, 13]]

/** Where word `i` of the message stands: which of the four vectors, which lane. @param {number} i */
const placeOfWord = i => {
  const vector = MESSAGE_VECTORS.findIndex(words => words.includes(i))
  return { vector, lane: MESSAGE_VECTORS[vector].indexOf(i) }
}

/**
 * A vector of four words, each from anywhere in up to three vectors.
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
 * @param {(type: 'i32' | 'v128') => Local} local
 */
const oneBlock = local => {
  const state = [A, B, C, D].map(() => local('v128'))
  const message = [0, 1, 2, 3].map(() => local('v128'))
  const words = [0, 1, 2, 3].map(() => local('v128'))
  const masks = [local('v128'), local('v128')]
  const round = local('i32')
  const [a, b, c, d] = state
  const [x, y, xDiagonal, yDiagonal] = message
  /** @param {Local} row @param {number} by @returns {Code} */
  const rotate = (row, by) => row.set(i32x4.shuffle(row.get, row.get, [0, 1, 2, 3].map(lane => (lane + by) % 4)))

  // Bytes behind the end of the block count as zero, whatever stands there.
  /** @param {Code} len @returns {Code} */
  const clearBehind = len => words.map((row, i) => row.set(v128.and(row.get,
    i8x16.gtS(i8x16.splat(len), i8x16.const(WORDS.map(byte => 16 * i + byte))))))

  /** @param {Code} at @param {Code} len @param {Code} lo @param {Code} hi @param {Code} flags @returns {Code} */
  const compress = (at, len, lo, hi, flags) => [
    words.map((row, i) => row.set(v128.load(at, 16 * i))),
    when(i32.ltS(len, i32.const(BLOCK_LEN)), clearBehind(len)),
    message.map((vector, i) => vector.set(
      pick(MESSAGE_VECTORS[i].map(word => ({ vector: word >> 2, lane: word & 3 })), words))),
    c.set(v128.const(IV.subarray(0, 4))),
    d.set(i32x4.replaceLane(i32x4.replaceLane(i32x4.replaceLane(i32x4.splat(lo), 1, hi), 2, len), 3, flags)),
    round.set(i32.const(SCHEDULE.length)),
    loopWhile([
      mix(masks, [{ a, b, c, d, x: x.get, y: y.get }]),
      rotate(a, 3), rotate(c, 1), rotate(d, 2),
      mix(masks, [{ a, b, c, d, x: xDiagonal.get, y: yDiagonal.get }]),
      rotate(a, 1), rotate(c, 3), rotate(d, 2),
      words.map((row, i) => row.set(pick(MESSAGE_VECTORS[i].map(word => placeOfWord(PERMUTATION[word])), message))),
      message.map((vector, i) => vector.set(words[i].get))
    ], round.tee(i32.sub(round.get, i32.const(1))))
  ]
  const setUp = [masks[0].set(rotated(2)), masks[1].set(rotated(1))]
  return { state, setUp, compress }
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

/** Two chunks, the second up to this long, are quicker one after the other than in lanes of which two stay empty. */
const SHORT_SECOND = 9 * BLOCK_LEN

const compressMany = () => func('compressMany', 7, (params, local) => {
  const [table, count, lastLen, flags, counterLo, counterHi, out] = params
  const start = local('i32')
  const end = local('i32')
  const lastBlock = local('i32')
  const block = local('i32')
  const alone = local('i32')
  const shortAt = local('i32')
  const counter = local('i64')
  const four = local('i64')
  const lanes01 = local('v128')
  const lanes23 = local('v128')
  const counters01 = local('v128')
  const counters23 = local('v128')
  const pointers = [0, 1, 2, 3].map(() => local('i32'))
  const state = WORDS.map(() => local('v128'))
  const message = WORDS.map(() => local('v128'))
  const scratch = [0, 1, 2, 3].map(() => local('v128'))
  const masks = [local('v128'), local('v128')]
  // Chaining values wait in the arena from block to block: eight vectors less to be spilled in between.
  const cv = WORDS.slice(0, 8).map(i => ({
    get: v128.load(i32.const(LANE_CVS), 16 * i),
    set: (/** @type {Code} */ value) => v128.store(i32.const(LANE_CVS), value, 16 * i)
  }))

  const isParent = i32.and(flags.get, i32.const(PARENT))

  // Chunks are 16 blocks and count upwards; parents are one block, all with counter 0. What is left over goes alone.
  const setUp = [
    masks[0].set(rotated(2)),
    masks[1].set(rotated(1)),
    alone.set(i32.const(1)),
    when(i32.eqz(isParent), [
      when(i32.eqz(i32.gtS(lastLen.get, i32.const(SHORT_SECOND))), alone.set(i32.const(2))),
      start.set(i32.const(CHUNK_START)),
      end.set(i32.const(CHUNK_END)),
      lastBlock.set(i32.const(CHUNK_LEN - BLOCK_LEN)),
      counter.set(i64.or(i64.extendI32u(counterLo.get), i64.shl(i64.extendI32u(counterHi.get), i64.const(32)))),
      four.set(i64.const(4)),
      lanes01.set(v128.const([0, 0, 1, 0])),
      lanes23.set(v128.const([2, 0, 3, 0]))
    ])
  ]

  // A short chunk, always the last, shares a lane's way up to its last block, and has that to itself.
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
      const rows = message.slice(first, first + 4)
      return [
        rows.map((row, lane) => row.set(v128.load(i32.add(pointers[lane].get, block.get), 4 * first))),
        transpose(rows, rows, scratch)
      ]
    }),
    cv.map((word, i) => state[i].set(word.get)),
    [0, 1, 2, 3].map(i => state[8 + i].set(v128.const(Array(4).fill(IV[i])))),
    state[12].set(i32x4.shuffle(counters01.get, counters23.get, [0, 2, 4, 6])),
    state[13].set(i32x4.shuffle(counters01.get, counters23.get, [1, 3, 5, 7])),
    state[14].set(v128.const(Array(4).fill(BLOCK_LEN))),
    state[15].set(i32x4.splat(blockFlags)),
    SCHEDULE.map(round => {
      const mixings = MIXINGS.map(([a, b, c, d], i) => {
        const [x, y] = [message[round[2 * i]].get, message[round[2 * i + 1]].get]
        return { a: state[a], b: state[b], c: state[c], d: state[d], x, y }
      })
      return [mix(masks, mixings.slice(0, 4)), mix(masks, mixings.slice(4))]
    }),
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
    when(i32.gtS(count.get, alone.get), loopWhile(compressFour, i32.gtS(count.get, alone.get))),
    when(i32.gtS(count.get, i32.const(0)), loopWhile(compressOne, i32.gtS(count.get, i32.const(0))))
  ]
})

const reduce = () => func('reduce', 3, ([count, flags, downTo], local) => {
  const at = local('i32')
  const above = local('i32')
  const pairs = local('i32')
  const isMore = i32.gtS(count.get, downTo.get)
  /** @param {Local} cvs @param {Code} index */
  const cvAt = (cvs, index) => i32.add(cvs.get, i32.shl(index, i32.const(Math.log2(HASH_LEN))))
  const joinLevel = [
    pairs.set(i32.shrU(count.get, i32.const(1))),
    above.set(cvAt(at, i32.shl(i32.shrU(i32.add(count.get, i32.const(1)), i32.const(1)), i32.const(1)))),
    call(COMPRESS_MANY,
      i32.add(i32.const(CVS_TABLE), i32.shrU(i32.sub(at.get, i32.const(CVS)), i32.const(Math.log2(PAIR_LEN / 4)))),
      pairs.get, i32.const(PAIR_LEN), i32.or(flags.get, i32.const(PARENT)), i32.const(0), i32.const(0), above.get),
    when(i32.and(count.get, i32.const(1)), [0, 16].map(half =>
      v128.store(cvAt(above, pairs.get), v128.load(cvAt(at, i32.sub(count.get, i32.const(1))), half), half))),
    at.set(above.get),
    count.set(i32.sub(count.get, pairs.get))
  ]
  return [at.set(i32.const(CVS)), when(isMore, loopWhile(joinLevel, isMore))]
})

/**
 * Copies between inputs that stand together and the places that a table names, in one direction or the other.
 *
 * @param {'gather' | 'scatter'} name
 */
const copy = name => func(name, 4, ([table, count, len, together], local) => {
  const place = local('i32')
  const end = local('i32')
  const words = [0, 1, 2, 3].map(() => local('v128'))
  const [from, to] = name === 'gather' ? [place, together] : [together, place]
  return loopWhile([
    place.set(i32.load(table.get)),
    end.set(i32.add(from.get, len.get)),
    loopWhile([
      words.map((word, i) => word.set(v128.load(from.get, 16 * i))),
      words.map((word, i) => v128.store(to.get, word.get, 16 * i)),
      to.set(i32.add(to.get, i32.const(BLOCK_LEN))),
      from.set(i32.add(from.get, i32.const(BLOCK_LEN)))
    ], i32.ltS(from.get, end.get)),
    table.set(i32.add(table.get, i32.const(4))),
    count.set(i32.sub(count.get, i32.const(1)))
  ], i32.gtS(count.get, i32.const(0)))
})

const compare = () => func('compare', 4, ([table, count, len, at], local) => {
  const other = local('i32')
  const end = local('i32')
  const difference = local('v128')
  return [
    loopWhile([
      other.set(i32.load(table.get)),
      end.set(i32.add(at.get, len.get)),
      loopWhile([
        [0, 16, 32, 48].map(part => difference.set(
          v128.or(difference.get, v128.xor(v128.load(at.get, part), v128.load(other.get, part))))),
        other.set(i32.add(other.get, i32.const(BLOCK_LEN))),
        at.set(i32.add(at.get, i32.const(BLOCK_LEN)))
      ], i32.ltS(at.get, end.get)),
      table.set(i32.add(table.get, i32.const(4))),
      count.set(i32.sub(count.get, i32.const(1)))
    ], i32.gtS(count.get, i32.const(0))),
    v128.store(i32.const(OUT), difference.get)
  ]
})

/**
 * Assembles and compiles the kernel.
 *
 * @returns {Kernel}
 * @throws where WebAssembly or its SIMD is refused
 */
export function createSimdKernel () {
  if (memory === undefined) throw new Error('WebAssembly is not available')
  const pages = memory.buffer.byteLength / 65536
  const bytes = module(pages, [
    compressBlock(), compressChunk(), compressMany(), reduce(), copy('gather'), copy('scatter'), compare()
  ])
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { arena: { memory } })
  return /** @type {Kernel} */ (/** @type {unknown} */ ({ name: 'simd', ...exports }))
}
