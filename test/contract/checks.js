// Helpers of the contract tests: they make inputs, compare results, and read the databases. The comparisons throw their
// own errors, because callers may use any test framework.

import { createOutboardSync } from '../../encoder/create-outboard.js'
import { encodeSliceSync } from '../../encoder/slice.js'
import { concat } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'
import { VIEWS } from '../../store/storage/format/keys.js'
import { levelsAt } from '../../store/storage/level/levels.js'

/** @import { RangesLike } from '../../lib/tree/ranges.js' */
/** @import { DatabasePair } from '../../store/storage/level/levels.js' */
/** @import { Where } from './index.js' */

export const KIB = 1024
export const MIB = 1024 * KIB
/** Bytes of a chunk group. */
export const GROUP_LEN = 16 * KIB

/** Makes bytes without structure, the same ones at every call. @param {number} len @param {number} [seed] */
export const noise = (len, seed = len) => hash(new TextEncoder().encode(`noise ${seed}`), len)

/** Returns a number and its two neighbours. @param {number} size */
export const around = size => [size - 1, size, size + 1]

/** Returns positions in a blob where a unit begins or ends, and their neighbours. @param {number} size */
export const bordersOf = size =>
  [...new Set([0, 1, KIB, GROUP_LEN, 64 * KIB, 128 * KIB, MIB, size - GROUP_LEN, size].flatMap(around))]
    .filter(border => border >= 0 && border <= size + 1)

/** Gives ranges that begin at a border, and end at some of the other borders or a little later. @param {number} size */
export function * rangesOf (size) {
  const borders = bordersOf(size)
  for (const start of borders) {
    const ends = borders.filter((border, i) => border >= start && (i + start) % 7 === 0)
    for (const end of [...ends, start + 1, start + 20_000]) yield { start, end }
  }
}

/** Cuts a slice without a store. @param {Uint8Array} bytes @param {RangesLike} [ranges] */
export const sliceOf = (bytes, ranges) => encodeSliceSync(bytes, createOutboardSync(bytes), ranges)

/** @param {AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>} pieces */
export async function collect (pieces) {
  const parts = []
  // In WebKitGTK, streams are not async iterables.
  if (!(Symbol.asyncIterator in pieces)) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (pieces).getReader()
    for (let read; !(read = await reader.read()).done;) parts.push(read.value)
  } else {
    for await (const piece of /** @type {AsyncIterable<Uint8Array>} */ (pieces)) parts.push(piece)
  }
  return concat(parts)
}

/** @param {Uint8Array} bytes @param {number} at */
export function flipped (bytes, at) {
  const copy = bytes.slice()
  copy[at] ^= 1
  return copy
}

/** @param {Uint8Array} bytes */
export const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

/** @param {() => unknown} action @returns {Promise<any>} the error that it throws; undefined when it succeeds */
export async function errorOf (action) {
  try {
    await action()
  } catch (error) {
    return error
  }
}

/** @param {() => unknown} action @param {string} code */
export async function fails (action, code) {
  const error = await errorOf(action)
  equal(error?.code, code, `the code of ${error?.stack ?? 'an error'}`)
  return error
}

/** @param {unknown} actual @param {unknown} expected  values that JSON can hold @param {string} label */
export function equal (actual, expected, label) {
  if (actual === expected || JSON.stringify(actual) === JSON.stringify(expected)) return
  const message = `${label}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`
  throw Object.assign(new Error(message), { actual, expected })
}

/** @param {Uint8Array} actual @param {Uint8Array} expected @param {string} label */
export function sameBytes (actual, expected, label) {
  equal(actual.length, expected.length, `the length of ${label}`)
  const [words, expectedWords] = [wordsOf(actual), wordsOf(expected)]
  let equalWords = 0
  while (equalWords < words.length && words[equalWords] === expectedWords[equalWords]) equalWords++
  for (let at = 4 * equalWords; at < actual.length; at++) {
    if (actual[at] !== expected[at]) {
      throw new Error(`${label}: byte ${at}: expected ${expected[at]}, got ${actual[at]}`)
    }
  }
}

/** Four bytes are compared at a time. @param {Uint8Array} bytes @returns {Uint32Array} without the last bytes */
function wordsOf (bytes) {
  const { buffer, byteOffset, length } = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  return new Uint32Array(buffer, byteOffset, length >> 2)
}

/**
 * Reads the entries of the data database of a closed store.
 *
 * @param {Where} where
 */
export const dataIn = where => withData(where, async data =>
  (await data.iterator(VIEWS).all()).map(([key, value]) => ({ key, value: new Uint8Array(value) })))

/**
 * Writes an entry to the data database of a closed store.
 *
 * @param {Where} where @param {Uint8Array} key @param {Uint8Array} value
 */
export const putData = (where, key, value) => withData(where, data => data.put(key, value, VIEWS))

/** @template T @param {Where} where @param {(data: DatabasePair['data']) => Promise<T>} work */
async function withData (where, work) {
  const { index, data } = typeof where === 'string' ? levelsAt(where) : where
  await Promise.all([index.open(), data.open()]) // Levels open by themselves, so both must be closed.
  try {
    return await work(data)
  } finally {
    await Promise.all([index.close(), data.close()])
  }
}
