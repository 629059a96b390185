// Small reads at any place, which go a shorter way than others: they must give the same, and find the same damage.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { turn } from '../../../lib/source/async-util.js'
import { contextOf } from '../../../store/blob-store.js'
import { nameOf } from '../../../store/catalog/roots.js'
import { blobKey, offsetOfExtent } from '../../../store/storage/format/keys.js'
import { encodeRecord } from '../../../store/storage/format/records.js'
import { Page, PageEditor } from '../../../store/storage/content/tree-pages.js'
import { TrustedTrees } from '../../../store/read/tree-cache.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { flipped, hex, same } from '../../support/bytes.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, newStores, recordsIn, sliceOf } from '../../support/store/stores.js'

const GROUP = 16384
const EXTENT = 4 * GROUP
const BYTES = noise(11 * GROUP + 777, 61)
const ROOT = hash(BYTES)
const SMALL = noise(GROUP, 62)

/** Holds what is read of a database from now on, of all keys or some: `begun` tells that somebody waits, and he goes on with `goOn()`. */
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

  it('are one read each, of a blob that was put', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    await store.put(SMALL)
    const { iterator } = data
    data.iterator = () => { throw new Error('the long way') }
    expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
    expect(same((await collect(store.get(hash(SMALL)))), SMALL)).to.equal(true)
    for (let start = 0; start < BYTES.length; start += 5000) {
      const end = Math.min(start + 7000, Math.ceil((start + 1) / EXTENT) * EXTENT)
      for (const verify of [true, false]) expect(same(await store.bytes(ROOT, { start, end, verify }), BYTES.subarray(start, end)), `${start}`).to.equal(true)
    }
    data.iterator = iterator
    const [start, end] = [EXTENT - 100, EXTENT + 100]
    expect(same(await store.bytes(ROOT, { start, end }), BYTES.subarray(start, end)), 'over the border of a cell').to.equal(true)
  })

  it('give memory that is the caller\'s, and no more than was asked for', async () => {
    const { store } = await newStore()
    await store.put(SMALL)
    const got = await store.bytes(hash(SMALL))
    got.fill(0)
    expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
    const part = await store.bytes(hash(SMALL), { start: 5, end: 10 })
    expect(part.buffer.byteLength).to.equal(5)
    expect(part.constructor).to.equal(Uint8Array)
  })

  it('find damage that came after they had been there', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const range = { start: 5 * GROUP, end: 6 * GROUP }
    await store.bytes(ROOT, range)
    const extent = (await entriesOf(data)).find(({ offset }) => offset === EXTENT)
    await extent.put(flipped(extent.value, GROUP + 9))
    expect(await errorOf(store.bytes(ROOT, range))).to.include({ code: 'STORE_CORRUPT', start: range.start, len: GROUP })
    expect(await errorOf(collect(store.get(ROOT, range)))).to.include({ code: 'STORE_CORRUPT', start: range.start, len: GROUP })
    expect(same(await store.bytes(ROOT, { start: 4 * GROUP, end: 5 * GROUP }), BYTES.subarray(4 * GROUP, 5 * GROUP)), 'beside it').to.equal(true)
    expect(same(await store.bytes(ROOT, { ...range, verify: false }), BYTES.subarray(range.start, range.end)), 'where nobody looks').to.equal(false)
    expect((await store.fsck({ repair: true })).damaged.length).to.equal(1)
    expect(await errorOf(store.bytes(ROOT, range))).to.include({ code: 'STORE_MISSING' })
    await store.receive(ROOT, sliceOf(BYTES))
    expect(same(await store.bytes(ROOT, range), BYTES.subarray(range.start, range.end)), 'received').to.equal(true)
  })

  it('of an extent that is too short or gone say so', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const extent = (await entriesOf(data)).find(({ offset }) => offset === EXTENT)
    await extent.put(extent.value.subarray(0, GROUP + 5))
    for (const verify of [true, false]) {
      expect(same(await store.bytes(ROOT, { start: EXTENT, end: EXTENT + GROUP, verify }), BYTES.subarray(EXTENT, EXTENT + GROUP))).to.equal(true)
      expect(await errorOf(store.bytes(ROOT, { start: EXTENT + GROUP, end: EXTENT + 2 * GROUP, verify }))).to.include({ code: 'STORE_CORRUPT' })
    }
    await extent.del()
    expect(await errorOf(store.bytes(ROOT, { start: EXTENT, end: EXTENT + GROUP }))).to.include({ code: 'STORE_CORRUPT', start: EXTENT, len: GROUP })
  })

  it('trust pairs in memory, which fsck does not', async () => {
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

  it('find what a repair has put right', async () => {
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

  it('of a blob that is deleted end with a code, and find it when it is put again', async () => {
    const { store } = await newStore()
    await store.put(BYTES)
    const range = { start: GROUP, end: GROUP + 10 }
    await store.bytes(ROOT, range)
    await store.delete(ROOT)
    expect(await errorOf(store.bytes(ROOT, range))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.put(BYTES)
    expect(same(await store.bytes(ROOT, range), BYTES.subarray(GROUP, GROUP + 10))).to.equal(true)
  })

  it('that have to wait hold their blob: it is not swept away', async () => {
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
    it(`that have to wait for pairs hold their blob, too: in ${how}`, async () => {
      const { store, data } = await newStore()
      await store.put(BYTES)
      const { begun, goOn } = held(data, key => offsetOfExtent(key) === undefined)
      const reading = read(store, { start: 10, end: 1000 })
      await begun
      expect((await store.gc()).blobs).to.equal(0)
      goOn()
      expect(same(await reading, BYTES.subarray(10, 1000))).to.equal(true)
      expect((await store.gc()).blobs).to.equal(1)
    })

    it(`that go on by the long way never let go of their blob: in ${how}`, async () => {
      const { store, data } = await newStore()
      await store.put(BYTES)
      const extent = (await entriesOf(data)).find(({ offset }) => offset === 0)
      await extent.put(extent.value.subarray(0, GROUP + 5))
      const { protection } = contextOf(store)
      const { begun, goOn } = held(data)
      const reading = { isOver: false, error: errorOf(read(store, { start: GROUP, end: 2 * GROUP })) }
      reading.error.then(() => { reading.isOver = true })
      await begun
      goOn()
      const states = []
      const look = () => {
        const isHeld = protection.isHeld(nameOf(ROOT))
        if (states.at(-1) !== isHeld) states.push(isHeld)
      }
      while (!reading.isOver) {
        for (let i = 0; i < 100; i++) {
          look()
          await null
        }
        await turn()
      }
      look()
      expect(states).to.deep.equal([true, false])
      expect(await reading.error).to.include({ code: 'STORE_CORRUPT' })
    })
  }

  it('that have to wait while their blob is deleted end with a code', async () => {
    const { store, data } = await newStore()
    await store.put(SMALL)
    const { begun, goOn } = held(data)
    const reading = errorOf(store.bytes(hash(SMALL)))
    await begun
    await store.delete(hash(SMALL))
    goOn()
    expect(await reading).to.include({ code: 'STORE_NOT_FOUND' })
  })

  it('that have to wait can be called off', async () => {
    const { store, data } = await newStore()
    await store.put(SMALL)
    const { begun, goOn } = held(data)
    const controller = new AbortController()
    const reading = errorOf(store.bytes(hash(SMALL), { signal: controller.signal }))
    await begun
    const reason = new Error('enough')
    controller.abort(reason)
    expect(await reading).to.equal(reason)
    goOn()
  })

  it('that fail because the store was closed say so', async () => {
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

  it('let timers have their turn', async () => {
    const { store } = await newStore()
    await store.put(SMALL)
    const timer = { rings: 0 }
    setTimeout(() => { timer.rings++ }, 1)
    for (const deadline = performance.now() + 5000; timer.rings === 0 && performance.now() < deadline;) await store.bytes(hash(SMALL))
    expect(timer.rings).to.equal(1)
  })
})

describe('store: pages that are kept in memory', () => {
  const newStore = newStores()
  /** A database of pages, which counts how many are read. */
  const pagesOf = blobs => {
    const pages = new Map(blobs.flatMap(({ id, outboard }) => {
      const editor = new PageEditor(id)
      for (const { node, at } of outboard.pairs) editor.setPair(node, outboard.bytes, at)
      return editor.take().map(({ key, value }) => [hex(key), value])
    }))
    const data = { supports: {}, reads: 0, get: async key => { data.reads++; return pages.get(hex(key)) } }
    return data
  }
  const read = async (trees, { id, root, size }, data, start = 0) =>
    trees.of(root, { id, size, complete: true }).promised(start, start + GROUP, data, () => ({}))

  it('are those that were used last, a bounded number of them', async () => {
    const bytes = noise(2 * GROUP, 63)
    const { root, bytes: pair } = createOutboardSync(bytes)
    const blobs = Array.from({ length: 2100 }, (_, id) => ({ id, root, size: bytes.length, outboard: { bytes: pair, pairs: [{ node: 15, at: 0 }] } }))
    const data = pagesOf(blobs)
    const trees = new TrustedTrees()
    for (const blob of blobs) await read(trees, blob, data)
    expect(data.reads).to.equal(2100)
    for (const blob of blobs.slice(-1000)) await read(trees, blob, data)
    expect(data.reads, 'the last are kept').to.equal(2100)
    for (const blob of blobs.slice(0, 1000)) await read(trees, blob, data)
    expect(data.reads, 'the first are not').to.equal(3100)
    for (const blob of blobs.slice(1, 1000)) await read(trees, blob, data)
    expect(data.reads).to.equal(3100)
  })

  it('are read again before they are blamed: they may have been put right', async () => {
    const bytes = noise(4 * GROUP, 63)
    const { root, bytes: pairs } = createOutboardSync(bytes)
    const blob = { id: 1, root, size: bytes.length }
    const pagesWith = (changed, count) => pagesOf([{ ...blob, outboard: { bytes: changed, pairs: [{ node: 31, at: 0 }, { node: 15, at: 64 }, { node: 47, at: 128 }].slice(0, count) } }])
    for (const [before, code] of [[pagesWith(flipped(pairs, 130), 3), 'BAO_PARENT_MISMATCH'], [pagesWith(pairs, 2), 'BAO_TRUNCATED']]) {
      const trees = new TrustedTrees()
      await read(trees, blob, before)
      expect(await errorOf(read(trees, blob, before, 3 * GROUP))).to.include({ code })
      const after = pagesWith(pairs, 3)
      expect(hex(await read(trees, blob, after, 3 * GROUP))).to.equal(hex(pairs.subarray(160)))
      expect(hex(await read(trees, blob, after, GROUP))).to.equal(hex(pairs.subarray(96, 128)))
      expect(after.reads).to.equal(1)
    }
  })

  it('of a blob are not another\'s whose record has the same id', async () => {
    const { store, index } = await newStore()
    const [one, other] = [noise(3 * GROUP, 64), noise(3 * GROUP, 65)]
    await store.put(one)
    await store.put(other)
    const [record] = (await recordsIn(index)).filter(({ id }) => id === 0)
    await index.put(blobKey(hash(other)), encodeRecord(hash(other), record), { keyEncoding: 'view', valueEncoding: 'view' })
    for (let i = 0; i < 2; i++) {
      expect(same(await store.bytes(hash(one), { start: 0, end: GROUP }), one.subarray(0, GROUP))).to.equal(true)
      expect(await errorOf(store.bytes(hash(other), { start: 0, end: GROUP }))).to.include({ code: 'STORE_CORRUPT' })
    }
  })

  it('make a pair that is unknown known, and no other', async () => {
    expect(new Page().pair(3)).to.equal(undefined)
    const bytes = noise(2 * GROUP, 63)
    const { root } = createOutboardSync(bytes)
    const data = pagesOf([])
    expect(await errorOf(read(new TrustedTrees(), { id: 1, root, size: bytes.length }, data))).to.include({ code: 'BAO_TRUNCATED' })
  })
})
