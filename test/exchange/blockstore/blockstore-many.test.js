// putMany(), getMany() and deleteMany() of a blockstore.
import { expect } from 'chai'
import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { blake3, hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { flipped, same } from '../../support/bytes.js'
import { collect, errorOf, listed, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { cidOf, toy, namesIn, newBlockstores } from '../../support/store/blocks.js'
import { aliasKeysIn, idsIn, recordsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, newStores } from '../../support/store/stores.js'

describe('store: blockstore, many blocks', () => {
  const newStore = newStores()
  const newBlocks = newBlockstores()
  const bytes = noise(40_000, 91)

  const hashers = [sha256, blake3, sha512, identity]

  it('putMany() keeps blocks of any length in their order, under all their names', async () => {
    const { store, blocks, place, data } = await newBlocks()
    const contents = [
      noise(100, 1), noise(2_000_000, 2), noise(20_000, 3), noise(100, 1), new Uint8Array(0),
      noise(70_000, 4)
    ]
    const pairs = []
    for (const [i, content] of contents.entries()) {
      for (const hasher of content.length > 100 ? hashers.slice(0, 3) : hashers) {
        pairs.push({ cid: await cidOf(hasher, content), bytes: i % 2 ? content : stream(ragged(content, 4)), content })
      }
    }
    const { batch } = data
    let batches = 0
    data.batch = function (...args) { batches++; return batch.apply(this, args) }
    expect(await listed(blocks.putMany(stream(pairs)))).to.deep.equal(pairs.map(({ cid }) => cid))
    expect(batches).to.be.lessThan(pairs.length)
    for (const { cid, content } of pairs) expect(same(await collect(blocks.get(cid)), content), `${cid}`).to.equal(true)
    const isListed = ({ cid, content }) =>
      cid.multihash.code !== identity.code && (content.length > 0 || cid.multihash.code !== blake3.code)
    const names = new Set(pairs.filter(isListed).map(({ cid }) => cid.toString()))
    expect(await namesIn(blocks)).to.deep.equal([...names].sort())
    await listed(blocks.putMany(pairs.map(({ cid, content }) => ({ cid, bytes: content }))))
    expect(await namesIn(blocks), 'again').to.deep.equal([...names].sort())
    await listed(blocks.deleteMany(pairs.map(({ cid }) => cid)))
    await store.close()
    await expectNothing(place)
  })

  it('getMany() reads blocks in batches and in their order, and reports missing ones when they are read', async () => {
    const { store, blocks, index, data } = await newBlocks()
    const wanted = []
    for (let i = 0; i < 200; i++) {
      const content = noise([100, 20_000, 70_000, 1][i % 4], 500 + i)
      const cid = await cidOf(hashers[i % 4 === 3 ? 3 : i % 3], content)
      if (i % 10 !== 9) await blocks.put(cid, content)
      wanted.push({ cid, content: i % 10 !== 9 || i % 4 === 3 ? content : undefined })
    }
    const nameless = await cidOf(blake3, wanted[0].content) // it is kept under its alias only
    wanted.push({ cid: nameless, content: undefined }, { cid: 'no CID', content: undefined }, wanted[1], wanted[1])
    let calls = 0
    for (const level of [index, data]) {
      for (const method of ['get', 'getSync', 'getMany']) {
        const original = level[method]
        if (original) level[method] = function (...args) { calls++; return original.apply(this, args) }
      }
    }
    const small = wanted.filter(({ content }) => content?.length <= 20_000).map(({ cid }) => cid)
    expect(await listed(blocks.getMany(small))).to.have.length(small.length)
    expect(calls, 'calls to the databases').to.be.lessThan(small.length / 5)
    const pairs = await listed(blocks.getMany(stream(wanted.map(({ cid }) => cid))))
    expect(pairs.map(({ cid }) => cid)).to.deep.equal(wanted.map(({ cid }) => cid))
    for (const [i, { content }] of wanted.entries()) {
      if (content !== undefined) expect(same(await collect(pairs[i].bytes), content), `block ${i}`).to.equal(true)
      else {
        expect((await errorOf(collect(pairs[i].bytes))).name).to.equal(
          wanted[i].cid === 'no CID' ? 'TypeError' : 'NotFoundError'
        )
      }
    }
    await store.close()
  })

  it('getMany() gives blocks soon when its source pauses', async () => {
    const { blocks } = await newBlocks()
    const cids = []
    for (let i = 0; i < 3; i++) cids.push(await blocks.put(await cidOf(hashers[i], noise(100, i)), noise(100, i)))
    const seen = []
    const asking = (async function * () {
      for (const cid of cids) {
        const before = seen.length
        yield cid
        while (seen.length === before) await new Promise(resolve => setTimeout(resolve, 1))
      }
    })()
    for await (const { cid, bytes } of blocks.getMany(asking)) seen.push([cid, await collect(bytes)])
    expect(seen.map(([cid]) => cid)).to.deep.equal(cids)
  })

  it('putMany() keeps blocks soon when its source pauses', async () => {
    const { blocks } = await newBlocks()
    const seen = []
    const pairs = (async function * () {
      for (let i = 0; i < 3; i++) {
        const cid = await cidOf(hashers[i], noise(100, i))
        const before = seen.length
        yield { cid, bytes: noise(100, i) }
        while (seen.length === before) {
          await new Promise(resolve => setTimeout(resolve, 1))
        } // it goes on after a result
      }
    })()
    for await (const cid of blocks.putMany(pairs)) seen.push(cid)
    expect(seen).to.have.length(3)
  })

  it('putMany() keeps the blocks before a bad one', async () => {
    const reason = new Error('no more')
    const good = await Promise.all([1, 2, 3].map(async i => ({
      cid: await cidOf(hashers[i - 1], noise(100, i)),
      bytes: noise(100, i)
    })))
    const endings = [
      [{ cid: await cidOf(sha256, bytes), bytes: flipped(bytes, 5) }, { code: 'CID_MISMATCH' }],
      [{ cid: toCid(hash(bytes)), bytes: flipped(bytes, 5) }, { code: 'CID_MISMATCH' }],
      [{ cid: await cidOf(toy, bytes), bytes }, { code: 'CID_UNSUPPORTED' }],
      [{ cid: 'text', bytes }, { name: 'TypeError' }],
      [undefined, { message: 'no more' }]
    ]
    for (const [bad, expected] of endings) {
      const { blocks } = await newBlocks()
      const pairs = (async function * () {
        yield * good
        if (bad === undefined) throw reason
        yield bad
      })()
      const seen = []
      const error = await errorOf(async () => { for await (const cid of blocks.putMany(pairs)) seen.push(cid) })
      expect(error).to.include(expected)
      expect(seen).to.deep.equal(good.map(({ cid }) => cid))
      expect(await namesIn(blocks)).to.deep.equal(seen.map(String).sort())
    }
  })

  it('putMany() under a quota keeps blocks up to the one that does not fit', async () => {
    const { store } = await newStore({ quota: 10_000 })
    const blocks = asBlockstore(store)
    const contents = [10, 20, 30_000, 40].map(size => noise(size, size))
    for (const hasher of [sha256, blake3]) {
      const cids = await Promise.all(contents.map(bytes => cidOf(hasher, bytes)))
      const kept = []
      expect(await errorOf(async () => {
        for await (const cid of blocks.putMany(contents.map((bytes, i) => ({ cid: cids[i], bytes })))) kept.push(cid)
      })).to.include({ code: 'STORE_FULL' })
      expect(kept).to.deep.equal(cids.slice(0, 2))
      expect(await Promise.all(cids.map(cid => blocks.has(cid)))).to.deep.equal([true, true, false, false])
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
