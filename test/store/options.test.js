// The options of a store's calls.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { asBlockstore } from '../../exchange/blockstore/index.js'
import { fromMirrors } from '../../exchange/download/index.js'
import { testStore } from '../contract/index.js'
import { concat, same } from '../support/bytes.js'
import { collect, errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { newStores, sliceOf } from '../support/store/stores.js'
import { download, downloadFile } from '../../exchange/download/index.js'

const BYTES = noise(100_000, 31)
const ROOT = hash(BYTES)

describe('store: options', () => {
  const newStore = newStores()

  describe('that a call does not know are a TypeError that names them', () => {
    const odd = { ofset: 5 }
    const calls = {
      put: store => store.put(BYTES, odd),
      append: store => store.append(ROOT, BYTES, odd),
      putMany: store => listed(store.putMany([BYTES], odd)),
      getMany: store => listed(store.getMany([ROOT], odd)),
      get: store => listed(store.get(ROOT, odd)),
      'get with options after the range': store => listed(store.get(ROOT, {}, odd)),
      'get of chunk ranges': store => listed(store.get(ROOT, ChunkRanges.all, odd)),
      bytes: store => store.bytes(ROOT, odd),
      stream: store => listed(store.stream(ROOT, odd)),
      importFile: store => store.importFile('nowhere', odd),
      exportFile: store => store.exportFile(ROOT, 'nowhere', odd),
      list: store => listed(store.list(odd)),
      info: store => store.info(odd),
      deleteMany: store => store.deleteMany([], odd),
      delete: store => store.delete(ROOT, odd),
      tempTag: store => store.tempTag(ROOT, odd),
      'add of a temporary tag': store => store.tempTag().add(ROOT, odd),
      gc: store => store.gc(odd),
      compact: store => store.compact(odd),
      slice: store => listed(store.slice(ROOT, undefined, odd)),
      receive: store => store.receive(ROOT, sliceOf(BYTES), undefined, odd),
      fsck: store => store.fsck(odd),
      watch: store => listed(store.watch(odd)),
      observe: store => listed(store.observe(ROOT, odd)),
      outboard: store => store.outboard(ROOT, odd),
      'tags.set': store => store.tags.set('a', ROOT, odd),
      'tags.list': store => listed(store.tags.list(odd)),
      download: store => download(store, ROOT, { from: [], ...odd }),
      downloadFile: () => downloadFile(ROOT, 'nowhere', { from: [], ...odd }),
      fromMirrors: () => fromMirrors([], odd),
      asBlockstore: store => asBlockstore(store, odd),
      testStore: () => testStore(odd)
    }
    for (const [name, call] of Object.entries(calls)) {
      it(name, async () => {
        const { store } = await newStore()
        await store.put(BYTES)
        const error = await errorOf((async () => call(store))())
        expect(error).to.be.instanceOf(TypeError)
        expect(error.message).to.include('"ofset"')
        expect(await store.has(ROOT)).to.equal(true)
      })
    }

    for (const name of ['open', 'rescue']) {
      it(`BlobStore.${name}`, async () => {
        const error = await errorOf(BlobStore[name]('nowhere', odd))
        expect(error).to.be.instanceOf(TypeError)
        expect(error.message).to.include('"ofset"')
      })
    }
  })

  it('a store is opened, and not constructed', () => {
    expect(() => new BlobStore()).to.throw(TypeError, 'BlobStore.open')
    expect(() => new BlobStore('directory')).to.throw(TypeError, 'BlobStore.open')
  })

  describe('a range', () => {
    it('is { start, end }, and options come after it', async () => {
      const { store } = await newStore()
      await store.put(BYTES)
      const range = { start: 5000, end: 40_000 }
      const part = BYTES.subarray(5000, 40_000)
      const halves = [{ start: 9000, end: 40_000 }, { start: 5000, end: 10_000 }]
      for (const given of [[range], [range, { verify: false }], [[range]], [halves]]) {
        expect(same(await store.bytes(ROOT, ...given), part)).to.equal(true)
        expect(same(await collect(store.get(ROOT, ...given)), part)).to.equal(true)
        expect(same(concat(await listed(store.stream(ROOT, ...given))), part)).to.equal(true)
      }
      const several = [{ start: 90_000 }, { start: 0, end: 5 }, { start: 7, end: 7 }]
      const parts = concat([BYTES.subarray(0, 5), BYTES.subarray(90_000)])
      expect(same(await store.bytes(ROOT, several), parts)).to.equal(true)
      expect(same(await collect(store.get(ROOT, several)), parts)).to.equal(true)
      expect(await store.bytes(ROOT, [])).to.have.length(0)
    })

    it('may be ranges of chunks, whose bytes come one after the other', async () => {
      const { store } = await newStore()
      await store.put(BYTES)
      const ranges = new ChunkRanges([1, 3, 20, 60, 97, 300])
      const parts = concat(
        [[1024, 3072], [20_480, 61_440], [99_328, 100_000]].map(([start, end]) => BYTES.subarray(start, end))
      )
      expect(same(await store.bytes(ROOT, ranges), parts)).to.equal(true)
      expect(same(await store.bytes(ROOT, ranges, { verify: false }), parts)).to.equal(true)
      expect(same(await collect(store.get(ROOT, ranges)), parts)).to.equal(true)
      expect(same(await store.bytes(ROOT, ChunkRanges.all), BYTES)).to.equal(true)
      expect(await store.bytes(ROOT, ChunkRanges.none)).to.have.length(0)
      expect((await store.missing(ROOT, ranges)).isEmpty).to.equal(true)
    })

    it('of chunks is reported as missing where a partial blob lacks them', async () => {
      const { store } = await newStore()
      const range = { start: 0, end: 16_384 }
      await store.receive(ROOT, sliceOf(BYTES, range), range)
      expect(same(await store.bytes(ROOT, new ChunkRanges([0, 16])), BYTES.subarray(0, 16_384))).to.equal(true)
      for (const boundaries of [[0, 1, 50, 51], [500, 501]]) {
        expect(await errorOf(store.bytes(ROOT, new ChunkRanges(boundaries)))).to.include({ code: 'STORE_MISSING' })
      }
    })

    it('is nothing else', async () => {
      const { store } = await newStore()
      await store.put(BYTES)
      for (const range of [5, [0, 5], 'all', { start: 0, signal: undefined }]) {
        expect(await errorOf(store.bytes(ROOT, range))).to.be.instanceOf(TypeError)
      }
    })
  })
})
