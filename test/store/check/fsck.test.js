// fsck() of a whole store: its report, its early end, and other calls at the same time.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { flipped, hex, same } from '../../support/bytes.js'
import { EXTENT, GROUP } from '../../support/constants.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, isPage, recordsIn } from '../../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf } from '../../support/store/stores.js'
import { ALL, BYTES, ROOT, expectHere, expectSound, fetchMissing, groups } from '../../support/store/mending.js'

const PAGE = 64 * GROUP
describe('store: fsck()', () => {
  forEachPlace(newPlace => {
    it('fsck() finds nothing in a sound store, and changes nothing', async () => {
      const place = await newPlace()
      const store = await place.open()
      await expectSound(store)
      for (const size of [1000, GROUP, GROUP + 1, EXTENT, EXTENT + 1, PAGE, PAGE + 1, 70 * GROUP + 5, 140 * GROUP]) {
        await store.put(noise(size, 1))
        const bytes = noise(size, 2)
        await store.receive(hash(bytes), sliceOf(bytes))
        const part = noise(size, 3)
        await store.receive(hash(part), sliceOf(part, { start: 0, end: GROUP }), { start: 0, end: GROUP })
        const last = noise(size, 4)
        const end = ChunkRanges.fromBytes(Math.floor((size - 1) / GROUP) * GROUP, size)
        await store.receive(hash(last), sliceOf(last, end), end)
      }
      const dump = async () => {
        await store.close()
        return place.look(async ({ data, index }) => [
          (await entriesOf(data)).map(({ key, value }) => `${hex(key)} ${hex(hash(value))}`),
          await recordsIn(index)
        ])
      }
      const events = []
      const report = await store.fsck({ onProgress: event => events.push(event) })
      expect(report).to.deep.include({
        isSound: true,
        blobs: 36,
        damaged: [],
        records: [],
        tags: [],
        orphans: 0,
        strays: 0
      })
      expect(events.at(-1).type).to.equal('baobox:fsck')
      expect(events.at(-1).detail.done).to.equal(events.at(-1).detail.total)
      expect(events.every(({ detail: { done } }, i) => done >= (events[i - 1]?.detail.done ?? 0))).to.equal(true)
      const before = await dump()
      const again = await place.open()
      expect(await again.fsck({ repair: true })).to.deep.equal(report)
      await again.close()
      expect(await dump()).to.deep.equal(before)
    })

    it('fsck() finds damage that was done while the store was closed, and dropped groups can be received', async () => {
      const bytes = BYTES.subarray(0, 60 * GROUP)
      const root = hash(bytes)
      const place = await newPlace()
      let store = await place.open()
      await store.put(bytes)
      await store.close()
      let wrong
      await place.look(async ({ data }) => {
        const [, spoiled, gone] = (await entriesOf(data)).filter(entry => !isPage(entry))
        await spoiled.put(flipped(spoiled.value, GROUP + 1))
        await gone.del()
        wrong = groups(spoiled.offset + GROUP).union(groups(gone.offset, gone.offset + gone.value.length))
      })
      store = await place.open()
      const found = await store.fsck()
      expect(found.isSound).to.equal(false)
      expect(found.damaged).to.have.length(1)
      expect(found.damaged[0].cid.multihash.digest).to.deep.equal(root)
      expect(found.damaged[0].data.boundaries).to.deep.equal(wrong.boundaries)
      expect(found.damaged[0].tree.isEmpty).to.equal(true)
      expect(found.damaged[0].lost.boundaries).to.deep.equal(wrong.boundaries)
      expect(await store.has(root), 'a check without repair changes nothing').to.equal(true)

      const mended = await store.fsck({ repair: true })
      expect(mended.damaged[0].lost.boundaries).to.deep.equal(wrong.boundaries)
      await expectSound(store)
      await store.close()

      store = await place.open()
      expect((await store.missing(root)).boundaries).to.deep.equal(wrong.boundaries)
      expect(await store.receive(root, sliceOf(bytes, wrong), wrong)).to.include({ complete: true })
      expect(same(await store.bytes(root), bytes)).to.equal(true)
      await expectSound(store)
    })
  })

  const newStore = newStores()

  it('a repair that is interrupted at any write can be repeated', async () => {
    let isDone = false
    for (let writes = 0; !isDone; writes++) {
      const { store, data, index } = await newStore()
      await store.put(BYTES)
      const entries = await entriesOf(data)
      const extents = entries.filter(entry => !isPage(entry))
      for (const i of [1, 9, 30]) await extents[i].put(flipped(extents[i].value, 5))
      await entries.find(isPage).del()
      const wrong = [1, 9, 30].reduce((all, i) => all.union(groups(i * EXTENT)), ChunkRanges.none)
      let left = writes
      const reason = new Error('the power is gone')
      const originals = [data, index].map(level => [level, level.batch])
      for (const [level, batch] of originals) {
        level.batch = function (...args) { return left-- > 0 ? batch.apply(this, args) : Promise.reject(reason) }
      }
      const error = await errorOf(store.fsck({ repair: true }))
      for (const [level, batch] of originals) level.batch = batch
      isDone = error === undefined
      if (error) expect(error).to.equal(reason)
      await store.fsck({ repair: true })
      await expectSound(store)
      const { present } = await store.stat(ROOT)
      // The first page and one of its groups are lost: groups whose proof needs that group are lost, too.
      expect(present.intersect(wrong).isEmpty).to.equal(true)
      expect(present.contains(1024, 1024 + 7 * 64), 'all groups after the first page').to.equal(true)
      await expectHere(store, present)
      await fetchMissing(store)
      await expectHere(store, ALL)
      await expectSound(store)
      expect(writes).to.be.lessThan(100)
    }
  })

  it('fsck() beside other calls reports no damage', async () => {
    const { store } = await newStore()
    const blobs = Array.from({ length: 12 }, (_, i) => noise((i + 1) * 2 * GROUP + i, 200 + i))
    const over = new AbortController()
    const work = async seed => {
      for (let i = seed; !over.signal.aborted; i = (i * 7 + 5) % 1000) {
        const bytes = blobs[i % blobs.length]
        const root = hash(bytes)
        const range = { start: (i % 5) * GROUP, end: (i % 5 + 3) * GROUP }
        await [
          () => store.put(bytes), () => store.receive(root, sliceOf(bytes, range), range),
          () => store.delete(root)
        ][i % 3]()
      }
    }
    const working = Promise.all([1, 2, 3].map(work))
    for (let round = 0; round < 4; round++) {
      const { isSound, ...found } = await store.fsck({ repair: round % 2 === 1 })
      if (!isSound) expect.fail(JSON.stringify(found))
    }
    over.abort()
    await working
    await expectSound(store)
  })

  it('fsck() ends when it is aborted, and when the store is closed', async () => {
    const { store } = await newStore()
    await store.put(BYTES)
    const reason = new Error('enough')
    expect(await errorOf(store.fsck({ signal: AbortSignal.abort(reason) }))).to.equal(reason)
    const controller = new AbortController()
    expect(await errorOf(store.fsck({ signal: controller.signal, onProgress: () => controller.abort(reason) })))
      .to.equal(reason)
    await expectSound(store)
    const looking = errorOf(store.fsck())
    await store.close()
    const error = await looking
    if (error) expect(error).to.include({ code: 'STORE_CLOSED' })
    expect(await errorOf(store.fsck())).to.include({ code: 'STORE_CLOSED' })
  })
})
