// How should one chunk be hashed that has no others beside it?
//
// It is a chain: each mixing waits for the one before, and each block for the block before. Vectors can hold the four
// rows of the state, so that four mixings are one; or every word is by itself, and the processor finds the four that
// may go side by side. The first row is what lib/engine/kernel/simd.js does, the last what lib/engine/kernel/js.js
// does.

import assert from 'node:assert/strict'
import { INPUT, OUT, memory, u8 } from '../../lib/engine/arena.js'
import { CHUNK_END, HASH_LEN, ROOT } from '../../lib/core/constants.js'
import { hash } from '../../lib/index.js'
import { useKernel } from '../../lib/engine/kernel/index.js'
import { KiB, randomBytes, sized } from '../support/inputs.js'
import { run } from '../support/run.js'
import { compile, compressChunk } from './kernel.js'

const SIZES = [64, KiB]
const END = CHUNK_END | ROOT

if (memory === undefined) throw new Error('this place has no WebAssembly')
const js = useKernel('js')
const simd = useKernel('simd')
const { exports: words } = compile(memory, [compressChunk])

await run('micro/single', 'one chunk by itself, without copying it in', SIZES.map(size => {
  const bytes = randomBytes(size)
  const contestants = {
    'rows of the state in vectors': () => simd.compressChunk(INPUT, size, 0, END, 0, 0, OUT),
    'words one by one, in WebAssembly': () => words.compressChunk(INPUT, size, END, OUT),
    'words one by one, in JavaScript': () => js.compressChunk(INPUT, size, 0, END, 0, 0, OUT)
  }
  const expected = hash(bytes) // leaves the key words of plain hashing in the arena
  for (const [name, call] of Object.entries(contestants)) {
    u8.set(bytes, INPUT)
    u8.fill(0, OUT, OUT + HASH_LEN)
    call()
    assert.deepEqual(u8.slice(OUT, OUT + HASH_LEN), expected, `${name} gives another hash of ${size} bytes`)
  }
  return { name: sized(size), bytes: size, contestants }
}), { form: 'ranking' })
