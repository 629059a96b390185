// The length of extents depends on the database. A store reads, verifies and repairs extents of any length, and adds
// others of its own length.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { CELL_LEN } from '../../../../store/storage/content/extents.js'
import { flipped, same } from '../../../support/bytes.js'
import { KIB } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { entriesOf, recordOf, setExtentLen } from '../../../support/store/inspect.js'
import { newStores, sliceOf } from '../../../support/store/stores.js'

const SIZES = [16 * KIB + 1, 64 * KIB, 64 * KIB + 1, 100_000, 256 * KIB, 256 * KIB + 1, 300_000, 700_000, 2_000_003]
const BLOBS = SIZES.map((size, i) => noise(size, 900 + i))
/** Ranges of whole groups, across borders of extents and cells. */
const PARTS = [[48, 112], [240, 304], [1008, 1424]].map(([start, end]) => ({ start: start * KIB, end: end * KIB }))

describe('store: extents', () => {
  const newStore = newStores()

  const LENGTHS = {
    'of the greatest length': [CELL_LEN, CELL_LEN],
    'longer than the store writes them now': [CELL_LEN, CELL_LEN / 16],
    'shorter than the store writes them now': [CELL_LEN / 16, CELL_LEN]
  }
  for (const [how, [written, read]] of Object.entries(LENGTHS)) {
    describe(how, () => {
      let store, data
      beforeEach(async () => {
        const made = await newStore()
        setExtentLen(made.store, written)
        data = made.data
        for (const bytes of BLOBS) await made.store.put(bytes)
        await made.store.close()
        store = await made.place.open()
        setExtentLen(store, read)
      })

      it('have the length that the store writes', async () => {
        const extents = (await entriesOf(data)).filter(({ offset }) => offset !== undefined)
        const lens = extents.map(({ value }) => value.length)
        expect(Math.max(...lens)).to.equal(written)
      })

      it('are read for any range of bytes', async () => {
        const below = numbers(901)
        for (const bytes of BLOBS) {
          expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
          expect(same(await collect(store.slice(hash(bytes))), sliceOf(bytes))).to.equal(true)
          for (let i = 0; i < 20; i++) {
            const start = below(bytes.length)
            const end = start + 1 + below(Math.min(bytes.length - start, i % 2 ? 20_000 : 500_000))
            const got = await store.bytes(hash(bytes), { start, end })
            expect(same(got, bytes.subarray(start, end)), `${start} to ${end} of ${bytes.length}`).to.equal(true)
          }
        }
        const got = []
        for await (const { bytes } of store.getMany(BLOBS.map(bytes => hash(bytes)))) got.push(bytes)
        expect(got.every((bytes, i) => same(bytes, BLOBS[i]))).to.equal(true)
      })

      it('are repaired, and the missing bytes can be received', async () => {
        const bytes = BLOBS.at(-1)
        const root = hash(bytes)
        const { id } = await recordOf(store, root)
        const idOf = key => new DataView(key.buffer, key.byteOffset).getUint32(4)
        const entries = await entriesOf(data)
        const extents = entries.filter(({ key, offset }) => offset !== undefined && idOf(key) === id)
        await extents[1].put(flipped(extents[1].value, 20 * KIB))
        const wrong = extents[1].offset + 16 * KIB
        const error = await errorOf(store.bytes(root, { start: wrong, end: wrong + 1 }))
        expect(error).to.include({ code: 'STORE_CORRUPT', start: wrong, len: 16 * KIB })
        const before = await store.bytes(root, { start: wrong - 1, end: wrong })
        expect(same(before, bytes.subarray(wrong - 1, wrong))).to.equal(true)
        await store.fsck({ repair: true })
        const missing = await store.missing(root)
        expect(missing.toBytes(bytes.length)).to.deep.equal([{ start: wrong, end: wrong + 16 * KIB }])
        await store.receive(root, sliceOf(bytes, missing), missing)
        expect(same(await store.bytes(root), bytes)).to.equal(true)
        expect(await store.fsck()).to.include({ isSound: true })
      })
    })
  }

  it('of one blob are read after stores with longer and shorter extents have received them', async () => {
    const { store: first, place } = await newStore()
    let store = first
    const bytes = BLOBS.at(-1)
    const root = hash(bytes)
    const wider = PARTS.map(({ start, end }) => ({ start: start - 32 * KIB, end: end + 32 * KIB }))
    for (const [i, part] of [...PARTS, ...wider, { start: 0, end: bytes.length }].entries()) {
      setExtentLen(store, i % 2 ? CELL_LEN : CELL_LEN / 16)
      await store.receive(root, sliceOf(bytes, part), part)
      const end = Math.min(part.end, bytes.length)
      const got = await store.bytes(root, { start: part.start, end })
      expect(same(got, bytes.subarray(part.start, end)), `part ${i}`).to.equal(true)
      await store.close()
      store = await place.open()
    }
    expect(await store.fsck()).to.include({ isSound: true })
    expect(same(await store.bytes(root), bytes)).to.equal(true)
  })
})

/** @param {object} store  writes extents of so many bytes from now on */

/** Returns a function that gives 1024 random numbers below a limit, determined by the seed. @param {number} seed */
function numbers (seed) {
  const words = new Uint32Array(noise(4096, seed).buffer)
  let next = 0
  return limit => words[next++] % limit
}
