// Tags of aliases: a tag may name a blob by the CID under which the blockstore has it, and protects its bytes.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { HASHSEQ, RAW, blake3, hash, toCid } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { flipped } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { cidOf } from '../../../support/store/blocks.js'
import { aliasEntry, entriesOf, tagOfBlobEntry, tagEntry } from '../../../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf } from '../../../support/store/stores.js'

const DAG_PB = 0x70
const bytes = noise(3000, 21)
const own = toCid(hash(bytes))
const alias = await cidOf(sha256, bytes)
const second = await cidOf(sha512, bytes)
const other = noise(2000, 22)
const long = noise(100_000, 23)
const RANGE = { start: 0, end: 16_384 }
const otherAlias = await cidOf(sha256, other)

const stringOf = async cid => (await cid)?.toString()
const collect = async store => (await store.gc()).blobs

describe('store: aliases', () => {
  const newStore = newStores()

  it('resolve() gives the BLAKE3 CID of a blob that the blockstore has put under another name', async () => {
    const { store } = await newStore()
    const blocks = asBlockstore(store)
    expect(await store.resolve(alias)).to.equal(undefined)
    expect(await store.resolve(own)).to.equal(undefined)
    await blocks.put(alias, bytes)
    const version0 = CID.createV0(alias.multihash)
    for (const name of [
      alias, alias.toString(), alias.bytes, CID.createV1(DAG_PB, alias.multihash), version0, version0.toString(),
      own, own.toString(), hash(bytes)
    ]) {
      expect(await stringOf(store.resolve(name)), `${name}`).to.equal(own.toString())
    }
    expect(await store.resolve(second)).to.equal(undefined)
    await blocks.put(second, bytes)
    expect(await stringOf(store.resolve(second))).to.equal(own.toString())
    expect(await store.bytes(await store.resolve(alias))).to.deep.equal(bytes)
    await blocks.delete(alias)
    expect(await store.resolve(alias)).to.equal(undefined)
    await blocks.delete(second)
    expect(await store.resolve(own)).to.equal(undefined)
  })

  it('resolve() knows blobs that are present in part, and the empty blob', async () => {
    const { store } = await newStore()
    const cid = toCid(hash(long))
    await store.receive(cid, sliceOf(long, RANGE), RANGE)
    expect(await stringOf(store.resolve(cid))).to.equal(cid.toString())
    const empty = toCid(hash(new Uint8Array(0)))
    expect(await stringOf(store.resolve(empty))).to.equal(empty.toString())
  })

  it('resolve() refuses wrong names, and CIDs that hold their bytes themselves', async () => {
    const { store } = await newStore()
    for (const name of ['nonsense', await cidOf(identity, bytes.subarray(0, 9))]) {
      expect(await errorOf(store.resolve(name)), `${name}`).to.include({ code: 'CID_UNSUPPORTED' })
    }
    for (const name of [undefined, null, 5, {}]) expect(await errorOf(store.resolve(name))).to.be.instanceOf(TypeError)
  })

  it('resolve() reports a damaged alias, and putting the block again repairs it', async () => {
    const { store, index } = await newStore()
    const blocks = asBlockstore(store)
    await blocks.put(alias, bytes)
    const entry = aliasEntry(index, alias.multihash.bytes)
    const stored = await entry.read()
    for (const damaged of [flipped(stored, 3), flipped(stored, 32), stored.subarray(0, 40), new Uint8Array(0)]) {
      await entry.write(damaged)
      const error = await errorOf(store.resolve(alias))
      expect(error).to.include({ code: 'STORE_CORRUPT' })
      expect(error.cid.toString()).to.equal(alias.toString())
      expect(await blocks.has(alias)).to.equal(false)
      await blocks.put(alias, bytes)
      expect(await stringOf(store.resolve(alias))).to.equal(own.toString())
    }
  })

  it('no other call takes an alias', async () => {
    const { store } = await newStore()
    await asBlockstore(store).put(alias, bytes)
    for (const call of [
      () => store.has(alias), () => store.stat(alias), () => store.bytes(alias), () => store.delete(alias),
      () => store.tempTag(alias)
    ]) expect(await errorOf(call)).to.include({ code: 'CID_UNSUPPORTED' })
  })
})

