// Checks that a variant gives the right hash before it is measured, at all lengths at which the tree changes its shape,
// and at an odd offset in memory.

import assert from 'node:assert/strict'
import { hash } from '../../lib/index.js'
import { randomBytes } from '../support/inputs.js'

const LENGTHS = [
  0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 3073, 4096, 4097, 5119, 7168, 8193, 12345, 31744, 65536, 131072, 131073,
  300_000
]

/** @param {string} name @param {(bytes: Uint8Array) => Uint8Array} variant */
export function assertHashes (name, variant) {
  for (const len of LENGTHS) {
    for (const byteOffset of [0, 1]) {
      const bytes = randomBytes(len, byteOffset)
      assert.ok(Buffer.from(hash(bytes)).equals(variant(bytes)), `${name} gives another hash of ${len} bytes`)
    }
  }
}
