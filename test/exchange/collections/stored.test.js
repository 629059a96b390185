// Collections are put into stores, protect their members, and are read as a whole or entry by entry.
import { expect } from 'chai'
import { fromCid, hash, toCid } from '../../../lib/index.js'
import { Collection, collectionEntries, getCollection, putCollection } from
  '../../../exchange/collections/index.js'
import { hex } from '../../support/bytes.js'
import { errorOf, listed } from '../../support/feeding.js'
import { input, noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { newStores, sliceOf } from '../../support/store/stores.js'
import { irohVectors } from '../../support/vectors.js'

const { collection: vector } = irohVectors
const shown = entries => [...entries].map(([name, cid]) => [name, cid.toString()])
/** More entries than are kept in memory: neither their hashes nor their names fit into 1 MiB. */
const MANY = 33_000
const entriesOfMany = []
function * many () {
  for (let i = entriesOfMany.length; i < MANY; i++) {
    entriesOfMany.push([`the folder of many files/file number ${i}`, hash(new TextEncoder().encode(String(i)))])
  }
  yield * entriesOfMany
}

describe('collections in a store', () => {
  const newStore = newStores()

  it('have the CID that iroh gives them', async () => {
    const { store } = await newStore()
    const entries = irohVectors.blobs.map(({ input: name, hash }, i) => [vector.names[i], hash, input(name)])
    const { cid, length, isNew } = await putCollection(store, entries)
    expect(hex(fromCid(cid))).to.equal(vector.root_hash)
    expect({ length, isNew }).to.deep.equal({ length: 11, isNew: true })
    expect(cid.code).to.equal(0x80)
    expect(hex(await store.bytes(cid))).to.equal(vector.root_hex)
    expect(hex(await store.bytes(vector.meta_hash))).to.equal(vector.meta_hex)
  })

  it('are read as they were put, whole and entry by entry', async () => {
    const { store } = await newStore()
    const collection = Collection.from(vector.names.map((name, i) => [name, vector.hashes[i]]))
    const { cid } = await putCollection(store, collection)
    expect(cid.toString()).to.equal(collection.cid.toString())
    expect(shown(await getCollection(store, cid))).to.deep.equal(shown(collection))
    expect(shown(await listed(collectionEntries(store, String(cid))))).to.deep.equal(shown(collection))
    expect(await putCollection(store, collection)).to.deep.equal({ cid, length: 11, isNew: false })
  })

  it('may be empty', async () => {
    const { store } = await newStore()
    const { cid, length } = await putCollection(store, [])
    expect(length).to.equal(0)
    expect(hex(fromCid(cid))).to.equal(irohVectors.empty_collection.root_hash)
    expect(await listed(collectionEntries(store, cid))).to.deep.equal([])
    expect(await getCollection(store, cid)).to.have.length(0)
  })

  it('may have more entries than are kept in memory, and leave only their two blobs', async () => {
    const { store } = await newStore()
    async function * slowly () { yield * many() }
    const expected = Collection.from(many())
    const { cid, length } = await putCollection(store, slowly())
    expect(length).to.equal(MANY)
    expect(cid.toString()).to.equal(expected.cid.toString())
    expect((await store.info()).blobs).to.equal(2)
    const entries = await listed(collectionEntries(store, cid))
    expect(Collection.from(entries).cid.toString()).to.equal(expected.cid.toString())
    expect(await getCollection(store, cid)).to.have.length(MANY)
  })

  it('leave nothing when their entries fail', async () => {
    const { store } = await newStore()
    function * failing () {
      yield * many()
      throw new Error('no more')
    }
    expect((await errorOf(putCollection(store, failing()))).message).to.equal('no more')
    expect((await store.info()).blobs).to.equal(0)
    const controller = new AbortController()
    async function * aborting () {
      yield * many()
      controller.abort(new Error('enough'))
      yield ['one more', hash(noise(1))]
    }
    const aborted = putCollection(store, aborting(), { signal: controller.signal })
    expect((await errorOf(aborted)).message).to.equal('enough')
    expect((await store.info()).blobs).to.equal(0)
  })

  it('may be put at the same time, the same one or another one', async () => {
    const { store } = await newStore()
    function * others () { for (const [name, hash] of many()) yield [`${name}, another one`, hash] }
    const expected = [many, others, many].map(entries => `${Collection.from(entries()).cid}`)
    // While one call writes a part to the store, the others go on.
    const { put } = store
    store.put = async (...args) => {
      await new Promise(resolve => setTimeout(resolve))
      return put.apply(store, args)
    }
    const results = await Promise.all([many, others, many].map(entries => putCollection(store, entries())))
    expect(results.map(({ cid }) => `${cid}`)).to.deep.equal(expected)
    expect(await getCollection(store, results[0].cid)).to.have.length(MANY)
  })

  it('protect their members and their names by a tag', async () => {
    const { store } = await newStore()
    const members = await listed(store.putMany([1, 2, 3].map(seed => noise(100, seed))))
    const stranger = await store.put(noise(100, 4))
    const { cid } = await putCollection(store, members.map(({ cid }, i) => [`${i}`, cid]), { tag: 'all', meta: 'ours' })
    expect(await store.tags.get('all')).to.deep.include({ format: 'hashseq', meta: 'ours' })
    expect(await store.gc()).to.deep.include({ blobs: 1 })
    expect(await store.has(stranger.cid)).to.equal(false)
    for (const member of members) expect(await store.has(member.cid)).to.equal(true)
    expect(await getCollection(store, cid)).to.have.length(3)
    await store.tags.delete('all')
    expect(await store.gc()).to.deep.include({ blobs: 5 })
  })

  it('are protected by a temporary tag, too', async () => {
    const { store } = await newStore()
    const { cid: member } = await store.put(noise(100))
    const tag = store.tempTag()
    const { cid } = await putCollection(store, [['a', member]], { tag })
    expect(await store.gc()).to.deep.include({ blobs: 0 })
    expect(await getCollection(store, cid)).to.have.length(1)
    tag.release()
    expect(await store.gc()).to.deep.include({ blobs: 3 })
  })

  describe('are refused', () => {
    it('when the blob is no collection', async () => {
      const { store } = await newStore()
      for (const bytes of [noise(100), noise(64), new Uint8Array(0)]) {
        const { cid } = await store.put(bytes)
        const code = bytes.length === 64 ? 'STORE_NOT_FOUND' : 'COLLECTION_INVALID'
        for (const read of [getCollection(store, cid), listed(collectionEntries(store, cid))]) {
          const error = await errorOf(read)
          expect(error).to.include({ code })
          if (bytes.length === 64) expect(error.message).to.match(/^\w+ is not a collection, or its names are not /)
        }
      }
      const meta = await store.put(noise(50))
      const { cid } = await store.put(fromCid(meta.cid))
      expect(await errorOf(getCollection(store, cid))).to.include({ code: 'COLLECTION_INVALID', start: 0 })
      expect(await errorOf(listed(collectionEntries(store, cid)))).to.include({ code: 'COLLECTION_INVALID', start: 0 })
    })

    it('when they are longer than the caller allows', async () => {
      const { store } = await newStore()
      const { cid } = await putCollection(store, [['name', hash(noise(1))]])
      expect(await getCollection(store, cid, { maxBytes: 64 + 19 })).to.have.length(1)
      for (const maxBytes of [0, 63, 64, 82]) {
        expect(await errorOf(getCollection(store, cid, { maxBytes }))).to.include({ code: 'COLLECTION_TOO_LONG' })
      }
    })

    it('when the store lacks one of their blobs, or a part of it', async () => {
      const { store } = await newStore()
      const collection = Collection.from(many())
      const { sequence, meta } = collection.toBytes()
      const codesOf = async () => [
        (await errorOf(getCollection(store, collection.cid))).code,
        (await errorOf(listed(collectionEntries(store, collection.cid)))).code
      ]
      expect(await codesOf()).to.deep.equal(['STORE_NOT_FOUND', 'STORE_NOT_FOUND'])
      const range = { start: 0, end: 16_384 }
      await store.receive(collection.cid, sliceOf(sequence, range), range)
      expect(await codesOf()).to.deep.equal(['STORE_MISSING', 'STORE_MISSING'])
      await store.put(sequence)
      expect(await codesOf()).to.deep.equal(['STORE_NOT_FOUND', 'STORE_NOT_FOUND'])
      await store.receive(toCid(hash(meta)), sliceOf(meta, range), range)
      expect(await codesOf()).to.deep.equal(['STORE_MISSING', 'STORE_MISSING'])
      await store.put(meta)
      expect(await getCollection(store, collection.cid)).to.have.length(MANY)
    })

    it('when arguments are wrong', async () => {
      const { store } = await newStore()
      const root = hash(noise(1))
      await expectSlip('store', () => putCollection({}, []))
      await expectSlip('store', () => getCollection(undefined, root))
      await expectSlip('entries', () => putCollection(store, 'ab'))
      await expectSlip('odd', () => putCollection(store, [], { odd: 1 }))
      await expectSlip('odd', () => getCollection(store, root, { odd: 1 }))
      await expectSlip('odd', () => listed(collectionEntries(store, root, { odd: 1 })))
      await expectSlip('cid', () => getCollection(store, 5))
      await expectSlip('maxBytes', () => getCollection(store, root, { maxBytes: -1 }))
      expect((await store.info()).blobs).to.equal(0)
    })
  })
})
