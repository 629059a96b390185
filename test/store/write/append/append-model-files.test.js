// After any sequence of calls on blobs that begin with one another, the store has the same blobs as a plain set.
import { expect } from 'chai'
import fc from 'fast-check'
import { hash } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { countedBytes } from '../../../support/store/inspect.js'
import { expectNoOrphans, onDisk } from '../../../support/store/stores.js'

const QUOTA = 1000 * MIB
const OPTIONS = { durability: 'process', quota: QUOTA }
/** Two byte sequences that are equal up to 1 MiB and some groups. */
const FORK = MIB + 5 * GROUP + 10
const MAIN = noise(MIB + 40 * GROUP, 541)
const SIDE = new Uint8Array([...MAIN.subarray(0, FORK), ...noise(MAIN.length - FORK, 542)])
const SIZES = [MIB - 3, MIB + 1, MIB + GROUP, FORK, FORK + 1, MIB + 6 * GROUP, MIB + 8 * GROUP + 1, MIB + 40 * GROUP]
/** The blobs, by number: beginnings of the first sequence, and then those of the other that differ. */
const BLOBS = [
  ...SIZES.map(size => MAIN.subarray(0, size)), ...SIZES.filter(size => size > FORK).map(size => SIDE.subarray(0, size))
].map(bytes => ({ bytes, root: hash(bytes) }))

/** The blobs that each blob begins with. */
const FRONTS = BLOBS.map(({ bytes }) => BLOBS.flatMap(({ bytes: front }, i) =>
  front.length <= bytes.length && same(front, bytes.subarray(0, front.length)) ? [i] : []))

const blob = fc.nat(BLOBS.length - 1)
const share = fc.double({ min: 0, max: 1, noNaN: true })
const call = fc.oneof(
  fc.record({ do: fc.constant('put'), blob }),
  { weight: 6, arbitrary: fc.record({ do: fc.constant('append'), blob, share }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('delete'), blob }) },
  fc.record({ do: fc.constant('deleteMany'), blobs: fc.subarray(BLOBS.map((_, i) => i)) }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('tag'), blob }) },
  fc.record({ do: fc.constant('gc') }),
  fc.record({ do: fc.constant('compact') }),
  fc.record({ do: fc.constant('fsck'), repair: fc.boolean() }),
  fc.record({ do: fc.constant('reopen') })
)

const CALLS = {
  async put ({ store, there }, { blob }) {
    const { isNew } = await store.put(BLOBS[blob].bytes)
    expect(isNew).to.equal(!there.has(blob))
    there.add(blob)
  },

  /** Appends to the longest blob in the store, or to another one. */
  async append ({ store, there }, { blob, share }) {
    const fronts = FRONTS[blob].filter(i => there.has(i)).sort((a, b) => BLOBS[a].bytes.length - BLOBS[b].bytes.length)
    if (fronts.length === 0) return
    const { bytes: front, root } = BLOBS[fronts[Math.ceil(Math.sqrt(share) * (fronts.length - 1))]]
    const { bytes } = BLOBS[blob]
    const middle = front.length + Math.floor((bytes.length - front.length) * share)
    const result = await store.append(root, stream([bytes.subarray(front.length, middle), bytes.subarray(middle)]))
    expect(result.isNew).to.equal(!there.has(blob))
    expect(same(result.cid.multihash.digest, BLOBS[blob].root)).to.equal(true)
    there.add(blob)
  },

  async delete ({ store, there }, { blob }) {
    expect(await store.delete(BLOBS[blob].root, { force: true })).to.include({ blobs: Number(there.delete(blob)) })
  },

  async deleteMany ({ store, there }, { blobs }) {
    const { blobs: count } = await store.deleteMany(blobs.map(i => BLOBS[i].root), { force: true })
    expect(count).to.equal(blobs.filter(i => there.delete(i)).length)
  },

  async tag (run, { blob }) {
    await run.store.tags.set('tag', BLOBS[blob].root)
    run.tagged = blob
  },

  async gc ({ store, there, tagged }) {
    const before = await store.info()
    const planned = await store.gc({ dryRun: true })
    const freed = await store.gc()
    expect(planned).to.deep.equal(freed)
    for (const i of [...there]) if (i !== tagged) there.delete(i)
    expect(before.bytes - freed.bytes).to.equal((await store.info()).bytes)
  },

  compact: ({ store }) => store.compact(),
  async fsck ({ store }, { repair }) { expect(await store.fsck({ repair })).to.include({ isSound: true }) },
  async reopen (run) {
    await run.store.close()
    run.store = await run.place.open(OPTIONS)
  }
}

async function expectAll ({ store, there }) {
  const cids = (await listed(store.list())).map(({ cid }) => `${cid}`)
  expect(cids.length).to.equal(there.size)
  for (const i of there) {
    const { root, bytes } = BLOBS[i]
    expect(same(await store.bytes(root), bytes), `blob ${i}`).to.equal(true)
    const start = Math.max(0, bytes.length - 3 * GROUP)
    expect(same(await store.bytes(root, { start }), bytes.subarray(start)), `end of blob ${i}`).to.equal(true)
  }
  expect(countedBytes(store, QUOTA), 'counted').to.equal((await store.info()).bytes)
}

describe('store: model of blobs that share files', () => {
  it('any calls one after the other give the same as the model', () => holds('store: model of append', fc.asyncProperty(
    fc.array(call, { minLength: 5, maxLength: 25 }), async calls => {
      const place = await onDisk()
      const run = { place, store: await place.open(OPTIONS), there: new Set(), tagged: undefined }
      for (const call of calls) {
        await CALLS[call.do](run, call)
        expect(countedBytes(run.store, QUOTA), call.do).to.equal((await run.store.info()).bytes)
      }
      expect(await run.store.fsck()).to.include({ isSound: true })
      await expectAll(run)
      await run.store.close()
      await expectNoOrphans(place)
      await place.remove()
    }), 12))

  it('calls at the same time lose no blob, and give right bytes', () => holds('store: append at once', fc.asyncProperty(
    fc.array(call.filter(({ do: what }) => what !== 'reopen'), { minLength: 5, maxLength: 20 }), async calls => {
      const place = await onDisk()
      const store = await place.open(OPTIONS)
      for (const i of [1, 3]) await store.put(BLOBS[i].bytes)
      await Promise.all(calls.map(async call => {
        const stats = await listed(store.list())
        const there = new Set(BLOBS.flatMap(({ root }, i) =>
          stats.some(({ cid }) => same(cid.multihash.digest, root)) ? [i] : []))
        const error = await errorOf(CALLS[call.do]({ store, there, tagged: undefined }, call))
        // Other calls may have deleted or put the blob since.
        if (error !== undefined && error.name !== 'AssertionError') {
          expect(error.code, error.stack).to.equal('STORE_NOT_FOUND')
        }
      }))
      expect(await store.fsck()).to.include({ isSound: true })
      for (const { cid, size } of await listed(store.list())) {
        const { bytes } = BLOBS.find(({ root }) => same(root, cid.multihash.digest))
        expect(size).to.equal(bytes.length)
        expect(same(await store.bytes(cid), bytes)).to.equal(true)
      }
      expect(countedBytes(store, QUOTA), 'counted').to.equal((await store.info()).bytes)
      await store.close()
      await expectNoOrphans(place)
      await place.remove()
    }), 20))
})
