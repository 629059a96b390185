// fsck() of a damaged index: records, tags, notes and the state.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { GROUP, VIEWS } from '../../support/constants.js'
import { flipped, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import {
  changeRecord, damageRecord, databasesOf, deletionEntry, entriesOf, isPage, malformedKeys, readRecord,
  recordEntry, stateEntry, tagOfBlobEntry, tagEntry, usedEntry, writeRecord
} from '../../support/store/inspect.js'
import { gated, newStores, sliceOf } from '../../support/store/stores.js'
import { ALL, BYTES, ROOT, expectHere, expectSound, fetchMissing } from '../../support/store/mending.js'

/**
 * Hides an entry from iterators, in both directions or only forwards. Lookups still find it.
 *
 * @param {'both' | 'one'} directions
 * @returns {() => void} shows it again
 */
function hide (level, hidden, directions) {
  const { iterator, keys } = level
  const without = (make, keyOf) => (options = {}) => {
    const shown = make.call(level, options)
    if (options.reverse && directions === 'one') return shown
    const nextv = shown.nextv.bind(shown)
    shown.nextv = async (...args) => {
      const entries = await nextv(...args)
      const rest = entries.filter(entry => !same(keyOf(entry), hidden))
      return rest.length === 0 && entries.length > 0 ? shown.nextv(...args) : rest
    }
    return shown
  }
  level.iterator = without(iterator, ([key]) => key)
  level.keys = without(keys, key => key)
  return () => Object.assign(level, { iterator, keys })
}

describe('store: fsck() of a damaged index', () => {
  const newStore = newStores()

  it('repair drops a damaged record whose data is missing, or cannot be identified', async () => {
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

  it('a damaged record whose data cannot be proven is reported once, and a repair deletes both', async () => {
    for (const isStateDamaged of [false, true]) {
      const { store, data, index } = await newStore()
      const { cid } = await store.put(BYTES.subarray(0, 2 * GROUP))
      for (const { value, offset, put } of await entriesOf(data)) if (offset !== undefined) await put(value.fill(0))
      await damageRecord(index, cid.multihash.digest)
      if (isStateDamaged) await stateEntry(index).remove()
      const expected = { isStateDamaged, damaged: [], records: [{ cid, isRestored: false }], strays: 0 }
      expect(await store.fsck()).to.deep.include({ ...expected, orphans: 0 })
      const orphans = isStateDamaged ? 1 : 0
      expect(await store.fsck({ repair: true })).to.deep.include({ ...expected, orphans })
      expect(await store.fsck({ repair: true })).to.deep.include({ isSound: !isStateDamaged, records: [], orphans })
      await expectSound(store)
      expect(await entriesOf(data)).to.deep.equal([])
    }
  })

  for (const size of [1, 1024, GROUP, GROUP + 1, 3 * GROUP, 64 * GROUP, 65 * GROUP, BYTES.length]) {
    it(`repair finds the data of a damaged record by its root, of ${size} bytes`, async () => {
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

  it('repair keeps the data of a record that LevelDB finds, but does not show in iterations', async () => {
    const { store, data, index } = await newStore()
    await store.put(BYTES)
    const before = await entriesOf(data)
    for (const directions of ['both', 'one']) {
      const shown = hide(index, recordEntry(index, ROOT).key, directions)
      for (const repair of [false, true]) {
        expect(await store.fsck({ repair })).to.include({ isReadable: false, isSound: false, orphans: 0 })
      }
      shown()
      expect(await entriesOf(data)).to.have.length(before.length)
      await expectHere(store, ALL)
      await expectSound(store)
    }
  })

  it('repair finds any part of a blob with a damaged record, without knowing its size', async () => {
    for (const [start, end] of [
      [0, 1], [0, 20], [20, 60], [60, 70], [64, 65], [100, 110], [126, 130], [128, 129], [130, 135],
      [134, 135], [135, 136], [0, 136]
    ]) {
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

  it('repair writes a new record for a whole blob when a wrong key hides the old one', async () => {
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

  it('repair deletes orphans, but not the data of a put that is under way', async () => {
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

  it('fsck() does not report data that is being deleted', async () => {
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
        const isGivenUp = databases.isGivenUp.bind(databases)
        databases.isGivenUp = async id => {
          if (isOver) {
            deleting.goOn()
            await deleted
          }
          return isGivenUp(id)
        }
        expect(await store.fsck({ repair }), `repair: ${repair}, over: ${isOver}`).to.include({ isSound: true })
        expect(await entriesOf(data)).to.have.length(isOver ? 0 : length)
        deleting.goOn()
        expect(await deleted).to.include({ blobs: 1 })
        await expectSound(store)
        expect(await entriesOf(data)).to.deep.equal([])
      }
    }
  })

  it('repair removes malformed entries, and leaves entries of unknown kinds', async () => {
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

  describe('and its tags', () => {
    const FORMATS = ['raw', 'hashseq']
    const named = index => tagEntry(index, 'a')
    const beside = index => tagOfBlobEntry(index, ROOT, 'a')
    const WAYS = {
      'a tag whose value is wrong under its name': { spoil: index => named(index).change(value => flipped(value, 3)) },
      'a tag that is lost under its name': { spoil: index => named(index).remove() },
      'a tag whose name is wrong': {
        async spoil (index) {
          await tagEntry(index, 'b').write(await named(index).read())
          await named(index).remove()
        },
        also: 'b'
      },
      'a tag whose value is wrong beside its blob': {
        spoil: index => beside(index).change(value => flipped(value, 3))
      },
      'a tag that is lost beside its blob': { spoil: index => beside(index).remove() },
      'a tag whose value is too short': { spoil: index => named(index).change(value => value.slice(0, 3)) }
    }

    for (const [what, { spoil, also }] of Object.entries(WAYS)) {
      it(`${what} is repaired from its other entry`, async () => {
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

    it('a tag whose two entries are lost or damaged is dropped', async () => {
      const { store, index } = await newStore()
      await store.put(BYTES, { tag: 'a' })
      for (const entry of [named, beside]) await entry(index).change(value => flipped(value, 1))
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      for (const repair of [false, true]) {
        expect((await store.fsck({ repair })).tags).to.deep.equal([{ name: 'a', isRestored: false }])
      }
      await expectSound(store)
      expect(await store.tags.get('a')).to.equal(undefined)
      expect((await store.gc()).blobs).to.equal(1)
    })

    it('a stale entry beside a blob is dropped, because the entry under the name decides', async () => {
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
    it(`repair does not believe a record of a ${home} in a store without files`, async () => {
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

  it('a size is a claim again after a repair has dropped the groups that have proven it', async () => {
    const { store, index, data } = await newStore()
    await store.put(BYTES)
    // A forged record with a right checksum has a wrong length.
    const record = await readRecord(index, ROOT)
    await writeRecord(index, ROOT, { ...record, size: record.size + 3 * GROUP })
    for (const { del } of await entriesOf(data)) await del()
    await store.fsck({ repair: true })
    await expectSound(store)
    await store.receive(ROOT, sliceOf(BYTES))
    await expectHere(store, ALL)
    await expectSound(store)
  })

  it('repair writes a damaged state again', async () => {
    const { store, index } = await newStore()
    await store.put(BYTES)
    await stateEntry(index).write(new Uint8Array(33))
    for (const repair of [false, true]) {
      expect(await store.fsck({ repair })).to.include({ isStateDamaged: true, isSound: false })
    }
    await expectSound(store)
  })

  it('repair keeps only one of two records with the same id', async () => {
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
