// Random inputs. They differ from run to run: no measurement here may depend on the contents.

import { randomFillSync } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const KiB = 1024
export const MiB = 1024 * KiB
export const GiB = 1024 * MiB

/** @param {number} len @param {number} [byteOffset]  where the bytes start in their memory */
export const randomBytes = (len, byteOffset = 0) =>
  randomFillSync(new Uint8Array(new ArrayBuffer(byteOffset + len), byteOffset))

const UNITS = /** @type {[number, string][]} */ ([[GiB, 'GiB'], [MiB, 'MiB'], [KiB, 'KiB']])

/** A length for people. @param {number} len  bytes */
export function sized (len) {
  const [unit, name] = UNITS.find(([unit]) => len > 0 && len % unit === 0) ?? [1, 'B']
  return `${len / unit} ${name}`
}

/** Cuts bytes into pieces, as a stream gives them. @param {Uint8Array} bytes @param {number} len  of a piece */
export const split = (bytes, len) =>
  Array.from({ length: Math.ceil(bytes.length / len) }, (_, i) => bytes.subarray(i * len, (i + 1) * len))

/**
 * Does work on a file that was just written, so the page cache has it if it fits, and removes the file.
 *
 * @param {number} size  a multiple of 1 MiB
 * @param {(path: string) => Promise<void>} work
 */
export async function withRandomFile (size, work) {
  const folder = mkdtempSync(join(tmpdir(), 'baobox-bench-'))
  try {
    const path = join(folder, 'blob')
    const file = openSync(path, 'w')
    const piece = new Uint8Array(MiB)
    for (let done = 0; done < size; done += MiB) writeSync(file, randomFillSync(piece))
    closeSync(file)
    await work(path)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
