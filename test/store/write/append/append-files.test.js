// Blobs that share a file: the writes of append(), and the file when some of the blobs are deleted or damaged.
import { cp, link, readFile, stat } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import { BlobStore } from '../../../../store/index.js'
import { same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { atEffort } from '../../../support/effort.js'
import { collect, errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { countedBytes, databasesOf, deletionsIn, flipStoredByte, recordOf } from '../../../support/store/inspect.js'
import { ALL, expectRight, expectSound, grow, lensOfFiles, part, rootOf } from '../../../support/store/sharers.js'
import { expectNoOrphans, gated, onDisk, sliceOf } from '../../../support/store/stores.js'
import { copy } from '../../../../exchange/transfer/index.js'

/** Sizes of blobs that are appended to one after the other. */
const SIZES = [MIB + 5, MIB + 90_000, 2 * MIB, 3 * MIB + 20_000, 5 * MIB]

describe('store: blobs that share a file', () => {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })
  const newPlace = async () => {
    const place = await onDisk()
    places.push(place)
    return place
  }

  it('append() writes to the file of the old blob', async () => {
    const place = await newPlace()
    const store = await place.open({ quota: 50 * MIB })
    await grow(store, SIZES)
    expect(await lensOfFiles(store)).to.deep.equal([SIZES.at(-1)])
    const { blobs, bytes, bytesOnDisk } = await store.info()
    expect({ blobs, bytes }).to.deep.equal({ blobs: SIZES.length, bytes: SIZES.at(-1) })
    expect(bytesOnDisk).to.be.below(SIZES.at(-1) + MIB)
    expect(countedBytes(store, 50 * MIB)).to.equal(bytes)
    for (const size of SIZES) await expectRight(store, size)
    await expectSound(store)
  })

  it('the file always ends with the longest blob, in whatever order blobs are deleted', async () => {
    const order = fc.shuffledSubarray(SIZES, { minLength: SIZES.length })
    const property = fc.asyncProperty(order, fc.boolean(), async (order, reopens) => {
      const place = await onDisk()
      let store = await place.open({ quota: 50 * MIB })
      await grow(store, SIZES)
      let left = SIZES
      for (const gone of order) {
        if (reopens) {
          await store.close()
          store = await place.open({ quota: 50 * MIB })
        }
        expect(await store.delete(rootOf(gone))).to.include({ blobs: 1 })
        left = left.filter(size => size !== gone)
        const longest = Math.max(0, ...left)
        expect(await lensOfFiles(store)).to.deep.equal(left.length === 0 ? [] : [longest])
        expect((await store.info()).bytes).to.equal(longest)
        expect(countedBytes(store, 50 * MIB)).to.equal(longest)
        for (const size of left) await expectRight(store, size)
        await expectSound(store)
      }
      await store.close()
      await expectNoOrphans(place)
      await place.remove()
    })
    await holds('store: blobs that share a file', property, 6)
  })

  it('gc() keeps the file as long as one blob is protected', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES)
    await store.tags.set('middle', rootOf(SIZES[2]))
    const dry = await store.gc({ dryRun: true })
    const freed = await store.gc()
    expect(freed).to.deep.equal({ blobs: 4, bytes: SIZES[4] - SIZES[2] })
    expect(dry).to.deep.equal(freed)
    expect(await lensOfFiles(store)).to.deep.equal([SIZES[2]])
    await expectRight(store, SIZES[2])
    await expectSound(store)
    await store.append(rootOf(SIZES[2]), ALL.subarray(SIZES[2], SIZES[3]))
    expect(await lensOfFiles(store)).to.deep.equal([SIZES[3]])
    await expectRight(store, SIZES[3])
  })

  it('a quota counts shared bytes once, and evicts the longest blobs first', async () => {
    const place = await newPlace()
    const store = await place.open({ quota: 6 * MIB })
    await grow(store, SIZES)
    await store.tags.set('short', rootOf(SIZES[1]))
    await store.put(noise(4 * MIB, 522))
    expect((await store.info()).bytes).to.be.at.most(6 * MIB)
    await expectRight(store, SIZES[1])
    expect(await errorOf(store.put(noise(6 * MIB - SIZES[1] + 1, 523)))).to.include({ code: 'STORE_FULL' })
    const result = await store.append(rootOf(SIZES[1]), ALL.subarray(SIZES[1], 3 * MIB), { tag: 'short' })
    expect(result.isNew).to.equal(true)
    await expectRight(store, 3 * MIB)
    await expectSound(store)
  })

  it('many appends write only the appended bytes', async () => {
    const place = await newPlace()
    const store = await place.open({ durability: 'process' })
    let cid = (await store.put(part(MIB + 1), { tag: 'log' })).cid
    const before = (await store.info()).bytesOnDisk
    let size = MIB + 1
    for (let i = 0; i < atEffort(200); i++, size += 100) {
      cid = (await store.append(cid, ALL.subarray(size, size + 100), { tag: 'log' })).cid
    }
    expect(same(cid.multihash.digest, rootOf(size))).to.equal(true)
    expect(await lensOfFiles(store)).to.deep.equal([size])
    await store.gc()
    await store.compact()
    expect((await store.info()).bytesOnDisk - before).to.be.below(4 * MIB)
    await expectRight(store, size)
    await expectSound(store)
  })

  it('readers of the old blob go on during an append, and during the deletion of the longer blob', async () => {
    const place = await newPlace()
    const store = await place.open()
    await store.put(part(SIZES[3]))
    const root = rootOf(SIZES[3])
    const reads = [store.get(root), store.slice(root), store.get(root, { end: 9e6 })]
    const first = await Promise.all(reads.map(async read => new Uint8Array((await read.next()).value)))
    const gate = gated([ALL.subarray(SIZES[3], 4 * MIB)], [ALL.subarray(4 * MIB)])
    const appending = store.append(rootOf(SIZES[3]), gate.source)
    await gate.reached
    await expectRight(store, SIZES[3])
    const later = store.get(rootOf(SIZES[3]))
    const begun = (await later.next()).value
    gate.open()
    const { cid, size } = await appending
    expect(size).to.equal(ALL.length)
    await store.delete(cid)
    const wholes = [part(SIZES[3]), sliceOf(part(SIZES[3])), part(SIZES[3]), part(SIZES[3])]
    for (const [i, read] of [...reads, later].entries()) {
      const bytes = new Uint8Array(await new Blob([i === 3 ? begun : first[i], await collect(read)]).arrayBuffer())
      expect(same(bytes, wholes[i]), `read ${i}`).to.equal(true)
    }
    expect(await lensOfFiles(store)).to.deep.equal([SIZES[3]])
    await expectSound(store)
  })

  it('append() fails when the old blob is deleted during the call, and leaves nothing', async () => {
    const place = await newPlace()
    const store = await place.open()
    await store.put(part(SIZES[0]))
    const gate = gated([ALL.subarray(SIZES[0], 2 * MIB)], [ALL.subarray(2 * MIB, 3 * MIB)])
    const appending = errorOf(store.append(rootOf(SIZES[0]), gate.source))
    await gate.reached
    expect(await errorOf(store.delete(rootOf(SIZES[0])))).to.include({ code: 'STORE_TAGGED' })
    await store.delete(rootOf(SIZES[0]), { force: true })
    gate.open()
    expect(await appending).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await listed(store.list())).to.deep.equal([])
    await expectSound(store)
    await store.close()
    await expectNoOrphans(place)
  })

  it('append() whose old blob is deleted during the call leaves nothing if the process ends there', async () => {
    const place = await newPlace()
    const before = await place.open()
    await before.put(part(SIZES[0]))
    await before.close() // The next openings do not look for data without a record under this id.
    const store = await place.open()
    const databases = databasesOf(store)
    const gate = gated([ALL.subarray(SIZES[0], 2 * MIB)], [ALL.subarray(2 * MIB, 3 * MIB)])
    const appending = errorOf(store.append(rootOf(SIZES[0]), gate.source))
    await gate.reached
    await store.delete(rootOf(SIZES[0]), { force: true })
    await databases.dropNotes() // as other deletions and collections do
    const { deleteData } = databases
    const left = await newPlace()
    databases.deleteData = async id => {
      databases.deleteData = deleteData
      await cp(place.where, left.where, { recursive: true })
      return deleteData.call(databases, id)
    }
    gate.open()
    expect(await appending).to.include({ code: 'STORE_NOT_FOUND' })
    await store.close()
    for (const each of [place, left]) {
      const opened = await each.open()
      await expectSound(opened)
      await opened.close()
      await expectNoOrphans(each)
      expect(await each.look(({ index }) => deletionsIn(index))).to.deep.equal([])
    }
  })

  it('append() succeeds when a longer blob is deleted during the call', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES.slice(0, 3))
    const gate = gated([ALL.subarray(SIZES[2], 3 * MIB)], [ALL.subarray(3 * MIB)])
    const appending = store.append(rootOf(SIZES[2]), gate.source)
    await gate.reached
    await store.delete(rootOf(SIZES[2]), { force: true })
    gate.open()
    await appending
    for (const size of [SIZES[0], SIZES[1], ALL.length]) await expectRight(store, size)
    expect((await store.info()).bytes).to.equal(ALL.length)
    await expectSound(store)
  })

  it('append() does not write to a file that has other names', async () => {
    const place = await newPlace()
    const store = await place.open()
    await store.put(part(SIZES[0]))
    const { id } = await recordOf(store, rootOf(SIZES[0]))
    const other = `${place.where}/theirs`
    await link(databasesOf(store).files.pathOf(id), other)
    await store.append(rootOf(SIZES[0]), ALL.subarray(SIZES[0], SIZES[1]))
    expect(same(await readFile(other), part(SIZES[0]))).to.equal(true)
    for (const size of SIZES.slice(0, 2)) await expectRight(store, size)
    await expectSound(store)
  })

  it('append() to a reference makes a copy', async () => {
    const place = await newPlace()
    const store = await place.open()
    const path = `${place.where}/theirs`
    await store.put(part(SIZES[0]))
    await store.exportFile(rootOf(SIZES[0]), path)
    await store.delete(rootOf(SIZES[0]))
    await store.importFile(path, { mode: 'reference' })
    await store.append(rootOf(SIZES[0]), ALL.subarray(SIZES[0], SIZES[1]))
    expect((await stat(path)).size).to.equal(SIZES[0])
    for (const size of SIZES.slice(0, 2)) await expectRight(store, size)
    await expectSound(store)
  })

  it('append() to a damaged blob fails, or heals it first', async () => {
    const place = await newPlace()
    let heals = false
    const store = await place.open({
      supply: async (cid, ranges) => heals ? sliceOf(part(SIZES[0]), ranges) : undefined,
      maxMissAge: 0
    })
    await store.put(part(SIZES[0]))
    await flipStoredByte(store, rootOf(SIZES[0]), SIZES[0] - 1)
    const append = () => store.append(rootOf(SIZES[0]), ALL.subarray(SIZES[0], SIZES[1]))
    expect(await errorOf(append())).to.include({ code: 'STORE_CORRUPT' })
    expect(await errorOf(append())).to.include({ code: 'STORE_MISSING' })
    heals = true
    await expectRight(store, SIZES[0])
    await append()
    for (const size of SIZES.slice(0, 2)) await expectRight(store, size)
    await expectSound(store)
  })

  it('bytes that are healed for one blob are healed for all that share them', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES)
    await flipStoredByte(store, rootOf(SIZES[4]), 3 * GROUP + 7)
    for (const size of [SIZES[4], SIZES[0]]) {
      expect(await errorOf(store.bytes(rootOf(size)))).to.include({ code: 'STORE_CORRUPT' })
      expect((await store.missing(rootOf(size))).boundaries).to.deep.equal([48, 64])
    }
    const missing = await store.missing(rootOf(SIZES[0]))
    const { complete } = await store.receive(rootOf(SIZES[0]), sliceOf(part(SIZES[0]), missing), missing)
    expect(complete).to.equal(true)
    for (const size of SIZES) await expectRight(store, size)
    expect((await store.info()).bytes).to.equal(SIZES[4])
    expect(await lensOfFiles(store)).to.deep.equal([SIZES[4]])
    await expectSound(store)
    for (const size of SIZES) expect(await store.has(rootOf(size)), `${size}`).to.equal(true)
  })

  it('fsck() finds damage in every blob that has the damaged bytes, and in no others', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES)
    await flipStoredByte(store, rootOf(SIZES[4]), 2 * MIB + 5)
    const damagedOf = async options =>
      (await store.fsck(options)).damaged.map(({ size, lost }) => [size, lost.boundaries])
    const lost = [[SIZES[4], [2048, 2064]], [SIZES[3], [2048, 2064]]]
    expect(await damagedOf({})).to.deep.equal(lost)
    expect(await damagedOf({ repair: true })).to.deep.equal(lost)
    for (const size of SIZES.slice(0, 3)) await expectRight(store, size)
    const missing = await store.missing(rootOf(SIZES[3]))
    await store.receive(rootOf(SIZES[3]), sliceOf(part(SIZES[3]), missing), missing)
    await expectRight(store, SIZES[3])
    await store.fsck({ repair: true })
    for (const size of SIZES) await expectRight(store, size)
    await expectSound(store)
  })

  it('put() of a damaged blob gives it a file of its own', async () => {
    const place = await newPlace()
    const store = await place.open({ quota: 50 * MIB })
    await grow(store, SIZES)
    await flipStoredByte(store, rootOf(SIZES[4]), 5)
    expect(await errorOf(store.bytes(rootOf(SIZES[2])))).to.include({ code: 'STORE_CORRUPT' })
    expect(await store.put(part(SIZES[2]))).to.include({ isNew: true })
    await expectRight(store, SIZES[2])
    expect(await lensOfFiles(store)).to.deep.equal([SIZES[2], SIZES[4]])
    expect(countedBytes(store, 50 * MIB)).to.equal((await store.info()).bytes)
    await expectRight(store, SIZES[2])
  })

  it('copy() copies each blob', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES.slice(0, 3))
    const other = await (await newPlace()).open()
    expect((await copy(store, other)).blobs).to.equal(3)
    for (const size of SIZES.slice(0, 3)) await expectRight(other, size)
    await expectSound(other)
  })

  it('a read-only store gives every blob, also while they are appended to', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES.slice(0, 2))
    const reader = await BlobStore.open(place.where, { readOnly: true })
    try {
      await store.append(rootOf(SIZES[1]), ALL.subarray(SIZES[1], SIZES[2]))
      for (const size of SIZES.slice(0, 2)) await expectRight(reader, size)
      expect(await errorOf(reader.append(rootOf(SIZES[1]), new Uint8Array(1)))).to.include({ code: 'STORE_READ_ONLY' })
    } finally {
      await reader.close()
    }
  })

  it('rescue() keeps blobs that share a file', async () => {
    const place = await newPlace()
    const store = await place.open()
    await grow(store, SIZES)
    await store.close()
    expect(await BlobStore.rescue(place.where)).to.include({ isSound: true })
    const again = await place.open()
    for (const size of SIZES) await expectRight(again, size)
    await again.delete(rootOf(SIZES[4]))
    expect(await lensOfFiles(again)).to.deep.equal([SIZES[3]])
    await expectSound(again)
  })
})
