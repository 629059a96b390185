// A blob that is received into a file: its slice is verified while the disk writes earlier groups, and pages mark
// groups as present only once the disk has them.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../../lib/index.js'
import { flipped, same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { databasesOf } from '../../../support/store/inspect.js'
import { expectNoOrphans, onDisk, sliceOf } from '../../../support/store/stores.js'
import { meddle } from '../../../support/store/writers.js'

/** A large blob, which exists only during these tests. */
let BYTES, ROOT, SLICE

/** A promise with its `resolve` and `reject`. */
function promised () {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

const turn = () => new Promise(resolve => setTimeout(resolve))

describe('store: receive() into a file', () => {
  let place
  let store
  let restore
  /** A fake clock in milliseconds, so that a slow machine does not count as late. */
  let passed
  const { now } = performance
  before(() => {
    BYTES = noise(80 * MIB, 21)
    ROOT = hash(BYTES)
    SLICE = sliceOf(BYTES)
  })
  after(() => { BYTES = SLICE = undefined })
  beforeEach(async () => {
    passed = 0
    performance.now = () => passed
    place = await onDisk()
    store = await place.open()
  })
  afterEach(async () => {
    performance.now = now
    restore?.()
    restore = undefined
    await place.remove()
  })

  /** Gives the slice MiB by MiB, and counts the bytes. @param {number} [end] */
  function counted (end = SLICE.length) {
    const source = { sent: 0 }
    source.pieces = (async function * () {
      for (; source.sent < end; source.sent += MIB) {
        yield SLICE.subarray(source.sent, Math.min(source.sent + MIB, end))
        await turn()
      }
    })()
    /** Waits until so many bytes were asked for. */
    source.reaches = async len => {
      for (let turns = 0; source.sent < len; turns++) {
        if (turns > 10_000) throw new Error(`${source.sent} bytes were asked for, and no more`)
        await turn()
      }
    }
    /** Waits until no more bytes are asked for. */
    source.stops = async () => {
      for (let before = -1, turns = 0; turns < 200; turns = source.sent === before ? turns + 1 : 0) {
        before = source.sent
        await turn()
      }
    }
    return source
  }

  /**
   * Makes each sync of a file wait until `end` is called.
   *
   * @param {{ quick?: number }} [options]  `quick`: how many syncs do not wait, before these
   */
  function busyDisk ({ quick = 0 } = {}) {
    const syncing = promised()
    const isSyncing = promised()
    restore = meddle({
      async sync (go) {
        if (quick-- > 0) return go()
        isSyncing.resolve()
        await syncing.promise
        return go()
      }
    })
    return { isBusy: isSyncing.promise, end: syncing.resolve }
  }

  const lenOf = present => present.toBytes(BYTES.length).reduce((sum, { start, end }) => sum + end - start, 0)

  /** Expects that the present bytes can be read and are right. @returns {Promise<number>} how many there are */
  async function expectRight () {
    const { present } = await store.stat(ROOT)
    for (const { start, end } of present.toBytes(BYTES.length)) {
      expect(same(await store.bytes(ROOT, { start, end }), BYTES.subarray(start, end))).to.equal(true)
    }
    return lenOf(present)
  }

  it('goes on verifying and writing while it waits for the disk, up to a bound for memory and crashes', async () => {
    const disk = busyDisk()
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces)
    await disk.isBusy
    const before = source.sent
    expect(before).to.be.within(16 * MIB, 30 * MIB)
    await source.reaches(before + 12 * MIB)
    await source.stops()
    expect(source.sent, 'bytes that are not recorded').to.be.below(50 * MIB)
    expect(await errorOf(store.stat(ROOT)), 'nothing is on the disk yet').to.include({ code: 'STORE_NOT_FOUND' })
    disk.end()
    expect(await receiving).to.deep.equal({ received: BYTES.length, complete: true })
    expect(await expectRight()).to.equal(BYTES.length)
  })

  it('goes on writing while the disk is slow', async () => {
    const disk = busyDisk()
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces)
    await disk.isBusy
    passed += 100_000
    await source.reaches(36 * MIB)
    disk.end()
    expect(await receiving).to.include({ complete: true })
  })

  it('goes on verifying while it writes, up to a bound for memory', async () => {
    const writing = promised()
    const isWriting = promised()
    let held = 0
    restore = meddle({
      async write (go, pieces) {
        held += pieces.reduce((len, { length }) => len + length, 0)
        isWriting.resolve()
        await writing.promise
        return go()
      }
    })
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces)
    await isWriting.promise
    await source.reaches(held + 3 * MIB)
    await source.stops()
    expect(source.sent).to.be.below(held + 8 * MIB)
    writing.resolve()
    expect(await receiving).to.deep.equal({ received: BYTES.length, complete: true })
    expect(await expectRight()).to.equal(BYTES.length)
  })

  it('reports only groups as present that the disk has', async () => {
    let written = 0
    let synced = 0
    restore = meddle({
      async write (go, pieces, position) {
        await go()
        written = Math.max(written, position + pieces.reduce((len, { length }) => len + length, 0))
      },
      async sync (go) {
        const len = written
        await go()
        synced = len
      }
    })
    let looks = 0
    const watching = (async () => {
      for await (const { present } of store.observe(ROOT)) {
        looks++
        expect(lenOf(present)).to.be.at.most(synced)
      }
    })()
    await store.receive(ROOT, counted().pieces)
    await watching
    expect(looks).to.be.above(1)
  })

  for (const [name, calls] of [
    ['written', fails => ({ write: (go, pieces, position) => position > 20 * MIB ? fails() : go() })],
    ['synced', fails => ({ sync: fails })]
  ]) {
    it(`fails as soon as bytes cannot be ${name}, and keeps earlier groups`, async () => {
      const reason = new Error('the disk has gone')
      const sent = []
      const source = counted()
      restore = meddle(calls(async () => {
        sent.push(source.sent)
        throw reason
      }))
      expect(await errorOf(store.receive(ROOT, source.pieces))).to.equal(reason)
      expect(source.sent).to.be.at.most(sent[0] + 2 * MIB)
      if (name === 'written') {
        expect(sent.length, 'it tries once more').to.be.at.least(2)
        expect(await expectRight()).to.be.within(16 * MIB, 24 * MIB)
      } else expect(await errorOf(store.stat(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
      restore()
      const missing = await store.missing(ROOT)
      expect(await store.receive(ROOT, sliceOf(BYTES, missing), missing)).to.include({ complete: true })
      expect(await expectRight()).to.equal(BYTES.length)
      await store.close()
      await expectNoOrphans(place)
    })
  }

  it('fails when bytes cannot be written, however long the source waits', async () => {
    const reason = new Error('the disk has gone')
    const source = (async function * () {
      yield SLICE.subarray(0, 6 * MIB)
      await new Promise(() => {})
    })()
    restore = meddle({ write: () => Promise.reject(reason) })
    expect(await errorOf(store.receive(ROOT, source))).to.equal(reason)
  })

  it('fails with the first of several errors', async () => {
    const first = new Error('the disk does not take it')
    const writing = promised()
    const source = counted()
    let syncs = 0
    restore = meddle({
      async sync (go) {
        if (syncs++ > 0) return go()
        await source.stops()
        setTimeout(() => writing.reject(new Error('the disk has gone')), 20)
        throw first
      },
      write: go => syncs === 1 ? writing.promise : go()
    })
    expect(await errorOf(store.receive(ROOT, source.pieces))).to.equal(first)
  })

  it('does not report bytes as present after one failed sync, although a later sync succeeds', async () => {
    // The system marks pages as clean that it could not write, so the next sync has nothing to do, and succeeds.
    const reason = new Error('the disk does not take it')
    let syncs = 0
    restore = meddle({ sync: go => syncs++ === 1 ? Promise.reject(reason) : go() })
    expect(await errorOf(store.receive(ROOT, counted().pieces))).to.equal(reason)
    expect(await expectRight(), 'bytes that were synced before, and bytes that were still in memory')
      .to.be.within(16 * MIB, 30 * MIB)
    expect((await store.stat(ROOT)).present.contains(20 * 1024, 32 * 1024)).to.equal(false)
  })

  it('syncs the name of the file before it records any byte', async () => {
    let attempts = 0
    restore = meddle({ syncFolder: go => attempts++ === 0 ? Promise.reject(new Error('not now')) : go() })
    await errorOf(store.receive(ROOT, counted(30 * MIB).pieces))
    restore()
    expect(attempts).to.equal(2)
    expect(await expectRight()).to.be.above(0)
  })

  it('keeps the groups of a slice with gaps that were written before the disk was full', async () => {
    const bytes = BYTES.subarray(0, 4 * MIB)
    const ranges = ChunkRanges.fromBoundaries([0, 512, 1024, 1536, 2048, 2560])
    restore = meddle({
      write: (go, pieces, position) => position < 2 * MIB
        ? go()
        : Promise.reject(Object.assign(new Error('no room'), { code: 'ENOSPC' }))
    })
    expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes, ranges), ranges))).to.include({ code: 'STORE_FULL' })
    expect((await store.stat(hash(bytes))).present.boundaries).to.deep.equal([0, 512, 1024, 1536])
  })

  it('syncs pages and record before it reports completion, whichever part comes last', async () => {
    const { data, index } = databasesOf(store)
    for (const [len, range] of [[300 * 1024], [8 * MIB], [8 * MIB, { start: 0, end: 2 * MIB }]]) {
      const bytes = noise(len, 22)
      const slice = sliceOf(bytes, range)
      const last = new Map()
      for (const database of [data, index]) {
        database.batch = function (operations, options) {
          last.set(database, { count: operations.length, sync: options.sync })
          return Object.getPrototypeOf(this).batch.call(this, operations, options)
        }
      }
      const source = (async function * () {
        yield slice.subarray(0, -40_000)
        passed += 2000
        yield slice.subarray(-40_000)
      })()
      await store.receive(hash(bytes), source, range)
      for (const database of [data, index]) {
        delete database.batch
        expect(last.get(database).sync, 'an empty batch would sync nothing')
          .to.equal(last.get(database).count > 0)
        expect(last.get(database).sync).to.equal(true)
      }
      await store.delete(hash(bytes))
    }
  })

  it('counts bytes under a quota as soon as their pages are written', async () => {
    await store.close()
    store = await place.open({ quota: 10 * MIB })
    const { index } = databasesOf(store)
    for (const len of [300 * 1024, 3 * MIB]) {
      const bytes = BYTES.subarray(7, 7 + len)
      const reason = new Error('not now')
      let batches = 0
      index.batch = function (...args) {
        return batches++ === 0
          ? Promise.reject(reason)
          : Object.getPrototypeOf(this).batch.apply(this, args)
      }
      expect(await errorOf(store.receive(hash(bytes), sliceOf(bytes)))).to.equal(reason)
      delete index.batch
      expect(await store.has(hash(bytes)), 'it is recorded').to.equal(true)
      await store.delete(hash(bytes))
    }
    await store.put(BYTES.subarray(0, 9 * MIB))
    await store.receive(ROOT, sliceOf(BYTES, { start: 0, end: 4 * MIB }), { start: 0, end: 4 * MIB })
    expect(await store.has(hash(BYTES.subarray(0, 9 * MIB))), 'there was no space for both').to.equal(false)
  })

  it('keeps every group of a slice with gaps', async () => {
    const bytes = BYTES.subarray(0, 5 * MIB)
    // Runs of one group and more, with gaps of one group and more.
    const ranges = ChunkRanges.fromBoundaries(
      Array.from({ length: 100 }, (_, i) => 16 * (3 * i + (i % 4 === 3 ? 1 : 0)))
    )
    await store.receive(hash(bytes), sliceOf(bytes, ranges), ranges)
    expect((await store.stat(hash(bytes))).present.equals(ranges)).to.equal(true)
    for (const { start, end } of ranges.toBytes(bytes.length)) {
      expect(same(await store.bytes(hash(bytes), { start, end }), bytes.subarray(start, end))).to.equal(true)
    }
  })

  it('keeps everything before a wrong byte', async () => {
    const at = 50 * MIB
    const spoilt = flipped(SLICE, at)
    let fault
    const source = (async function * () {
      for (let start = 0; start < spoilt.length; start += MIB) yield spoilt.subarray(start, start + MIB)
    })()
    try {
      await store.receive(ROOT, source)
    } catch (error) {
      fault = error
    }
    expect(fault).to.include({ code: 'BAO_LEAF_MISMATCH' })
    expect((await store.stat(ROOT)).present.equals(ChunkRanges.fromBytes(0, fault.start))).to.equal(true)
    expect(await expectRight()).to.equal(fault.start)
  })

  it('keeps the groups after a delete that happened while it waited for the disk', async () => {
    const disk = busyDisk({ quick: 1 })
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces)
    await disk.isBusy
    await source.reaches(48 * MIB)
    await source.stops()
    const deleted = await expectRight()
    expect(await store.delete(ROOT)).to.include({ blobs: 1 })
    disk.end()
    const { received, complete } = await receiving
    expect(complete).to.equal(false)
    const kept = await expectRight()
    expect(kept).to.equal(received - deleted).and.to.be.within(20 * MIB, 50 * MIB)
    const missing = await store.missing(ROOT)
    expect(await store.receive(ROOT, sliceOf(BYTES, missing), missing))
      .to.deep.equal({ received: BYTES.length - kept, complete: true })
    expect(await expectRight()).to.equal(BYTES.length)
    await store.close()
    await expectNoOrphans(place)
  })

  it('has no blob that could be deleted before it records any byte', async () => {
    const disk = busyDisk()
    const receiving = store.receive(ROOT, counted().pieces)
    await disk.isBusy
    expect(await store.delete(ROOT)).to.include({ blobs: 0 })
    disk.end()
    expect(await receiving).to.deep.equal({ received: BYTES.length, complete: true })
  })

  it('ends when the blob is put while it waits for the disk', async () => {
    const disk = busyDisk()
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces)
    await disk.isBusy
    restore()
    const putting = store.put(BYTES)
    await source.stops()
    disk.end()
    expect((await putting).isNew).to.equal(true)
    expect(await receiving).to.include({ complete: true })
    expect(await expectRight()).to.equal(BYTES.length)
    await store.close()
    await expectNoOrphans(place)
  })

  it('ends when it is aborted while it waits for the disk, and keeps earlier groups', async () => {
    const disk = busyDisk()
    const control = new AbortController()
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces, undefined, { signal: control.signal })
    await disk.isBusy
    await source.reaches(36 * MIB)
    await source.stops()
    const reason = new Error('enough')
    control.abort(reason)
    setTimeout(disk.end, 20)
    expect(await errorOf(receiving)).to.equal(reason)
    expect(await expectRight()).to.be.above(16 * MIB)
  })

  it('reserves quota until bytes are recorded, and releases quota for bytes that did not come', async () => {
    await store.close()
    store = await place.open({ quota: 100 * MIB })
    const other = BYTES.subarray(1, 78 * MIB)
    const disk = busyDisk()
    const source = counted()
    const receiving = store.receive(ROOT, source.pieces)
    await disk.isBusy
    await source.reaches(36 * MIB)
    restore()
    expect(await errorOf(store.put(other))).to.include({ code: 'STORE_FULL', wanted: other.length })
    disk.end()
    expect(await receiving).to.deep.equal({ received: BYTES.length, complete: true })

    await store.delete(ROOT)
    const reason = new Error('the line is dead')
    const failing = (async function * () {
      yield SLICE.subarray(0, 60 * MIB)
      throw reason
    })()
    restore = meddle({ sync: () => Promise.reject(reason) })
    expect(await errorOf(store.receive(ROOT, failing))).to.equal(reason)
    restore()
    expect(await store.put(BYTES.subarray(2))).to.include({ size: BYTES.length - 2 })
    expect(await store.put(BYTES.subarray(3, 20 * MIB)), 'no quota is reserved any longer')
      .to.include({ isNew: true })
    expect((await store.stat(hash(BYTES.subarray(2)))).complete, 'so nothing was evicted').to.equal(true)
  })
})