describe('store: tags of aliases', () => {
  forEachPlace(newPlace => {
    let place
    let store
    let blocks
    const open = async () => {
      store = await place.open()
      blocks = asBlockstore(store)
    }
    beforeEach(async () => {
      place = await newPlace()
      await open()
    })

    it('set(), get() and list() work with them, and they are there after the store was opened again', async () => {
      const expected = { name: 'a', cid: alias, format: 'raw' }
      for (const cid of [alias, alias.toString(), alias.bytes, CID.createV1(DAG_PB, alias.multihash)]) {
        await store.tags.set('a', cid)
        expect(await store.tags.get('a')).to.deep.equal(expected)
      }
      await store.tags.set('b', own)
      await store.close()
      await open()
      expect(await listed(store.tags.list()))
        .to.deep.equal([expected, { name: 'b', cid: toCid(hash(bytes), RAW), format: 'raw' }])
      expect(await store.tags.delete('a')).to.equal(true)
      expect(await store.tags.get('a')).to.equal(undefined)
      expect(await collect(store)).to.equal(0)
    })

    it('gc() keeps the blob that the alias leads to, and nothing else', async () => {
      await blocks.put(alias, bytes)
      await blocks.put(otherAlias, other)
      await store.tags.set('a', alias)
      expect(await collect(store)).to.equal(1)
      expect(await blocks.has(alias)).to.equal(true)
      expect(await blocks.has(otherAlias)).to.equal(false)
      await store.close()
      await open()
      expect(await collect(store)).to.equal(0)
      await store.tags.delete('a')
      expect(await collect(store)).to.equal(1)
      expect(await store.has(own)).to.equal(false)
    })

    it('gc() keeps a blob that is put after the tag, even if it gets the alias later', async () => {
      await store.tags.set('a', alias)
      expect(await collect(store)).to.equal(0)
      await blocks.put(alias, bytes)
      expect(await collect(store)).to.equal(0)
      await store.tags.set('b', otherAlias)
      const { cid } = await store.put(other)
      await blocks.put(otherAlias, other)
      expect(await collect(store)).to.equal(0)
      expect(await store.has(cid)).to.equal(true)
      await store.tags.delete('b')
      expect(await collect(store)).to.equal(1)
    })

    it('gc() follows a tag that is renamed, or set to another blob', async () => {
      await blocks.put(alias, bytes)
      await blocks.put(otherAlias, other)
      await store.tags.set('b', own)
      await store.tags.set('a', alias)
      await store.tags.rename('a', 'b')
      expect(await listed(store.tags.list())).to.deep.equal([{ name: 'b', cid: alias, format: 'raw' }])
      expect(await collect(store)).to.equal(1)
      await store.tags.set('b', own)
      expect(await collect(store)).to.equal(0)
      await store.tags.set('b', second)
      expect(await collect(store)).to.equal(1)
    })

    it('a tag keeps the bytes of a name that was deleted from the blockstore', async () => {
      for (const names of [[alias], [alias, second], [own, alias]]) {
        for (const name of names) await blocks.put(name, bytes)
        await store.tags.set('a', alias)
        for (const name of names) await blocks.delete(name)
        for (const name of names) expect(await blocks.has(name), `${name}`).to.equal(false)
        expect(await listed(blocks.getAll())).to.deep.equal([])
        expect(await collect(store)).to.equal(0)
        expect(await stringOf(store.resolve(alias))).to.equal(own.toString())
        expect(await store.bytes(await store.resolve(alias))).to.deep.equal(bytes)
        await blocks.delete(alias)
        await blocks.put(alias, bytes)
        expect(await blocks.has(alias), 'put again').to.equal(true)
        await blocks.delete(alias)
        await store.tags.delete('a')
        expect(await collect(store)).to.equal(1)
        expect(await store.resolve(alias)).to.equal(undefined)
      }
    })

    it('a forgotten alias keeps no blob without its tag', async () => {
      await blocks.put(alias, bytes)
      await blocks.put(second, bytes)
      await store.tags.set('a', alias)
      await blocks.delete(alias)
      await store.tags.delete('a')
      expect(await blocks.has(second)).to.equal(true)
      await blocks.delete(second)
      expect(await store.has(own), 'its last name is gone').to.equal(false)
      expect(await store.resolve(alias)).to.equal(undefined)
    })

    it('delete() refuses the blob, and names the tag', async () => {
      await blocks.put(alias, bytes)
      await store.tags.set('a', alias)
      expect(await errorOf(store.delete(own))).to.include({ code: 'STORE_TAGGED', tag: 'a' })
      expect(await store.delete(own, { force: true })).to.include({ blobs: 1 })
      expect(await store.resolve(alias)).to.equal(undefined)
      await blocks.put(alias, bytes)
      expect(await collect(store), 'the tag is still there').to.equal(0)
    })
  })

  const newStore = newStores()

  it('set() refuses the format of sequences, and a CID that holds its bytes itself', async () => {
    const { store } = await newStore()
    for (const [cid, options] of [[alias, { format: 'hashseq' }], [CID.createV1(HASHSEQ, alias.multihash)]]) {
      expect(await errorOf(store.tags.set('a', cid, options))).to.be.instanceOf(TypeError)
    }
    await store.tags.set('a', CID.createV1(HASHSEQ, alias.multihash), { format: 'raw' })
    const inline = await cidOf(identity, bytes.subarray(0, 9))
    expect(await errorOf(store.tags.set('a', inline))).to.include({ code: 'CID_UNSUPPORTED' })
    const short = CID.createV1(RAW, Digest.create(blake3.code, new Uint8Array(20)))
    expect(await errorOf(store.tags.set('a', short))).to.include({ code: 'CID_UNSUPPORTED' })
  })

  it('a quota evicts none of their blobs', async () => {
    const { store } = await newStore({ quota: 6000 })
    const blocks = asBlockstore(store)
    await blocks.put(alias, bytes)
    await store.tags.set('a', alias)
    for (let seed = 30; seed < 40; seed++) await store.put(noise(2900, seed))
    expect(await blocks.has(alias)).to.equal(true)
    await store.tags.delete('a')
    for (let seed = 40; seed < 43; seed++) await store.put(noise(2900, seed))
    expect(await blocks.has(alias)).to.equal(false)
  })

  it('gc() refuses to delete anything when a tagged alias is damaged', async () => {
    const { store, index } = await newStore()
    const blocks = asBlockstore(store)
    await blocks.put(alias, bytes)
    await blocks.put(otherAlias, other)
    await store.tags.set('a', alias)
    const entry = aliasEntry(index, alias.multihash.bytes)
    await entry.write(flipped(await entry.read(), 7))
    expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
    expect(await store.has(own)).to.equal(true)
    await blocks.put(alias, bytes)
    expect(await collect(store)).to.equal(1)
    expect(await store.has(own)).to.equal(true)
  })

  for (const [how, find] of [
    ['fsck()', store => store.fsck({ repair: true })], ['a read', (store, cid) => errorOf(store.bytes(cid, RANGE))]
  ]) {
    it(`a blob of unproven size that has lost all bytes keeps its aliases when ${how} finds that`, async () => {
      const { store, data } = await newStore()
      const name = await cidOf(sha256, long)
      const cid = toCid(hash(long))
      await asBlockstore(store).put(name, long)
      await store.tags.set('a', name)
      for (const { del } of await entriesOf(data)) await del()
      await store.fsck({ repair: true })
      await store.receive(cid, sliceOf(long, RANGE), RANGE)
      for (const { value, put } of await entriesOf(data)) await put(flipped(value, 0))
      await find(store, cid)
      expect(await store.stat(cid)).to.include({ complete: false, sizeProven: false })
      expect(await stringOf(store.resolve(name))).to.equal(cid.toString())
      await store.receive(cid, sliceOf(long))
      expect(await collect(store), 'the tag still protects it').to.equal(0)
      expect(await store.has(cid)).to.equal(true)
      expect(await store.fsck({ repair: true }).then(() => store.fsck())).to.include({ isSound: true })
    })
  }

  it('fsck() restores one of its two entries from the other', async () => {
    const { store, index } = await newStore()
    await asBlockstore(store).put(alias, bytes)
    await store.tags.set('a', alias)
    expect(await store.fsck()).to.include({ isSound: true })
    const named = tagEntry(index, 'a')
    const stored = await named.read()
    const beside = tagOfBlobEntry(index, stored.subarray(0, 32), 'a')
    expect(await beside.read(), 'the entry in the order of the blobs').to.not.equal(undefined)
    const spoilt = [
      () => named.write(flipped(stored, 40)), () => named.remove(), () => beside.remove(),
      async () => beside.write(flipped(await beside.read(), 5))
    ]
    for (const spoil of spoilt) {
      await spoil()
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      const report = await store.fsck({ repair: true })
      expect(report.tags).to.deep.equal([{ name: 'a', isRestored: true }])
      expect(await store.tags.get('a')).to.deep.equal({ name: 'a', cid: alias, format: 'raw' })
      expect(await collect(store)).to.equal(0)
    }
  })
})
