// Buffers for reading files. Two of them are in the arena, where the kernel hashes bytes in place. That saves the copy
// into the input window, about 4 % of the time of the thread that hashes. Only one reader at a time gets these two.
// Other readers get fresh memory.

import { READS, READ_LEN, u8 } from './arena.js'

const IN_ARENA = [u8.subarray(READS, READS + READ_LEN), u8.subarray(READS + READ_LEN, READS + 2 * READ_LEN)]

let isLeased = false

/**
 * Returns two buffers of READ_LEN bytes. The caller owns them until it calls `release`, which it may do when every read
 * into them has ended.
 *
 * @returns {{ buffers: Uint8Array[], release: () => void }}
 */
export function leaseBuffers () {
  if (isLeased) return { buffers: [new Uint8Array(READ_LEN), new Uint8Array(READ_LEN)], release () {} }
  isLeased = true
  return { buffers: IN_ARENA, release: () => { isLeased = false } }
}

/** True if the kernel can hash these bytes in place. @param {Uint8Array} bytes @returns {boolean} */
export const isInPlace = bytes => bytes.buffer === u8.buffer && bytes.byteOffset >= READS
