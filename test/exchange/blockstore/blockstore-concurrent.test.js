// A blockstore whose calls are aborted, closed or made at the same time.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { blake3 } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { same } from '../../support/bytes.js'
import { turns } from '../../support/fake-clock.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { cidOf, namesIn, newBlockstores } from '../../support/store/blocks.js'
import { idsIn } from '../../support/store/inspect.js'
import { newStores } from '../../support/store/stores.js'

describe('store: blockstore, concurrent calls', () => {
  const newStore = newStores()
  const newBlocks = newBlockstores()
  const bytes = noise(40_000, 91)

  it('a use is noted for the right block when the buffer of its CID is reused', async () => {
    const { store, place } = await newStore()
    const content = noise(200, 8)
    const { cid } = await store.put(content)
    const uses = {
      get: blocks => view => collect(blocks.get(view)),
      getMany: blocks => async view => { for await (const { bytes } of blocks.getMany([view])) await collect(bytes) }
    }
    let open = store
    for (const [what, use] of Object.entries(uses)) {
      const before = (await open.stat(cid)).lastUsed
      await new Promise(resolve => setTimeout(resolve, 3))
      const buffer = new Uint8Array(cid.bytes)
      await use(asBlockstore(open))(CID.decode(buffer))
      buffer.fill(0xaa, 4)
      await open.close()
      open = await place.open()
      expect(+(await open.stat(cid)).lastUsed, what).to.be.above(+before)
    }
  })

  it('putMany(), getMany() and deleteMany() that are aborted do not wait for a stuck source', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha256, bytes)
    const stuck = async function * (item) {
      yield item
      await new Promise(() => {})
    }
    for (const many of [
      signal => blocks.putMany(stuck({ cid, bytes }), { signal }),
      signal => blocks.getMany(stuck(cid), { signal }),
      signal => blocks.deleteMany(stuck(cid), { signal })
    ]) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const given = []
      const ending = errorOf(async () => {
        for await (const item of many(controller.signal)) {
          given.push(item)
          turns().then(() => controller.abort(reason)) // when the next is waited for
        }
      })
      expect(await ending).to.equal(reason)
      expect(given).to.have.length(1)
    }
  })

  it('every call stops when it is aborted', async () => {
    const { blocks } = await newBlocks()
    for (const hasher of [sha256, blake3]) {
      const cid = await cidOf(hasher, bytes)
      const reason = new Error('enough')
      const controller = new AbortController()
      const source = (async function * () {
        yield bytes.subarray(0, 10)
        controller.abort(reason)
        yield bytes.subarray(10)
      })()
      expect(await errorOf(blocks.put(cid, source, controller))).to.equal(reason)
      expect(await blocks.has(cid)).to.equal(false)
    }
    const cids = []
    for (let i = 0; i < 4; i++) {
      cids.push(await blocks.put(await cidOf(i % 2 ? sha256 : blake3, noise(500, i)), noise(500, i)))
    }
    for (const all of [
      options => blocks.getAll(options), options => blocks.getMany(cids, options),
      options => blocks.deleteMany(cids, options)
    ]) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const given = all(controller)
      await given.next()
      controller.abort(reason)
      const { value, done } = await given.next().catch(error => ({ value: error }))
      if (!done && value?.bytes) expect(await errorOf(collect(value.bytes))).to.equal(reason)
      else expect(value).to.equal(reason)
    }
  })

  it('every call ends when the store is closed', async () => {
    const { store, blocks } = await newBlocks()
    const cids = await Promise.all([sha256, blake3].map(hasher => cidOf(hasher, bytes)))
    for (const cid of cids) await blocks.put(cid, bytes)
    const all = blocks.getAll()
    await all.next()
    await store.close()
    expect(await errorOf(collect(all))).to.include({ code: 'STORE_CLOSED' })
    for (const cid of cids) {
      for (const ask of [
        () => blocks.has(cid), () => blocks.put(cid, bytes), () => collect(blocks.get(cid)),
        () => blocks.delete(cid), () => collect(blocks.getAll())
      ]) {
        expect(await errorOf(ask)).to.include({ code: 'STORE_CLOSED' })
      }
    }
  })

  it('put() of one block under many names at the same time loses no name', async () => {
    const { blocks, place, store } = await newBlocks()
    const cids = await Promise.all([sha256, sha512, blake3].map(hasher => cidOf(hasher, bytes)))
    await Promise.all([0, 1, 2, 3].flatMap(() => cids.map(cid => blocks.put(cid, bytes))))
    expect(await namesIn(blocks)).to.deep.equal(cids.map(String).sort())
    for (let round = 0; round < 8; round++) {
      // One name is deleted and put again while another is deleted. In any order, the name that was put last stays.
      const [a, b] = [cids[round % 3], cids[(round + 1) % 3]]
      await Promise.all([blocks.delete(a).then(() => blocks.put(a, bytes)), blocks.delete(b)])
      expect([await blocks.has(a), await blocks.has(b)]).to.deep.equal([true, false])
      expect(same(await collect(blocks.get(a)), bytes)).to.equal(true)
      await blocks.put(b, bytes)
    }
    await store.close()
    await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(1))
  })
})
