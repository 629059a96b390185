// Small slices of complete blobs, which take a faster path than other slices: they must be the same bytes, and find the
// same damage.
import { expect } from 'chai'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { flipped, same } from '../../support/bytes.js'
import { EXTENT, GROUP } from '../../support/constants.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, isPageKey } from '../../support/store/inspect.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const BYTES = noise(70 * GROUP + 777, 63)
const OUTBOARD = createOutboardSync(BYTES)
const ROOT = OUTBOARD.root

/** Ranges of at most 17 groups: whole ones, parts of them, several, the last chunk, and chunks beyond the end. */
const SMALL = [
  ChunkRanges.fromBytes(0, GROUP), ChunkRanges.fromBytes(3 * GROUP, 20 * GROUP),
  ChunkRanges.fromBytes(BYTES.length - 1, BYTES.length), ChunkRanges.last, new ChunkRanges([5000, 5001]),
  new ChunkRanges([17, 18]), new ChunkRanges([17, 18, 40, 41, 100, 130]), new ChunkRanges([1023, 1025])
]

describe('store: small slices', () => {
  const newStore = newStores()

  it('are those of the encoder, with or without a header', async () => {
    const { store } = await newStore()
    await store.put(BYTES)
    for (const ranges of [...SMALL, ...SMALL, ChunkRanges.all, new ChunkRanges([0, 1, 1100, 1101])]) {
      for (const header of [true, false]) {
        const slice = await collect(store.slice(ROOT, ranges, { header }))
        expect(same(slice, encodeSliceSync(BYTES, OUTBOARD, ranges, { header })), `${ranges}`).to.equal(true)
      }
    }
    for (const len of [0, 1, GROUP, GROUP + 1]) {
      const bytes = BYTES.slice(0, len)
      await store.put(bytes)
      expect(same(await collect(store.slice(hash(bytes))), sliceOf(bytes)), `${len}`).to.equal(true)
    }
  })

  it('do not read the tree again', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const ranges = ChunkRanges.fromBytes(3 * GROUP, 5 * GROUP)
    const first = await collect(store.slice(ROOT, ranges))
    for (const name of ['get', 'getSync', 'getMany']) {
      const read = data[name]
      data[name] = function (keys, ...rest) {
        for (const key of name === 'getMany' ? keys : [keys]) if (isPageKey(key)) throw new Error('a page is read')
        return read.call(this, keys, ...rest)
      }
    }
    expect(same(await collect(store.slice(ROOT, ranges)), first)).to.equal(true)
  })

  it('find damaged bytes, and give what comes before them', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const ranges = ChunkRanges.fromBytes(0, 16 * GROUP)
    const before = await collect(store.slice(ROOT, ranges))
    const extent = (await entriesOf(data)).find(({ offset }) => offset === EXTENT)
    await extent.put(flipped(extent.value, 9))
    const pieces = []
    const error = await errorOf((async () => {
      for await (const piece of store.slice(ROOT, ranges)) pieces.push(piece)
    })())
    expect(error).to.include({ code: 'STORE_CORRUPT', start: EXTENT })
    const given = await collect(pieces)
    expect(given.length).to.be.within(EXTENT, before.length - GROUP)
    expect(same(given, before.subarray(0, given.length))).to.equal(true)
  })

  it('are right although a pair is damaged that was not read before', async () => {
    const { store, data } = await newStore()
    await store.put(BYTES)
    for (const page of (await entriesOf(data)).filter(({ offset }) => offset === undefined)) {
      await page.put(flipped(page.value, 8 + 10 * 64))
    }
    expect((await store.fsck()).damaged).to.have.length(1)
    for (let group = 0; group < 70; group++) {
      const ranges = ChunkRanges.fromBytes(group * GROUP, (group + 1) * GROUP)
      const slice = await collect(store.slice(ROOT, ranges))
      expect(same(slice, encodeSliceSync(BYTES, OUTBOARD, ranges)), `${group}`).to.equal(true)
    }
    expect((await store.fsck()).isSound).to.equal(true)
  })

  it('end with the signal', async () => {
    const { store } = await newStore()
    await store.put(BYTES)
    const caller = new AbortController()
    const reason = new Error('enough')
    caller.abort(reason)
    expect(await errorOf(collect(store.slice(ROOT, SMALL[0], { signal: caller.signal })))).to.equal(reason)
  })
})
