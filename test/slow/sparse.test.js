// Tests a file beyond 4 GiB, whose byte offsets do not fit into 32 bits: it has the same hash on one thread and on
// several, and memory does not grow with its size. The file has holes, so it needs no space on the disk.

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
import { MIB } from '../support/constants.js'
import { someOf } from '../support/effort.js'
import { noise } from '../support/inputs.js'

const SIZE = 2 ** 32 + 300 * MIB + 12345
/** Additional bytes of memory: buffers, memory that V8 frees later, and about 15 MiB for each other thread. */
const bound = threads => (threads === 1 ? 24 : 32 + 24 * threads) * MIB

/** The file has these bytes at its start, on both sides of 4 GiB, and at its end. */
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
  this.timeout(1_800_000)
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

  for (const threads of someOf([1, 2, 'auto'])) {
    it(`has the same hash with threads: ${threads}`, async () => {
      const idle = process.memoryUsage().rss
      let most = 0
      const onProgress = () => { most = Math.max(most, process.memoryUsage().rss - idle) }
      const root = await hashStream(path, { threads, onProgress })
      expect(hex(root)).to.equal(expected)
      const count = threads === 'auto' ? availableParallelism() : threads
      expect(most, `${Math.round(most / MIB)} MiB`).to.be.lessThan(bound(count))
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

  it('has the same hash when only workers hash', async () => {
    await Promise.all(sharedPool.take(2).map(worker => worker.starting))
    const { root } = await hashSource(path, { mode: modeOf(), threads: 2, type: '' })
    expect(hex(root)).to.equal(expected)
  })
})
