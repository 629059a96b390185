// The mixing function of BLAKE3 and its seven rounds, written once for words and for vectors of four words.
// Source: BLAKE3 paper 2.2 and tables 2 and 3.

import { MIXINGS, SCHEDULE } from '../../core/constants.js'
import { i32, i32x4, i8x16, v128 } from './assembler.js'

/** @import { Local, Type } from './assembler.js' */
/** @import { Code } from '../../core/types.js' */

/**
 * The operations that the mixing function consists of.
 *
 * @typedef {object} Arithmetic
 * @property {(a: Code, b: Code) => Code} add  modulo 2^32
 * @property {(a: Code, b: Code) => Code} xor
 * @property {(x: Local, value: Code, bits: number) => Code} setRotated  sets a local to a value rotated to the right
 */

/**
 * Four words of the state and two of the message.
 *
 * @typedef {{ a: Local, b: Local, c: Local, d: Local, x: Code, y: Code }} Mixing
 */

const BYTES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]

/** Arithmetic on single words. @type {Arithmetic} */
export const wordArithmetic = {
  add: i32.add,
  xor: i32.xor,
  setRotated: (x, value, bits) => x.set(i32.rotr(value, i32.const(bits)))
}

/**
 * Arithmetic on vectors of four words. Rotations by whole bytes are swizzles. The masks of the swizzles are locals,
 * because engines build a constant again at each use.
 *
 * @param {(type: Type) => Local} local
 * @returns {{ arithmetic: Arithmetic, setUp: Code }} `setUp` must come before all other code
 */
export const vectorArithmetic = local => {
  const masks = /** @type {Record<number, Local>} */ ({ 16: local('v128'), 8: local('v128') })
  /** Places of the bytes of four words that are rotated to the right. @param {number} bytes */
  const rotatedBy = bytes => i8x16.const(BYTES.map(byte => (byte & ~3) + (byte + bytes) % 4))
  return {
    arithmetic: {
      add: i32x4.add,
      xor: v128.xor,
      setRotated: (x, value, bits) => x.set(bits in masks
        ? i8x16.swizzle(value, masks[bits].get)
        : v128.or(i32x4.shrU(x.tee(value), i32.const(bits)), i32x4.shl(x.get, i32.const(32 - bits))))
    },
    setUp: [masks[16].set(rotatedBy(2)), masks[8].set(rotatedBy(1))]
  }
}

/**
 * Interleaves mixings that do not depend on each other, line by line, because some engines do not reorder code. The
 * message word is added first, because it is available before `b` is.
 *
 * @param {Arithmetic} arithmetic @param {Mixing[]} mixings
 * @returns {Code}
 */
export const mix = ({ add, xor, setRotated }, mixings) => [
  mixings.map(({ a, b, x }) => a.set(add(add(a.get, x), b.get))),
  mixings.map(({ a, d }) => setRotated(d, xor(d.get, a.get), 16)),
  mixings.map(({ c, d }) => c.set(add(c.get, d.get))),
  mixings.map(({ b, c }) => setRotated(b, xor(b.get, c.get), 12)),
  mixings.map(({ a, b, y }) => a.set(add(add(a.get, y), b.get))),
  mixings.map(({ a, d }) => setRotated(d, xor(d.get, a.get), 8)),
  mixings.map(({ c, d }) => c.set(add(c.get, d.get))),
  mixings.map(({ b, c }) => setRotated(b, xor(b.get, c.get), 7))
]

/**
 * All seven rounds, written out, so that message words never move: each mixing names the two words that it takes.
 *
 * @param {Arithmetic} arithmetic
 * @param {Local[]} state  16
 * @param {{ get: Code }[]} message  16
 * @param {number} sideBySide  mixings that are interleaved: 1, 2 or 4
 * @returns {Code}
 */
export const sevenRounds = (arithmetic, state, message, sideBySide) => SCHEDULE.map(round => {
  const mixings = MIXINGS.map(([a, b, c, d], i) => {
    const [x, y] = [message[round[2 * i]].get, message[round[2 * i + 1]].get]
    return { a: state[a], b: state[b], c: state[c], d: state[d], x, y }
  })
  const groups = []
  for (let i = 0; i < mixings.length; i += sideBySide) groups.push(mixings.slice(i, i + sideBySide))
  return groups.map(group => mix(arithmetic, group))
})
