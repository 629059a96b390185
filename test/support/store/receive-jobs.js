// Receives during which a call to a database or file fails, or the process ends at that call.
import { expect } from 'chai'
import { EFFORT } from '#runtime'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { same } from '../bytes.js'
import { MIB } from '../constants.js'
import { pairsOf } from '../effort.js'
import { errorOf, listed } from '../feeding.js'
import { noise } from '../inputs.js'
import { DONE, FAULTS, failAt, reason } from './failing.js'
import { countedBytes } from './inspect.js'
import { expectNoOrphans, onDisk, sliceOf } from './stores.js'

export const QUOTA = 100 * MIB
export const IN_FILE = noise(1_300_000, 32)
const IN_EXTENTS = noise(300_000, 31)
const FRONT = { start: 0, end: 40 * 16384 }
const REST = { start: 40 * 16384 }

const FOR_A_WHILE = 'and all after it fail for a while'
export const fails = () => Promise.reject(reason)

export const receive = (store, bytes, range) => store.receive(hash(bytes), sliceOf(bytes, range), range)

/**
 * @typedef {object} Job
 * @property {Uint8Array} bytes
 * @property {{ start: number, end?: number }} [before]  the range that was received before
 * @property {(store: BlobStore) => Promise<unknown>} run
 */

/** @type {Record<string, Job>} */
export const ONE_AT_A_TIME = {
  'of a small blob': { bytes: IN_EXTENTS, run: store => receive(store, IN_EXTENTS) },
  'of a blob in a file': { bytes: IN_FILE, run: store => receive(store, IN_FILE) },
  'of the rest of a blob in a file': { bytes: IN_FILE, before: FRONT, run: store => receive(store, IN_FILE, REST) }
}

/** @type {Record<string, Job>} */
export const TWO_AT_A_TIME = {
  'of two parts at the same time': {
    bytes: IN_FILE,
    run: store => firstFailure([receive(store, IN_FILE, FRONT), receive(store, IN_FILE, REST)])
  },
  'of a blob that is put at the same time': {
    bytes: IN_FILE,
    run: store => firstFailure([receive(store, IN_FILE), store.put(IN_FILE)])
  }
}

async function firstFailure (calls) {
  for (const { status, reason } of await Promise.allSettled(calls)) if (status === 'rejected') throw reason
}

/**
 * Defines tests of jobs that fail. Bytes that the store reports as present are right, a blob without any present chunk
 * is not listed, and nothing is left over once the store has been opened again.
 *
 * @param {Record<string, Job>} jobs
 * @param {number} [stride]  1: each call fails in turn; 2: every second one
 */
export function testFailing (jobs, stride = 1) {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })
  let leftovers = 0

  const faults = { ...FAULTS, [FOR_A_WHILE]: { at: fails, later: fails } }
  for (const [[what, { bytes, before, run }], [how, fault]] of pairsOf(Object.entries(jobs), Object.entries(faults))) {
    it(`${what}: any call ${how}`, async () => {
      let moment = 0
      for (let isOver = false; !isOver; moment += stride) {
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

  // A small number of cases may leave no file.
  EFFORT >= 1 &&
    after(() => expect(leftovers, 'files were left, and swept away when the store was opened').to.be.above(0))
}

/**
 * Expects that the chunks that the store reports as present are right, and that every listed blob has some.
 *
 * @returns {Promise<number>} present bytes
 */
export async function expectRight (store, bytes) {
  const stats = await Promise.all((await listed(store.list())).map(({ cid }) => store.stat(cid)))
  expect(stats.length).to.be.at.most(1)
  let len = 0
  for (const { present } of stats) {
    expect(present.isEmpty).to.equal(false)
    for (const { start, end } of present.toBytes(bytes.length)) {
      expect(same(await store.bytes(hash(bytes), { start, end }), bytes.subarray(start, end))).to.equal(true)
      len += end - start
    }
  }
  return len
}
