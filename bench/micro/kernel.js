// Kernels to try things on: the functions of a four-lane kernel, with the choices that were made in lib/kernel/simd.js left open.
// Source: BLAKE3 paper 2.2 (compression), 5.3 (SIMD).

import { BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, MIXINGS, PARENT, PERMUTATION, SCHEDULE } from '../../lib/constants.js'
import { func, i32, i32x4, i8x16, loopWhile, module, select, v128 } from '../../lib/kernel/assembler.js'

/** @import { Local } from '../../lib/kernel/assembler.js' */
/** @import { Code } from '../../lib/types.js' */

/**
 * How words are computed with, one or four at a time.
 *
 * @typedef {object} Arithmetic
 * @property {'i32' | 'v128'} type
 * @property {(n: number) => Code} constant
 * @property {(word: Code) => Code} spread  one i32 to all lanes
 * @property {(a: Code, b: Code) => Code} add
 * @property {(a: Code, b: Code) => Code} xor
 * @property {(x: Code, bits: number) => Code} rotr
 * @property {boolean} [addsWordLast]  (a + b) + word, as the paper writes it; else (a + word) + b, where the word is there before b is
 */

/** @type {Arithmetic} */
export const ONE_LANE = {
  type: 'i32',
  constant: i32.const,
  spread: word => word,
  add: i32.add,
  xor: (a, b) => [a, b, 0x73],
  rotr: (x, bits) => [x, i32.const(bits), 0x78]
}

/** Ways to rotate the four words of a vector. @type {Record<string, (x: Code, bits: number) => Code>} */
export const ROTATIONS = {
  shifts: (x, bits) => v128.or(i32x4.shrU(x, i32.const(bits)), i32x4.shl(x, i32.const(32 - bits))),
  /** By whole bytes only. */
  shuffle: (x, bits) => i8x16.shuffle(x, x, bytesTurnedBy(bits)),
  swizzle: (x, bits) => [x, i8x16.const(bytesTurnedBy(bits)), 0xfd, 14]
}

/** @param {number} bits */
const bytesTurnedBy = bits => Array.from({ length: 16 }, (_, i) => (i & ~3) + ((i + bits / 8) & 3))

/** @param {{ by16?: keyof typeof ROTATIONS, by8?: keyof typeof ROTATIONS, addsWordLast?: boolean }} [choices] @returns {Arithmetic} */
export const fourLanes = ({ by16 = 'shuffle', by8 = 'shifts', addsWordLast = false } = {}) => ({
  type: 'v128',
  constant: n => v128.const(Array(4).fill(n)),
  spread: i32x4.splat,
  add: i32x4.add,
  xor: v128.xor,
  rotr: (x, bits) => ROTATIONS[bits === 16 ? by16 : bits === 8 ? by8 : 'shifts'](x, bits),
  addsWordLast
})

/** @param {Arithmetic} lanes @param {Local[]} state  a, b, c, d @param {Code} x @param {Code} y @returns {Code} */
const mix = ({ add, xor, rotr, addsWordLast }, [a, b, c, d], x, y) => {
  const half = (/** @type {Code} */ word, /** @type {number} */ r1, /** @type {number} */ r2) => [
    a.set(addsWordLast ? add(add(a.get, b.get), word) : add(add(a.get, word), b.get)),
    d.set(xor(d.get, a.get)), d.set(rotr(d.get, r1)),
    c.set(add(c.get, d.get)),
    b.set(xor(b.get, c.get)), b.set(rotr(b.get, r2))
  ]
  return [half(x, 16, 12), half(y, 8, 7)]
}

/** @param {Arithmetic} lanes @param {Local[]} state @param {Code[]} words  of the message @param {number[]} order @returns {Code} */
const round = (lanes, state, words, order) =>
  MIXINGS.map((at, i) => mix(lanes, at.map(place => state[place]), words[order[2 * i]], words[order[2 * i + 1]]))

/** Seven rounds, written out. @param {Arithmetic} lanes @param {Local[]} state @param {Code[]} words @returns {Code} */
const unrolled = (lanes, state, words) => SCHEDULE.map(order => round(lanes, state, words, order))

/** One round in a loop: the words change places between rounds. @param {Arithmetic} lanes @param {Local[]} state @param {Local[]} words @param {Local} count @returns {Code} */
const looped = (lanes, state, words, count) => [
  count.set(i32.const(SCHEDULE.length)),
  loopWhile([
    round(lanes, state, words.map(word => word.get), SCHEDULE[0]),
    PERMUTATION.map(from => words[from].get), // all of them stand on the stack of operands before the first is set
    words.toReversed().map(word => word.set([]))
  ], count.tee(i32.sub(count.get, i32.const(1))))
]

