// Disks lose and flip bits, and LevelDB does not always notice. Whatever happened to the files, the store gives no
// wrong byte, and its error names the damage.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { ChunkRanges, hash, subtreeCv } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { concat, flipped, same } from '../../support/bytes.js'
import { EXTENT, GROUP } from '../../support/constants.js'
import { pairsOf, someOf, strideAtEffort, testsInTurn, waysInTurn } from '../../support/effort.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, keepAll, readRecord, recordEntry, writeRecord } from '../../support/store/inspect.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const PAIR = 64
const BITS = 8
/** A blob whose tree has three pages in the lowest band, the last one short, and the root's page above them. */
const WHOLE_GROUPS = 135
const WHOLE_LEN = WHOLE_GROUPS * GROUP
const BYTES = noise(WHOLE_LEN + 5001, 91)
const ROOT = hash(BYTES)
const OUTBOARD = createOutboardSync(BYTES)
/** Returns a slice of BYTES, as another program would send it. */
const sliceHere = ranges => encodeSliceSync(BYTES, OUTBOARD, ranges)
const SLICE = sliceHere()

/** Returns the bytes that a generator gives before it ends or fails, and its error. */
async function untilFault (pieces) {
  const got = []
  const error = await errorOf(async () => { for await (const piece of pieces) got.push(piece) })
  return { got: concat(got), error }
}

const startsInTurn = waysInTurn()

/**
 * Expects that reads fail at the damage, wherever they begin, after giving all bytes before it. They note the damage:
 * later reads miss these groups, until they are received. Before each read, `damage` damages them again.
 *
 * @param {number} [end]  where the present bytes end; undefined when the blob is complete
 * @param {{ start: number, end: number }} place  bytes that are damaged, or whose pairs are
 * @param {() => Promise<void>} damage
 */
async function expectCorrupt (store, end, place, damage) {
  const starts = [0, Math.max(0, place.start - 5 * GROUP), Math.max(0, place.start - 1), place.start]
  for (const start of startsInTurn([...new Set(starts)])) {
    const read = () => untilFault(store.get(ROOT, { start, end }))
    const { got, error } = await expectNoted(store, end, place, damage, read)
    expect(got.length, `from ${start}: bytes before the damage`).to.equal(Math.max(0, error.start - start))
    if (!same(got, BYTES.subarray(start, start + got.length))) expect.fail(`from ${start}: wrong bytes came out`)
  }
  const read = () => untilFault(store.slice(ROOT, end && { start: 0, end }))
  const { got, error } = await expectNoted(store, end, place, damage, read)
  expect(got.length, 'of the slice, before the damage').to.be.at.least(error.start)
  const slice = end === undefined ? SLICE : sliceHere({ start: 0, end })
  if (!same(got, slice.subarray(0, got.length))) expect.fail('wrong bytes came out of the slice')
}

/**
 * Expects that the first read finds the damage, and that the second misses the groups that the first has noted.
 *
 * @returns the bytes that the first read gave, and its error
 */
async function expectNoted (store, end, place, damage, read) {
  await damage()
  const first = await read()
  expect(first.error).to.include({ name: 'BaoError', code: 'STORE_CORRUPT' })
  expect(first.error.cid.multihash.digest).to.deep.equal(ROOT)
  expect(first.error.start, 'where the damage starts').to.be.at.most(place.start)
  expect(first.error.start + first.error.len, 'where it ends').to.be.at.least(Math.min(place.end, BYTES.length))
  const second = await read()
  expect(second.error).to.include({ name: 'BaoError', code: 'STORE_MISSING' })
  const [chunk, after] = [Math.floor(place.start / 1024), Math.ceil(Math.min(place.end, BYTES.length) / 1024)]
  expect(second.error.ranges.contains(chunk, after), 'the damage is missing').to.equal(true)
  expect(second.got, 'missing bytes').to.have.length(0)
  await heal(store, end)
  return first
}

/** Receives the missing groups, and expects right bytes. @param {number} [end]  where the present bytes ended */
async function heal (store, end = BYTES.length) {
  const missing = (await store.missing(ROOT)).intersect(ChunkRanges.fromBytes(0, end))
  if (!missing.isEmpty) await store.receive(ROOT, sliceHere(missing), missing)
  await expectBytes(store, end)
}

