// Kernels for experiments: the functions of a four-lane kernel, with the choices that were made in
// lib/engine/kernel/lanes.js left open. Source: BLAKE3 paper 2.2 (compression), 5.3 (SIMD).

import {
  BLOCK_LEN, CHUNK_END, CHUNK_LEN, CHUNK_START, HASH_LEN, IV, MIXINGS, PARENT, PERMUTATION, SCHEDULE
} from '../../lib/core/constants.js'
import { func, i32, i32x4, i8x16, loopWhile, module, select, v128 } from '../../lib/engine/kernel/assembler.js'

/** @import { Local } from '../../lib/engine/kernel/assembler.js' */
/** @import { Code } from '../../lib/core/types.js' */

/**
 * Arithmetic with words, one or four at a time.
 *
 * @typedef {object} Arithmetic
 * @property {'i32' | 'v128'} type
 * @property {(n: number) => Code} constant
 * @property {(word: Code) => Code} spread  one i32 to all lanes
 * @property {(a: Code, b: Code) => Code} add
 * @property {(a: Code, b: Code) => Code} xor
 * @property {(x: Local, bits: number) => Code} rotr
 * @property {Code} setUp  comes first in a function
 */

/** The choices for mixing four lanes. @typedef {typeof PLAIN} Mixing */

/** Mixing in its plainest form. */
export const PLAIN = {
  by16: /** @type {keyof typeof ROTATIONS} */ ('shuffle'),
  by8: /** @type {keyof typeof ROTATIONS} */ ('shifts'),
  /** True if each function keeps the masks of its swizzles in local variables. */
  keepsMasks: false,
  /** True: (a + b) + word, as in the paper; false: (a + word) + b, because the word is ready before b is. */
  addsWordLast: true,
  /**
   * True if independent mixings are interleaved line by line; false if they follow one another.
   */
  isSideBySide: false
}

/** Mixing as lib/engine/kernel/lanes.js does it. @type {Mixing} */
export const SHIPPED = { by16: 'swizzle', by8: 'swizzle', keepsMasks: true, addsWordLast: false, isSideBySide: true }

/** Ways to rotate the four words of a vector. A shuffle, and a swizzle by a mask, move whole bytes. */
const ROTATIONS = {
  shifts: (/** @type {Local} */ x, /** @type {number} */ bits) =>
    v128.or(i32x4.shrU(x.get, i32.const(bits)), i32x4.shl(x.get, i32.const(32 - bits))),
  shuffle: (/** @type {Local} */ x, /** @type {number} */ bits) => i8x16.shuffle(x.get, x.get, bytesTurnedBy(bits)),
  swizzle: (/** @type {Local} */ x, /** @type {number} */ _bits, /** @type {Code} */ mask) => [x.get, mask, 0xfd, 14]
}

/** @param {number} bits */
const bytesTurnedBy = bits => Array.from({ length: 16 }, (_, i) => (i & ~3) + ((i + bits / 8) & 3))

/** @type {Arithmetic} */
const ONE_LANE = {
  type: 'i32',
  constant: i32.const,
  spread: word => word,
  add: i32.add,
  xor: (a, b) => [a, b, 0x73],
  rotr: (x, bits) => [x.get, i32.const(bits), 0x78],
  setUp: []
}

/** @param {Mixing} mixing @param {(type: 'v128') => Local} local @returns {Arithmetic} */
function fourLanes ({ by16, by8, keepsMasks }, local) {
  const ways = { 16: ROTATIONS[by16], 12: ROTATIONS.shifts, 8: ROTATIONS[by8], 7: ROTATIONS.shifts }
  const masks = [16, 8].map(bits => {
    const kept = keepsMasks ? local('v128') : undefined
    return { bits, mask: i8x16.const(bytesTurnedBy(bits)), kept }
  })
  return {
    type: 'v128',
    constant: n => v128.const(Array(4).fill(n)),
    spread: i32x4.splat,
    add: i32x4.add,
    xor: v128.xor,
    rotr (x, bits) {
      const { mask, kept } = masks.find(mask => mask.bits === bits) ?? { mask: [], kept: undefined }
      return ways[/** @type {16} */ (bits)](x, bits, kept ? kept.get : mask)
    },
    setUp: masks.map(({ mask, kept }) => kept ? kept.set(mask) : [])
  }
}

