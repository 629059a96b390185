// Encodes the numbers and byte strings of the databases. Integers are big-endian, so that keys sort by them. A value
// gets a checksum (a *check*) if nothing else would reveal damage in it.

import { hash } from '../../../lib/hash/hasher.js'

/** Bytes of a check. */
export const CHECK_LEN = 8

/**
 * Joins parts into one byte string.
 *
 * @param {...(number | Uint8Array | { u64: number })} parts  a plain number is one byte
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function encode (...parts) {
  let len = 0
  for (const part of parts) len += typeof part === 'number' ? 1 : part instanceof Uint8Array ? part.length : 8
  const bytes = new Uint8Array(len)
  let at = 0
  for (const part of parts) {
    if (typeof part === 'number') bytes[at++] = part
    else if (part instanceof Uint8Array) at = (bytes.set(part, at), at + part.length)
    else at = setU64(bytes, at, part.u64)
  }
  return bytes
}

/** @param {Uint8Array} bytes @param {number} at @param {number} value @returns {number} the position after the value */
export function setU64 (bytes, at, value) {
  setU32(bytes, at, value / 2 ** 32)
  setU32(bytes, at + 4, value % 2 ** 32)
  return at + 8
}

/** @param {Uint8Array} bytes @param {number} at @param {number} value  its integer part modulo 2^32 is written */
function setU32 (bytes, at, value) {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

/**
 * Reads a number. A number above 2^53 is only approximate, so callers compare the result with a limit.
 *
 * @param {Uint8Array} bytes
 * @param {number} at
 */
export function u64At (bytes, at) {
  let value = 0
  for (const end = at + 8; at < end; at++) value = value * 256 + bytes[at]
  return value
}

/**
 * Computes a check.
 *
 * @param {Uint8Array} name  the key of the value; the check also covers the key
 * @param {Uint8Array} bytes
 */
export const checkOf = (name, bytes) => hash(encode(name, bytes)).subarray(0, CHECK_LEN)
