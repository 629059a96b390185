// fsck() of one damaged blob: the damage that it finds, the groups that it drops, and the pairs that it computes again.
import { expect } from 'chai'
import { ChunkRanges } from '../../../lib/index.js'
import { EXTENT, GROUP, VIEWS } from '../../support/constants.js'
import { concat, flipped, same } from '../../support/bytes.js'
import { pairsOf, testsInTurn } from '../../support/effort.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, isPage } from '../../support/store/inspect.js'
import { newStores } from '../../support/store/stores.js'
import { ALL, BYTES, FILLS, ROOT, expectHere, expectSound, fetchMissing, groups } from '../../support/store/mending.js'

const PAGE = 64 * GROUP
const BITS = 8

describe('store: fsck() of a damaged blob', () => {
  const newStore = newStores()

  const kinds = Object.entries(FILLS)
  for (const [i, test] of testsInTurn(kinds.length).entries()) {
    const [how, { ranges, fill }] = kinds[i]
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

      /**
       * Expects that fsck() finds this damage and repairs it, and that the lost chunks can be fetched again.
       *
       * @param {{ data?: ChunkRanges, tree?: ChunkRanges, lost?: ChunkRanges }} what
       */
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

      test('repair drops a group with a wrong byte, and nothing else', async () => {
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

      test('repair drops the groups of a lost extent', async () => {
        await extents[5].del()
        await expectMended({ data: groups(5 * EXTENT, 6 * EXTENT) })
      })

      test('repair drops the groups that a short extent lacks', async () => {
        await extents[5].put(extents[5].value.slice(0, GROUP + 5))
        await expectMended({ data: groups(5 * EXTENT + GROUP, 6 * EXTENT), strays: 1 })
      })

      test('repair drops an extent that is too long, or empty', async () => {
        const last = extents.find(({ offset }) => offset === 31 * EXTENT)
        await last.put(concat([last.value, new Uint8Array(1)])) // over the border of its cell
        await extents[5].put(new Uint8Array(0))
        await expectMended({ data: groups(5 * EXTENT, 6 * EXTENT).union(groups(31 * EXTENT, 32 * EXTENT)), strays: 2 })
      })

      test('repair drops the group where two extents overlap', async () => {
        await extents[5].put(concat([extents[5].value, new Uint8Array(1)]))
        await expectMended({ data: groups(6 * EXTENT, 6 * EXTENT + GROUP), strays: 2 })
      })

      test('repair drops two extents that have changed places', async () => {
        await extents[2].put(extents[3].value)
        await extents[3].put(extents[2].value)
        await expectMended({ data: groups(2 * EXTENT, 4 * EXTENT) })
      })

      test('repair of a blob without a right byte keeps its record', async () => {
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

      test('repair removes entries that do not belong to the blob', async () => {
        const [{ key, value }] = extents
        const at = (chunk, kind, len = key.length) => {
          const other = new Uint8Array(len)
          other.set(key)
          new DataView(other.buffer).setBigUint64(8, BigInt(chunk))
          other[16] = kind
          return other
        }
        const strays = [
          [at(4096, 0), value], // after the end
          [at(17, 0), value.slice(0, GROUP)], // inside another
          [at(1023, 3), noise(100)], [at(1000, 1), noise(100)],
          [at(100 * 1024 - 1, 1), noise(100)], // not a page of this blob
          [at(16, 0, 18), value] // too long a key
        ]
        for (const [key, value] of strays) await data.put(key, value, VIEWS)
        await expectMended({ strays: strays.length })
        expect(await entriesOf(data)).to.satisfy(
          entries => !entries.some(({ key }) => strays.some(([stray]) => same(stray, key)))
        )
      })

      test('repair computes the pairs of a lost or wrong page again', async () => {
        const changes = [
          page => page.del(),
          page => page.put(page.value.map((byte, i) => i < BITS ? byte : 0)),
          page => page.put(page.value.map((byte, i) => i < BITS ? byte : byte ^ 0x55)),
          page => page.put(page.value.map((byte, i) => i >= BITS && i % 3 === 0 ? byte ^ 1 : byte))
        ]
        for (const [i, change] of pairsOf([...pages.keys()], changes)) {
          await change((await entriesOf(data)).filter(isPage)[i])
          const { damaged: [{ data: wrong, lost }] } = await store.fsck({ repair: true })
          const whole = groups(Math.min(i, 2) * PAGE, Math.min((Math.min(i, 2) + 1) * PAGE, BYTES.length))
          expect(wrong.isEmpty, 'the bytes are right').to.equal(true)
          // Pairs above missing groups cannot be computed again, and the groups that they have proven are lost.
          if (i === 3 || ranges.intersect(whole).equals(whole)) {
            expect(lost.boundaries, `page ${i} of ${pages.length}`).to.deep.equal([])
          } else {
            expect(lost.difference(whole).isEmpty, `page ${i}`).to.equal(true)
          }
          await expectHere(store, ranges.difference(lost))
          await expectSound(store)
          await fetchMissing(store, ranges)
          await expectHere(store, ranges)
          await expectSound(store)
        }
      })

      test('repair computes a pair from those below it, although bytes are lost, too', async () => {
        for (const slot of [31, 15, 7]) {
          const [page] = (await entriesOf(data)).filter(isPage)
          const extent = (await entriesOf(data)).find(
            ({ offset, value }) => offset <= GROUP && offset + value.length > GROUP
          )
          await page.put(flipped(page.value, BITS + slot * 64 + 5))
          await extent.put(flipped(extent.value, GROUP + 5 - extent.offset))
          const { damaged: [{ tree, lost }] } = await store.fsck({ repair: true })
          expect(tree.boundaries).to.deep.equal(ranges.intersect(groups(0, 2 * (slot + 1) * GROUP)).boundaries)
          expect(lost.boundaries).to.deep.equal(slot === 31 && how === 'received in part'
            ? lost.boundaries
            : groups(GROUP).boundaries)
          await fetchMissing(store, ranges)
          await expectHere(store, ranges)
          await expectSound(store)
        }
      })

      test('repair drops the groups below a pair that cannot be computed', async () => {
        const [page] = pages
        const wrong = new Uint8Array(page.value)
        for (const slot of [0, 1, 2, 3]) wrong.fill(0, BITS + slot * 64, BITS + (slot + 1) * 64)
        await page.put(wrong)
        await extents[0].put(flipped(extents[0].value, 0))
        await expectMended({
          tree: groups(0, 4 * GROUP).union(groups(4 * GROUP, 8 * GROUP)),
          lost: groups(0, 8 * GROUP)
        })
      })

      test('repair sets the lost mark of a present group, and clears the mark of a lost group', async () => {
        if (how !== 'received in part') return
        const [page] = pages
        await page.put(page.value.map((byte, i) => i < 4 ? 0 : byte))
        const { damaged: [{ tree, data: wrong, lost }] } = await store.fsck({ repair: true })
        expect(wrong.isEmpty && lost.isEmpty).to.equal(true)
        expect(tree.boundaries).to.deep.equal(groups(0, 32 * GROUP).boundaries)
        await expectHere(store, ranges)
        // A mark without a group, in a page without any group: if it stayed, the group would never be received.
        const entries = await entriesOf(data)
        for (const extent of entries.filter(({ offset }) => offset >= 2 * PAGE)) await extent.del()
        await store.fsck({ repair: true })
        await expectSound(store)
        await fetchMissing(store)
        await expectHere(store, ALL)
      })
    })
  }
})
