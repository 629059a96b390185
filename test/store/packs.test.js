// Small blobs that come together are written to one file, a pack. Nobody who reads, lists, tags or deletes them sees that; the disk does.
import { mkdir, open, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { Level } from 'level'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { sha256 } from 'multiformats/hashes/sha2'
import { hash, toCid } from '../../lib/index.js'
import { BlobStore, asBlockstore } from '../../store/index.js'
import { partsOf } from '../../store/blobs.js'
import { blobKey } from '../../store/keys.js'
import { concat, flipped, hex, same } from '../support/bytes.js'
import { collect, errorOf, listed, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectNoOrphans, inMemory, sliceOf } from '../support/stores.js'
import { ENOUGH, GROUP, blobsOf, deleteAll, expectGone, expectHere, expectSound, holesOfStore, homesOf, newPlaces, packsOf, pathOf, putAll, recordOf } from './packing.js'

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }
const rootsOf = blobs => blobs.map(bytes => hash(bytes))
const times = (count, what) => Array(count).fill(what)
const groupsOf = count => Array.from({ length: count }, (_, i) => noise(GROUP, 10 + i))
/** Every byte of them, whoever asks, and in whatever way. */
const WAYS = {
  bytes: (store, root) => store.bytes(root),
  get: (store, root) => collect(store.get(root)),
  'get with reuse': (store, root) => collect(store.get(root, { reuse: true })),
  stream: (store, root) => new Response(store.stream(root)).bytes(),
  'without being verified': (store, root) => store.bytes(root, { verify: false }),
  getMany: async (store, root) => (await listed(store.getMany([root])))[0].bytes,
  'as a block': (store, root) => collect(asBlockstore(store).get(toCid(root)))
}

