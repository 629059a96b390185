// A copy whose process is killed at any time is run again, and has the same result.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { copy } from '../../../exchange/transfer/index.js'
import { same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { atEffort } from '../../support/effort.js'
import { listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectNoOrphans, onDisk, sliceOf } from '../../support/store/stores.js'

const WORKER = fileURLToPath(new URL('../../support/store/copy-worker.js', import.meta.url))
const LONG = noise(20 * MIB + 5, 1)
const PART = noise(5 * MIB, 2)
const RANGES = ChunkRanges.fromBytes(0, 100 * GROUP)
const SMALL = Array.from({ length: 300 }, (_, i) => noise(1000 * (i % 60) + 1, i))

describe('copy() that is killed', () => {
  let from, to, temporary
  beforeEach(async () => {
    [from, to] = [await onDisk(), await onDisk()]
    temporary = await mkdtemp(join(tmpdir(), 'baobox-'))
  })
  afterEach(async () => {
    await Promise.all([from.remove(), to.remove()])
    await rm(temporary, { recursive: true })
  })

  /** Starts a copy and kills it. @param {number} ms  after it has begun */
  async function killAfter (ms) {
    const env = { ...process.env, TMPDIR: temporary, TMP: temporary, TEMP: temporary }
    const child = spawn(process.execPath, [WORKER, from.where, to.where], { stdio: ['ignore', 'pipe', 'inherit'], env })
    const exit = once(child, 'exit')
    await Promise.race([once(child.stdout, 'data'), exit])
    await new Promise(resolve => setTimeout(resolve, ms))
    child.kill('SIGKILL')
    await exit
    return child.pid
  }

  it('is run again, and has the same result', async () => {
    const source = await from.open({ durability: 'process' })
    await listed(source.putMany(SMALL))
    await source.put(LONG, { tag: 'long' })
    await source.receive(hash(PART), sliceOf(PART, RANGES), RANGES)
    await source.close()
    const leftOver = []
    for (let i = 0; i < atEffort(6); i++) leftOver.push(await killAfter(Math.random() * 300))
    for (const name of await readdir(temporary)) {
      expect(leftOver.some(pid => name.startsWith(`baobox-read-only-${pid}-`)), name).to.equal(true)
    }
    const store = await from.open()
    const target = await to.open()
    expect((await copy(store, target)).failed).to.deep.equal([])
    expect(await copy(store, target)).to.deep.equal({ blobs: 0, bytes: 0, tags: 0, failed: [] })
    for (const bytes of [...SMALL, LONG]) expect(same(await target.bytes(hash(bytes)), bytes)).to.equal(true)
    expect((await target.stat(hash(PART))).present.boundaries).to.deep.equal(RANGES.boundaries)
    expect(await target.fsck()).to.include({ isSound: true })
    await target.close()
    await expectNoOrphans(to)
  })
})
