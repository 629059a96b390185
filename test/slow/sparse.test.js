// A file beyond 4 GiB, whose chunk counters and byte offsets no longer fit into 32 bits: the same hash on one thread and on several, in memory that
// does not grow with it. The file has holes, so it takes no place on the disk.

import { mkdtemp, open, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Hasher, closeWorkers, hashStream } from '../../lib/index.js'
import { createOutboard } from '../../encoder/index.js'
import { outboardLen } from '../../lib/tree/geometry.js'
import { hashSource } from '../../lib/parallel/hash-source.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { sharedPool } from '../../lib/parallel/pool.js'
import { hex } from '../support/bytes.js'
import { noise } from '../support/inputs.js'

const MIB = 1 << 20
const SIZE = 2 ** 32 + 300 * MIB + 12345
/** Bytes over the idle process: buffers, what the engine does not give back at once, and some 15 MiB for each thread besides this one. */
const bound = threads => (threads === 1 ? 24 : 32 + 24 * threads) * MIB

/** Not all of it is holes: these bytes stand at the start, on both sides of 4 GiB, and at the end. */
const ISLAND = noise(100_000, 7)
const ISLANDS = [0, 2 ** 32 - 50_000, SIZE - ISLAND.length]

function expectedHash () {
  const hasher = new Hasher()
  const zeros = new Uint8Array(MIB)
  const upTo = end => {
    while (hasher.bytesHashed < end) hasher.update(zeros.subarray(0, end - hasher.bytesHashed))
  }
  for (const start of ISLANDS) {
    upTo(start)
    hasher.update(ISLAND)
  }
  upTo(SIZE)
  return hex(hasher.digest())
}

describe('a file beyond 4 GiB', function () {
  this.timeout(600_000)
  let folder
  let path
  let expected
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-sparse-'))
    path = join(folder, 'sparse')
    const file = await open(path, 'w')
    await file.truncate(SIZE)
    for (const start of ISLANDS) await file.write(ISLAND, 0, ISLAND.length, start)
    await file.close()
    expected = expectedHash()
  })
  after(async () => {
    await closeWorkers()
    await rm(folder, { recursive: true })
  })

  for (const threads of [1, 2, 'auto']) {
    it(`has its hash, on ${threads === 1 ? 'one thread' : threads === 2 ? 'two threads' : 'as many threads as there are'}`, async () => {
      const idle = process.memoryUsage().rss
      let most = 0
      const root = await hashStream(path, { threads, onProgress: () => { most = Math.max(most, process.memoryUsage().rss - idle) } })
      expect(hex(root)).to.equal(expected)
      expect(most, `${Math.round(most / MIB)} MiB`).to.be.lessThan(bound(threads === 'auto' ? availableParallelism() : threads))
    })
  }

  it('has the same outboard on one thread and on two', async () => {
    const one = await createOutboard(path, { threads: 1 })
    const two = await createOutboard(path, { threads: 2 })
    expect(hex(one.root)).to.equal(expected)
    expect(hex(two.root)).to.equal(expected)
    expect(one.bytes.length).to.equal(outboardLen(SIZE))
    expect(Buffer.compare(one.bytes, two.bytes)).to.equal(0)
  })

  it('has it with workers alone', async () => {
    await Promise.all(sharedPool.take(2).map(worker => worker.starting))
    const { root } = await hashSource(path, { mode: modeOf(), threads: 2, type: '' })
    expect(hex(root)).to.equal(expected)
  })
})
