// Times of use stay in memory until many are written together. A blob without a record never has one.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { Uses } from '../../../store/catalog/uses.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { flushUses, isRecordKey, usedEntry } from '../../support/store/inspect.js'
import { newStores } from '../../support/store/stores.js'

const BLOBS = [1, 2].map(i => noise(100 * i, i))
const ROOTS = BLOBS.map(bytes => hash(bytes))

describe('store: times of use', () => {
  const newStore = newStores()
  /** Puts blobs, and reads them. */
  const putAndRead = async (store, blobs = BLOBS) => {
    for (const bytes of blobs) await store.bytes((await store.put(bytes)).cid)
  }

  describe('while they cannot be written', () => {
    it('stay in memory, and are written later', async () => {
      const { store, place, index } = await newStore()
      await putAndRead(store, [BLOBS[0]])
      const { batch } = index
      index.batch = async () => { throw new Error('no') }
      expect(await errorOf(flushUses(store))).to.have.property('message', 'no')
      index.batch = batch
      await store.close()
      expect(await place.look(({ index }) => usedEntry(index, ROOTS[0]).read())).to.have.length(8)
    })

    it('are limited in number, and are not written again at every use', async () => {
      const tried = []
      const index = { batch: async operations => { tried.push(operations.length); throw new Error('no') } }
      const uses = new Uses(index, { filterRecorded: async roots => roots })
      for (let i = 0; i < 40_000; i++) {
        uses.touch(hash(Uint8Array.of(i, i >> 8)))
        if (i % 100 === 0) await undefined
      }
      expect(tried.length).to.be.within(20, 80)
      tried.length = 0
      const written = []
      index.batch = async operations => { written.push(...operations) }
      await uses.flush()
      expect(written.length).to.be.within(1000, 10_000)
    })
  })

  describe('are not written for a blob without a record', () => {
    /** Closes the store, and returns the blobs of which the index has a use. */
    const used = async ({ store, place }) => {
      await store.close()
      return place.look(async ({ index }) =>
        Promise.all(ROOTS.map(async root => await usedEntry(index, root).read() !== undefined)))
    }

    it('that getMany() has read before its deletion', async () => {
      const made = await newStore()
      await putAndRead(made.store)
      const reading = made.store.getMany(ROOTS)
      await reading.next()
      await made.store.delete(ROOTS[1])
      expect((await reading.next()).value.bytes).to.deep.equal(BLOBS[1])
      await reading.return()
      expect(await used(made)).to.deep.equal([true, false])
    })

    it('that a read finds during its deletion', async () => {
      const made = await newStore({ syncReads: false })
      const { store, index } = made
      await putAndRead(store)
      await flushUses(store)
      const { batch } = index
      const read = new Promise(resolve => {
        index.batch = async function (...args) {
          index.batch = batch
          resolve(store.bytes(ROOTS[1]).then(() => flushUses(store)))
          await store.bytes(ROOTS[1])
          return batch.apply(this, args)
        }
      })
      await store.delete(ROOTS[1])
      await read
      expect(await used(made)).to.deep.equal([true, false])
    })

    it('that is deleted while the times are written', async () => {
      const made = await newStore()
      const { store, index } = made
      await putAndRead(store)
      let deleted
      const { getMany } = index
      index.getMany = async function (keys, ...args) {
        const found = await getMany.call(this, keys, ...args)
        if (keys.some(key => isRecordKey(key, ROOTS[1]))) deleted ??= store.delete(ROOTS[1])
        await deleted
        return found
      }
      await flushUses(store)
      expect(await deleted).to.include({ blobs: 1 })
      expect(await used(made)).to.deep.equal([true, false])
    })
  })

  it('fsck() counts the times of blobs without a record, and a repair deletes them', async () => {
    const { store, place, index } = await newStore()
    await putAndRead(store, [BLOBS[0]])
    await flushUses(store)
    await usedEntry(index, ROOTS[1]).write(new Uint8Array(8))
    expect(await store.fsck()).to.include({ isSound: false, strays: 1 })
    expect(await store.fsck({ repair: true })).to.include({ isSound: false, strays: 1 })
    expect(await store.fsck()).to.include({ isSound: true, strays: 0 })
    expect(await usedEntry(index, ROOTS[1]).read()).to.equal(undefined)
    expect(await usedEntry(index, ROOTS[0]).read()).to.have.length(8)
    await usedEntry(index, ROOTS[1]).write(new Uint8Array(8))
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: 100 })
    await store.close()
    expect(await (await place.open()).fsck()).to.include({ strays: 1 })
  })

  it('fsck({ repair: true }) keeps the time of a blob that is put during the repair', async () => {
    const { store, index } = await newStore()
    await store.put(BLOBS[0])
    await usedEntry(index, ROOTS[1]).write(new Uint8Array(8))
    const { getMany } = index
    index.getMany = async function (keys, ...args) {
      const found = await getMany.call(this, keys, ...args)
      index.getMany = getMany
      await putAndRead(store, [BLOBS[1]])
      await flushUses(store)
      return found
    }
    expect(await store.fsck({ repair: true })).to.include({ strays: 0 })
    expect(await usedEntry(index, ROOTS[1]).read()).to.have.length(8)
  })
})
