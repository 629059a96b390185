// Packs that a disk has damaged, and what speaks of them in the index. What is damaged is found and dropped, and can be received again; nothing else is lost.
import { appendFile, cp, mkdtemp, open, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { partsOf } from '../../store/blobs.js'
import { checkOf, encode } from '../../store/values.js'
import { allHoles, blobKey, extentKey, holeKey } from '../../store/keys.js'
import { concat, flipped, hex } from '../support/bytes.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectNoOrphans, sliceOf } from '../support/stores.js'
import { GROUP, blobsOf, deleteAll, expectGone, expectHere, expectSound, newPlaces, packsOf, pathOf, putAll, recordOf } from './packing.js'

const VIEWS = { keyEncoding: 'view', valueEncoding: 'view' }
const [FIRST, SECOND] = [blobsOf(20, 1), blobsOf(9, 2)]
const DELETED = FIRST.slice(3, 6)
const KEPT = FIRST.filter(bytes => !DELETED.includes(bytes))
const OTHERS = [noise(20_000, 3), noise(300, 4)]
const HEAD_LEN = 8 + FIRST.length * 40 + 8

describe('store: fsck of packs', () => {
  let sound
  /** The packs, and where everything is. */
  let first, second, records
  before(async () => {
    sound = await mkdtemp(join(tmpdir(), 'baobox-'))
    const store = await BlobStore.open(sound)
    await putAll(store, FIRST)
    await putAll(store, SECOND)
    for (const bytes of OTHERS) await store.put(bytes)
    await deleteAll(store, DELETED)
    ;[first, second] = await packsOf({ where: sound })
    records = new Map()
    for (const bytes of [...KEPT, ...SECOND, ...OTHERS]) records.set(bytes, await recordOf(store, bytes))
    await store.close()
  })
  after(() => rm(sound, { recursive: true }))

  const newPlace = newPlaces()
  let place, path
  beforeEach(async () => {
    place = await newPlace()
    await cp(sound, place.where, { recursive: true })
    path = pathOf(place, first)
  })

  /**
   * Whatever was damaged: it is found, and found again by a repair, after which there is nothing to be found; what is lost can be received, and all others are here.
   *
   * @param {{ lost?: Uint8Array[], strays?: number, orphans?: number, gone?: Uint8Array[], more?: Uint8Array[] }} what  `gone`: blobs that are not here any more, nor known
   */
  async function expectMended ({ lost = [], strays = 0, orphans = 0, gone = DELETED, more = [] }) {
    const all = [...KEPT, ...SECOND, ...OTHERS, ...more].filter(bytes => !gone.includes(bytes))
    const right = all.filter(bytes => !lost.includes(bytes))
    const store = await place.open({ durability: 'process' })
    for (const repair of [false, true]) {
      const { damaged, ...report } = await store.fsck({ repair })
      expect(damaged.map(({ cid }) => hex(cid.multihash.digest)), 'damaged').to.have.members(lost.map(bytes => hex(hash(bytes))))
      for (const { size, lost } of damaged) expect(lost.toBytes(size)).to.deep.equal([[0, size]])
      expect(report, `repair: ${repair}`).to.include({ strays, orphans, isSound: lost.length + strays + orphans === 0, isReadable: true, blobs: all.length })
      expect(report.records).to.deep.equal([])
      if (!repair) await expectHere(store, right)
    }
    await expectSettled(store, { lost, right, gone })
  }

  async function expectSettled (store, { lost = [], right, gone }) {
    await expectSound(store)
    for (const bytes of lost) {
      expect(await store.has(hash(bytes))).to.equal(false)
      expect(await store.receive(hash(bytes), sliceOf(bytes))).to.deep.equal({ received: bytes.length, complete: true })
    }
    await store.close()
    await expectNoOrphans(place)
    store = await place.open({ durability: 'process' })
    await store.compact()
    await expectSound(store)
    await expectHere(store, [...right, ...lost])
    await expectGone(store, gone)
    await store.close()
    await expectNoOrphans(place)
  }

  /** Flips a bit in each of these places. @param {number[]} places */
  async function flip (...places) {
    const bytes = new Uint8Array(await readFile(path))
    for (const at of places) bytes[at] ^= 1 << at % 8
    await writeFile(path, bytes)
  }
  const startOf = bytes => records.get(bytes).offset

  describe('finds what is damaged of', () => {
    it('a blob, wherever that is, and any of its bytes', async () => {
      const [one, other, last] = [KEPT[0], KEPT[8], KEPT.at(-1)]
      await flip(startOf(one), startOf(other) + 7777, startOf(last) + last.length - 1)
      await expectMended({ lost: [one, other, last] })
    })

    for (const [what, at] of Object.entries({ 'the count, first byte': 0, 'the count, last byte': 7, 'a hash': 8 + 40 * 6 + 5, 'the hash of a blob that is deleted': 8 + 40 * 4, 'a size, first byte': 8 + 32, 'a size, last byte': 8 + 40 * 2 - 1, 'the check': HEAD_LEN - 3 })) {
      it(`the list: ${what}`, async () => {
        await flip(at)
        await expectMended({ strays: 1 })
        expect(await packsOf(place)).to.not.include(first)
      })
    }

    it('the list and a blob', async () => {
      await flip(20, startOf(KEPT[2]) + 100)
      await expectMended({ strays: 1, lost: [KEPT[2]] })
    })

    it('most of its blobs: the others are written anew', async () => {
      const lost = KEPT.slice(2)
      await flip(...lost.map(startOf))
      await expectMended({ lost })
      expect(await packsOf(place)).to.not.include(first)
    })

    it('a pack that is cut short', async () => {
      await truncate(path, startOf(KEPT[10]) + KEPT[10].length - 1)
      await expectMended({ lost: KEPT.slice(10) })
    })

    for (const len of [0, 7, 8, HEAD_LEN - 1]) {
      it(`a pack that is cut short in its list, to ${len} bytes`, async () => {
        await truncate(path, len)
        await expectMended({ lost: KEPT, strays: 1 })
      })
    }

    it('a pack that has lost all behind its list', async () => {
      await truncate(path, HEAD_LEN)
      await expectMended({ lost: KEPT })
    })

    it('a pack that is gone', async () => {
      await rm(path)
      await expectMended({ lost: KEPT })
    })

    it('two that have each other\'s names', async () => {
      await rename(path, `${path}.away`)
      await rename(pathOf(place, second), path)
      await rename(`${path}.away`, pathOf(place, second))
      const store = await place.open({ durability: 'process' })
      const { damaged, strays } = await store.fsck({ repair: true })
      expect(strays).to.equal(2)
      expect(damaged).to.have.length(KEPT.length + SECOND.length)
      await expectSettled(store, { right: [...KEPT, ...SECOND, ...OTHERS], gone: DELETED }) // each has found its own in the other's file
    })

    it('nothing: of what is deleted, or behind the end', async () => {
      await flip(startOf(KEPT[2]) + KEPT[2].length + 5)
      await appendFile(path, noise(100))
      await expectMended({})
    })
  })

  /** The index and the data while no store has them. */
  const change = at => place.look(at)

  describe('finds what is damaged around them', () => {
    it('a hole that is lost: the blob stays deleted', async () => {
      await change(({ index }) => index.del(holeKey(first, startOf(KEPT[2]) + KEPT[2].length), VIEWS))
      await expectMended({ orphans: 1 })
    })

    for (const [what, spoil] of Object.entries({
      value: (index, key, value) => index.put(key, flipped(value, 9), VIEWS),
      'value, which is short': (index, key, value) => index.put(key, value.slice(0, 8), VIEWS),
      key: async (index, key, value) => {
        await index.del(key, VIEWS)
        await index.put(flipped(key, 16), value, VIEWS)
      }
    })) {
      it(`a hole whose ${what} is damaged: the blob stays deleted`, async () => {
        await change(async ({ index }) => {
          const [[key, value]] = await index.iterator({ ...allHoles, ...VIEWS }).all()
          await spoil(index, key.slice(), value.slice())
        })
        const store = await place.open({ durability: 'process' })
        expect(await store.fsck()).to.include({ isSound: false, strays: 1, orphans: 1 })
        await store.fsck({ repair: true })
        await expectSettled(store, { right: [...KEPT, ...SECOND, ...OTHERS], gone: DELETED })
      })
    }

    it('data under its id: that goes, and the pack stays', async () => {
      await change(({ data }) => data.put(extentKey(first, 0), noise(2000), VIEWS))
      await expectMended({ strays: 1 })
    })

    it('a file for large blobs under its id: that goes, and the pack stays', async () => {
      await writeFile(join(place.where, 'blobs', `${first}`), noise(2000))
      await expectMended({ strays: 1 })
      await change(async ({ data }) => data.put(extentKey(second, 0), noise(2000), VIEWS))
      await writeFile(join(place.where, 'blobs', `${second}`), noise(2000))
      await expectMended({ strays: 2 })
    })

    it('a file among the packs under the id of another blob: that goes, and the blob stays', async () => {
      const store = await place.open()
      const long = noise(1_100_000, 5)
      await store.put(long)
      const ids = [...OTHERS.map(bytes => records.get(bytes).id), (await recordOf(store, long)).id]
      await store.close()
      for (const id of ids) await writeFile(pathOf(place, id), noise(2000))
      await expectMended({ strays: 3, more: [long] })
      expect(await packsOf(place)).to.have.length(2)
    })

    it('a file among the packs that is none', async () => {
      await writeFile(pathOf(place, 5000), noise(200_000))
      await writeFile(pathOf(place, 5001), noise(0))
      await expectMended({ strays: 2 })
    })
  })

  describe('gives records back', () => {
    const damage = blobs => change(async ({ index }) => {
      for (const bytes of blobs) await index.put(blobKey(hash(bytes)), flipped(await index.get(blobKey(hash(bytes)), VIEWS), 25), VIEWS)
    })
    const lose = blobs => change(({ index }) => index.batch(blobs.map(bytes => ({ type: 'del', key: blobKey(hash(bytes)) })), VIEWS))
    const restoredIn = report => report.records.filter(({ isRestored }) => isRestored).map(({ cid }) => hex(cid.multihash.digest)).sort()
    const namesOf = blobs => blobs.map(bytes => hex(hash(bytes))).sort()
    const everything = { right: [...KEPT, ...SECOND, ...OTHERS], gone: DELETED }

    for (const [what, blobs] of Object.entries({ one: KEPT.slice(1, 2), 'all of a pack': KEPT, 'of both packs': [...KEPT.slice(5), ...SECOND.slice(5)] })) {
      it(`that are damaged: ${what}`, async () => {
        await damage(blobs)
        const store = await place.open({ durability: 'process' })
        const report = await store.fsck()
        expect(report.records).to.have.length(blobs.length)
        expect(report).to.include({ orphans: 0, strays: 0, isSound: false })
        expect(restoredIn(await store.fsck({ repair: true }))).to.deep.equal(namesOf(blobs))
        await expectSettled(store, everything)
      })

      it(`that are gone without a trace, by a repair: ${what}`, async () => {
        await lose(blobs)
        expect(restoredIn(await BlobStore.repair(place.where))).to.deep.equal(namesOf(blobs))
        await expectSettled(await place.open({ durability: 'process' }), everything)
      })
    }

    for (const [what, at, lost] of [
      ['how many there are', 7, []],
      ['a hash', 8 + 40 * 7 + 5, [7]],
      ['a size, so that all behind it are elsewhere', 8 + 40 * 7 + 39, [7, Infinity]],
      ['a size that cannot be', 8 + 40 * 7 + 33, [7, Infinity]],
      ['the check', HEAD_LEN - 3, []]
    ]) {
      it(`that are gone without a trace, though the list is damaged, too: ${what}`, async () => {
        await rm(join(place.where, 'index'), { recursive: true })
        await flip(at)
        await BlobStore.repair(place.where)
        const store = await place.open({ durability: 'process' })
        const isLost = (_, i) => i >= (lost[0] ?? Infinity) && i <= (lost[1] ?? lost[0])
        await expectHere(store, [...FIRST.filter((_, i) => !isLost(_, i)), ...SECOND])
        await expectGone(store, FIRST.filter(isLost))
        await expectSound(store)
        await store.close()
      })
    }

    it('that are damaged, and nothing is given up because it could not be read just now', async () => {
      await damage(KEPT)
      const store = await place.open({ durability: 'process' })
      const { packs } = partsOf(store).databases
      const { reader } = packs
      const reason = Object.assign(new Error('the disk is busy'), { code: 'EIO' })
      let reads = 0
      packs.reader = id => {
        if (++reads > 5) throw reason
        return reader.call(packs, id)
      }
      expect(await errorOf(store.fsck({ repair: true }))).to.equal(reason)
      packs.reader = reader
      await store.fsck({ repair: true })
      await expectSettled(store, everything)
    })

    it('that are gone, when something else in the index was never written so', async () => {
      await lose(KEPT.slice(0, 4))
      await change(({ index }) => index.put(Uint8Array.of(1, 2, 3), Uint8Array.of(4), VIEWS))
      const store = await place.open({ durability: 'process' })
      expect(await store.fsck()).to.include({ orphans: 4, strays: 1 })
      expect(restoredIn(await store.fsck({ repair: true }))).to.deep.equal(namesOf(KEPT.slice(0, 4)))
      await expectSettled(store, everything)
    })

    it('but not when nothing tells that they were lost', async () => {
      await lose(KEPT.slice(0, 2))
      await expectMended({ orphans: 2, gone: [...DELETED, ...KEPT.slice(0, 2)] })
    })

    it('but not of blobs that are damaged, too', async () => {
      await damage(KEPT.slice(0, 2))
      await flip(startOf(KEPT[0]) + 3)
      const store = await place.open({ durability: 'process' })
      const report = await store.fsck({ repair: true })
      expect(restoredIn(report)).to.deep.equal(namesOf(KEPT.slice(1, 2)))
      expect(report.records).to.have.length(2)
      await expectSettled(store, { right: [...KEPT.slice(1), ...SECOND, ...OTHERS], gone: [...DELETED, KEPT[0]] })
    })

    it('but none to what is deleted meanwhile', async () => {
      await change(({ index }) => index.put(Uint8Array.of(1, 2, 3), Uint8Array.of(4), VIEWS)) // so that records may have been lost
      const store = await place.open({ durability: 'process' })
      const { packs, catalog } = partsOf(store)
      for (const [part, method] of [[packs, 'holesIn'], [catalog, 'lookMany']]) {
        const original = part[method]
        const doomed = method === 'holesIn' ? SECOND[0] : SECOND[1]
        let isDone = false
        part[method] = async (...args) => {
          const found = await original.apply(part, args)
          if (!isDone && (method === 'holesIn' ? args[0] === second : args[0].length === SECOND.length)) {
            isDone = true
            await catalog.remove(hash(doomed), await catalog.record(hash(doomed)))
          }
          return found
        }
        expect(await store.fsck({ repair: true })).to.deep.include({ orphans: 0, records: [] })
        expect(isDone).to.equal(true)
        part[method] = original
        await expectGone(store, [doomed])
      }
      await expectSettled(store, { right: [...KEPT, ...SECOND.slice(2), ...OTHERS], gone: [...DELETED, ...SECOND.slice(0, 2)] })
    })
  })

  describe('believes nothing that a list claims, though its check is right:', () => {
    const listOf = (id, count, entries) => {
      const list = encode({ u64: count }, ...entries.flatMap(({ root, size }) => [root, { u64: size }]))
      return concat([list, checkOf(encode({ u64: id }), list)])
    }
    const some = noise(3000, 9)
    const entry = { root: hash(some), size: some.length }
    const ID = 7000

    for (const [what, { count, entries, bytes = some, found = { strays: 1 } }] of Object.entries({
      'no blobs': { count: 0, entries: [] },
      'more blobs than there can be': { count: 2 ** 52, entries: [entry] },
      'more blobs than the file has': { count: 1024, entries: [entry] },
      'more blobs than a pack has': { count: 1025, entries: Array(1025).fill(entry) },
      'a blob that is very long': { count: 1, entries: [{ ...entry, size: 2 ** 45 }] },
      'a blob that is a little too long': { count: 1, entries: [{ ...entry, size: GROUP + 1 }], bytes: noise(GROUP + 1) },
      'an empty blob': { count: 2, entries: [{ root: hash(noise(0)), size: 0 }, entry] },
      'a size that is no number': { count: 1, entries: [{ ...entry, size: 2 ** 64 - 2048 }] },
      'blobs behind the end': { count: 1024, entries: Array.from({ length: 1024 }, (_, i) => ({ root: hash(noise(10, i + 1)), size: GROUP })), found: { orphans: 1024 } },
      'a blob twice': { count: 2, entries: [entry, entry], bytes: concat([some, some]), found: { orphans: 2 } },
      'a blob that nobody speaks of': { count: 1, entries: [entry], found: { orphans: 1 } },
      'a blob that is somewhere else': { count: 1, entries: [{ root: hash(KEPT[0]), size: KEPT[0].length }], bytes: KEPT[0], found: { orphans: 1 } },
      'the empty blob with bytes': { count: 1, entries: [{ root: hash(noise(0)), size: some.length }], found: { orphans: 1 } }
    })) {
      it(what, async () => {
        await writeFile(pathOf(place, ID), concat([listOf(ID, count, entries), bytes]))
        await expectMended(found)
        expect(await packsOf(place)).to.not.include(ID)
      })
    }

    it('other places than the records know, in a pack that is there', async () => {
      const file = await open(path, 'r+')
      await file.write(listOf(first, FIRST.length, FIRST.map((bytes, i) => ({ root: hash(bytes), size: i === 0 ? bytes.length - 1 : bytes.length }))))
      await file.close()
      const store = await place.open({ durability: 'process' })
      expect((await store.fsck()).isSound).to.equal(false)
      await store.fsck({ repair: true })
      await store.fsck({ repair: true })
      await expectSound(store)
      await expectHere(store, [...SECOND, ...OTHERS])
      for (const bytes of KEPT) {
        const missing = await store.missing(hash(bytes))
        if (!missing.isEmpty) await store.receive(hash(bytes), sliceOf(bytes))
      }
      await expectSettled(store, { right: [...KEPT, ...SECOND, ...OTHERS], gone: DELETED })
    })
  })
})
