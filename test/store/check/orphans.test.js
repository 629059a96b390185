// Data whose record is lost without a trace. It is deleted, unless a tag claims it: then the blob gets a record again.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { hash, toCid } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { concat, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import {
  changeState, damageRecord, databasesOf, deletionsIn, flipStoredByte, idsIn, recordEntry, recordOf, stateEntry,
  tagOfBlobEntry, writesRecord
} from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, sliceOf } from '../../support/store/stores.js'

/** Blobs in one extent, in several, and on a disk in a file. */
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

    /** Deletes all records, as damage does that LevelDB has hidden by a compaction. */
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
      it(`${what} restores the records of those that tags claim, and deletes the others`, async () => {
        await loseRecords()
        const store = await place.open()
        await sweep(store)
        await expectClaimed(store)
      })
    }

    it('gc() keeps the members of a sequence when only the sequence has lost its record', async () => {
      await place.look(({ index }) => recordEntry(index, hash(SEQUENCE)).remove())
      const store = await place.open()
      expect(await store.gc()).to.include({ blobs: UNTAGGED.length })
      await expectClaimed(store)
    })

    describe('a tagged sequence that has lost its record', () => {
      const limit = concat([...TAGGED, ...MEMBERS, ...UNTAGGED, SEQUENCE]).length + RANGE.end
      const calls = {
        'gc()': { run: store => store.gc() },
        'an eviction under a quota': { quota: limit, run: store => store.put(noise(10 * GROUP, 90)) }
      }
      for (const [what, { quota, run }] of Object.entries(calls)) {
        it(`keeps its members when ${what} deletes other blobs`, async () => {
          await place.look(({ index }) => recordEntry(index, hash(SEQUENCE)).remove())
          const store = await place.open({ quota })
          await run(store)
          for (const bytes of MEMBERS) expect(await store.has(hash(bytes)), `${bytes.length}`).to.equal(true)
          expect(same(await store.bytes(hash(SEQUENCE)), SEQUENCE)).to.equal(true)
          expect((await Promise.all(UNTAGGED.map(bytes => store.has(hash(bytes)))))).to.include(false)
        })

        it(`makes ${what} fail while another record is damaged`, async () => {
          await place.look(async ({ index }) => {
            await recordEntry(index, hash(SEQUENCE)).remove()
            await damageRecord(index, hash(TAGGED[0]))
          })
          const store = await place.open({ quota })
          const { code, cid } = await errorOf(run(store))
          expect({ code, cid: `${cid}` }).to.deep.equal({ code: 'STORE_CORRUPT', cid: `${toCid(hash(SEQUENCE))}` })
          await store.fsck({ repair: true })
          await run(store)
          for (const bytes of MEMBERS) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
        })
      }

      it('keeps nothing when the store never had it', async () => {
        const store = await place.open({ quota: limit })
        await store.tags.set('absent', hash(noise(32 * 5, 95)), { format: 'hashseq' })
        await store.put(noise(10 * GROUP, 90))
        await store.gc()
        expect(await store.fsck()).to.include({ isSound: true })
      })
    })

    it('are kept if a temporary tag claims them', async () => {
      await place.look(({ index }) => recordEntry(index, hash(UNTAGGED[1])).remove())
      const store = await place.open()
      const tag = store.tempTag()
      await tag.add(hash(UNTAGGED[1]))
      await store.compact()
      expect(same(await store.bytes(hash(UNTAGGED[1])), UNTAGGED[1])).to.equal(true)
    })

    it('of the same blob: the most complete copy is kept', async () => {
      const range = { start: 0, end: GROUP }
      await place.look(({ index }) => recordEntry(index, hash(TAGGED[1])).remove())
      const store = await place.open()
      await store.receive(hash(TAGGED[1]), sliceOf(TAGGED[1], range), range)
      await store.compact()
      await store.close()
      await place.look(({ index }) => recordEntry(index, hash(TAGGED[1])).remove())
      const opened = await place.open()
      await opened.compact()
      expect(same(await opened.bytes(hash(TAGGED[1])), TAGGED[1])).to.equal(true)
    })

    it('that have more of a blob than its record replace it, and others are deleted', async () => {
      const bytes = TAGGED[1]
      await place.look(({ index }) => recordEntry(index, hash(bytes)).remove())
      let store = await place.open()
      const range = { start: 0, end: GROUP }
      await store.receive(hash(bytes), sliceOf(bytes, range), range) // beside the data that has lost its record
      await store.gc()
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
      await store.close()
      await expectNoOrphans(place)

      // Now the orphan has less than the record.
      await place.look(({ index }) => recordEntry(index, hash(PART)).remove())
      store = await place.open()
      const more = { start: 0, end: 4 * GROUP }
      await store.receive(hash(PART), sliceOf(PART, more), more)
      await store.gc()
      expect(same(await store.bytes(hash(PART), more), PART.subarray(0, more.end))).to.equal(true)
      expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
    })

    it('that have a group which is damaged in the blob of the record stay until the group is right again', async () => {
      await place.look(({ index }) => recordEntry(index, hash(PART)).remove())
      const store = await place.open()
      const range = { start: 0, end: 4 * GROUP }
      await store.receive(hash(PART), sliceOf(PART, range), range)
      await flipStoredByte(store, hash(PART), 5)
      await store.gc()
      expect(await store.fsck()).to.include({ orphans: 1 })
      expect(await errorOf(store.bytes(hash(PART), range))).to.include({ code: 'STORE_CORRUPT' })
      expect((await store.missing(hash(PART), range)).boundaries).to.deep.equal([0, 16])
      await store.receive(hash(PART), sliceOf(PART, range), range)
      await store.gc()
      expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
      expect(same(await store.bytes(hash(PART), range), PART.subarray(0, range.end))).to.equal(true)
    })

    it('stay when a store is opened, if each of them and the record has groups that the other lacks', async () => {
      const other = { start: RANGE.end, end: 4 * GROUP }
      await place.look(({ index }) => recordEntry(index, hash(PART)).remove())
      let store = await place.open()
      await store.receive(hash(PART), sliceOf(PART, other), other)
      await store.close()
      await place.look(({ index }) => changeState(index, { isClean: false, swept: 0 }))
      store = await place.open()
      expect(await store.fsck()).to.include({ orphans: 1 })
      expect(same(await store.bytes(hash(PART), other), PART.subarray(other.start, other.end))).to.equal(true)
      await store.put(PART)
      await store.gc()
      expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
    })

    it('do not cost a blob its proven size or its creation when they replace its data', async () => {
      const bytes = noise(2_000_000, 91)
      const root = hash(bytes)
      const first = { start: 0, end: 70 * GROUP }
      let store = await place.open()
      await store.tags.set('size', root)
      await store.receive(root, sliceOf(bytes, first), first)
      await store.close()
      await place.look(({ index }) => recordEntry(index, root).remove())
      store = await place.open()
      for (const range of [{ start: 0, end: GROUP }, { start: bytes.length - 1, end: bytes.length }]) {
        await store.receive(root, sliceOf(bytes, range), range)
      }
      const { created, sizeProven } = await store.stat(root)
      expect(sizeProven).to.equal(true)
      await store.gc()
      const stat = await store.stat(root)
      expect(stat).to.include({ size: bytes.length, sizeProven: true })
      expect([stat.created, stat.present.boundaries]).to.deep.equal([created, [0, 70 * 16]])
      expect(same(await store.bytes(root, first), bytes.subarray(0, first.end))).to.equal(true)
    })

    it('do not cost a blob its aliases, by which a tag may protect it, when they replace damaged data', async () => {
      const bytes = noise(20 * GROUP + 5, 92)
      const alias = CID.createV1(0x55, await sha256.digest(bytes))
      let store = await place.open()
      await store.put(bytes, { alias })
      await store.tags.set('alias', alias)
      await store.close()
      await place.look(({ index }) => recordEntry(index, hash(bytes)).remove())
      store = await place.open()
      await store.receive(hash(bytes), sliceOf(bytes, { start: 0, end: GROUP }), { start: 0, end: GROUP })
      await flipStoredByte(store, hash(bytes), 5)
      await store.gc()
      await store.gc()
      expect(`${await store.aliases.resolve(alias)}`).to.equal(`${toCid(hash(bytes))}`)
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })

    it('go to the whole blob, although another tag names its beginning', async () => {
      const whole = noise(16 * GROUP, 80)
      const beginning = whole.subarray(0, 8 * GROUP)
      let store = await place.open()
      await store.put(whole, { tag: 'whole' })
      await store.tags.set('beginning', hash(beginning))
      await store.close()
      await place.look(({ index }) => recordEntry(index, hash(whole)).remove())
      store = await place.open()
      await store.compact()
      expect(same(await store.bytes(hash(whole)), whole)).to.equal(true)
    })

    it('of a part of a tagged blob are not taken for a whole blob when other records are damaged', async () => {
      await place.look(async ({ index }) => {
        await recordEntry(index, hash(PART)).remove()
        await damageRecord(index, hash(UNTAGGED[0]))
      })
      const store = await place.open()
      const { records } = await store.fsck({ repair: true })
      expect(records.map(({ isRestored }) => isRestored)).to.deep.equal([true, true])
      expect(same(await store.bytes(hash(PART), RANGE), PART.subarray(0, RANGE.end))).to.equal(true)
    })

    for (const [what, damage] of Object.entries({
      'another record is damaged': ({ index }) => damageRecord(index, hash(UNTAGGED[0])),
      'the state is lost': ({ index }) => stateEntry(index).remove()
    })) {
      it(`of parts of members are not taken for whole blobs by fsck({ repair: true }) when ${what}`, async () => {
        const { store, parts } = await withPartialMembers(damage)
        await store.fsck({ repair: true })
        await store.gc()
        await expectParts(store, parts)
      })
    }

    it('of parts of members are not taken for whole blobs by rescue()', async function () {
      if (typeof place.where !== 'string') return this.skip()
      const { store: before, parts } = await withPartialMembers(() => {})
      await before.close()
      await BlobStore.rescue(place.where)
      const store = await place.open()
      await store.gc()
      await expectParts(store, parts)
    })

    /** Stores the beginnings of members of a tagged sequence, and loses their records. */
    async function withPartialMembers (damage) {
      const parts = [[6 * GROUP, 2 * GROUP], [8 * GROUP, 4 * GROUP], [2_000_000, 64 * GROUP]].map(
        ([len, end], i) => ({ bytes: noise(len, 100 + i), range: { start: 0, end } }))
      const sequence = concat(parts.map(({ bytes }) => hash(bytes)))
      const store = await place.open()
      for (const { bytes, range } of parts) await store.receive(hash(bytes), sliceOf(bytes, range), range)
      await store.put(sequence)
      await store.tags.set('parts', hash(sequence), { format: 'hashseq' })
      await store.close()
      await place.look(async levels => {
        for (const { bytes } of parts) await recordEntry(levels.index, hash(bytes)).remove()
        await damage(levels)
      })
      return { store: await place.open(), parts }
    }

    async function expectParts (store, parts) {
      for (const { bytes, range } of parts) {
        const got = await store.bytes(hash(bytes), range)
        expect(same(got, bytes.subarray(0, range.end)), `${bytes.length}`).to.equal(true)
      }
    }

    it('go to the whole blob that is a member, although a tag names its beginning', async () => {
      const whole = noise(16 * GROUP, 80)
      let store = await place.open()
      await store.put(whole)
      await store.put(hash(whole))
      await store.tags.set('member', hash(hash(whole)), { format: 'hashseq' })
      await store.tags.set('beginning', hash(whole.subarray(0, 8 * GROUP)))
      await store.close()
      await place.look(({ index }) => recordEntry(index, hash(whole)).remove())
      store = await place.open()
      await store.gc()
      expect(same(await store.bytes(hash(whole)), whole)).to.equal(true)
    })

    it('of a blob and of its tagged beginning go back to both, although another record is damaged', async () => {
      const whole = noise(16 * GROUP, 80)
      const blobs = [whole, whole.subarray(0, 8 * GROUP)]
      let store = await place.open()
      for (const bytes of blobs) await store.put(bytes)
      await store.tags.set('beginning', hash(blobs[1]))
      await store.close()
      await place.look(async ({ index }) => {
        for (const bytes of blobs) await recordEntry(index, hash(bytes)).remove()
        await damageRecord(index, hash(UNTAGGED[0]))
      })
      store = await place.open()
      await store.fsck({ repair: true })
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })

    it('of a blob and of its beginning, whose records are damaged, go back to both', async () => {
      const whole = noise(16 * GROUP, 80)
      const blobs = [whole, whole.subarray(0, 8 * GROUP)]
      let store = await place.open()
      for (const bytes of blobs) await store.put(bytes)
      await store.close()
      await place.look(async ({ index }) => { for (const bytes of blobs) await damageRecord(index, hash(bytes)) })
      store = await place.open()
      const { records } = await store.fsck({ repair: true })
      expect(records.map(({ isRestored }) => isRestored)).to.deep.equal([true, true])
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })

    it('stay while a part of a tagged sequence is damaged', async () => {
      const long = concat(Array.from({ length: 2000 }, (_, i) => hash(i < 2 ? MEMBERS[i] : noise(8, i))))
      let store = await place.open()
      await store.put(long)
      await store.tags.set('long', hash(long), { format: 'hashseq' })
      await flipStoredByte(store, hash(long), 40_000)
      expect(await errorOf(store.bytes(hash(long)))).to.include({ code: 'STORE_CORRUPT' })
      await store.close()
      await place.look(({ index }) => recordEntry(index, hash(UNTAGGED[0])).remove())
      store = await place.open()
      expect(await errorOf(store.compact())).to.include({ code: 'STORE_CORRUPT' })
      for (let round = 0; round < 2; round++) expect(await store.fsck({ repair: true })).to.include({ orphans: 1 })
      await store.put(long)
      expect(await store.fsck({ repair: true })).to.include({ orphans: 1 })
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('of blobs that share a file are kept because of the entries of the sharers', async () => {
      let store = await place.open()
      const { cid } = await store.put(noise(2_000_000, 90), { tag: 'first' })
      const { cid: second } = await store.append(cid, noise(300_000, 91), { tag: 'second' })
      await store.close()
      await place.look(async ({ index }) => {
        for (const blob of [cid, second]) await recordEntry(index, blob.multihash.digest).remove()
        await changeState(index, { isClean: false, swept: 0 })
      })
      store = await place.open()
      await store.gc()
      await store.fsck({ repair: true })
      expect((await store.bytes(second)).length).to.equal(2_300_000)
      expect((await store.bytes(cid)).length).to.equal(2_000_000)
    })

    for (const [what, sweep] of Object.entries({
      'gc()': store => store.gc(),
      'fsck({ repair: true })': store => store.fsck({ repair: true })
    })) {
      it(`${what} that is interrupted after any record that it writes has lost nothing`, async () => {
        await loseRecords()
        const interruption = new Error('interrupted')
        for (let records = 0, error; error !== undefined || records === 0; records++) {
          expect(records, 'one record for each blob').to.be.below(9)
          const store = await place.open()
          const { index } = databasesOf(store)
          const { batch } = index
          index.batch = async function (operations, options) {
            await batch.call(this, operations, options)
            if (operations.some(writesRecord)) throw interruption
          }
          error = await errorOf(sweep(store))
          expect(error).to.be.oneOf([undefined, interruption])
          delete index.batch
          await store.close()
        }
        await expectClaimed(await place.open())
      })
    }

    for (const [what, sweep] of Object.entries({
      'gc()': store => store.gc(),
      'compact()': store => store.compact(),
      'fsck({ repair: true })': store => store.fsck({ repair: true })
    })) {
      for (const [when, endsWith] of Object.entries({
        'while their data is deleted': () => {},
        'when their data could not be deleted': () => { throw new Error('the disk fails') }
      })) {
        it(`${what} does not restore blobs that were deleted in spite of their tags, ${when}`, async () => {
          const roots = TAGGED.map(bytes => hash(bytes))
          const store = await place.open()
          const databases = databasesOf(store)
          const { deleteGivenUp } = databases
          databases.deleteGivenUp = async givenUp => {
            databases.deleteGivenUp = deleteGivenUp
            await sweep(store)
            endsWith()
            return deleteGivenUp.call(databases, givenUp)
          }
          expect(await store.deleteMany(roots, { force: true })).to.include({ blobs: roots.length })
          for (const root of roots) expect(await store.has(root)).to.equal(false)
          expect(await store.fsck()).to.include({ isSound: true })
          await store.close()
          const again = await place.open()
          for (const root of roots) expect(await again.has(root)).to.equal(false)
          expect(await again.fsck()).to.include({ isSound: true })
          await again.close()
          await expectNoOrphans(place)
        })
      }
    }

    describe('of deleted blobs', () => {
      const roots = TAGGED.map(bytes => hash(bytes))
      let store, databases, ids
      beforeEach(async () => {
        store = await place.open()
        databases = databasesOf(store)
        ids = []
        for (const root of roots) ids.push((await recordOf(store, root)).id)
      })

      const expectDeleted = async () => {
        expect(await idsIn(databases.data)).not.to.include.members(ids)
        if (databases.files !== undefined) expect(await databases.files.ids()).not.to.include(ids[2])
      }

      for (const [what, sweep] of Object.entries({
        'gc()': () => store.gc(),
        'compact()': () => store.compact(),
        'fsck({ repair: true })': () => store.fsck({ repair: true })
      })) {
        it(`keep their note while ${what} runs during the deletion`, async () => {
          const { deleteGivenUp } = databases
          let noted
          databases.deleteGivenUp = async givenUp => {
            databases.deleteGivenUp = deleteGivenUp
            await sweep()
            noted = await deletionsIn(databases.index)
            return deleteGivenUp.call(databases, givenUp)
          }
          expect(await store.deleteMany(roots, { force: true })).to.include({ blobs: roots.length })
          expect(noted).to.include.members(ids)
        })

        it(`are deleted by ${what} when the deletion has failed`, async () => {
          const { data } = databases
          data.clear = () => {
            delete data.clear
            throw new Error('the disk fails')
          }
          expect(await store.deleteMany(roots, { force: true })).to.include({ blobs: roots.length })
          expect(await deletionsIn(databases.index)).to.have.members(ids)
          await sweep()
          await expectDeleted()
          await store.close()
          await place.look(({ index }) => changeState(index, { isClean: false, swept: 0 }))
          const again = await place.open()
          for (const root of roots) expect(await again.has(root)).to.equal(false)
        })

        it(`are not deleted by ${what} when a deletion has failed, and another has deleted the others`, async () => {
          const { index } = databases
          index.batch = async () => {
            delete index.batch
            throw new Error('the disk fails')
          }
          expect(await errorOf(store.deleteMany(roots, { force: true }))).to.include({ message: 'the disk fails' })
          expect(await store.deleteMany(roots.slice(0, 2), { force: true })).to.include({ blobs: 2 })
          await sweep()
          expect(same(await store.bytes(roots[2]), TAGGED[2])).to.equal(true)
        })

        it(`are deleted by ${what} if the failed write of the deletion was done, and stay if it was not`, async () => {
          const { index } = databases
          for (const isDone of [false, true]) {
            index.batch = async (operations, options) => {
              delete index.batch
              if (isDone) await index.batch(operations, options)
              throw new Error('the disk fails')
            }
            expect(await errorOf(store.deleteMany(roots, { force: true }))).to.include({ message: 'the disk fails' })
            await sweep()
            for (const [i, root] of roots.entries()) {
              expect(await store.has(root)).to.equal(!isDone)
              if (!isDone) expect(same(await store.bytes(root), TAGGED[i])).to.equal(true)
            }
          }
          await expectDeleted()
        })
      }
    })

    it('are restored or deleted by open() after a crash, too', async () => {
      await loseRecords()
      await place.look(({ index }) => changeState(index, { isClean: false, swept: 0 }))
      await expectClaimed(await place.open())
    })

    it('stay at open() after a crash while a damaged tag hides its claim', async () => {
      await loseRecords()
      await place.look(async ({ index }) => {
        await changeState(index, { isClean: false, swept: 0 })
        await tagOfBlobEntry(index, hash(SEQUENCE), 'sequence').write(new Uint8Array(20))
      })
      const store = await place.open()
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      await store.fsck({ repair: true })
      await expectClaimed(store)
    })
  })
})
