// Several threads give the result of one thread. If they fail in any way, no call waits for ever and no hash is wrong.
// Blobs and shared memory: files are in files.test.js.

import { expect } from 'chai'
import { unheardOf } from '#runtime'
import { Hasher, closeWorkers, deriveKey, hash, hashStream, kernelName } from '../../../lib/index.js'
import { createOutboard, createOutboardSync } from '../../../encoder/index.js'
import { Pool, parallelism, sharedPool, startThread } from '../../../lib/parallel/pool.js'
import { hashOpenSource } from '../../../lib/parallel/hash-source.js'
import { modeOf } from '../../../lib/hash/mode-options.js'
import { openSource } from '../../../lib/source/source.js'
import { KIB, MIB } from '../../support/constants.js'
import { someOf, waysInTurn } from '../../support/effort.js'
import { errorOf } from '../../support/feeding.js'
import { CONTEXT, KEY, noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'
import { MODES } from '../../support/modes.js'
import { hex, same } from '../../support/bytes.js'

const SPAN_LEN = 4 * KIB
const SIZES = [
  SPAN_LEN + 1, 2 * SPAN_LEN - 1, 2 * SPAN_LEN, 2 * SPAN_LEN + 1, 3 * SPAN_LEN, 4 * SPAN_LEN - KIB, 5 * SPAN_LEN + 1,
  16 * SPAN_LEN, 17 * SPAN_LEN + 1025, 43 * SPAN_LEN - 1
]

/** @param {Uint8Array} bytes */
function shared (bytes) {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length))
  copy.set(bytes)
  return copy
}

/**
 * The sources that other threads can read. A page may have no shared memory.
 *
 * @type {Record<string, (bytes: Uint8Array) => any>}
 */
const SOURCES = {
  'a Blob': bytes => new Blob([bytes]),
  ...(typeof SharedArrayBuffer === 'function' && { 'shared memory': shared })
}

/**
 * On two threads, however short the source; also Blobs, which some runtimes hash on one. Workers start before
 * it begins, unless `isCold`: otherwise this thread might do all the work before they are ready.
 */
async function grow (source, { isCold = false, ...options } = {}) {
  const { pool = sharedPool, threads = 2 } = options
  if (!isCold && threads > 1) await Promise.all(pool.take(threads).map(worker => worker.starting))
  const opened = await openSource(source, options.signal)
  const shared = source instanceof Blob ? { blob: source } : opened.shared
  const defaults = { mode: modeOf(), threads: 2, spanLen: SPAN_LEN, type: 'test' }
  return hashOpenSource({ ...opened, shared }, { ...defaults, ...options })
}

/**
 * A pool that counts its started workers, and the spans that it gave them.
 *
 * @param {(events: any, number: number) => any} [start]
 */
function countingPool (start = startThread) {
  const pool = Object.assign(new Pool(events => {
    const thread = start(events, ++pool.started)
    return {
      ...thread,
      post (job) {
        pool.jobs.push(job)
        thread.post(job)
      }
    }
  }), { started: 0, jobs: [] })
  return pool
}

/** A thread that says it is ready, and then does what `hear` does with messages. */
function thread (events, hear = () => {}) {
  setTimeout(() => events.message({ isReady: true }))
  return { ref () {}, unref () {}, end () {}, post: hear }
}

/** A thread that never says anything. */
const silent = () => ({ ref () {}, unref () {}, end () {}, post () {} })

const logsInTurn = waysInTurn()

const moment = () => new Promise(resolve => setTimeout(resolve))

