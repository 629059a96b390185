// How sources are opened, and how reading them ends.

import { expect } from 'chai'
import { unheardOf } from '#runtime'
import { toPieces } from '../../../lib/source/source.js'
import { hashStream, hash } from '../../../lib/index.js'
import { createOutboardSync, encode, encodeSlice } from '../../../encoder/index.js'
import { VerifiedReader } from '../../../verifier/index.js'
import { BlobStore } from '../../../store/index.js'
import { MemoryLevel } from 'memory-level'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'

/** A source that gives one piece and then hangs. */
const stuck = ended => (async function * () {
  try {
    yield noise(100)
    await new Promise(() => {})
  } finally {
    ended?.()
  }
})()

describe('sources', () => {
  const bytes = noise(3_000_000)

  it('of every kind come in pieces of at most 1 MiB', async () => {
    const reader = { size: bytes.length, read: (start, end) => bytes.subarray(start, end) }
    for (const source of [bytes, new Blob([bytes]), [bytes], new Blob([bytes]).stream(), reader]) {
      const pieces = []
      for await (const piece of toPieces(source)) pieces.push(piece.length)
      expect(Math.max(...pieces)).to.be.at.most(1 << 20)
      expect(pieces.reduce((a, b) => a + b)).to.equal(bytes.length)
    }
  })

  it('that hang do not delay an abort', async () => {
    const reason = new Error('enough')
    for (const use of [
      signal => collect(toPieces(stuck(), { signal })),
      signal => hashStream(stuck(), { signal }),
      async signal => {
        const store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
        try {
          await store.put(stuck(), { signal })
        } finally {
          expect(await collect(store.list())).to.have.length(0)
          await store.close()
        }
      }
    ]) {
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 10)
      expect(await errorOf(use(controller.signal))).to.equal(reason)
    }
  })

  it('that never wait do not block timers', async () => {
    const piece = bytes.subarray(0, 100_000)
    const endless = {
      'an async iterable': (async function * () { while (true) yield piece })(),
      'an iterable': (function * () { while (true) yield piece })(),
      'an iterable of nothing': (function * () { while (true) yield piece.subarray(0, 0) })(),
      'an object that reads': { size: 2 ** 50, read: (start, end) => bytes.subarray(0, end - start) }
    }
    for (const [name, source] of Object.entries(endless)) {
      const reason = new Error('enough')
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 30)
      expect(await errorOf(hashStream(source, { signal: controller.signal })), name).to.equal(reason)
    }
  })

  it('in memory do not block timers while slices are cut and read', async () => {
    const long = new Uint8Array(96 << 20)
    const { root, bytes: encoded } = encode(long, { groupLog: 4 })
    const outboard = createOutboardSync(long)
    const ways = {
      encodeSlice: signal => encodeSlice(long, outboard, undefined, { signal, reuse: true }),
      'a reader': signal => new VerifiedReader({ cid: root, source: long, outboard }).stream({ start: 0 }, { signal }),
      'a reader of an encoding' (signal) {
        return new VerifiedReader({ cid: root, encoded, groupLog: 4 }).stream({ start: 0 }, { signal })
      }
    }
    for (const [name, way] of Object.entries(ways)) {
      const controller = new AbortController()
      setTimeout(() => controller.abort())
      let len = 0
      const error = await errorOf(async () => { for await (const piece of way(controller.signal)) len += piece.length })
      expect(error, name).to.include({ name: 'AbortError' })
      expect(len).to.be.lessThan(long.length)
    }
  })

  it('report progress and, if they know it, their length', async () => {
    for (const [source, total] of [[bytes, bytes.length], [new Blob([bytes]), bytes.length], [[bytes], undefined]]) {
      const told = []
      await hashStream(source, { onProgress: event => told.push(event) })
      expect(told.map(({ detail }) => detail.done)).to.deep.equal([1 << 20, 2 << 20, bytes.length])
      expect(told.every(({ type, detail }) => type === 'baobox:hash' && detail.total === total)).to.equal(true)
    }
  })

  it('that fail after an abort cause no unhandled rejection', async () => {
    const unheard = await unheardOf(async () => {
      for (const sourceOf of [
        fail => ({ [Symbol.asyncIterator]: () => ({ next: fail }) }),
        fail => ({ size: 10, read: fail })
      ]) {
        const controller = new AbortController()
        const source = sourceOf(async () => {
          controller.abort()
          throw new Error('gone')
        })
        expect(await errorOf(hashStream(source, { signal: controller.signal }))).to.include({ name: 'AbortError' })
      }
    })
    expect(unheard).to.deep.equal([])
  })

  it('are cancelled when no more bytes are wanted', async () => {
    let isClosed = false
    const source = (async function * () {
      try {
        for (;;) yield noise(10)
      } finally {
        isClosed = true
      }
    })()
    for await (const piece of toPieces(source, { signal: new AbortController().signal })) if (piece) break
    expect(isClosed).to.equal(true)
  })

  it('are ended by an abort if they hang or have not begun', async () => {
    const begun = new AbortController()
    const signals = { 'while it waits': () => begun.signal, 'before it begins': () => AbortSignal.abort() }
    for (const [when, signal] of Object.entries(signals)) {
      const heard = { 'a web stream': false, 'an iterable': false }
      const never = () => new Promise(() => {})
      const iterator = { next: never, return () { heard['an iterable'] = true } }
      const streams = {
        'a web stream': new ReadableStream({ pull: never, cancel () { heard['a web stream'] = true } }),
        'an iterable': { [Symbol.asyncIterator]: () => iterator }
      }
      const ends = Object.values(streams).map(source => errorOf(hashStream(source, { signal: signal() })))
      await new Promise(resolve => setTimeout(resolve, 5))
      begun.abort()
      for (const end of ends) expect(await end).to.include({ name: 'AbortError' })
      await new Promise(resolve => setTimeout(resolve, 5))
      for (const [what, hasHeard] of Object.entries(heard)) expect(hasHeard, `${what}, ${when}`).to.equal(true)
    }
  })

  it('that end too early cause an error', async () => {
    const source = { size: 2_000_000, read: (start, end) => bytes.subarray(start, Math.min(end, 1_500_000)) }
    const place = { start: 1 << 20, wanted: 2_000_000 - (1 << 20) }
    expect(await errorOf(hashStream(source))).to.include({ code: 'BAO_TRUNCATED', ...place })
    expect(await hashStream({ ...source, size: 1_500_000 })).to.deep.equal(hash(bytes.subarray(0, 1_500_000)))
  })

  it('of other kinds are refused', async () => {
    for (const source of [undefined, null, 5, {}, [5], ['bytes']]) {
      expect(await errorOf(hashStream(source))).to.be.instanceOf(TypeError)
    }
  })
})
