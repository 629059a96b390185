// The store as a blockstore: the suite of interface-blockstore, and the names of a block.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { interfaceBlockstoreTests } from 'interface-blockstore-tests'
import { RAW, blake3, hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { same } from '../../support/bytes.js'
import { collect, errorOf, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { cidOf, toy, namesIn, newBlockstores } from '../../support/store/blocks.js'
import { aliasKeysIn, idsIn, recordsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, sliceOf } from '../../support/store/stores.js'

const DAG_CBOR = 0x71
const DAG_PB = 0x70

describe('store: blockstore', () => {
  forEachPlace(newPlace => {
    const stores = new Map()
    interfaceBlockstoreTests({
      async setup () {
        const store = await newPlace().then(place => place.open())
        const blocks = asBlockstore(store)
        stores.set(blocks, store)
        return blocks
      },
      teardown: blocks => stores.get(blocks).close()
    })

    it('put() keeps blocks of any length under any name, also when the store is opened again', async () => {
      const place = await newPlace()
      let store = await place.open()
      let blocks = asBlockstore(store, { hashers: [toy] })
      for (let life = 0; life < 2; life++) {
        const names = []
        for (const size of [0, 1, 16_385, 300_001]) {
          const bytes = noise(size, 31 + size)
          for (const hasher of [sha256, sha512, blake3, toy]) {
            const cid = await cidOf(hasher, bytes)
            if (size > 0 || hasher !== blake3) names.push(cid.toString())
            expect(await blocks.has(cid), `${size}: ${cid}`).to.equal(life > 0 || (size === 0 && hasher === blake3))
            expect(await blocks.put(cid, size % 2 ? bytes : stream(ragged(bytes, 3)))).to.equal(cid)
            expect(await blocks.has(cid)).to.equal(true)
            expect(same(await collect(blocks.get(cid)), bytes), `${size}: ${cid}`).to.equal(true)
          }
        }
        expect(await namesIn(blocks)).to.deep.equal(names.sort())
        await store.close()
        store = await place.open()
        blocks = asBlockstore(store, { hashers: [toy] })
        expect(await namesIn(blocks)).to.deep.equal(names)
      }
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data), 'each content once').to.have.length(3))
    })
  })

  const newBlocks = newBlockstores()
  const bytes = noise(40_000, 91)

  it('every call uses the multihash only, whatever the codec and version of the CID', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha256, bytes, DAG_PB)
    await blocks.put(cid, bytes)
    for (const name of [
      CID.createV1(RAW, cid.multihash), CID.createV1(DAG_CBOR, cid.multihash),
      CID.createV0(cid.multihash)
    ]) {
      expect(await blocks.has(name)).to.equal(true)
      expect(same(await collect(blocks.get(name)), bytes)).to.equal(true)
    }
    await blocks.delete(CID.createV0(cid.multihash))
    expect(await blocks.has(cid)).to.equal(false)
  })

  it('delete() removes one name, and the bytes with the last name', async () => {
    const hashers = [sha256, sha512, blake3, toy]
    for (const order of [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]]) {
      const { store, blocks, place } = await newBlocks({ hashers: [toy] })
      const cids = await Promise.all(hashers.map(hasher => cidOf(hasher, bytes)))
      for (const i of [...order].reverse()) await blocks.put(cids[i], bytes)
      const left = new Set(cids)
      for (const i of order) {
        await blocks.delete(cids[i])
        left.delete(cids[i])
        for (const cid of cids) {
          expect(await blocks.has(cid)).to.equal(left.has(cid))
          if (left.has(cid)) expect(same(await collect(blocks.get(cid)), bytes)).to.equal(true)
          else {
            expect(await errorOf(collect(blocks.get(cid)))).to.include(
              { name: 'NotFoundError', code: 'STORE_NOT_FOUND', cid }
            )
          }
        }
        expect(await namesIn(blocks)).to.deep.equal([...left].map(String).sort())
        expect(await store.has(hash(bytes))).to.equal(left.size > 0)
      }
      await store.close()
      await expectNothing(place)
    }
  })

  it('delete() of the last name leaves the bytes of a tagged blob', async () => {
    for (const [first, second] of [[sha256, blake3], [blake3, sha256]]) {
      for (const keep of [store => store.tags.set('a', hash(bytes)), store => store.tempTag(hash(bytes))]) {
        const { store, blocks, place } = await newBlocks()
        const cids = [await cidOf(first, bytes), await cidOf(second, bytes)]
        for (const cid of cids) await blocks.put(cid, bytes)
        const tag = await keep(store)
        for (const cid of cids) {
          await blocks.delete(cid)
          expect(await blocks.has(cid)).to.equal(false)
        }
        expect(await namesIn(blocks)).to.deep.equal([])
        await store.gc()
        expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
        await blocks.put(cids[0], bytes)
        expect(await namesIn(blocks)).to.deep.equal([String(cids[0])])
        await blocks.delete(cids[0])
        tag?.release()
        await store.tags.delete('a')
        expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: bytes.length })
        await store.close()
        await expectNothing(place)
      }
    }
  })

  it('a blob that is collected or evicted loses its names', async () => {
    const { store, blocks, place } = await newBlocks()
    for (const hasher of [sha256, sha512]) await blocks.put(await cidOf(hasher, bytes), bytes)
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: bytes.length })
    expect(await namesIn(blocks)).to.deep.equal([])
    await store.close()
    await expectNothing(place)
  })

  it('delete() of a missing block does nothing', async () => {
    const { blocks } = await newBlocks()
    for (const hasher of [sha256, blake3, identity, toy]) await blocks.delete(await cidOf(hasher, bytes))
  })

  it('delete() of aliases leaves a blob that was put into the store itself, or received', async () => {
    const cid = await cidOf(sha256, bytes)
    const ways = [store => store.put(bytes), store => store.receive(hash(bytes), sliceOf(bytes))]
    for (const keep of ways) {
      for (const isFirst of [true, false]) {
        const { store, blocks } = await newBlocks()
        if (isFirst) await keep(store)
        await blocks.put(cid, bytes)
        expect(await blocks.has(toCid(hash(bytes)))).to.equal(isFirst)
        if (!isFirst) await keep(store)
        expect(await blocks.has(toCid(hash(bytes)))).to.equal(true)
        await blocks.delete(cid)
        expect(await blocks.has(cid)).to.equal(false)
        expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      }
    }
  })

  it('delete() of an alias leaves a blob that was completed by receive()', async () => {
    const { store, blocks } = await newBlocks()
    const part = { start: 0, end: 16384 }
    await store.receive(hash(bytes), sliceOf(bytes, part), part)
    const [own, cid] = [toCid(hash(bytes)), await cidOf(sha256, bytes)]
    expect(await blocks.has(own), 'a part is no block').to.equal(false)
    expect(await errorOf(collect(blocks.get(own)))).to.include({ name: 'NotFoundError' })
    expect(await namesIn(blocks)).to.deep.equal([])
    await blocks.put(cid, bytes)
    await blocks.delete(cid)
    expect(await store.has(own)).to.equal(true)
  })

  it('store.delete() removes all names of a blob', async () => {
    const { store, blocks, place } = await newBlocks()
    const cids = await Promise.all([sha256, sha512].map(hasher => cidOf(hasher, bytes)))
    for (const cid of cids) await blocks.put(cid, bytes)
    await store.delete(hash(bytes))
    for (const cid of cids) expect(await blocks.has(cid)).to.equal(false)
    await store.put(bytes)
    for (const cid of cids) expect(await blocks.has(cid), 'they were not asked for again').to.equal(false)
    await store.delete(hash(bytes))
    await store.close()
    await expectNothing(place)
  })

  it('has() and get() work for identity CIDs, which are not kept', async () => {
    const { store, blocks, place } = await newBlocks()
    const cid = await cidOf(identity, Uint8Array.of(1, 2, 3))
    expect(await blocks.has(cid)).to.equal(true)
    expect(await blocks.put(cid, Uint8Array.of(1, 2, 3))).to.equal(cid)
    expect(await collect(blocks.get(cid))).to.deep.equal(Uint8Array.of(1, 2, 3))
    expect(await namesIn(blocks)).to.deep.equal([])
    await store.close()
    await expectNothing(place)
  })
})

/** Neither data nor a record nor a name is left. */
async function expectNothing (place) {
  await expectNoOrphans(place)
  await place.look(async ({ index, data }) => {
    expect(await idsIn(data)).to.deep.equal([])
    expect(await recordsIn(index)).to.deep.equal([])
    expect(await aliasKeysIn(index)).to.deep.equal([])
  })
}
