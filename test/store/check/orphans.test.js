// Data whose record is gone without a trace: it is deleted, unless a tag claims it. Then the blob gets a record again.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { concat, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { changeState, recordEntry, tagBesideBlobEntry } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, sliceOf } from '../../support/store/stores.js'

/** Kept in one extent, in several, and on a disk in a file. */
const TAGGED = [100, 5 * GROUP + 1, 2_000_000].map((len, i) => noise(len, 40 + i))
const MEMBERS = [200, 3 * GROUP].map((len, i) => noise(len, 50 + i))
const SEQUENCE = concat(MEMBERS.map(bytes => hash(bytes)))
const UNTAGGED = [300, 2 * GROUP, 1_500_000].map((len, i) => noise(len, 60 + i))
const PART = noise(6 * GROUP, 70)
const RANGE = { start: 0, end: 2 * GROUP }

describe('store: orphans', () => {
  forEachPlace(newPlace => {
    let place
    beforeEach(async () => {
      place = await newPlace()
      const store = await place.open()
      for (const [i, bytes] of TAGGED.entries()) await store.put(bytes, { tag: `tag ${i}` })
      for (const bytes of [...MEMBERS, ...UNTAGGED]) await store.put(bytes)
      await store.put(SEQUENCE)
      await store.tags.set('sequence', hash(SEQUENCE), { format: 'hashseq' })
      await store.receive(hash(PART), sliceOf(PART, RANGE), RANGE)
      await store.tags.set('part', hash(PART))
      await store.close()
    })

    /** Deletes all records, as damage that LevelDB has merged may have done. */
    const loseRecords = () => place.look(async ({ index }) => {
      for (const bytes of [...TAGGED, ...MEMBERS, ...UNTAGGED, SEQUENCE, PART]) {
        await recordEntry(index, hash(bytes)).remove()
      }
    })

    async function expectClaimed (store) {
      for (const bytes of [...TAGGED, ...MEMBERS, SEQUENCE]) {
        expect(same(await store.bytes(hash(bytes)), bytes), `${bytes.length}`).to.equal(true)
      }
      expect(same(await store.bytes(hash(PART), RANGE), PART.subarray(0, RANGE.end))).to.equal(true)
      for (const bytes of UNTAGGED) expect(await store.has(hash(bytes)), `${bytes.length}`).to.equal(false)
      expect(await store.fsck()).to.include({ isSound: true, orphans: 0, blobs: 7 })
      await store.close()
      await expectNoOrphans(place)
    }

    for (const [what, sweep] of Object.entries({
      'gc()': store => store.gc(),
      'compact()': store => store.compact(),
      'fsck({ repair: true })': async store => {
        const { orphans, records } = await store.fsck({ repair: true })
        expect(orphans).to.equal(UNTAGGED.length)
        expect(records.filter(({ isRestored }) => isRestored)).to.have.length(7)
      }
    })) {
      it(`${what} gives those that tags claim a record, and deletes the others`, async () => {
        await loseRecords()
        const store = await place.open()
        await sweep(store)
        await expectClaimed(store)
      })
    }

    it('open() after a crash does so, too', async () => {
      await loseRecords()
      await place.look(({ index }) => changeState(index, { isClean: false, swept: 0 }))
      await expectClaimed(await place.open())
    })

    it('open() after a crash deletes nothing while a damaged tag hides what it claims', async () => {
      await loseRecords()
      await place.look(async ({ index }) => {
        await changeState(index, { isClean: false, swept: 0 })
        await tagBesideBlobEntry(index, hash(SEQUENCE), 'sequence').write(new Uint8Array(20))
      })
      const store = await place.open()
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      await store.fsck({ repair: true })
      await expectClaimed(store)
    })
  })
})
