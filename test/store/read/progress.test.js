// Reads and writes of a store report their progress.
import { expect } from 'chai'
import { LEVEL } from '#runtime'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { GROUP, MIB } from '../../support/constants.js'
import { collect, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { newStores, onDisk, sliceOf } from '../../support/store/stores.js'

describe('store: progress', () => {
  const newStore = newStores()
  const large = noise(3 * MIB + 5)

  it('of get(), stream() and bytes() counts the bytes of the ranges', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(large)
    const ranges = [
      [{}, large.length], [{ start: 5, end: 10 }, 5], [{ start: MIB, end: Infinity }, large.length - MIB],
      [{ start: 10, end: 10 }, 0], [new ChunkRanges([0, 2, 2000, 2001]), 3072]
    ]
    for (const [range, total] of ranges) {
      for (const read of ['get', 'stream', 'bytes']) {
        const events = []
        const result = store[read](cid, range, { onProgress: event => events.push(event) })
        const { length } = read === 'bytes' ? await result : await collect(result)
        expect(length).to.equal(total)
        const dones = events.map(({ detail }) => detail.done)
        expect(dones).to.deep.equal([...dones].sort((a, b) => a - b))
        if (total > 0) {
          expect(events.at(-1)).to.deep.equal(
            { type: 'baobox:get', detail: { done: total, total, unit: 'bytes' } }
          )
        }
        if (total > 2 * MIB) expect(events).to.have.length.of.at.least(2)
      }
    }
  })

  it('of get() is an option beside the range', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(large)
    const events = []
    await collect(store.get(cid, { start: 0, end: 10 }, { onProgress: event => events.push(event) }))
    expect(events).to.deep.equal([{ type: 'baobox:get', detail: { done: 10, total: 10, unit: 'bytes' } }])
  })

  it('of get() counts the wanted bytes of a blob that is present in part', async () => {
    const { store } = await newStore()
    const range = { start: 0, end: GROUP }
    await store.receive(hash(large), sliceOf(large, range), range)
    const events = []
    await collect(store.get(hash(large), range, { onProgress: event => events.push(event) }))
    expect(events.at(-1).detail).to.deep.equal({ done: GROUP, total: GROUP, unit: 'bytes' })
  })

  it('of putMany() and getMany() counts the bytes of all blobs', async () => {
    const { store } = await newStore()
    const blobs = [10, 20, 2 * MIB, 0, 30].map((len, i) => noise(len, i))
    const sums = [10, 30, 30 + 2 * MIB, 30 + 2 * MIB, 60 + 2 * MIB]
    const put = []
    await listed(store.putMany(blobs, { onProgress: event => put.push(event) }))
    expect(put).to.deep.equal(sums.map(done => ({ type: 'baobox:put', detail: { done, unit: 'bytes' } })))
    const got = []
    const roots = blobs.map(bytes => hash(bytes))
    await listed(store.getMany([hash(noise(77)), ...roots], { onProgress: event => got.push(event) }))
    expect(got).to.deep.equal([0, ...sums].map(done => ({ type: 'baobox:get', detail: { done, unit: 'bytes' } })))
  })

  LEVEL === 'classic-level' && it('of exportFile() has the total', async () => {
    const place = await onDisk()
    try {
      const store = await place.open()
      const { cid } = await store.put(large)
      const events = []
      await store.exportFile(cid, `${place.where}/exported`, { onProgress: event => events.push(event) })
      const { length } = large
      expect(events.at(-1)).to.deep.equal(
        { type: 'baobox:export', detail: { done: length, total: length, unit: 'bytes' } }
      )
      await store.close()
    } finally {
      await place.remove()
    }
  })
})
