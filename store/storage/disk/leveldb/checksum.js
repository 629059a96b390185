// The checksum of LevelDB's files: a masked CRC-32C. LevelDB writes it after each block of a table and before each
// record of a log, and does not compare it when it reads a table. (leveldb: doc/table_format.md, doc/log_format.md,
// util/crc32c.h)

import { createCRC32 } from 'hash-wasm'

/** @import { IHasher } from 'hash-wasm' */

/** The polynomial of CRC-32C, with its bits reversed. RFC 3720, Appendix B.4. */
const CASTAGNOLI = 0x82f63b78
const MASK_DELTA = 0xa282ead8

/** @type {IHasher | undefined} */
let hasher

/** Loads the hasher of `checksumOf`. Callers await this before they call the other functions. */
export async function loadChecksum () { hasher ??= await createCRC32(CASTAGNOLI) }

/** Returns the masked checksum that LevelDB writes. Await `loadChecksum` first. @param {Uint8Array} bytes */
export function checksumOf (bytes) {
  if (hasher === undefined) throw new Error('loadChecksum was not called')
  const [a, b, c, d] = hasher.init().update(bytes).digest('binary')
  return masked((a << 24 | b << 16 | c << 8 | d) >>> 0)
}

/** @param {number} crc */
const masked = crc => ((crc >>> 15 | crc << 17) + MASK_DELTA) >>> 0
/** @param {number} checksum */
const unmasked = checksum => {
  const rotated = (checksum - MASK_DELTA) >>> 0
  return (rotated >>> 17 | rotated << 15) >>> 0
}

/**
 * Corrects one flipped bit. A CRC is linear, so the difference of two checksums tells which bit is wrong.
 *
 * @param {Uint8Array} bytes  corrected in place
 * @param {number} expected  their masked checksum; the flipped bit may also be in this number
 * @returns {boolean} true if the bytes are right now; false if more than one bit is wrong, and nothing was changed
 */
export function correctBit (bytes, expected) {
  const actual = checksumOf(bytes)
  if (isPowerOfTwo((actual ^ expected) >>> 0)) return true // The flipped bit is in the checksum.
  const wanted = (unmasked(actual) ^ unmasked(expected)) >>> 0
  let difference = CASTAGNOLI // of the last bit
  for (let fromEnd = 0; fromEnd < 8 * bytes.length; fromEnd++) {
    if (difference === wanted) {
      bytes[bytes.length - 1 - (fromEnd >>> 3)] ^= 0x80 >>> (fromEnd & 7)
      return true
    }
    difference = (difference & 1 ? difference >>> 1 ^ CASTAGNOLI : difference >>> 1) >>> 0
  }
  return false
}

/** @param {number} value  below 2^32 */
const isPowerOfTwo = value => value !== 0 && (value & value - 1) === 0

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >>> 1 ^ CASTAGNOLI : crc >>> 1
  return crc
})

/**
 * Finds the end of a block by its checksum.
 *
 * @param {Uint8Array} bytes @param {number} start  of the block
 * @param {number} limit  search at most this many bytes
 * @returns {number | undefined} where the checksum begins; undefined when no end is found
 */
export function findChecksum (bytes, start, limit) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let crc = 0xffffffff
  for (let at = start; at < Math.min(start + limit, bytes.length - 4); at++) {
    crc = crc >>> 8 ^ TABLE[(crc ^ bytes[at]) & 255]
    if (masked(~crc >>> 0) === view.getUint32(at + 1, true)) return at + 1
  }
  return undefined
}
