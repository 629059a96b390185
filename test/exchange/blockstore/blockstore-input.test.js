// A blockstore refuses wrong bytes, unknown hash functions, and blocks that do not fit into memory.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import * as Digest from 'multiformats/hashes/digest'
import { RAW, blake3, hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { flipped, same } from '../../support/bytes.js'
import { collect, errorOf, listed, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { cidOf, toy, newBlockstores } from '../../support/store/blocks.js'
import { aliasKeysIn, idsIn, recordsIn } from '../../support/store/inspect.js'
import { expectNoOrphans } from '../../support/store/stores.js'

describe('store: blockstore input', () => {
  const newBlocks = newBlockstores()
  const bytes = noise(40_000, 91)

  it('put() refuses bytes that the CID does not name, and keeps none of them', async () => {
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
    // Of this one, bytes are written before the end is read.
    const large = noise(5_000_000, 92)
    const cid = toCid(hash(large))
    expect(await errorOf(blocks.put(cid, stream([large, bytes])))).to.include({ code: 'CID_MISMATCH', cid })
    await store.close()
    await expectNothing(place)
  })

  it('put() hashes the bytes that it keeps, not those that callers write into the buffer during the call', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha512, bytes)
    const lent = bytes.slice()
    const putting = blocks.put(cid, lent)
    lent.fill(0)
    await putting
    expect(same(await collect(blocks.get(cid)), bytes)).to.equal(true)
  })

  it('put() refuses CIDs with unknown hash functions or shortened hashes', async () => {
    const { blocks } = await newBlocks()
    const short = new Uint8Array((await sha256.digest(bytes)).digest.subarray(0, 20))
    const cids = [
      await cidOf(toy, bytes), CID.createV1(RAW, Digest.create(sha256.code, short)),
      CID.createV1(RAW, Digest.create(blake3.code, hash(bytes, 64)))
    ]
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

  it('every call refuses values that are no CIDs, and put() values that are no bytes', async () => {
    const { blocks } = await newBlocks()
    const cid = await cidOf(sha256, bytes)
    for (const bad of [undefined, null, 5, 'bafk', cid.toString(), hash(bytes)]) {
      await expectSlip('cid', () => blocks.has(bad))
      await expectSlip('cid', () => blocks.put(bad, bytes))
      await expectSlip('cid', () => collect(blocks.get(bad)))
      await expectSlip('cid', () => blocks.delete(bad))
    }
    for (const own of [cid, toCid(hash(bytes))]) {
      for (const bad of [undefined, null, 5, '/etc/passwd', new URL('file:///etc/passwd'), { size: 5, read () {} }]) {
        await expectSlip('bytes', () => blocks.put(own, bad))
      }
      await expectSlip('piece of the source', () => blocks.put(own, ['text']))
    }
  })

  it('put() refuses blocks above maxBlockBytes, and reads no more of them', async () => {
    const { store, blocks } = await newBlocks()
    const narrow = asBlockstore(store, { maxBlockBytes: 50_000 })
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
        expect(await errorOf(listed(narrow.putMany([{
          cid,
          bytes: bytes instanceof Uint8Array ? bytes : endless()
        }])))).to.include({ code: 'BLOCK_TOO_LONG' })
      }
      await narrow.put(await cidOf(hasher, exact), exact)
    }
    expect(given).to.be.lessThan(1_000_000)
    expect(isClosed).to.equal(true)
    expect(await blocks.has(await cidOf(sha256, long))).to.equal(false)
    await narrow.put(toCid(hash(long)), stream([long]))
    // The limit is neither for blocks under a BLAKE3 name nor for reads.
    expect(await listed(narrow.putMany([{ cid: toCid(hash(long)), bytes: long }]))).to.have.length(1)
    const cid = await cidOf(sha256, long)
    await blocks.put(cid, long)
    expect(await narrow.has(cid)).to.equal(true)
    expect(same(await collect(narrow.get(cid)), long)).to.equal(true)
    for (const { bytes } of await listed(narrow.getMany([cid]))) expect(same(await collect(bytes), long)).to.equal(true)
    const large = noise((1 << 22) + 1, 7)
    expect(await errorOf(blocks.put(await cidOf(sha256, large), large)))
      .to.include({ code: 'BLOCK_TOO_LONG', len: 1 << 22 })
    const any = asBlockstore(store, { maxBlockBytes: Infinity })
    await any.put(await cidOf(sha256, large), large)
    expect(same(await collect(any.get(await cidOf(sha256, large))), large)).to.equal(true)
    for (const bad of [-1, 1.5, '5', null]) {
      await expectSlip('maxBlockBytes', () => asBlockstore(store, { maxBlockBytes: bad }))
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
