// Small helpers for bytes, for all runtimes: browsers have no Buffer.

const DIGITS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function hex (bytes) {
  let text = ''
  for (const byte of bytes) text += DIGITS[byte]
  return text
}

export function unhex (text) {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new Error(`not hex: ${text.slice(0, 80)}`)
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16))
}

export function concat (parts) {
  const out = new Uint8Array(parts.reduce((len, part) => len + part.length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** Returns true if they are equal. Tests spend seconds here: Buffer is fastest, comparing whole words comes next. */
export function same (a, b) {
  if (a.length !== b.length) return false
  if (globalThis.Buffer) return globalThis.Buffer.compare(a, b) === 0
  const [x, y] = [wordsOf(a), wordsOf(b)]
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false
  for (let i = 4 * x.length; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Returns the whole 32-bit words of bytes. */
function wordsOf (bytes) {
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes)
  return new Uint32Array(buffer, byteOffset, bytes.length >>> 2)
}

/** Returns the header of encodings: a size in 8 little-endian bytes. @param {number | bigint | string} size */
export function header (size) {
  const out = new Uint8Array(8)
  new DataView(out.buffer).setBigUint64(0, BigInt(size), true)
  return out
}

/** Returns a copy with one byte changed. */
export function flipped (bytes, offset, xor = 1) {
  const out = bytes.slice()
  out[offset] ^= xor
  return out
}

/** Returns a copy whose header claims another size. */
export function withHeader (bytes, size) {
  const out = bytes.slice()
  out.set(header(size))
  return out
}

/**
 * Returns a copy whose first byte is at `offset` in its ArrayBuffer. Code that reads 32-bit words must work wherever
 * its input starts. A kernel that views memory as words fails only at odd offsets.
 */
export function placed (bytes, offset) {
  const out = new Uint8Array(new ArrayBuffer(offset + bytes.length + 4), offset, bytes.length)
  out.set(bytes)
  return out
}

export const OFFSETS = [0, 1, 2, 3]

/** Bytes whose slice() is no copy, as that of a Buffer in Node.js. */
export class LikeBuffer extends Uint8Array {
  slice (start, end) { return this.subarray(start, end) }
}
