// Audits on several threads have the result of one thread, for every fault of the source or the outboard.
import { expect } from 'chai'
import { ChunkRanges, closeWorkers } from '../../lib/index.js'
import { Outboard, createOutboardSync, openOutboard } from '../../encoder/index.js'
import { validRanges } from '../../verifier/index.js'
import { findValid } from '../../verifier/valid.js'
import { Pool, sharedPool } from '../../lib/parallel/pool.js'
import { errorToMessage } from '../../lib/parallel/threads/transfer-errors.js'
import { truncated } from '../../lib/core/errors.js'
import { flipped } from '../support/bytes.js'
import { KIB } from '../support/constants.js'
import { pairsOf } from '../support/effort.js'
import { errorOf } from '../support/feeding.js'
import { KEY, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { expectSlip } from '../support/slips.js'

const SIZE = 600_001
const BYTES = noise(SIZE, 4)
const RANGES = [undefined, ChunkRanges.fromBoundaries([3, 200, 300, 301, 500]), ChunkRanges.last]

/** Bytes that all threads can read. A page may have no shared memory. */
function shared (bytes) {
  if (typeof SharedArrayBuffer !== 'function') return new Blob([bytes])
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}

/** Chunks, by one thread and by two, whose spans are short. */
async function expectSame (bytes, outboard, options, what) {
  await Promise.all(sharedPool.take(2).map(worker => worker.starting))
  for (const [ranges, spanLen] of pairsOf(RANGES, [16 * KIB, 64 * KIB])) {
    const expected = await validRanges(bytes, outboard, ranges, { ...options, threads: 1 })
    const found = await findValid(shared(bytes), outboard, ranges, { ...options, threads: 2, spanLen })
    expect(found.boundaries, `${what}, spans of ${spanLen}`).to.deep.equal(expected.boundaries)
  }
}

/** A pool whose only threads are these. @param {(job: any, say: (message: any) => void) => void} hear */
const poolOf = hear => new Pool(events => {
  setTimeout(() => events.message({ isReady: true }))
  return { ref () {}, unref () {}, end () {}, post: job => setTimeout(() => hear(job, events.message)) }
})

forEachKernel(() => describe('audits on several threads', () => {
  after(closeWorkers)

  for (const [groupLog, order, key] of [[0, 'pre'], [0, 'post', KEY], [4, 'pre'], [4, 'post'], [6, 'pre']]) {
    const options = { groupLog, order, key }
    it(`equal those on one thread, in groups of ${2 ** groupLog}, ${order}-order${key ? ', keyed' : ''}`, async () => {
      const outboard = createOutboardSync(BYTES, options)
      const len = outboard.bytes.length
      await expectSame(BYTES, outboard, { key }, 'nothing wrong')
      for (const at of [0, 300_000, SIZE - 1]) await expectSame(flipped(BYTES, at), outboard, { key }, `byte ${at}`)
      for (const at of [0, 130, Math.floor(len / 2), len - 1]) {
        await expectSame(
          BYTES, Outboard.from(
            { ...outboard, cid: outboard.root, bytes: flipped(outboard.bytes, at) }
          ), { key }, `pair byte ${at}`
        )
      }
      await expectSame(BYTES.subarray(0, 400_000), outboard, { key }, 'short source')
      await expectSame(BYTES, new Outboard({ ...outboard, root: flipped(outboard.root, 0) }), { key }, 'wrong root')
      await expectSame(BYTES, await openOutboard(outboard.bytes, outboard), { key }, 'in pages')
      await expectSame(
        BYTES,
        await openOutboard(outboard.bytes.subarray(0, len / 2), outboard),
        { key },
        'in pages, of which half are missing'
      )
    })
  }
}))

describe('audits on several threads', () => {
  const outboard = createOutboardSync(BYTES)
  const source = shared(BYTES)
  const whole = [0, Math.ceil(SIZE / KIB)]
  after(closeWorkers)

  it('use one thread for plain memory, short sources, and groups longer than a span', async () => {
    const pool = poolOf(() => { throw new Error('nobody should be asked') })
    expect((await findValid(BYTES, outboard, undefined, { threads: 4, pool })).boundaries).to.deep.equal(whole)
    expect((await findValid(source, outboard, undefined, { threads: 4, pool })).boundaries).to.deep.equal(whole)
    const coarse = createOutboardSync(BYTES, { groupLog: 8 })
    expect(
      (await findValid(source, coarse, undefined, { threads: 4, pool, spanLen: 64 * KIB })).boundaries
    ).to.deep.equal(whole)
    for (const threads of [1, 2, 'auto', undefined]) {
      expect(
        (await validRanges(source, outboard, undefined, { threads })).boundaries
      ).to.deep.equal(whole)
    }
  })

  it('take no time for a wrong size', async () => {
    const lies = { root: outboard.root, groupLog: 0, size: Number.MAX_SAFE_INTEGER, copyPair: () => false }
    expect((await findValid(source, lies, undefined, { threads: 2, spanLen: 16 * KIB })).isEmpty).to.equal(true)
  })

  it('report progress', async () => {
    for (const [bytes, ranges, total] of [
      [BYTES, undefined, SIZE], [flipped(BYTES, 300_000), { start: 65536, end: 589_824 }, 524_288]
    ]) {
      const told = []
      await findValid(
        shared(bytes), outboard, ranges, { threads: 2, spanLen: 64 * KIB, onProgress: event => told.push(event) }
      )
      expect(told.every(({ type, detail }) => type === 'baobox:valid' && detail.total === total)).to.equal(true)
      const dones = told.map(({ detail }) => detail.done)
      expect(dones).to.deep.equal([...dones].sort((a, b) => a - b))
      expect(dones.at(-1)).to.equal(total)
    }
  })

  it('end immediately with an abort', async () => {
    for (const pool of [sharedPool, poolOf(() => {})]) {
      const abort = new AbortController()
      const auditing = findValid(
        source, outboard, undefined, { threads: 2, spanLen: 16 * KIB, pool, signal: abort.signal }
      )
      abort.abort()
      expect(await errorOf(auditing)).to.include({ name: 'AbortError' })
    }
  })

  it('audit a span again that became too short for a thread', async () => {
    const pool = poolOf((job, say) => say(
      { id: job.id, failure: errorToMessage(truncated({ start: job.start, wanted: job.len, got: 0 })) }
    ))
    await Promise.all(pool.take(2).map(worker => worker.starting))
    expect(
      (await findValid(source, outboard, undefined, { threads: 2, spanLen: 64 * KIB, pool })).boundaries
    ).to.deep.equal(whole)
  })

  it('fail when a thread fails', async () => {
    const broken = poolOf((job, say) => say({ id: job.id, failure: errorToMessage(new Error('disk')) }))
    await Promise.all(broken.take(2).map(worker => worker.starting))
    expect(
      await errorOf(findValid(source, outboard, undefined, { threads: 2, spanLen: 64 * KIB, pool: broken }))
    ).to.include({ message: 'disk' })
    const dying = poolOf(() => dying.close())
    await Promise.all(dying.take(2).map(worker => worker.starting))
    expect(
      await errorOf(findValid(source, outboard, undefined, { threads: 2, spanLen: 64 * KIB, pool: dying }))
    ).to.include({ code: 'BAO_WORKER_FAILED' })
  })

  it('check the answers of threads against the root', async () => {
    const liar = poolOf((job, say) => say(
      { id: job.id, result: { cv: new Uint8Array(32), pairs: new Uint8Array(64 * (job.len / 16384 - 1)) } }
    ))
    await Promise.all(liar.take(2).map(worker => worker.starting))
    expect(
      (await findValid(source, outboard, undefined, { threads: 2, spanLen: 64 * KIB, pool: liar })).boundaries
    ).to.deep.equal(whole)
  })

  it('refuse wrong `threads`, and name the option', async () => {
    for (const threads of [0, -1, 1.5, 257, NaN, '2', null]) {
      await expectSlip(
        'threads', () => validRanges(source, outboard, undefined, { threads })
      )
    }
  })
})