/** Expects that all bytes up to a position are right. It runs often, so it allocates nothing. */
async function expectBytes (store, end) {
  let at = 0
  for await (const piece of store.get(ROOT, { end }, { reuse: true })) {
    if (!same(piece, BYTES.subarray(at, at + piece.length))) expect.fail(`bytes from ${at} on are wrong`)
    at += piece.length
  }
  expect(at, 'bytes after they were received').to.equal(end)
}

describe('store: damage', () => {
  const newStore = newStores()

  /** Damages a store's databases, runs a test, and restores them. */
  const withEntry = async (levels, entry, change, see) => {
    const restore = await keepAll(levels)
    await change(entry)
    await see()
    await restore()
  }

  const PART = { start: 0, end: WHOLE_LEN }
  const [ofPut, ofReceived, ofPart] = testsInTurn(3)
  for (const [how, test, fill] of [
    ['put', ofPut, store => store.put(BYTES)],
    ['received', ofReceived, store => store.receive(ROOT, SLICE)],
    ['received in part', ofPart, store => store.receive(ROOT, sliceHere(PART), PART)]
  ]) {
    describe(`in a blob that was ${how}`, () => {
      let made, store, extents, pages
      beforeEach(async () => {
        made = await newStore()
        store = made.store
        await fill(store)
        const entries = await entriesOf(made.data)
        extents = entries.filter(({ offset }) => offset !== undefined)
        pages = entries.filter(({ offset }) => offset === undefined)
        expect(extents.length).to.be.greaterThan(33)
        expect(pages).to.have.length(4)
      })

      const isPart = how === 'received in part'
      // Reads of a part stop before the groups that were not received.
      const end = isPart ? WHOLE_LEN : undefined
      const expectCorruptHere = (place, damage) => expectCorrupt(store, end, place, damage)

      /** Changes the extent that has a byte. Groups that were received again may be in shorter extents than before. */
      const change = async (at, by) => {
        const extent = (await entriesOf(made.data)).findLast(({ offset }) => offset <= at)
        await extent.put(by(extent.value, at - extent.offset))
      }

      /** Returns every eighth extent, and the last one. */
      const eighths = () => extents.filter((_, i) => i % 8 === 1 || i === extents.length - 1)

      test('a changed byte of an extent fails the reads of its group', async () => {
        const starts = eighths().flatMap(({ offset, value }) =>
          [0, GROUP, value.length >> 1, value.length - 1].filter(at => at < value.length).map(at => offset + at))
        for (const start of someOf(starts)) {
          const place = { start, end: start + 1 }
          const damage = () => change(start, (value, from) => flipped(value, from, 0x80))
          await expectCorruptHere(place, damage)
          await damage()
          const error = await errorOf(store.bytes(ROOT, place))
          const groupStart = Math.floor(start / GROUP) * GROUP
          expect(error, 'the group is named')
            .to.include({ start: groupStart, len: Math.min(GROUP, BYTES.length - groupStart) })
          const rest = { start: groupStart + GROUP, end: Math.max(groupStart + GROUP, WHOLE_LEN) }
          const expected = BYTES.subarray(rest.start, rest.end)
          expect(same(await store.bytes(ROOT, rest), expected), 'the bytes after the group').to.equal(true)
          await heal(store, end)
        }
      })

      test('a lost extent fails the reads of its groups', async () => {
        for (const extent of someOf(eighths())) {
          const place = { start: extent.offset, end: extent.offset + 1 }
          await expectCorruptHere(place, extent.del)
        }
      })

      test('an extent that is too short fails the reads of the bytes that it lacks', async () => {
        for (const len of someOf([0, 1, GROUP, GROUP + 5, EXTENT - 1])) {
          const extent = extents[9]
          const place = { start: extent.offset + len, end: extent.offset + len + 1 }
          await expectCorruptHere(place, () => change(place.start, (value, from) => value.slice(0, from)))
        }
      })

      test('an extent that is too long never gives more bytes than it should', async () => {
        for (const more of [1, EXTENT, 3 * EXTENT]) {
          const extent = extents[9]
          // Its own bytes are all there, so a read may succeed. It must not give wrong bytes, nor stop before them.
          await extent.put(concat([extent.value, new Uint8Array(more)]))
          const { got, error } = await untilFault(store.get(ROOT, { end: WHOLE_LEN }))
          expect(same(got, BYTES.subarray(0, got.length))).to.equal(true)
          if (error) {
            expect(error).to.include({ code: 'STORE_CORRUPT' })
            expect(got.length).to.be.at.least(extent.offset)
          } else {
            expect(got).to.have.length(WHOLE_LEN)
          }
          await heal(store, end)
        }
      })

      test('two extents that have changed places fail the reads of both', async () => {
        const [a, b] = [extents[11], extents[12]]
        const swap = async () => { await a.put(b.value); await b.put(a.value) }
        await expectCorruptHere({ start: a.offset, end: a.offset + GROUP }, swap)
        await swap()
        const { got, error } = await untilFault(store.get(ROOT, { start: b.offset, end }))
        expect(error).to.include({ code: 'STORE_CORRUPT', start: b.offset, len: GROUP })
        expect(got).to.have.length(0)
      })

      test('a changed byte of a page is computed again, or fails the reads that need it', async () => {
        for (const page of pages) {
          const step = strideAtEffort() * (page.value.length > 1000 ? 700 : 70)
          for (let at = BITS; at < page.value.length; at += step) {
            await withEntry(made, page, ({ put, value }) => put(flipped(value, at, 0x10)), expectRightOrCorrupt)
          }
        }
      })

      test('a page that is lost, too short or all zeros is computed again, or fails reads that need it', async () => {
        const changes = [
          ({ del }) => del(), ({ put }) => put(new Uint8Array(0)),
          ({ put, value }) => put(value.slice(0, BITS + 31 * PAIR)),
          ({ put, value }) => put(value.map((byte, i) => i < BITS ? byte : 0))
        ]
        for (const [page, change] of pairsOf(pages, changes)) {
          await withEntry(made, page, change, expectRightOrCorrupt)
        }
      })

      test('a lost pair, which looks like zeros, is computed again', async () => {
        const [page] = pages
        for (const slot of someOf([0, 1, 2, 3, 6, 15, 31, 62])) {
          const without = page.value.slice()
          without.fill(0, BITS + slot * PAIR, BITS + (slot + 1) * PAIR)
          await withEntry(made, page, ({ put }) => put(without), async () => {
            await expectRightOrCorrupt()
            expect((await page.read()).subarray(BITS), 'its pairs').to.deep.equal(page.value.subarray(BITS))
          })
        }
      })

      /**
       * A slice needs every pair. The store computes a pair again from the pairs and bytes below it. If some of these
       * are missing it cannot, and the groups that the pair has proven count as missing. After that, all is right.
       */
      async function expectRightOrCorrupt () {
        const here = { start: 0, end: WHOLE_LEN }
        const expected = isPart ? sliceHere(here) : SLICE
        for (let reads = 0; reads < 2; reads++) {
          const whole = await untilFault(store.get(ROOT, here))
          if (!same(whole.got, BYTES.subarray(0, whole.got.length))) expect.fail('wrong bytes came out')
          const { got, error } = await untilFault(store.slice(ROOT, isPart ? here : undefined))
          if (!same(got, expected.subarray(0, got.length))) expect.fail('wrong bytes came out of the slice')
          for (const { code } of [whole.error, error].filter(Boolean)) {
            expect(code).to.match(/^STORE_(CORRUPT|MISSING)$/)
            expect(isPart, 'the tree of a whole blob can be computed again').to.equal(true)
          }
          if (error === undefined) expect(got).to.have.length(expected.length)
        }
        const missing = (await store.missing(ROOT)).intersect(ChunkRanges.fromBytes(0, WHOLE_LEN))
        if (!missing.isEmpty) await store.receive(ROOT, sliceHere(missing), missing)
        await expectBytes(store, WHOLE_LEN)
        expect((await store.fsck()).damaged, 'damage that is left').to.deep.equal([])
      }
    })
  }

  it('a forged group and a pair that fits it fail the read, because the pairs above do not fit', async () => {
    const { store, index, data } = await newStore()
    await store.put(BYTES)
    const entries = await entriesOf(data)
    const forged = noise(GROUP, 95)
    for (const group of [0, 1, 6, 63]) {
      const extent = entries.find(({ offset }) => offset === Math.floor(group / 4) * EXTENT)
      const page = entries.find(({ offset }) => offset === undefined)
      const bytes = extent.value.slice()
      bytes.set(forged, group % 4 * GROUP)
      const pairs = page.value.slice()
      // Slot s has the pair between groups s and s + 1. Even slots are the lowest pairs.
      pairs.set(subtreeCv(forged, group * 16), BITS + (group - group % 2) * PAIR + group % 2 * PAIR / 2)
      const forge = async () => { await extent.put(bytes); await page.put(pairs) }
      await withEntry({ index, data }, extent, forge, async () => {
        const again = await BlobStore.open({ index: await copyOf(index), data: await copyOf(data) })
        // This read brings the page to memory, and compares some of its pairs.
        const other = (group + 20) % 64
        const got = await again.bytes(ROOT, { start: other * GROUP, end: other * GROUP + 5 })
        expect(same(got, BYTES.subarray(other * GROUP, other * GROUP + 5))).to.equal(true)
        for (const range of [
          { start: group * GROUP, end: group * GROUP + 5 },
          { start: group * GROUP, end: (group + 1) * GROUP }, {}
        ]) {
          expect((await errorOf(again.bytes(ROOT, range)))?.code, `group ${group}`)
            .to.match(/^STORE_(CORRUPT|MISSING)$/)
        }
        await again.close()
      })
    }
  })

  it('reads find damage in their own range only, and before its first byte', async () => {
    const { store, index, data } = await newStore()
    await store.put(BYTES)
    const extent = (await entriesOf(data)).find(({ offset }) => offset === 10 * EXTENT)
    await extent.put(flipped(extent.value, 2 * GROUP + 5))
    const again = await keepAll({ index, data })
    const damaged = 10 * EXTENT + 2 * GROUP
    expect(await errorOf(store.bytes(ROOT, { start: damaged + 100, end: damaged + 101 })))
      .to.include({ code: 'STORE_CORRUPT', start: damaged, len: GROUP })
    for (const range of [{ start: damaged - 1, end: damaged }, { start: damaged + GROUP, end: damaged + 3 * GROUP }]) {
      expect(same(await store.bytes(ROOT, range), BYTES.subarray(range.start, range.end))).to.equal(true)
    }
    await again()
    const slice = await untilFault(store.slice(ROOT, { start: damaged + 5000, end: damaged + 5001 }))
    expect(slice.error).to.include({ code: 'STORE_CORRUPT', start: damaged, len: GROUP })
  })

  describe('without verification', () => {
    it('get() with verify: false gives the damaged bytes, and right bytes around them', async () => {
      for (const [options, reading] of [[undefined, { verify: false }], [{ verify: false }, {}]]) {
        const { store, data } = await newStore(options)
        await store.put(BYTES)
        const extent = (await entriesOf(data)).find(({ offset }) => offset === 10 * EXTENT)
        await extent.put(flipped(extent.value, 5))
        expect(same(await store.bytes(ROOT, undefined, reading), flipped(BYTES, 10 * EXTENT + 5))).to.equal(true)
        expect(await errorOf(store.bytes(ROOT, undefined, { verify: true }))).to.include({ code: 'STORE_CORRUPT' })
      }
    })

    it('get() with verify: false fails where bytes are missing', async () => {
      const { store, data } = await newStore()
      await store.put(BYTES)
      const extent = (await entriesOf(data)).find(({ offset }) => offset === 10 * EXTENT)
      for (const change of [() => extent.del(), () => extent.put(extent.value.slice(0, 100))]) {
        await change()
        const { got, error } = await untilFault(store.get(ROOT, undefined, { verify: false }))
        expect(error).to.include({ code: 'STORE_CORRUPT' })
        expect(error.start).to.be.within(10 * EXTENT, 10 * EXTENT + GROUP)
        expect(same(got, BYTES.subarray(0, got.length))).to.equal(true)
        expect(got.length).to.be.at.least(10 * EXTENT)
      }
    })
  })

  describe('of a record', () => {
    // 64 KiB: one flipped bit makes the length 0. Others make it longer, also longer than 2^53 - 1.
    for (const size of [1, GROUP, 4 * GROUP, 20 * GROUP + 77]) {
      it(`a flipped bit gives no wrong bytes and no shorter blob, of ${size} bytes`, async () => {
        const { store, index } = await newStore()
        const bytes = noise(size, 92)
        const root = hash(bytes)
        await store.put(noise(30 * GROUP, 93)) // so that there is data under another id
        await store.put(bytes)
        const record = await recordEntry(index, root).read()
        for (let bit = 0; bit < record.length * 8; bit++) {
          await recordEntry(index, root).write(flipped(record, bit >> 3, 1 << (bit & 7)))
          for (const [start, end] of [[0, Infinity], [0, size], [size - 1, size], [size >> 1, size], [0, 1]]) {
            const got = []
            const error = await errorOf(async () => got.push(await store.bytes(root, { start, end })))
            if (error) expect(error.code, `bit ${bit}: ${error.stack}`).to.match(/^STORE_(CORRUPT|MISSING|NOT_FOUND)$/)
            else {
              expect(
                same(got[0], bytes.subarray(start, end)), `bit ${bit}, ${start} to ${end}: ${got[0].length} bytes`
              ).to.equal(true)
            }
          }
          const { got, error } = await untilFault(store.slice(root))
          expect(same(got.subarray(8), sliceOf(bytes).subarray(8, got.length)), `bit ${bit}: slice`).to.equal(true)
          if (error) expect(error.code, `bit ${bit}: ${error.stack}`).to.match(/^STORE_(CORRUPT|MISSING|NOT_FOUND)$/)
          else expect(got).to.have.length(sliceOf(bytes).length)
        }
      })
    }

    for (const [what, spoil] of [
      ['is too short', record => record.subarray(1)],
      ['is too long', record => concat([record, new Uint8Array(1)])],
      ['is empty', () => new Uint8Array(0)]
    ]) {
      it(`a record that ${what} fails only the calls about its blob`, async () => {
        const { store, index, place } = await newStore()
        const { cid } = await store.put(BYTES)
        const { cid: other } = await store.put(Uint8Array.of(1))
        await recordEntry(index, ROOT).change(spoil)
        const slice = async () => { throw (await untilFault(store.slice(cid))).error }
        for (const ask of [() => store.bytes(cid), () => store.stat(cid), slice]) {
          const error = await errorOf(ask)
          expect(error).to.include({ code: 'STORE_CORRUPT' })
          expect(error.cid?.toString()).to.equal(cid.toString())
        }
        expect(await store.bytes(other)).to.deep.equal(Uint8Array.of(1))

        // The same after a crash, when opening reads all records.
        const crashed = { index: await copyOf(index), data: await copyOf(place.where.data) }
        const again = await BlobStore.open(crashed)
        expect(await again.bytes(other)).to.deep.equal(Uint8Array.of(1))
        await again.close()
      })
    }

    it('a record that no store writes is not believed, although its checksum is right', async () => {
      const { store, index } = await newStore()
      await store.put(BYTES)
      const good = await readRecord(index, ROOT)
      for (const never of [{ size: 0 }, { size: 2 ** 53 }, { size: 2 ** 63 }, { id: 2 ** 60 }, { created: 2 ** 60 }]) {
        await writeRecord(index, ROOT, { ...good, ...never })
        expect((await errorOf(store.bytes(ROOT)))?.code, JSON.stringify(never)).to.equal('STORE_CORRUPT')
      }
      await writeRecord(index, ROOT, good)
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    })

    it('a blob with a damaged record can be deleted, or put again', async () => {
      for (const mend of [store => store.delete(ROOT), store => store.put(BYTES)]) {
        const { store, index } = await newStore()
        await store.put(BYTES)
        await recordEntry(index, ROOT).change(record => record.subarray(1))
        await mend(store)
        await store.put(BYTES)
        expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      }
    })
  })
})

/** Copies the databases of an open store, as a crash would leave them. */
async function copyOf (level) {
  const copy = new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view' })
  for (const [key, value] of await level.iterator().all()) await copy.put(key, value)
  return copy
}
