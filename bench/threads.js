// Measures how much faster hashing is on several threads.
//
// A row is a number of threads, with its speed and how many times as fast as one thread it is. `auto` is the library's
// own choice. The file is in the page cache; the memory is shared, so it is not copied from thread to thread.

import assert from 'node:assert/strict'
import { randomFillSync } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { createOutboard } from '../encoder/index.js'
import { hash, hashStream } from '../lib/index.js'
import { GiB, MiB, sized, withRandomFile } from './support/inputs.js'
import { flags, run } from './support/run.js'

/** @import { Source } from '../lib/core/types.js' */

const FILE_LEN = flags.quick ? 32 * MiB : GiB
const MEMORY_LEN = flags.quick ? 16 * MiB : 256 * MiB

/** One, two, four and so on, up to the number of cores. */
const WORDS = { auto: 'auto', 1: '1 thread' }
const COUNTS = Array.from({ length: availableParallelism() }, (_, i) => i + 1)
  .filter(n => n === availableParallelism() || Number.isInteger(Math.log2(n)))

await withRandomFile(FILE_LEN, async path => {
  await run('threads', 'hashing and outboards on several threads', cases(path), { form: 'ranking' })
})

/** @param {string} path */
async function * cases (path) {
  const shared = randomFillSync(new Uint8Array(new SharedArrayBuffer(MEMORY_LEN)))
  assert.deepEqual(await hashStream(shared, { threads: 'auto' }), hash(shared))
  const tasks = /** @type {[string, number, (source: Source, options: any) => Promise<unknown>, Source][]} */ ([
    [`hashStream, file of ${sized(FILE_LEN)}`, FILE_LEN, hashStream, path],
    [`createOutboard, file of ${sized(FILE_LEN)}`, FILE_LEN, createOutboard, path],
    [`hashStream, memory of ${sized(MEMORY_LEN)}`, MEMORY_LEN, hashStream, shared],
    [`createOutboard, memory of ${sized(MEMORY_LEN)}`, MEMORY_LEN, createOutboard, shared]
  ])
  for (const [name, bytes, task, source] of tasks) {
    const alone = await task(source, { threads: 1 })
    for (const threads of [2, 'auto']) {
      assert.deepEqual(await task(source, { threads }), alone, `${name} gives something else on several threads`)
    }
    yield {
      name,
      bytes,
      contestants: Object.fromEntries([...COUNTS, 'auto'].map(threads =>
        [WORDS[threads] ?? `${threads} threads`, () => task(source, { threads })]))
    }
  }
}
