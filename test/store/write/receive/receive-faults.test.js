// receive() of slices that are wrong, truncated or aborted.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { flipped, same } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { testsInTurn } from '../../../support/effort.js'
import { errorOf, ragged, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectPartial } from '../../../support/store/partial.js'
import { newStores, sliceOf } from '../../../support/store/stores.js'

describe('store: receive() of a faulty slice', () => {
  const newStore = newStores()

  const bytes = noise(5_500_001, 85) // more than a batch
  const root = hash(bytes)
  const slice = sliceOf(bytes)

  /** Expects that all groups before the fault are kept, and no others. */
  async function expectKept (store, before) {
    const { present, complete } = await store.stat(root)
    expect(complete).to.equal(false)
    const [{ start, end }] = present.toBytes(bytes.length)
    expect(start).to.equal(0)
    expect(end).to.equal(Math.floor(before / GROUP) * GROUP)
    await expectPartial(store, bytes, present)
  }

  /** Sends only the missing chunks, and expects that the blob is whole then. */
  async function expectResumed (store) {
    const missing = await store.missing(root)
    const { received, complete } = await store.receive(root, sliceOf(bytes, missing), missing)
    expect(complete).to.equal(true)
    expect(received, 'nothing is sent twice')
      .to.equal(missing.toBytes(bytes.length).reduce((sum, { start, end }) => sum + end - start, 0))
    expect(same(await store.bytes(root), bytes)).to.equal(true)
  }

  /**
   * Returns how many bytes of whole groups are in the first `to` bytes of the slice.
   */
  function leavesIn (to) {
    let low = 0
    for (let group = 1; group * GROUP <= bytes.length; group++) if (placeBehind(group) <= to) low = group * GROUP
    return low
  }
  /** Returns where so many groups end in the whole slice: after their bytes and the pairs before them. */
  const placeBehind = group => 8 + group * GROUP + 64 * pairsBefore(group - 1)
  /** Returns how many pairs come before a group: those to the left of its path, and those on the path. */
  const pairsBefore = group => {
    let pairs = 0
    for (let [start, end] = [0, Math.ceil(bytes.length / GROUP)]; end - start > 1;) {
      const left = 2 ** (Math.ceil(Math.log2(end - start)) - 1)
      pairs++
      if (group < start + left) end = start + left
      else [start, pairs] = [start + left, pairs + left - 1]
    }
    return pairs
  }

  const PLACES = [4_600_000, 5_490_000, 2_000_000, 100]
  for (const [i, test] of testsInTurn(PLACES.length).entries()) {
    const place = PLACES[i]
    test(`receive() keeps the groups before a wrong byte at ${place}`, async () => {
      const { store } = await newStore()
      const error = await errorOf(store.receive(root, stream(ragged(flipped(slice, place), 7))))
      expect(error.code).to.match(/^BAO_(LEAF|PARENT)_MISMATCH$/)
      const before = leavesIn(place)
      if (before === 0) expect(await errorOf(store.stat(root))).to.include({ code: 'STORE_NOT_FOUND' })
      else await expectKept(store, before)
      await expectResumed(store)
    })

    test(`receive() keeps the groups of a slice that ends at ${place}`, async () => {
      const { store } = await newStore()
      const error = await errorOf(store.receive(root, stream(ragged(slice.subarray(0, place), 8))))
      expect(error).to.include({ code: 'BAO_TRUNCATED' })
      const before = leavesIn(place)
      if (before > 0) await expectKept(store, before)
      await expectResumed(store)
    })

    test(`receive() keeps the groups before its source failed at ${place}`, async () => {
      const { store } = await newStore()
      const reason = new Error('the line broke')
      const source = (async function * () {
        yield * ragged(slice.subarray(0, place), 9)
        throw reason
      })()
      expect(await errorOf(store.receive(root, source))).to.equal(reason)
      const before = leavesIn(place)
      if (before > 0) await expectKept(store, before)
      await expectResumed(store)
    })
  }

  it('receive() keeps the groups that came before it was aborted', async () => {
    const { store } = await newStore()
    const controller = new AbortController()
    const source = (async function * () {
      for (const piece of ragged(slice, 10)) yield piece
    })()
    const error = await errorOf(store.receive(root, source, undefined, {
      signal: controller.signal,
      onProgress: ({ type, detail }) => {
        expect(type).to.equal('baobox:receive')
        if (detail.done > 5_000_000) controller.abort()
      }
    }))
    expect(error).to.include({ name: 'AbortError' })
    const { present } = await store.stat(root)
    expect(present.contains(0, 4_800)).to.equal(true)
    await expectResumed(store)
  })

  it('receive() reads its source only up to the end of the slice', async () => {
    const { store } = await newStore()
    let isClosed = false
    const source = (async function * () {
      try {
        yield slice
        yield new Uint8Array(10)
        throw new Error('read too far')
      } finally {
        isClosed = true
      }
    })()
    expect(await store.receive(root, source)).to.deep.equal({ received: bytes.length, complete: true })
    expect(isClosed).to.equal(true)
  })
})
