// Damage that a read finds is noted: the groups count as missing from then on, until the right bytes heal them.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { flipped, same } from '../../support/bytes.js'
import { EXTENT, GROUP } from '../../support/constants.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import {
  countedBytes, entriesOf, idsUnderWay, isPage, readRecord, writeAlias, writeRecord
} from '../../support/store/inspect.js'
import { inMemory, newStores, sliceOf } from '../../support/store/stores.js'

const BYTES = noise(70 * GROUP + 500, 71)
const ROOT = hash(BYTES)
const SMALL = noise(5000, 72)
/** Returns the groups that contain some bytes. */
const groups = (start, end = start + 1) => ChunkRanges.fromBytes(start, end).roundToGroups(4)

/** Flips a byte of group 5. */
async function damage (data, at = EXTENT + GROUP + 9) {
  const offset = at - at % EXTENT
  const extent = (await entriesOf(data)).find(entry => entry.offset === offset)
  await extent.put(flipped(extent.value, at - offset))
}
const DAMAGED = groups(5 * GROUP)

describe('store: damage that a read finds', () => {
  const newStore = newStores()
  const put = async (options, bytes = BYTES) => {
    const made = await newStore(options)
    const { cid } = await made.store.put(bytes)
    return { ...made, cid }
  }

  const READS = {
    'bytes()': store => store.bytes(ROOT),
    'bytes() of a few': store => store.bytes(ROOT, { start: 5 * GROUP + 3, end: 5 * GROUP + 5 }),
    'get()': store => collect(store.get(ROOT)),
    'get() of chunks': store => collect(store.get(ROOT, ChunkRanges.fromBytes(0, 6 * GROUP))),
    // In browsers, a Response would replace the error of its stream by a TypeError.
    'stream()': store => listed(store.stream(ROOT)),
    'slice()': store => collect(store.slice(ROOT)),
    'getMany()': async store => { throw (await listed(store.getMany([ROOT])))[0].error },
    'get() of a blockstore': async store => collect(asBlockstore(store).get((await store.stat(ROOT)).cid))
  }
  for (const [name, read] of Object.entries(READS)) {
    it(`${name} notes it durably: exactly the damaged group is missing`, async () => {
      const { store, place, data, cid } = await put()
      await damage(data)
      const error = await errorOf(read(store))
      expect(error).to.include({ code: 'STORE_CORRUPT' })
      const expectNoted = async store => {
        expect((await store.missing(cid)).boundaries).to.deep.equal(DAMAGED.boundaries)
        expect(await store.has(cid)).to.equal(false)
        const { present, ...stat } = await store.stat(cid)
        expect(stat).to.include({ complete: false, size: BYTES.length, sizeProven: true, isDamaged: true })
        expect((await store.statMany([cid]))[0]).to.include({ complete: false, isDamaged: true })
        expect(present.union(DAMAGED).contains(0, Math.ceil(BYTES.length / 1024)), 'the rest is present').to.equal(true)
        expect((await errorOf(store.bytes(cid))).ranges.boundaries).to.deep.equal(DAMAGED.boundaries)
        expect((await store.fsck()).isSound, 'fsck() finds no more damage').to.equal(true)
      }
      await expectNoted(store)
      await store.close()
      await expectNoted(await place.open())
    })
  }

  it('leaves no id under way when a blob without a right byte cannot get another id', async () => {
    const { store, index, data, cid } = await put({}, SMALL)
    const [extent] = await entriesOf(data)
    await extent.put(flipped(extent.value, 9))
    const { batch } = index
    index.batch = async () => { throw new Error('the disk fails') }
    expect(await errorOf(store.bytes(cid))).to.include({ code: 'STORE_CORRUPT' })
    index.batch = batch
    expect(idsUnderWay(store)).to.deep.equal([])
    expect(await errorOf(store.bytes(cid))).to.include({ code: 'STORE_CORRUPT' })
    expect(await store.has(cid)).to.equal(false)
  })

  it('is told to observers, and so is its healing', async () => {
    const { store, data, cid } = await put()
    await damage(data)
    await errorOf(store.bytes(cid))
    const states = store.observe(cid)
    expect((await states.next()).value.complete).to.equal(false)
    await store.receive(cid, sliceOf(BYTES, DAMAGED), DAMAGED)
    expect((await states.next()).value.complete).to.equal(true)
  })

  it('does not change tags, aliases and the time of creation', async () => {
    const { store, index, data, cid } = await put()
    await store.tags.set('a', cid)
    const alias = Uint8Array.of(0x12, 2, 5, 6)
    await writeAlias(index, ROOT, alias)
    const { created } = await store.stat(cid)
    await damage(data)
    await errorOf(store.bytes(cid))
    expect((await store.stat(cid)).created).to.deep.equal(created)
    expect((await store.tags.get('a')).cid.multihash.digest).to.deep.equal(ROOT)
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    await store.receive(cid, sliceOf(BYTES, DAMAGED), DAMAGED)
    expect(await store.stat(cid)).to.deep.include({ created, isDamaged: false })
  })

  it('is not noted by reads that do not verify', async () => {
    for (const [options, reading] of [[{}, { verify: false }], [{ verify: false }, {}]]) {
      const { store, data, cid } = await put(options)
      await damage(data)
      expect(same(await store.bytes(cid, undefined, reading), BYTES)).to.equal(false)
      await errorOf(collect(store.get(cid, undefined, reading)))
      if (options.verify === false) await errorOf(collect(store.slice(cid)))
      expect(await store.has(cid)).to.equal(true)
    }
  })

  it('frees quota, which its healing takes again', async () => {
    const quota = BYTES.length + 10
    const { store, data, cid } = await put({ quota })
    expect(countedBytes(store, quota)).to.equal(BYTES.length)
    await damage(data)
    await errorOf(store.bytes(cid))
    expect(countedBytes(store, quota)).to.equal(BYTES.length - GROUP)
    await store.receive(cid, sliceOf(BYTES, DAMAGED), DAMAGED)
    expect(countedBytes(store, quota)).to.equal(BYTES.length)
  })

  const HEALS = {
    put: async store => expect(await store.put(BYTES)).to.include({ isNew: true }),
    putMany: async store => {
      const [{ isNew }, { isNew: again }] = await listed(store.putMany([BYTES.slice(), BYTES.slice()]))
      expect([isNew, again]).to.deep.equal([true, false])
    },
    'put of a blockstore': async store => asBlockstore(store).put((await store.stat(ROOT)).cid, BYTES),
    receive: async store => expect(await store.receive(ROOT, sliceOf(BYTES, DAMAGED), DAMAGED))
      .to.deep.equal({ received: GROUP, complete: true }),
    'receive of all': async store => expect(await store.receive(ROOT, sliceOf(BYTES)))
      .to.deep.equal({ received: GROUP, complete: true })
  }
  for (const [name, heal] of Object.entries(HEALS)) {
    it(`is healed by ${name}`, async () => {
      const { store, data, cid } = await put()
      await damage(data)
      await errorOf(store.bytes(cid))
      await heal(store)
      expect(await store.has(cid)).to.equal(true)
      expect(same(await store.bytes(cid), BYTES)).to.equal(true)
      expect((await store.put(BYTES)).isNew).to.equal(false)
      expect((await store.fsck()).isSound).to.equal(true)
    })
  }

  it('of a blob of one group is healed, too', async () => {
    for (const heal of [
      async store => expect((await store.put(SMALL)).isNew).to.equal(true),
      store => listed(store.putMany([SMALL])), store => store.receive(hash(SMALL), sliceOf(SMALL))
    ]) {
      const { store, data, cid } = await put({}, SMALL)
      await damage(data, 17)
      for (const code of ['STORE_CORRUPT', 'STORE_MISSING']) {
        expect(await errorOf(store.bytes(cid))).to.include({ code })
      }
      await heal(store)
      expect(same(await store.bytes(cid), SMALL)).to.equal(true)
      await store.compact()
      expect((await store.fsck()).isSound).to.equal(true)
      const ids = new Set((await entriesOf(data)).map(({ id }) => id))
      expect(ids.size, 'nothing is left under the old id').to.equal(1)
    }
  })

  it('of a tree whose bytes are right is repaired by the read', async () => {
    const { store, place, data, cid } = await put()
    const pages = (await entriesOf(data)).filter(isPage)
    for (const { put: write, value } of pages) await write(flipped(value, 8 + 64 * 3))
    await store.close()
    const again = await place.open()
    expect(same(await collect(again.slice(cid)), sliceOf(BYTES))).to.equal(true)
    expect(await again.has(cid)).to.equal(true)
    for (const page of pages) expect(same(await page.read(), page.value)).to.equal(true)
  })

  it('of a tree and the bytes below is healed by receive(), and the groups beside it stay', async () => {
    const { store, data, cid } = await put()
    const page = (await entriesOf(data)).find(isPage)
    await page.put(flipped(page.value, 8 + 64 * 4)) // the pair above groups 4 and 5
    await damage(data)
    expect(await errorOf(collect(store.slice(cid)))).to.include({ code: 'STORE_CORRUPT' })
    const missing = await store.missing(cid)
    expect(missing.boundaries, 'both groups, because neither can be proven without their pair').to.deep.equal([64, 96])
    await store.receive(cid, sliceOf(BYTES, missing), missing)
    expect(same(await collect(store.slice(cid)), sliceOf(BYTES))).to.equal(true)
  })

  it('is noted once by readers at the same time, and readers of other parts go on', async () => {
    const { store, data, cid } = await put()
    await damage(data)
    const read = i => errorOf(collect(store.get(cid, { start: i * GROUP, end: (i + 1) * GROUP })))
    const reads = await Promise.all([3, 4, 5, 5, 6, 7].map(read))
    for (const [i, error] of reads.entries()) {
      if (i === 2 || i === 3) expect(error.code).to.equal('STORE_CORRUPT')
      else expect(error, error?.stack).to.equal(undefined)
    }
    const all = await Promise.all(Array.from({ length: 4 }, () => errorOf(store.bytes(cid))))
    for (const { code } of all) expect(code).to.match(/^STORE_(CORRUPT|MISSING)$/)
    expect((await store.missing(cid)).boundaries).to.deep.equal(DAMAGED.boundaries)
  })

  it('of data that a put has replaced since is not noted', async () => {
    const { store, index, data, cid } = await put()
    await damage(data, 66 * GROUP)
    const slow = store.get(cid)
    expect((await slow.next()).value).to.have.length(64 * GROUP)
    await store.put(BYTES, { recheck: true })
    const { id } = await readRecord(index, ROOT)
    expect((await errorOf(collect(slow))).code).to.equal('STORE_CHANGED')
    expect(await readRecord(index, ROOT)).to.include({ id, complete: true })
    expect(same(await store.bytes(cid), BYTES)).to.equal(true)
  })

  it('of a sequence makes gc() fail until the sequence is healed', async () => {
    const { store, data } = await newStore()
    const members = [noise(100, 1), noise(200, 2)]
    for (const bytes of members) await store.put(bytes)
    const list = new Uint8Array(64)
    members.forEach((bytes, i) => list.set(hash(bytes), 32 * i))
    const { cid } = await store.put(list, { tag: 'list', format: 'hashseq' })
    const extent = (await entriesOf(data)).at(-1)
    await extent.put(flipped(extent.value, 40))
    expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
    await errorOf(store.bytes(cid))
    expect(await errorOf(store.gc()), 'after it is noted').to.include({ code: 'STORE_CORRUPT' })
    await store.receive(cid, sliceOf(list))
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
  })

  it('of data under an id of two records does not delete the data of the other blob', async () => {
    const { store, index } = await newStore()
    const [one, other] = [noise(70 * GROUP, 81), noise(70 * GROUP, 82)]
    await store.put(one)
    await store.put(other)
    await writeRecord(index, hash(other), await readRecord(index, hash(one)))
    for (const range of [{}, { start: 66 * GROUP }]) {
      expect((await errorOf(store.bytes(hash(other), range))).code).to.match(/^STORE_/)
    }
    await store.compact()
    expect(same(await store.bytes(hash(one)), one)).to.equal(true)
  })
})

