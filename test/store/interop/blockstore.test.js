// The store as a blockstore: the suite of interface-blockstore, and what it does not ask.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { from as hasherFrom } from 'multiformats/hashes/hasher'
import * as Digest from 'multiformats/hashes/digest'
import { interfaceBlockstoreTests } from 'interface-blockstore-tests'
import { blake3, hash, keyedHash, toCid } from '../../../lib/index.js'
import { BlobStore, asBlockstore } from '../../../store/index.js'
import { flipped, same } from '../../support/bytes.js'
import { collect, errorOf, listed, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { aliasEntry, aliasKeysIn, entriesOf, idsIn, recordsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, inMemory, newStores, sliceOf } from '../../support/store/stores.js'

const RAW = 0x55
const DAG_CBOR = 0x71
const DAG_PB = 0x70

const cidOf = async (hasher, bytes, codec = RAW) => CID.createV1(codec, await hasher.digest(bytes))

/** Any function of the caller's. */
const toy = hasherFrom({ name: 'toy', code: 0x300001, encode: bytes => keyedHash(new Uint8Array(32), bytes, 20) })

/** What a blockstore has, by name, in order. */
async function namesIn (blocks) {
  const names = []
  for await (const { cid, bytes } of blocks.getAll()) {
    expect(cid.code).to.equal(RAW)
    await collect(bytes)
    names.push(cid.toString())
  }
  return names.sort()
}

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

    it('keeps blocks of any length under any name, also when it is opened again', async () => {
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

  const newStore = newStores()
  const newBlocks = async options => {
    const made = await newStore()
    return { ...made, blocks: asBlockstore(made.store, options) }
  }
  const bytes = noise(40_000, 91)

  it('goes by the multihash, whatever the codec and version', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha256, bytes, DAG_PB)
    await blocks.put(cid, bytes)
    for (const name of [CID.createV1(RAW, cid.multihash), CID.createV1(DAG_CBOR, cid.multihash), CID.createV0(cid.multihash)]) {
      expect(await blocks.has(name)).to.equal(true)
      expect(same(await collect(blocks.get(name)), bytes)).to.equal(true)
    }
    await blocks.delete(CID.createV0(cid.multihash))
    expect(await blocks.has(cid)).to.equal(false)
  })

  it('deletes a name and leaves the others, and the bytes with the last', async () => {
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
          else expect(await errorOf(collect(blocks.get(cid)))).to.include({ name: 'NotFoundError', code: 'STORE_NOT_FOUND', cid })
        }
        expect(await namesIn(blocks)).to.deep.equal([...left].map(String).sort())
        expect(await store.has(hash(bytes))).to.equal(left.size > 0)
      }
      await store.close()
      await expectNothing(place)
    }
  })

  it('deletes names of a blob that has a tag, and leaves the bytes to the tag', async () => {
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

  it('loses its names when the blob is collected or evicted', async () => {
    const { store, blocks, place } = await newBlocks()
    for (const hasher of [sha256, sha512]) await blocks.put(await cidOf(hasher, bytes), bytes)
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: bytes.length })
    expect(await namesIn(blocks)).to.deep.equal([])
    await store.close()
    await expectNothing(place)
  })

  describe('many at once', () => {
    const hashers = [sha256, blake3, sha512, identity]

    it('are kept in their order, small and large, under all their names', async () => {
      const { store, blocks, place, data } = await newBlocks()
      const contents = [noise(100, 1), noise(2_000_000, 2), noise(20_000, 3), noise(100, 1), new Uint8Array(0), noise(70_000, 4)]
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
      const isListed = ({ cid, content }) => cid.multihash.code !== identity.code && (content.length > 0 || cid.multihash.code !== blake3.code)
      const names = new Set(pairs.filter(isListed).map(({ cid }) => cid.toString()))
      expect(await namesIn(blocks)).to.deep.equal([...names].sort())
      await listed(blocks.putMany(pairs.map(({ cid, content }) => ({ cid, bytes: content }))))
      expect(await namesIn(blocks), 'again').to.deep.equal([...names].sort())
      await listed(blocks.deleteMany(pairs.map(({ cid }) => cid)))
      await store.close()
      await expectNothing(place)
    })

    it('are read in their order and by the batch, and those that are not here are told when they are asked for', async () => {
      const { store, blocks, index, data } = await newBlocks()
      const wanted = []
      for (let i = 0; i < 200; i++) {
        const content = noise([100, 20_000, 70_000, 1][i % 4], 500 + i)
        const cid = await cidOf(hashers[i % 4 === 3 ? 3 : i % 3], content)
        if (i % 10 !== 9) await blocks.put(cid, content)
        wanted.push({ cid, content: i % 10 !== 9 || i % 4 === 3 ? content : undefined })
      }
      const nameless = await cidOf(blake3, wanted[0].content) // only its alias is here
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
        else expect((await errorOf(collect(pairs[i].bytes))).name).to.equal(wanted[i].cid === 'no CID' ? 'TypeError' : 'NotFoundError')
      }
      await store.close()
    })

    it('are read when nothing else is asked for for the time being', async () => {
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

    it('are kept when nothing else comes for the time being', async () => {
      const { blocks } = await newBlocks()
      const seen = []
      const pairs = (async function * () {
        for (let i = 0; i < 3; i++) {
          const cid = await cidOf(hashers[i], noise(100, i))
          const before = seen.length
          yield { cid, bytes: noise(100, i) }
          while (seen.length === before) await new Promise(resolve => setTimeout(resolve, 1)) // it goes on when it has had word
        }
      })()
      for await (const cid of blocks.putMany(pairs)) seen.push(cid)
      expect(seen).to.have.length(3)
    })

    it('are kept as far as they were good', async () => {
      const reason = new Error('no more')
      const good = await Promise.all([1, 2, 3].map(async i => ({ cid: await cidOf(hashers[i - 1], noise(100, i)), bytes: noise(100, i) })))
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
  })

  it('deletes what is not there', async () => {
    const { blocks } = await newBlocks()
    for (const hasher of [sha256, blake3, identity, toy]) await blocks.delete(await cidOf(hasher, bytes))
  })

  it('leaves what was put into the store itself, or received, when its aliases go', async () => {
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

  it('keeps what was being received, and is now whole, when its alias goes', async () => {
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

  it('forgets all names of a blob that is deleted from the store', async () => {
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

  it('refuses bytes that the CID does not name, and keeps nothing of them', async () => {
    const { store, blocks, place } = await newBlocks({ hashers: [toy] })
    for (const good of [bytes, new Uint8Array(0)]) {
      const wrong = good.length > 0 ? flipped(good, good.length - 1) : Uint8Array.of(1)
      for (const hasher of [sha256, sha512, blake3, identity, toy]) {
        const cid = await cidOf(hasher, good)
        for (const given of [wrong, stream(ragged(wrong, 2)), bytes.subarray(1), stream([wrong, good])]) {
          expect(await errorOf(blocks.put(cid, given))).to.include({ code: 'CID_MISMATCH', cid })
        }
      }
    }
    // Of which something is written before the end is seen.
    const large = noise(5_000_000, 92)
    const cid = toCid(hash(large))
    expect(await errorOf(blocks.put(cid, stream([large, bytes])))).to.include({ code: 'CID_MISMATCH', cid })
    await store.close()
    await expectNothing(place)
  })

  it('hashes what it keeps, not what the caller writes there meanwhile', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha512, bytes)
    const lent = bytes.slice()
    const putting = blocks.put(cid, lent)
    lent.fill(0)
    await putting
    expect(same(await collect(blocks.get(cid)), bytes)).to.equal(true)
  })

  it('has identity CIDs without keeping them', async () => {
    const { store, blocks, place } = await newBlocks()
    const cid = await cidOf(identity, Uint8Array.of(1, 2, 3))
    expect(await blocks.has(cid)).to.equal(true)
    expect(await blocks.put(cid, Uint8Array.of(1, 2, 3))).to.equal(cid)
    expect(await collect(blocks.get(cid))).to.deep.equal(Uint8Array.of(1, 2, 3))
    expect(await namesIn(blocks)).to.deep.equal([])
    await store.close()
    await expectNothing(place)
  })

  it('refuses to keep what it cannot check', async () => {
    const { blocks } = await newBlocks()
    const short = new Uint8Array((await sha256.digest(bytes)).digest.subarray(0, 20))
    const cids = [await cidOf(toy, bytes), CID.createV1(RAW, Digest.create(sha256.code, short)), CID.createV1(RAW, Digest.create(blake3.code, hash(bytes, 64)))]
    for (const cid of cids) {
      expect(await errorOf(blocks.put(cid, bytes))).to.include({ code: 'CID_UNSUPPORTED' })
      expect(await blocks.has(cid)).to.equal(false)
      expect(await errorOf(collect(blocks.get(cid)))).to.include({ name: 'NotFoundError' })
      await blocks.delete(cid)
    }
    const cid = await cidOf(toy, bytes)
    const { store } = await newBlocks()
    await asBlockstore(store, { hashers: [toy] }).put(cid, bytes)
    expect(await asBlockstore(store).has(cid)).to.equal(true)
    expect(await errorOf(collect(asBlockstore(store).get(cid)))).to.include({ code: 'CID_UNSUPPORTED' })
  })

  it('refuses what is no CID, and what are no bytes', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha256, bytes)
    for (const bad of [undefined, null, 5, 'bafk', cid.toString(), hash(bytes)]) {
      await expectSlip('cid', () => blocks.has(bad))
      await expectSlip('cid', () => blocks.put(bad, bytes))
      await expectSlip('cid', () => collect(blocks.get(bad)))
      await expectSlip('cid', () => blocks.delete(bad))
    }
    for (const own of [cid, toCid(hash(bytes))]) {
      for (const bad of [undefined, null, 5, '/etc/passwd', new URL('file:///etc/passwd'), { size: 5, read () {} }]) await expectSlip('bytes', () => blocks.put(own, bad))
      await expectSlip('piece of the source', () => blocks.put(own, ['text']))
    }
  })

  it('takes no more into memory than it may, of blocks that are hashed there', async () => {
    const { store, blocks } = await newBlocks()
    const narrow = asBlockstore(store, { maxBlockLen: 50_000 })
    const long = noise(50_001, 5)
    const exact = noise(50_000, 6)
    let given = 0
    let isClosed = false
    const endless = async function * () {
      try {
        while (true) {
          given += 10_000
          yield new Uint8Array(10_000)
        }
      } finally {
        isClosed = true
      }
    }
    for (const hasher of [sha256, sha512, identity]) {
      const cid = await cidOf(hasher, long)
      for (const bytes of [long, stream([long.subarray(0, 50_000), long.subarray(50_000)]), endless()]) {
        expect(await errorOf(narrow.put(cid, bytes))).to.include({ code: 'BLOCK_TOO_LONG', len: 50_000 })
        expect(await errorOf(listed(narrow.putMany([{ cid, bytes: bytes instanceof Uint8Array ? bytes : endless() }])))).to.include({ code: 'BLOCK_TOO_LONG' })
      }
      await narrow.put(await cidOf(hasher, exact), exact)
    }
    expect(given).to.be.lessThan(1_000_000)
    expect(isClosed).to.equal(true)
    expect(await blocks.has(await cidOf(sha256, long))).to.equal(false)
    await narrow.put(toCid(hash(long)), stream([long]))
    // BLAKE3 needs none of that, nor has what is here to be got by those alone who could put it.
    expect(await listed(narrow.putMany([{ cid: toCid(hash(long)), bytes: long }]))).to.have.length(1)
    const cid = await cidOf(sha256, long)
    await blocks.put(cid, long)
    expect(await narrow.has(cid)).to.equal(true)
    expect(same(await collect(narrow.get(cid)), long)).to.equal(true)
    for (const { bytes } of await listed(narrow.getMany([cid]))) expect(same(await collect(bytes), long)).to.equal(true)
    const large = noise((1 << 22) + 1, 7)
    expect(await errorOf(blocks.put(await cidOf(sha256, large), large))).to.include({ code: 'BLOCK_TOO_LONG', len: 1 << 22 })
    const any = asBlockstore(store, { maxBlockLen: Infinity })
    await any.put(await cidOf(sha256, large), large)
    expect(same(await collect(any.get(await cidOf(sha256, large))), large)).to.equal(true)
    for (const bad of [-1, 1.5, '5', null]) await expectSlip('maxBlockLen', () => asBlockstore(store, { maxBlockLen: bad }))
  })

  it('under a quota, keeps blocks up to the one that there is no room for', async () => {
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

  it('notes the use of a block whose CID is a view of a buffer that is used again', async () => {
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

  it('does not wait for a source that is stuck when it is called off', async () => {
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
      const ending = errorOf(async () => { for await (const item of many(controller.signal)) given.push(item) })
      setTimeout(() => controller.abort(reason), 30)
      expect(await ending).to.equal(reason)
      expect(given).to.have.length(1)
    }
  })

  it('stops where it is called off', async () => {
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
    for (let i = 0; i < 4; i++) cids.push(await blocks.put(await cidOf(i % 2 ? sha256 : blake3, noise(500, i)), noise(500, i)))
    for (const all of [options => blocks.getAll(options), options => blocks.getMany(cids, options), options => blocks.deleteMany(cids, options)]) {
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

  it('may be closed in the middle of anything', async () => {
    const { store, blocks } = await newBlocks()
    const cids = await Promise.all([sha256, blake3].map(hasher => cidOf(hasher, bytes)))
    for (const cid of cids) await blocks.put(cid, bytes)
    const all = blocks.getAll()
    await all.next()
    await store.close()
    expect(await errorOf(collect(all))).to.include({ code: 'STORE_CLOSED' })
    for (const cid of cids) {
      for (const ask of [() => blocks.has(cid), () => blocks.put(cid, bytes), () => collect(blocks.get(cid)), () => blocks.delete(cid), () => collect(blocks.getAll())]) {
        expect(await errorOf(ask)).to.include({ code: 'STORE_CLOSED' })
      }
    }
  })

  it('takes the same block from many at once, and loses no name', async () => {
    const { blocks, place, store } = await newBlocks()
    const cids = await Promise.all([sha256, sha512, blake3].map(hasher => cidOf(hasher, bytes)))
    await Promise.all([0, 1, 2, 3].flatMap(() => cids.map(cid => blocks.put(cid, bytes))))
    expect(await namesIn(blocks)).to.deep.equal(cids.map(String).sort())
    for (let round = 0; round < 8; round++) {
      // One name goes and comes while another one goes: whatever the order, who was put last is there.
      const [a, b] = [cids[round % 3], cids[(round + 1) % 3]]
      await Promise.all([blocks.delete(a).then(() => blocks.put(a, bytes)), blocks.delete(b)])
      expect([await blocks.has(a), await blocks.has(b)]).to.deep.equal([true, false])
      expect(same(await collect(blocks.get(a)), bytes)).to.equal(true)
      await blocks.put(b, bytes)
    }
    await store.close()
    await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(1))
  })

  describe('damage', () => {
    it('of the bytes is told, with its place', async () => {
      const { blocks, data } = await newBlocks()
      const cid = await cidOf(sha256, bytes)
      await blocks.put(cid, bytes)
      const [extent] = (await entriesOf(data)).filter(({ offset }) => offset === 0)
      await extent.put(flipped(extent.value, 20_000))
      const pieces = blocks.get(cid)
      const error = await errorOf(pieces.next())
      expect(error).to.include({ code: 'STORE_CORRUPT', start: 16384, len: 16384 })
    })

    it('of a name gives no other bytes', async () => {
      const other = noise(30_000, 93)
      const { blocks, store, index } = await newBlocks()
      const cid = await cidOf(sha256, bytes)
      await store.put(other)
      for (const [value, expected] of [
        [hash(other), { code: 'STORE_CORRUPT', cid }],
        [flipped(hash(bytes), 5), { code: 'STORE_NOT_FOUND', name: 'NotFoundError' }],
        [hash(bytes).subarray(0, 31), { code: 'STORE_NOT_FOUND', name: 'NotFoundError' }],
        [new Uint8Array(0), { code: 'STORE_NOT_FOUND', name: 'NotFoundError' }]
      ]) {
        await blocks.put(cid, bytes)
        await aliasEntry(index, cid.multihash.bytes).write(value)
        expect(await errorOf(collect(blocks.get(cid)))).to.include(expected)
        const [{ bytes: pieces }] = await listed(blocks.getMany([cid]))
        expect(await errorOf(collect(pieces))).to.include(expected)
        await blocks.put(cid, bytes)
        expect(same(await collect(blocks.get(cid)), bytes), 'putting it again mends it').to.equal(true)
        await aliasEntry(index, cid.multihash.bytes).write(value)
        await blocks.delete(cid)
        expect(same(await store.bytes(hash(other)), other), 'another blob is not harmed').to.equal(true)
      }
    })

    it('of a key hides no other name', async () => {
      const { blocks, index } = await newBlocks()
      const cid = await cidOf(sha256, bytes)
      await blocks.put(cid, bytes)
      for (const multihash of [new Uint8Array(0), new Uint8Array(40).fill(0xff), Uint8Array.of(0x12)]) await aliasEntry(index, multihash).write(hash(bytes))
      expect(await namesIn(blocks)).to.deep.equal([cid.toString()])
    })

    it('is not looked for where the store was told not to', async () => {
      const { place, store, data } = await newStore()
      const cid = await cidOf(sha256, bytes)
      await asBlockstore(store).put(cid, bytes)
      const [extent] = await entriesOf(data)
      await extent.put(flipped(extent.value, 20_000))
      await store.close()
      const blocks = asBlockstore(await place.open({ verify: false }))
      expect(same(await collect(blocks.get(cid)), flipped(bytes, 20_000))).to.equal(true)
    })
  })

  describe('a crash', () => {
    const CIDS = Promise.all([sha256, blake3, sha512].map(hasher => cidOf(hasher, bytes)))
    const JOBS = {
      'while the first name is put': { before: [], job: async (blocks, [a]) => blocks.put(a, bytes) },
      'while a second name is put': { before: [0], job: async (blocks, cids) => blocks.put(cids[2], bytes) },
      'while the own name is put': { before: [0], job: async (blocks, cids) => blocks.put(cids[1], bytes) },
      'while two names are put together': { before: [], job: async (blocks, cids) => listed(blocks.putMany([0, 2].map(i => ({ cid: cids[i], bytes })))) },
      'while all names are put together': { before: [], job: async (blocks, cids) => listed(blocks.putMany(cids.map(cid => ({ cid, bytes })))) },
      'while one of two names is deleted': { before: [0, 2], job: async (blocks, cids) => blocks.delete(cids[0]) },
      'while the own name is deleted': { before: [1, 2], job: async (blocks, cids) => blocks.delete(cids[1]) },
      'while the last name is deleted': { before: [2], job: async (blocks, cids) => blocks.delete(cids[2]) },
      'while a blob with two names is deleted': { before: [0, 2], job: async (blocks, cids, store) => store.delete(hash(bytes)) }
    }

    for (const [what, { before, job }] of Object.entries(JOBS)) {
      it(`${what} leaves the names from before, or those from after`, async () => {
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

          // As a new process finds it: the store was not closed.
          const again = await place.open()
          const found = asBlockstore(again)
          const names = await namesIn(found)
          for (const cid of cids) {
            expect(await found.has(cid)).to.equal(names.includes(CID.createV1(RAW, cid.multihash).toString()))
            if (await found.has(cid)) expect(same(await collect(found.get(cid)), bytes)).to.equal(true)
          }
          seen.add(names.join())
          expect(await again.has(hash(bytes)), 'the bytes are there with a name, and only then').to.equal(names.length > 0)
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

/** After so many writes none reaches the databases any more. @returns {() => void} ends that */
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
