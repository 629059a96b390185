// The compression function in plain JavaScript, from the form in the paper to the one with everything
// in local variables. The later forms differ only in where words are kept, so their text is made
// from parts. Source: BLAKE3 paper 2.2.

import { IV, MIXINGS, PERMUTATION, SCHEDULE } from '../../../lib/core/constants.js'

/**
 * @typedef {(cv: ArrayLike<number>, block: ArrayLike<number>, counter: number, len: number, flags: number) =>
 *  Uint32Array} Compress  gives a fresh state of 16 words
 */
/**
 * @typedef {(cv: Uint32Array, cvAt: number, block: Uint32Array, blockAt: number, counter: number, len: number,
 *  flags: number, out: Uint32Array, outAt: number) => void} CompressInPlace  takes every place as a word index, and
 *  writes 8 words, at the end
 */

/** As in the paper: each round permutes the message into a fresh array. @type {Compress} */
export function compressPermuting (cv, block, counter, len, flags) {
  const state = stateOf(cv, counter, len, flags)
  for (let round = 0; ; round++) {
    mixAll(state, block, IN_ORDER)
    if (round === SCHEDULE.length - 1) return feedForward(state, cv)
    const previous = block
    block = PERMUTATION.map(from => previous[from])
  }
}

/** The message does not move, and each round has a fixed list of the words that it takes. @type {Compress} */
export function compressScheduled (cv, block, counter, len, flags) {
  const state = stateOf(cv, counter, len, flags)
  for (const order of SCHEDULE) mixAll(state, block, order)
  return feedForward(state, cv)
}

const IN_ORDER = SCHEDULE[0]

/** @param {Uint32Array} state @param {ArrayLike<number>} block @param {number[]} order */
function mixAll (state, block, order) {
  for (let i = 0; i < MIXINGS.length; i++) mix(state, MIXINGS[i], block[order[2 * i]], block[order[2 * i + 1]])
}

/** @param {Uint32Array} s @param {number[]} at @param {number} x @param {number} y */
function mix (s, at, x, y) {
  const [a, b, c, d] = at
  s[a] = s[a] + s[b] + x
  s[d] = rotr(s[d] ^ s[a], 16)
  s[c] = s[c] + s[d]
  s[b] = rotr(s[b] ^ s[c], 12)
  s[a] = s[a] + s[b] + y
  s[d] = rotr(s[d] ^ s[a], 8)
  s[c] = s[c] + s[d]
  s[b] = rotr(s[b] ^ s[c], 7)
}

/** @param {number} word @param {number} bits */
const rotr = (word, bits) => (word >>> bits) | (word << (32 - bits))

/** @param {ArrayLike<number>} cv @param {number} counter @param {number} len @param {number} flags */
const stateOf = (cv, counter, len, flags) => {
  const high = Math.floor(counter / 2 ** 32)
  return Uint32Array.of(...Array.from(cv).slice(0, 8), ...IV.subarray(0, 4), counter, high, len, flags)
}

/** @param {Uint32Array} state @param {ArrayLike<number>} cv */
function feedForward (state, cv) {
  for (let i = 0; i < 8; i++) {
    state[i] ^= state[i + 8]
    state[i + 8] ^= cv[i]
  }
  return state
}

/**
 * @typedef {object} Form  of a compression whose round is written into it
 * @property {'array' | 'locals'} state  where the 16 words of the state are kept
 * @property {'array' | 'locals'} message  where those of the message are kept
 * @property {boolean} [isInPlace]  true for a `CompressInPlace`, false for a `Compress`
 * @property {boolean} [isUnrolled]  true if the seven rounds are written out, each with its words
 */

const WORDS = PERMUTATION.map((_, i) => i)

/**
 * Compiles a compression of a form for one caller, so that the runs of others do not influence its compiled code.
 *
 * @param {Form} form
 * @returns {Promise<any>} a `Compress`, or a `CompressInPlace`
 */
export async function compressOf (form) {
  const source = `${textOf(form)}\n// copy ${copies++}`
  return (await import(`data:text/javascript,${encodeURIComponent(source)}`)).compress
}

let copies = 0

