// Compares ways to hash a short last chunk.
//
// Lanes end together, so a short chunk cannot simply be one of four. It can be hashed alone after the others; or it is
// hashed with the others up to its last block, in a lane that would be empty, and only that block is compressed alone.
// The first row is the code of lib.

import assert from 'node:assert/strict'
import { CHUNK_TABLE, CVS, INPUT, u8 } from '../../lib/engine/arena.js'
import { CHUNK_END, CHUNK_LEN, HASH_LEN } from '../../lib/core/constants.js'
import { hash } from '../../lib/index.js'
import { useKernel } from '../../lib/engine/kernel/index.js'
import { randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'

const SIZES = [1100, 2047, 3071, 6000, 12345]

const kernel = useKernel('simd')

await run('micro/tails', 'a short last chunk', SIZES.map(size => {
  const bytes = randomBytes(size)
  const whole = Math.floor(size / CHUNK_LEN)
  const rest = size % CHUNK_LEN
  const contestants = {
    'in a free lane': () => kernel.compressMany(CHUNK_TABLE, whole + 1, rest, 0, 0, 0, CVS),
    'by itself': () => {
      kernel.compressMany(CHUNK_TABLE, whole, CHUNK_LEN, 0, 0, 0, CVS)
      kernel.compressChunk(INPUT + whole * CHUNK_LEN, rest, 0, CHUNK_END, whole, 0, CVS + whole * HASH_LEN)
    }
  }
  hash(bytes) // brings the bytes to INPUT, and the key words of plain hashing to the arena
  const results = Object.values(contestants).map(call => {
    call()
    return u8.slice(CVS, CVS + (whole + 1) * HASH_LEN)
  })
  assert.deepEqual(results[0], results[1], 'both must lead to the same chaining values')
  return { name: sized(size), bytes: size, contestants }
}), { form: 'ranking' })
