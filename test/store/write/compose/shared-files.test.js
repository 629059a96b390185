// Compositions where the file system can clone files. In these tests the clones are copies.
import { expect } from 'chai'
import fc from 'fast-check'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '../../../../lib/index.js'
import { concat, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { waysInTurn } from '../../../support/effort.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { expectBlob, joined, splice } from '../../../support/store/grown.js'
import { flipStoredByte, nextIdOf, recordOf } from '../../../support/store/inspect.js'
import { ALL, expectReads, expectSound, grow, lensOfFiles, part, rootOf } from '../../../support/store/sharers.js'
import { expectNoOrphans, gated, onDisk, sliceOf } from '../../../support/store/stores.js'
import { cloneByCopy } from '../../../support/store/writers.js'

const BYTES = noise(4 * MIB + 70_001, 531)
const OTHERS = noise(2 * MIB, 532)
const CHANGE = { start: 3 * MIB + 3, end: 3 * MIB + GROUP, source: OTHERS.subarray(0, GROUP - 3) }
const spliced = ({ start, end = BYTES.length, source = new Uint8Array(0) }) =>
  concat([BYTES.subarray(0, start), source, BYTES.subarray(end)])

describe('store.compose() into a cloned file', () => {
  let place, clones
  before(() => { clones = cloneByCopy() })
  after(() => clones.end())
  beforeEach(async () => {
    place = await onDisk()
    clones.count = 0
  })
  afterEach(() => place.remove())

  it('makes the same blob as a put of the same bytes, and does not change the other blob', async () => {
    const store = await place.open({ durability: 'process' })
    const { cid } = await store.put(BYTES)
    const places = fc.oneof(fc.nat(BYTES.length), fc.nat(4 * 64).map(groups => groups * GROUP))
    const lengths = fc.oneof(fc.constant('same'), fc.nat(OTHERS.length))
    await holds('splices into shared files', fc.asyncProperty(places, places, lengths, fc.boolean(),
      async (one, other, len, verify) => {
        const [start, end] = [Math.min(one, other), Math.max(one, other)]
        const change = { start, end, source: OTHERS.subarray(0, len === 'same' ? end - start : len) }
        const expected = spliced(change)
        const made = await splice(store, cid, change, { verify })
        await expectBlob(store, made, expected)
        if (!same(expected, BYTES)) await store.delete(made.cid)
      }), 40)
    await store.delete((await splice(store, cid, CHANGE)).cid)
    expect(clones.count).to.be.above(0)
    await expectBlob(store, { cid, size: BYTES.length }, BYTES)
    await expectBlob(store, await joined(store, [cid, cid]), concat([BYTES, BYTES]))
    await store.close()
    await expectNoOrphans(place)
  })

  it('clones a file that several blobs share, also during a write to it', async () => {
    const store = await place.open({ durability: 'process' })
    const sizes = [2 * MIB + 5, 2 * MIB + 60_000, 3 * MIB]
    await grow(store, sizes)
    const replaced = (size, start, source) =>
      concat([part(size).subarray(0, start), source, part(size).subarray(start + source.length)])
    const gate = gated([ALL.subarray(3 * MIB, 4 * MIB)], [ALL.subarray(4 * MIB, 4 * MIB + 9)])
    const appending = store.append(rootOf(3 * MIB), gate.source)
    await gate.reached
    let count = 0
    const verifies = waysInTurn()
    for (const size of sizes) {
      for (const verify of verifies([true, false])) {
        const source = OTHERS.subarray(0, GROUP)
        const start = MIB + 7
        const made = await splice(store, rootOf(size), { start, end: start + GROUP, source }, { verify })
        expect(clones.count).to.equal(++count)
        await expectBlob(store, made, replaced(size, start, source))
        await store.delete(made.cid)
      }
      const end = OTHERS.subarray(0, 7)
      await expectBlob(store, await store.append(rootOf(size), end), concat([part(size), end]))
      const twice = await joined(store, [rootOf(size), rootOf(sizes[0])])
      await expectBlob(store, twice, concat([part(size), part(sizes[0])]))
      expect(clones.count).to.equal(count += 2)
    }
    gate.open()
    await appending
    const inFiles = [...sizes.flatMap(size => [size + 7, size + sizes[0]]), 4 * MIB + 9]
    expect(await lensOfFiles(store)).to.deep.equal(inFiles.sort((a, b) => a - b))
    await expectReads(store, [...sizes, 4 * MIB + 9])
    await expectSound(store)
    await store.close()
    await expectNoOrphans(place)
  })

  it('clones the file from which most bytes may stay, and takes the rest from others', async () => {
    const store = await place.open()
    const { cid } = await store.put(BYTES)
    const other = noise(BYTES.length, 533)
    const { cid: second } = await store.put(other)
    for (const verify of [true, false]) {
      for (const [longest, border] of [[second, MIB], [cid, 3 * MIB]]) {
        const made = await store.compose([{ cid, end: border }, { cid: second, start: border }], { verify })
        const expected = concat([BYTES.subarray(0, border), other.subarray(border)])
        await expectBlob(store, made, expected)
        await store.delete(made.cid)
        const { id } = await recordOf(store, longest.multihash.digest)
        expect(clones.sources.at(-1)).to.equal(join(place.where, 'blobs', `${id}`))
      }
    }
    await expectBlob(store, { cid, size: BYTES.length }, BYTES)
    await expectBlob(store, { cid: second, size: other.length }, other)
  })

  it('does not clone a file from which less than 1 MiB may stay', async () => {
    const store = await place.open()
    const { cid } = await store.put(BYTES)
    const change = { start: MIB, end: BYTES.length, source: OTHERS }
    await expectBlob(store, await splice(store, cid, change), spliced(change))
    expect(clones.count).to.equal(0)
  })

  it('finds damage in the bytes that it keeps, and leaves nothing', async () => {
    const store = await place.open()
    const { cid } = await store.put(BYTES)
    await flipStoredByte(store, hash(BYTES), 2 * MIB + 5)
    expect(await errorOf(splice(store, cid, CHANGE))).to.include({ code: 'STORE_CORRUPT', start: 2 * MIB, len: GROUP })
    expect(clones.count).to.equal(1)
    expect(await readdir(join(place.where, 'blobs'))).to.have.length(1)
    await store.close()
    await expectNoOrphans(place)
  })

  it('keeps damage with `verify: false`, which later reads find', async () => {
    const store = await place.open()
    const { cid } = await store.put(BYTES)
    await flipStoredByte(store, hash(BYTES), 2 * MIB + 5)
    const made = await splice(store, cid, CHANGE, { verify: false })
    expect(made.cid.multihash.digest).to.deep.equal(hash(spliced(CHANGE)))
    const error = await errorOf(store.bytes(made.cid))
    expect(error).to.include({ code: 'STORE_CORRUPT', start: 2 * MIB, len: GROUP })
  })

  it('replaces damaged bytes by those that `supply` has fetched', async () => {
    const store = await place.open({ supply: async (_cid, ranges) => sliceOf(BYTES, ranges) })
    const { cid } = await store.put(BYTES)
    await flipStoredByte(store, hash(BYTES), 2 * MIB + 5)
    await expectBlob(store, await splice(store, cid, CHANGE), spliced(CHANGE))
    await expectBlob(store, { cid, size: BYTES.length }, BYTES)
  })

  it('leaves nothing when its source fails', async () => {
    const store = await place.open()
    const { cid } = await store.put(BYTES)
    const reason = new Error('no more')
    const source = (async function * () {
      yield OTHERS
      throw reason
    })()
    expect(await errorOf(splice(store, cid, { ...CHANGE, source }))).to.equal(reason)
    expect(clones.count).to.equal(1)
    expect(await readdir(join(place.where, 'blobs'))).to.have.length(1)
    await store.close()
    await expectNoOrphans(place)
  })
})

describe('store.compose() of a large blob', () => {
  let place
  beforeEach(async () => { place = await onDisk() })
  afterEach(() => place.remove())

  it('does not overwrite a foreign file with the name of its id', async () => {
    const store = await place.open()
    const { cid } = await store.put(BYTES)
    const path = join(place.where, 'blobs', `${nextIdOf(store)}`)
    await writeFile(path, 'theirs')
    expect(await errorOf(splice(store, cid, CHANGE))).to.include({ code: 'STORE_CORRUPT', location: path })
    expect((await readdir(join(place.where, 'blobs'))).length).to.equal(2)
    await expectBlob(store, await splice(store, cid, CHANGE), spliced(CHANGE))
  })

  it('copies the bytes of a reference, and verifies them', async () => {
    const store = await place.open()
    const path = join(place.where, 'theirs')
    await writeFile(path, BYTES)
    const { cid } = await store.importFile(path, { mode: 'reference' })
    const made = await splice(store, cid, CHANGE, { verify: false })
    await writeFile(path, BYTES.map(byte => byte ^ 1))
    await expectBlob(store, made, spliced(CHANGE))
    const error = await errorOf(splice(store, cid, { start: 2 * MIB }, { verify: false }))
    expect(error).to.include({ code: 'STORE_CORRUPT' })
  })
})