describe('store: put() with recheck', () => {
  const newStore = newStores()

  it('replaces a blob whose damage no read has found, and returns that it is new', async () => {
    for (const bytes of [SMALL, BYTES]) {
      const { store, data } = await newStore()
      const { cid } = await store.put(bytes)
      await damage(data, bytes === SMALL ? 3 : undefined)
      expect((await store.put(bytes)).isNew, 'the stored bytes were not read').to.equal(false)
      expect((await store.put(bytes, { recheck: true })).isNew).to.equal(true)
      expect((await store.put(bytes, { recheck: true })).isNew).to.equal(false)
      expect(same(await store.bytes(cid), bytes)).to.equal(true)
      expect((await store.fsck()).isSound).to.equal(true)
    }
  })

  it('replaces a damaged tree, and accepts the empty blob', async () => {
    const { store, data } = await newStore()
    const { cid } = await store.put(BYTES)
    const page = (await entriesOf(data)).find(isPage)
    await page.put(flipped(page.value, 8))
    expect((await store.put(BYTES, { recheck: true })).isNew).to.equal(true)
    expect(same(await collect(store.slice(cid)), sliceOf(BYTES))).to.equal(true)
    expect((await store.put(new Uint8Array(0), { recheck: true })).isNew).to.equal(false)
  })
})

describe('store: fsck() of some blobs', () => {
  it('checks and repairs only these', async () => {
    const place = await inMemory()
    const store = await place.open()
    const others = [noise(90_000, 91), noise(90_000, 92)]
    for (const bytes of others) await store.put(bytes)
    for (const entry of (await entriesOf(place.where.data)).filter(({ offset }) => offset === 0)) {
      await entry.put(flipped(entry.value, 3))
    }
    const [one, two] = others.map(bytes => hash(bytes))
    const absent = hash(noise(5, 93))
    expect(await store.fsck({ cids: [absent] })).to.include({ isSound: true, blobs: 0 })
    const report = await store.fsck({ cids: [one, one, absent] })
    expect(report).to.include({ isSound: false, blobs: 1 })
    expect(report.damaged[0].lost.boundaries).to.deep.equal([0, 16])
    expect(await store.has(one), 'a check without repair changes nothing').to.equal(true)
    await store.fsck({ cids: new Set([one]), repair: true })
    expect([await store.has(one), await store.has(two)]).to.deep.equal([false, true])
    expect(await errorOf(() => store.fsck({ cids: one.subarray(1) }))).to.be.instanceOf(TypeError)
    await place.remove()
  })
})
