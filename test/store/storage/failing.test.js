// Writes that fail at the disk. A failed write may have reached the disk, which the store only learns when it is opened
// again. Data from before the failure is kept.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { sha256 } from 'multiformats/hashes/sha2'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { errorOf, listed, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { writesRecord } from '../../support/store/inspect.js'
import { expectNoOrphans, inMemory, newStores, sliceOf } from '../../support/store/stores.js'

const reason = new Error('the disk is full')

/** Returns true if one of the operations writes the record of a blob. */
const hasRecords = operations => operations.some(writesRecord)

/** Makes the next batch of records fail after it was written. */
function failAfterWrite (level) {
  const { batch } = level
  level.batch = async (operations, ...args) => {
    if (!hasRecords(operations)) return batch.call(level, operations, ...args)
    level.batch = batch
    await batch.call(level, operations, ...args)
    throw reason
  }
}

describe('store: writes that fail', () => {
  const newStore = newStores()
  /** Opens a store, which can be opened again without being closed, as after a crash. */
  const crashing = async () => {
    const place = await inMemory()
    return { place, store: await BlobStore.open(place.where), index: place.where.index }
  }
  const blobs = [noise(3000, 8), noise(100_000, 9), noise(3 * MIB, 10)]

  /** Each of these writes one batch of records. */
  const JOBS = {
    'a put': blobs.map(bytes => store => store.put(bytes)),
    'a put with a tag': blobs.map((bytes, i) => store => store.put(bytes, { tag: `tag ${i}` })),
    'a batch of blobs': [store => listed(store.putMany(blobs.slice(0, 2)))],
    'a batch of blocks': [async store => {
      const blockOf = async bytes => ({ cid: CID.createV1(raw.code, await sha256.digest(bytes)), bytes })
      const blocks = await Promise.all(blobs.slice(0, 2).map(blockOf))
      return listed(asBlockstore(store).putMany(blocks))
    }]
  }

  for (const [what, jobs] of Object.entries(JOBS)) {
    it(`${what} that fails although its record reached the disk has its data after a crash`, async () => {
      for (const isClosed of [true, false]) {
        const { place, store, index } = await crashing()
        for (const job of jobs) {
          failAfterWrite(index)
          expect(await errorOf(job(store))).to.equal(reason)
        }
        if (isClosed) await store.close()
        const again = await BlobStore.open(place.where)
        const there = await listed(again.list())
        expect(there).to.have.length(jobs.length === 1 ? 2 : jobs.length)
        for (const { cid } of there) {
          expect(hash(await again.bytes(cid))).to.deep.equal(new Uint8Array(cid.multihash.digest))
        }
        expect(await again.fsck({ repair: true })).to.include({ isSound: true })
        await again.close()
        await expectNoOrphans(place)
      }
    })
  }

  it('a repair keeps the data of a record that may be there', async () => {
    const { place, store, index } = await crashing()
    const { batch } = index
    let late
    index.batch = (...args) => {
      if (!hasRecords(args[0])) return batch.apply(index, args)
      index.batch = batch
      late = () => batch.apply(index, args)
      return Promise.reject(reason)
    }
    expect(await errorOf(store.put(blobs[1]))).to.equal(reason)
    expect(await store.fsck({ repair: true })).to.include({ orphans: 0 })
    await late() // the log had the write
    const again = await BlobStore.open(place.where)
    expect(same(await again.bytes(hash(blobs[1])), blobs[1])).to.equal(true)
    await again.close()
  })

  /** Makes the next call of a method fail, or all calls. */
  function fail (level, method, { always = false } = {}) {
    const real = level[method]
    const restore = () => { level[method] = real }
    level[method] = () => {
      if (!always) restore()
      return Promise.reject(reason)
    }
    return restore
  }

  for (const [database, method] of [['data', 'getMany'], ['data', 'batch'], ['index', 'batch']]) {
    it(`a receive keeps the groups that it has proven when ${database}.${method} fails once`, async () => {
      const { store, place, ...databases } = await newStore()
      const bytes = noise(3 * MIB, 12)
      fail(databases[database], method)
      expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
      expect(await store.stat(hash(bytes))).to.include({ complete: true })
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      await store.close()
      await expectNoOrphans(place)
    })
  }

  it('a receive that cannot keep anything leaves nothing', async () => {
    for (const method of ['batch', 'getMany']) {
      const { store, place, data } = await newStore()
      const bytes = noise(3 * MIB, 13)
      const restore = fail(data, method, { always: true })
      expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
      restore()
      expect(await errorOf(store.stat(hash(bytes)))).to.include({ code: 'STORE_NOT_FOUND' })
      await store.close()
      await expectNoOrphans(place)
    }
  })

  it('a receive that cannot keep anything leaves the earlier groups', async () => {
    const { store, data } = await newStore()
    const bytes = noise(3 * MIB, 14)
    const [first, second] = [{ start: 0, end: MIB }, { start: MIB, end: 2 * MIB }]
    await store.receive(hash(bytes), sliceOf(bytes, first), first)
    const restore = fail(data, 'batch', { always: true })
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes, second), second))).to.equal(reason)
    restore()
    expect((await store.missing(hash(bytes), first)).isEmpty).to.equal(true)
    expect(same(await store.bytes(hash(bytes), first), bytes.subarray(0, MIB))).to.equal(true)
  })

  it('a receive that fails throws its own error, not that of keeping the received groups', async () => {
    const { store, data } = await newStore()
    const bytes = noise(3 * MIB, 11)
    const slice = sliceOf(bytes)
    const batch = data.batch
    data.batch = () => Promise.reject(reason)
    const own = new Error('the sender went away')
    const error = await errorOf(store.receive(hash(bytes), (async function * () {
      yield * stream([slice.subarray(0, MIB)])
      throw own
    })()))
    expect(error).to.equal(own)
    data.batch = batch
  })
})
