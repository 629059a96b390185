// Tags that have metadata, and tags that expire.
import { expect } from 'chai'
import { encode } from '@ipld/dag-cbor'
import { hash, toCid } from '../../../../lib/index.js'
import { concat, flipped } from '../../../support/bytes.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { databasesOf, tagOfBlobEntry, tagEntry, writeTag } from '../../../support/store/inspect.js'
import { forEachPlace, newStores, tagNamesIn } from '../../../support/store/stores.js'

const BYTES = noise(1000)
const ROOT = hash(BYTES)
const HOUR = 3_600_000

/** Milliseconds by which the clock is wrong. */
let offset = 0
const realNow = Date.now

describe('store: tags that expire', () => {
  before(() => { Date.now = () => realNow() + offset })
  beforeEach(() => { offset = 0 })
  after(() => { Date.now = realNow })

  forEachPlace(newPlace => {
    let place, store
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
    })
    const reopen = async () => {
      await store.close()
      store = await place.open()
    }

    it('an expired tag counts as deleted, and gc() deletes it and its blob', async () => {
      await store.put(BYTES, { tag: 'put', ttl: HOUR })
      await store.tags.set('set', ROOT, { expires: new Date(Date.now() + 2 * HOUR) })
      offset = HOUR - 10_000
      expect(await tagNamesIn(store)).to.deep.equal(['put', 'set'])
      offset = HOUR + 1
      expect(await tagNamesIn(store)).to.deep.equal(['set'])
      expect(await store.tags.get('put')).to.equal(undefined)
      expect(await store.info()).to.include({ tags: 1 })
      expect(await errorOf(store.tags.rename('put', 'x'))).to.include({ code: 'STORE_TAG_NOT_FOUND' })
      expect(await store.gc()).to.include({ blobs: 0 })
      expect(await errorOf(store.delete(ROOT))).to.include({ code: 'STORE_TAGGED', tag: 'set' })
      await reopen()
      offset = 2 * HOUR + 1
      expect(await store.gc({ dryRun: true })).to.include({ blobs: 1 })
      expect(await tagEntry(databasesOf(store).index, 'set').read(), 'a dry run takes nothing').to.not.equal(undefined)
      expect(await store.gc()).to.include({ blobs: 1 })
      for (const name of ['put', 'set']) {
        expect(await tagEntry(databasesOf(store).index, name).read()).to.equal(undefined)
        expect(await tagOfBlobEntry(databasesOf(store).index, ROOT, name).read()).to.equal(undefined)
      }
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('an expired tag protects a blob neither from delete() nor from eviction', async () => {
      await store.close()
      store = await place.open({ quota: 1500 })
      await store.put(BYTES, { tag: 'a', ttl: 1000 })
      expect(await errorOf(store.put(noise(1000, 2)))).to.include({ code: 'STORE_FULL' })
      offset = 2000
      await store.put(noise(1000, 2))
      expect(await store.has(ROOT)).to.equal(false)
      await store.tags.set('b', hash(noise(1000, 2)), { ttl: 1000 })
      offset = 4000
      expect(await store.delete(hash(noise(1000, 2)))).to.include({ blobs: 1 })
      expect(await store.tags.delete('b'), 'it was gone already').to.equal(false)
    })

    it('an expired tag of a sequence protects no members', async () => {
      await store.put(BYTES)
      await store.put(concat([ROOT]), { tag: 's', format: 'hashseq', ttl: 1000 })
      expect(await store.gc()).to.include({ blobs: 0 })
      offset = 2000
      expect(await store.gc()).to.include({ blobs: 2 })
    })

    it('an expired tag counts again when the clock is set back, unless gc() has deleted it', async () => {
      await store.put(BYTES, { tag: 'a', ttl: HOUR })
      offset = 2 * HOUR
      expect(await tagNamesIn(store)).to.deep.equal([])
      offset = -10 * HOUR
      expect(await tagNamesIn(store)).to.deep.equal(['a'])
      expect(await store.gc()).to.include({ blobs: 0 })
    })

    it('a tag that is set again has a new expiry, even when gc() is sweeping', async () => {
      await store.put(BYTES, { tag: 'a', ttl: 1000 })
      offset = 900
      await store.tags.set('a', ROOT, { ttl: 1000 })
      offset = 1500
      expect(await tagNamesIn(store)).to.deep.equal(['a'])
      offset = 3000
      const [, freed] = await Promise.all([store.tags.set('a', ROOT), store.gc()])
      expect(freed.blobs).to.equal(0)
      expect((await store.tags.get('a')).expires).to.equal(undefined)
      expect(await store.has(ROOT)).to.equal(true)
    })

    it('metadata stays as it was given through all changes of the tag', async () => {
      const meta = {
        url: 'https://example.org/ä',
        etag: null,
        tries: 3,
        ratio: 0.5,
        isFresh: true,
        list: [1, [2, {}]],
        bytes: Uint8Array.of(1, 2),
        link: toCid(ROOT),
        ['__proto__']: { x: 1 }
      }
      for (const given of [meta, 'text', 0, false, null, [], {}, Uint8Array.of(), -5.5]) {
        await store.put(BYTES, { tag: 'a', meta: given })
        expect((await store.tags.get('a')).meta).to.deep.equal(given)
        await store.tags.rename('a', 'b')
        await reopen()
        expect((await listed(store.tags.list()))[0].meta).to.deep.equal(given)
        await store.tags.delete('b')
      }
      expect({}.x).to.equal(undefined)
      await store.tags.set('a', ROOT)
      expect(await store.tags.get('a')).to.not.have.any.keys('meta', 'expires')
    })

    it('the metadata is taken at the moment of the call', async () => {
      const meta = { a: 1 }
      const setting = store.tags.set('a', ROOT, { meta })
      meta.a = 2
      await setting
      expect((await store.tags.get('a')).meta).to.deep.equal({ a: 1 })
    })

    it('setMany() sets all tags in one write, as list() gives them', async () => {
      await store.put(BYTES)
      const entries = Array.from({ length: 500 }, (_, i) => ({ name: `n${i}`, cid: ROOT, meta: { i }, ttl: HOUR }))
      await store.tags.setMany(stream(entries))
      expect(await tagNamesIn(store)).to.have.length(500)
      const other = await newPlace().then(place => place.open())
      await other.tags.setMany(store.tags.list({ prefix: 'n1' }))
      const copied = await listed(other.tags.list())
      expect(copied).to.have.length(111)
      expect(copied).to.deep.equal(await listed(store.tags.list({ prefix: 'n1' })))
      const [a, b] = [1, 2].map(i => ({ name: 'same', cid: hash(noise(i)) }))
      await store.tags.setMany([a, b])
      expect(`${(await store.tags.get('same')).cid}`).to.equal(`${toCid(b.cid)}`)
      await store.tags.setMany([])
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('setMany() sets no tag if one of them is wrong', async () => {
      const good = { name: 'a', cid: ROOT }
      for (const [what, bad] of [
        ['name', { name: '', cid: ROOT }], ['format', { name: 'b', cid: ROOT, format: 'x' }],
        ['ttl', { name: 'b', cid: ROOT, ttl: -1 }], ['entries', 5], ['odd', { name: 'b', cid: ROOT, odd: 1 }]
      ]) {
        await expectSlip(what, () => store.tags.setMany([good, bad]))
      }
      for (const bad of [undefined, 5, 'ab', good]) await expectSlip('entries', () => store.tags.setMany(bad))
      expect(await tagNamesIn(store)).to.deep.equal([])
    })

    it('wrong metadata and wrong times are refused', async () => {
      const deep = n => n === 0 ? [] : [deep(n - 1)]
      for (const meta of [
        Symbol('a'), () => {}, NaN, new Date(), { a: undefined }, 2n ** 70n, 'x'.repeat(4096), deep(65), deep(5000)
      ]) {
        await expectSlip('meta', () => store.tags.set('a', ROOT, { meta }))
      }
      for (const ttl of [-1, 0.5, '5', null, Infinity]) {
        await expectSlip('ttl', () => store.tags.set('a', ROOT, { ttl }))
      }
      for (const expires of [5, '2020', new Date(NaN), null]) {
        await expectSlip('expires', () => store.tags.set('a', ROOT, { expires }))
      }
      await expectSlip('expires', () => store.tags.set('a', ROOT, { expires: new Date(), ttl: 5 }))
      const tag = store.tempTag()
      for (const lasting of [{ ttl: 5 }, { meta: 1 }, { expires: new Date() }]) {
        const [name] = Object.keys(lasting)
        await expectSlip(name, () => store.put(BYTES, lasting))
        await expectSlip(name, () => store.put(BYTES, { tag, ...lasting }))
      }
      expect(await tagNamesIn(store)).to.deep.equal([])
      expect(await listed(store.list())).to.deep.equal([])
    })
  })

  const newStore = newStores()

  it('a tag that was set by a slow clock does not expire early when the clock is right again', async () => {
    const { place, store: first } = await newStore()
    let store = first
    await store.put(noise(50)) // the store notes the time
    await store.close()
    store = await place.open()
    offset = -100 * HOUR
    await store.put(BYTES, { tag: 'a', ttl: HOUR })
    offset = 0
    expect(await tagNamesIn(store)).to.deep.equal(['a'])
    await store.close()
  })

  describe('damage of one entry', () => {
    const LASTING = { meta: { url: 'x' }, expires: new Date(realNow() + HOUR) }

    for (const where of ['name', 'blob']) {
      it(`by the ${where} is found at every byte, still protects, and is repaired from the other entry`, async () => {
        const { store, index } = await newStore()
        await store.put(BYTES)
        const entry = where === 'name' ? tagEntry(index, 'a') : tagOfBlobEntry(index, ROOT, 'a')
        await store.tags.set('a', ROOT, LASTING)
        const right = await entry.read()
        for (let i = 0; i < right.length; i++) {
          await entry.write(flipped(right, i))
          offset = HOUR / 2 // its time may be wrong, so it must not count as expired
          expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
          expect(await store.has(ROOT)).to.equal(true)
          offset = 0
          const { tags } = await store.fsck({ repair: true })
          expect(tags).to.deep.equal([{ name: 'a', isRestored: true }])
          expect(await entry.read()).to.deep.equal(right)
        }
        expect(await store.tags.get('a')).to.deep.include(LASTING)
      })
    }

    it('a wrong value with a right check counts as damage, and crashes nothing', async () => {
      const { store, index } = await newStore()
      const nested = new Uint8Array(4096).fill(0x81)
      nested[4095] = 0x80
      for (const meta of [
        Uint8Array.of(0xff), Uint8Array.of(0x9b, 0, 0, 0, 1, 0, 0, 0, 0), Uint8Array.of(0x80, 0x80), nested,
        concat([encode(1), encode(2)]), encode('x'.repeat(5000))
      ]) {
        await writeTag(index, { name: 'a', root: ROOT, format: 'raw', meta })
        expect(await errorOf(store.tags.get('a'))).to.include({ code: 'STORE_CORRUPT', tag: 'a' })
        expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
        await store.fsck({ repair: true })
        expect(await store.tags.get('a')).to.equal(undefined)
      }
      await writeTag(index, { name: 'a', root: ROOT, format: 'raw', expires: 2 ** 60 })
      expect(await errorOf(store.tags.get('a'))).to.include({ code: 'STORE_CORRUPT', tag: 'a' })
    })
  })
})
