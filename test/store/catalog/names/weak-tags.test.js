// Weak tags: the keys of a cache. They protect nothing, and count as gone when their blobs are.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { create } from 'multiformats/hashes/digest'
import { hash, toCid } from '../../../../lib/index.js'
import { copy } from '../../../../exchange/transfer/index.js'
import { flipped } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { databasesOf, recordEntry, tagOfBlobEntry, tagEntry } from '../../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, inMemory, tagNamesIn } from '../../../support/store/stores.js'

const BYTES = noise(1000)
const ROOT = hash(BYTES)
const OTHER = noise(2000)

describe('store: weak tags', () => {
  forEachPlace(newPlace => {
    let place, store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
    })

    it('say what they name, as other tags do', async () => {
      await store.put(BYTES, { tag: 'put', weak: true, meta: { a: 1 }, expires: new Date('2090-01-01') })
      const told = { name: 'put', format: 'raw', weak: true, meta: { a: 1 }, expires: new Date('2090-01-01') }
      const { cid, ...rest } = await store.tags.get('put')
      expect(rest).to.deep.equal(told)
      expect(`${cid}`).to.equal(`${toCid(ROOT)}`)
      await store.tags.rename('put', 'key')
      expect(await listed(store.tags.list())).to.deep.equal([{ cid, ...told, name: 'key' }])
      await store.tags.setMany(await listed(store.tags.list()))
      expect(await store.tags.get('key')).to.include({ weak: true })
      expect(await store.info()).to.include({ tags: 0 })
      await store.put(BYTES, { tag: 'key' })
      expect(await store.tags.get('key')).to.not.have.property('weak')
      expect(await store.info()).to.include({ tags: 1 })
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('protect nothing, and are gone with the blob', async () => {
      await store.put(BYTES, { tag: 'key', weak: true })
      await store.put(OTHER, { tag: 'other' })
      await store.tags.set('weak', hash(OTHER), { weak: true })
      expect(await store.gc({ dryRun: true })).to.include({ blobs: 1 })
      expect(await store.gc()).to.include({ blobs: 1 })
      expect(await store.tags.get('key')).to.equal(undefined)
      expect(await tagNamesIn(store)).to.deep.equal(['other', 'weak'])
      expect(await store.tags.delete('key'), 'it is gone').to.equal(false)
      expect((await errorOf(store.tags.rename('key', 'x'))).code).to.equal('STORE_TAG_NOT_FOUND')
      expect((await errorOf(store.delete(hash(OTHER)))).tag).to.equal('other')
      await store.tags.delete('other')
      expect(await store.delete(hash(OTHER))).to.include({ blobs: 1 })
      expect(await tagNamesIn(store)).to.deep.equal([])
    })

    it('free their names, and leave no entry once gc() has run', async () => {
      await store.put(BYTES, { tag: 'key', weak: true })
      await store.put(OTHER, { tag: 'stays', weak: true })
      await store.delete(ROOT)
      const { index } = databasesOf(store)
      expect(await store.tags.add('key', hash(OTHER), { weak: true }), 'the name is free').to.equal(true)
      expect(await store.tags.add('key', ROOT), 'it is taken').to.equal(false)
      await store.tags.set('absent', ROOT, { weak: true })
      expect(await store.tags.get('absent'), 'there is no such blob').to.equal(undefined)
      await store.tags.set('keeps', hash(OTHER))
      await store.gc()
      expect(await tagNamesIn(store)).to.deep.equal(['keeps', 'key', 'stays'])
      expect(await tagEntry(index, 'absent').read()).to.equal(undefined)
      expect(await tagOfBlobEntry(index, ROOT, 'absent').read()).to.equal(undefined)
      await store.close()
      await expectNoOrphans(place)
    })

    it('are keys of a cache with a quota: they go with the blobs that were used least recently', async () => {
      await store.close()
      store = await place.open({ quota: 10_500 })
      const { index } = databasesOf(store)
      const blobs = Array.from({ length: 30 }, (_, i) => noise(1000, 100 + i))
      for (const [i, bytes] of blobs.entries()) {
        await store.put(bytes, { tag: `key ${i}`, weak: true })
        expect(await store.tags.get('key 0'), `${i}`).to.not.equal(undefined)
        await store.bytes(hash(blobs[0]))
      }
      const names = await tagNamesIn(store)
      expect(names).to.have.length(10).and.include('key 0').and.include('key 29')
      for (const { cid } of await listed(store.tags.list())) expect(await store.has(cid)).to.equal(true)
      let entries = 0
      for (let i = 0; i < 30; i++) if (await tagEntry(index, `key ${i}`).read() !== undefined) entries++
      expect(entries, 'evictions have swept the others').to.be.below(25)
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('protect nothing when they come by copy()', async () => {
      await store.put(BYTES, { tag: 'key', weak: true })
      const second = await newPlace()
      const to = await second.open()
      expect(await copy(store, to)).to.include({ blobs: 1, tags: 1 })
      expect(await to.tags.get('key')).to.include({ weak: true })
      expect(await copy(store, to), 'again').to.include({ blobs: 0, tags: 0 })
      expect(await to.gc()).to.include({ blobs: 1 })
    })

    it('claim no orphan', async () => {
      await store.put(BYTES, { tag: 'key', weak: true })
      await store.put(OTHER, { tag: 'strong' })
      await store.close()
      await place.look(async ({ index }) => {
        for (const bytes of [BYTES, OTHER]) await recordEntry(index, hash(bytes)).remove()
      })
      store = await place.open()
      await store.gc()
      expect([await store.has(ROOT), await store.has(hash(OTHER))]).to.deep.equal([false, true])
    })

    it('protect when they are damaged, until fsck() has mended them', async () => {
      await store.put(BYTES, { tag: 'key', weak: true })
      const entry = tagOfBlobEntry(databasesOf(store).index, ROOT, 'key')
      await entry.write(flipped(await entry.read(), 3))
      expect((await errorOf(store.gc())).code).to.equal('STORE_CORRUPT')
      expect((await store.fsck({ repair: true })).tags).to.deep.equal([{ name: 'key', isRestored: true }])
      expect(await store.tags.get('key')).to.include({ weak: true })
      expect(await store.gc()).to.include({ blobs: 1 })
    })
  })

  it('refuse what they cannot be', async () => {
    const store = await (await inMemory()).open()
    const alias = CID.createV1(0x55, create(0x12, new Uint8Array(32)))
    for (const run of [
      () => store.tags.set('x', ROOT, { weak: 1 }),
      () => store.tags.set('x', ROOT, { weak: true, format: 'hashseq' }),
      () => store.tags.set('x', toCid(ROOT, 0x80), { weak: true }),
      () => store.tags.set('x', alias, { weak: true }),
      () => store.put(BYTES, { weak: true }),
      () => store.put(BYTES, { tag: store.tempTag(), weak: true }),
      () => store.put(BYTES, { tag: 'x', format: 'hashseq', weak: true })
    ]) {
      const error = await errorOf(run())
      expect(error, `${run}`).to.be.instanceOf(TypeError)
      expect(error.message, `${run}`).to.include('"weak"')
    }
    expect(await tagNamesIn(store)).to.deep.equal([])
  })
})
