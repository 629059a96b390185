// Small things tests do with bytes.

export const hex = bytes => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

export const unhex = text => new Uint8Array(Buffer.from(text, 'hex'))

export const concat = parts => new Uint8Array(Buffer.concat(parts))

export const same = (a, b) => Buffer.compare(a, b) === 0

/** A size as the 8 little-endian bytes that stand in front of encodings. @param {number | bigint | string} size */
export function header (size) {
  const out = new Uint8Array(8)
  new DataView(out.buffer).setBigUint64(0, BigInt(size), true)
  return out
}

/** A copy with one byte changed. */
export function flipped (bytes, offset, xor = 1) {
  const out = bytes.slice()
  out[offset] ^= xor
  return out
}

/** A copy whose first eight bytes claim another size. */
export function withHeader (bytes, size) {
  const out = bytes.slice()
  out.set(header(size))
  return out
}

/**
 * A copy whose first byte lies at `offset` in its ArrayBuffer. Code that reads 32-bit words must not care where
 * its input starts, and a kernel that aliases memory as words only fails at the odd places.
 */
export function placed (bytes, offset) {
  const out = new Uint8Array(new ArrayBuffer(offset + bytes.length + 4), offset, bytes.length)
  out.set(bytes)
  return out
}

export const OFFSETS = [0, 1, 2, 3]
