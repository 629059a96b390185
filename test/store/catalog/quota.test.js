// A quota: the least recently used blobs are evicted, and never a protected one. A blob that does not fit evicts none.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { concat, hex, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { collect, errorOf, listed, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { refusesAllButCounts } from '../../support/slips.js'
import { entriesOf } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, gated, newStores, sliceOf } from '../../support/store/stores.js'

const blobOf = (size, seed) => {
  const bytes = noise(size, seed)
  return { bytes, root: hash(bytes) }
}
const TEN = Array.from({ length: 10 }, (_, i) => blobOf(10_000, 300 + i))
const [more, another] = [310, 311].map(seed => blobOf(10_000, seed))

/** Waits for the next time of a use: the clock counts milliseconds. */
const later = () => new Promise(resolve => setTimeout(resolve, 3))

async function putAll (store, blobs, options) {
  for (const { bytes } of blobs) {
    await store.put(bytes, options)
    await later()
  }
}

const namesIn = async store => (await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))
const namesOf = blobs => blobs.map(({ root }) => hex(root)).sort()

/** Counts the bytes of all blobs and parts. */
async function lenOf (store) {
  let len = 0
  for await (const { cid, size } of store.list()) {
    for (const { start, end } of (await store.stat(cid)).present.toBytes(size)) len += end - start
  }
  return len
}

async function expectFull (action, { wanted, got }) {
  expect(await errorOf(action)).to.include({ name: 'BaoError', code: 'STORE_FULL', wanted, got })
}