/**
 * One compression in every lane: chaining values become the next.
 *
 * @param {Arithmetic} lanes
 * @param {{ cv: Local[], state: Local[], counter: Code, flags: Code }} registers  of 8 and 16 locals
 * @param {Code} rounds
 * @returns {Code}
 */
const compress = ({ constant, spread, xor }, { cv, state, counter, flags }, rounds) => [
  cv.map((word, i) => state[i].set(word.get)),
  [...IV.subarray(0, 4)].map((word, i) => state[8 + i].set(constant(word))),
  state[12].set(counter),
  state[13].set(constant(0)),
  state[14].set(constant(BLOCK_LEN)),
  state[15].set(spread(flags)),
  rounds,
  cv.map((word, i) => word.set(xor(state[i].get, state[8 + i].get)))
]

const WORDS = PERMUTATION.map((_, i) => i)
/** @param {(type: 'i32' | 'v128') => Local} local @param {Arithmetic} lanes */
const registers = (local, { type }) => ({ cv: WORDS.slice(0, 8).map(() => local(type)), state: WORDS.map(() => local(type)) })
/** Chunk counters of four lanes. @param {Code} first */
const upFrom = first => i32x4.add(i32x4.splat(first), v128.const([0, 1, 2, 3]))

/** @param {Local} block  byte offset within the chunk @returns {Code} */
const flagsAt = block => i32.or(
  select(block.get, i32.const(0), i32.const(CHUNK_START)),
  select(i32.eq(block.get, i32.const(CHUNK_LEN - BLOCK_LEN)), i32.const(CHUNK_END), i32.const(0))
)

/**
 * A block of each of four chunks, transposed by the caller: word i of all four at message + 16 * i, and so the chaining values, which are
 * replaced.
 *
 * @param {{ message: number, cvs: number }} places
 */
export const compressFour = ({ message, cvs }) => func('compressFour', 2, ([counter, flags], local) => {
  const lanes = fourLanes()
  const { cv, state } = registers(local, lanes)
  return [
    cv.map((word, i) => word.set(v128.load(i32.const(cvs), 16 * i))),
    compress(lanes, { cv, state, counter: upFrom(counter.get), flags: flags.get },
      unrolled(lanes, state, WORDS.map(i => v128.load(i32.const(message), 16 * i)))),
    cv.map((word, i) => v128.store(i32.const(cvs), word.get, 16 * i))
  ]
})

/**
 * Four whole chunks, transposed by the caller: word i of block b at message + 256 * b + 16 * i. Chaining values come out transposed.
 *
 * @param {{ message: number, cvs: number }} places
 */
export const compressFourChunks = ({ message, cvs }) => func('compressFourChunks', 1, ([counter], local) => {
  const lanes = fourLanes()
  const block = local('i32')
  const at = local('i32')
  const { cv, state } = registers(local, lanes)
  return [
    cv.map((word, i) => word.set(lanes.constant(IV[i]))),
    at.set(i32.const(message)),
    loopWhile([
      compress(lanes, { cv, state, counter: upFrom(counter.get), flags: flagsAt(block) },
        unrolled(lanes, state, WORDS.map(i => v128.load(at.get, 16 * i)))),
      at.set(i32.add(at.get, i32.const(16 * 16))),
      block.set(i32.add(block.get, i32.const(BLOCK_LEN)))
    ], i32.ltS(block.get, i32.const(CHUNK_LEN))),
    cv.map((word, i) => v128.store(i32.const(cvs), word.get, 16 * i))
  ]
})

/** One parent: the pair at `pair` becomes 32 bytes at `out`. */
export const compressParent = func('compressParent', 3, ([pair, flags, out], local) => {
  const { cv, state } = registers(local, ONE_LANE)
  const words = WORDS.map(() => local('i32'))
  return [
    cv.map((word, i) => word.set(i32.const(IV[i]))),
    words.map((word, i) => word.set(i32.load(pair.get, 4 * i))),
    compress(ONE_LANE, { cv, state, counter: i32.const(0), flags: flags.get }, unrolled(ONE_LANE, state, words.map(word => word.get))),
    cv.map((word, i) => [out.get, word.get, 0x36, 2, 4 * i]) // i32.store
  ]
})

/**
 * @typedef {object} Choices  for `compressMany`
 * @property {Arithmetic} [lanes]
 * @property {'locals' | 'memory'} [message]  where transposed words wait for their rounds
 * @property {boolean} [isLooped]  is the round written once?
 * @property {number} [scratch]  256 bytes, for words in memory
 */

