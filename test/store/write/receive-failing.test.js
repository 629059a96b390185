// Receiving when something fails at any call to databases and files, or the process ends there. What is said to
// be here is, a blob of which nothing is here
// is not spoken of, and nothing lies about once the store has been opened again.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { errorOf, listed } from '../../support/feeding.js'
import { DONE, FAULTS, failAt, reason } from '../../support/store/failing.js'
import { noise } from '../../support/inputs.js'
import { countedBytes, databasesOf, writesRecord } from '../../support/store/inspect.js'
import { expectNoOrphans, gated, onDisk, sliceOf } from '../../support/store/stores.js'

const IN_EXTENTS = noise(300_000, 31)
const IN_FILE = noise(1_300_000, 32)
const FRONT = { start: 0, end: 40 * 16384 }
const REST = { start: 40 * 16384 }

const QUOTA = 100 * MIB
const FOR_A_WHILE = 'and all behind it fail for a while'
const fails = () => Promise.reject(reason)

const receive = (store, bytes, range) => store.receive(hash(bytes), sliceOf(bytes, range), range)

/**
 * `before`: what is here then.
 *
 * @type {Record<string, { bytes: Uint8Array, before?: { start: number, end?: number }, run: (store: any) =>
 * Promise<unknown> }>}
 */
const JOBS = {
  'of a small blob': { bytes: IN_EXTENTS, run: store => receive(store, IN_EXTENTS) },
  'of a blob in a file': { bytes: IN_FILE, run: store => receive(store, IN_FILE) },
  'of the rest of a blob in a file': { bytes: IN_FILE, before: FRONT, run: store => receive(store, IN_FILE, REST) },
  'of two parts at once': {
    bytes: IN_FILE,
    async run (store) {
      const parts = await Promise.allSettled([FRONT, REST].map(range => receive(store, IN_FILE, range)))
      for (const { reason } of parts) if (reason) throw reason
    }
  },
  'of what is put meanwhile': {
    bytes: IN_FILE,
    async run (store) {
      const jobs = await Promise.allSettled([receive(store, IN_FILE), store.put(IN_FILE)])
      for (const { reason } of jobs) if (reason) throw reason
    }
  }
}

/**
 * What is said to be here can be read, and is right; a blob of which nothing is here is not spoken of.
 *
 * @returns {Promise<number>} bytes of it
 */
async function expectRight (store, bytes) {
  const stats = await Promise.all((await listed(store.list())).map(({ cid }) => store.stat(cid)))
  expect(stats.length).to.be.at.most(1)
  let len = 0
  for (const { present } of stats) {
    expect(present.isEmpty).to.equal(false)
    for (const [start, end] of present.toBytes(bytes.length)) {
      expect(same(await store.bytes(hash(bytes), { start, end }), bytes.subarray(start, end))).to.equal(true)
      len += end - start
    }
  }
  return len
}

describe('store: receive() when calls to the disk fail', () => {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })
  let leftovers = 0

  for (const [what, { bytes, before, run }] of Object.entries(JOBS)) {
    for (const [how, fault] of Object.entries({ ...FAULTS, [FOR_A_WHILE]: { at: fails, behind: fails } })) {
      it(`${what}: any call ${how}`, async () => {
        let moment = 0
        for (let isOver = false; !isOver; moment++) {
          expect(moment).to.be.lessThan(60)
          const place = await onDisk()
          places.push(place)
          const store = await BlobStore.open(place.where, { quota: QUOTA })
          if (before) await receive(store, bytes, before)
          const lenBefore = await expectRight(store, bytes)
          const { isReached, untap } = failAt(store, moment, fault)
          const error = await errorOf(run(store))
          isOver = !isReached()
          if (!fault.isDeath) untap()
          if (error) expect(error, `at call ${moment}: ${error.stack}`).to.equal(reason)
          else if (how === DONE || isOver) expect(await store.has(hash(bytes))).to.equal(true)
          const len = await expectRight(store, bytes)
          expect(len).to.be.at.least(lenBefore)
          if (!fault.isDeath && how !== DONE) {
            expect(countedBytes(store, QUOTA), 'counted under the quota').to.equal(len)
          }
          if (how === FOR_A_WHILE) {
            await run(store)
            expect(await expectRight(store, bytes)).to.equal(bytes.length)
          }
          const closing = await errorOf(store.close())
          if (!fault.isDeath) expect(closing).to.equal(undefined)
          untap()
          leftovers += await place.look(({ files }) => files.length) > (len > 0 ? 1 : 0) ? 1 : 0
          const again = await place.open()
          expect(await expectRight(again, bytes)).to.be.at.least(len)
          expect(await again.fsck()).to.include({ isSound: true })
          await run(again)
          expect(same(await again.bytes(hash(bytes)), bytes)).to.equal(true)
          await again.close()
          await expectNoOrphans(place)
        }
        expect(moment, 'there was something to interrupt').to.be.above(1)
      })
    }
  }

  describe('the record of a blob', () => {
    let store, index
    beforeEach(async () => {
      const place = await onDisk()
      places.push(place)
      store = await place.open({ quota: QUOTA })
      index = databasesOf(store).index
    })

    /**
     * Has something happen when a record is written.
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

    it('that is there although its write failed can be deleted at once', async () => {
      let deleting
      const untap = atRecord(async write => {
        await write()
        untap()
        deleting = store.delete(hash(IN_FILE)) // waits for the lock
        throw reason
      })
      expect(await errorOf(receive(store, IN_FILE))).to.equal(reason)
      expect(await deleting).to.equal(true)
      expect(await expectRight(store, IN_FILE)).to.equal(0)
      expect(countedBytes(store, QUOTA)).to.equal(0)
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('that is there although its write failed counts under the quota', async () => {
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
        } // the liar is the first
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

    it('comes to the disk after the first pages', async () => {
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
      expect(syncs[1], 'later ones do not wait').to.not.equal(true)
    })
  })

  after(() => expect(leftovers, 'files were left, and swept away when the store was opened').to.be.above(0))
})
