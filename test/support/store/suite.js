// What every store must do, whatever its levels are made of. blobs.test.js runs it.
import { expect } from 'chai'
import { ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { concat, hex, same } from '../bytes.js'
import { collect, errorOf, listed, ragged, stream } from '../feeding.js'
import { input, noise } from '../inputs.js'
import { expectSlip } from '../slips.js'
import { idsIn } from './inspect.js'
import { sliceOf } from './stores.js'

const KIB = 1024
const MIB = 1024 * KIB
const around = size => [size - 1, size, size + 1]

const SIZES = {
  'nothing, or hardly anything': [0, 1],
  'a chunk': around(KIB),
  'a chunk group': around(16 * KIB),
  'an extent': around(64 * KIB),
  'a window of the hasher': around(128 * KIB),
  'a page of the tree: 64 groups': around(MIB),
  'the first page of the second band': [64 * 16 * KIB, 65 * 16 * KIB],
  'a batch': around(4 * MIB),
  'a batch and the window that waits for its pairs': [4 * MIB + 64 * KIB + 1, ...around(4 * MIB + 128 * KIB)],
  'two batches': [8 * MIB + 1]
}

/** Places in a blob where something begins or ends, and beside them. */
const bordersOf = size => [...new Set([0, 1, KIB, 16 * KIB, 64 * KIB, 128 * KIB, MIB, size - 16 * KIB, size].flatMap(around))]
  .filter(border => border >= 0 && border <= size + 1)

/** From every border: to some of the others, and a little way. */
function * rangesOf (size) {
  const borders = bordersOf(size)
  for (const start of borders) {
    for (const end of [...borders.filter((_, i) => (i + start) % 7 === 0), start + 1, start + 20_000]) yield { start, end }
  }
}

/** @param {() => Promise<{ open: (options?: object) => Promise<any>, look: Function }>} newPlace */
export function describeStore (newPlace) {
  let place
  let store
  beforeEach(async () => {
    place = await newPlace()
    store = await place.open()
  })

  for (const [what, sizes] of Object.entries(SIZES)) {
    it(`keeps blobs around the size of ${what}`, async () => {
      for (const size of sizes) {
        const bytes = input({ gen: 'xs', seed: 71, len: size })
        const root = hash(bytes)
        const isEmpty = size === 0
        expect(await store.has(root), `${size}: before`).to.equal(isEmpty)
        const { cid, ...put } = await store.put(bytes)
        expect(put).to.deep.equal({ size, isNew: !isEmpty })
        expect(cid.toString()).to.equal(toCid(root).toString())
        expect(await store.has(cid)).to.equal(true)
        expect(same(await store.bytes(cid), bytes), `${size}: bytes`).to.equal(true)
        expect(same(await collect(store.slice(cid)), sliceOf(bytes)), `${size}: slice`).to.equal(true)
        expect((await store.missing(cid)).isEmpty).to.equal(true)
        const { size: known, sizeProven, complete, present } = await store.stat(cid)
        expect({ known, sizeProven, complete }).to.deep.equal({ known: size, sizeProven: true, complete: true })
        expect(present.equals(ChunkRanges.all.canonical(size))).to.equal(true)
        expect((await store.put(bytes)).isNew, `${size}: again`).to.equal(false)
      }
    })
  }

  it('reads any range', async () => {
    for (const size of [1, 1025, 16 * KIB + 1, 64 * KIB, 128 * KIB + 1, MIB + 1]) {
      const bytes = input({ gen: 'xs', seed: 71, len: size })
      const { cid } = await store.put(bytes)
      for (const range of rangesOf(size)) {
        const got = await store.bytes(cid, range)
        expect(same(got, bytes.subarray(range.start, Math.max(range.start, range.end))), `${range.start} to ${range.end} of ${size}`).to.equal(true)
      }
    }
  })

  it('reads any range without verifying it', async () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 300_001 })
    const { cid } = await store.put(bytes)
    for (const range of rangesOf(bytes.length)) {
      const got = await store.bytes(cid, { ...range, verify: false })
      expect(same(got, bytes.subarray(range.start, Math.max(range.start, range.end))), `${range.start} to ${range.end}`).to.equal(true)
    }
  })

  it('reads from a place to the end, and up to a place', async () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 300_001 })
    const { cid } = await store.put(bytes)
    for (const border of bordersOf(bytes.length)) {
      expect(same(await store.bytes(cid, { start: border }), bytes.subarray(border)), `from ${border}`).to.equal(true)
      expect(same(await store.bytes(cid, { end: border }), bytes.subarray(0, border)), `to ${border}`).to.equal(true)
    }
  })

  it('cuts the slices that anybody would cut', async () => {
    for (const size of [0, 1, 1025, 16 * KIB + 1, 128 * KIB + 1, 1_100_000]) {
      const bytes = input({ gen: 'xs', seed: 71, len: size })
      const outboard = createOutboardSync(bytes)
      const { cid } = await store.put(bytes)
      const chunks = Math.ceil(size / KIB)
      const sets = [[], [0, 1], [0, 16], [1, 2, 5, 17], [15, 17], [64, 65, 70, 90], [1023, 1025], [Math.max(chunks - 1, 0), chunks + 1], [chunks + 5], [3]]
      const wanted = [...sets.map(boundaries => ChunkRanges.fromBoundaries(boundaries)), ...[...rangesOf(size)].filter(({ start, end }, i) => i % 9 === 0 && end >= start)]
      for (const ranges of wanted) {
        for (const header of [true, false]) {
          const got = await collect(store.slice(cid, ranges, { header }))
          expect(same(got, encodeSliceSync(bytes, outboard, ranges, { header })), `${JSON.stringify(ranges)} of ${size}`).to.equal(true)
        }
      }
    }
  })

  it('knows nothing of blobs that it was not given', async () => {
    const cid = toCid(hash(Uint8Array.of(1)))
    await store.put(Uint8Array.of(2))
    expect(await store.has(cid)).to.equal(false)
    expect(await store.delete(cid)).to.equal(false)
    expect((await store.missing(cid)).equals(ChunkRanges.all)).to.equal(true)
    expect((await store.missing(cid, { start: 5000, end: 6000 })).boundaries, 'whole groups, as of any blob').to.deep.equal([0, 16])
    for (const ask of [() => store.bytes(cid), () => collect(store.stream(cid)), () => store.stat(cid), () => collect(store.slice(cid))]) {
      const error = await errorOf(ask)
      expect(error).to.include({ code: 'STORE_NOT_FOUND' })
      expect(error.cid.toString()).to.equal(cid.toString())
    }
  })

  it('takes any name of a blob', async () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 20_000 })
    const { cid } = await store.put(bytes)
    const root = hash(bytes)
    for (const name of [cid, cid.toString(), cid.bytes, root, hex(root), hex(root).toUpperCase(), toCid(root, 0x71)]) {
      expect(await store.has(name)).to.equal(true)
      expect(same(await store.bytes(name), bytes)).to.equal(true)
      expect((await store.missing(name)).isEmpty).to.equal(true)
      expect((await store.stat(name)).cid.toString()).to.equal(cid.toString())
    }
    expect(await store.delete(hex(root))).to.equal(true)
    expect(await errorOf(store.has('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'))).to.include({ code: 'CID_UNSUPPORTED' })
    for (const bad of [5, undefined]) await expectSlip('cid', () => store.has(bad))
  })

  it('refuses ranges that are none', async () => {
    const { cid } = await store.put(new Uint8Array(5000))
    for (const bad of [-1, 0.5, NaN, '7', null]) {
      await expectSlip('start', () => store.bytes(cid, { start: bad }))
      await expectSlip('end', () => store.bytes(cid, { end: bad }))
      await expectSlip('start', () => collect(store.slice(cid, { start: bad })))
    }
    await expectSlip('ranges', () => collect(store.slice(cid, [0, 5])))
    await expectSlip('ranges', () => store.missing(cid, 5))
  })

  it('refuses options that are none', async () => {
    const { cid } = await store.put(noise(100))
    for (const bad of [10, [10, 20], null, Uint8Array.of(1)]) {
      await expectSlip('options', () => store.bytes(cid, bad))
      await expectSlip('options', () => collect(store.get(cid, bad)))
    }
    for (const bad of [cid, String(cid), cid.bytes, undefined]) await expectSlip('cids', () => listed(store.getMany(bad)))
  })

  it('gives pieces that are the caller\'s to keep', async () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 300_001 })
    const { cid } = await store.put(bytes)
    for (const verify of [true, false]) {
      for await (const piece of store.get(cid, { verify })) piece.fill(0)
      for await (const piece of store.slice(cid)) piece.fill(0)
      expect(same(await store.bytes(cid, { verify }), bytes)).to.equal(true)
    }
  })

  it('lends pieces if it may, and then uses their memory again', async () => {
    const bytes = noise(6 * MIB + 5)
    const { cid } = await store.put(bytes)
    const slice = encodeSliceSync(bytes, createOutboardSync(bytes))
    const readings = {
      verified: [bytes, reuse => store.get(cid, { reuse })],
      unverified: [bytes, reuse => store.get(cid, { verify: false, reuse })],
      'a slice': [slice, reuse => store.slice(cid, undefined, { reuse })]
    }
    for (const [title, [whole, read]] of Object.entries(readings)) {
      const memories = new Set()
      let [at, pieces] = [0, 0]
      for await (const piece of read(true)) {
        if (!same(piece, whole.subarray(at, at + piece.length))) expect.fail(`${title}, lent: bytes at ${at} are wrong`)
        at += piece.length
        pieces++
        memories.add(piece.buffer)
        piece.fill(0xff)
      }
      expect(at, title).to.equal(whole.length)
      expect(memories.size, title).to.be.below(pieces / 2)
      const kept = []
      for await (const piece of read(false)) kept.push(piece)
      expect(same(concat(kept), whole), `${title}, kept`).to.equal(true)
      expect(new Set(kept.map(({ buffer }) => buffer)).size, title).to.be.above(3)
    }
    expect(same(await store.bytes(cid, { reuse: true }), bytes), 'in one piece').to.equal(true)
    expect(same(concat(await listed(store.stream(cid, { reuse: true }))), bytes), 'a stream, which may keep some').to.equal(true)
  })

  it('leaves the bytes that it is given alone, and keeps none of them', async () => {
    const bytes = noise(300_001)
    const lent = bytes.slice()
    const { cid } = await store.put(lent)
    expect(same(lent, bytes)).to.equal(true)
    lent.fill(0)
    expect(same(await store.bytes(cid), bytes)).to.equal(true)

    // A source may fill the same buffer again and again.
    const buffer = new Uint8Array(50_000)
    const again = noise(5_000_000, 3)
    const { cid: other } = await store.put((async function * () {
      for (let at = 0; at < again.length; at += buffer.length) {
        const piece = again.subarray(at, at + buffer.length)
        buffer.set(piece)
        yield buffer.subarray(0, piece.length)
        buffer.fill(0xff)
      }
    })())
    expect(same(await store.bytes(other), again)).to.equal(true)
  })

  it('lists blobs in the order of their hashes', async () => {
    const blobs = [1, 2000, 20_000, 70_000, 5].map(size => noise(size, size))
    for (const bytes of blobs) await store.put(bytes)
    const partial = noise(100_000, 9)
    await store.receive(hash(partial), sliceOf(partial, { start: 0, end: 16384 }), { start: 0, end: 16384 })

    const listed = []
    for await (const { cid, size, complete, created, lastUsed } of store.list()) {
      expect(created).to.be.instanceOf(Date)
      expect(lastUsed.getTime()).to.be.at.least(created.getTime())
      listed.push(`${hex(cid.multihash.digest)} ${size} ${complete}`)
    }
    const expected = [...blobs.map(bytes => `${hex(hash(bytes))} ${bytes.length} true`), `${hex(hash(partial))} 100000 false`]
    expect(listed).to.deep.equal(expected.sort())
  })

  it('deletes', async () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 300_001 })
    const { cid } = await store.put(bytes)
    const { cid: other } = await store.put(Uint8Array.of(1))
    expect(await store.delete(cid)).to.equal(true)
    expect(await store.has(cid)).to.equal(false)
    expect(await errorOf(store.bytes(cid))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await store.delete(cid)).to.equal(false)
    expect(await store.has(other), 'another blob').to.equal(true)
    expect((await store.put(bytes)).isNew).to.equal(true)
    expect(same(await store.bytes(cid), bytes)).to.equal(true)
    await store.delete(cid)
    await store.close()
    await place.look(async ({ data }) => expect(await idsIn(data), 'only the other blob has data').to.have.length(1))
  })

  it('has the empty blob always', async () => {
    const cid = toCid(hash(new Uint8Array(0)))
    expect(await store.delete(cid)).to.equal(false)
    expect(await store.has(cid)).to.equal(true)
    expect(await store.bytes(cid)).to.have.length(0)
    expect((await store.stat(cid)).size).to.equal(0)
    expect(await store.receive(cid, new Uint8Array(8))).to.deep.equal({ received: 0, complete: true })
  })

  it('receives what another store sends', async () => {
    const there = await newPlace().then(place => place.open())
    for (const size of [1, 1024, 16 * KIB, 16 * KIB + 1, 64 * KIB + 1, 128 * KIB, 1_100_000, 5_000_000]) {
      const bytes = input({ gen: 'xs', seed: 71, len: size })
      const { cid } = await store.put(bytes)
      expect(await there.receive(cid, store.slice(cid))).to.deep.equal({ received: size, complete: true })
      expect(same(await there.bytes(cid), bytes)).to.equal(true)
      expect(same(await collect(there.slice(cid)), sliceOf(bytes))).to.equal(true)
      expect(await there.receive(cid, store.slice(cid))).to.deep.equal({ received: 0, complete: true })
    }
  })

  it('stops when it is called off', async () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 1_100_000 })
    const { cid } = await store.put(bytes)
    const reason = new Error('enough')
    for (const read of [options => store.get(cid, options), options => store.get(cid, { verify: false, ...options }), options => store.slice(cid, undefined, options)]) {
      expect(await errorOf(collect(read({ signal: AbortSignal.abort(reason) })))).to.equal(reason)
      const controller = new AbortController()
      const pieces = read({ signal: controller.signal })
      await pieces.next()
      controller.abort(reason)
      expect(await errorOf(collect(pieces))).to.equal(reason)
    }
  })

  describe('sources', () => {
    const bytes = input({ gen: 'xs', seed: 73, len: 4_500_001 })
    const SOURCES = {
      bytes: () => bytes,
      'a Blob': () => new Blob([bytes]),
      'an async iterable with odd pieces': () => stream(ragged(bytes, 5)),
      'an array of pieces, an empty one among them': () => [bytes.subarray(0, 1), bytes.subarray(1, 1), bytes.subarray(1)],
      'a ReadableStream': () => new Blob([bytes]).stream(),
      'an object that reads': () => ({ size: bytes.length, read: (start, end) => bytes.subarray(start, end) })
    }
    describeSources(() => store, bytes, SOURCES)

    it('are refused when they are none', async () => {
      await expectSlip('source', () => store.put(5))
      await expectSlip('source', () => store.put(undefined))
      await expectSlip('piece of the source', () => store.put(['text']))
    })

    it('tell how far a put is', async () => {
      const told = []
      await store.put(new Blob([bytes]), { onProgress: event => told.push(event) })
      expect(told.every(({ type, detail }) => type === 'baobox:put' && detail.total === bytes.length)).to.equal(true)
      expect(told.at(-1).detail.done).to.equal(bytes.length)
      expect(told.length).to.be.greaterThan(1)
    })
  })

  describe('streams', () => {
    const bytes = input({ gen: 'xs', seed: 71, len: 1_100_000 })

    it('give the bytes of a blob, or of a range', async () => {
      const { cid } = await store.put(bytes)
      expect(store.stream(cid)).to.be.instanceOf(ReadableStream)
      expect(same(new Uint8Array(await new Response(store.stream(cid)).arrayBuffer()), bytes)).to.equal(true)
      expect(same(await collect(store.stream(cid, { start: 100, end: 90_000 })), bytes.subarray(100, 90_000))).to.equal(true)
    })

    it('may be left early', async () => {
      const { cid } = await store.put(bytes)
      const reader = store.stream(cid).getReader()
      expect(same((await reader.read()).value.subarray(0, 10), bytes.subarray(0, 10))).to.equal(true)
      await reader.cancel()
      const pieces = store.get(cid)
      expect((await pieces.next()).done).to.equal(false)
      await pieces.return()
      await store.close() // which would wait or fail if an iterator were still open
    })
  })
}

/**
 * @param {() => any} store  the one of the test that runs
 * @param {Uint8Array} bytes  what every source holds
 * @param {Record<string, () => any>} sources  by name
 */
export function describeSources (store, bytes, sources) {
  for (const [name, open] of Object.entries(sources)) {
    it(name, async () => {
      const { cid, size } = await store().put(open())
      expect(size).to.equal(bytes.length)
      expect(hex(cid.multihash.digest)).to.equal(hex(hash(bytes)))
      expect(same(await store().bytes(cid), bytes)).to.equal(true)
    })
  }
}
