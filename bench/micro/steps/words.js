// Reads message words from bytes.

import { BLOCK_LEN } from '../../../lib/core/constants.js'

/**
 * Byte by byte, with a check that each exists.
 *
 * @param {Uint8Array} bytes at most 64
 * @returns {Uint32Array} fresh
 */
export function readChecked (bytes) {
  const words = new Uint32Array(16)
  for (let i = 0; i < BLOCK_LEN; i++) {
    if (i < bytes.length) words[i >> 2] |= bytes[i] << (8 * (i & 3))
  }
  return words
}

/** A whole block has all its bytes. @param {Uint8Array} bytes  at most 64 @returns {Uint32Array} fresh */
export function readWhole (bytes) {
  if (bytes.length !== BLOCK_LEN) return readChecked(bytes)
  const words = new Uint32Array(16)
  readBlock(bytes, 0, words)
  return words
}

/** @param {Uint8Array} bytes @param {number} at @param {Uint32Array} words  16, written */
export function readBlock (bytes, at, words) {
  for (let i = 0; i < 16; i++, at += 4) {
    words[i] = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
  }
}

/**
 * A short block, with zeros after it.
 *
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} len
 * @param {Uint32Array} words 16, written
 */
export function readShort (bytes, at, len, words) {
  words.fill(0)
  for (let i = 0; i < len; i++) words[i >> 2] |= bytes[at + i] << (8 * (i & 3))
}
