// Receiving while any call to a database or file fails, or the process ends at that call.
// test/slow/receive-failing.test.js has two receives at the same time.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { reason } from '../../../support/store/failing.js'
import { countedBytes, databasesOf, writesRecord } from '../../../support/store/inspect.js'
import {
  IN_FILE, ONE_AT_A_TIME, QUOTA, expectRight, fails, receive, testFailing
} from '../../../support/store/receive-jobs.js'
import { gated, onDisk, sliceOf } from '../../../support/store/stores.js'

describe('store: receive() when calls to the disk fail', () => {
  testFailing(ONE_AT_A_TIME)

  describe('the record of a blob', () => {
    let place, store, index
    const { now } = performance
    beforeEach(async () => {
      place = await onDisk()
      store = await place.open({ quota: QUOTA })
      index = databasesOf(store).index
    })
    afterEach(() => {
      performance.now = now
      return place.remove()
    })

    /**
     * Calls a function in place of each write of a record.
     *
     * @param {(write: () => Promise<unknown>) => Promise<unknown>} happens
     * @returns {() => void} ends it
     */
    function atRecord (happens) {
      const { batch } = index
      index.batch = (operations, options) => {
        const write = () => batch.call(index, operations, options)
        return operations.some(writesRecord) ? happens(write) : write()
      }
      return () => { index.batch = batch }
    }

    it('that was written although its write failed can be deleted immediately', async () => {
      let deleting
      const untap = atRecord(async write => {
        await write()
        untap()
        deleting = store.delete(hash(IN_FILE)) // waits for the lock
        throw reason
      })
      expect(await errorOf(receive(store, IN_FILE))).to.equal(reason)
      expect(await deleting).to.include({ blobs: 1 })
      expect(await expectRight(store, IN_FILE)).to.equal(0)
      expect(countedBytes(store, QUOTA)).to.equal(0)
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('that was written although its write failed counts under the quota', async () => {
      const untap = atRecord(async write => {
        untap()
        await write()
        throw reason
      })
      expect(await errorOf(receive(store, IN_FILE))).to.equal(reason)
      expect(await expectRight(store, IN_FILE)).to.equal(IN_FILE.length)
      expect(countedBytes(store, QUOTA)).to.equal(IN_FILE.length)
      await store.delete(hash(IN_FILE))
      expect(countedBytes(store, QUOTA)).to.equal(0)
    })

    it('that cannot be written keeps the size of its pages, whatever another sender claims', async () => {
      performance.now = () => 0 // so that no record is written because of the time
      const long = noise(10 * MIB + 5000, 33)
      const root = hash(long)
      const [front, back] = [{ start: 0, end: 5 * MIB }, { start: 9 * MIB }]
      for (const claim of [8 * MIB + 1, 16 * MIB]) {
        const lie = new Uint8Array(sliceOf(long, front))
        new DataView(lie.buffer).setBigUint64(0, BigInt(claim), true)
        const gate = gated([lie.subarray(0, 4.5 * MIB)], [lie.subarray(4.5 * MIB)])
        const lying = store.receive(root, gate.source, front)
        while ((await databasesOf(store).files.ids()).length === 0) {
          await new Promise(resolve => setTimeout(resolve))
        } // The liar comes first.
        const untap = atRecord(fails)
        expect(await errorOf(store.receive(root, sliceOf(long, back), back))).to.equal(reason)
        untap()
        gate.open()
        await lying
        expect(await store.stat(root)).to.include({ size: long.length, sizeProven: true })
        expect(await expectRight(store, long)).to.equal(5 * MIB + long.length - 9 * MIB)
        await store.delete(root)
        expect(countedBytes(store, QUOTA)).to.equal(0)
      }
    })

    it('reaches the disk after the first pages', async () => {
      const { data } = databasesOf(store)
      const { batch } = data
      const syncs = []
      data.batch = (operations, options) => {
        syncs.push(options.sync)
        return batch.call(data, operations, options)
      }
      const bytes = noise(40 * MIB, 34)
      await receive(store, bytes)
      data.batch = batch
      expect(syncs[0]).to.equal(true)
      expect(syncs[1], 'later writes do not wait for the disk').to.not.equal(true)
    })
  })
})
