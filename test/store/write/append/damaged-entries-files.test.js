// Damage to the records, sharer entries and pairs of blobs that share a file: fsck() reports it, a repair restores or
// drops the entries, and other blobs can be read as before.
import { expect } from 'chai'
import { BlobStore } from '../../../../store/index.js'
import { hash } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { pairsOf } from '../../../support/effort.js'
import {
  damageRecord, entriesOf, flipStoredByte, isPage, recordEntry, recordOf, sharerEntry, writeSharer
} from '../../../support/store/inspect.js'
import {
  ALL, QUOTA, expectCounted, expectReads, expectRight, expectSound, grow, lensOfFiles, rootOf
} from '../../../support/store/sharers.js'
import { expectNoOrphans, onDisk, sliceOf } from '../../../support/store/stores.js'

const SIZES = [MIB + 5, MIB + 90_000, 2 * MIB, 2 * MIB + 300_000]
const [SHORTEST, SHORT, LONG, LONGEST] = SIZES

/**
 * Damage to the index, with the report of fsck(), the blobs that cannot be read before a repair, whether a repair
 * restores them, and the length of the file afterwards.
 */
const INDEX_DAMAGE = {
  'a damaged record of the longest blob': {
    damage: ({ index }) => damageRecord(index, rootOf(LONGEST)),
    found: { records: [LONGEST] },
    unread: { [LONGEST]: 'STORE_CORRUPT' },
    comesBack: true
  },
  'a damaged record of a shorter blob': {
    damage: ({ index }) => damageRecord(index, rootOf(SHORT)),
    found: { records: [SHORT] },
    unread: { [SHORT]: 'STORE_CORRUPT' },
    comesBack: true
  },
  'damaged records of all blobs': {
    damage: async ({ index }) => { for (const size of SIZES) await damageRecord(index, rootOf(size)) },
    found: { records: SIZES },
    unread: Object.fromEntries(SIZES.map(size => [size, 'STORE_CORRUPT'])),
    comesBack: true
  },
  'a lost entry of the longest blob': {
    damage: ({ index, base }) => sharerEntry(index, base, LONGEST).remove(), found: { strays: 1 }, unread: {}
  },
  'a lost entry of a shorter blob': {
    damage: ({ index, base }) => sharerEntry(index, base, SHORT).remove(), found: { strays: 1 }, unread: {}
  },
  'an entry with a wrong check': {
    damage: ({ index, base }) => sharerEntry(index, base, SHORT).change(value => value.fill(0)),
    found: { strays: 2 }, // a wrong entry, and a missing one
    unread: {}
  },
  'an entry with the id of another blob': {
    damage: ({ index, base }) => writeSharer(index, { base, size: SHORT, root: rootOf(SHORT), id: base }),
    found: { strays: 2 },
    unread: {}
  },
  'an entry of the longest blob without its record': {
    damage: ({ index }) => recordEntry(index, rootOf(LONGEST)).remove(),
    found: { strays: 1, orphans: 1 },
    unread: { [LONGEST]: 'STORE_NOT_FOUND' },
    fileLen: LONG
  },
  'an entry of a shorter blob without its record': {
    damage: ({ index }) => recordEntry(index, rootOf(SHORT)).remove(),
    found: { strays: 2, orphans: 1 }, // also the time of its use by append()
    unread: { [SHORT]: 'STORE_NOT_FOUND' }
  },
  'entries without any record': {
    damage: async ({ index }) => { for (const size of SIZES) await recordEntry(index, rootOf(size)).remove() },
    found: { strays: 7, orphans: 4 }, // also three times of use; one edge is empty, and the base counts, too
    unread: Object.fromEntries(SIZES.map(size => [size, 'STORE_NOT_FOUND'])),
    fileLen: 0
  },
  'a lost record while another one is damaged': {
    damage: async ({ index }) => {
      await damageRecord(index, rootOf(SHORT))
      await recordEntry(index, rootOf(LONGEST)).remove()
    },
    found: { records: [SHORT, LONGEST] },
    unread: { [SHORT]: 'STORE_CORRUPT', [LONGEST]: 'STORE_NOT_FOUND' },
    comesBack: true
  },
  'a damaged record and its lost entry': {
    damage: async ({ index, base }) => {
      await damageRecord(index, rootOf(LONGEST))
      await sharerEntry(index, base, LONGEST).remove()
    },
    found: { records: [LONGEST] },
    unread: { [LONGEST]: 'STORE_CORRUPT' }
  }
}

