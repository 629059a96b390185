// Stores on a disk whose writes fail: a blob that is received into a file keeps the bytes before the failure, and each
// blob of a batch is there whole or not at all.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { DONE, FAULTS, failAt, reason } from '../../../support/store/failing.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { databasesOf } from '../../../support/store/inspect.js'
import { expectNoOrphans, gated, onDisk, sliceOf } from '../../../support/store/stores.js'
import { meddle } from '../../../support/store/writers.js'

describe('store: a blob that is received into a file while a write fails', () => {
  let place
  let restore
  beforeEach(async () => { place = await onDisk() })
  afterEach(async () => {
    restore?.()
    await place.remove()
  })

  /** All files together take so many bytes. */
  function room (bytes) {
    restore = meddle({
      write (go, pieces) {
        bytes -= pieces.reduce((len, { length }) => len + length, 0)
        if (bytes >= 0) return go()
        return Promise.reject(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))
      }
    })
  }

  for (const durability of ['sync', 'process']) {
    it(`bytes that were received before the disk was full are kept, with durability '${durability}'`, async () => {
      const bytes = noise(24 * MIB, 12)
      const slice = sliceOf(bytes)
      const store = await place.open({ durability })
      room(13 * MIB)
      expect(await errorOf(store.receive(hash(bytes), stream([slice])))).to.include({ code: 'STORE_FULL' })
      restore()
      const { present } = await store.stat(hash(bytes))
      const len = present.toBytes(bytes.length).reduce((sum, { start, end }) => sum + end - start, 0)
      expect(len).to.be.within(8 * MIB, 13 * MIB)
      for (const { start, end } of present.toBytes(bytes.length)) {
        const got = await store.bytes(hash(bytes), { start, end })
        expect(same(got, bytes.subarray(start, end))).to.equal(true)
      }
      const missing = await store.missing(hash(bytes))
      const rest = await store.receive(hash(bytes), sliceOf(bytes, missing), missing)
      expect(rest).to.include({ received: bytes.length - len, complete: true })
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })
  }

  it('the bytes in the file are kept when pages cannot be read at the first attempt', async () => {
    const bytes = noise(3 * MIB, 14)
    const reason = new Error('the disk is slow')
    const store = await place.open()
    const { data } = databasesOf(store)
    const { getMany } = data
    data.getMany = () => {
      data.getMany = getMany
      return Promise.reject(reason)
    }
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
    expect(await store.has(hash(bytes))).to.equal(true)
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
  })

  it('a long put whose file could not be synced on the way fails, although a later sync succeeds', async () => {
    // The system marks pages as clean that it could not write, so the next sync has nothing to do, and succeeds.
    const reason = new Error('the disk does not take it')
    let syncs = 0
    restore = meddle({ sync: go => syncs++ === 0 ? Promise.reject(reason) : go() })
    const store = await place.open()
    const piece = noise(MIB, 16)
    expect(await errorOf(store.put(stream(Array(70).fill(piece))))).to.equal(reason)
    restore()
    await store.close()
    await expectNoOrphans(place)
    const unsynced = await place.open({ durability: 'process' })
    restore = meddle({ sync: () => Promise.reject(reason) })
    expect((await unsynced.put(stream(Array(70).fill(piece)))).size).to.equal(70 * MIB)
    await unsynced.close()
  })

  it('a slice that does not fit on the disk at all leaves nothing', async () => {
    const bytes = noise(3 * MIB, 15)
    const store = await place.open()
    room(0)
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.include({ code: 'STORE_FULL' })
    expect(await errorOf(store.stat(hash(bytes)))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.close()
    await expectNoOrphans(place)
  })

  it('a slice that fails keeps the bytes that another slice has written to the same file', async () => {
    const bytes = noise(8 * MIB, 16)
    const root = hash(bytes)
    const slice = sliceOf(bytes)
    const store = await place.open()
    const { data } = databasesOf(store)
    const gate = gated([slice.subarray(0, 5 * MIB)], [slice.subarray(5 * MIB)])
    const receiving = store.receive(root, gate.source)
    await gate.reached
    const { batch } = data
    const reason = new Error('the disk is full')
    data.batch = () => Promise.reject(reason)
    const range = { start: 7 * MIB }
    expect(await errorOf(store.receive(root, sliceOf(bytes, range), range))).to.equal(reason)
    data.batch = batch
    gate.open()
    expect(await receiving).to.deep.equal({ received: bytes.length, complete: true })
    expect(same(await store.bytes(root), bytes)).to.equal(true)
  })

  it('the bytes in the file are kept when their pages are written at the second attempt', async () => {
    const bytes = noise(3 * MIB, 13)
    const reason = new Error('the disk is full')
    const store = await place.open()
    const { data } = databasesOf(store)
    const { batch } = data
    data.batch = () => {
      data.batch = batch
      return Promise.reject(reason)
    }
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
    expect(await store.has(hash(bytes))).to.equal(true)
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
  })
})