/** @typedef {{ a: Local, b: Local, c: Local, d: Local, x: Code, y: Code }} Operands  of a mixing */

/**
 * The lines of the paper's G.
 *
 * @param {Arithmetic} words
 * @param {boolean} addsWordLast
 * @returns {((operands: Operands) => Code)[]}
 */
function linesOf ({ add, xor, rotr }, addsWordLast) {
  const sum = (/** @type {Local} */ a, /** @type {Local} */ b, /** @type {Code} */ word) =>
    addsWordLast ? add(add(a.get, b.get), word) : add(add(a.get, word), b.get)
  const turned = (/** @type {Local} */ to, /** @type {Local} */ by, /** @type {number} */ bits) =>
    [to.set(xor(to.get, by.get)), to.set(rotr(to, bits))]
  return [
    ({ a, b, x }) => a.set(sum(a, b, x)),
    ({ a, d }) => turned(d, a, 16),
    ({ c, d }) => c.set(add(c.get, d.get)),
    ({ b, c }) => turned(b, c, 12),
    ({ a, b, y }) => a.set(sum(a, b, y)),
    ({ a, d }) => turned(d, a, 8),
    ({ c, d }) => c.set(add(c.get, d.get)),
    ({ b, c }) => turned(b, c, 7)
  ]
}

/**
 * @param {Arithmetic} arithmetic @param {Pick<Mixing, 'addsWordLast' | 'isSideBySide'>} mixing
 * @param {Local[]} state @param {Code[]} words  of the message @param {number[]} order  in which the round takes them
 * @returns {Code}
 */
function round (arithmetic, { addsWordLast, isSideBySide }, state, words, order) {
  const lines = linesOf(arithmetic, addsWordLast)
  const all = MIXINGS.map(([a, b, c, d], i) => (
    { a: state[a], b: state[b], c: state[c], d: state[d], x: words[order[2 * i]], y: words[order[2 * i + 1]] }))
  return [all.slice(0, 4), all.slice(4)].map(four => isSideBySide
    ? lines.map(line => four.map(line))
    : four.map(operands => lines.map(line => line(operands))))
}

/**
 * Seven rounds, written out.
 *
 * @param {Arithmetic} arithmetic
 * @param {Mixing} mixing
 * @param {Local[]} state
 * @param {Code[]} words
 * @returns {Code}
 */
const unrolled = (arithmetic, mixing, state, words) =>
  SCHEDULE.map(order => round(arithmetic, mixing, state, words, order))

/**
 * One round in a loop: the words change places in between.
 *
 * @param {Arithmetic} arithmetic
 * @param {Mixing} mixing
 * @param {Local[]} state
 * @param {Local[]} words
 * @param {Local} count
 * @returns {Code}
 */
const looped = (arithmetic, mixing, state, words, count) => [
  count.set(i32.const(SCHEDULE.length)),
  loopWhile([
    round(arithmetic, mixing, state, words.map(word => word.get), SCHEDULE[0]),
    PERMUTATION.map(from => words[from].get), // all of them are on the stack of operands before the first is set
    words.toReversed().map(word => word.set([]))
  ], count.tee(i32.sub(count.get, i32.const(1))))
]

/** @typedef {{ get: Code, set: (value: Code) => Code }} Place  a local variable, or memory */

/**
 * One compression in every lane: chaining values become the next.
 *
 * @param {Arithmetic} arithmetic
 * @param {{ cv: Place[], state: Local[], counter: Code, flags: Code }} registers  of 8 and 16 words
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
/** @param {(type: 'i32' | 'v128') => Local} local @param {Arithmetic} arithmetic */
const registers = (local, { type }) => ({
  cv: WORDS.slice(0, 8).map(() => local(type)),
  state: WORDS.map(() => local(type))
})
/** Chunk counters of four lanes. @param {Code} first */
const upFrom = first => i32x4.add(i32x4.splat(first), v128.const([0, 1, 2, 3]))

