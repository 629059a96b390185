// Bytes to work on. No two runs see the same: nothing measured here may depend on contents.

import { randomFillSync } from 'node:crypto'

export const KiB = 1024
export const MiB = 1024 * 1024

/** @param {number} len @param {number} [byteOffset]  where the bytes start in their memory */
export const randomBytes = (len, byteOffset = 0) => randomFillSync(new Uint8Array(new ArrayBuffer(byteOffset + len), byteOffset))

/** A length for people. @param {number} len  bytes */
export const sized = len => len % MiB === 0 ? `${len / MiB} MiB` : len % KiB === 0 ? `${len / KiB} KiB` : `${len} B`

/** The pieces that a stream would bring. @param {Uint8Array} bytes @param {number} len  of a piece */
export const split = (bytes, len) =>
  Array.from({ length: Math.ceil(bytes.length / len) }, (_, i) => bytes.subarray(i * len, (i + 1) * len))