describe('store: quota', () => {
  forEachPlace(newPlace => {
    let place
    let store
    const open = async quota => { store = await place.open({ quota }) }
    beforeEach(async () => {
      place = await newPlace()
      await open(100_000)
    })

    it('completing a partial blob counts as a use of it', async () => {
      const [first, second, third] = [[40_000, 1], [40_000, 2], [30_000, 3]].map(
        ([size, seed]) => blobOf(size, 320 + seed)
      )
      await store.receive(first.root, sliceOf(first.bytes, { start: 0, end: GROUP }), { start: 0, end: GROUP })
      await later()
      await putAll(store, [second, first])
      const { created, lastUsed } = await store.stat(first.root)
      expect(+lastUsed).to.be.at.least(+created)
      await store.put(third.bytes)
      expect(await namesIn(store)).to.deep.equal(namesOf([first, third]))
    })

    it('put() evicts the least recently used blobs, and no more than necessary', async () => {
      await putAll(store, TEN)
      expect(await namesIn(store), 'ten fit').to.have.length(10)
      await store.bytes(TEN[0].root, { end: 1 })
      await later()
      await collect(store.slice(TEN[2].root))
      await later()
      await store.put(TEN[3].bytes)
      await later()
      await store.has(TEN[1].root) // has() does not count as a use
      await store.put(more.bytes)
      expect(await namesIn(store)).to.deep.equal(namesOf([more, ...TEN.filter((_, i) => i !== 1)]))
      await later()
      await store.put(noise(25_000, 1))
      expect(await namesIn(store)).to.deep.equal(namesOf([
        blobOf(25_000, 1), more, ...[0, 2, 3, 7, 8, 9].map(i => TEN[i])
      ]))
      // The blobs and their order are the same after the store was opened again.
      await store.close()
      await open(100_000)
      await store.put(noise(45_000, 2))
      expect(await namesIn(store)).to.deep.equal(namesOf([blobOf(45_000, 2), blobOf(25_000, 1), more, TEN[3], TEN[2]]))
      await store.close()
      await expectNoOrphans(place)
    })

    it('put() evicts no protected blob, and evicts nothing for a blob that does not fit', async () => {
      const sequence = { bytes: concat([TEN[2].root, TEN[3].root]) }
      sequence.root = hash(sequence.bytes)
      await putAll(store, TEN.slice(0, 9))
      await store.tags.set('a', TEN[0].root)
      const temporary = store.tempTag(TEN[1].root)
      await store.put(sequence.bytes, { tag: 'sequence', format: 'hashseq' })
      const reading = store.get(TEN[4].root)
      await reading.next()
      await later()

      const large = blobOf(45_000, 3)
      await store.put(large.bytes)
      const kept = namesOf([sequence, large, ...TEN.slice(0, 5)])
      expect(await namesIn(store)).to.deep.equal(kept)
      const tooLarge = noise(55_000, 4)
      const room = 100_000 - 50_064
      for (let attempt = 0; attempt < 2; attempt++) await expectFull(store.put(tooLarge), { wanted: 55_000, got: room })
      expect(await namesIn(store)).to.deep.equal(kept)
      expect(await store.has(hash(tooLarge))).to.equal(false)
      await reading.return()
      temporary.release()
      await store.put(tooLarge)
      expect(await namesIn(store)).to.deep.equal(namesOf([sequence, { root: hash(tooLarge) }, TEN[0], TEN[2], TEN[3]]))
      await store.close()
      await expectNoOrphans(place)
    })

    it('put() stops reading a source that is longer than the quota', async () => {
      await putAll(store, TEN)
      const piece = noise(30_000, 5)
      let given = 0
      const endless = (async function * () { while (true) { given++; yield piece } })()
      await expectFull(store.put(endless), { wanted: 120_000, got: 100_000 })
      expect(given).to.equal(4)
      expect(await namesIn(store)).to.deep.equal(namesOf(TEN))
    })

    it('put() that fails for another reason evicts nothing', async () => {
      await putAll(store, TEN)
      const reason = new Error('no more')
      expect(await errorOf(store.put((async function * () { yield noise(90_000, 6); throw reason })())))
        .to.equal(reason)
      expect(await errorOf(store.put(stream([noise(90_000, 6)]), { signal: AbortSignal.abort(reason) })))
        .to.equal(reason)
      expect(await namesIn(store)).to.deep.equal(namesOf(TEN))
    })

    it('put() and receive() of present bytes need no room', async () => {
      await putAll(store, TEN)
      for (const { bytes, root } of TEN) {
        expect((await store.put(bytes)).isNew).to.equal(false)
        expect(await store.receive(root, sliceOf(bytes))).to.deep.equal({ received: 0, complete: true })
      }
      await store.put(new Uint8Array(0))
      expect(await namesIn(store)).to.deep.equal(namesOf(TEN))
    })

    it('receive() makes room group by group', async () => {
      await putAll(store, TEN)
      const { bytes, root } = blobOf(4 * GROUP, 7)
      const receive = (start, end) => store.receive(root, sliceOf(bytes, { start, end }), { start, end })
      expect(await receive(0, GROUP)).to.deep.equal({ received: GROUP, complete: false })
      expect(await namesIn(store)).to.deep.equal(namesOf([{ root }, ...TEN.slice(2)]))
      expect(await receive(0, 2 * GROUP), 'half of it is new').to.deep.equal({ received: GROUP, complete: false })
      expect(await namesIn(store)).to.deep.equal(namesOf([{ root }, ...TEN.slice(4)]))
      await store.put(bytes)
      expect(await namesIn(store), 'so is half of what is put').to.deep.equal(namesOf([{ root }, ...TEN.slice(7)]))
      expect(await lenOf(store)).to.equal(4 * GROUP + 30_000)
      await store.close()
      await open(100_000)
      await store.put(noise(1 + 100_000 - 4 * GROUP - 30_000, 8))
      expect(await namesIn(store), 'one byte too many').to.not.include(hex(TEN[7].root))
    })

    it('receive() keeps the groups before the one that does not fit', async () => {
      await putAll(store, TEN.slice(0, 6), { tag: undefined })
      for (const { root } of TEN.slice(0, 6)) await store.tags.set(hex(root), root)
      const { bytes, root } = blobOf(4 * GROUP, 7)
      const two = { start: 0, end: 2 * GROUP }
      await store.receive(root, sliceOf(bytes, two), two)
      await expectFull(store.receive(root, sliceOf(bytes)), { wanted: 2 * GROUP, got: 40_000 - 2 * GROUP })
      expect((await store.stat(root)).present.boundaries).to.deep.equal([0, 32])
      expect(same(await store.bytes(root, two), bytes.subarray(0, 2 * GROUP))).to.equal(true)
      expect(await namesIn(store)).to.deep.equal(namesOf([{ root }, ...TEN.slice(0, 6)]))
    })

    it('delete() and gc() make room', async () => {
      await putAll(store, TEN)
      await store.delete(TEN[5].root)
      await store.put(more.bytes)
      expect(await namesIn(store)).to.deep.equal(namesOf([more, ...TEN.filter((_, i) => i !== 5)]))
      await store.tags.set('a', more.root)
      expect(await store.gc()).to.deep.equal({ blobs: 9, bytes: 90_000 })
      const large = blobOf(90_000, 9)
      await store.put(large.bytes)
      expect(await namesIn(store)).to.deep.equal(namesOf([more, large]))
    })

    it('open() with a smaller quota evicts when the next blob is put', async () => {
      await putAll(store, TEN)
      await store.close()
      await open(35_000)
      expect(await namesIn(store)).to.deep.equal(namesOf(TEN))
      await store.put(more.bytes)
      expect(await namesIn(store)).to.deep.equal(namesOf([more, ...TEN.slice(8)]))
      await store.close()
      await open(0)
      await expectFull(store.put(another.bytes), { wanted: 10_000, got: 0 })
      await store.put(new Uint8Array(0))
      await store.close()
      await open(undefined)
      await store.put(another.bytes)
      expect(await namesIn(store)).to.deep.equal(namesOf([more, another, ...TEN.slice(8)]))
    })

    it('many concurrent puts and receives stay within the quota', async () => {
      await putAll(store, TEN.slice(0, 3), { tag: undefined })
      await store.tags.set('a', TEN[0].root)
      const blobs = Array.from({ length: 40 }, (_, i) => blobOf([9_000, 17_000, 30_000][i % 3], 400 + i))
      await Promise.all(blobs.map(({ bytes, root }, i) => i % 4 === 0
        ? store.receive(root, stream([sliceOf(bytes)]))
        : store.put(stream([bytes]), { tag: i % 10 === 1 ? `tag ${i}` : undefined }))
        .map(action => errorOf(action).then(
          error => error && expect(error, error.stack).to.include({ code: 'STORE_FULL' })
        )))
      expect(await lenOf(store)).to.be.at.most(100_000)
      expect(await store.has(TEN[0].root)).to.equal(true)
      for await (const { name, cid } of store.tags.list()) expect(await store.has(cid), name).to.equal(true)
      // The count is right: exactly the free bytes still fit.
      await store.gc()
      const free = 100_000 - await lenOf(store)
      await expectFull(store.put(noise(free + 1, 10)), { wanted: free + 1, got: free })
      if (free > 0) await store.put(noise(free, 10))
    })
  })

  describe('over many puts', () => {
    const newStore = newStores()

    it('put() evicts more blobs than the evictor remembers at a time', async () => {
      const { store } = await newStore({ quota: 2400 })
      // It remembers 1000.
      await Promise.all(Array.from({ length: 1200 }, (_, i) => store.put(Uint8Array.of(i, i >> 8))))
      await store.tags.set('a', hash(Uint8Array.of(0, 0)))
      const large = blobOf(2390, 1)
      await store.put(large.bytes)
      const names = await namesIn(store)
      expect(names).to.have.length(1 + 5)
      expect(names).to.include.members(namesOf([large, { root: hash(Uint8Array.of(0, 0)) }]))
    })

    it('the evictor walks through the store once for many puts', async () => {
      const { store, index } = await newStore({ quota: 1000 })
      let surveys = 0
      const { iterator } = index
      index.iterator = function (options, ...rest) {
        if (options.gte?.length === 1 && options.gte[0] === 1) surveys++
        return iterator.call(this, options, ...rest)
      }
      for (let i = 0; i < 1000; i++) {
        await store.put(Uint8Array.of(i, i >> 8), { tag: i % 100 === 0 ? 'last' : undefined })
      }
      expect(await lenOf(store)).to.equal(1000)
      expect(surveys).to.be.within(1, 5)
      expect(await store.has(hash(Uint8Array.of(900 & 255, 900 >> 8))), 'what is tagged').to.equal(true)
      expect(await store.has(hash(Uint8Array.of(800 & 255, 800 >> 8)))).to.equal(true)
      expect(await store.has(hash(Uint8Array.of(499 & 255, 499 >> 8)))).to.equal(false)
    })

    it('blobs that became protected after the walk of the evictor are not evicted', async () => {
      const { store } = await newStore({ quota: 100_064 })
      const sequence = concat([TEN[4].root, TEN[5].root])
      await putAll(store, TEN)
      await store.put(sequence)
      await store.put(more.bytes) // the first goes, the others are on the list
      await store.tags.set('a', TEN[1].root)
      const temporary = store.tempTag(TEN[2].root)
      const reading = store.get(TEN[3].root)
      await reading.next()
      await store.tags.set('sequence', hash(sequence), { format: 'hashseq' })
      await store.delete(TEN[7].root)
      await store.put(noise(9_000, 2))
      await store.put(noise(10_000, 3))
      for (const i of [1, 2, 3, 4, 5]) expect(await store.has(TEN[i].root), `${i}`).to.equal(true)
      expect(await store.has(TEN[6].root)).to.equal(false)
      await reading.return()
      temporary.release()
    })

    it('blobs that were used or put again after the walk of the evictor are evicted later', async () => {
      const { store } = await newStore({ quota: 100_000 })
      await putAll(store, TEN)
      await store.put(more.bytes) // the first goes, the others are on the list
      await later()
      await store.bytes(TEN[1].root)
      await store.delete(TEN[2].root)
      await later()
      await putAll(store, [TEN[2], another])
      expect(await namesIn(store)).to.deep.equal(namesOf([more, another, ...TEN.filter((_, i) => i !== 0 && i !== 3)]))
    })

    it('put() evicts nothing while a damaged sequence hides what is protected', async () => {
      const { store, data } = await newStore({ quota: 100_000 })
      await store.put(TEN[0].root, { tag: 'sequence', format: 'hashseq' })
      const [extent] = await entriesOf(data)
      await extent.put(extent.value.map((byte, i) => i === 0 ? byte ^ 1 : byte))
      await putAll(store, TEN.slice(0, 9))
      expect(await errorOf(store.put(noise(20_000, 1)))).to.include({ code: 'STORE_CORRUPT' })
      expect(await namesIn(store)).to.have.length(10)
      await store.put(noise(5_000, 2)) // it fits
    })

    it('a put keeps its reserved room until it is complete, or fails', async () => {
      const { store, data } = await newStore({ quota: 100_000 })
      for (const { bytes, root } of TEN.slice(1)) await store.put(bytes, { tag: hex(root) })
      const { batch } = data
      let fail
      const reached = new Promise(resolve => {
        data.batch = () => new Promise((_resolve, reject) => {
          fail = reject
          resolve()
        })
      })
      const reason = new Error('the disk is full')
      const failing = errorOf(store.put(more.bytes))
      await reached
      data.batch = batch
      await expectFull(store.put(another.bytes), { wanted: 10_000, got: 0 })
      fail(reason)
      expect(await failing).to.equal(reason)
      await store.put(another.bytes)
    })

    it('two concurrent puts each take their room when they are complete', async () => {
      const { store, place } = await newStore({ quota: 12 * MIB })
      const [first, second] = [1, 2].map(seed => blobOf(9 * MIB, seed))
      const gates = [first, second].map(({ bytes }) => gated([bytes.subarray(0, 6 * MIB)], [bytes.subarray(6 * MIB)]))
      const puts = gates.map(({ source }) => store.put(source))
      await Promise.all(gates.map(({ reached }) => reached))
      gates[0].open()
      await puts[0]
      expect(await namesIn(store)).to.deep.equal(namesOf([first]))
      gates[1].open()
      await puts[1]
      expect(await namesIn(store)).to.deep.equal(namesOf([second]))
      await store.close()
      await expectNoOrphans(place)
    })

    it('open() refuses a quota that is not a number of bytes', async () => {
      await refusesAllButCounts('quota', quota => newStore({ quota }))
    })
  })
})
