// A call of a store is aborted at any call to the databases, or the disk is full from there on. All earlier blobs are
// still there, no partial result shows, and nothing is left over after the store was opened again.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { concat, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { strideAtEffort } from '../../support/effort.js'
import { collect, errorOf, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { splice } from '../../support/store/grown.js'
import { inMemory, sliceOf } from '../../support/store/stores.js'

const KEPT = noise(70 * GROUP + 5, 401)
const COMING = noise(66 * GROUP + 77, 402)
const HALF = { start: 0, end: 40 * GROUP }
const SPLICED = concat([
  KEPT.subarray(0, 33 * GROUP), noise(GROUP, 404), noise(500, 405), KEPT.subarray(34 * GROUP + 500)
])

const WRITES = ['put', 'batch', 'del', 'clear']
const READS = ['get', 'getMany', 'getSync']

/** Calls `happens` before each call to either database. @returns {() => void} ends that */
function tapped ({ index, data }, methods, happens) {
  const originals = [index, data].flatMap(level =>
    methods.filter(method => level[method]).map(method => [level, method, level[method]]))
  for (const [level, method, original] of originals) {
    level[method] = function (...args) {
      const failure = happens()
      return failure === undefined ? original.apply(this, args) : Promise.reject(failure)
    }
  }
  return () => { for (const [level, method, original] of originals) level[method] = original }
}

const JOBS = {
  'a put': (store, signal) => {
    const pieces = stream([COMING.subarray(0, 300_000), COMING.subarray(300_000)])
    return store.put(pieces, { signal, tag: 'coming' })
  },
  'a composition': async (store, signal) => {
    const source = stream([noise(GROUP, 404), noise(500, 405)])
    const { cid } = await splice(store, hash(KEPT), { start: 33 * GROUP, end: 34 * GROUP + 500, source }, { signal })
    expect(cid.multihash.digest).to.deep.equal(hash(SPLICED))
  },
  'a receive': (store, signal) => store.receive(hash(COMING), stream([sliceOf(COMING)]), undefined, { signal }),
  'a receive of the rest': async (store, signal) => {
    await store.receive(hash(COMING), stream([sliceOf(COMING, HALF)]), HALF, { signal })
    await store.receive(hash(COMING), stream([sliceOf(COMING)]), undefined, { signal })
  },
  'a get': (store, signal) => collect(store.get(hash(KEPT), undefined, { signal })),
  'a slice': (store, signal) => collect(store.slice(hash(KEPT), undefined, { signal })),
  'a collection of garbage': (store, signal) => store.gc({ signal }),
  'an fsck': (store, signal) => store.fsck({ repair: true, signal }),
  'a deletion': store => store.delete(hash(noise(30_000, 403)))
}

async function expectInOrder (store) {
  expect(same(await store.bytes(hash(KEPT)), KEPT), 'the tagged blob is there').to.equal(true)
  if (await store.has(hash(SPLICED))) expect(same(await store.bytes(hash(SPLICED)), SPLICED)).to.equal(true)
  const there = await store.stat(hash(COMING)).catch(error => {
    expect(error.code).to.equal('STORE_NOT_FOUND')
  })
  for (const { start, end } of there?.present.toBytes(COMING.length) ?? []) {
    expect(same(await store.bytes(hash(COMING), { start, end }), COMING.subarray(start, end))).to.equal(true)
  }
}

describe('store: interrupted at any moment', () => {
  for (const [what, job] of Object.entries(JOBS)) {
    for (const [how, methods] of [['is called off', [...WRITES, ...READS]], ['finds the disk full', WRITES]]) {
      if (how === 'is called off' && what === 'a deletion') continue
      it(`${what} ${how}`, async () => {
        for (let moment = 0, isOver = false; !isOver; moment += strideAtEffort()) {
          expect(moment).to.be.lessThan(500)
          const place = await inMemory()
          const store = await place.open()
          await store.put(KEPT, { tag: 'kept' })
          await store.put(noise(30_000, 403))
          const controller = new AbortController()
          const reason = new Error('enough')
          let calls = 0
          const untap = tapped(place.where, methods, () => {
            if (calls++ < moment) return undefined
            if (how === 'finds the disk full') return reason
            controller.abort(reason)
          })
          const error = await errorOf(job(store, controller.signal))
          isOver = calls <= moment
          untap()
          if (error) expect(error, `at call ${moment}: ${error.stack}`).to.equal(reason)
          else if (isOver && how !== 'finds the disk full') expect(calls, 'something to interrupt').to.be.above(0)
          await expectInOrder(store)
          await store.close()
          const again = await place.open()
          await expectInOrder(again)
          const { isSound, ...report } = await again.fsck()
          if (!isSound) expect.fail(`at call ${moment}: ${JSON.stringify(report)}`)
          // The same call succeeds now.
          await job(again, undefined)
          await expectInOrder(again)
          await place.remove()
        }
      })
    }
  }
})