/** @param {Local} block  byte offset within the chunk @returns {Code} */
const flagsAt = block => i32.or(
  select(block.get, i32.const(0), i32.const(CHUNK_START)),
  select(i32.eq(block.get, i32.const(CHUNK_LEN - BLOCK_LEN)), i32.const(CHUNK_END), i32.const(0))
)

/**
 * A block of each of four chunks, transposed by the caller: word i of all four at message + 16 * i, and so the
 * chaining values, which are replaced.
 *
 * @param {{ message: number, cvs: number }} places
 */
export const compressFour = ({ message, cvs }) => func('compressFour', 2, ([counter, flags], local) => {
  const lanes = fourLanes(PLAIN, local)
  const { cv, state } = registers(local, lanes)
  return [
    cv.map((word, i) => word.set(v128.load(i32.const(cvs), 16 * i))),
    compress(lanes, { cv, state, counter: upFrom(counter.get), flags: flags.get },
      unrolled(lanes, PLAIN, state, WORDS.map(i => v128.load(i32.const(message), 16 * i)))),
    cv.map((word, i) => v128.store(i32.const(cvs), word.get, 16 * i))
  ]
})

/**
 * Four whole chunks, transposed by the caller: word i of block b at message + 256 * b + 16 * i. Chaining values come
 * out transposed.
 *
 * @param {{ message: number, cvs: number }} places
 */
export const compressFourChunks = ({ message, cvs }) => func('compressFourChunks', 1, ([counter], local) => {
  const lanes = fourLanes(PLAIN, local)
  const block = local('i32')
  const at = local('i32')
  const { cv, state } = registers(local, lanes)
  return [
    cv.map((word, i) => word.set(lanes.constant(IV[i]))),
    at.set(i32.const(message)),
    loopWhile([
      compress(lanes, { cv, state, counter: upFrom(counter.get), flags: flagsAt(block) },
        unrolled(lanes, PLAIN, state, WORDS.map(i => v128.load(at.get, 16 * i)))),
      at.set(i32.add(at.get, i32.const(16 * 16))),
      block.set(i32.add(block.get, i32.const(BLOCK_LEN)))
    ], i32.ltS(block.get, i32.const(CHUNK_LEN))),
    cv.map((word, i) => v128.store(i32.const(cvs), word.get, 16 * i))
  ]
})

/** @param {Local} address @param {Local} word @param {number} offset @returns {Code} */
const storeWord = (address, word, offset) => [address.get, word.get, 0x36, 2, offset] // i32.store, offsets below 128

/** One parent: the pair at `pair` becomes 32 bytes at `out`. */
export const compressParent = func('compressParent', 3, ([pair, flags, out], local) => {
  const { cv, state } = registers(local, ONE_LANE)
  const words = WORDS.map(() => local('i32'))
  const rounds = unrolled(ONE_LANE, PLAIN, state, words.map(word => word.get))
  return [
    cv.map((word, i) => word.set(i32.const(IV[i]))),
    words.map((word, i) => word.set(i32.load(pair.get, 4 * i))),
    compress(ONE_LANE, { cv, state, counter: i32.const(0), flags: flags.get }, rounds),
    cv.map((word, i) => storeWord(out, word, 4 * i))
  ]
})

/**
 * @typedef {object} Choices  for `compressMany`; defaults: those of lib
 * @property {Mixing} [mixing]
 * @property {'locals' | 'memory'} [message]  where transposed words wait for their rounds
 * @property {'locals' | 'memory'} [cvs]  where chaining values wait from block to block
 * @property {boolean} [isLooped]  true if the round is written once. Then the message moves, in local variables
 */
/** Bytes for what waits in memory: 16 words of the message and 8 of chaining values, four lanes each. */
export const SCRATCH_LEN = 24 * 16

/**
 * Inputs side by side, four at a time, transposed here: chunks, counted upwards, or pairs when `flags` has PARENT.
 * `table` holds a pointer to each; table and output are used up to the next multiple of four.
 *
 * @param {number} scratch  SCRATCH_LEN bytes
 * @param {Choices} [choices]
 */
