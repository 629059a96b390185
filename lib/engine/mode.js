// The three modes of BLAKE3 differ in the key words and one flag. Source: BLAKE3 paper 2.3.

import { IV, KEYED_HASH, KEY_LEN } from '../core/constants.js'
import { KEY, u32 } from './arena.js'
import { assertBytesOf } from '../core/bytes.js'

/** @import { Mode } from '../core/types.js' */

/** @type {Mode} */
export const HASH_MODE = { keyWords: IV, flags: 0 }

/**
 * Copies bytes to little-endian words. The bytes need not be aligned. (`slice` would not copy a Node.js Buffer.)
 *
 * @param {Uint8Array} bytes
 * @returns {Uint32Array}
 */
export const wordsOf = bytes => new Uint32Array(new Uint8Array(bytes).buffer)

/** The mode of the last key, because most programs use one key many times. @type {Mode} */
let lastKeyed = { keyWords: new Uint32Array(KEY_LEN / 4), flags: KEYED_HASH }
let lastKey = new Uint8Array(lastKeyed.keyWords.buffer)

/**
 * @param {Uint8Array} key  32 bytes; copied
 * @returns {Mode}
 */
export function keyedMode (key) {
  assertBytesOf('key', key, KEY_LEN)
  for (let i = 0; i < KEY_LEN; i++) {
    if (key[i] === lastKey[i]) continue
    lastKey = new Uint8Array(key)
    lastKeyed = { keyWords: new Uint32Array(lastKey.buffer), flags: KEYED_HASH }
    break
  }
  return lastKeyed
}

/** @type {Mode | undefined} */
let entered
let isBorrowed = false

/**
 * Writes the key words of a mode to the arena. Every computation calls this before its first compression.
 *
 * @param {Mode} mode
 * @returns {number} the flag of the mode
 */
export function enter (mode) {
  assertNotBorrowed()
  if (mode !== entered) {
    u32.set(mode.keyWords, KEY / 4)
    entered = mode
  }
  return mode.flags
}

function assertNotBorrowed () {
  if (isBorrowed) throw new Error('nothing can be hashed while verified bytes are borrowed: copy them first')
}

/**
 * Does work that reads from the arena. Hashing anything during the work throws, because it would overwrite the bytes.
 *
 * @param {() => void} work
 */
export function whileBorrowed (work) {
  assertNotBorrowed()
  isBorrowed = true
  try {
    work()
  } finally {
    isBorrowed = false
  }
}
