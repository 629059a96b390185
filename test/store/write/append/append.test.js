// append() makes the blob that put() of all bytes would make, and does not change the old blob.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { createOutboardSync } from '../../../../encoder/index.js'
import { same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { someOf } from '../../../support/effort.js'
import { collect, errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { forEachPlace, sliceOf } from '../../../support/store/stores.js'

const ALL = noise(4 * MIB + 70_000, 501)
const part = size => ALL.subarray(0, size)

/** Sizes of blobs that are appended to one after the other: around chunks, groups and pages. */
const SIZES = [
  0, 1, 1024, 1025, GROUP, GROUP + 1, MIB - 1, MIB, MIB + 1, MIB + GROUP - 5, MIB + GROUP, MIB + 3 * GROUP,
  MIB + 3 * GROUP + 1, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 77, 4 * MIB, ALL.length
]

/** Expects that all calls give right results for a blob. */
export async function expectWhole (store, bytes) {
  const root = hash(bytes)
  expect(await store.stat(root)).to.deep.include({ size: bytes.length, sizeProven: true, complete: true })
  expect(same(await store.bytes(root), bytes)).to.equal(true)
  const last = { start: Math.max(0, bytes.length - 20_000), end: bytes.length }
  if (bytes.length === 0) return
  expect(same(await store.bytes(root, last), bytes.subarray(last.start))).to.equal(true)
  for (const groupLog of [0, 4, 6]) {
    const slice = await collect(store.slice(root, last, { groupLog }))
    const there = createOutboardSync(bytes, { groupLog })
    if (groupLog === 4) expect(same(slice, sliceOf(bytes, last))).to.equal(true)
    else expect(slice.length).to.be.above(Math.min(20_000, there.bytes.length))
  }
  expect(same((await store.outboard(root)).bytes, createOutboardSync(bytes).bytes)).to.equal(true)
}

describe('store: append()', () => forEachPlace(newPlace => {
  it('append() after append() keeps each blob', async () => {
    const place = await newPlace()
    const store = await place.open()
    let { cid } = await store.put(part(SIZES[0]))
    for (const [i, size] of SIZES.slice(1).entries()) {
      const result = await store.append(cid, stream([ALL.subarray(SIZES[i], size)]))
      expect(result).to.deep.include({ size, isNew: true })
      expect(same(result.cid.multihash.digest, hash(part(size)))).to.equal(true)
      cid = result.cid
    }
    // This comes before the reads, which would compute lost pairs again.
    expect(await store.fsck()).to.include({ isSound: true })
    for (const size of SIZES) await expectWhole(store, part(size))
    await store.close()
    const again = await place.open()
    for (const size of someOf(SIZES)) await expectWhole(again, part(size))
  })

  it('append() of nothing gives the same CID', async () => {
    const store = await (await newPlace()).open()
    for (const size of [0, 5, GROUP, 2 * MIB, 2 * MIB + 5]) {
      const { cid } = await store.put(part(size))
      const result = await store.append(cid, new Uint8Array(0))
      expect(result).to.deep.include({ size, isNew: false })
      expect(result.cid.equals(cid)).to.equal(true)
    }
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('append() to one blob twice keeps both results', async () => {
    const store = await (await newPlace()).open()
    const { cid } = await store.put(part(2 * MIB + 3))
    const ends = [noise(100_000, 502), noise(300_000, 503)]
    const results = await Promise.all(ends.map(end => store.append(cid, end)))
    for (const [i, { cid }] of results.entries()) {
      const bytes = new Uint8Array(await new Blob([part(2 * MIB + 3), ends[i]]).arrayBuffer())
      expect(same(cid.multihash.digest, hash(bytes))).to.equal(true)
      await expectWhole(store, bytes)
    }
    await expectWhole(store, part(2 * MIB + 3))
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('append() returns a result that the store already has', async () => {
    const store = await (await newPlace()).open()
    await store.put(part(3 * MIB))
    const { cid } = await store.put(part(2 * MIB))
    const { isNew, size } = await store.append(cid, ALL.subarray(2 * MIB, 3 * MIB))
    expect({ isNew, size }).to.deep.equal({ isNew: false, size: 3 * MIB })
    await expectWhole(store, part(2 * MIB))
    await expectWhole(store, part(3 * MIB))
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('append() moves a tag to the result', async () => {
    const store = await (await newPlace()).open()
    let { cid } = await store.put(part(2 * MIB), { tag: 'log' })
    cid = (await store.append(cid, ALL.subarray(2 * MIB, 3 * MIB), { tag: 'log' })).cid
    expect((await store.tags.get('log')).cid.equals(cid)).to.equal(true)
    const freed = await store.gc()
    expect(freed.blobs).to.equal(1)
    expect((await listed(store.list())).length).to.equal(1)
    await expectWhole(store, part(3 * MIB))
  })

  it('append() checks the expected hash and size', async () => {
    const store = await (await newPlace()).open()
    for (const size of [2000, 2 * MIB]) {
      const { cid } = await store.put(part(size))
      const end = noise(5000, 504)
      const wrongHash = await errorOf(store.append(cid, end, { expect: hash(part(7)) }))
      expect(wrongHash).to.include({ code: 'CID_MISMATCH' })
      expect(await errorOf(store.append(cid, end, { size: size + 4999 }))).to.include({ code: 'SIZE_MISMATCH' })
      expect(await errorOf(store.append(cid, end, { size: size - 1 }))).to.include({ code: 'SIZE_MISMATCH' })
      expect((await listed(store.list())).length).to.equal(1)
      await store.append(cid, end, { size: size + 5000 })
      for (const { cid } of await listed(store.list())) await store.delete(cid)
    }
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('append() refuses a blob that is missing, as a whole or in part', async () => {
    const store = await (await newPlace()).open()
    let isCancelled = false
    const source = () => (async function * () { yield new Uint8Array(1) })()
    const cancelled = new ReadableStream({ cancel () { isCancelled = true } })
    expect(await errorOf(store.append(hash(part(9)), cancelled))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(isCancelled).to.equal(true)
    const range = { start: 0, end: 5 * GROUP }
    await store.receive(hash(part(2 * MIB)), sliceOf(part(2 * MIB), range), range)
    const error = await errorOf(store.append(hash(part(2 * MIB)), source()))
    expect(error).to.include({ code: 'STORE_MISSING' })
    expect(error.ranges.boundaries.at(-1)).to.equal(2048)
    expect(await errorOf(store.append('nothing', source()))).to.be.instanceOf(Error)
    expect(await errorOf(store.append(hash(part(9)), source(), { unknown: 1 }))).to.be.instanceOf(TypeError)
  })

  it('append() that is aborted leaves nothing', async () => {
    const store = await (await newPlace()).open()
    const { cid } = await store.put(part(2 * MIB))
    const before = await store.info()
    for (let round = 0; round < 2; round++) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const source = (async function * () {
        yield ALL.subarray(0, MIB)
        controller.abort(reason)
        yield ALL.subarray(0, MIB)
      })()
      expect(await errorOf(store.append(cid, source, { signal: controller.signal }))).to.equal(reason)
      const { blobs, bytes } = await store.info()
      expect({ blobs, bytes }).to.deep.equal({ blobs: before.blobs, bytes: before.bytes })
    }
    await expectWhole(store, part(2 * MIB))
    await store.append(cid, ALL.subarray(2 * MIB, 3 * MIB))
    await expectWhole(store, part(3 * MIB))
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('append() reports its progress', async () => {
    const store = await (await newPlace()).open()
    const { cid } = await store.put(part(2 * MIB))
    const events = []
    await store.append(cid, ALL.subarray(0, 1000), { onProgress: event => events.push(event) })
    const [done, total] = [2 * MIB + 1000, 2 * MIB + 1000]
    expect(events.at(-1)).to.deep.equal({ type: 'baobox:append', detail: { done, total, unit: 'bytes' } })
  })
}))
