// Cases of hashing: an input, at some offset in its memory, and all packages that can hash it.

import assert from 'node:assert/strict'
import { randomBytes, sized } from './inputs.js'
import { PEERS } from './peers.js'

/** @import { Functions } from './peers.js' */
/** @import { Case } from './run.js' */

/** The offset of an input in its memory: code that reads words in place has a slow path for the second. */
export const PLACES = { aligned: 0, unaligned: 1 }

/**
 * One-shot hashes of each size at each place.
 *
 * @param {Functions} own @param {Record<string, Functions>} peers @param {number[]} sizes
 * @returns {Generator<Case>}
 */
export function * hashCases (own, peers, sizes) {
  for (const size of sizes) {
    for (const [place, byteOffset] of Object.entries(PLACES)) {
      const input = randomBytes(size, byteOffset)
      yield {
        name: `${sized(size)} ${place}`,
        bytes: size,
        contestants: contestants(own, peers, size, ({ hash }) => () => hash(input))
      }
    }
  }
}

/**
 * The packages that have a call, ours first. Their results are compared. Peers that would take too long are left out.
 *
 * @param {Functions} own
 * @param {Record<string, Functions>} peers
 * @param {number} size  bytes
 * @param {(functions: Functions) => (() => Uint8Array) | undefined} callOf
 */
export function contestants (own, peers, size, callOf) {
  const ours = callOf(own)
  if (ours === undefined) throw new Error('we cannot do that ourselves')
  const expected = Buffer.from(ours())
  /** @type {Record<string, () => Uint8Array>} */
  const all = { baobox: ours }
  for (const [name, functions] of Object.entries(peers)) {
    const { upTo = Infinity, isOther = false } = PEERS[name]
    const call = size > upTo ? undefined : callOf(functions)
    if (call === undefined) continue
    if (!isOther) assert.ok(expected.equals(call()), `${name} gives another hash of ${size} bytes`)
    all[name] = call
  }
  return all
}
