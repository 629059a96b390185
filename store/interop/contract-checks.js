// What the tests of test.js compare with, by themselves: whoever runs them may have any framework.

import { createOutboardSync } from '../../encoder/outboard.js'
import { encodeSliceSync } from '../../encoder/slice.js'
import { concat } from '../../lib/core/bytes.js'
import { hash } from '../../lib/hash/hasher.js'

/** @import { RangesLike } from '../../lib/tree/ranges.js' */

/** The same bytes every time, without structure. @param {number} len @param {number} [seed] */
export const noise = (len, seed = len) => hash(new TextEncoder().encode(`noise ${seed}`), len)

/** A slice as anybody would send it. @param {Uint8Array} bytes @param {RangesLike} [ranges] */
export const sliceOf = (bytes, ranges) => encodeSliceSync(bytes, createOutboardSync(bytes), ranges)

/** @param {AsyncIterable<Uint8Array>} pieces */
export async function collect (pieces) {
  const parts = []
  for await (const piece of pieces) parts.push(piece)
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

/** @param {() => unknown} action @returns {Promise<any>} what it throws, if it does */
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

/** @param {unknown} actual @param {unknown} expected  plain things @param {string} what */
export function equal (actual, expected, what) {
  if (actual === expected || JSON.stringify(actual) === JSON.stringify(expected)) return
  throw Object.assign(new Error(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`), { actual, expected })
}

/** @param {Uint8Array} actual @param {Uint8Array} expected @param {string} what */
export function sameBytes (actual, expected, what) {
  equal(actual.length, expected.length, `the length of ${what}`)
  for (let at = 0; at < actual.length; at++) {
    if (actual[at] !== expected[at]) throw new Error(`${what}: byte ${at} should be ${expected[at]}, and is ${actual[at]}`)
  }
}
