// receive() and put() of the same blob, one after the other and at the same time.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../../lib/index.js'
import { flipped, same } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { idsIn, recordsIn } from '../../../support/store/inspect.js'
import { gated, newStores, sliceOf } from '../../../support/store/stores.js'

const GROUP_CHUNKS = 16
/** 41 groups, the last one short. */
const BYTES = noise(40 * GROUP + 5001, 81)
const ROOT = hash(BYTES)

const groups = (...boundaries) => ChunkRanges.fromBoundaries(boundaries.map(group => group * GROUP_CHUNKS))

describe('store: receive() and put() of one blob', () => {
  const newStore = newStores()

  it('put() replaces the part that is present', async () => {
    const { store, index, data } = await newStore()
    await store.receive(ROOT, sliceOf(BYTES, groups(3, 9)), groups(3, 9))
    expect(await store.put(BYTES)).to.include({ isNew: true })
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(await idsIn(data)).to.deep.equal((await recordsIn(index)).map(({ id }) => id))
  })

  it('put() of a blob that was received completely is not new', async () => {
    const { store, data } = await newStore()
    await store.receive(ROOT, sliceOf(BYTES))
    expect(await store.put(BYTES)).to.include({ isNew: false })
    expect(await idsIn(data)).to.have.length(1)
  })

  it('receive() of a complete blob receives nothing', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    expect(await store.receive(ROOT, sliceOf(BYTES, groups(3, 9)), groups(3, 9)))
      .to.deep.equal({ received: 0, complete: true })
    expect(await errorOf(store.receive(ROOT, flipped(sliceOf(BYTES), 5000)))).to.include({ code: 'BAO_LEAF_MISMATCH' })
    expect(await idsIn(data)).to.have.length(1)
  })

  const bytes = noise(10_000_001, 87)
  const root = hash(bytes)
  const slice = sliceOf(bytes)
  const CUT = 5_000_000 // after the first batch

  it('put() in the middle of receive() completes the blob', async () => {
    const { store, data } = await newStore()
    const gate = gated([slice.subarray(0, CUT)], [slice.subarray(CUT)])
    const receiving = store.receive(root, gate.source)
    await gate.reached
    await store.put(bytes)
    gate.open()
    expect(await receiving).to.include({ complete: true })
    expect(same(await store.bytes(root), bytes)).to.equal(true)
    expect(await idsIn(data)).to.have.length(1)
  })

  for (const [what, prepare] of [
    ['a delete', async store => store.delete(root)],
    ['a put and a delete', async store => { await store.put(bytes); await store.delete(root) }],
    ['a put, more of the slice, and a delete', async (store, feed) => {
      await store.put(bytes)
      await feed()
      await store.delete(root)
    }]
  ]) {
    it(`after ${what} in the middle of receive(), present groups can be read`, async () => {
      const { store, data } = await newStore()
      const first = gated([slice.subarray(0, CUT)], [])
      const second = gated([slice.subarray(CUT, 2 * CUT - 100_000)], [slice.subarray(2 * CUT - 100_000)])
      const receiving = store.receive(root, (async function * () { yield * first.source; yield * second.source })())
      await first.reached
      await prepare(store, async () => { first.open(); await second.reached })
      first.open()
      second.open()
      await receiving

      const { present } = await store.stat(root)
      for (const { start, end } of present.toBytes(bytes.length)) {
        expect(same(await store.bytes(root, { start, end }), bytes.subarray(start, end))).to.equal(true)
      }
      expect(same(await collect(store.slice(root, present)), sliceOf(bytes, present))).to.equal(true)
      const missing = await store.missing(root)
      expect((await store.receive(root, sliceOf(bytes, missing), missing)).complete).to.equal(true)
      expect(await idsIn(data)).to.have.length(1)
    })
  }
})
