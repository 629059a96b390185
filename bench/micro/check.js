// A variant that gives another hash is not a variant: nothing is measured before it gave the right one, at all
// lengths where a tree has a corner, and at an odd place in memory.

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
