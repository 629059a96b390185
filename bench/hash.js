// How fast is one-shot hashing, beside the fastest BLAKE3 packages on npm?
//
// A row is an input, at an aligned and at an odd place in its memory: code that reads words where they lie has a slow path for the
// second. A column is a package: the time of a call up to 1 KiB, bytes per second above. `x package` is how many times as fast as the
// package we are (median of all rounds, then half the distance between quartiles): above 1 we are faster.

import assert from 'node:assert/strict'
import { hash } from '../lib/index.js'
import { KiB, MiB, randomBytes, sized } from './support/inputs.js'
import { loadPeers } from './support/peers.js'
import { run } from './support/run.js'

const SIZES = [96, KiB, 4 * KiB, 8 * KiB, 64 * KiB, MiB, 16 * MiB]
const PLACES = { aligned: 0, unaligned: 1 }

const hashes = { baobox: hash, ...await loadPeers() }

function * cases () {
  for (const size of SIZES) {
    for (const [place, byteOffset] of Object.entries(PLACES)) {
      const input = randomBytes(size, byteOffset)
      const expected = hash(input)
      for (const [name, other] of Object.entries(hashes)) assert.deepEqual(Buffer.from(other(input)), Buffer.from(expected), `${name} differs`)
      yield {
        name: `${sized(size)} ${place}`,
        bytes: size,
        contestants: Object.fromEntries(Object.entries(hashes).map(([name, of]) => [name, () => of(input)]))
      }
    }
  }
}

run('hash', 'one-shot hash, beside other packages', cases())
