// Damage to a file that blobs share: fsck() reports it, a repair or rescue drops it, other blobs can be read as before,
// and no read gives a wrong byte.
import { rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { concat, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { holds } from '../../../support/property.js'
import { splice } from '../../../support/store/grown.js'
import { databasesOf, entriesOf, flipStoredByte, isPage, recordOf } from '../../../support/store/inspect.js'
import {
  ALL, QUOTA, expectCounted, expectReads, expectRight, expectSound, grow, lensOfFiles, part, rootOf
} from '../../../support/store/sharers.js'
import { expectNoOrphans, onDisk, sliceOf } from '../../../support/store/stores.js'

const SIZES = [MIB + 5, MIB + 90_000, 2 * MIB, 2 * MIB + 300_000]
const [SHORTEST, SHORT, LONG, LONGEST] = SIZES

/** Damage to the file, and the chunks of each blob that are lost. */
const FILE_DAMAGE = {
  'flipped bytes at the start, and after the shorter blobs': {
    damage: async store => {
      for (const at of [17, 2 * MIB + GROUP + 3]) await flipStoredByte(store, rootOf(LONGEST), at)
    },
    lost: { [SHORTEST]: [0, 16], [SHORT]: [0, 16], [LONG]: [0, 16], [LONGEST]: [0, 16, 2064, 2080] }
  },
  'a flipped byte at the end of a shorter blob': {
    damage: store => flipStoredByte(store, rootOf(LONGEST), SHORTEST - 1),
    lost: { [SHORTEST]: [1024, 1025], [SHORT]: [1024, 1040], [LONG]: [1024, 1040], [LONGEST]: [1024, 1040] }
  },
  'a file that is cut short': {
    damage: (_, path) => truncate(path, MIB + 3 * GROUP + 100),
    lost: { [SHORT]: [1072, 1112], [LONG]: [1072, 2048], [LONGEST]: [1072, 2341] }
  },
  'a file that is gone': {
    damage: (_, path) => rm(path),
    lost: { [SHORTEST]: [0, 1025], [SHORT]: [0, 1112], [LONG]: [0, 2048], [LONGEST]: [0, 2341] }
  }
}

describe('store: damage to a file that blobs share', () => {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })

  /** Makes a store with blobs that share a file. Returns it with the path of the file. */
  async function grown () {
    const place = await onDisk()
    places.push(place)
    const store = await place.open({ quota: QUOTA })
    await grow(store, SIZES)
    const { base } = await recordOf(store, rootOf(LONGEST))
    return { place, store, path: join(place.where, 'blobs', `${base}`) }
  }

  for (const [what, { damage, lost }] of Object.entries(FILE_DAMAGE)) {
    const unread = code => Object.fromEntries(Object.keys(lost).map(size => [size, code]))

    async function expectRepaired (store, place) {
      await expectSound(store)
      await expectReads(store, SIZES, unread('STORE_MISSING'))
      for (const size of SIZES) {
        expect((await store.missing(rootOf(size))).boundaries, `${size} bytes`).to.deep.equal(lost[size] ?? [])
      }
      expect(await expectCounted(store)).to.equal(LONGEST)
      // Groups that one blob receives, all have.
      const missing = await store.missing(rootOf(LONGEST))
      await store.receive(rootOf(LONGEST), sliceOf(part(LONGEST), missing), missing)
      for (const size of SIZES) {
        const missing = await store.missing(rootOf(size))
        if (!missing.isEmpty) await store.receive(rootOf(size), sliceOf(part(size), missing), missing)
      }
      await expectReads(store, SIZES)
      await expectSound(store)
      expect(await lensOfFiles(store)).to.deep.equal([LONGEST])
      await store.append(rootOf(LONGEST), ALL.subarray(LONGEST, 3 * MIB))
      await expectRight(store, 3 * MIB)
      await store.close()
      await expectNoOrphans(place)
    }

    it(`fsck() finds ${what}, and repairs it`, async () => {
      const { place, store, path } = await grown()
      await damage(store, path)
      for (const repair of [false, true]) {
        const { damaged, isSound, ...others } = await store.fsck({ repair })
        expect(isSound).to.equal(false)
        expect(others).to.deep.include({ records: [], tags: [], orphans: 0, strays: 0, isReadable: true })
        expect(Object.fromEntries(damaged.map(({ size, data }) => [size, data.boundaries]))).to.deep.equal(lost)
        for (const { data, lost, tree } of damaged) {
          expect(lost.boundaries).to.deep.equal(data.boundaries)
          expect(tree.isEmpty).to.equal(true)
        }
      }
      await expectRepaired(store, place)
    })

    it(`reads find ${what}, and give the other blobs`, async () => {
      const { place, store, path } = await grown()
      await damage(store, path)
      await store.close() // so that the store does not have the file open
      const again = await place.open({ quota: QUOTA })
      await expectReads(again, SIZES, unread('STORE_CORRUPT'))
      await again.fsck({ repair: true }) // because a read stops at the first fault
      await expectRepaired(again, place)
    })

    it(`rescue() makes a store with ${what} usable`, async () => {
      const { place, store, path } = await grown()
      await damage(store, path)
      await store.close()
      await rm(join(place.where, 'index', 'CURRENT'))
      const { damaged, orphans, strays } = await BlobStore.rescue(place.where)
      expect({ orphans, strays }).to.deep.equal({ orphans: 0, strays: 0 })
      expect(Object.fromEntries(damaged.map(({ size, lost }) => [size, lost.boundaries]))).to.deep.equal(lost)
      await expectRepaired(await place.open({ quota: QUOTA }), place)
    })
  }

  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const damages = fc.array(fc.oneof(
    fc.record({ does: fc.constant('flip the file'), share }),
    fc.record({ does: fc.constant('cut the file'), share }),
    fc.record({ does: fc.constant('flip a page'), share, at: share }),
    fc.record({ does: fc.constant('lose a page'), share })
  ), { minLength: 1, maxLength: 4 })
  const DAMAGE = {
    'flip the file': ({ store }, { share }) =>
      flipStoredByte(store, rootOf(LONGEST), Math.floor(share * (LONGEST - 1))),
    'cut the file': ({ path }, { share }) => truncate(path, Math.floor(share * LONGEST)),
    'flip a page': async ({ store }, { share, at }) => {
      const pages = (await entriesOf(databasesOf(store).data)).filter(isPage)
      const { value, put } = pages[Math.floor(share * (pages.length - 1))]
      value[8 + Math.floor(at * (value.length - 9))] ^= 1
      await put(value)
    },
    'lose a page': async ({ store }, { share }) => {
      const pages = (await entriesOf(databasesOf(store).data)).filter(isPage)
      await pages[Math.floor(share * (pages.length - 1))]?.del()
    }
  }

  it('no damage makes reads, slices, appends or compositions give a wrong byte', () => holds(
    'store: damage to blobs that share a file', fc.asyncProperty(damages, share, async (damages, at) => {
      const { place, store, path } = await grown()
      for (const damage of damages) await DAMAGE[damage.does]({ store, path }, damage)
      const range = { start: Math.floor(at * LONG), end: Math.floor(at * LONG) + 3 * GROUP }
      const end = ALL.subarray(LONGEST, LONGEST + 5000)
      const change = start => ({ start, source: end })
      for (let round = 0; round < 2; round++) {
        for (const size of SIZES) {
          const root = rootOf(size)
          const doors = {
            whole: [() => store.bytes(root), part(size)],
            range: [() => store.bytes(root, range), part(size).subarray(range.start, range.end)],
            slice: [() => collect(store.slice(root, range)), sliceOf(part(size), range)],
            'pieces before a fault': [async () => {
              const pieces = []
              try {
                for await (const piece of store.get(root)) pieces.push(new Uint8Array(piece))
              } catch {} // The read fails at the damage, as other tests expect.
              const bytes = concat(pieces)
              expect(same(bytes, part(bytes.length)), 'a piece').to.equal(true)
              return part(size)
            }, part(size)],
            append: [async () => (await store.append(root, end)).cid.multihash.digest, hash(concat([part(size), end]))],
            compose: [async () => (await splice(store, root, change(size), { verify: false })).cid.multihash.digest,
              hash(concat([part(size), end]))]
          }
          for (const [door, [open, right]] of Object.entries(doors)) {
            const got = []
            const error = await errorOf(async () => got.push(await open()))
            if (error !== undefined) expect(error.code, error.stack).to.match(/^STORE_(CORRUPT|MISSING)$/)
            else expect(same(got[0], right), `${door} of ${size} bytes`).to.equal(true)
          }
        }
        await store.fsck({ repair: true })
        await expectSound(store)
      }
      await place.remove()
      places.pop()
    }), 4))
})
