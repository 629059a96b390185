// Replacing bytes anywhere in a blob makes the same blob as a put of the result.
import { expect } from 'chai'
import fc from 'fast-check'
import { hash } from '../../../../lib/index.js'
import { concat, hex, same } from '../../../support/bytes.js'
import { GROUP, KIB, MIB } from '../../../support/constants.js'
import { waysInTurn } from '../../../support/effort.js'
import { errorOf, listed, readable, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { expectBlob, expectSlices, splice } from '../../../support/store/grown.js'
import { entriesOf, flipStoredByte, flipTree } from '../../../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf } from '../../../support/store/stores.js'

const BYTES = noise(3 * MIB + 70_001, 501)
const OTHERS = noise(2 * MIB, 502)

/** Returns the expected bytes of a splice. */
const spliced = (bytes, { start, end = bytes.length, source = new Uint8Array(0) }) =>
  concat([bytes.subarray(0, start), source, bytes.subarray(end)])

const near = unit => fc.tuple(fc.nat(Math.floor(BYTES.length / unit)), fc.constantFrom(-1, 0, 1))
  .map(([count, by]) => Math.min(Math.max(0, count * unit + by), BYTES.length))
/** Positions, often at the borders of chunks, groups and subtrees. */
const places = fc.oneof(near(KIB), near(GROUP), near(4 * GROUP), near(MIB), fc.nat(BYTES.length))
/** Lengths of the new bytes, often equal to that of the replaced bytes. */
const lengths = fc.oneof(fc.constant('same'), fc.constant(0), fc.nat(40_000), near(GROUP), near(MIB))

describe('store.compose() that replaces bytes', () => {
  forEachPlace(newPlace => {
    it('makes the same blob as a put of the same bytes', async () => {
      const store = await (await newPlace()).open({ durability: 'process' })
      const found = new Map()
      await holds('splices', fc.asyncProperty(places, places, places, lengths, fc.boolean(), async (...drawn) => {
        const [size, start, end] = drawn.slice(0, 3).sort((a, b) => b - a).map((_, i, all) => all[[0, 2, 1][i]])
        const [len, verify] = drawn.slice(3)
        const base = BYTES.subarray(0, size)
        const source = OTHERS.subarray(0, len === 'same' ? end - start : len)
        if (!found.has(size)) found.set(size, (await store.put(base)).cid)
        const result = await splice(store, found.get(size), { start, end, source }, { verify })
        await expectBlob(store, result, spliced(base, { start, end, source }))
        if (result.isNew) await store.delete(result.cid)
        if (!await store.has(found.get(size))) found.delete(size)
      }), 60)
    })

    it('gives slices and outboards that verify, at every group log', async () => {
      const store = await (await newPlace()).open()
      const { cid } = await store.put(BYTES)
      const middle = { start: MIB + 5 * GROUP, end: MIB + 9 * GROUP, source: OTHERS.subarray(0, 4 * GROUP) }
      for (const change of [middle, { start: 2 * MIB }, { start: BYTES.length, source: OTHERS.subarray(0, 100_000) }]) {
        const { cid: made } = await splice(store, cid, change)
        await expectSlices(store, made, spliced(BYTES, change))
      }
    })

    it('takes the same sources as put()', async () => {
      const store = await (await newPlace()).open()
      const { cid } = await store.put(BYTES)
      const change = { start: MIB, end: MIB + 100, source: OTHERS }
      for (const source of [
        stream([OTHERS.subarray(0, 5), OTHERS.subarray(5)]), readable([OTHERS]), new Blob([OTHERS]), [OTHERS],
        { size: OTHERS.length, read: (start, end) => OTHERS.subarray(start, end) }
      ]) {
        await expectBlob(store, await splice(store, cid, { ...change, source }), spliced(BYTES, change))
      }
    })

    it('takes a part of the same blob as a source', async () => {
      const store = await (await newPlace()).open()
      const { cid } = await store.put(BYTES)
      const made = await splice(store, cid, { start: MIB, end: MIB, source: store.get(cid, { start: 0, end: MIB }) })
      await expectBlob(store, made, spliced(BYTES, { start: MIB, end: MIB, source: BYTES.subarray(0, MIB) }))
    })

    it('makes a blob of a partial one if all bytes that it keeps are present', async () => {
      const store = await (await newPlace()).open()
      const root = hash(BYTES)
      const hole = { start: MIB, end: MIB + 4 * GROUP }
      for (const range of [{ start: 0, end: hole.start }, { start: hole.end, end: BYTES.length }]) {
        await store.receive(root, sliceOf(BYTES, range), range)
      }
      const change = { ...hole, source: OTHERS.subarray(0, 4 * GROUP) }
      await expectBlob(store, await splice(store, root, change), spliced(BYTES, change))
      const error = await errorOf(splice(store, root, { start: hole.start + 1 }))
      expect(error).to.include({ code: 'STORE_MISSING' })
      expect(error.ranges.boundaries).to.deep.equal([MIB / KIB, MIB / KIB + 16])
    })
  })

  const newStore = newStores()

  it('with `verify: false` keeps subtrees without reading them, so that damage stays damage', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    await flipStoredByte(store, hash(BYTES), 200_000)
    const change = { start: MIB, end: MIB + GROUP, source: OTHERS.subarray(0, GROUP) }
    const made = await splice(store, cid, change, { verify: false })
    const expected = spliced(BYTES, change)
    expect(hex(made.cid.multihash.digest), 'the root of the right bytes').to.equal(hex(hash(expected)))
    expect(await errorOf(store.bytes(made.cid))).to.include({ code: 'STORE_CORRUPT', len: GROUP })
    expect(same(await store.bytes(made.cid, { start: MIB }), expected.subarray(MIB))).to.equal(true)
    // Bytes that are hashed again are always verified.
    const moved = { start: 5, end: 6 }
    const error = await errorOf(splice(store, cid, moved, { verify: false }))
    expect(error).to.include({ code: 'STORE_CORRUPT', len: GROUP })
  })

  it('finds damage in the bytes that it keeps, and leaves nothing', async () => {
    const { store, data, place } = await newStore()
    const { cid } = await store.put(BYTES)
    await flipStoredByte(store, hash(BYTES), 200_000)
    const before = (await entriesOf(data)).length
    const change = { start: MIB, end: MIB + GROUP, source: OTHERS.subarray(0, GROUP) }
    const error = await errorOf(splice(store, cid, change))
    expect(error).to.include({ code: 'STORE_CORRUPT', len: GROUP })
    expect(error.cid.equals(cid)).to.equal(true)
    // The read has noted the damage, so these groups are missing now.
    expect(await errorOf(splice(store, cid, change))).to.include({ code: 'STORE_MISSING' })
    expect(await listed(store.list())).to.have.length(1)
    expect((await entriesOf(data)).length).to.be.at.most(before)
    await store.close()
    expect((await (await place.open()).fsck()).orphans).to.equal(0)
  })

  it('hashes bytes with damaged pairs again, and makes the right blob', async () => {
    const { store } = await newStore()
    const change = { start: MIB + 5, end: MIB + GROUP, source: OTHERS.subarray(0, GROUP - 5) }
    const expected = spliced(BYTES, change)
    const inTurn = waysInTurn()
    for (const share of [0, 0.1, 0.3, 0.5, 0.7, 0.99]) {
      const { cid } = await store.put(BYTES)
      expect(await flipTree(store, hash(BYTES), share)).to.equal(true)
      for (const verify of inTurn([false, true])) {
        const made = await splice(store, cid, change, { verify })
        await expectBlob(store, made, expected)
        await store.delete(made.cid)
      }
      await store.delete(cid)
    }
  })

  it('fetches missing groups with `supply`', async () => {
    const supply = async (_cid, ranges) => sliceOf(BYTES, ranges)
    const { store } = await newStore({ supply })
    const { cid } = await store.put(BYTES)
    await flipStoredByte(store, hash(BYTES), 200_000)
    const change = { start: MIB, end: MIB + GROUP, source: OTHERS.subarray(0, GROUP) }
    await expectBlob(store, await splice(store, cid, change), spliced(BYTES, change))
    await store.delete(cid)
    const range = { start: 2 * MIB }
    await store.receive(cid, sliceOf(BYTES, range), range)
    await expectBlob(store, await splice(store, cid, { start: 5, end: 7 }), spliced(BYTES, { start: 5, end: 7 }))
  })
})
