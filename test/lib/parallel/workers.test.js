// Threads of Node.js that die, in every possible way.

import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { unheardOf } from '#runtime'
import { Pool, startThread } from '../../../lib/parallel/pool.js'
import { hashSource } from '../../../lib/parallel/hash-source.js'
import { hash } from '../../../lib/index.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { threadOf } from '../../../lib/parallel/threads/index.node.js'
import { errorOf } from '../../support/feeding.js'
import { hex } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'

const DYING = new URL('../../support/dying-worker.js', import.meta.url)
const isNode = !process.versions.bun && !process.versions.deno

const bytes = new Uint8Array(new SharedArrayBuffer(300_000))
bytes.set(noise(bytes.length))
const expected = hex(hash(bytes))

const grow = pool => hashSource(bytes, { mode: modeOf(), threads: 2, spanLen: 4096, type: '', pool })

/** A pool that is ready, whose first worker dies at its first span. @param {string} how */
async function poolWith (how, options) {
  let started = 0
  const startDying = events => threadOf(new Worker(DYING, { workerData: how, ...options }), events)
  const pool = new Pool(events => ++started === 1 ? startDying(events) : startThread(events))
  await Promise.all(pool.take(2).map(worker => worker.starting))
  return pool
}

const DEATHS = {
  exits: 'exit',
  'exits with code 0': 'exit 0',
  throws: 'throw',
  'has an unhandled rejection': 'reject',
  // (From Node.js 24 on such a thread may take the whole process with it.)
  ...isNode && parseInt(process.versions.node) < 24 && { 'runs out of memory': 'memory' }
}

describe('a worker that', () => {
  for (const [name, how] of Object.entries(DEATHS)) {
    it(`${name} fails its spans, and another takes its place`, async () => {
      const unheard = await unheardOf(async () => {
        const pool = await poolWith(how, isNode && { resourceLimits: { maxOldGenerationSizeMb: 20 } })
        const error = await errorOf(grow(pool))
        expect(error).to.include({ name: 'BaoError', code: 'BAO_WORKER_FAILED' })
        expect(error.cause).to.be.instanceOf(Error)
        for (let i = 0; i < 3; i++) expect(hex((await grow(pool)).root)).to.equal(expected)
        await pool.close()
      })
      expect(unheard).to.deep.equal([])
    })
  }

  it('is ended from elsewhere fails its spans, and another takes its place', async function () {
    // Deno does not report that a worker has ended. Only baobox has these workers, and it ends none with work.
    if (process.versions.deno) return this.skip()
    const workers = []
    let tell
    const isAtWork = new Promise(resolve => { tell = resolve })
    const pool = new Pool(events => {
      const worker = new Worker(DYING, { workerData: 'silence' })
      const thread = threadOf(worker, events)
      workers.push(worker)
      return {
        ...thread,
        post (message) {
          thread.post(message)
          if (worker === workers[0]) tell()
        }
      }
    })
    await Promise.all(pool.take(2).map(worker => worker.starting))
    const error = errorOf(grow(pool))
    await isAtWork
    await workers[0].terminate()
    expect(await error).to.include({ code: 'BAO_WORKER_FAILED' })
    await pool.close()
  })

  it('is not a script is not started again', async () => {
    let started = 0
    const pool = new Pool(events => {
      started++
      return threadOf(new Worker(new URL('./nowhere.js', import.meta.url)), events)
    })
    expect(hex((await grow(pool)).root)).to.equal(expected)
    for (let i = 0; i < 500 && !pool.isRefused; i++) await new Promise(resolve => setTimeout(resolve, 10))
    expect(pool.isRefused).to.equal(true)
    expect(hex((await grow(pool)).root)).to.equal(expected)
    expect(started).to.equal(2)
  })
})
