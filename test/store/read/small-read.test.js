// Small reads at any position, which take a faster path than other reads: they must give the same bytes, and find the
// same damage.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { flipped, same } from '../../support/bytes.js'
import { EXTENT, GROUP } from '../../support/constants.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, isHeld, isPageKey, keepAll, recordsIn, writeRecord } from '../../support/store/inspect.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const BYTES = noise(11 * GROUP + 777, 61)
const ROOT = hash(BYTES)
const SMALL = noise(GROUP, 62)

/**
 * Holds back reads of a database from now on, of all keys or some. `begun` resolves when a read waits, and `goOn()`
 * lets the reads go on.
 */
function held (database, isMeant = () => true) {
  const { get } = database
  const gate = {}
  gate.begun = new Promise(resolve => { gate.tell = resolve })
  const opened = new Promise(resolve => { gate.goOn = resolve })
  database.supports.getSync = false
  database.get = async function (...args) {
    if (isMeant(args[0])) {
      gate.tell()
      await opened
    }
    return get.apply(this, args)
  }
  return gate
}

describe('store: small reads', () => {
  const newStore = newStores()

  it('of a blob that was put need only one read of a database each', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    await store.put(SMALL)
    const { iterator } = data
    data.iterator = () => { throw new Error('the slow path') }
    expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
    expect(same((await collect(store.get(hash(SMALL)))), SMALL)).to.equal(true)
    for (let start = 0; start < BYTES.length; start += 5000) {
      const end = Math.min(start + 7000, Math.ceil((start + 1) / EXTENT) * EXTENT)
      for (const verify of [true, false]) {
        expect(same(await store.bytes(ROOT, { start, end }, { verify }), BYTES.subarray(start, end)), `${start}`)
          .to.equal(true)
      }
    }
    data.iterator = iterator
    const [start, end] = [EXTENT - 100, EXTENT + 100]
    expect(same(await store.bytes(ROOT, { start, end }), BYTES.subarray(start, end)), 'over the border of a cell')
      .to.equal(true)
  })

  it('give memory that has only the wanted bytes', async () => {
    const { store } = await newStore()
    await store.put(SMALL)
    const got = await store.bytes(hash(SMALL))
    got.fill(0)
    expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
    const part = await store.bytes(hash(SMALL), { start: 5, end: 10 })
    expect(part.buffer.byteLength).to.equal(5)
    expect(part.constructor).to.equal(Uint8Array)
  })

  it('find damage that came after an earlier read', async () => {
    const { store, index, data } = await newStore()
    await store.put(BYTES)
    const range = { start: 5 * GROUP, end: 6 * GROUP }
    await store.bytes(ROOT, range)
    const extent = (await entriesOf(data)).find(({ offset }) => offset === EXTENT)
    await extent.put(flipped(extent.value, GROUP + 9))
    const unverified = await store.bytes(ROOT, range, { verify: false })
    expect(same(unverified, BYTES.subarray(range.start, range.end)), 'without verification').to.equal(false)
    const again = await keepAll({ index, data })
    expect(await errorOf(store.bytes(ROOT, range)))
      .to.include({ code: 'STORE_CORRUPT', start: range.start, len: GROUP })
    await again()
    expect(await errorOf(collect(store.get(ROOT, range))))
      .to.include({ code: 'STORE_CORRUPT', start: range.start, len: GROUP })
    const beside = await store.bytes(ROOT, { start: 4 * GROUP, end: 5 * GROUP })
    expect(same(beside, BYTES.subarray(4 * GROUP, 5 * GROUP)), 'beside it').to.equal(true)
    expect(await errorOf(store.bytes(ROOT, range))).to.include({ code: 'STORE_MISSING' })
    await store.receive(ROOT, sliceOf(BYTES))
    expect(same(await store.bytes(ROOT, range), BYTES.subarray(range.start, range.end)), 'received').to.equal(true)
  })

  it('of an extent that is too short or gone fail with a code', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const extent = (await entriesOf(data)).find(({ offset }) => offset === EXTENT)
    await extent.put(extent.value.subarray(0, GROUP + 5))
    for (const verify of [false, true]) {
      const first = await store.bytes(ROOT, { start: EXTENT, end: EXTENT + GROUP }, { verify })
      expect(same(first, BYTES.subarray(EXTENT, EXTENT + GROUP))).to.equal(true)
      expect(await errorOf(store.bytes(ROOT, { start: EXTENT + GROUP, end: EXTENT + 2 * GROUP }, { verify })))
        .to.include({ code: 'STORE_CORRUPT' })
    }
    await store.put(BYTES)
    await (await entriesOf(data)).find(({ offset }) => offset === EXTENT).del()
    expect(await errorOf(store.bytes(ROOT, { start: EXTENT, end: EXTENT + GROUP })))
      .to.include({ code: 'STORE_CORRUPT', start: EXTENT, len: GROUP })
  })

  it('trust pairs in memory, although fsck() finds the stored ones damaged', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const range = { start: 5 * GROUP, end: 6 * GROUP }
    await store.bytes(ROOT, range)
    const pages = (await entriesOf(data)).filter(({ offset }) => offset === undefined)
    expect(pages.length).to.equal(1)
    await pages[0].put(flipped(pages[0].value, 8 + 4 * 64))
    expect(same(await store.bytes(ROOT, range), BYTES.subarray(range.start, range.end))).to.equal(true)
    const { damaged } = await store.fsck()
    expect(damaged.length).to.equal(1)
  })

  it('find the pairs that a repair has written', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const [page] = (await entriesOf(data)).filter(({ offset }) => offset === undefined)
    await page.put(flipped(page.value, 8 + 10 * 64))
    const [aside, below] = [{ start: 0, end: GROUP }, { start: 10 * GROUP, end: 11 * GROUP }]
    expect(same(await store.bytes(ROOT, aside), BYTES.subarray(aside.start, aside.end))).to.equal(true)
    expect((await store.fsck({ repair: true })).damaged.length).to.equal(1)
    expect((await store.fsck()).isSound).to.equal(true)
    expect(same(await store.bytes(ROOT, below), BYTES.subarray(below.start, below.end))).to.equal(true)
  })

  it('of a deleted blob fail with a code, and succeed when it is put again', async () => {
    const { store } = await newStore()
    await store.put(BYTES)
    const range = { start: GROUP, end: GROUP + 10 }
    await store.bytes(ROOT, range)
    await store.delete(ROOT)
    expect(await errorOf(store.bytes(ROOT, range))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.put(BYTES)
    expect(same(await store.bytes(ROOT, range), BYTES.subarray(GROUP, GROUP + 10))).to.equal(true)
  })

  it('protect their blob from gc() while they wait for bytes', async () => {
    const { store, data } = await newStore()
    await store.put(SMALL)
    const { begun, goOn } = held(data)
    const reading = store.bytes(hash(SMALL))
    await begun
    expect((await store.gc()).blobs).to.equal(0)
    goOn()
    expect(same(await reading, SMALL)).to.equal(true)
    expect((await store.gc()).blobs).to.equal(1)
  })

  for (const [how, read] of [
    ['one piece', (store, range) => store.bytes(ROOT, range)],
    ['pieces', (store, range) => collect(store.get(ROOT, range))]
  ]) {
    it(`protect their blob from gc() while they wait for pairs: in ${how}`, async () => {
      const { store, data } = await newStore()
      await store.put(BYTES)
      const { begun, goOn } = held(data, isPageKey)
      const reading = read(store, { start: 10, end: 1000 })
      await begun
      expect((await store.gc()).blobs).to.equal(0)
      goOn()
      expect(same(await reading, BYTES.subarray(10, 1000))).to.equal(true)
      expect((await store.gc()).blobs).to.equal(1)
    })

    it(`that continue piece by piece protect their blob without a gap: in ${how}`, async () => {
      const { store, data } = await newStore()
      await store.put(BYTES)
      const extent = (await entriesOf(data)).find(({ offset }) => offset === 0)
      await extent.put(extent.value.subarray(0, GROUP + 5))
      const { begun, goOn } = held(data)
      const reading = { isOver: false, error: errorOf(read(store, { start: GROUP, end: 2 * GROUP })) }
      reading.error.then(() => { reading.isOver = true })
      await begun
      goOn()
      const states = []
      const look = () => {
        const state = isHeld(store, ROOT)
        if (states.at(-1) !== state) states.push(state)
      }
      while (!reading.isOver) {
        for (let i = 0; i < 100; i++) {
          look()
          await null
        }
        await new Promise(resolve => setTimeout(resolve))
      }
      look()
      expect(states).to.deep.equal([true, false])
      expect(await reading.error).to.include({ code: 'STORE_CORRUPT' })
    })
  }

  it('fail with STORE_NOT_FOUND when their blob is deleted while they wait', async () => {
    const { store, data } = await newStore()
    await store.put(SMALL)
    const { begun, goOn } = held(data)
    const reading = errorOf(store.bytes(hash(SMALL)))
    await begun
    await store.delete(hash(SMALL))
    goOn()
    expect(await reading).to.include({ code: 'STORE_NOT_FOUND' })
  })

  it('can be aborted while they wait', async () => {
    const { store, data } = await newStore()
    await store.put(SMALL)
    const { begun, goOn } = held(data)
    const controller = new AbortController()
    const reading = errorOf(store.bytes(hash(SMALL), undefined, { signal: controller.signal }))
    await begun
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await reading).to.equal(reason)
    goOn()
  })

  it('that fail because the store was closed fail with STORE_CLOSED', async () => {
    const { store, data } = await newStore()
    await store.put(SMALL)
    const { begun, goOn } = held(data)
    const reading = errorOf(store.bytes(hash(SMALL)))
    await begun
    const closing = store.close()
    data.get = () => Promise.reject(new Error('not open'))
    goOn()
    const outcome = await reading
    if (outcome !== undefined) expect(outcome).to.include({ code: 'STORE_CLOSED' })
    await closing
  })

  it('yield to the event loop', async () => {
    const { store } = await newStore()
    await store.put(SMALL)
    const timer = { rings: 0 }
    setTimeout(() => { timer.rings++ }, 1)
    for (const deadline = performance.now() + 5000; timer.rings === 0 && performance.now() < deadline;) {
      await store.bytes(hash(SMALL))
    }
    expect(timer.rings).to.equal(1)
  })

  it('do not use the pages in memory of another blob whose record has the same id', async () => {
    const { store, index } = await newStore()
    const [one, other] = [noise(3 * GROUP, 64), noise(3 * GROUP, 65)]
    await store.put(one)
    await store.put(other)
    const [record] = (await recordsIn(index)).filter(({ id }) => id === 0)
    await writeRecord(index, hash(other), record)
    for (let i = 0; i < 2; i++) {
      expect(same(await store.bytes(hash(one), { start: 0, end: GROUP }), one.subarray(0, GROUP))).to.equal(true)
      expect(await errorOf(store.bytes(hash(other), { start: 0, end: GROUP })))
        .to.include({ code: i === 0 ? 'STORE_CORRUPT' : 'STORE_MISSING' })
    }
  })
})
