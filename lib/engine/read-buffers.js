// Memory that files are read into. Two buffers of it lie in the arena, where the kernel hashes bytes in place: that saves the thread that
// hashes some 4 % of its time, the copy into the input window. One reader at a time has them; others meanwhile have memory of their own.

import { READS, READ_LEN, u8 } from './arena.js'

const IN_ARENA = [u8.subarray(READS, READS + READ_LEN), u8.subarray(READS + READ_LEN, READS + 2 * READ_LEN)]

let isLeased = false

/**
 * Two buffers of READ_LEN bytes. They are the caller's until `release`, which must wait for every read into them to end.
 *
 * @returns {{ buffers: Uint8Array[], release: () => void }}
 */
export function leaseBuffers () {
  if (isLeased) return { buffers: [new Uint8Array(READ_LEN), new Uint8Array(READ_LEN)], release () {} }
  isLeased = true
  return { buffers: IN_ARENA, release: () => { isLeased = false } }
}

/** May these bytes be hashed where they stand? @param {Uint8Array} bytes @returns {boolean} */
export const isInPlace = bytes => bytes.buffer === u8.buffer && bytes.byteOffset >= READS