describe('store: packs', () => {
  const newPlace = newPlaces()
  let place, store
  beforeEach(async () => {
    place = await newPlace()
    store = await place.open({ durability: 'process' })
  })
  const reopen = async options => {
    await store.close()
    store = await place.open(options)
  }
  const expectTidy = async () => {
    await expectSound(store)
    await store.close()
    await expectNoOrphans(place)
  }

  describe('have', () => {
    for (const [what, blobs, homes] of [
      ['small blobs of 128 KiB together', groupsOf(ENOUGH), times(ENOUGH, 'pack')],
      ['not a byte less', [...groupsOf(ENOUGH - 1), noise(GROUP - 1, 30)], times(ENOUGH, 'extents')],
      ['many that are very small', blobsOf(1000, 3, 1300), times(1000, 'pack')],
      ['none that is longer than a chunk group', [...blobsOf(ENOUGH + 1, 4), noise(GROUP + 1, 1), noise(70_000, 2)], [...times(ENOUGH + 1, 'pack'), 'extents', 'extents']],
      ['nothing of what long ones bring', [...blobsOf(ENOUGH - 1, 5), noise(300_000, 3), noise(300_000, 4)], times(ENOUGH + 1, 'extents')],
      ['nothing before and behind one that is kept in a file', [...blobsOf(5, 6), noise(1_100_000, 5), ...blobsOf(5, 7)], [...times(5, 'extents'), 'file', ...times(5, 'extents')]],
      ['a blob that comes twice once', [...blobsOf(ENOUGH - 2, 8), ...times(5, noise(GROUP, 6))], times(ENOUGH + 3, 'extents')]
    ]) {
      it(what, async () => {
        await putAll(store, blobs)
        expect(await homesOf(store, blobs)).to.deep.equal(homes)
        const isPacked = homes.includes('pack')
        expect(await packsOf(place)).to.have.length(isPacked ? 1 : 0)
        const ids = new Set((await Promise.all(blobs.map(bytes => recordOf(store, bytes)))).filter(({ home }) => home === 'pack').map(({ id }) => id))
        expect([...ids]).to.deep.equal(await packsOf(place))
        await expectHere(store, blobs)
        await expectTidy()
      })
    }

    it('what is not here yet', async () => {
      const blobs = blobsOf(ENOUGH + 1)
      for (const bytes of blobs.slice(0, 2)) await store.put(bytes)
      expect((await putAll(store, [...blobs, noise(0)])).map(({ isNew }) => isNew)).to.deep.equal([false, false, ...times(ENOUGH - 1, true), false])
      expect(await homesOf(store, blobs)).to.deep.equal(times(ENOUGH + 1, 'extents'))
      const others = blobsOf(ENOUGH + 3, 2)
      await putAll(store, [...blobs, ...others])
      expect(await homesOf(store, others)).to.deep.equal(times(ENOUGH + 3, 'pack'))
      expect((await putAll(store, others)).some(({ isNew }) => isNew)).to.equal(false)
      expect(await packsOf(place)).to.have.length(1)
      await expectTidy()
    })

    it('what was received in part, or is in a file of somebody else', async () => {
      const blobs = blobsOf(ENOUGH + 1)
      await store.importFile(await written(place, blobs[0]), { mode: 'reference' })
      expect(await homesOf(store, blobs.slice(0, 1))).to.deep.equal(['reference'])
      await putAll(store, blobs)
      expect(await homesOf(store, blobs)).to.deep.equal(times(ENOUGH + 1, 'pack'))
      await expectTidy()
    })

    it('1024 blobs at most', async () => {
      const blobs = blobsOf(1100, 2, 1300)
      await putAll(store, blobs)
      expect(await homesOf(store, blobs)).to.deep.equal([...times(1024, 'pack'), ...times(76, 'extents')])
      await expectTidy()
    })

    it('no stream, and nothing under a quota, where all go one by one', async () => {
      await putAll(store, blobsOf(ENOUGH + 1).map(bytes => stream([bytes])))
      await reopen({ quota: 10_000_000 })
      await putAll(store, blobsOf(ENOUGH + 1, 2))
      expect(await packsOf(place)).to.deep.equal([])
    })

    it('nothing in a store that is two levels', async () => {
      const where = { index: new Level(join(place.where, 'a'), {}), data: new Level(join(place.where, 'b'), {}) }
      const memory = await inMemory()
      for (const store of [await BlobStore.open(where), await memory.open()]) {
        const blobs = blobsOf(ENOUGH + 1)
        await putAll(store, blobs)
        expect(await homesOf(store, blobs)).to.deep.equal(times(ENOUGH + 1, 'extents'))
        await deleteAll(store, blobs)
        await store.compact()
        await expectSound(store)
        await store.close()
      }
    })

    it('blocks, under all their names', async () => {
      const blobs = blobsOf(ENOUGH + 1)
      const blocks = await Promise.all(blobs.map(async (bytes, i) => ({ cid: i % 2 ? toCid(hash(bytes)) : CID.createV1(raw.code, await sha256.digest(bytes)), bytes })))
      expect(await listed(asBlockstore(store).putMany(blocks))).to.have.length(blobs.length)
      expect(await homesOf(store, blobs)).to.deep.equal(times(ENOUGH + 1, 'pack'))
      const expectBlocks = async there => {
        for (const { cid, bytes } of there) expect(same(await collect(asBlockstore(store).get(cid)), bytes)).to.equal(true)
      }
      await expectBlocks(blocks)
      // Those under their own names go, and what is left is written anew under its aliases.
      const [own, named] = [1, 0].map(odd => blocks.filter((_, i) => i % 2 === odd))
      await listed(asBlockstore(store).deleteMany([...own, named[0]].map(({ cid }) => cid)))
      expect(await homesOf(store, named.slice(1).map(({ bytes }) => bytes))).to.deep.equal(times(named.length - 1, 'extents'))
      expect(await packsOf(place)).to.deep.equal([])
      await expectBlocks(named.slice(1))
      for (const { cid } of [...own, named[0]]) expect(await asBlockstore(store).has(cid)).to.equal(false)
      await reopen()
      await expectBlocks(named.slice(1))
      await listed(asBlockstore(store).deleteMany(named.map(({ cid }) => cid)))
      expect(await listed(store.list())).to.deep.equal([])
      await expectTidy()
    })
  })

  describe('are read', () => {
    const blobs = [...blobsOf(ENOUGH, 1), ...blobsOf(40, 2, 60), noise(GROUP, 3)]
    beforeEach(() => putAll(store, blobs))

    for (const [way, read] of Object.entries(WAYS)) {
      it(`in whole: ${way}`, async () => {
        for (let life = 0; life < 2; life++, await reopen({ verify: life === 1 })) {
          for (const [i, bytes] of blobs.entries()) expect(same(await read(store, hash(bytes)), bytes), `blob ${i}`).to.equal(true)
        }
      })
    }

    it('in part', async () => {
      const [bytes] = blobs
      for (const verify of [true, false]) {
        for (const [start, end] of [[0, 1], [1, 1024], [5000, 5000], [16_000, GROUP], [GROUP, 20_000], [GROUP + 5, 20_000], [0, 20_000]]) {
          expect(same(await store.bytes(hash(bytes), { start, end, verify }), bytes.subarray(start, end)), `${start} to ${end}`).to.equal(true)
          expect(same(await collect(store.get(hash(bytes), { start, end, verify })), bytes.subarray(start, end)), `${start} to ${end}`).to.equal(true)
        }
      }
    })

    it('as slices, with outboards, and into files', async () => {
      for (const bytes of [blobs[0], blobs[20], blobs.at(-1)]) {
        expect(same(await collect(store.slice(hash(bytes))), sliceOf(bytes))).to.equal(true)
        const range = { start: 20, end: 30 }
        expect(same(await collect(store.slice(hash(bytes), range, { header: false })), sliceOf(bytes, range, { header: false }))).to.equal(true)
        expect(await store.outboard(hash(bytes))).to.include({ size: bytes.length })
        const path = join(place.where, 'exported')
        expect(await store.exportFile(hash(bytes), path)).to.deep.equal({ size: bytes.length })
        expect(same(new Uint8Array(await readFile(path)), bytes)).to.equal(true)
      }
    })

    it('many at once, in any order, and no two share memory', async () => {
      const order = [...blobs, ...blobs.slice(5, 20)].sort((a, b) => a[0] - b[0])
      const got = await listed(store.getMany(rootsOf(order)))
      expect(got.every(({ bytes }, i) => same(bytes, order[i]))).to.equal(true)
      expect(new Set(got.map(({ bytes }) => bytes.buffer)).size).to.equal(order.length)
      for (const { bytes } of got) expect(bytes.buffer.byteLength).to.equal(bytes.length)
      for (const { bytes } of got) bytes.fill(0xff)
      await expectHere(store, blobs)
    })

    it('around what is damaged', async () => {
      const spoilt = [2, 5, 6, 20, blobs.length - 1]
      await expectHere(store, blobs) // files that are open, too
      for (const i of spoilt) await spoil(place, await recordOf(store, blobs[i]))
      for (let life = 0; life < 2; life++, await reopen()) {
        for (const order of [blobs, [...blobs].reverse()]) {
          const got = await listed(store.getMany(rootsOf(order)))
          for (const [i, { bytes, error }] of got.entries()) {
            if (spoilt.includes(blobs.indexOf(order[i]))) expect(error).to.include({ code: 'STORE_CORRUPT', start: 0, len: order[i].length })
            else expect(same(bytes, order[i])).to.equal(true)
          }
        }
        for (const [i, bytes] of blobs.entries()) {
          const error = await errorOf(store.bytes(hash(bytes)))
          expect(error?.code).to.equal(spoilt.includes(i) ? 'STORE_CORRUPT' : undefined)
        }
        expect(await errorOf(collect(store.slice(hash(blobs[2]))))).to.include({ code: 'STORE_CORRUPT' })
        expect(await errorOf(store.exportFile(hash(blobs[2]), join(place.where, 'exported')))).to.include({ code: 'STORE_CORRUPT' })
        expect(await errorOf(stat(join(place.where, 'exported')))).to.include({ code: 'ENOENT' })
      }
    })

    it('as what they are: whole, listed, of a proven size', async () => {
      expect((await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal(rootsOf(blobs).map(hex).sort())
      for (const bytes of blobs) {
        expect(await store.has(hash(bytes))).to.equal(true)
        const { present, ...stat } = await store.stat(hash(bytes))
        expect(stat).to.include({ size: bytes.length, sizeProven: true, complete: true })
        expect(present.toBytes(bytes.length)).to.deep.equal([[0, bytes.length]])
        expect((await store.missing(hash(bytes))).isEmpty).to.equal(true)
      }
    })

    it('and put or received again without any effect', async () => {
      for (const bytes of blobs) {
        expect(await store.put(bytes)).to.include({ isNew: false })
        expect(await store.receive(hash(bytes), sliceOf(bytes))).to.deep.equal({ received: 0, complete: true })
      }
      expect(await homesOf(store, blobs)).to.deep.equal(times(blobs.length, 'pack'))
      await expectTidy()
    })
  })

  it('give each who asks memory of his own, also when a blob is asked for twice', async () => {
    const blobs = blobsOf(ENOUGH + 1)
    await putAll(store, blobs)
    for (const many of [store.getMany(times(3, hash(blobs[1]))), asBlockstore(store).getMany(times(3, toCid(hash(blobs[1]))))]) {
      const got = (await listed(many)).map(({ bytes }) => bytes)
      const pieces = got[0] instanceof Uint8Array ? got : await Promise.all(got.map(collect))
      expect(new Set(pieces.map(({ buffer }) => buffer)).size).to.equal(3)
      pieces[0].fill(0)
      expect(same(pieces[1], blobs[1])).to.equal(true)
    }
  })

  it('that cannot be read are told blob by blob, and cost no other its turn', async () => {
    const blobs = blobsOf(ENOUGH + 1)
    await putAll(store, blobs)
    const single = noise(100)
    await store.put(single)
    await expectHere(store, blobs.slice(0, 1)) // it is open now, and read on this thread
    const { packs } = partsOf(store).databases
    const { readNow } = packs
    packs.readNow = () => { throw new Error('the disk says no') }
    const got = await listed(store.getMany([...rootsOf(blobs.slice(0, 2)), hash(single)]))
    expect(got.map(({ error }) => error)).to.deep.equal([undefined, undefined, undefined])
    packs.readNow = readNow
  })

  it('are not opened any more once the store is closed', async () => {
    const blobs = blobsOf(ENOUGH + 1)
    await putAll(store, blobs)
    const [id] = await packsOf(place)
    const { packs } = partsOf(store).databases
    await store.close()
    expect(() => packs.reader(id)).to.throw('closed')
    expect(await errorOf(packs.writer(id))).to.match(/closed/)
  })

  it('are no directories, and have no names that are no ids', async () => {
    const blobs = blobsOf(ENOUGH + 1)
    await putAll(store, blobs)
    await mkdir(pathOf(place, 77))
    for (const name of ['99999999999999999999', '1e3', '-1', '007', '.DS_Store']) await writeFile(pathOf(place, name), 'x')
    await reopen()
    const { cid } = await store.put(noise(100))
    expect(await store.has(cid)).to.equal(true)
    await expectSound(store)
    await expectHere(store, blobs)
  })

  describe('lose blobs', () => {
    const blobs = blobsOf(2 * ENOUGH + 6)
    const [few, most] = [blobs.slice(0, 3), blobs.slice(0, ENOUGH + 3)]
    const rest = blobs.slice(most.length)
    beforeEach(() => putAll(store, blobs))

    it('and keep holes for them, until half of it is holes: then what is left comes into another', async () => {
      const [id] = await packsOf(place)
      await deleteAll(store, few)
      expect(await holesOfStore(store)).to.deep.equal({ [id]: 3 })
      await reopen()
      expect(await holesOfStore(store)).to.deep.equal({ [id]: 3 })
      expect(await packsOf(place)).to.deep.equal([id])
      await expectHere(store, blobs.slice(3))
      await expectSound(store)
      await deleteAll(store, most.slice(3))
      const packs = await packsOf(place)
      expect(packs).to.have.length(1).and.to.not.include(id)
      expect((await stat(pathOf(place, packs[0]))).size).to.be.below(rest.length * (GROUP + 100))
      expect(await holesOfStore(store)).to.deep.equal({})
      await expectGone(store, most)
      await expectHere(store, rest)
      await reopen()
      await expectGone(store, most)
      await expectHere(store, rest)
      expect(await homesOf(store, rest)).to.deep.equal(times(rest.length, 'pack'))
      await expectTidy()
    })

    it('and what is left is too little for another: it comes into extents', async () => {
      await deleteAll(store, blobs.slice(0, 15))
      expect(await packsOf(place), 'written anew once').to.have.length(1)
      const { created, ...before } = await store.stat(hash(blobs[20]))
      await deleteAll(store, blobs.slice(15, 17))
      expect(await packsOf(place)).to.deep.equal([])
      expect(await homesOf(store, blobs.slice(17))).to.deep.equal(times(5, 'extents'))
      await reopen()
      await expectHere(store, blobs.slice(17))
      expect((await store.stat(hash(blobs[20]))).created.getTime()).to.equal(created.getTime())
      expect(await store.stat(hash(blobs[20]))).to.include({ size: before.size, complete: true })
      await expectTidy()
    })

    it('one after the other, to the last', async () => {
      for (const [i, bytes] of blobs.entries()) {
        expect(await store.delete(hash(bytes))).to.equal(true)
        expect(await store.delete(hash(bytes))).to.equal(false)
        await expectGone(store, [bytes])
        if (i % 5 === 0) await expectHere(store, blobs.slice(i + 1))
      }
      expect(await packsOf(place)).to.deep.equal([])
      expect(await holesOfStore(store)).to.deep.equal({})
      expect(await listed(store.list())).to.deep.equal([])
      await expectTidy()
    })

    it('all at once', async () => {
      expect(await Promise.all(rootsOf(blobs).map(root => store.delete(root)))).to.deep.equal(times(blobs.length, true))
      await expectGone(store, blobs)
      expect(await packsOf(place)).to.deep.equal([])
      await expectTidy()
    })

    it('that are put again, and are elsewhere then', async () => {
      await deleteAll(store, few)
      for (const bytes of few) expect(await store.put(bytes)).to.include({ isNew: true })
      expect(await homesOf(store, few)).to.deep.equal(times(3, 'extents'))
      const [old] = await packsOf(place)
      await store.compact()
      const [id] = await packsOf(place)
      expect(id).to.not.equal(old)
      await deleteAll(store, [few[0], ...most.slice(3)])
      await putAll(store, most)
      expect(await packsOf(place)).to.have.length(2)
      await expectHere(store, blobs)
      await reopen()
      await expectHere(store, blobs)
      await expectTidy()
    })

    it('to a collection of garbage, but none that is tagged', async () => {
      const roots = rootsOf(rest)
      await store.tags.set('one', roots[0])
      const sequence = concat(roots)
      await store.put(sequence, { tag: 'sequence', format: 'hashseq' })
      expect(await store.gc()).to.deep.equal({ blobs: most.length, bytes: most.reduce((sum, { length }) => sum + length, 0) })
      expect(await holesOfStore(store)).to.deep.equal({})
      expect(await packsOf(place)).to.have.length(1)
      await expectHere(store, rest)
      await expectGone(store, most)
      expect(await errorOf(store.delete(roots[0]))).to.include({ code: 'STORE_TAGGED' })
      await store.tags.delete('sequence')
      expect(await store.gc()).to.include({ blobs: rest.length }) // and the sequence
      await expectHere(store, rest.slice(0, 1))
      expect(await packsOf(place)).to.deep.equal([])
      await expectTidy()
    })

    it('and a collection that is called off while they are written anew ends there', async () => {
      partsOf(store).packs.tidy = async () => {}
      const others = blobsOf(2 * ENOUGH + 6, 9)
      await putAll(store, others)
      for (const all of [blobs, others]) await deleteAll(store, all.slice(1))
      const { packs } = partsOf(store)
      const { rewrite } = packs
      const reason = new Error('enough')
      const abort = new AbortController()
      packs.rewrite = (...args) => {
        abort.abort(reason)
        return rewrite.apply(packs, args)
      }
      for (const all of [blobs, others]) await store.tags.set(hex(hash(all[0])), hash(all[0]))
      expect(await errorOf(store.gc({ signal: abort.signal }))).to.equal(reason)
      expect(await packsOf(place)).to.have.length(1)
      expect(await errorOf(store.compact({ signal: abort.signal }))).to.equal(reason)
      await store.compact()
      expect(await packsOf(place)).to.have.length(0)
      await expectHere(store, [blobs[0], others[0]])
    })

    it('and are not written anew while one is damaged that is wanted: who compacts is told, and so often as it is asked for only', async () => {
      const record = await recordOf(store, blobs[20])
      await spoil(place, record)
      const cid = toCid(hash(blobs[20]))
      await store.delete(hash(blobs[0]))
      expect(await errorOf(store.compact())).to.include({ code: 'STORE_CORRUPT' }).and.to.have.property('cid').that.deep.equals(cid)
      await deleteAll(store, most.slice(1))
      expect(await packsOf(place)).to.deep.equal([record.id])
      await expectHere(store, rest.filter(bytes => bytes !== blobs[20]))
      await store.fsck({ repair: true })
      expect(await packsOf(place)).to.have.length(1).and.to.not.include(record.id)
      await store.receive(cid, sliceOf(blobs[20]))
      await expectHere(store, rest)
      await expectTidy()
    })

    for (const [what, spoilRecord] of Object.entries({
      'whose record is damaged': async (index, key) => index.put(key, flipped(await index.get(key, VIEWS), 25), VIEWS),
      'whose record is lost': (index, key) => index.del(key, VIEWS)
    })) {
      it(`and are not written anew without one ${what}: fsck is to judge that first`, async () => {
        const { index } = partsOf(store).databases
        const { id } = await recordOf(store, blobs[20])
        await spoilRecord(index, blobKey(hash(blobs[20])))
        await deleteAll(store, most)
        await store.gc({ dryRun: true })
        expect(await errorOf(store.compact())).to.include({ code: 'STORE_CORRUPT' })
        await store.fsck()
        expect(await packsOf(place)).to.deep.equal([id])
        await index.put(Uint8Array.of(1, 2, 3), Uint8Array.of(4), VIEWS) // so that records may have been lost
        await store.fsck({ repair: true })
        expect(await packsOf(place)).to.have.length(1).and.to.not.include(id)
        await expectHere(store, rest)
        await expectGone(store, most)
        await expectTidy()
      })
    }

    it('and are written anew another time when they could not be read', async () => {
      const { packs } = partsOf(store).databases
      const { reader } = packs
      const reason = Object.assign(new Error('the disk is busy'), { code: 'EIO' })
      const [id] = await packsOf(place)
      packs.reader = () => { throw reason }
      await deleteAll(store, most)
      expect(await errorOf(store.compact())).to.equal(reason)
      packs.reader = reader
      expect(await packsOf(place)).to.deep.equal([id])
      await store.delete(hash(rest[0]))
      expect(await packsOf(place)).to.not.include(id)
      await expectHere(store, rest.slice(1))
      await expectTidy()
    })

    it('and a collection of garbage sees to holes that were left', async () => {
      partsOf(store).packs.tidy = async () => {} // as if the process had ended before
      for (const [i, bytes] of blobs.entries()) if (i > 0) await store.delete(hash(bytes))
      expect(await packsOf(place)).to.have.length(1)
      await reopen()
      expect(await packsOf(place)).to.have.length(1)
      await store.tags.set('one', hash(blobs[0]))
      expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
      expect(await packsOf(place)).to.deep.equal([])
      expect(await homesOf(store, blobs.slice(0, 1))).to.deep.equal(['extents'])
      await expectHere(store, blobs.slice(0, 1))
      await expectTidy()
    })

    it('and give the room of one hole back when they are compacted', async () => {
      await store.compact()
      const [id] = await packsOf(place)
      const { size } = await stat(pathOf(place, id))
      await deleteAll(store, few.slice(0, 1))
      await store.compact()
      const [later] = await packsOf(place)
      expect(later, 'a whole one had been left alone').to.be.above(id)
      expect((await stat(pathOf(place, later))).size).to.be.below(size - few[0].length)
      expect(await holesOfStore(store)).to.deep.equal({})
      await expectHere(store, blobs.slice(1))
      await expectTidy()
    })

    it('under a quota, those first that were used least', async () => {
      const len = blobs.reduce((sum, { length }) => sum + length, 0)
      await expectHere(store, rest)
      await reopen({ quota: len + 1000 })
      for (const root of rootsOf(rest)) await store.bytes(root)
      const big = noise(most.reduce((sum, { length }) => sum + length, 0), 99)
      await store.put(big)
      await expectGone(store, most)
      await expectHere(store, [...rest, big])
      expect(await homesOf(store, rest)).to.deep.equal(times(rest.length, 'pack'))
      expect(await holesOfStore(store)).to.deep.equal({})
      await store.put(noise(len, 98))
      await expectGone(store, [...rest, big])
      expect(await packsOf(place)).to.deep.equal([])
      await expectTidy()
    })
  })

  describe('are written anew while', () => {
    const blobs = blobsOf(ENOUGH + 4)
    const [gone, bytes] = blobs
    const root = hash(bytes)
    beforeEach(() => putAll(store, blobs))
    /** The pack goes, and what is wanted of it is in another. */
    async function rewrite () {
      const before = await packsOf(place)
      await store.delete(hash(gone))
      await store.compact()
      expect(await packsOf(place)).to.have.length(1).and.to.not.deep.equal(before)
    }

    it('somebody has taken the header of a slice', async () => {
      const slice = store.slice(root)
      const { value: header } = await slice.next()
      expect(header.length).to.be.below(bytes.length)
      const first = new Uint8Array(header)
      await rewrite()
      expect(same(concat([first, await collect(slice)]), sliceOf(bytes))).to.equal(true)
    })

    it('somebody has taken the header of a slice of a blob that is deleted', async () => {
      const slice = store.slice(root)
      const first = new Uint8Array((await slice.next()).value)
      await deleteAll(store, blobs)
      expect(await packsOf(place)).to.deep.equal([])
      const error = await errorOf(async () => expect(same(concat([first, await collect(slice)]), sliceOf(bytes))).to.equal(true))
      if (error) expect(error).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await errorOf(collect(store.slice(root)))).to.include({ code: 'STORE_NOT_FOUND' })
    })

    /** Lets something happen when the record of the blob has just been looked up. @param {() => Promise<unknown>} happens */
    function behindLookup (happens) {
      const { catalog } = partsOf(store)
      const [record, lookMany] = [catalog.record, catalog.lookMany]
      const behind = look => async (...args) => {
        const found = await look.apply(catalog, args)
        Object.assign(catalog, { record, lookMany })
        await happens()
        return found
      }
      Object.assign(catalog, { record: behind(record), lookMany: behind(lookMany) })
    }

    for (const [way, read] of Object.entries({ ...WAYS, 'a slice': (store, root) => collect(store.slice(root, undefined, { header: false })) })) {
      const due = way === 'a slice' ? sliceOf(bytes, undefined, { header: false }) : bytes
      it(`somebody has looked up where a blob is: ${way}`, async () => {
        for (let round = 0; round < 2; round++, await reopen()) { // the file is open, or not
          if (round === 0) await read(store, root)
          let isRewritten = false
          behindLookup(async () => {
            await rewrite()
            isRewritten = true
          })
          expect(same(await read(store, root), due)).to.equal(true)
          expect(isRewritten).to.equal(true)
          await store.put(gone)
          await deleteAll(store, blobs)
          await putAll(store, blobs)
        }
      })
    }

    it('somebody has looked up where a blob is, which is deleted then', async () => {
      await reopen()
      behindLookup(() => deleteAll(store, blobs))
      expect(await errorOf(collect(store.get(root)))).to.include({ code: 'STORE_NOT_FOUND' })
      await putAll(store, blobs)
      await reopen()
      behindLookup(() => deleteAll(store, blobs))
      expect((await listed(store.getMany([root])))[0].error).to.include({ code: 'STORE_NOT_FOUND' })
    })

    it('others are deleted, put, read and listed', async () => {
      const packs = [blobsOf(20, 10), blobsOf(20, 11), blobsOf(20, 12)]
      for (const blobs of packs) await putAll(store, blobs)
      const kept = packs.map(blobs => blobs.slice(16)).flat()
      const doomed = packs.map(blobs => blobs.slice(0, 16)).flat()
      const others = [blobsOf(20, 13), blobsOf(20, 14)]
      await Promise.all([
        ...rootsOf(doomed).map(root => store.delete(root)),
        ...rootsOf(kept).map(async (root, i) => expect(same(await store.bytes(root), kept[i])).to.equal(true)),
        ...others.map(blobs => putAll(store, blobs)),
        ...rootsOf(doomed).map(async (root, i) => {
          const got = []
          const error = await errorOf(async () => got.push(await collect(store.get(root))))
          if (error) expect(error).to.include({ code: 'STORE_NOT_FOUND' })
          else expect(same(got[0], doomed[i])).to.equal(true)
        }),
        (async () => { for (const { error, bytes } of await listed(store.getMany(rootsOf(kept)))) expect(error ?? bytes).to.be.instanceOf(Uint8Array) })(),
        putAll(store, kept),
        store.compact(),
        store.fsck({ repair: true }).then(({ damaged, records }) => expect([...damaged, ...records]).to.deep.equal([])),
        listed(store.list())
      ])
      await expectGone(store, doomed)
      await expectHere(store, [...kept, ...others.flat(), ...blobs])
      await reopen()
      await expectGone(store, doomed)
      await expectHere(store, [...kept, ...others.flat(), ...blobs])
      await store.compact()
      expect(await holesOfStore(store)).to.deep.equal({})
      await expectTidy()
    })

    it('the same blobs come in two batches at once', async () => {
      const [one, other] = [blobsOf(30, 20), blobsOf(30, 20).reverse()]
      const [first, second] = await Promise.all([putAll(store, one), putAll(store, other)])
      expect([...first, ...second].filter(({ isNew }) => isNew)).to.have.length(30)
      expect(await packsOf(place)).to.have.length(2)
      await expectHere(store, one)
      await expectTidy()
    })

    it('a blob of it is deleted between the look and the lock', async () => {
      const { catalog, packs } = partsOf(store)
      const { lookMany } = catalog
      let looks = 0
      await store.delete(hash(gone))
      catalog.lookMany = async roots => {
        const found = await lookMany.call(catalog, roots)
        if (looks++ === 0) await catalog.remove(root, await catalog.record(root))
        return found
      }
      await packs.tidyAll({ isThorough: true })
      catalog.lookMany = lookMany
      expect(looks).to.equal(2)
      await expectGone(store, [gone, bytes])
      await expectHere(store, blobs.slice(2))
      await expectTidy()
    })
  })
})

/** A file of somebody else. */
async function written (place, bytes) {
  const path = join(place.where, 'theirs')
  const file = await open(path, 'w')
  await file.write(bytes)
  await file.close()
  return path
}

/** Changes a byte of a packed blob on the disk. */
async function spoil (place, { id, offset, size }) {
  const file = await open(pathOf(place, id), 'r+')
  const at = offset + (size >> 1)
  const { buffer } = await file.read(new Uint8Array(1), 0, 1, at)
  buffer[0] ^= 1
  await file.write(buffer, 0, 1, at)
  await file.close()
}
