// receive() of slices whose header claims a wrong length.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../../lib/index.js'
import { concat, header, same, withHeader } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectPartial } from '../../../support/store/partial.js'
import { newStores, sliceOf } from '../../../support/store/stores.js'

const GROUP_CHUNKS = 16
/** 41 groups, the last one short. */
const BYTES = noise(40 * GROUP + 5001, 81)
const ROOT = hash(BYTES)

const groups = (...boundaries) => ChunkRanges.fromBoundaries(boundaries.map(group => group * GROUP_CHUNKS))

describe('store: receive() of a wrong length', () => {
  const newStore = newStores()

  // Under these claims the path to the first groups is right, does not exist, or ends early.
  const CLAIMS = [
    0, 1, 1024, GROUP, GROUP + 1, 2 * GROUP, 20 * GROUP, 33 * GROUP, BYTES.length - 1,
    BYTES.length + 1, 60 * GROUP, 64 * GROUP, 65 * GROUP, 2 ** 40, Number.MAX_SAFE_INTEGER
  ]

  for (const claim of CLAIMS) {
    it(`receive() of a slice that claims ${claim} bytes does not hinder a right slice`, async () => {
      const { store, place } = await newStore()
      const ranges = groups(0, 3)
      await errorOf(store.receive(ROOT, withHeader(sliceOf(BYTES, ranges), claim), ranges))
      await store.receive(ROOT, sliceOf(BYTES, groups(0, 6)), groups(0, 6))
      await expectPartial(store, BYTES, groups(0, 6))
      const missing = await store.missing(ROOT)
      expect((await store.receive(ROOT, sliceOf(BYTES, missing), missing)).complete).to.equal(true)
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      await store.close()
      expect(same(await (await place.open()).bytes(ROOT), BYTES)).to.equal(true)
    })

    it(`receive() of a slice that claims ${claim} bytes removes no present group`, async () => {
      const { store } = await newStore()
      const mine = groups(20, 30)
      await store.receive(ROOT, sliceOf(BYTES, mine), mine)
      for (const ranges of [groups(0, 1), groups(40, 41)]) {
        await errorOf(store.receive(ROOT, withHeader(sliceOf(BYTES, ranges), claim), ranges))
        expect(
          same(await store.bytes(ROOT, { start: 20 * GROUP, end: 30 * GROUP }), BYTES.subarray(20 * GROUP, 30 * GROUP))
        ).to.equal(true)
        expect((await store.missing(ROOT, mine)).isEmpty).to.equal(true)
      }
    })

    it(`groups that came with a claim of ${claim} bytes count, also when the store is opened again`, async () => {
      const { store, place } = await newStore()
      await store.receive(ROOT, sliceOf(BYTES, groups(20, 30)), groups(20, 30))
      await store.close()
      const again = await place.open()
      await errorOf(again.receive(ROOT, withHeader(sliceOf(BYTES, groups(0, 1)), claim), groups(0, 1)))
      const { complete } = await again.receive(ROOT, sliceOf(BYTES))
      expect(complete).to.equal(true)
      expect((await again.missing(ROOT)).isEmpty).to.equal(true)
    })
  }

  it('receive() of a header alone leaves nothing, and changes nothing', async () => {
    const { store } = await newStore()
    for (const claim of CLAIMS) await errorOf(store.receive(ROOT, header(claim)))
    expect(await errorOf(store.stat(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.receive(ROOT, sliceOf(BYTES, groups(0, 2)), groups(0, 2))
    for (const claim of CLAIMS) {
      await errorOf(store.receive(ROOT, header(claim)))
      expect((await store.stat(ROOT)).size, 'nothing of that claim was verified').to.equal(BYTES.length)
    }
    expect(await store.delete(ROOT), 'it can be deleted').to.include({ blobs: 1 })
  })

  it('a wrong length under which a group has another place does not hide the group', async () => {
    // In a blob of 6 groups the fifth is two steps from the root, in a blob of 7 groups three.
    const { store } = await newStore()
    const bytes = noise(6 * GROUP, 86)
    const root = hash(bytes)
    await store.receive(root, sliceOf(bytes, groups(4, 5)), groups(4, 5))
    await errorOf(store.receive(root, withHeader(sliceOf(bytes, groups(0, 1)), 7 * GROUP), groups(0, 1)))
    expect(
      same(await store.bytes(root, { start: 4 * GROUP, end: 5 * GROUP }), bytes.subarray(4 * GROUP, 5 * GROUP))
    ).to.equal(true)
    expect(same(await store.bytes(root, { start: 0, end: GROUP }), bytes.subarray(0, GROUP))).to.equal(true)
  })

  it('receive() refuses a length above 2^53 - 1', async () => {
    const { store } = await newStore()
    expect(await errorOf(store.receive(ROOT, concat([header(2n ** 53n), new Uint8Array(100)]))))
      .to.include({ code: 'BAO_SIZE_TOO_LARGE' })
  })

  it('a blob can be completed after a wrong length and a crash between data and record', async () => {
    // In blobs of 33 and of 41 groups, the path to the first group is the same. Then the crash comes after the data of
    // a later group is written, but before the record with the new size.
    const { store, place, index } = await newStore()
    await store.receive(ROOT, withHeader(sliceOf(BYTES, groups(0, 1)), 33 * GROUP), groups(0, 1))
    const { batch } = index
    index.batch = () => Promise.reject(new Error('the power is gone'))
    await errorOf(store.receive(ROOT, sliceOf(BYTES, groups(38, 39)), groups(38, 39)))
    index.batch = batch
    await store.close()
    const again = await place.open()
    expect((await again.receive(ROOT, sliceOf(BYTES))).complete).to.equal(true)
    expect((await again.missing(ROOT)).boundaries).to.deep.equal([])
    expect(same(await again.bytes(ROOT), BYTES)).to.equal(true)
  })
})