describe('several threads', () => {
  after(closeWorkers)

  for (const [name, sourceOf] of Object.entries(SOURCES)) {
    it(`${name} goes to workers, span by span`, async () => {
      const pool = countingPool()
      await grow(sourceOf(noise(20_000)), { pool })
      expect(pool.started).to.equal(2)
      const spans = pool.jobs.map(({ start, len }) => [start, len])
      expect(spans).to.deep.equal([[0, 4096], [4096, 4096], [8192, 4096], [12288, 4096], [16384, 3616]])
      expect(pool.jobs.every(({ kernel }) => kernel === kernelName())).to.equal(true)
      await pool.close()
    })
  }

  forEachKernel(() => {
    for (const [name, sourceOf] of Object.entries(SOURCES)) {
      for (const [modeName, options] of Object.entries(MODES)) {
        it(`${name}, ${modeName}: the hash that one thread gives`, async () => {
          for (const size of SIZES) {
            const bytes = noise(size, size)
            const expected = new Hasher(options).update(bytes).digest()
            const { root } = await grow(sourceOf(bytes), { mode: modeOf(options) })
            expect(hex(root), `${size} bytes`).to.equal(hex(expected))
          }
        })
      }

      for (const order of ['pre', 'post']) {
        it(`${name}: the outboard that one thread gives, in ${order}-order, at all group logs`, async () => {
          for (const size of SIZES) {
            const bytes = noise(size, size)
            for (const [groupLog, key] of logsInTurn([[0], [0, KEY], [1], [2], [3], [4], [7], [16]])) {
              const expected = createOutboardSync(bytes, { groupLog, order, key })
              const grown = await grow(sourceOf(bytes), { mode: modeOf({ key }), outboard: { groupLog, order } })
              expect(hex(grown.root), `${size} bytes at ${groupLog}`).to.equal(hex(expected.root))
              expect(same(grown.pairs, expected.bytes), `${size} bytes at ${groupLog}`).to.equal(true)
              expect(grown.size).to.equal(size)
            }
          }
        })
      }
    }

    it('spans of one chunk, of a window, and of more', async () => {
      for (const [spanLen, size] of [[KIB, 5 * KIB + 1], [128 * KIB, 400_000], [256 * KIB, 700_001]]) {
        const bytes = noise(size)
        const expected = createOutboardSync(bytes, { groupLog: 0 })
        const { root, pairs } = await grow(new Blob([bytes]), { spanLen, outboard: { groupLog: 0, order: 'pre' } })
        expect(hex(root)).to.equal(hex(expected.root))
        expect(hex(hash(pairs))).to.equal(hex(hash(expected.bytes)))
      }
    })
  })

  it('are as many as `threads` says, and `auto` leaves short sources to one', async () => {
    const bytes = noise(5 * MIB + 1)
    const blob = new Blob([bytes])
    const expected = createOutboardSync(bytes)
    const keyed = new Hasher({ key: KEY }).update(bytes).digest()
    for (const threads of [1, 2, 5, 'auto', undefined]) {
      expect(hex(await hashStream(blob, { threads }))).to.equal(hex(expected.root))
      expect(hex(await hashStream(blob, { threads, key: KEY }))).to.equal(hex(keyed))
      const outboard = await createOutboard(blob, { threads })
      expect(hex(hash(outboard.bytes))).to.equal(hex(hash(expected.bytes)))
      expect(outboard.order).to.equal('pre')
    }
    expect(hex(await hashStream(blob, { threads: 2, context: CONTEXT }))).to.equal(hex(deriveKey(CONTEXT, bytes)))

    const pool = countingPool(silent)
    await grow(blob, { threads: 1, pool, spanLen: undefined, isCold: true })
    await grow(new Blob([bytes.subarray(0, 5000)]), { threads: 2, pool, spanLen: undefined, isCold: true })
    expect(pool.started).to.equal(0)
    await grow(blob, { threads: 20, pool, spanLen: undefined, isCold: true })
    expect(pool.started, 'as many as there are spans').to.equal(3)
  })

  it('are started for one long source, or after enough short ones', async () => {
    const pool = countingPool(silent)
    const blob = new Blob([new Uint8Array(8 * MIB)])
    for (let i = 1; i < 32; i++) {
      await grow(blob, { threads: 'auto', pool, spanLen: undefined })
      expect(pool.started, `${i} of them`).to.equal(0)
    }
    await grow(blob, { threads: 'auto', pool, spanLen: undefined })
    expect(pool.started > 0).to.equal(parallelism() > 1)
  })

  it('refuse other numbers of threads', async () => {
    for (const threads of [0, -1, 1.5, 257, NaN, Infinity]) {
      expect(await errorOf(hashStream(new Blob([]), { threads })), threads).to.be.instanceOf(RangeError)
    }
    for (const threads of ['2', 'all', null, true]) {
      expect(await errorOf(createOutboard(noise(5), { threads })), threads).to.be.instanceOf(TypeError)
    }
  })

  it('report progress', async () => {
    const told = []
    await grow(new Blob([noise(10 * SPAN_LEN + 5)]), { onProgress: event => told.push(event) })
    expect(told).to.have.length(11)
    expect(told.every(({ type, detail }) => type === 'test' && detail.total === 10 * SPAN_LEN + 5)).to.equal(true)
    for (let i = 1; i < told.length; i++) expect(told[i].detail.done).to.be.greaterThan(told[i - 1].detail.done)
    expect(told.at(-1).detail.done).to.equal(10 * SPAN_LEN + 5)
  })

  it('serve several calls at the same time, and do not disturb other hashing', async () => {
    const inputs = [1, 2, 3, 4, 5].map(seed => noise((20 + seed) * SPAN_LEN + seed, seed))
    const hasher = new Hasher()
    const other = noise(300_001, 9)
    let fed = 0
    const results = await Promise.all(inputs.map((bytes, i) => grow(new Blob([bytes]), {
      mode: modeOf(i % 2 ? { key: KEY } : {}),
      outboard: { groupLog: i, order: 'post' },
      onProgress () {
        expect(hex(hash(other))).to.equal('' + hex(hash(other)))
        hasher.update(other.subarray(fed, fed += 1000))
      }
    })))
    for (const [i, bytes] of inputs.entries()) {
      const expected = createOutboardSync(bytes, { key: i % 2 ? KEY : undefined, groupLog: i, order: 'post' })
      expect(hex(results[i].root)).to.equal(hex(expected.root))
      expect(same(results[i].pairs, expected.bytes)).to.equal(true)
    }
    expect(hex(hasher.digest())).to.equal(hex(hash(other.subarray(0, fed))))
  })

  it('stop at an abort at any time, and serve the next call', async () => {
    const bytes = noise(60 * SPAN_LEN)
    const blob = new Blob([bytes])
    const expected = hex(hash(bytes))
    const reason = new Error('enough')
    const unheard = await unheardOf(async () => {
      expect(await errorOf(grow(blob, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
      for (const moment of someOf([0, 1, 2, 3, 5, 8, 13, 40, 59])) {
        const controller = new AbortController()
        let told = 0
        const onProgress = () => { if (told++ === moment) controller.abort(reason) }
        const work = grow(blob, { signal: controller.signal, onProgress })
        expect(await errorOf(work), `after ${moment}`).to.equal(reason)
        expect(told).to.equal(moment + 1)
        expect(hex((await grow(blob)).root)).to.equal(expected)
      }
      for (const ms of [0, 1, 3]) {
        const controller = new AbortController()
        setTimeout(() => controller.abort(reason), ms)
        const error = await errorOf(grow(new Blob([noise(8 * MIB)]), { spanLen: KIB, signal: controller.signal }))
        expect(error).to.equal(reason)
      }
    })
    expect(unheard).to.deep.equal([])
    expect(hex((await grow(blob)).root)).to.equal(expected)
  })

  it('end with the error that `onProgress` throws', async () => {
    const bytes = noise(30 * SPAN_LEN)
    const error = new Error('no more')
    const unheard = await unheardOf(async () => {
      expect(await errorOf(grow(new Blob([bytes]), { onProgress () { throw error } }))).to.equal(error)
    })
    expect(unheard).to.deep.equal([])
    expect(hex((await grow(new Blob([bytes]))).root)).to.equal(hex(hash(bytes)))
  })
})

describe('workers', () => {
  const bytes = noise(12 * SPAN_LEN + 3)
  const blob = new Blob([bytes])
  const expected = hex(hash(bytes))

  it('that are refused are not started again: one thread does the work', async () => {
    const refusals = {
      'when they are made': () => { throw new Error('refused') },
      'before they are ready': events => {
        setTimeout(() => events.end(new Error('refused')))
        return silent()
      }
    }
    for (const [when, start] of Object.entries(refusals)) {
      const pool = countingPool(start)
      for (let i = 0; i < 3; i++) {
        expect(hex((await grow(blob, { pool, isCold: true })).root), when).to.equal(expected)
        await moment()
      }
      expect(pool.isRefused).to.equal(true)
      expect(pool.started, when).to.be.at.most(2)
      const { started } = pool
      await pool.close()
      expect(hex((await grow(blob, { pool })).root), when).to.equal(expected)
      expect(pool.started, when).to.equal(started)
    }
  })

  it('are as many as can be started, and this thread does the rest', async () => {
    const pool = countingPool((events, number) => {
      if (number === 2) throw new Error('no more of them')
      return startThread(events)
    })
    for (let i = 0; i < 3; i++) expect(hex((await grow(blob, { pool, threads: 4 })).root)).to.equal(expected)
    expect(pool.started).to.equal(2)
    expect(pool.jobs.length).to.be.within(1, 3 * 13 - 1)
    await pool.close()
  })

  it('that start slowly are not waited for: this thread does their work', async () => {
    const never = countingPool(silent)
    for (let i = 0; i < 3; i++) expect(hex((await grow(blob, { pool: never, isCold: true })).root)).to.equal(expected)
    expect(never.started).to.equal(2)
    expect(never.jobs).to.have.length(0)

    const one = countingPool((events, number) => number === 1 ? silent() : startThread(events))
    for (const size of SIZES) {
      const bytes = noise(size, size)
      for (const order of ['pre', 'post']) {
        const outboardOptions = { groupLog: 1, order }
        const { root, pairs } = await grow(new Blob([bytes]), { pool: one, isCold: true, outboard: outboardOptions })
        const outboard = createOutboardSync(bytes, outboardOptions)
        expect(hex(root)).to.equal(hex(outboard.root))
        expect(hex(pairs)).to.equal(hex(outboard.bytes))
      }
    }
    await one.close()
  })

  it('take spans when they are ready', async () => {
    const pool = countingPool()
    const opened = await openSource(blob)
    const slow = {
      ...opened,
      shared: { blob },
      async * pieces (start, end) {
        if (start > 2 * SPAN_LEN) await pool.take(1)[0].starting // it was told to start before
        yield * opened.pieces(start, end)
      }
    }
    const { root } = await hashOpenSource(slow, { mode: modeOf(), threads: 2, spanLen: SPAN_LEN, type: '', pool })
    expect(hex(root)).to.equal(expected)
    expect(pool.jobs.length).to.be.within(1, 12)
    await pool.close()
  })

  it('that cannot read the source leave it to this thread', async () => {
    const refusing = events => thread(events, ({ id }) => setTimeout(() => events.message({ id, isNotShared: true })))
    const unable = {
      'they say so': refusing,
      'it cannot be sent': events => thread(events, () => { throw new DOMException('not this', 'DataCloneError') }),
      'one of them': (events, number) => number === 1 ? refusing(events) : startThread(events)
    }
    for (const [when, start] of Object.entries(unable)) {
      const pool = countingPool(start)
      const told = []
      expect(hex((await grow(blob, { pool, onProgress: event => told.push(event) })).root), when).to.equal(expected)
      expect(told, when).to.have.length(13)
      expect(pool.jobs.length, when).to.be.at.least(2)
      await pool.close()
    }
  })

  it('that die fail their spans, and others take their place', async () => {
    const cause = new Error('out of memory')
    const deaths = {
      'at the first span': events => thread(events, () => setTimeout(() => events.end(cause))),
      'while a span is handed over': events => thread(events, () => events.end(cause)),
      'between spans': events => {
        let left = 2 // it says that it is ready, and gives one of its two spans
        const real = startThread({
          message: message => {
            if (left-- > 0) return events.message(message)
            events.end(cause)
            real.end()
          },
          end () {}
        })
        return real
      }
    }
    for (const [when, die] of Object.entries(deaths)) {
      const unheard = await unheardOf(async () => {
        const pool = countingPool((events, number) => number === 1 ? die(events) : startThread(events))
        const error = await errorOf(grow(blob, { pool, onProgress () {} }))
        expect(error, when).to.include({ name: 'BaoError', code: 'BAO_WORKER_FAILED', cause })
        for (let i = 0; i < 3; i++) expect(hex((await grow(blob, { pool })).root), when).to.equal(expected)
        expect(pool.started, when).to.equal(3)
        await pool.close()
      })
      expect(unheard, when).to.deep.equal([])
    }
  })

  it('report errors as this thread would', async () => {
    const failures = {
      BaoError: {
        kind: 'BaoError',
        name: 'BaoError',
        message: 'short',
        properties: { code: 'BAO_TRUNCATED', start: 5, wanted: 3, got: 1 }
      },
      DOMException: { kind: 'DOMException', name: 'NotReadableError', message: 'gone', properties: {} },
      Error: {
        kind: 'Error',
        name: 'Error',
        message: 'EIO: i/o error, read',
        properties: { code: 'EIO', syscall: 'read' }
      }
    }
    for (const [kind, failure] of Object.entries(failures)) {
      const pool = countingPool(events => thread(events, ({ id }) => setTimeout(() => events.message({ id, failure }))))
      const error = await errorOf(grow(blob, { pool }))
      expect(error.constructor.name).to.equal(kind)
      const { code, ...place } = failure.properties
      expect(error).to.include({ name: failure.name, message: failure.message, ...place })
      if (code !== undefined) expect(error.code).to.equal(code)
    }
  })

  it('that are closed fail their spans, and start again', async () => {
    const unheard = await unheardOf(async () => {
      await grow(blob)
      expect(sharedPool.isWarm).to.equal(true)
      let closing
      const work = grow(blob, { onProgress: () => { closing ??= closeWorkers() } })
      const error = await errorOf(work)
      expect(error).to.include({ code: 'BAO_WORKER_FAILED' })
      expect(error.message).to.include('closeWorkers')
      await closing
      expect(sharedPool.isWarm).to.equal(false)

      // Workers that were only starting had no spans.
      const starting = grow(blob, { isCold: true })
      await closeWorkers()
      expect(hex((await starting).root)).to.equal(expected)
      await closeWorkers()
      expect(hex((await grow(blob)).root)).to.equal(expected)
      await closeWorkers()
    })
    expect(unheard).to.deep.equal([])
  })
})
