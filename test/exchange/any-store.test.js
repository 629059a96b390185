// Everything in `exchange` works with any object that has the calls of a store: here a plain one that passes them on.
import { expect } from 'chai'
import { sha256 } from 'multiformats/hashes/sha2'
import { ChunkRanges, hash, toCid } from '../../lib/index.js'
import { asBlockstore } from '../../exchange/blockstore/index.js'
import {
  Collection, Manifest, collectionEntries, getCollection, getManifest, putCollection, putManifest
} from '../../exchange/collections/index.js'
import { copy, exportCar, importCar } from '../../exchange/transfer/index.js'
import { concat, flipped, same } from '../support/bytes.js'
import { GROUP, MIB } from '../support/constants.js'
import { collect, errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { cidOf } from '../support/store/blocks.js'
import { plainStore } from '../support/store/plain-store.js'
import { newStores, sliceOf } from '../support/store/stores.js'

const SMALL = [1, 300, GROUP + 1, 70_000].map((size, i) => noise(size, 900 + i))
const LONG = noise(MIB + 5000, 910)
const PART = noise(30 * GROUP, 911)
const PRESENT = ChunkRanges.fromBytes(0, 20 * GROUP)
const own = bytes => toCid(hash(bytes))

describe('a store that is a plain object', () => {
  const newStore = newStores()
  const newPlain = async () => {
    const { store } = await newStore()
    return { store, ...plainStore(store) }
  }

  /** Small and long blobs, one in part, one under an alias only, and tags. */
  async function fill (store) {
    await listed(store.putMany([...SMALL, LONG]))
    await store.receive(hash(PART), sliceOf(PART, PRESENT), PRESENT)
    await asBlockstore(store).put(await cidOf(sha256, SMALL[2]), SMALL[2])
    await store.put(concat([hash(SMALL[0]), hash(LONG)]), { tag: 'all', format: 'hashseq', meta: { by: 'us' } })
    await store.tags.set('alias', await cidOf(sha256, SMALL[2]))
  }

  async function expectFilled (store) {
    for (const bytes of [...SMALL, LONG]) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    const { present } = await store.stat(hash(PART))
    expect(present.boundaries).to.deep.equal(PRESENT.boundaries)
    expect(await asBlockstore(store).has(await cidOf(sha256, SMALL[2]))).to.equal(true)
    expect(await store.tags.get('all')).to.deep.include({ format: 'hashseq', meta: { by: 'us' } })
    expect((await store.tags.get('alias')).cid.multihash.code).to.equal(sha256.code)
    expect(await store.fsck()).to.include({ isSound: true })
  }

  it('is a blockstore', async () => {
    const { plain } = await newPlain()
    const blocks = asBlockstore(plain)
    const pairs = await Promise.all([...SMALL, LONG].map(async (bytes, i) =>
      ({ cid: i % 2 ? own(bytes) : await cidOf(sha256, bytes), bytes })))
    expect(await listed(blocks.putMany(pairs))).to.deep.equal(pairs.map(({ cid }) => cid))
    let at = 0
    for await (const { cid, bytes } of blocks.getMany(pairs.map(({ cid }) => cid))) {
      expect(cid).to.equal(pairs[at].cid)
      expect(same(await collect(bytes), pairs[at++].bytes)).to.equal(true)
    }
    expect(await listed(blocks.getAll())).to.have.length(pairs.length)
    const { cid, bytes } = pairs[0]
    expect(same(await collect(blocks.get(cid)), bytes)).to.equal(true)
    expect(await errorOf(blocks.put(cid, flipped(bytes, 0)))).to.include({ code: 'CID_MISMATCH' })
    await blocks.delete(cid)
    expect(await blocks.has(cid)).to.equal(false)
    await listed(blocks.deleteMany(pairs.slice(1).map(({ cid }) => cid)))
    expect(await listed(blocks.getAll())).to.deep.equal([])
  })

  it('has collections and manifests, also of more names than are kept in memory', async () => {
    const { plain, called } = await newPlain()
    const roots = SMALL.map(bytes => hash(bytes))
    const entries = Array.from({ length: 33_000 }, (_, i) => [`folder/file ${i}`, roots[i % 4]])
    const { cid } = await putCollection(plain, entries, { tag: 'names' })
    expect(called).to.include('delete') // of the blobs in which names waited
    expect(`${cid}`).to.equal(`${Collection.from(entries).cid}`)
    expect((await getCollection(plain, cid)).get('folder/file 5').equals(own(SMALL[1]))).to.equal(true)
    expect(await listed(collectionEntries(plain, cid))).to.have.length(entries.length)
    const manifest = Manifest.from([['/', { src: own(SMALL[1]) }]])
    const put = await putManifest(plain, manifest)
    expect((await getManifest(plain, put.cid)).get('/').src.equals(own(SMALL[1]))).to.equal(true)
  })

  it('can be the source and the target of a copy, whatever the other store is', async () => {
    const { store: from, plain } = await newPlain()
    const [one, other] = [await newPlain(), await newPlain()]
    await fill(from)
    for (const [source, target] of [[plain, one.store], [one.store, other.plain], [other.plain, plain]]) {
      const { failed } = await copy(source, target)
      expect(failed).to.deep.equal([])
      await expectFilled(target)
      expect(await copy(source, target)).to.include({ blobs: 0, bytes: 0, tags: 0 })
    }
  })

  it('is written as a CAR, and read from one', async () => {
    const { store, plain } = await newPlain()
    const other = await newPlain()
    await fill(store)
    const car = await collect(exportCar(plain))
    const { roots, blocks } = await importCar(other.plain, car, { tagRoot: (_, i) => `root ${i}` })
    expect(roots.map(String)).to.have.members(
      [await cidOf(sha256, SMALL[2]), toCid(hash(concat([hash(SMALL[0]), hash(LONG)])))].map(String)
    )
    expect(blocks).to.equal(SMALL.length + 3)
    for (const bytes of [...SMALL, LONG]) expect(same(await other.store.bytes(hash(bytes)), bytes)).to.equal(true)
    expect(await listed(other.store.tags.list())).to.have.length(2)
  })

  it('is refused when it lacks a call', async () => {
    const { plain } = await newPlain()
    const { store } = await newStore()
    const { statMany, ...lacking } = plain
    expect(statMany).to.be.a('function')
    for (const call of [
      () => asBlockstore(lacking), () => putCollection(lacking, []), () => getCollection(lacking, hash(LONG)),
      () => collectionEntries(lacking, hash(LONG)), () => copy(lacking, store), () => copy(store, lacking),
      () => exportCar(lacking), () => importCar(lacking, LONG)
    ]) expect(await errorOf(call), `${call}`).to.be.instanceOf(TypeError).and.have.property('message').match(/a store/)
  })
})
