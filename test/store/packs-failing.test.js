// Packs when something fails while they are written, written anew or removed, at any call to the databases and files, or the process ends there. What was kept
// is there, what was deleted is not, and nothing lies about once the store has been opened again.
import { cp, open, rm } from 'node:fs/promises'
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { partsOf } from '../../store/blobs.js'
import { allHoles } from '../../store/keys.js'
import { same } from '../support/bytes.js'
import { errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { DONE, FAULTS, failAt, reason } from '../support/failing.js'
import { expectNoOrphans } from '../support/stores.js'
import { ENOUGH, blobsOf, deleteAll, expectGone, expectHere, expectSound, holesOfStore, homesOf, newPlaces, packsOf, pathOf, putAll } from './packing.js'

const FAST = { durability: 'process' }

const [MANY, FEW] = [blobsOf(18, 1), blobsOf(ENOUGH + 1, 2)]
const COMING = blobsOf(ENOUGH + 1, 3)
/** So many may go before a pack is written anew. */
const [OF_MANY, OF_FEW] = [8, 4]

async function flipInList (place, id) {
  const file = await open(pathOf(place, id), 'r+')
  await file.write(Uint8Array.of(0xaa), 0, 1, 20)
  await file.close()
}

/** `doubtful`: blobs that may be here, or not. `isRecord`: may a record have come to the disk of which that is not known? @type {Record<string, { doubtful?: Uint8Array[], isRecord?: boolean, isDamage?: boolean, prepare?: (store: any, place: any) => Promise<unknown>, run: (store: any) => Promise<unknown> }>} */
const JOBS = {
  'blobs come': { isRecord: true, doubtful: COMING, run: store => putAll(store, COMING) },
  'a pack is written anew': { isRecord: true, doubtful: [MANY[OF_MANY]], run: store => store.delete(hash(MANY[OF_MANY])) },
  'what is left of a pack comes into extents': { doubtful: [FEW[OF_FEW]], run: store => store.delete(hash(FEW[OF_FEW])) },
  'packs are compacted': { run: store => partsOf(store).packs.tidyAll({ isThorough: true }) },
  'a pack goes, and one is written anew, with garbage': {
    doubtful: [MANY[OF_MANY], ...FEW],
    prepare: async store => { for (const [i, bytes] of MANY.slice(OF_MANY + 1).entries()) await store.tags.set(`tag ${i}`, hash(bytes)) },
    run: store => store.gc()
  },
  'a damaged list is mended': {
    prepare: async (store, place) => flipInList(place, (await packsOf(place))[0]),
    isDamage: true,
    run: store => store.fsck({ repair: true })
  },
  'a pack that is gone is given up': {
    doubtful: FEW,
    prepare: async (store, place) => rm(pathOf(place, (await packsOf(place))[1])),
    isDamage: true,
    run: store => store.fsck({ repair: true })
  }
}

describe('store: packs when something fails', () => {
  const newPlace = newPlaces()
  let leftovers = 0

  for (const [what, { doubtful = [], isRecord, isDamage, prepare, run }] of Object.entries(JOBS)) {
    describe(`while ${what}`, () => {
      const predeleted = [...MANY.slice(0, OF_MANY), ...FEW.slice(0, OF_FEW)]
      const doubted = doubtful.filter(bytes => !predeleted.includes(bytes))
      const kept = [...MANY, ...FEW].filter(bytes => !predeleted.includes(bytes) && !doubtful.includes(bytes))
      let before
      beforeEach(async () => {
        before = await newPlace()
        const store = await before.open(FAST)
        await putAll(store, MANY)
        await putAll(store, FEW)
        await deleteAll(store, predeleted)
        await prepare?.(store, before)
        await store.close()
      })

      async function expectKept (store) {
        await expectHere(store, kept)
        await expectGone(store, predeleted)
        for (const bytes of doubted) {
          const got = []
          const error = await errorOf(async () => got.push(await store.bytes(hash(bytes))))
          if (error) expect(error.code).to.be.oneOf(isDamage ? ['STORE_NOT_FOUND', 'STORE_CORRUPT', 'STORE_MISSING'] : ['STORE_NOT_FOUND'])
          else expect(same(got[0], bytes)).to.equal(true)
        }
      }

      for (const [how, fault] of Object.entries(FAULTS)) {
        if (how === DONE && !isRecord) continue
        it(`any call ${how}`, async () => {
          let moment = 0
          for (let isOver = false; !isOver; moment++) {
            expect(moment).to.be.lessThan(60)
            const place = await newPlace()
            await cp(before.where, place.where, { recursive: true })
            const store = await BlobStore.open(place.where, FAST)
            const { isReached, untap } = failAt(store, 'packs', moment, fault)
            const error = await errorOf(run(store))
            isOver = !isReached()
            if (!fault.isDeath) untap()
            if (error) expect(error, `at call ${moment}: ${error.stack}`).to.equal(reason)
            await expectKept(store)
            const closing = await errorOf(store.close())
            if (!fault.isDeath) expect(closing).to.equal(undefined)
            untap()
            leftovers += await place.look(({ packs }) => packs.length) > 2 ? 1 : 0
            const again = await place.open(FAST)
            await expectKept(again)
            if (!isDamage) await expectSound(again)
            // What did not work then works now.
            await run(again)
            await expectSound(again)
            await partsOf(again).packs.tidyAll({ isThorough: true })
            expect(await holesOfStore(again)).to.deep.equal({})
            await expectKept(again)
            await again.close()
            await expectNoOrphans(place)
          }
          expect(moment, 'there was something to interrupt').to.be.above(1)
        })
      }
    })
  }

  after(() => expect(leftovers, 'packs were left, and swept away when the store was opened').to.be.above(0))

  describe('on a disk that is full', () => {
    let place, store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open(FAST)
    })

    /** Nothing is written any more to packs, or as data; the index has room. @returns {() => void} there is room again */
    function full () {
      const { data, packs } = partsOf(store).databases
      const { writer } = packs
      const { batch } = data
      const noRoom = async () => { throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }) }
      packs.writer = async id => Object.assign(await writer.call(packs, id), { write: noRoom })
      data.batch = noRoom
      return () => Object.assign(packs, { writer }) && Object.assign(data, { batch })
    }

    it('blobs do not come, nothing of them is left, and they come when there is room', async () => {
      await putAll(store, MANY)
      const restore = full()
      expect(await errorOf(putAll(store, COMING))).to.include({ code: 'STORE_FULL' })
      expect(await packsOf(place)).to.have.length(1)
      await expectHere(store, MANY)
      await expectGone(store, COMING)
      restore()
      await putAll(store, COMING)
      await expectHere(store, [...MANY, ...COMING])
      await store.close()
      await expectNoOrphans(place)
    })

    it('blobs of a pack can be deleted, to the last, which takes the pack away', async () => {
      await putAll(store, MANY)
      full()
      for (const [i, bytes] of MANY.entries()) {
        expect(await packsOf(place)).to.have.length(1)
        expect(await store.delete(hash(bytes))).to.equal(true)
        await expectHere(store, MANY.slice(i + 1))
      }
      expect(await packsOf(place)).to.deep.equal([])
      await store.close()
      await expectNoOrphans(place)
    })

    it('garbage goes, and what is left stays where it is, until there is room', async () => {
      await putAll(store, FEW)
      await store.tags.set('one', hash(FEW[0]))
      const restore = full()
      expect(await store.gc()).to.include({ blobs: FEW.length - 1 })
      expect(await homesOf(store, FEW.slice(0, 1))).to.deep.equal(['pack'])
      expect(await errorOf(store.compact())).to.include({ code: 'STORE_FULL' })
      await expectHere(store, FEW.slice(0, 1))
      restore()
      await store.gc()
      expect(await homesOf(store, FEW.slice(0, 1))).to.deep.equal(['extents'])
      expect(await packsOf(place)).to.deep.equal([])
      await expectHere(store, FEW.slice(0, 1))
      await store.close()
      await expectNoOrphans(place)
    })
  })

  it('a blob is deleted though its pack, or the holes in it, cannot be looked at', async () => {
    for (const spoil of [
      ({ index }) => {
        const { iterator } = index
        index.iterator = options => {
          if (same(options.gte.subarray(0, 1), allHoles.gte)) throw reason
          return iterator.call(index, options)
        }
      },
      ({ packs }) => Object.assign(packs, { len: () => Promise.reject(reason) }),
      ({ packs }) => Object.assign(packs, { reader: () => { throw reason } })
    ]) {
      const store = await newPlace().then(place => place.open(FAST))
      await putAll(store, FEW)
      spoil(partsOf(store).databases)
      for (const bytes of FEW) expect(await errorOf(async () => expect(await store.delete(hash(bytes))).to.equal(true))).to.equal(undefined)
      for (const bytes of FEW) expect(await store.has(hash(bytes))).to.equal(false)
    }
  })

  it('what is written anew is on the disk before the old one goes, whatever the store promises', async () => {
    for (const blobs of [MANY, FEW]) {
      const store = await newPlace().then(place => place.open(FAST))
      await putAll(store, blobs)
      const { packs, data, index } = partsOf(store).databases
      const done = []
      const { writer, sync, remove } = packs
      packs.writer = async id => {
        const file = await writer.call(packs, id)
        const { sync } = file
        file.sync = () => sync.call(file).then(() => done.push('bytes'))
        return file
      }
      packs.sync = () => sync.call(packs).then(() => done.push('name'))
      packs.remove = id => {
        done.push('removed')
        return remove.call(packs, id)
      }
      for (const [name, level] of Object.entries({ data, index })) {
        const { batch } = level
        level.batch = async (operations, options) => {
          await batch.call(level, operations, options)
          if (options.sync) done.push(name)
        }
      }
      for (const bytes of blobs.slice(0, blobs.length / 2 + 1)) await store.delete(hash(bytes))
      const last = done.lastIndexOf('removed')
      expect(done.slice(0, last)).to.include.members(blobs === MANY ? ['bytes', 'name', 'index'] : ['data', 'index'])
      expect(done[last - 1]).to.equal('index')
      await store.close()
    }
  })

  it('an index that is older than its packs costs nothing: nothing is swept away, and a repair finds all of it', async () => {
    const place = await newPlace()
    let store = await place.open(FAST)
    await putAll(store, MANY)
    const older = await newPlace()
    await cp(`${place.where}/index`, `${older.where}/index`, { recursive: true }) // of a store that is open: it was not closed
    await store.delete(hash(MANY[0]))
    await store.compact()
    await store.close()
    await rm(`${place.where}/index`, { recursive: true })
    await cp(`${older.where}/index`, `${place.where}/index`, { recursive: true })
    store = await place.open(FAST)
    expect(await packsOf(place)).to.have.length(1)
    expect(await errorOf(store.bytes(hash(MANY[1])))).to.have.property('code').that.is.oneOf(['STORE_MISSING', 'STORE_CORRUPT'])
    await store.fsck({ repair: true })
    await expectHere(store, MANY.slice(1))
    await store.fsck({ repair: true })
    await expectSound(store)
    await store.close()
  })

  it('a batch of which one part fails is not kept, and nothing is left of the other', async () => {
    for (const part of ['packs', 'data']) {
      const place = await newPlace()
      const store = await place.open(FAST)
      const { packs, data } = partsOf(store).databases
      const fail = async () => { throw reason }
      if (part === 'packs') packs.writer = fail
      else data.batch = fail
      expect(await errorOf(putAll(store, [...COMING, noise(50_000)]))).to.equal(reason)
      expect(await listed(store.list())).to.deep.equal([])
      await store.close()
      expect(await place.look(({ packs }) => packs.length)).to.equal(part === 'packs' ? 0 : 1)
      const again = await place.open(FAST)
      await expectSound(again)
      await again.close()
      await expectNoOrphans(place)
    }
  })
})
