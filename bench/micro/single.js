// Compares ways to hash a single chunk.
//
// It is a chain: each mixing waits for the one before, and each block for the block before. Vectors can hold the four
// rows of the state, so that four mixings are one. Or every word is by itself, and the processor finds the mixings that
// can run at the same time. Which is quicker depends on the latency of vector operations, so lib/engine/kernel/probe.js
// measures it. The first row is its choice on this machine.

import assert from 'node:assert/strict'
import { INPUT, OUT, u8 } from '../../lib/engine/arena.js'
import { CHUNK_END, HASH_LEN, ROOT } from '../../lib/core/constants.js'
import { hash } from '../../lib/index.js'
import { useKernel } from '../../lib/engine/kernel/index.js'
import { KiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'

const SIZES = [64, 512, KiB]
const END = CHUNK_END | ROOT
const NAMES = {
  'simd-rows': 'rows of the state in vectors',
  'simd-words': 'words one by one, in WebAssembly',
  js: 'words one by one, in JavaScript'
}

const chosen = useKernel('simd').name
const order = [chosen, ...Object.keys(NAMES).filter(name => name !== chosen)]
const kernels = order.map(name => useKernel(name))

await run('micro/single', 'one chunk by itself, without copying it in', SIZES.map(size => {
  const bytes = randomBytes(size)
  const contestants = Object.fromEntries(kernels.map(kernel =>
    [NAMES[/** @type {'js'} */ (kernel.name)], () => kernel.compressChunk(INPUT, size, 0, END, 0, 0, OUT)]))
  const expected = hash(bytes) // leaves the key words of plain hashing in the arena
  for (const [name, call] of Object.entries(contestants)) {
    u8.set(bytes, INPUT)
    u8.fill(0, OUT, OUT + HASH_LEN)
    call()
    assert.deepEqual(u8.slice(OUT, OUT + HASH_LEN), expected, `${name} gives another hash of ${size} bytes`)
  }
  return { name: sized(size), bytes: size, contestants }
}), { form: 'ranking' })
