// Checks of arguments, and small helpers for bytes.

import { BaoError } from './errors.js'

if (new Uint8Array(Uint32Array.of(1).buffer)[0] !== 1) {
  throw new Error('baobox needs a little-endian machine: hashes computed here would be wrong')
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {asserts value is Uint8Array}
 */
export function assertBytes (name, value) {
  if (!(value instanceof Uint8Array)) throw new TypeError(`"${name}" expected a Uint8Array, got ${describe(value)}`)
  if (value.byteLength === 0 && isDetached(value)) {
    throw new TypeError(`"${name}" expected bytes, got a Uint8Array whose memory was transferred or cut off`)
  }
}

/**
 * True if the memory of an array was transferred, or cut off. Then the array looks like an empty blob. Only its methods
 * throw: in code that V8 has optimised, even its `length` may still be the old one.
 *
 * @param {Uint8Array} bytes
 */
function isDetached (bytes) {
  try {
    bytes.at(0)
    return false
  } catch {
    return true
  }
}

/**
 * @param {string} name @param {unknown} value
 * @param {string} expected  for example `{ cid, ... }`
 * @returns {asserts value is object}
 */
export function assertOptions (name, value, expected) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Array.isArray(value)) {
    throw new TypeError(`"${name}" expected ${expected}, got ${describe(value)}`)
  }
}

/**
 * Memory for a result: the caller's memory, or fresh memory if the caller has not given any.
 *
 * @param {Uint8Array<ArrayBuffer> | undefined} into
 * @param {number} len  bytes
 * @returns {Uint8Array<ArrayBuffer>} `len` bytes
 */
export function resultBuffer (into, len) {
  if (into === undefined) return new Uint8Array(len)
  assertBytes('into', into)
  if (into.length < len) throw new RangeError(`"into" expected at least ${len} bytes, got ${into.length}`)
  return into.subarray(0, len)
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} len
 * @returns {asserts value is Uint8Array}
 */
export function assertBytesOf (name, value, len) {
  assertBytes(name, value)
  if (value.length !== len) throw new RangeError(`"${name}" expected ${len} bytes, got ${value.length}`)
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} [min]
 * @param {number} [max]
 * @returns {asserts value is number}
 */
export function assertInteger (name, value, min = 0, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== 'number') throw new TypeError(`"${name}" expected an integer, got ${describe(value)}`)
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new RangeError(`"${name}" expected an integer from ${min} to ${max}, got ${value}`)
  }
}

/** @param {string} name @param {unknown} value @returns {asserts value is boolean} */
export function assertBoolean (name, value) {
  if (typeof value !== 'boolean') throw new TypeError(`"${name}" expected a boolean, got ${describe(value)}`)
}

/**
 * Describes a value in an error message: its type, and the value itself if it is short.
 *
 * @param {unknown} value
 * @returns {string}
 */
export function describe (value) {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value)
  if (typeof value === 'number' || typeof value === 'bigint') return `${typeof value} ${value}`
  if (typeof value === 'object') {
    const { constructor, [Symbol.toStringTag]: tag } = /** @type {{ [Symbol.toStringTag]?: string } & object} */ (value)
    return constructor?.name || tag || 'an object' // The constructor of a generator has no name.
  }
  return `a ${typeof value}`
}

/**
 * Joins parts in fresh memory. (A Node.js Buffer might share its memory with others.)
 *
 * @param {Uint8Array[]} parts
 * @returns {Uint8Array<ArrayBuffer>} fresh
 */
export function concat (parts) {
  const whole = new Uint8Array(parts.reduce((len, part) => len + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/**
 * True if memory has these bytes at an offset. The call takes the same time wherever a difference is.
 *
 * @param {Uint8Array} memory @param {number} at @param {Uint8Array} bytes
 */
export function areEqual (memory, at, bytes) {
  let difference = 0
  for (let i = 0; i < bytes.length; i++) difference |= memory[at + i] ^ bytes[i]
  return difference === 0
}

/** The length of an encoding's header, which has the size of the blob, in bytes. */
export const HEADER_LEN = 8

/**
 * Writes a size as the eight little-endian bytes of a header.
 *
 * @param {number} value  a safe integer
 * @returns {Uint8Array<ArrayBuffer>}
 * @see Bao spec, "Combined Encoding Format"
 */
export function u64ToBytes (value) {
  const bytes = new Uint8Array(HEADER_LEN)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return bytes
}

/**
 * Reads the size in a header: a claim, until the last chunk is verified.
 *
 * @param {Uint8Array} bytes
 * @param {number} [at]
 * @returns {number}
 * @throws {BaoError} BAO_SIZE_TOO_LARGE above 2^53 - 1
 */
export function u64FromBytes (bytes, at = 0) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const high = view.getUint32(at + 4, true)
  if (high >= 2 ** 21) {
    const size = view.getBigUint64(at, true)
    throw new BaoError('BAO_SIZE_TOO_LARGE', `the header claims ${size} bytes: sizes end at 2^53 - 1`)
  }
  return high * 2 ** 32 + view.getUint32(at, true)
}
