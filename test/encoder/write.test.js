// Outboards that are written while the blob is read, and read in pages while they are used, are those in memory.
import { expect } from 'chai'
import { BaoError, ChunkRanges, closeWorkers } from '../../lib/index.js'
import {
  createOutboardSync,
  createProof,
  createProofSync,
  encodeSlice,
  encodeSliceSync,
  encodeStream,
  openOutboard,
  writeOutboard
} from '../../encoder/index.js'
import { VerifiedReader, validOutboardRanges, validRanges } from '../../verifier/index.js'
import { PairWriter } from '../../lib/outboard/pair-writer.js'
import { hashOpenSource } from '../../lib/parallel/hash-source.js'
import { modeOf } from '../../lib/hash/mode-options.js'
import { openSource } from '../../lib/source/source.js'
import { sharedPool } from '../../lib/parallel/pool.js'
import { concat, flipped, header, hex, same } from '../support/bytes.js'
import { KIB } from '../support/constants.js'
import { collect, errorOf, ragged, stream } from '../support/feeding.js'
import { KEY, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { MemorySink } from '../support/sinks.js'
import { expectSlip, refusesAllButCounts, refusesAllButGroupLogs, refusesAllButKeys } from '../support/slips.js'

const ORDERS = ['pre', 'post']
const SIZES = [
  0, 1, 1024, 1025, 3 * KIB, 16 * KIB + 1, 64 * KIB, 127 * KIB, 128 * KIB + 1, 129 * KIB, 192 * KIB, 300_001,
  5 * 256 * KIB + 777
]

/** Ways to give a blob: some state its size, some do not. */
const SOURCES = {
  bytes: bytes => bytes,
  'an object that reads': bytes => ({ size: bytes.length, read: async (start, end) => bytes.slice(start, end) }),
  'a stream': bytes => stream(ragged(bytes, 3))
}

forEachKernel(() => describe('writeOutboard', () => {
  for (const [name, sourceOf] of Object.entries(SOURCES)) {
    it(`writes the outboard of createOutboardSync, from ${name}`, async () => {
      for (const size of SIZES) {
        const bytes = noise(size, size)
        for (const groupLog of [0, 1, 4]) {
          for (const order of ORDERS) {
            const key = groupLog === 1 ? KEY : undefined
            const expected = createOutboardSync(bytes, { groupLog, order, key })
            const sink = new MemorySink()
            const info = await writeOutboard(sourceOf(bytes), sink, { groupLog, order, key, header: size % 2 === 0 })
            const front = size % 2 === 0 ? header(size) : new Uint8Array(0)
            expect(
              same(sink.bytes, concat([front, expected.bytes])), `${size} bytes at ${groupLog}, ${order}`
            ).to.equal(true)
            expect(hex(info.root)).to.equal(hex(expected.root))
            expect(info).to.include({ size, groupLog, order, header: size % 2 === 0 })
            expect(sink.syncs).to.be.greaterThan(0)
          }
        }
      }
    })
  }
}))

describe('writeOutboard', () => {
  const bytes = noise(3_000_000, 5)
  const outboard = createOutboardSync(bytes, { groupLog: 0 })
  after(closeWorkers)

  it('writes the outboard file of bao at group log 0 with a header', async () => {
    const sink = new MemorySink()
    await writeOutboard(stream(ragged(bytes, 1)), sink, { groupLog: 0, header: true })
    expect(same(sink.bytes, outboard.toBao())).to.equal(true)
  })

  it('does not read the target if the size is known, or in post-order', async () => {
    for (const [source, options] of [
      [bytes, { order: 'pre' }], [bytes, { order: 'post' }], [stream([bytes]), { order: 'post' }]
    ]) {
      const sink = new MemorySink({ canRead: false })
      await writeOutboard(source, sink, { groupLog: 0, ...options })
      expect(same(sink.bytes, createOutboardSync(bytes, { groupLog: 0, ...options }).bytes)).to.equal(true)
    }
    let wasAsked = false
    const source = (async function * () { wasAsked = true })()
    await expectSlip('target', () => writeOutboard(source, new MemorySink({ canRead: false })), [TypeError])
    expect(wasAsked).to.equal(false)
  })

  it('gathers the pairs of one write at a time', async () => {
    for (const [source, order] of [[bytes, 'pre'], [stream(ragged(bytes, 1)), 'post']]) {
      const sink = new MemorySink()
      await writeOutboard(source, sink, { groupLog: 0, order })
      const most = Math.max(...sink.writes.map(([, len]) => len))
      expect(sink.bytes.length).to.be.within(180_000, 200_000)
      expect(most).to.be.lessThan(400_000)
      expect(sink.writes.length).to.be.lessThan(20)
    }
  })

  it('writes the pairs of several threads, in any order of places', async () => {
    await Promise.all(sharedPool.take(2).map(worker => worker.starting))
    for (const order of ORDERS) {
      for (const groupLog of [0, 4]) {
        const sink = new MemorySink()
        const writer = new PairWriter(sink, { groupLog, order, header: true })
        const blob = new Blob([bytes])
        const opened = { ...await openSource(blob), shared: { blob } }
        writer.begin(opened.size)
        const { root, size } = await hashOpenSource(
          opened,
          { mode: modeOf(), outboard: { groupLog, order, writer }, threads: 2, spanLen: 64 * KIB, type: 'test' }
        )
        await writer.finish(size)
        const expected = createOutboardSync(bytes, { groupLog, order })
        expect(hex(root)).to.equal(hex(expected.root))
        expect(same(sink.bytes, concat([header(size), expected.bytes])), `${order} at ${groupLog}`).to.equal(true)
      }
    }
  })

  it('writes the size last', async () => {
    for (const source of [bytes, stream([bytes])]) {
      let wrote = 0
      const sink = new MemorySink({
        onWrite: (offset, { length }) => {
          if (offset > 0) wrote += length
          else expect(wrote).to.be.at.least(outboard.bytes.length)
        }
      })
      await writeOutboard(source, sink, { groupLog: 0, header: true })
    }
  })

  it('fails with the error of the target, and does not write to it again', async () => {
    for (const failsAt of ['write', 'sync', 'read']) {
      for (const source of [bytes, stream([bytes])]) {
        const sink = new MemorySink()
        if (failsAt === 'read' && source === bytes) continue
        let later = 0
        const fail = async () => { throw new Error(`no ${failsAt}`) }
        for (const name of ['write', 'read', 'sync']) {
          const usual = sink[name].bind(sink)
          let hasFailed = false
          sink[name] = (...args) => {
            if (name !== failsAt) return usual(...args)
            if (hasFailed) later++
            hasFailed = true
            return fail()
          }
        }
        const error = await errorOf(writeOutboard(source, sink, { groupLog: 0 }))
        expect(error?.message).to.equal(`no ${failsAt}`)
        expect(later).to.equal(0)
      }
    }
  })

  it('ends with an abort, even while the target hangs', async () => {
    const abort = new AbortController()
    const sink = new MemorySink({ onWrite: () => { abort.abort(); return new Promise(() => {}) } })
    const long = { size: 40_000_000, read: (start, end) => new Uint8Array(end - start) }
    expect(
      await errorOf(writeOutboard(long, sink, { groupLog: 0, signal: abort.signal }))
    ).to.include({ name: 'AbortError' })
    expect(
      await errorOf(writeOutboard(bytes, new MemorySink(), { signal: AbortSignal.abort() }))
    ).to.include({ name: 'AbortError' })
  })

  it('begins no write after an abort', async () => {
    const abort = new AbortController()
    let begun = 0
    const target = {
      async write () {
        begun++
        abort.abort()
        await new Promise(resolve => setTimeout(resolve))
      }
    }
    const long = { size: 40_000_000, read: (start, end) => new Uint8Array(end - start) }
    expect(
      await errorOf(writeOutboard(long, target, { groupLog: 0, signal: abort.signal }))
    ).to.include({ name: 'AbortError' })
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(begun).to.equal(1)
  })

  it('reports progress', async () => {
    const told = []
    await writeOutboard(bytes, new MemorySink(), { onProgress: event => told.push(event) })
    expect(told.at(-1)).to.deep.equal(
      { type: 'baobox:outboard', detail: { done: bytes.length, total: bytes.length, unit: 'bytes' } }
    )
  })

  it('refuses a source that is shorter than its size', async () => {
    const source = { size: 200_000, read: (start, end) => bytes.subarray(start, Math.min(end, 150_000)) }
    expect(await errorOf(writeOutboard(source, new MemorySink()))).to.include(
      { code: 'BAO_TRUNCATED', start: 0, wanted: 200_000, got: 150_000 }
    )
  })

  it('refuses wrong arguments, and names them', async () => {
    const write = options => writeOutboard(bytes, new MemorySink(), options)
    await refusesAllButGroupLogs(groupLog => write({ groupLog }))
    await refusesAllButKeys(key => write({ key }))
    for (const order of [null, 5, 'in']) await expectSlip('order', () => write({ order }))
    for (const target of [undefined, null, 5, {}, [], { write: 5 }, new Uint8Array(9)]) {
      await expectSlip(
        'target', () => writeOutboard(bytes, target), [TypeError]
      )
    }
    await expectSlip('source', () => writeOutboard(5, new MemorySink()), [TypeError])
  })
})

forEachKernel(() => describe('openOutboard', () => {
  const bytes = noise(900_000, 9)
  const cases = ORDERS.flatMap(order => [0, 4].map(groupLog => ({ order, groupLog })))
  const RANGES = [
    ChunkRanges.all, { start: 300_000, end: 301_000 }, ChunkRanges.fromBoundaries([3, 9, 40, 41, 700]),
    ChunkRanges.last
  ]

  it('gives the same slices, proofs, reads and audits as an outboard in memory', async () => {
    for (const options of cases) {
      const outboard = createOutboardSync(bytes, options)
      const later = { size: outboard.bytes.length, read: async (start, end) => outboard.bytes.slice(start, end) }
      for (const source of [new Blob([outboard.bytes]), later]) {
        const paged = await openOutboard(source, outboard)
        expect(String(paged.cid)).to.equal(String(outboard.cid))
        for (const ranges of RANGES) {
          expect(
            same(await collect(encodeSlice(bytes, paged, ranges)), encodeSliceSync(bytes, outboard, ranges))
          ).to.equal(true)
          expect(
            hex((await createProof(bytes, paged, ranges)).toBytes())
          ).to.equal(hex(createProofSync(bytes, outboard, ranges).toBytes()))
        }
        expect(same(await collect(encodeStream(bytes, paged)), encodeSliceSync(bytes, outboard))).to.equal(true)
        const reader = new VerifiedReader({ cid: outboard.root, source: bytes, outboard: paged })
        expect(
          same(await reader.read({ start: 100_000, end: 500_000 }), bytes.subarray(100_000, 500_000))
        ).to.equal(true)
        expect(await reader.size()).to.equal(bytes.length)
        const spoilt = flipped(bytes, 400_000)
        expect((await validRanges(spoilt, paged)).boundaries).to.deep.equal(
          (await validRanges(spoilt, outboard)).boundaries
        )
        expect((await validOutboardRanges(paged)).boundaries).to.deep.equal([0, 879])
        await paged.close()
      }
    }
  })

  it('serves many readers at the same time', async () => {
    const outboard = createOutboardSync(bytes, { groupLog: 0 })
    const paged = await openOutboard(new Blob([outboard.bytes]), outboard)
    const all = await Promise.all(Array.from(
      { length: 20 }, (_, i) => collect(encodeSlice(bytes, paged, { start: i * 40_000, end: i * 40_000 + 150_000 }))
    ))
    all.forEach((slice, i) => expect(
      same(slice, encodeSliceSync(bytes, outboard, { start: i * 40_000, end: i * 40_000 + 150_000 }))
    ).to.equal(true))
  })

  it('refuses a wrong pair only where it is used', async () => {
    for (const options of cases) {
      const outboard = createOutboardSync(bytes, options)
      for (const at of [0, 64, Math.floor(outboard.bytes.length / 128) * 64 + 40, outboard.bytes.length - 1]) {
        const spoilt = await openOutboard(flipped(outboard.bytes, at), outboard)
        const error = await errorOf(collect(encodeSlice(bytes, spoilt)))
        expect(error).to.include({ code: 'BAO_PARENT_MISMATCH' })
        const valid = await validOutboardRanges(spoilt)
        expect(valid.boundaries).to.not.deep.equal([0, 879])
        if (!valid.isEmpty) {
          const slice = await collect(encodeSlice(bytes, spoilt, valid))
          expect(same(slice, encodeSliceSync(bytes, outboard, valid))).to.equal(true)
        }
      }
    }
  })

  it('reports which pairs are missing, where they are needed', async () => {
    const outboard = createOutboardSync(bytes, { groupLog: 0 })
    for (const len of [0, 63, 64, 20_000]) {
      const paged = await openOutboard(outboard.bytes.subarray(0, len), outboard)
      const error = await errorOf(collect(encodeSlice(bytes, paged)))
      expect(error).to.be.instanceOf(BaoError).and.to.include({ code: 'BAO_TRUNCATED', wanted: 64, got: 0 })
      expect(hex(await collect(prefixOf(encodeSlice(bytes, paged))))).to.equal(
        hex(encodeSliceSync(bytes, outboard).subarray(0, await lengthBefore(error.node)))
      )
    }
    const valid = await validRanges(bytes, await openOutboard(outboard.bytes.subarray(0, 20_000), outboard))
    expect(valid.boundaries[0]).to.equal(0)
    expect(valid.boundaries.at(-1)).to.be.within(250, 320)

    async function * prefixOf (pieces) { try { yield * pieces } catch {} }
    async function lengthBefore (node) {
      const whole = encodeSliceSync(bytes, outboard)
      const pair = outboard.pair(node)
      for (let at = 8; at < whole.length; at++) {
        if (whole[at] === pair[0] && same(
          whole.subarray(at, at + 64), pair
        )) return at
      }
    }
  })
}))

describe('openOutboard', () => {
  const bytes = noise(900_000, 9)
  const outboard = createOutboardSync(bytes, { groupLog: 0 })

  it('reads the size from the header', async () => {
    const file = outboard.toBao()
    const { root } = outboard
    for (const size of [undefined, bytes.length]) {
      const paged = await openOutboard(file, { cid: root, size, groupLog: 0, header: true })
      expect(paged.size).to.equal(bytes.length)
      expect(same(await collect(encodeSlice(bytes, paged)), encodeSliceSync(bytes, outboard))).to.equal(true)
    }
    expect(
      await errorOf(openOutboard(file.subarray(0, 7), { cid: root, header: true }))
    ).to.include({ code: 'BAO_BAD_HEADER' })
    const huge = concat([new Uint8Array(8).fill(255), outboard.bytes])
    expect(await errorOf(openOutboard(huge, { cid: root, header: true }))).to.include({ code: 'BAO_SIZE_TOO_LARGE' })
  })

  it('takes no memory for a wrong size', async () => {
    const root = outboard.root
    const paged = await openOutboard(
      concat([header(Number.MAX_SAFE_INTEGER), outboard.bytes]), { cid: root, groupLog: 0, header: true }
    )
    const error = await errorOf(collect(encodeSlice(bytes, paged)))
    expect(error).to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect((await validOutboardRanges(paged)).isEmpty).to.equal(true)
    expect((await validRanges(bytes, paged)).isEmpty).to.equal(true)
  })

  it('reads only the pages that are needed, each once', async () => {
    const long = { size: 2 ** 40, cid: new Uint8Array(32), groupLog: 4 }
    const reads = []
    const source = {
      size: 2 ** 36, read: async (start, end) => { reads.push([start, end]); return new Uint8Array(end - start) }
    }
    const paged = await openOutboard(source, long)
    await errorOf(collect(encodeSlice(
      { size: 2 ** 40, read: (start, end) => new Uint8Array(end - start) },
      paged,
      { start: 2 ** 39 + 12345, end: 2 ** 39 + 12346 },
      { verify: false }
    )))
    const total = reads.reduce((sum, [start, end]) => sum + end - start, 0)
    expect(reads).to.have.length.within(2, 26)
    expect(total).to.be.lessThan(26 * 65536)
    const before = reads.length
    await errorOf(collect(encodeSlice(
      { size: 2 ** 40, read: (start, end) => new Uint8Array(end - start) },
      paged,
      { start: 2 ** 39 + 99_999, end: 2 ** 39 + 100_000 },
      { verify: false }
    )))
    expect(reads.length).to.equal(before)

    const some = []
    const counted = {
      size: outboard.bytes.length,
      read: async (start, end) => { some.push([start, end]); return outboard.bytes.slice(start, end) }
    }
    await collect(encodeSlice(bytes, await openOutboard(counted, outboard)))
    expect(some.reduce((sum, [start, end]) => sum + end - start, 0)).to.equal(outboard.bytes.length)
  })

  it('reads pages again that could not be read', async () => {
    let fails = true
    const source = {
      size: outboard.bytes.length,
      read: async (start, end) => { if (fails) throw new Error('not now'); return outboard.bytes.slice(start, end) }
    }
    const paged = await openOutboard(source, outboard)
    expect((await errorOf(collect(encodeSlice(bytes, paged)))).message).to.equal('not now')
    fails = false
    expect(same(await collect(encodeSlice(bytes, paged)), encodeSliceSync(bytes, outboard))).to.equal(true)
  })

  it('refuses sources that give other bytes than those of the read', async () => {
    for (const read of [
      () => outboard.bytes.subarray(0, 65), async () => undefined,
      (start, end) => Array.from(outboard.bytes.subarray(start, end))
    ]) {
      const paged = await openOutboard({ size: 64, read }, outboard)
      const error = await errorOf(collect(encodeSlice(bytes, paged)))
      expect(error instanceof TypeError || error instanceof RangeError, error?.stack).to.equal(true)
    }
  })

  it('gives single pairs', async () => {
    for (const order of ORDERS) {
      const expected = createOutboardSync(bytes, { order, groupLog: 0 })
      const paged = await openOutboard(new Blob([expected.bytes]), expected)
      for (const node of [0, 1, 63, 511, 877]) expect(hex(await paged.pair(node))).to.equal(hex(expected.pair(node)))
      expect(await paged.pair(879)).to.equal(undefined)
      await refusesAllButCounts('node', node => paged.pair(node))
      const short = await openOutboard(expected.bytes.subarray(0, 63), expected)
      expect(await short.pair(0)).to.equal(undefined)
    }
  })

  it('is refused by encodeSliceSync, which cannot wait', async () => {
    const paged = await openOutboard(outboard.bytes, outboard)
    await expectSlip('outboard', () => encodeSliceSync(bytes, paged), [TypeError])
    await expectSlip('outboard', () => createProofSync(bytes, paged, { start: 0, end: 1 }), [TypeError])
  })

  it('refuses wrong arguments, and names them', async () => {
    const open = options => openOutboard(outboard.bytes, { ...outboard, cid: outboard.root, ...options })
    await refusesAllButGroupLogs(groupLog => open({ groupLog }))
    await refusesAllButCounts('size', size => open({ size }))
    await expectSlip('size', () => open({ size: undefined }))
    for (const order of [null, 5, 'in']) await expectSlip('order', () => open({ order }))
    for (const cid of [undefined, null, 5, {}]) await expectSlip('cid', () => open({ cid }), [TypeError])
    for (const source of [undefined, null, 5, {}, stream([])]) {
      await expectSlip(
        'source', () => openOutboard(source, outboard), [TypeError]
      )
    }
  })
})