/** @param {Form} form */
function textOf ({ state, message, isInPlace = false, isUnrolled = false }) {
  const s = WORDS.map(i => state === 'locals' ? `s${i}` : `s[${i}]`)
  const initial = [
    ...WORDS.slice(0, 8).map(i => `cv[cvAt + ${i}]`), ...[...IV.subarray(0, 4)].map(String),
    'counter', 'Math.floor(counter / 4294967296)', 'len', 'flags'
  ]
  const begin = state === 'locals'
    ? s.map((word, i) => `let ${word} = ${initial[i]} | 0`)
    : ['const s = new Uint32Array(16)', ...s.map((word, i) => `${word} = ${initial[i]}`)]

  // In locals the words change places from round to round; in an array they do not move.
  const inLocals = message === 'locals'
  const read = inLocals ? WORDS.map(i => `let m${i} = block[blockAt + ${i}] | 0`) : []
  const wordOf = (/** @type {number} */ i, /** @type {number[]} */ order) => {
    const place = isUnrolled ? order[i] : i
    if (inLocals) return `m${place}`
    return isUnrolled ? `block[blockAt + ${place}]` : `block[blockAt + SCHEDULE[${place} + at]]`
  }
  const round = (/** @type {number[]} */ order) => MIXINGS.map(([a, b, c, d], i) =>
    mixText(s[a], s[b], s[c], s[d], wordOf(2 * i, order), wordOf(2 * i + 1, order)))
  const rounds = isUnrolled
    ? SCHEDULE.flatMap(round)
    : [
        'for (let at = 0; ; at += 16) {', ...round(IN_ORDER), `if (at === ${16 * (SCHEDULE.length - 1)}) break`,
        ...inLocals ? cyclesOf(PERMUTATION).map(movesText) : [],
        '}'
      ]

  const end = [
    ...WORDS.slice(0, 8).map(i => `out[outAt + ${i}] = ${s[i]} ^ ${s[i + 8]}`),
    ...isInPlace ? [] : [...WORDS.slice(0, 8).map(i => `out[${i + 8}] = ${s[i + 8]} ^ cv[cvAt + ${i}]`), 'return out']
  ]
  const head = isInPlace
    ? ['export function compress (cv, cvAt, block, blockAt, counter, len, flags, out, outAt) {']
    : [
        'export function compress (cv, block, counter, len, flags) {',
        'const cvAt = 0, blockAt = 0, outAt = 0, out = new Uint32Array(16)'
      ]
  const schedule = `const SCHEDULE = Uint8Array.of(${SCHEDULE.flat()})`
  return [schedule, ...head, ...begin, ...read, ...rounds, ...end, '}'].join('\n')
}

/** @param {string} a @param {string} b @param {string} c @param {string} d @param {string} x @param {string} y */
function mixText (a, b, c, d, x, y) {
  const turned = (/** @type {string} */ word, /** @type {number} */ bits) =>
    `${word} = (${word} >>> ${bits}) | (${word} << ${32 - bits})`
  const half = (/** @type {string} */ word, /** @type {number} */ r1, /** @type {number} */ r2) => [
    `${a} = (${a} + ${b} + ${word}) | 0; ${d} ^= ${a}; ${turned(d, r1)}`,
    `${c} = (${c} + ${d}) | 0; ${b} ^= ${c}; ${turned(b, r2)}`
  ]
  return [...half(x, 16, 12), ...half(y, 8, 7)].join('\n')
}

/** The cycles of a permutation in which place `i` takes the value at `from[i]`. @param {number[]} from */
function cyclesOf (from) {
  const left = new Set(from)
  const cycles = []
  for (const start of left) {
    const cycle = [start]
    for (let next = from[start]; next !== start; next = from[next]) cycle.push(next)
    cycle.forEach(place => left.delete(place))
    cycles.push(cycle)
  }
  return cycles
}

/** @param {number[]} cycle */
const movesText = cycle => `const first${cycle[0]} = m${cycle[0]}; ` +
  cycle.map((place, i) => `m${place} = ${i + 1 < cycle.length ? `m${cycle[i + 1]}` : `first${cycle[0]}`}`).join('; ')
