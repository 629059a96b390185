// A store that is opened again: the blobs and times that it remembers, and openings that fail.
import { expect } from 'chai'
import { BaoError, hash } from '../../lib/index.js'
import { same } from '../support/bytes.js'
import { MIB } from '../support/constants.js'
import { pairsOf } from '../support/effort.js'
import { collect, errorOf, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { LAYOUT_VERSION, changeState, idsIn, stateEntry } from '../support/store/inspect.js'
import { forEachPlace, onDisk, sliceOf } from '../support/store/stores.js'

describe('store: open()', () => {
  forEachPlace(newPlace => {
    it('open() finds the blobs that were put', async () => {
      const place = await newPlace()
      const blobs = [1, 16_385, 70_001, 5_000_000].map(size => noise(size, size))
      for (let life = 0; life < 3; life++) {
        const store = await place.open()
        for (const bytes of blobs) {
          expect(await store.has(hash(bytes))).to.equal(life > 0)
          expect(await store.put(bytes)).to.include({ isNew: life === 0 })
          expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
        }
        await store.close()
      }
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(blobs.length))
    })

    it('open() does not find blobs that were deleted', async () => {
      const place = await newPlace()
      const store = await place.open()
      const { cid } = await store.put(noise(3 * MIB))
      await store.delete(cid)
      await store.close()
      const again = await place.open()
      expect(await again.has(cid)).to.equal(false)
      await again.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.deep.equal([]))
    })

    it('stat() and list() give the time of the last use of a blob, also after the store is opened again', async () => {
      const place = await newPlace()
      let store = await place.open()
      const bytes = noise(20_000)
      const { cid } = await store.put(bytes)
      const { created, lastUsed: first } = await store.stat(cid)
      expect(Math.abs(created - Date.now())).to.be.lessThan(5000)
      const uses = [
        () => store.bytes(cid, { end: 5 }),
        () => collect(store.slice(cid, { start: 0, end: 1 })),
        () => store.put(bytes)
      ]
      let before = first
      for (const use of uses) {
        await later()
        await use()
        const { lastUsed } = await store.stat(cid)
        expect(lastUsed.getTime(), use.toString()).to.be.greaterThan(before.getTime())
        await later()
        await store.has(cid)
        expect((await store.stat(cid)).lastUsed, 'stat() does not count as a use').to.deep.equal(lastUsed)
        await store.close()
        store = await place.open()
        expect((await store.stat(cid)).lastUsed, 'after opening again').to.deep.equal(lastUsed)
        before = lastUsed
      }
      expect((await store.stat(cid)).created).to.deep.equal(created)
      for await (const listed of store.list()) expect(listed.lastUsed).to.deep.equal(before)
    })

    it('open() refuses a store of a later layout with STORE_VERSION', async () => {
      const place = await newPlace()
      await (await place.open()).close()
      await place.look(async ({ index }) => {
        await changeState(index, { version: LAYOUT_VERSION + 1 })
      })
      for (let attempt = 0; attempt < 2; attempt++) {
        const error = await errorOf(place.open())
        expect(error).to.be.instanceOf(BaoError)
        expect(error).to.include({ code: 'STORE_VERSION' })
      }
    })

    it('open() with create: false makes no store, and opens one that has lost its state', async () => {
      const place = await newPlace()
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await errorOf(place.open({ create: false }))).to.include({ name: 'BaoError', code: 'STORE_ABSENT' })
      }
      await (await place.open()).close()
      await (await place.open({ create: false })).close()
      // A store that has lost its state still counts as a store.
      const store = await place.open()
      await store.put(Uint8Array.of(1))
      await store.close()
      await place.look(({ index }) => stateEntry(index).remove())
      expect(await (await place.open({ create: false })).has(hash(Uint8Array.of(1)))).to.equal(true)
    })

    it('several calls of put() with the same bytes at the same time store them once', async () => {
      const place = await newPlace()
      const store = await place.open()
      const blobs = [noise(100, 1), noise(6 * MIB, 2)]
      const results = await Promise.all([0, 1, 2, 3].flatMap(() => blobs.map(bytes => store.put(stream([bytes])))))
      expect(results.filter(({ isNew }) => isNew)).to.have.length(blobs.length)
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(blobs.length))
    })

    it('a read of a blob that is deleted gives right bytes to the end, or fails', async () => {
      const bytes = noise(6 * MIB, 3)
      const root = hash(bytes)
      const slice = sliceOf(bytes)
      const place = await newPlace()
      const store = await place.open()
      const afterwards = [
        () => store.delete(root),
        async () => { await store.delete(root); await store.put(bytes) },
        async () => {
          await store.delete(root)
          await store.receive(root, sliceOf(bytes, { start: 0, end: MIB }), { start: 0, end: MIB })
        }
      ]
      const reads = /** @type {[() => AsyncGenerator<Uint8Array>, Uint8Array][]} */ ([
        [() => store.get(root), bytes], [() => store.get(root, undefined, { verify: false }), bytes],
        [() => store.slice(root), slice]
      ])
      for (const [change, [read, expected]] of pairsOf(afterwards, reads)) {
        await store.put(bytes)
        const pieces = read()
        const { value } = await pieces.next()
        let at = value.length
        await change()
        const error = await errorOf(async () => {
          for await (const piece of pieces) {
            if (!same(piece, expected.subarray(at, at + piece.length))) expect.fail(`bytes at ${at} are wrong`)
            at += piece.length
          }
        })
        // Nothing is damaged, so the error must not say so.
        if (error) expect(error.code, error.stack).to.be.oneOf(['STORE_NOT_FOUND', 'STORE_CHANGED'])
        else expect(at).to.equal(expected.length)
      }
    })

    it('a read of a part gives right bytes to the end, or fails, when the whole blob is put', async () => {
      const bytes = noise(6 * MIB, 4)
      const root = hash(bytes)
      const range = { start: 0, end: 5 * MIB }
      const place = await newPlace()
      const store = await place.open()
      for (const read of [() => store.get(root, range), () => store.get(root, range, { verify: false })]) {
        await store.receive(root, sliceOf(bytes, range), range)
        const pieces = read()
        let at = (await pieces.next()).value.length
        await store.put(bytes)
        const error = await errorOf(async () => {
          for await (const piece of pieces) {
            if (!same(piece, bytes.subarray(at, at + piece.length))) expect.fail(`bytes at ${at} are wrong`)
            at += piece.length
          }
        })
        if (error) expect(error.code, error.stack).to.equal('STORE_CHANGED')
        else expect(at).to.equal(range.end)
        await store.delete(root)
      }
    })
  })

  describe('at a location', () => {
    let place
    beforeEach(async () => { place = await onDisk() })
    afterEach(() => place.remove())

    it('open() of a store that is open fails with STORE_LOCKED', async () => {
      const store = await place.open()
      const { cid } = await store.put(Uint8Array.of(1))
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await errorOf(place.open())).to.include({ code: 'STORE_LOCKED', location: place.where })
      }
      expect(await store.bytes(cid), 'the first store still works').to.deep.equal(Uint8Array.of(1))
      await store.close()
      expect(await (await place.open()).has(cid)).to.equal(true)
    })

    it('open() works again after a failed opening', async () => {
      await (await place.open()).close()
      const states = []
      await place.look(async ({ index }) => {
        states.push(await stateEntry(index).read())
        await changeState(index, { version: LAYOUT_VERSION + 1 })
      })
      expect(await errorOf(place.open())).to.include({ code: 'STORE_VERSION' })
      await place.look(({ index }) => stateEntry(index).write(states[0]))
      await (await place.open()).close()
    })
  })
})

/** Waits for the next millisecond, because `lastUsed` has no smaller unit. */
const later = () => new Promise(resolve => setTimeout(resolve, 3))
