// fsck() of a store whose blob files were changed, cut short, or removed.
import { open, readdir, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ChunkRanges } from '../../../lib/index.js'
import { GROUP } from '../../support/constants.js'
import { flipped } from '../../support/bytes.js'
import { someOf } from '../../support/effort.js'
import { damageRecord, databasesOf, entriesOf } from '../../support/store/inspect.js'
import { onDisk } from '../../support/store/stores.js'
import { ALL, BYTES, FILLS, ROOT, expectHere, expectSound, fetchMissing, groups } from '../../support/store/mending.js'

describe('store: fsck() of blobs in files', () => {
  let place, store, path
  for (const [how, { ranges, fill }] of someOf(Object.entries(FILLS))) {
    describe(`of a blob that was ${how}`, () => {
      beforeEach(async () => {
        place = await onDisk()
        store = await place.open()
        await fill(store)
        const [name] = await readdir(join(place.where, 'blobs'))
        path = join(place.where, 'blobs', name)
      })
      afterEach(() => place.remove())

      async function expectMended (wrong) {
        for (const repair of [false, true]) {
          const { damaged } = await store.fsck({ repair })
          expect(damaged).to.have.length(1)
          expect(damaged[0].data.boundaries).to.deep.equal(wrong.boundaries)
          expect(damaged[0].lost.boundaries).to.deep.equal(wrong.boundaries)
        }
        await expectSound(store)
        await expectHere(store, ranges.difference(wrong))
        await store.close()
        store = await place.open()
        await expectHere(store, ranges.difference(wrong))
        await fetchMissing(store, ranges)
        await expectHere(store, ranges)
        await expectSound(store)
        await fetchMissing(store)
        await expectHere(store, ALL)
        await expectSound(store)
      }

      it('repair drops groups with wrong bytes', async () => {
        const places = [0, 17 * GROUP + 5, 129 * GROUP]
        const file = await open(path, 'r+')
        for (const at of places) await file.write(flipped(BYTES.subarray(at, at + 1), 0), 0, 1, at)
        await file.close()
        await expectMended(places.reduce((all, at) => all.union(groups(at)), ChunkRanges.none))
      })

      it('repair drops the groups that a file lacks when it is too short, or gone', async () => {
        await truncate(path, 100 * GROUP + 5)
        await expectMended(ranges.intersect(groups(100 * GROUP, BYTES.length)))
        await truncate(path, 0)
        await rm(path)
        const { damaged: [{ lost }] } = await store.fsck({ repair: true })
        expect(lost.boundaries).to.deep.equal(ALL.boundaries)
        await fetchMissing(store)
        await expectHere(store, ALL)
        await expectSound(store)
        await store.close()
        store = await place.open()
        await expectHere(store, ALL)
      })

      for (const [where, fails] of Object.entries({ 'at its start': () => true, 'after it': start => start > 0 })) {
        it(`repair leaves the data of a damaged record alone if the system cannot read it ${where}`, async () => {
          await store.close()
          await place.look(({ index }) => damageRecord(index, ROOT))
          store = await place.open()
          const restore = failReads(store, fails)
          const { orphans } = await store.fsck()
          const { records, orphans: orphansOfRepair } = await store.fsck({ repair: true })
          expect(records).to.have.length(1)
          expect(orphansOfRepair, 'orphans as a check counts them').to.equal(orphans)
          restore()
          expect((await store.fsck({ repair: true })).records).to.have.nested.property('0.isRestored', true)
          await expectSound(store)
          await expectHere(store, ranges)
        })
      }

      it('repair computes its tree and its record again', async () => {
        await store.close()
        await place.look(async ({ data, index }) => {
          for (const { del } of (await entriesOf(data)).slice(2)) await del()
          await damageRecord(index, ROOT)
        })
        store = await place.open()
        const { records } = await store.fsck({ repair: true })
        await expectSound(store)
        // Without the topmost page, the blob of the file cannot be found.
        expect(records[0].isRestored).to.equal(false)
        expect(await readdir(join(place.where, 'blobs'))).to.deep.equal([])
        await fill(store)
        await store.close()
        await place.look(async ({ data, index }) => {
          for (const { del } of (await entriesOf(data)).slice(0, 2)) await del()
          await damageRecord(index, ROOT)
        })
        store = await place.open()
        expect((await store.fsck({ repair: true })).records[0].isRestored).to.equal(true)
        await expectSound(store)
        const { present } = await store.stat(ROOT)
        if (ranges.equals(ALL)) expect(present.boundaries).to.deep.equal(ALL.boundaries)
        await expectHere(store, present)
        await fetchMissing(store)
        await expectHere(store, ALL)
      })
    })
  }
})

/**
 * Makes reads of the files of a store fail.
 *
 * @param {(start: number) => boolean} fails  returns true if a read at this byte fails @returns {() => void} ends it
 */
function failReads (store, fails) {
  const { files } = databasesOf(store)
  const { reader } = files
  files.reader = id => {
    const opened = reader.call(files, id)
    const failing = async start => {
      if (fails(start)) throw Object.assign(new Error('EIO'), { code: 'EIO', errno: -5 })
    }
    return Object.assign(Object.create(opened), {
      handle: opened.handle,
      read: (start, end) => failing(start).then(() => opened.read(start, end)),
      readInto: (buffer, start) => failing(start).then(() => opened.readInto(buffer, start)),
      release: () => opened.release()
    })
  }
  return () => { files.reader = reader }
}
