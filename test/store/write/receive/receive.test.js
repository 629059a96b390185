// receive() keeps verified slices, in any order and from any number of senders.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../../lib/index.js'
import { flipped, same, withHeader } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { turns } from '../../../support/fake-clock.js'
import { collect, errorOf, ragged, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { idsIn } from '../../../support/store/inspect.js'
import { expectPartial } from '../../../support/store/partial.js'
import { newStores, onDisk, sliceOf } from '../../../support/store/stores.js'

const GROUP_CHUNKS = 16
/** 41 groups, the last one short. */
const BYTES = noise(40 * GROUP + 5001, 81)
const ROOT = hash(BYTES)

const groups = (...boundaries) => ChunkRanges.fromBoundaries(boundaries.map(group => group * GROUP_CHUNKS))

describe('store: receive()', () => {
  const newStore = newStores()

  it('receive() keeps slices in any order', async () => {
    const { store } = await newStore()
    // Even groups backwards, then odd groups: gaps are filled from both sides, inside of extents and across them.
    const order = [38, 40, 12, 4, 2, 0, 20, 3, 1, 39, 5, 13, 11]
    let present = ChunkRanges.none
    for (const group of order) {
      const ranges = groups(group, group + 1)
      const len = Math.min(GROUP, BYTES.length - group * GROUP)
      expect(await store.receive(ROOT, sliceOf(BYTES, ranges), ranges))
        .to.deep.equal({ received: len, complete: false })
      present = present.union(ranges.canonical(BYTES.length))
      await expectPartial(store, BYTES, present)
      expect(await store.has(ROOT)).to.equal(false)
    }
    const missing = await store.missing(ROOT)
    expect(missing.equals(ChunkRanges.all.canonical(BYTES.length).difference(present))).to.equal(true)
    const { complete } = await store.receive(ROOT, sliceOf(BYTES, missing), missing)
    expect(complete).to.equal(true)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(await store.stat(ROOT)).to.include({ complete: true, sizeProven: true, size: BYTES.length })
  })

  it('receive() keeps slices that overlap, each byte once', async () => {
    const { store, data } = await newStore()
    let received = 0
    for (const ranges of [groups(3, 10), groups(5, 7, 9, 20), groups(0, 4), groups(18), ChunkRanges.all]) {
      const result = await store.receive(ROOT, stream(ragged(sliceOf(BYTES, ranges), 4)), ranges)
      received += result.received
      expect(result.complete).to.equal(ranges === ChunkRanges.all || received === BYTES.length)
    }
    expect(received).to.equal(BYTES.length)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(await idsIn(data)).to.have.length(1)
  })

  it('receive() keeps a slice with many gaps', async () => {
    const { store } = await newStore()
    const ranges = groups(
      0, 1, 2, 4, 5, 6, 8, 11, 12, 13, 14, 15, 17, 18, 20, 21, 22, 24, 25, 27, 28, 29, 31, 32, 34, 37, 38, 40
    )
    await store.receive(ROOT, sliceOf(BYTES, ranges), ranges)
    await expectPartial(store, BYTES, ranges)
  })

  it('receive() takes slices from several senders at the same time', async () => {
    const { store, data } = await newStore()
    const wanted = [groups(0, 15), groups(10, 30), groups(25), groups(0, 5, 35, 41), groups(7, 33)]
    const results = await Promise.all(
      wanted.map((ranges, i) => store.receive(ROOT, stream(ragged(sliceOf(BYTES, ranges), i)), ranges))
    )
    expect(results.reduce((sum, { received }) => sum + received, 0)).to.equal(BYTES.length)
    expect(results.some(({ complete }) => complete)).to.equal(true)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(await idsIn(data)).to.have.length(1)
  })

  it('receive() takes several batches from several senders at the same time', async () => {
    const { store } = await newStore()
    const bytes = noise(9_000_001, 82)
    const root = hash(bytes)
    const slice = sliceOf(bytes)
    const late = sliceOf(bytes, { start: 5_000_000 })
    const results = await Promise.all([
      store.receive(root, stream(ragged(slice, 1))),
      store.receive(root, new Blob([slice])),
      store.receive(root, stream(ragged(late, 2)), { start: 5_000_000 })
    ])
    expect(results.reduce((sum, { received }) => sum + received, 0)).to.equal(bytes.length)
    expect(await store.has(root)).to.equal(true)
    expect(same(await store.bytes(root), bytes)).to.equal(true)
  })

  it('receive() takes slices without a header when it gets the size', async () => {
    const { store } = await newStore()
    const ranges = groups(2, 5)
    await store.receive(ROOT, sliceOf(BYTES, ranges, { header: false }), ranges, { size: BYTES.length })
    await expectPartial(store, BYTES, ranges)
  })

  it('receive() believes a size once the last chunk has proven it', async () => {
    const { store } = await newStore()
    await store.receive(ROOT, sliceOf(BYTES, groups(0, 2)), groups(0, 2))
    expect(await store.stat(ROOT)).to.include({ size: BYTES.length, sizeProven: false })
    await store.receive(ROOT, sliceOf(BYTES, groups(40)), groups(40))
    expect(await store.stat(ROOT)).to.include({ size: BYTES.length, sizeProven: true })
    await store.receive(ROOT, withHeader(sliceOf(BYTES, groups(4, 5)), BYTES.length + 1), groups(4, 5))
    expect(await store.stat(ROOT)).to.include({ size: BYTES.length, sizeProven: true })
  })

  it('receive() verifies parts of groups, and keeps whole groups only', async () => {
    const { store, data } = await newStore()
    const part = ChunkRanges.fromBoundaries([3, 5])
    expect(await store.receive(ROOT, sliceOf(BYTES, part), part)).to.deep.equal({ received: 0, complete: false })
    expect(await errorOf(store.stat(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await idsIn(data)).to.have.length(0)
    const spoilt = flipped(sliceOf(BYTES, part), sliceOf(BYTES, part).length - 1)
    expect(await errorOf(store.receive(ROOT, spoilt, part))).to.include({ code: 'BAO_LEAF_MISMATCH' })

    const ragged = ChunkRanges.fromBoundaries([3, 40])
    expect(await store.receive(ROOT, sliceOf(BYTES, ragged), ragged))
      .to.deep.equal({ received: GROUP, complete: false })
    await expectPartial(store, BYTES, groups(1, 2))
    const { ranges } = await errorOf(store.bytes(ROOT, { start: 3 * 1024, end: 4 * 1024 }))
    expect(ranges.boundaries, 'the unit is the group').to.deep.equal([0, 16])
  })

  it('receive() keeps the last group when it is a single chunk', async () => {
    const { store } = await newStore()
    const bytes = noise(2 * GROUP + 500, 83)
    const last = ChunkRanges.fromBoundaries([32, 33])
    expect(await store.receive(hash(bytes), sliceOf(bytes, last), last))
      .to.deep.equal({ received: 500, complete: false })
    await expectPartial(store, bytes, last)
  })

  for (const size of [1, 1000, 1024, 1025, GROUP - 1, GROUP]) {
    it(`receive() keeps a blob of ${size} bytes, which is one group`, async () => {
      const { store } = await newStore()
      const bytes = noise(size, 84)
      expect(await store.receive(hash(bytes), sliceOf(bytes))).to.deep.equal({ received: size, complete: true })
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })
  }

  it('every read names the missing chunks', async () => {
    const { store } = await newStore()
    await store.receive(ROOT, sliceOf(BYTES, groups(1, 3, 6, 8)), groups(1, 3, 6, 8))
    const cases = [
      [{ start: 0, end: 1 }, [0, 16]],
      [{ start: GROUP - 1, end: GROUP + 1 }, [0, 16]],
      [{ start: 2 * GROUP, end: 5 * GROUP }, [48, 80]],
      [{ start: 0, end: 7 * GROUP }, [0, 16, 48, 96]],
      [{}, [0, 16, 48, 96, 128, 645]],
      [{ start: BYTES.length - 1 }, [640, 645]]
    ]
    for (const [range, boundaries] of cases) {
      for (const ask of [
        () => store.bytes(ROOT, range), () => store.bytes(ROOT, range, { verify: false }),
        () => collect(store.slice(ROOT, range))
      ]) {
        const error = await errorOf(ask)
        expect(error).to.include({ code: 'STORE_MISSING' })
        expect(error.cid.multihash.digest).to.deep.equal(ROOT)
        expect(error.ranges.boundaries).to.deep.equal(boundaries)
      }
      expect((await store.missing(ROOT, range)).boundaries).to.deep.equal(boundaries)
    }
    expect((await store.missing(ROOT, groups(6, 8))).isEmpty).to.equal(true)
  })

  it('bytes() treats ranges beyond the end of a partial blob as of a whole one', async () => {
    const { store } = await newStore()
    await store.receive(ROOT, sliceOf(BYTES, groups(39)), groups(39))
    for (const start of [
      BYTES.length - 1, BYTES.length, BYTES.length + 1, BYTES.length + 70_000,
      BYTES.length + 10_000_000
    ]) {
      for (const end of [Infinity, start + 5, start + 1_000_000]) {
        expect(same(await store.bytes(ROOT, { start, end }), BYTES.subarray(start)), `${start} to ${end}`)
          .to.equal(true)
        const unverified = await store.bytes(ROOT, { start, end }, { verify: false })
        expect(same(unverified, BYTES.subarray(start)), `${start} to ${end}, not verified`).to.equal(true)
      }
    }
    const beyond = { start: BYTES.length + 10_000_000, end: BYTES.length + 10_000_001 }
    expect(same(await collect(store.slice(ROOT, beyond)), sliceOf(BYTES, beyond))).to.equal(true)
  })

  it('receive() takes slices from a store that has only a part of the blob', async () => {
    const [{ store: first }, { store: second }, { store: third }] =
      [await newStore(), await newStore(), await newStore()]
    const ranges = groups(3, 9, 21, 22)
    await first.receive(ROOT, sliceOf(BYTES, ranges), ranges)
    await second.receive(ROOT, first.slice(ROOT, groups(4, 8)), groups(4, 8))
    await third.receive(
      ROOT, second.slice(ROOT, { start: 5 * GROUP, end: 6 * GROUP }), { start: 5 * GROUP, end: 6 * GROUP }
    )
    await expectPartial(third, BYTES, groups(5, 6))
    // The store also gives a slice of a part of a group, the same as any encoder.
    const part = ChunkRanges.fromBoundaries([5 * 16 + 3, 5 * 16 + 9])
    expect(same(await collect(third.slice(ROOT, part)), sliceOf(BYTES, part))).to.equal(true)
  })

  it('missing() is the same when the store is opened again', async () => {
    const { store, place } = await newStore()
    const ranges = groups(0, 1, 3, 9, 21, 22, 40, 41)
    await store.receive(ROOT, sliceOf(BYTES, ranges), ranges)
    await store.close()
    const again = await place.open()
    await expectPartial(again, BYTES, ranges.canonical(BYTES.length))
    const missing = await again.missing(ROOT)
    expect((await again.receive(ROOT, sliceOf(BYTES, missing), missing)).complete).to.equal(true)
  })

  it('receive() records groups from time to time, however slow its source is', async () => {
    // A blob in extents, and one in a file where the store has files.
    const { now } = performance
    let passed = 0
    performance.now = () => now.call(performance) + passed
    try {
      for (const bytes of [BYTES, noise(2_000_001, 83)]) {
        const place = await onDisk()
        const store = await place.open()
        const root = hash(bytes)
        const slice = sliceOf(bytes)
        const seen = []
        const source = (async function * () {
          yield slice.subarray(0, 100_000)
          expect(await errorOf(store.stat(root)), 'nothing is late yet').to.include({ code: 'STORE_NOT_FOUND' })
          passed += 5000
          yield slice.subarray(100_000, 100_001)
          for await (const { present } of store.observe(root)) {
            seen.push(present.boundaries)
            if (!present.isEmpty) break
          }
          yield slice.subarray(100_001)
        })()
        expect((await store.receive(root, source)).complete).to.equal(true)
        const groupsIn = Math.floor(100_000 / (GROUP + 64)) * GROUP_CHUNKS
        expect(seen.at(-1), `${bytes.length} bytes`).to.deep.equal([0, groupsIn])
        await place.remove()
      }
    } finally {
      performance.now = now
    }
  })

  it('receive() takes the chunks that missing() names of an unknown blob', async () => {
    const { store } = await newStore()
    const missing = await store.missing(ROOT, { start: 0, end: 10 })
    expect(await store.receive(ROOT, sliceOf(BYTES, missing), missing))
      .to.deep.equal({ received: GROUP, complete: false })
    expect((await store.missing(ROOT, { start: 0, end: 10 })).isEmpty).to.equal(true)
  })

  it('missing() during receive() knows the groups that have come', async () => {
    // The first call reads the presence from the database. Groups that are recorded during that read must not be lost.
    const { store, place } = await newStore()
    await store.receive(ROOT, sliceOf(BYTES, groups(0, 1)), groups(0, 1))
    await store.close()
    const again = await place.open()
    const { data } = place.where
    const { get } = data
    const pause = {}
    const paused = new Promise(resolve => { pause.tell = resolve })
    const ended = new Promise(resolve => { pause.end = resolve })
    data.get = async (...args) => {
      data.get = get
      const value = await get.apply(data, args)
      pause.tell()
      await ended
      return value
    }
    const asked = again.missing(ROOT)
    await Promise.race([paused, asked])
    const receiving = again.receive(ROOT, sliceOf(BYTES, groups(0, 20)), groups(0, 20))
    await Promise.race([receiving, turns()])
    pause.end()
    await asked
    await receiving
    expect((await again.missing(ROOT, groups(0, 20))).boundaries).to.deep.equal([])
    const missing = await again.missing(ROOT)
    expect((await again.receive(ROOT, sliceOf(BYTES, missing), missing)).complete).to.equal(true)
  })
})
