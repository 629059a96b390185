// A small WebAssembly assembler. It has only the instructions that the kernel uses, under the names of the core
// specification (appendix "Index of Instructions"; chapter "Binary Format" for modules). Code is written as nested
// arrays of bytes: an instruction's operands come before its opcode, so nesting in the source is nesting in the code.

/** @import { Code } from '../../core/types.js' */
/** @typedef {'i32' | 'i64' | 'v128'} Type */
/** @typedef {{ get: Code, set: (value: Code) => Code, tee: (value: Code) => Code }} Local */

/** Unsigned LEB128: indices, sizes, offsets. @param {number} n @returns {number[]} */
const u = n => n < 128 ? [n] : [n & 127 | 128, ...u(n >>> 7)]
/** Signed LEB128: the operand of i32.const. @param {number} n @returns {number[]} */
const s = n => n >= -64 && n < 64 ? [n & 127] : [n & 127 | 128, ...s(n >> 7)]

/** @param {Code} opcode @returns {(...operands: Code[]) => Code} */
const op = opcode => (...operands) => {
  operands.push(opcode)
  return operands
}
/** @param {number} opcode */
const simd = opcode => op([0xfd, ...u(opcode)])
/** A load or store. The static offset is a region of the arena. @param {number[]} opcode @param {number} align log2 */
const memory = (opcode, align) => (/** @type {Code} */ address, /** @type {Code} */ value = [], offset = 0) =>
  [address, value, ...opcode, align, ...u(offset)]

/** @param {number[]} opcode @param {number} [align] */
const load = (opcode, align = 0) => (/** @type {Code} */ address, offset = 0) =>
  memory(opcode, align)(address, [], offset)

export const i32 = {
  const: (/** @type {number} */ n) => /** @type {Code} */ ([0x41, ...s(n | 0)]),
  load: load([0x28]),
  store: memory([0x36], 0),
  add: op(0x6a),
  sub: op(0x6b),
  and: op(0x71),
  or: op(0x72),
  shl: op(0x74),
  shrU: op(0x76),
  rotr: op(0x78),
  xor: op(0x73),
  eq: op(0x46),
  ltS: op(0x48),
  leS: op(0x4c),
  gtS: op(0x4a),
  eqz: op(0x45)
}

export const i64 = {
  const: (/** @type {number} */ n) => /** @type {Code} */ ([0x42, ...s(n)]),
  extendI32u: op(0xad),
  /** The low 32 bits. @param {Code} x */
  low: x => /** @type {Code} */ ([x, 0xa7]),
  /** The high 32 bits. @param {Code} x */
  high: x => i64.low([x, i64.const(32), 0x88]),
  add: op(0x7c),
  or: op(0x84),
  shl: op(0x86)
}

export const v128 = {
  const: (/** @type {ArrayLike<number>} */ words) =>
    /** @type {Code} */ ([0xfd, 12, new Uint8Array(Uint32Array.from(words).buffer)]),
  load: load([0xfd, 0]),
  loadSplat32: load([0xfd, 9]),
  store: memory([0xfd, 11], 0),
  and: simd(78),
  or: simd(80),
  xor: simd(81)
}

export const i8x16 = {
  const: (/** @type {number[]} */ bytes) => /** @type {Code} */ ([0xfd, 12, bytes]),
  splat: simd(15),
  gtS: simd(39),
  /** Byte i of the result is byte `places[i]` (0 to 15) of the value. */
  swizzle: simd(14),
  /** @param {Code} a @param {Code} b @param {number[]} lanes 0..15 of a, 16..31 of b */
  shuffle: (a, b, lanes) => /** @type {Code} */ ([a, b, 0xfd, 13, lanes])
}

