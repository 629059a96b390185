// A blockstore whose aliases and bytes are damaged, or cut off by a crash.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { RAW, blake3, hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { flipped, same } from '../../support/bytes.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { cidOf, namesIn, newBlockstores } from '../../support/store/blocks.js'
import {
  aliasEntry, aliasKeysIn, damageRecord, entriesOf, idsIn, recordsIn, writeAlias
} from '../../support/store/inspect.js'
import { expectNoOrphans, inMemory, newStores } from '../../support/store/stores.js'

describe('store: damaged blockstore', () => {
  const newStore = newStores()
  const newBlocks = newBlockstores()
  const bytes = noise(40_000, 91)

  it('get() fails with an error that says where bytes are damaged', async () => {
    const { blocks, data } = await newBlocks()
    const cid = await cidOf(sha256, bytes)
    await blocks.put(cid, bytes)
    const [extent] = (await entriesOf(data)).filter(({ offset }) => offset === 0)
    await extent.put(flipped(extent.value, 20_000))
    const pieces = blocks.get(cid)
    const error = await errorOf(pieces.next())
    expect(error).to.include({ code: 'STORE_CORRUPT', start: 16384, len: 16384 })
  })

  it('a damaged alias gives no wrong bytes, and put() repairs it', async () => {
    const other = noise(30_000, 93)
    const { blocks, store, index } = await newBlocks()
    const cid = await cidOf(sha256, bytes)
    await store.put(other)
    const entry = aliasEntry(index, cid.multihash.bytes)
    await blocks.put(cid, bytes)
    const right = await entry.read()
    await writeAlias(index, hash(other), cid.multihash.bytes)
    const misled = await entry.read()
    const notFound = { code: 'STORE_NOT_FOUND', name: 'NotFoundError' }
    for (const [value, expected] of [
      [misled, { code: 'STORE_CORRUPT', cid }],
      ...[
        flipped(right, 5), flipped(right, 32), right.subarray(0, 40), hash(other), hash(other).subarray(1),
        new Uint8Array(0)
      ].map(value => [value, notFound])
    ]) {
      await blocks.put(cid, bytes)
      await entry.write(value)
      expect(await errorOf(collect(blocks.get(cid)))).to.include(expected)
      const [{ bytes: pieces }] = await listed(blocks.getMany([cid]))
      expect(await errorOf(collect(pieces))).to.include(expected)
      await blocks.put(cid, bytes)
      expect(same(await collect(blocks.get(cid)), bytes), 'putting it again mends it').to.equal(true)
      await entry.write(value)
      await blocks.delete(cid)
      expect(same(await store.bytes(hash(other)), other), 'another blob is not harmed').to.equal(true)
    }
  })

  it('get() and has() of a damaged record fail, and do not say that the block is missing', async () => {
    const { blocks, index } = await newBlocks()
    for (const hasher of [blake3, sha256]) {
      const cid = await cidOf(hasher, bytes)
      await blocks.put(cid, bytes)
      await damageRecord(index, hash(bytes))
      for (const call of [collect(blocks.get(cid)), blocks.has(cid)]) {
        expect(await errorOf(call)).to.include({ code: 'STORE_CORRUPT' })
      }
    }
  })

  it('a damaged key hides no other name from getAll()', async () => {
    const { blocks, index } = await newBlocks()
    const cid = await cidOf(sha256, bytes)
    await blocks.put(cid, bytes)
    for (const multihash of [new Uint8Array(0), new Uint8Array(40).fill(0xff), Uint8Array.of(0x12)]) {
      await writeAlias(index, hash(bytes), multihash)
    }
    expect(await namesIn(blocks)).to.deep.equal([cid.toString()])
  })

  it('the name of another blob as an alias gives no wrong bytes', async () => {
    const { blocks, store, index } = await newBlocks()
    await store.put(bytes)
    for (const multihash of [(await blake3.digest(noise(10, 94))).bytes, Uint8Array.of(0, 1, 7)]) {
      await writeAlias(index, hash(bytes), multihash)
    }
    expect(await namesIn(blocks)).to.deep.equal([(await cidOf(blake3, bytes)).toString()])
    expect(await store.aliases.of(hash(bytes))).to.deep.equal([])
  })

  it('get() of a store with verify: false does not look for damage', async () => {
    const { place, store, data } = await newStore()
    const cid = await cidOf(sha256, bytes)
    await asBlockstore(store).put(cid, bytes)
    const [extent] = await entriesOf(data)
    await extent.put(flipped(extent.value, 20_000))
    await store.close()
    const blocks = asBlockstore(await place.open({ verify: false }))
    expect(same(await collect(blocks.get(cid)), flipped(bytes, 20_000))).to.equal(true)
  })

  describe('a crash', () => {
    const CIDS = Promise.all([sha256, blake3, sha512].map(hasher => cidOf(hasher, bytes)))
    const JOBS = {
      'while the first name is put': { before: [], job: async (blocks, [a]) => blocks.put(a, bytes) },
      'while a second name is put': { before: [0], job: async (blocks, cids) => blocks.put(cids[2], bytes) },
      'while the own name is put': { before: [0], job: async (blocks, cids) => blocks.put(cids[1], bytes) },
      'while two names are put together': {
        before: [],
        job: async (blocks, cids) => listed(blocks.putMany([0, 2].map(i => ({ cid: cids[i], bytes }))))
      },
      'while all names are put together': {
        before: [],
        job: async (blocks, cids) => listed(blocks.putMany(cids.map(cid => ({ cid, bytes }))))
      },
      'while one of two names is deleted': { before: [0, 2], job: async (blocks, cids) => blocks.delete(cids[0]) },
      'while the own name is deleted': { before: [1, 2], job: async (blocks, cids) => blocks.delete(cids[1]) },
      'while the last name is deleted': { before: [2], job: async (blocks, cids) => blocks.delete(cids[2]) },
      'while a blob with two names is deleted': {
        before: [0, 2],
        job: async (blocks, cids, store) => store.delete(hash(bytes))
      }
    }

    for (const [what, { before, job }] of Object.entries(JOBS)) {
      it(`a crash ${what} leaves the names as they were before, or as they should be after`, async () => {
        const cids = await CIDS
        const seen = new Set()
        let isDone = false
        for (let writes = 0; !isDone; writes++) {
          const place = await inMemory()
          const store = await BlobStore.open(place.where) // and never closed
          const blocks = asBlockstore(store)
          for (const i of before) await blocks.put(cids[i], bytes)
          const revive = dieAfter(writes, place.where.index, place.where.data)
          isDone = await errorOf(job(blocks, cids, store)) === undefined
          revive()

          // As a new process finds the store, which was not closed.
          const again = await place.open()
          const found = asBlockstore(again)
          const names = await namesIn(found)
          for (const cid of cids) {
            expect(await found.has(cid)).to.equal(names.includes(CID.createV1(RAW, cid.multihash).toString()))
            if (await found.has(cid)) expect(same(await collect(found.get(cid)), bytes)).to.equal(true)
          }
          seen.add(names.join())
          expect(await again.has(hash(bytes)), 'the bytes are there with a name, and only then')
            .to.equal(names.length > 0)
          for (const cid of cids) await found.put(cid, bytes)
          expect(await namesIn(found)).to.deep.equal(cids.map(String).sort())
          for (const cid of cids) await found.delete(cid)
          await again.close()
          await expectNothing(place)
        }
        expect(seen.size, 'before and after, and nothing between').to.equal(2)
      })
    }
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

/** Makes all but the next `writes` writes fail. @returns {() => void} ends that */
function dieAfter (writes, ...databases) {
  let left = writes
  const revivals = databases.flatMap(database => ['put', 'del', 'batch', 'clear'].map(method => {
    const original = database[method]
    database[method] = function (...args) {
      return left-- > 0 ? original.apply(this, args) : Promise.reject(new Error('dead'))
    }
    return () => { database[method] = original }
  }))
  return () => revivals.forEach(revive => revive())
}