/**
 * Inputs side by side, four at a time, transposed here: chunks, counted upwards, or pairs when `flags` has PARENT. `table` holds a pointer
 * to each; table and output are used up to the next multiple of four.
 *
 * @param {Choices} [choices]
 */
export const compressMany = ({ lanes = fourLanes(), message = 'locals', isLooped = false, scratch = 0 } = {}) =>
  func('compressMany', 5, ([table, count, flags, counter, out], local) => {
    const block = local('i32')
    const lastBlock = local('i32')
    const rounds = local('i32')
    const pointers = [0, 1, 2, 3].map(() => local('i32'))
    const { cv, state } = registers(local, lanes)
    const words = WORDS.map(() => local('v128'))
    const spare = [0, 1, 2, 3].map(() => local('v128'))
    const isParent = i32.and(flags.get, i32.const(PARENT))

    const inMemory = WORDS.map(i => v128.load(i32.const(scratch), 16 * i))
    const transposed = [0, 4, 8, 12].map(first => {
      const four = words.slice(first, first + 4)
      return [
        four.map((row, lane) => row.set(v128.load(i32.add(pointers[lane].get, block.get), 4 * first))),
        transpose(four, spare),
        message === 'memory' ? four.map((row, i) => v128.store(i32.const(scratch), row.get, 16 * (first + i))) : []
      ]
    })
    const allRounds = isLooped
      ? looped(lanes, state, words, rounds)
      : unrolled(lanes, state, message === 'memory' ? inMemory : words.map(word => word.get))

    return [
      lastBlock.set(select(isParent, i32.const(0), i32.const(CHUNK_LEN - BLOCK_LEN))),
      loopWhile([
        pointers.map((pointer, lane) => pointer.set(i32.load(table.get, 4 * lane))),
        cv.map((word, i) => word.set(lanes.constant(IV[i]))),
        block.set(i32.const(0)),
        loopWhile([
          transposed,
          compress(lanes, {
            cv,
            state,
            counter: select(isParent, lanes.constant(0), upFrom(counter.get)),
            flags: select(isParent, flags.get, i32.or(flags.get, flagsAt(block)))
          }, allRounds),
          block.set(i32.add(block.get, i32.const(BLOCK_LEN)))
        ], i32.eqz(i32.gtS(block.get, lastBlock.get))),
        transpose(cv.slice(0, 4), spare),
        transpose(cv.slice(4, 8), spare),
        cv.map((row, i) => v128.store(out.get, row.get, HASH_LEN * (i % 4) + (i < 4 ? 0 : 16))),
        counter.set(i32.add(counter.get, i32.const(4))),
        table.set(i32.add(table.get, i32.const(16))),
        out.set(i32.add(out.get, i32.const(4 * HASH_LEN))),
        count.set(i32.sub(count.get, i32.const(4)))
      ], i32.gtS(count.get, i32.const(0)))
    ]
  })

/** Four vectors of four words become their transpose. @param {Local[]} rows @param {Local[]} spare  four @returns {Code} */
const transpose = (rows, spare) => {
  const shuffled = (/** @type {Local} */ a, /** @type {Local} */ b, /** @type {number[]} */ lanes) => i32x4.shuffle(a.get, b.get, lanes)
  return [
    spare[0].set(shuffled(rows[0], rows[1], [0, 4, 1, 5])),
    spare[1].set(shuffled(rows[2], rows[3], [0, 4, 1, 5])),
    spare[2].set(shuffled(rows[0], rows[1], [2, 6, 3, 7])),
    spare[3].set(shuffled(rows[2], rows[3], [2, 6, 3, 7])),
    rows[0].set(shuffled(spare[0], spare[1], [0, 1, 4, 5])),
    rows[1].set(shuffled(spare[0], spare[1], [2, 3, 6, 7])),
    rows[2].set(shuffled(spare[2], spare[3], [0, 1, 4, 5])),
    rows[3].set(shuffled(spare[2], spare[3], [2, 3, 6, 7]))
  ]
}

/**
 * Compiles functions over a memory.
 *
 * @param {WebAssembly.Memory} memory
 * @param {ReturnType<typeof func>[]} functions
 * @returns {{ exports: Record<string, (...args: number[]) => void>, bytes: number }}
 */
export function compile (memory, functions) {
  const bytes = module(memory.buffer.byteLength / 65536, functions)
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { arena: { memory } })
  return { exports: /** @type {any} */ (exports), bytes: bytes.length }
}