describe('store: many blobs while a write fails', () => {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })
  const FAST = { durability: 'process' }
  const before = Array.from({ length: 5 }, (_, i) => noise(4000 + i, 800 + i))
  /** Blobs in one extent, in an extent with a page, and one that is there already. */
  const coming = [...Array.from({ length: 9 }, (_, i) => noise(16_384 - i, 810 + i)), noise(50_000, 820), before[0]]

  const expectThere = async (store, blobs) => {
    for (const [i, bytes] of blobs.entries()) {
      expect(same(await store.bytes(hash(bytes)), bytes), `blob ${i}`).to.equal(true)
    }
  }
  /** Each blob is there whole or not at all. */
  async function expectRight (store) {
    await expectThere(store, before)
    for (const bytes of coming) {
      const error = await errorOf(expectThere(store, [bytes]))
      if (error) expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    }
  }

  for (const [how, fault] of Object.entries(FAULTS)) {
    it(`putMany keeps what it reported when any call ${how}`, async () => {
      let moment = 0
      for (let isOver = false; !isOver; moment++) {
        expect(moment).to.be.lessThan(20)
        const place = await onDisk()
        places.push(place)
        const store = await BlobStore.open(place.where, FAST)
        await listed(store.putMany(before))
        const { isReached, untap } = failAt(store, moment, fault)
        const error = await errorOf(listed(store.putMany(coming)))
        isOver = !isReached()
        if (!fault.isDeath) untap()
        if (error) expect(error, `at call ${moment}: ${error.stack}`).to.equal(reason)
        else if (how === DONE || isOver) await expectThere(store, coming)
        await expectRight(store)
        const closing = await errorOf(store.close())
        if (!fault.isDeath) expect(closing).to.equal(undefined)
        untap()
        const again = await place.open(FAST)
        await expectRight(again)
        expect(await again.fsck()).to.include({ isSound: true })
        await listed(again.putMany(coming))
        await expectThere(again, [...before, ...coming])
        await again.close()
        await expectNoOrphans(place)
      }
      expect(moment, 'there was something to interrupt').to.be.above(1)
    })
  }

  it('putMany leaves nothing on a full disk, and succeeds when there is space again', async () => {
    const place = await onDisk()
    places.push(place)
    const store = await place.open(FAST)
    await listed(store.putMany(before))
    const { data } = databasesOf(store)
    const { batch } = data
    data.batch = async () => { throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }) }
    expect(await errorOf(listed(store.putMany(coming)))).to.include({ code: 'STORE_FULL' })
    await expectThere(store, before)
    for (const bytes of coming.slice(0, -1)) expect(await store.has(hash(bytes))).to.equal(false)
    data.batch = batch
    await listed(store.putMany(coming))
    await expectThere(store, [...before, ...coming])
    await store.close()
    await expectNoOrphans(place)
  })
})