export const compressMany = (
  scratch, { isLooped = false, mixing = SHIPPED, message = isLooped ? 'locals' : 'memory', cvs = 'memory' } = {}
) =>
  func('compressMany', 5, ([table, count, flags, counter, out], local) => {
    const lanes = fourLanes(mixing, local)
    const block = local('i32')
    const lastBlock = local('i32')
    const rounds = local('i32')
    const pointers = [0, 1, 2, 3].map(() => local('i32'))
    const { cv: cvLocals, state } = registers(local, lanes)
    const words = WORDS.map(() => local('v128'))
    const spare = [0, 1, 2, 3].map(() => local('v128'))
    const isParent = i32.and(flags.get, i32.const(PARENT))

    /** Memory for vector `i`. @param {number} i @returns {Place} */
    const inMemory = i => ({
      get: v128.load(i32.const(scratch), 16 * i),
      set: value => v128.store(i32.const(scratch), value, 16 * i)
    })
    const cv = cvs === 'memory' ? cvLocals.map((_, i) => inMemory(16 + i)) : cvLocals
    const waiting = message === 'memory' ? words.map((_, i) => inMemory(i)) : words

    const transposed = [0, 4, 8, 12].map(first => {
      const four = words.slice(first, first + 4)
      return [
        four.map((row, lane) => row.set(v128.load(i32.add(pointers[lane].get, block.get), 4 * first))),
        transpose(four, waiting.slice(first, first + 4), spare)
      ]
    })
    const blockOfFour = compress(lanes, {
      cv,
      state,
      counter: select(isParent, lanes.constant(0), upFrom(counter.get)),
      flags: select(isParent, flags.get, i32.or(flags.get, flagsAt(block)))
    }, isLooped
      ? looped(lanes, mixing, state, words, rounds)
      : unrolled(lanes, mixing, state, waiting.map(word => word.get)))

    return [
      lanes.setUp,
      lastBlock.set(select(isParent, i32.const(0), i32.const(CHUNK_LEN - BLOCK_LEN))),
      loopWhile([
        pointers.map((pointer, lane) => pointer.set(i32.load(table.get, 4 * lane))),
        cv.map((word, i) => word.set(lanes.constant(IV[i]))),
        block.set(i32.const(0)),
        loopWhile(
          [transposed, blockOfFour, block.set(i32.add(block.get, i32.const(BLOCK_LEN)))],
          i32.eqz(i32.gtS(block.get, lastBlock.get))
        ),
        [0, 4].map(first => [
          transpose(cv.slice(first, first + 4), state.slice(0, 4), spare),
          state.slice(0, 4).map((half, lane) => v128.store(out.get, half.get, HASH_LEN * lane + 4 * first))
        ]),
        counter.set(i32.add(counter.get, i32.const(4))),
        table.set(i32.add(table.get, i32.const(16))),
        out.set(i32.add(out.get, i32.const(4 * HASH_LEN))),
        count.set(i32.sub(count.get, i32.const(4)))
      ], i32.gtS(count.get, i32.const(0)))
    ]
  })

/**
 * Four vectors of four words become their transpose.
 *
 * @param {Place[]} rows @param {Place[]} columns  may be the rows themselves @param {Local[]} spare  four
 * @returns {Code}
 */
const transpose = (rows, columns, spare) => {
  const shuffled = (/** @type {Place} */ a, /** @type {Place} */ b, /** @type {number[]} */ lanes) =>
    i32x4.shuffle(a.get, b.get, lanes)
  return [
    spare[0].set(shuffled(rows[0], rows[1], [0, 4, 1, 5])),
    spare[1].set(shuffled(rows[2], rows[3], [0, 4, 1, 5])),
    spare[2].set(shuffled(rows[0], rows[1], [2, 6, 3, 7])),
    spare[3].set(shuffled(rows[2], rows[3], [2, 6, 3, 7])),
    columns[0].set(shuffled(spare[0], spare[1], [0, 1, 4, 5])),
    columns[1].set(shuffled(spare[0], spare[1], [2, 3, 6, 7])),
    columns[2].set(shuffled(spare[2], spare[3], [0, 1, 4, 5])),
    columns[3].set(shuffled(spare[2], spare[3], [2, 3, 6, 7]))
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