const sizeOf = cid => SIZES.find(size => same(rootOf(size), cid.multihash.digest))

describe('store: damaged records, entries and pairs of blobs that share a file', () => {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })

  /** Makes a store with blobs that share a file. Returns it with the id of their base. */
  async function grown () {
    const place = await onDisk()
    places.push(place)
    const store = await place.open({ quota: QUOTA })
    await grow(store, SIZES)
    const { base } = await recordOf(store, rootOf(LONGEST))
    return { place, store, base }
  }

  for (const [what, { damage, found, unread, comesBack = false, fileLen = LONGEST }] of Object.entries(INDEX_DAMAGE)) {
    it(`fsck() finds ${what}, and repairs it`, async () => {
      const { place, store: before, base } = await grown()
      await before.close()
      await place.look(({ index }) => damage({ index, base }))
      let store = await place.open({ quota: QUOTA })
      for (const repair of [false, true]) {
        await expectReads(store, SIZES, unread)
        const { records, damaged, tags, orphans, strays } = await store.fsck({ repair })
        expect({ damaged, tags, orphans, strays }).to.deep.equal(
          { damaged: [], tags: [], orphans: found.orphans ?? 0, strays: found.strays ?? 0 })
        expect(records.map(({ cid }) => sizeOf(cid))).to.have.members(found.records ?? [])
        for (const { isRestored } of records) expect(isRestored).to.equal(repair && comesBack)
      }
      const after = comesBack ? {} : Object.fromEntries(Object.keys(unread).map(size => [size, 'STORE_NOT_FOUND']))
      for (let round = 0; round < 2; round++) {
        await expectSound(store)
        await expectReads(store, SIZES, after)
        expect(await expectCounted(store)).to.equal(what === 'a damaged record and its lost entry' ? LONG : fileLen)
        expect(await lensOfFiles(store)).to.deep.equal(fileLen === 0 ? [] : [fileLen])
        await store.close()
        store = await place.open({ quota: QUOTA })
      }
      await store.close()
      await expectNoOrphans(place)
    })
  }

  for (const { isDamaged, losesSequence } of [
    { isDamaged: false, losesSequence: false },
    { isDamaged: true, losesSequence: false },
    { isDamaged: false, losesSequence: true }
  ]) {
    const whose = losesSequence ? ', whose record is lost, too' : ''
    const what = isDamaged ? 'with a damaged byte' : 'that is whole'
    it(`fsck() keeps a blob ${what}, without a record, that is a member of a tagged sequence${whose}`, async () => {
      const { place, store: before } = await grown()
      const sequence = rootOf(LONGEST)
      await before.put(sequence)
      await before.tags.set('members', hash(sequence), { format: 'hashseq' })
      if (isDamaged) await flipStoredByte(before, rootOf(LONGEST), LONGEST - 1)
      await before.close()
      await place.look(async ({ index }) => {
        await recordEntry(index, rootOf(LONGEST)).remove()
        if (losesSequence) await recordEntry(index, hash(sequence)).remove()
      })
      const store = await place.open({ quota: QUOTA })
      if (!losesSequence) {
        const { records, strays } = await store.fsck()
        expect(records.map(({ cid, isRestored }) => [sizeOf(cid), isRestored])).to.deep.equal([[LONGEST, false]])
        expect(strays).to.equal(0)
      }
      const { records, damaged } = await store.fsck({ repair: true })
      expect(records.some(({ cid, isRestored }) => sizeOf(cid) === LONGEST && isRestored)).to.equal(true)
      expect(damaged.map(({ size }) => size)).to.deep.equal(isDamaged ? [LONGEST] : [])
      await store.gc()
      if (isDamaged) await store.receive(rootOf(LONGEST), sliceOf(ALL.subarray(0, LONGEST)))
      await expectRight(store, LONGEST)
      await expectSound(store)
    })
  }

  it('rescue() restores damaged records, and loses no blob that shares the file', async () => {
    const { place, store } = await grown()
    await store.close()
    await place.look(async ({ index }) => {
      for (const size of [SHORT, LONGEST]) await damageRecord(index, rootOf(size))
    })
    const { records } = await BlobStore.rescue(place.where)
    expect(records.map(({ cid, isRestored }) => [sizeOf(cid), isRestored])).to.have.deep.members(
      [[SHORT, true], [LONGEST, true]])
    const again = await place.open({ quota: QUOTA })
    await expectReads(again, SIZES)
    await expectSound(again)
  })

  for (const [what, deleteOthers] of Object.entries({
    'delete()': async store => { for (const size of [LONG, SHORTEST, SHORT]) await store.delete(rootOf(size)) },
    'deleteMany()': store => store.deleteMany([SHORTEST, SHORT, LONG].map(rootOf)),
    'gc()': async store => {
      await store.tags.set('kept', rootOf(LONGEST))
      await store.gc()
    }
  })) {
    it(`${what} of all blobs with an entry keeps the longest blob, whose entry is lost`, async () => {
      const { place, store: before, base } = await grown()
      await before.close()
      await place.look(({ index }) => sharerEntry(index, base, LONGEST).remove())
      const store = await place.open({ quota: QUOTA })
      await deleteOthers(store)
      await expectRight(store, LONGEST)
      expect(await store.fsck({ repair: true })).to.include({ strays: 1, orphans: 0 })
      expect(await expectCounted(store)).to.equal(LONGEST)
      await store.close()
      const again = await place.open({ quota: QUOTA })
      await expectRight(again, LONGEST)
      await expectSound(again)
      await again.delete(rootOf(LONGEST), { force: true })
      expect(await lensOfFiles(again)).to.deep.equal([])
      expect(await expectCounted(again)).to.equal(0)
    })
  }

  it('append() does not write to the file when a longer blob has lost its entry', async () => {
    const { place, store: before, base } = await grown()
    await before.close()
    await place.look(({ index }) => sharerEntry(index, base, LONGEST).remove())
    const store = await place.open({ quota: QUOTA })
    await store.append(rootOf(LONG), ALL.subarray(LONG, 3 * MIB))
    await expectReads(store, SIZES)
    await expectRight(store, 3 * MIB)
    expect(await lensOfFiles(store)).to.deep.equal([LONGEST, 3 * MIB])
  })

  it('lost or wrong pairs of any blob, and of the base, are computed again', async () => {
    for (const [which, isLost] of pairsOf(['base', ...SIZES], [true, false])) {
      const { place, store: before, base } = await grown()
      const id = which === 'base' ? base : (await recordOf(before, rootOf(which))).id
      await before.close()
      let count = 0
      await place.look(async ({ data }) => {
        for (const { value, put, del } of (await entriesOf(data)).filter(entry => entry.id === id && isPage(entry))) {
          count++
          await (isLost ? del() : put(value.fill(7, 8)))
        }
      })
      expect(count > 0, `pages of ${which}`).to.equal(which !== LONG) // because the tree of LONG is perfect
      const store = await place.open({ quota: QUOTA })
      const { damaged } = await store.fsck()
      if (count > 0) expect(damaged.map(({ size }) => size)).to.include(which === 'base' ? LONGEST : which)
      for (const { data, tree } of damaged) expect([data.isEmpty, tree.isEmpty]).to.deep.equal([true, false])
      const repaired = await store.fsck({ repair: true })
      for (const { lost } of repaired.damaged) expect(lost.isEmpty).to.equal(true)
      await expectSound(store)
      await expectReads(store, SIZES)
      await store.append(rootOf(LONGEST), ALL.subarray(LONGEST, 3 * MIB))
      await expectRight(store, 3 * MIB)
      await expectSound(store)
      await place.remove()
      places.pop()
    }
  })
})
