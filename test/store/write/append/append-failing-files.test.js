// Appending, and deleting blobs that share a file, while a call to a database or file fails, or the process ends at
// that call. Blobs that were kept before are still there and right, and nothing is left over after the next opening.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { pairsOf, strideAtEffort } from '../../../support/effort.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { DONE, FAULTS, failAt, reason } from '../../../support/store/failing.js'
import { countedBytes, databasesOf } from '../../../support/store/inspect.js'
import { expectNoOrphans, onDisk } from '../../../support/store/stores.js'

const QUOTA = 100 * MIB
const ALL = noise(MIB + 900_000, 511)
const [SHORT, MIDDLE, LONG] = [MIB + 20_001, MIB + 300_000, ALL.length]
const part = size => ALL.subarray(0, size)
const append = (store, from, to) => store.append(hash(part(from)), stream([ALL.subarray(from, to)]), { tag: 'log' })

/** The blobs before the call, each appended to the one before it; the call; and the blobs after the call. */
const JOBS = {
  'a first append()': { before: [SHORT], run: store => append(store, SHORT, LONG), after: [SHORT, LONG] },
  'a second append()': {
    before: [SHORT, MIDDLE], run: store => append(store, MIDDLE, LONG), after: [SHORT, MIDDLE, LONG]
  },
  'append() to a blob that was already extended': {
    before: [SHORT, LONG], run: store => append(store, SHORT, MIDDLE), after: [SHORT, MIDDLE, LONG]
  },
  'delete() of the longest': {
    before: [SHORT, MIDDLE, LONG], run: store => store.delete(hash(part(LONG))), after: [SHORT, MIDDLE]
  },
  'delete() of the shortest': {
    before: [SHORT, LONG], run: store => store.delete(hash(part(SHORT))), after: [LONG]
  },
  'deleteMany() of all': {
    before: [SHORT, MIDDLE, LONG],
    run: store => store.deleteMany([LONG, SHORT, MIDDLE].map(size => hash(part(size)))),
    after: []
  },
  'gc()': { before: [SHORT, MIDDLE, LONG], kept: [MIDDLE], run: store => store.gc(), after: [MIDDLE] }
}

/** Expects that all listed blobs are right. @returns {Promise<number[]>} their sizes */
async function expectRight (store) {
  const sizes = []
  for (const { cid, size, complete } of await listed(store.list())) {
    expect(complete).to.equal(true)
    expect(same(cid.multihash.digest, hash(part(size)))).to.equal(true)
    expect(same(await store.bytes(cid), part(size)), `${size} bytes`).to.equal(true)
    sizes.push(size)
  }
  return sizes.sort((a, b) => a - b)
}

/** Counts the bytes of all files of a store. */
async function lenOfFiles (store) {
  const { files } = databasesOf(store)
  const lens = await Promise.all((await files.ids()).map(id => files.len(id)))
  return lens.reduce((sum, len) => sum + len, 0)
}

describe('store: append() that fails', () => {
  const places = []
  afterEach(async () => { for (const place of places.splice(0)) await place.remove() })

  const cases = pairsOf(Object.entries(JOBS), Object.entries(FAULTS))
  for (const [[what, { before, kept = [], run, after }], [how, fault]] of cases) {
    it(`${what}: any call ${how}`, async () => {
      let moment = 0
      for (let isOver = false; !isOver; moment += strideAtEffort()) {
        expect(moment).to.be.lessThan(40)
        const place = await onDisk()
        places.push(place)
        const store = await BlobStore.open(place.where, { quota: QUOTA })
        let last = 0
        for (const size of before) {
          if (last === 0) await store.put(part(size))
          else await store.append(hash(part(last)), ALL.subarray(last, size))
          last = size
        }
        for (const size of kept) await store.tags.set('kept', hash(part(size)))
        const { isReached, untap } = failAt(store, moment, fault)
        const error = await errorOf(run(store))
        isOver = !isReached()
        if (!fault.isDeath) untap()
        if (error) expect(error, `at call ${moment}: ${error.stack}`).to.equal(reason)
        const done = [...after].sort((a, b) => a - b)
        const now = await expectRight(store)
        if (error === undefined) expect(now).to.deep.equal(done)
        expect([...before, ...after]).to.include.members(now)
        for (const size of before) if (after.includes(size)) expect(now).to.include(size)
        if (!fault.isDeath && how !== DONE) {
          expect(countedBytes(store, QUOTA), 'counted').to.equal((await store.info()).bytes)
        }
        const closing = await errorOf(store.close())
        if (!fault.isDeath) expect(closing).to.equal(undefined)
        untap()
        const again = await place.open()
        const later = await expectRight(again)
        if (error === undefined) expect(later).to.deep.equal(done)
        for (const size of before) if (after.includes(size)) expect(later).to.include(size)
        expect(await lenOfFiles(again), `bytes of files, at call ${moment}`).to.equal((await again.info()).bytes)
        const { isSound, ...report } = await again.fsck()
        if (!isSound) expect.fail(`at call ${moment}: ${JSON.stringify(report)}`)
        const tagged = await again.tags.get('log')
        if (tagged !== undefined) expect(await again.has(tagged.cid)).to.equal(true)
        await errorOf(run(again))
        expect(await expectRight(again)).to.deep.equal(done)
        expect(await again.fsck()).to.include({ isSound: true })
        await again.compact()
        await again.close()
        await expectNoOrphans(place)
        await place.remove()
        places.pop()
      }
      expect(moment, 'there was something to interrupt').to.be.above(1)
    })
  }
})
