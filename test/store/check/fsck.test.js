// A store that is looked through: what is damaged is found, where it is; what is put right is right; and what is dropped can be received again.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { VIEWS } from '../../support/constants.js'
import { concat, flipped, hex, same } from '../../support/bytes.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import {
  changeRecord, damageRecord, databasesOf, deletionEntry, entriesOf, idsIn, isPage, malformedKeys, readRecord,
  recordEntry, recordsIn, scannedIdsIn, stateEntry, tagBesideBlobEntry, tagEntry, usedEntry, writeRecord
} from '../../support/store/inspect.js'
import { forEachPlace, gated, newStores, sliceOf } from '../../support/store/stores.js'
import { ALL, BYTES, EXTENT, FILLS, GROUP, ROOT, expectHere, expectSound, fetchMissing, groups } from '../../support/store/mending.js'

const PAGE = 64 * GROUP
const BITS = 8

describe('store: fsck', () => {
  forEachPlace(newPlace => {
    it('finds nothing in a store that is sound, and changes nothing', async () => {
      const place = await newPlace()
      const store = await place.open()
      await expectSound(store)
      for (const size of [1000, GROUP, GROUP + 1, EXTENT, EXTENT + 1, PAGE, PAGE + 1, 70 * GROUP + 5, 140 * GROUP]) {
        await store.put(noise(size, 1))
        const bytes = noise(size, 2)
        await store.receive(hash(bytes), sliceOf(bytes))
        const part = noise(size, 3)
        await store.receive(hash(part), sliceOf(part, { start: 0, end: GROUP }), { start: 0, end: GROUP })
        const last = noise(size, 4)
        const end = ChunkRanges.fromBytes(Math.floor((size - 1) / GROUP) * GROUP, size)
        await store.receive(hash(last), sliceOf(last, end), end)
      }
      const dump = async () => {
        await store.close()
        return place.look(async ({ data, index }) => [(await entriesOf(data)).map(({ key, value }) => `${hex(key)} ${hex(hash(value))}`), await recordsIn(index)])
      }
      const events = []
      const report = await store.fsck({ onProgress: event => events.push(event) })
      expect(report).to.deep.include({ isSound: true, blobs: 36, damaged: [], records: [], tags: [], orphans: 0, strays: 0 })
      expect(events.at(-1).type).to.equal('baobox:fsck')
      expect(events.at(-1).detail.done).to.equal(events.at(-1).detail.total)
      expect(events.every(({ detail: { done } }, i) => done >= (events[i - 1]?.detail.done ?? 0))).to.equal(true)
      const before = await dump()
      const again = await place.open()
      expect(await again.fsck({ repair: true })).to.deep.equal(report)
      await again.close()
      expect(await dump()).to.deep.equal(before)
    })

    it('finds damage that happened while the store was closed, drops it, and takes it in again', async () => {
      const bytes = BYTES.subarray(0, 60 * GROUP)
      const root = hash(bytes)
      const place = await newPlace()
      let store = await place.open()
      await store.put(bytes)
      await store.close()
      let wrong
      await place.look(async ({ data }) => {
        const [, spoiled, gone] = (await entriesOf(data)).filter(entry => !isPage(entry))
        await spoiled.put(flipped(spoiled.value, GROUP + 1))
        await gone.del()
        wrong = groups(spoiled.offset + GROUP).union(groups(gone.offset, gone.offset + gone.value.length))
      })
      store = await place.open()
      const found = await store.fsck()
      expect(found.isSound).to.equal(false)
      expect(found.damaged).to.have.length(1)
      expect(found.damaged[0].cid.multihash.digest).to.deep.equal(root)
      expect(found.damaged[0].data.boundaries).to.deep.equal(wrong.boundaries)
      expect(found.damaged[0].tree.isEmpty).to.equal(true)
      expect(found.damaged[0].lost.boundaries).to.deep.equal(wrong.boundaries)
      expect(await store.has(root), 'a look changes nothing').to.equal(true)

      const mended = await store.fsck({ repair: true })
      expect(mended.damaged[0].lost.boundaries).to.deep.equal(wrong.boundaries)
      await expectSound(store)
      await store.close()

      store = await place.open()
      expect((await store.missing(root)).boundaries).to.deep.equal(wrong.boundaries)
      expect(await store.receive(root, sliceOf(bytes, wrong), wrong)).to.include({ complete: true })
      expect(same(await store.bytes(root), bytes)).to.equal(true)
      await expectSound(store)
    })
  })

  const newStore = newStores()

  describe('of many small blobs', () => {
    const COUNT = 1200
    const blobs = Array.from({ length: COUNT }, (_, i) => Uint8Array.of(i, i >> 8, 1))
    let store, data, index, extents
    beforeEach(async () => {
      ({ store, data, index } = await newStore())
      await listed(store.putMany(blobs))
      extents = await entriesOf(data)
    })
    const changedAt = (key, at, byte) => key.map((before, i) => i === at ? byte : before)
    const pageBeside = key => changedAt(changedAt(changedAt(key, 14, 3), 15, 255), 16, 1) // over chunks 0 to 1023

    it('counts each of them, and tells how far it is', async () => {
      const events = []
      expect(await store.fsck({ onProgress: ({ detail }) => events.push(detail) })).to.include({ isSound: true, blobs: COUNT })
      expect(events.at(-1)).to.deep.equal({ done: 3 * COUNT, total: 3 * COUNT })
    })

    it('finds each that is wrong, too short, too long or lost', async () => {
      await extents[3].put(flipped(extents[3].value, 0))
      await extents[700].put(extents[700].value.subarray(1))
      await extents[1100].put(concat([extents[1100].value, Uint8Array.of(0)]))
      await extents[1190].del()
      const wrong = [3, 700, 1100, 1190].map(i => hex(hash(extents[i].value))).sort()
      for (const repair of [false, true]) {
        const { damaged, strays, orphans } = await store.fsck({ repair })
        expect(damaged.map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal(wrong)
        expect({ strays, orphans }).to.deep.equal({ strays: 0, orphans: 0 })
      }
      expect((await listed(store.list())).filter(({ complete }) => complete)).to.have.length(COUNT - 4)
      await expectSound(store)
    })

    it('finds a key that does not belong beside one of them, in front of its extent or behind it', async () => {
      const [first, second, third] = [extents[900], extents[901], extents[1199]]
      await data.put(changedAt(first.key, 15, 5), first.value, VIEWS) // an extent at chunk 5
      await data.put(second.key.subarray(0, 16), second.value, VIEWS) // too short a key
      await data.put(changedAt(third.key, 16, 200), third.value, VIEWS) // no kind of key
      const wrong = [first, second, third].map(({ value }) => hex(hash(value))).sort()
      for (const repair of [false, true]) {
        const { damaged } = await store.fsck({ repair })
        expect(damaged.map(({ cid, strays }) => `${hex(cid.multihash.digest)} ${strays}`)).to.deep.equal(wrong.map(root => `${root} 1`))
      }
      await expectSound(store)
      const left = (await entriesOf(data)).filter(entry => !isPage(entry)) // a repair may give a blob a page
      expect(left.map(({ key }) => hex(key))).to.deep.equal(extents.map(({ key }) => hex(key)))
    })

    it('takes no offence at the page of one that came in a slice', async () => {
      await data.put(pageBeside(extents[12].key), new Uint8Array(8), VIEWS)
      await expectSound(store)
    })

    it('finds the data of blobs without a record, between the others', async () => {
      for (const i of [0, 1, 1050, 1199]) await recordEntry(index, hash(extents[i].value)).remove()
      expect(await store.fsck()).to.include({ orphans: 4, blobs: COUNT - 4 })
      expect(await store.fsck({ repair: true })).to.include({ orphans: 4 })
      await expectSound(store)
      expect(await entriesOf(data)).to.have.length(COUNT - 4)
    })

    it('finds two records that share the data of one blob', async () => {
      const [one, other] = [extents[20], extents[21]].map(({ value }) => hash(value))
      await writeRecord(index, other, await readRecord(index, one))
      const found = await store.fsck({ repair: true })
      expect(found.damaged.map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal([hex(hash(extents[21].value))])
      expect(found).to.include({ orphans: 1 })
      expect(same(await store.bytes(hash(extents[20].value)), extents[20].value)).to.equal(true)
      await expectSound(store)
    })

    it('finds the ids of large blobs among them', async () => {
      const large = noise(40 * GROUP, 5)
      await store.put(large)
      await store.put(Uint8Array.of(1, 2, 3, 4))
      const ids = await scannedIdsIn(data)
      expect(ids.map(({ id }) => id)).to.deep.equal(await idsIn(data))
      expect(ids.filter(({ isAlone }) => !isAlone)).to.have.length(1)
    })
  })

  for (const [how, { ranges, fill }] of Object.entries(FILLS)) {
    describe(`of a blob that was ${how}`, () => {
      let store, data, extents, pages
      beforeEach(async () => {
        const made = await newStore()
        ;({ store, data } = made)
        await fill(store)
        const entries = await entriesOf(data)
        extents = entries.filter(entry => !isPage(entry))
        pages = entries.filter(isPage)
      })

      /** Found as it is, put right, and fetched again. @param {{ data?: ChunkRanges, tree?: ChunkRanges, lost?: ChunkRanges }} what */
      async function expectMended ({ data: wrong = ChunkRanges.none, tree = ChunkRanges.none, lost = wrong, strays }) {
        const looks = [await store.fsck(), await store.fsck({ repair: true })]
        for (const { damaged } of looks) {
          expect(damaged).to.have.length(1)
          expect(damaged[0].data.boundaries, 'data').to.deep.equal(wrong.boundaries)
          expect(damaged[0].tree.boundaries, 'tree').to.deep.equal(tree.boundaries)
          if (strays !== undefined) expect(damaged[0].strays, 'strays').to.equal(strays)
        }
        expect(looks[1].damaged[0].lost.boundaries, 'lost').to.deep.equal(lost.boundaries)
        await expectSound(store)
        await expectHere(store, ranges.difference(lost))
        await fetchMissing(store, ranges)
        await expectHere(store, ranges)
        await expectSound(store)
        await fetchMissing(store)
        await expectHere(store, ALL)
        await expectSound(store)
      }

      it('drops a group with a wrong byte, and nothing else', async () => {
        for (const which of [0, 1, 9, extents.length - 1]) {
          const extent = (await entriesOf(data)).filter(entry => !isPage(entry))[which]
          const at = Math.min(2 * GROUP + 7, extent.value.length - 1)
          await extent.put(flipped(extent.value, at))
          const found = await store.fsck({ repair: true })
          const wrong = groups(extent.offset + at)
          expect(found.damaged[0].data.boundaries).to.deep.equal(wrong.boundaries)
          await expectHere(store, ranges.difference(wrong))
          await fetchMissing(store, ranges)
          await expectHere(store, ranges)
          await expectSound(store)
        }
      })

      it('drops what is lost with an extent', async () => {
        await extents[5].del()
        await expectMended({ data: groups(5 * EXTENT, 6 * EXTENT) })
      })

      it('drops what an extent lacks that is too short', async () => {
        await extents[5].put(extents[5].value.slice(0, GROUP + 5))
        await expectMended({ data: groups(5 * EXTENT + GROUP, 6 * EXTENT), strays: 1 })
      })

      it('drops an extent that is too long, or empty', async () => {
        await extents[7].put(concat([extents[7].value, new Uint8Array(1)])) // over the border of its cell
        await extents[5].put(new Uint8Array(0))
        await expectMended({ data: groups(5 * EXTENT, 6 * EXTENT).union(groups(7 * EXTENT, 8 * EXTENT)), strays: 2 })
      })

      it('drops the group that an extent reaches into where another begins', async () => {
        await extents[5].put(concat([extents[5].value, new Uint8Array(1)]))
        await expectMended({ data: groups(6 * EXTENT, 6 * EXTENT + GROUP), strays: 2 })
      })

      it('drops extents that changed places', async () => {
        await extents[2].put(extents[3].value)
        await extents[3].put(extents[2].value)
        await expectMended({ data: groups(2 * EXTENT, 4 * EXTENT) })
      })

      it('drops every byte, and still knows the blob', async () => {
        for (const extent of extents) await extent.put(flipped(extent.value, 0))
        const wrong = extents.reduce((all, { offset }) => all.union(groups(offset)), ChunkRanges.none)
        await expectMended({ data: wrong })
        for (const { del } of await entriesOf(data)) await del()
        const { damaged: [{ lost }] } = await store.fsck({ repair: true })
        expect(lost.boundaries).to.deep.equal(ALL.boundaries)
        await expectSound(store)
        expect(await store.stat(ROOT)).to.include({ size: BYTES.length, sizeProven: false, complete: false })
        expect(await store.has(ROOT)).to.equal(false)
        expect(await store.put(BYTES)).to.include({ isNew: true })
        await expectHere(store, ALL)
        await expectSound(store)
      })

      it('takes away what never belonged there', async () => {
        const [{ key, value }] = extents
        const at = (chunk, kind, len = key.length) => {
          const other = new Uint8Array(len)
          other.set(key)
          new DataView(other.buffer).setBigUint64(8, BigInt(chunk))
          other[16] = kind
          return other
        }
        const strays = [
          [at(4096, 0), value], // behind the end
          [at(17, 0), value.slice(0, GROUP)], // inside another
          [at(1023, 3), noise(100)], [at(1000, 1), noise(100)], [at(100 * 1024 - 1, 1), noise(100)], // pages that no such blob has
          [at(16, 0, 18), value] // too long a key
        ]
        for (const [key, value] of strays) await data.put(key, value, VIEWS)
        await expectMended({ strays: strays.length })
        expect(await entriesOf(data)).to.satisfy(entries => !entries.some(({ key }) => strays.some(([stray]) => same(stray, key))))
      })

      it('works out again what a page had of the tree, when it is lost or wrong', async () => {
        for (const change of [
          page => page.del(),
          page => page.put(page.value.map((byte, i) => i < BITS ? byte : 0)),
          page => page.put(page.value.map((byte, i) => i < BITS ? byte : byte ^ 0x55)),
          page => page.put(page.value.map((byte, i) => i >= BITS && i % 3 === 0 ? byte ^ 1 : byte))
        ]) {
          for (const [i, page] of (await entriesOf(data)).filter(isPage).entries()) {
            await change(page)
            const { damaged: [{ data: wrong, lost }] } = await store.fsck({ repair: true })
            const whole = groups(Math.min(i, 2) * PAGE, Math.min((Math.min(i, 2) + 1) * PAGE, BYTES.length))
            expect(wrong.isEmpty, 'the bytes are right').to.equal(true)
            // What of a page is not here cannot be worked out, and what it led to is gone with it.
            if (i === 3 || ranges.intersect(whole).equals(whole)) expect(lost.boundaries, `page ${i} of ${pages.length}`).to.deep.equal([])
            else expect(lost.difference(whole).isEmpty, `page ${i}`).to.equal(true)
            await expectHere(store, ranges.difference(lost))
            await expectSound(store)
            await fetchMissing(store, ranges)
            await expectHere(store, ranges)
            await expectSound(store)
          }
        }
      })

      it('works out a pair from those below it, though bytes are lost too', async () => {
        for (const slot of [31, 15, 7]) {
          const [page] = (await entriesOf(data)).filter(isPage)
          const extent = (await entriesOf(data)).find(({ offset, value }) => offset <= GROUP && offset + value.length > GROUP)
          await page.put(flipped(page.value, BITS + slot * 64 + 5))
          await extent.put(flipped(extent.value, GROUP + 5 - extent.offset))
          const { damaged: [{ tree, lost }] } = await store.fsck({ repair: true })
          expect(tree.boundaries).to.deep.equal(ranges.intersect(groups(0, 2 * (slot + 1) * GROUP)).boundaries)
          expect(lost.boundaries).to.deep.equal(slot === 31 && how === 'received in part' ? lost.boundaries : groups(GROUP).boundaries)
          await fetchMissing(store, ranges)
          await expectHere(store, ranges)
          await expectSound(store)
        }
      })

      it('loses what stands below a pair that nothing can tell', async () => {
        const [page] = pages
        const wrong = new Uint8Array(page.value)
        for (const slot of [0, 1, 2, 3]) wrong.fill(0, BITS + slot * 64, BITS + (slot + 1) * 64)
        await page.put(wrong)
        await extents[0].put(flipped(extents[0].value, 0))
        await expectMended({ tree: groups(0, 4 * GROUP).union(groups(4 * GROUP, 8 * GROUP)), lost: groups(0, 8 * GROUP) })
      })

      it('knows a lost mark from a lost group', async () => {
        if (how !== 'received in part') return
        const [page] = pages
        await page.put(page.value.map((byte, i) => i < 4 ? 0 : byte))
        const { damaged: [{ tree, data: wrong, lost }] } = await store.fsck({ repair: true })
        expect(wrong.isEmpty && lost.isEmpty).to.equal(true)
        expect(tree.boundaries).to.deep.equal(groups(0, 32 * GROUP).boundaries)
        await expectHere(store, ranges)
        // A mark without a group, where no other is: nobody would ever receive it.
        const entries = await entriesOf(data)
        for (const extent of entries.filter(({ offset }) => offset >= 2 * PAGE)) await extent.del()
        await store.fsck({ repair: true })
        await expectSound(store)
        await fetchMissing(store)
        await expectHere(store, ALL)
      })
    })
  }

  it('begins again where it was interrupted, at any write', async () => {
    let isDone = false
    for (let writes = 0; !isDone; writes++) {
      const { store, data, index } = await newStore()
      await store.put(BYTES)
      const entries = await entriesOf(data)
      const extents = entries.filter(entry => !isPage(entry))
      for (const i of [1, 9, 30]) await extents[i].put(flipped(extents[i].value, 5))
      await entries.find(isPage).del()
      const wrong = [1, 9, 30].reduce((all, i) => all.union(groups(i * EXTENT)), ChunkRanges.none)
      let left = writes
      const reason = new Error('the power is gone')
      const originals = [data, index].map(level => [level, level.batch])
      for (const [level, batch] of originals) level.batch = function (...args) { return left-- > 0 ? batch.apply(this, args) : Promise.reject(reason) }
      const error = await errorOf(store.fsck({ repair: true }))
      for (const [level, batch] of originals) level.batch = batch
      isDone = error === undefined
      if (error) expect(error).to.equal(reason)
      await store.fsck({ repair: true })
      await expectSound(store)
      const { present } = await store.stat(ROOT)
      // The first page is lost, and one of its groups: what hangs beside that cannot be proven.
      expect(present.intersect(wrong).isEmpty).to.equal(true)
      expect(present.contains(1024, 1024 + 7 * 64), 'all behind the first page').to.equal(true)
      await expectHere(store, present)
      await fetchMissing(store)
      await expectHere(store, ALL)
      await expectSound(store)
      expect(writes).to.be.lessThan(100)
    }
  })

  describe('of the index', () => {
    it('drops a damaged record whose data is not there, or not to be known', async () => {
      const { store, data, index } = await newStore()
      const { cid } = await store.put(noise(100, 1))
      await store.put(BYTES)
      await damageRecord(index, ROOT)
      for (const { del } of (await entriesOf(data)).filter(({ id }) => id === 1)) await del()
      const expected = { records: [{ cid: (await store.put(BYTES)).cid, isRestored: false }] }
      await damageRecord(index, ROOT)
      for (const { del } of (await entriesOf(data)).filter(({ id }) => id === 2)) await del()
      for (const repair of [false, true]) {
        const { records, isSound } = await store.fsck({ repair })
        expect(isSound).to.equal(false)
        expect(records).to.deep.equal(expected.records)
      }
      await expectSound(store)
      expect(await errorOf(store.stat(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await store.bytes(cid)).to.have.length(100)
    })

    for (const size of [1, 1024, GROUP, GROUP + 1, 3 * GROUP, 64 * GROUP, 65 * GROUP, BYTES.length]) {
      it(`finds the data of a damaged record by its root, of ${size} bytes`, async () => {
        const bytes = BYTES.subarray(0, size)
        const root = hash(bytes)
        for (const fill of [store => store.put(bytes), store => store.receive(root, sliceOf(bytes))]) {
          const { store, index, data } = await newStore()
          await store.put(noise(30 * GROUP, 3))
          await fill(store)
          const before = await entriesOf(data)
          await recordEntry(index, root).change(record => flipped(record, 3))
          expect((await store.fsck()).records[0]).to.include({ isRestored: false })
          const report = await store.fsck({ repair: true })
          expect(report.records[0]).to.include({ isRestored: true })
          expect(report.orphans).to.equal(0)
          await expectSound(store)
          expect(await store.has(root)).to.equal(true)
          expect(same(await store.bytes(root), bytes)).to.equal(true)
          expect((await entriesOf(data)).length).to.be.at.least(before.length)
        }
      })
    }

    it('finds what is here of a blob whose record is damaged, whatever part and without its length', async () => {
      for (const [start, end] of [[0, 1], [0, 20], [20, 60], [60, 70], [64, 65], [100, 110], [126, 130], [128, 129], [130, 135], [134, 135], [135, 136], [0, 136]]) {
        const { store, index } = await newStore()
        const range = { start: start * GROUP, end: Math.min(end * GROUP, BYTES.length) }
        await store.receive(ROOT, sliceOf(BYTES, range), range)
        const { present } = await store.stat(ROOT)
        await damageRecord(index, ROOT)
        const { records } = await store.fsck({ repair: true })
        expect(records[0].isRestored, `groups ${start} to ${end}`).to.equal(true)
        await expectHere(store, present)
        await expectSound(store)
        await fetchMissing(store)
        await expectHere(store, ALL)
      }
    })

    it('gives a whole blob a record that has none, where the index is damaged: one wrong key may hide the next', async () => {
      for (const spoil of [
        (index, other) => damageRecord(index, other),
        index => index.put(new Uint8Array(7).fill(0x81), new Uint8Array(33), VIEWS),
        index => index.put(malformedKeys(5)[0], new Uint8Array(1), VIEWS)
      ]) {
        const { store, index } = await newStore()
        const other = noise(100, 1)
        await store.put(other)
        await store.put(BYTES)
        await recordEntry(index, ROOT).remove()
        await spoil(index, hash(other))
        const { records, orphans } = await store.fsck({ repair: true })
        expect(records.map(({ isRestored }) => isRestored)).to.include(true)
        expect(orphans).to.equal(0)
        expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
        expect(await store.has(hash(other))).to.equal(true)
      }
    })

    it('sweeps away data without a record, but not what is being put', async () => {
      const { store, index, data } = await newStore()
      await store.put(BYTES)
      await store.put(noise(100, 1))
      await recordEntry(index, ROOT).remove()
      const large = noise(9 << 20, 2)
      const put = gated([large.subarray(0, 6 << 20)], [large.subarray(6 << 20)])
      const putting = store.put(put.source)
      await put.reached
      expect((await store.fsck()).orphans).to.equal(1)
      expect((await store.fsck({ repair: true })).orphans).to.equal(1)
      await expectSound(store)
      put.open()
      const { cid } = await putting
      expect(same(await store.bytes(cid), large)).to.equal(true)
      await expectSound(store)
      expect((await entriesOf(data)).some(({ id }) => id === 0), 'the first id is free').to.equal(false)
    })

    it('says nothing of what is being deleted', async () => {
      for (const repair of [false, true]) {
        for (const isOver of [false, true]) {
          const { store, data } = await newStore()
          await store.put(BYTES)
          const { length } = await entriesOf(data)
          const deleting = {}
          deleting.goesOn = new Promise(resolve => { deleting.goOn = resolve })
          deleting.isHere = new Promise(resolve => { deleting.arrive = resolve })
          const { clear } = data
          data.clear = async (...args) => {
            deleting.arrive()
            await deleting.goesOn
            return clear.apply(data, args)
          }
          const deleted = store.delete(ROOT)
          await deleting.isHere
          const databases = databasesOf(store)
          const isGoing = databases.isGoing.bind(databases)
          databases.isGoing = async id => {
            if (isOver) {
              deleting.goOn()
              await deleted
            }
            return isGoing(id)
          }
          expect(await store.fsck({ repair }), `repair: ${repair}, over: ${isOver}`).to.include({ isSound: true })
          expect(await entriesOf(data)).to.have.length(isOver ? 0 : length)
          deleting.goOn()
          expect(await deleted).to.equal(true)
          await expectSound(store)
          expect(await entriesOf(data)).to.deep.equal([])
        }
      }
    })

    it('takes away what has no meaning, and leaves what it does not know', async () => {
      const { store, index, data } = await newStore()
      await store.put(BYTES)
      for (const key of malformedKeys(5).slice(0, 2)) await index.put(key, new Uint8Array(1), VIEWS)
      await deletionEntry(index, 0).write(new Uint8Array(1))
      await usedEntry(index, ROOT).write(new Uint8Array(7))
      const theirs = new Uint8Array(5).fill(200)
      await index.put(theirs, theirs, VIEWS)
      await data.put(Uint8Array.of(7), new Uint8Array(5), VIEWS)
      await data.put(new Uint8Array(17).fill(255), new Uint8Array(5), VIEWS)
      expect((await store.fsck()).strays).to.equal(6)
      await store.fsck({ repair: true })
      await expectSound(store)
      await expectHere(store, ALL)
      expect(await index.get(theirs, VIEWS)).to.deep.equal(theirs)
    })

    describe('with a tag', () => {
      const FORMATS = ['raw', 'hashseq']
      const named = index => tagEntry(index, 'a')
      const beside = index => tagBesideBlobEntry(index, ROOT, 'a')
      const WAYS = {
        'whose value is wrong under its name': { spoil: index => named(index).change(value => flipped(value, 3)) },
        'that is lost under its name': { spoil: index => named(index).remove() },
        'whose name is wrong': {
          async spoil (index) {
            await tagEntry(index, 'b').write(await named(index).read())
            await named(index).remove()
          },
          also: 'b'
        },
        'whose value is wrong beside its blob': { spoil: index => beside(index).change(value => flipped(value, 3)) },
        'that is lost beside its blob': { spoil: index => beside(index).remove() },
        'that is too short': { spoil: index => named(index).change(value => value.slice(0, 3)) }
      }

      for (const [what, { spoil, also }] of Object.entries(WAYS)) {
        it(`${what}, makes it whole from the other place`, async () => {
          for (const format of FORMATS) {
            const { store, index } = await newStore()
            await store.put(BYTES, { tag: 'a', format })
            await store.put(noise(100))
            await spoil(index)
            expect((await store.fsck()).tags.map(({ name }) => name)).to.include('a')
            const { tags } = await store.fsck({ repair: true })
            expect(tags).to.deep.include({ name: 'a', isRestored: true })
            if (also) expect(tags).to.deep.include({ name: also, isRestored: false })
            await expectSound(store)
            const { cid, format: after } = await store.tags.get('a')
            expect(cid.multihash.digest).to.deep.equal(ROOT)
            expect(after).to.equal(format)
            expect((await store.gc()).blobs, 'the other blob').to.equal(1)
            await expectHere(store, ALL)
          }
        })
      }

      it('that is lost in both places, lets it go', async () => {
        const { store, index } = await newStore()
        await store.put(BYTES, { tag: 'a' })
        for (const entry of [named, beside]) await entry(index).change(value => flipped(value, 1))
        expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
        for (const repair of [false, true]) expect((await store.fsck({ repair })).tags).to.deep.equal([{ name: 'a', isRestored: false }])
        await expectSound(store)
        expect(await store.tags.get('a')).to.equal(undefined)
        expect((await store.gc()).blobs).to.equal(1)
      })

      it('that was moved, takes its name at its word', async () => {
        const { store, index } = await newStore()
        await store.put(BYTES, { tag: 'a' })
        const stale = await beside(index).read()
        const { cid } = await store.put(noise(100), { tag: 'a' })
        await beside(index).write(stale)
        await store.fsck({ repair: true })
        await expectSound(store)
        expect((await store.tags.get('a')).cid.toString()).to.equal(cid.toString())
      })
    })

    for (const home of ['file', 'reference']) {
      it(`does not go by a record that says its bytes are in a ${home}, where there are no files`, async () => {
        for (const areHere of [true, false]) {
          const { store, index, data } = await newStore()
          await store.put(BYTES)
          await changeRecord(index, ROOT, { home })
          if (!areHere) for (const { del } of (await entriesOf(data)).filter(entry => !isPage(entry))) await del()
          expect((await store.fsck()).isSound).to.equal(false)
          const { damaged: [{ lost }] } = await store.fsck({ repair: true })
          expect(lost.boundaries).to.deep.equal(areHere ? [] : ALL.boundaries)
          await expectSound(store)
          await fetchMissing(store)
          await expectHere(store, ALL)
          await expectSound(store)
        }
      })
    }

    it('takes a size for a claim again when it has dropped everything that had proven it', async () => {
      const { store, index, data } = await newStore()
      await store.put(BYTES)
      // A record that was made with care lies about the length.
      const record = await readRecord(index, ROOT)
      await writeRecord(index, ROOT, { ...record, size: record.size + 3 * GROUP })
      for (const { del } of await entriesOf(data)) await del()
      await store.fsck({ repair: true })
      await expectSound(store)
      await store.receive(ROOT, sliceOf(BYTES))
      await expectHere(store, ALL)
      await expectSound(store)
    })

    it('writes a damaged state anew', async () => {
      const { store, index } = await newStore()
      await store.put(BYTES)
      await stateEntry(index).write(new Uint8Array(33))
      for (const repair of [false, true]) expect(await store.fsck({ repair })).to.include({ isStateDamaged: true, isSound: false })
      await expectSound(store)
    })

    it('lets one blob have an id that two claim', async () => {
      const { store, index } = await newStore()
      await store.put(BYTES)
      const other = noise(BYTES.length, 5)
      const record = await readRecord(index, ROOT)
      await writeRecord(index, hash(other), record)
      await store.fsck({ repair: true })
      await expectSound(store)
      await expectHere(store, ALL)
      expect(await errorOf(store.stat(hash(other)))).to.include({ code: 'STORE_NOT_FOUND' })
    })
  })

  describe('while the store is used', () => {
    it('finds nothing that is not there', async () => {
      const { store } = await newStore()
      const blobs = Array.from({ length: 12 }, (_, i) => noise((i + 1) * 2 * GROUP + i, 200 + i))
      const over = new AbortController()
      const work = async seed => {
        for (let i = seed; !over.signal.aborted; i = (i * 7 + 5) % 1000) {
          const bytes = blobs[i % blobs.length]
          const root = hash(bytes)
          const range = { start: (i % 5) * GROUP, end: (i % 5 + 3) * GROUP }
          await [() => store.put(bytes), () => store.receive(root, sliceOf(bytes, range), range), () => store.delete(root)][i % 3]()
        }
      }
      const working = Promise.all([1, 2, 3].map(work))
      for (let round = 0; round < 4; round++) {
        const { isSound, ...found } = await store.fsck({ repair: round % 2 === 1 })
        if (!isSound) expect.fail(JSON.stringify(found))
      }
      over.abort()
      await working
      await expectSound(store)
    })

    it('ends when it is called off, and when the store is closed', async () => {
      const { store } = await newStore()
      await store.put(BYTES)
      const reason = new Error('enough')
      expect(await errorOf(store.fsck({ signal: AbortSignal.abort(reason) }))).to.equal(reason)
      const controller = new AbortController()
      expect(await errorOf(store.fsck({ signal: controller.signal, onProgress: () => controller.abort(reason) }))).to.equal(reason)
      await expectSound(store)
      const looking = errorOf(store.fsck())
      await store.close()
      const error = await looking
      if (error) expect(error).to.include({ code: 'STORE_CLOSED' })
      expect(await errorOf(store.fsck())).to.include({ code: 'STORE_CLOSED' })
    })
  })
})