export const i32x4 = {
  splat: simd(17),
  replaceLane: (/** @type {Code} */ a, /** @type {number} */ lane, /** @type {Code} */ value) =>
    /** @type {Code} */ ([a, value, 0xfd, 28, lane]),
  add: simd(174),
  shl: simd(171),
  shrU: simd(173),
  /** @param {Code} a @param {Code} b @param {number[]} lanes 0..3 of a, 4..7 of b */
  shuffle: (a, b, lanes) => i8x16.shuffle(a, b, lanes.flatMap(lane => [0, 1, 2, 3].map(byte => 4 * lane + byte)))
}

export const i64x2 = {
  splat: simd(18),
  add: simd(206)
}

/** `test ? a : b`, both evaluated. @param {Code} test @param {Code} a @param {Code} b @returns {Code} */
export const select = (test, a, b) => [a, b, test, 0x1b]
/** @param {Code} test @param {Code} then @returns {Code} */
export const when = (test, then) => [test, 0x04, 0x40, then, 0x0b]
/** @param {Code} test @param {Code} then @param {Code} otherwise @returns {Code} */
export const whenElse = (test, then, otherwise) => [test, 0x04, 0x40, then, 0x05, otherwise, 0x0b]
/**
 * Calls a function of the same module.
 *
 * @param {number} index  of the function @param {Code[]} operands @returns {Code}
 */
export const call = (index, ...operands) => [...operands, 0x10, u(index)]
/**
 * Runs the body, then the test, and repeats both while the test is true.
 *
 * @param {Code} body @param {Code} test
 * @returns {Code}
 */
export const loopWhile = (body, test) => [0x03, 0x40, body, test, 0x0d, 0, 0x0b]

const TYPES = { i32: 0x7f, i64: 0x7e, v128: 0x7b }

/**
 * Assembles a function without a result.
 *
 * @param {string} name  its exported name; empty for a function that is not exported
 * @param {number} params  how many i32 parameters
 * @param {(params: Local[], local: (type: Type) => Local) => Code} write  the body; `local` declares another local
 */
export function func (name, params, write) {
  /** @type {Type[]} */
  const locals = []
  /** @param {number} index @returns {Local} */
  const at = index => ({
    get: [0x20, ...u(index)],
    set: value => [value, 0x21, ...u(index)],
    tee: value => [value, 0x22, ...u(index)]
  })
  const body = write(Array.from({ length: params }, (_, i) => at(i)), type => at(params + locals.push(type) - 1))
  return { name, params, locals, body }
}

/**
 * Assembles a module that imports one memory as `arena.memory` and exports the functions.
 *
 * @param {number} pages  the size of the memory, which never grows, in pages
 * @param {ReturnType<typeof func>[]} functions
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function module (pages, functions) {
  /** @param {Code[]} items @returns {Code} */
  const vector = items => [u(items.length), items]
  /** @param {string} text @returns {Code} */
  const name = text => vector([...text].map(c => c.charCodeAt(0)))
  /** @param {Code} content @returns {Code} */
  const sized = content => {
    const bytes = flatten(content)
    return [u(bytes.length), bytes]
  }
  /** @param {number} id @param {Code[]} items @returns {Code} */
  const section = (id, items) => [id, sized(vector(items))]

  return flatten([
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    section(1, functions.map(f => [0x60, vector(Array(f.params).fill(TYPES.i32)), 0])),
    section(2, [[name('arena'), name('memory'), 2, 1, u(pages), u(pages)]]),
    section(3, functions.map((_, i) => u(i))),
    section(7, functions.flatMap((f, i) => f.name === '' ? [] : [[name(f.name), 0, u(i)]])),
    section(10, functions.map(f => sized([vector(f.locals.map(type => [1, TYPES[type]])), f.body, 0x0b])))
  ])
}

/** @param {Code} code @returns {Uint8Array<ArrayBuffer>} */
function flatten (code) {
  const bytes = /** @type {number[]} */ ([])
  append(code, bytes)
  return Uint8Array.from(bytes)
}

/** @param {Code} code @param {number[]} bytes */
function append (code, bytes) {
  if (typeof code === 'number') bytes.push(code)
  else for (let i = 0; i < code.length; i++) append(code[i], bytes)
}
