// Slices of stored blobs at any group log. The store keeps only the pairs of group log 4.
import { expect } from 'chai'
import { MAX_GROUP_LOG, ChunkRanges, hash } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { verifyStream } from '../../../verifier/index.js'
import { same } from '../../support/bytes.js'
import { someOf } from '../../support/effort.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachPlace, newStores, sliceOf } from '../../support/store/stores.js'

const LENGTHS = [0, 1, 1024, 1025, 16_384, 16_385, 100_000, 1 << 20, 3_000_001]
const BYTES = noise(3_000_001)
const RANGES = {
  all: undefined,
  'the last chunk': ChunkRanges.last,
  'a part of one group': { start: 20_000, end: 21_000 },
  'several ranges': ChunkRanges.fromBoundaries([0, 1, 17, 40, 70, 71])
}
const LOGS = someOf(Array.from({ length: MAX_GROUP_LOG + 1 }, (_, log) => log))

describe('store.slice() at any group log', () => {
  forEachPlace(newPlace => {
    for (const [what, ranges] of Object.entries(RANGES)) {
      it(`gives the same as encodeSliceSync(): ${what}`, async () => {
        const store = await (await newPlace()).open()
        for (const len of LENGTHS) {
          const bytes = BYTES.subarray(0, len)
          const { cid } = await store.put(bytes)
          for (const groupLog of LOGS) {
            const expected = encodeSliceSync(bytes, createOutboardSync(bytes, { groupLog }), ranges)
            const got = await collect(store.slice(cid, ranges, { groupLog }))
            expect(same(got, expected), `${len} bytes at group log ${groupLog}`).to.equal(true)
          }
        }
      })
    }
  })

  const newStore = newStores()

  it('refuses other group logs', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    for (const groupLog of [-1, 17, 0.5]) {
      expect(await errorOf(() => store.slice(cid, undefined, { groupLog }))).to.be.instanceOf(RangeError)
    }
  })

  it('gives slices of a partial blob, and needs whole groups of the group log', async () => {
    const { store } = await newStore()
    const root = hash(BYTES)
    const held = { start: 0, end: 1 << 20 }
    await store.receive(root, sliceOf(BYTES, held), held)
    const ranges = { start: 5000, end: 70_000 }
    for (const groupLog of [0, 3, 4, 8, 10]) {
      const slice = await collect(store.slice(root, ranges, { groupLog }))
      const expected = encodeSliceSync(BYTES, createOutboardSync(BYTES, { groupLog }), ranges)
      expect(same(slice, expected), `group log ${groupLog}`).to.equal(true)
      const leaves = await listed(verifyStream(slice, { cid: root, ranges, groupLog }))
      expect(leaves[0].offset).to.be.within(4096, 5000)
    }
    expect(await errorOf(collect(store.slice(root, ranges, { groupLog: 11 })))).to.include({ code: 'STORE_MISSING' })
  })
})
