// observe() tells how a blob comes in; outboard() gives the outboard of a blob.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../../lib/index.js'
import { createOutboardSync } from '../../../../encoder/index.js'
import { flipped, same } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { entriesOf } from '../../../support/store/inspect.js'
import { forEachPlace, gated, newStores, sliceOf } from '../../../support/store/stores.js'

const BYTES = noise(40 * GROUP + 5001, 600)
const ROOT = hash(BYTES)
const ALL = ChunkRanges.all.canonical(BYTES.length)
const NOTHING = { size: undefined, sizeProven: false, complete: false }

const receive = (store, range) => store.receive(ROOT, sliceOf(BYTES, range), range)

describe('store: observe()', () => {
  forEachPlace(newPlace => {
    it('observe() gives the present chunks, and again after each change, until the blob is complete', async () => {
      const store = await newPlace().then(place => place.open())
      const seen = store.observe(ROOT)
      const { value: first } = await seen.next()
      expect(first).to.include(NOTHING)
      expect(first.present.isEmpty).to.equal(true)
      for (const [range, boundaries, sizeProven] of [
        [{ start: 0, end: GROUP }, [0, 16], false],
        [{ start: 20 * GROUP, end: 22 * GROUP }, [0, 16, 320, 352], false],
        [{ start: 40 * GROUP }, [0, 16, 320, 352, 640, 645], true]
      ]) {
        const next = seen.next()
        await receive(store, range)
        const { value } = await next
        expect(value).to.include({ size: BYTES.length, sizeProven, complete: false })
        expect(value.present.boundaries).to.deep.equal(boundaries)
      }
      const last = seen.next()
      await receive(store, undefined)
      const { value } = await last
      expect(value).to.include({ size: BYTES.length, sizeProven: true, complete: true })
      expect(value.present.equals(ALL)).to.equal(true)
      expect((await seen.next()).done).to.equal(true)
    })

    it('observe() reports a put and a deletion', async () => {
      const store = await newPlace().then(place => place.open())
      await receive(store, { start: 0, end: GROUP })
      const seen = store.observe(ROOT)
      expect((await seen.next()).value.present.boundaries).to.deep.equal([0, 16])
      const gone = seen.next()
      await store.delete(ROOT)
      expect((await gone).value).to.include(NOTHING)
      const whole = seen.next()
      await store.put(BYTES)
      expect((await whole).value).to.include({ complete: true })
      expect((await seen.next()).done).to.equal(true)

      await store.delete(ROOT)
      const many = store.observe(ROOT)
      await many.next()
      const put = many.next()
      for await (const { isNew } of store.putMany([BYTES])) expect(isNew).to.equal(true)
      expect((await put).value).to.include({ complete: true })
    })

    it('observe() reports how a long blob grows while it is received', async () => {
      const long = noise(9_000_001, 601)
      const slice = sliceOf(long)
      const store = await newPlace().then(place => place.open({ durability: 'process' }))
      const half = gated([slice.subarray(0, 6_000_000)], [slice.subarray(6_000_000)])
      const receiving = store.receive(hash(long), half.source)
      let last = ChunkRanges.none
      let hasSeenPart = false
      for await (const { present, complete } of store.observe(hash(long))) {
        expect(last.difference(present).isEmpty, 'nothing goes away').to.equal(true)
        last = present
        if (complete) break
        // How much comes first depends on time: groups that wait for a second are marked.
        if (present.isEmpty) continue
        hasSeenPart = true
        half.open()
      }
      expect((await receiving).complete).to.equal(true)
      expect(last.contains(0, Math.ceil(long.length / 1024))).to.equal(true)
      expect(hasSeenPart).to.equal(true)
    })
  })

  const newStore = newStores()

  it('observe() gives slow readers the latest state', async () => {
    const { store } = await newStore()
    const seen = store.observe(ROOT)
    await seen.next()
    for (let group = 0; group < 10; group++) await receive(store, { start: group * GROUP, end: (group + 1) * GROUP })
    expect((await seen.next()).value.present.boundaries).to.deep.equal([0, 160])
    const none = seen.next()
    await receive(store, { start: 0, end: GROUP })
    await receive(store, { start: 10 * GROUP, end: 11 * GROUP })
    expect((await none).value.present.boundaries, 'what changes nothing is not told').to.deep.equal([0, 176])
  })

  it('several calls of observe() follow several blobs', async () => {
    const { store } = await newStore()
    const other = noise(5, 602)
    const seen = [store.observe(ROOT), store.observe(ROOT), store.observe(hash(other))]
    for (const one of seen) await one.next()
    const next = seen.map(one => one.next())
    await store.put(other)
    expect((await next[2]).value).to.include({ complete: true, size: 5 })
    await store.put(BYTES)
    for (const one of next.slice(0, 2)) expect((await one).value).to.include({ complete: true })
  })

  it('observe() ends when its signal is aborted, when the store is closed, or when the loop ends', async () => {
    const { store } = await newStore()
    const reason = new Error('enough')
    const controller = new AbortController()
    const seen = [store.observe(ROOT, { signal: controller.signal }), store.observe(ROOT), store.observe(ROOT)]
    for (const one of seen) await one.next()
    const [aborted, closed] = seen.map(one => errorOf(one.next()))
    controller.abort(reason)
    expect(await aborted).to.equal(reason)
    expect(await errorOf(store.observe(ROOT, { signal: controller.signal }).next())).to.equal(reason)
    await store.close()
    expect(await closed).to.include({ code: 'STORE_CLOSED' })
    expect(await errorOf(store.observe(ROOT).next())).to.include({ code: 'STORE_CLOSED' })
  })

  it('observe() reports the empty blob as complete', async () => {
    const { store } = await newStore()
    const states = []
    for await (const state of store.observe(hash(new Uint8Array(0)))) states.push(state)
    expect(states).to.have.length(1)
    expect(states[0]).to.include({ size: 0, complete: true })
  })
})

