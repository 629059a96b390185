// Compares ways to join the chaining values of a window.
//
// A window of 128 chunks has 127 parents on seven levels. The first row is the code of lib: all levels in one call,
// four parents at a time. The others make a call for each level, or for each parent.

import assert from 'node:assert/strict'
import { CVS, CVS_TABLE, KEY, OUT, u8 } from '../../lib/engine/arena.js'
import { HASH_LEN, PAIR_LEN, PARENT } from '../../lib/core/constants.js'
import { hash } from '../../lib/index.js'
import { useKernel } from '../../lib/engine/kernel/index.js'
import { randomBytes } from '../support/inputs.js'
import { run } from '../support/run.js'

const COUNTS = [4, 7, 16, 128]

const kernel = useKernel('simd')
hash(new Uint8Array(0)) // brings the key words of plain hashing to the arena

/**
 * @param {number} count of chaining values at CVS
 * @param {(at: number, pairs: number, above: number) => void} joinLevel
 */
function byLevel (count, joinLevel) {
  let at = CVS
  while (count > 1) {
    const pairs = count >> 1
    const above = at + Math.ceil(count / 2) * PAIR_LEN
    joinLevel(at, pairs, above)
    if (count % 2 === 1) u8.copyWithin(above + pairs * HASH_LEN, at + (count - 1) * HASH_LEN, at + count * HASH_LEN)
    at = above
    count -= pairs
  }
  return at
}

/** The place of the last chaining value, when `count` are joined. @param {number} count */
const topOf = count => byLevel(count, () => {})

await run('micro/levels', 'from chaining values to one', COUNTS.map(count => {
  const contestants = {
    'one call': () => kernel.reduce(count, 0, 1),
    'a call for each level': () => byLevel(count, (at, pairs, above) =>
      kernel.compressMany(CVS_TABLE + (at - CVS) / PAIR_LEN * 4, pairs, PAIR_LEN, PARENT, 0, 0, above)),
    'a call for each parent': () => byLevel(count, (at, pairs, above) => {
      for (let i = 0; i < pairs; i++) {
        kernel.compressBlock(KEY, at + i * PAIR_LEN, PAIR_LEN, PARENT, 0, 0, OUT)
        u8.copyWithin(above + i * HASH_LEN, OUT, OUT + HASH_LEN)
      }
    })
  }
  const top = topOf(count)
  u8.set(randomBytes(count * HASH_LEN), CVS)
  const results = Object.values(contestants).map(call => {
    u8.fill(0, top, top + HASH_LEN)
    call()
    return u8.slice(top, top + HASH_LEN)
  })
  for (const result of results) assert.deepEqual(result, results[0], 'all must lead to the same chaining value')
  return { name: `${count} chaining values`, bytes: count * HASH_LEN, unit: /** @type {const} */ ('time'), contestants }
}), { form: 'ranking' })