describe('store: outboard()', () => {
  forEachPlace(newPlace => {
    for (const size of [0, 1, GROUP, GROUP + 1, 64 * GROUP, 65 * GROUP + 3, 5_000_000]) {
      it(`outboard() of ${size} bytes is the same for a blob that was put and one that was received`, async () => {
        const bytes = noise(size, 610)
        for (const fill of [store => store.put(bytes), store => store.receive(hash(bytes), sliceOf(bytes))]) {
          const store = await newPlace().then(place => place.open())
          await fill(store)
          const outboard = await store.outboard(hash(bytes))
          const expected = createOutboardSync(bytes)
          expect(outboard).to.include({ size, groupLog: 4, order: 'pre' })
          expect(same(outboard.root, expected.root) && same(outboard.bytes, expected.bytes)).to.equal(true)
        }
      })
    }
  })

  const newStore = newStores()

  it('outboard() fails for parts of blobs, and for missing blobs', async () => {
    const { store } = await newStore()
    expect(await errorOf(store.outboard(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
    await receive(store, { start: GROUP })
    const error = await errorOf(store.outboard(ROOT))
    expect(error).to.include({ code: 'STORE_MISSING' })
    expect(error.ranges.boundaries).to.deep.equal([0, 16])
    const reason = new Error('enough')
    expect(await errorOf(store.outboard(ROOT, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
  })

  it('outboard() computes damaged pairs again, and fails if the bytes are damaged, too', async () => {
    const { store, place, data } = await newStore()
    await store.put(BYTES)
    const entries = await entriesOf(data)
    const page = entries.find(({ offset }) => offset === undefined)
    let last = store
    /** A store that has compared no pair yet. */
    const opened = async () => {
      await last.close()
      last = await place.open()
      return last
    }
    const expectOutboard = async () => {
      expect(same((await (await opened()).outboard(ROOT)).bytes, createOutboardSync(BYTES).bytes)).to.equal(true)
      expect(same(await page.read(), page.value), 'the page is as it was').to.equal(true)
    }
    for (const at of [8, 8 + 64 * 10, 8 + 64 * 31 + 40]) {
      await page.put(flipped(page.value, at))
      await expectOutboard()
    }
    await page.put(page.value.subarray(0, 8 + 64 * 5))
    await expectOutboard()
    expect(same(await collect(last.slice(ROOT)), sliceOf(BYTES))).to.equal(true)

    await page.put(flipped(page.value, 8))
    const extent = entries.find(({ offset }) => offset === 0)
    await extent.put(flipped(extent.value, 5))
    const damaged = await opened()
    expect(await errorOf(damaged.outboard(ROOT))).to.include({ code: 'STORE_CORRUPT', start: 0 })
    expect(await errorOf(damaged.outboard(ROOT))).to.include({ code: 'STORE_MISSING' })
  })
})
