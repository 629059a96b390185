// A store with `supply` as a cache: what is fetched how often, for whom, and what is remembered.
import { expect } from 'chai'
import fc from 'fast-check'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { Turns } from '../../../store/read/supply-call.js'
import { flipped, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { atEffort, pairsOf } from '../../support/effort.js'
import { turn, turns } from '../../support/fake-clock.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'
import { expectNoOrphans, newStores, sliceOf } from '../../support/store/stores.js'

const MIB = 1 << 20
const BYTES = noise(5 * MIB + 3 * GROUP + 77, 79)
const ROOT = hash(BYTES)
const CHUNKS = Math.ceil(BYTES.length / 1024)
const OTHER = noise(2 * GROUP + 5, 80)
const known = new Map([BYTES, OTHER].map(bytes => [hash(bytes).join(), bytes]))

describe('store: a cache by supply', () => {
  const newStore = newStores()

  /** Makes an empty store, and records the calls of `supply`. */
  async function cache (give = (bytes, ranges) => bytes && sliceOf(bytes, ranges), options) {
    const calls = []
    const made = await newStore({
      ...options,
      supply: async (cid, ranges, more) => {
        calls.push({ cid, ranges, ...more })
        return give(known.get(cid.multihash.digest.join()), ranges, more)
      }
    })
    return { ...made, calls }
  }

  /** How often each group was fetched. The last chunk alone, which proves a size, does not count. */
  function countsOf (calls) {
    const counts = new Map()
    for (const { ranges } of calls) {
      for (const [start, end] of ranges) {
        if (start >= CHUNKS) continue
        for (let chunk = start; chunk < Math.min(end, CHUNKS); chunk += 16) {
          counts.set(chunk, (counts.get(chunk) ?? 0) + 1)
        }
      }
    }
    return counts
  }
  const expectOnce = calls => expect([...countsOf(calls).values()].filter(count => count > 1)).to.deep.equal([])

  it('fetches each group once for 1000 readers', async () => {
    const { store, calls } = await cache()
    const read = async i => {
      const start = (i % 200) * GROUP
      const bytes = await store.bytes(ROOT, { start, end: start + 3 * GROUP })
      expect(same(bytes, BYTES.subarray(start, start + 3 * GROUP))).to.equal(true)
    }
    await Promise.all(Array.from({ length: 1000 }, (_, i) => read(i)))
    expectOnce(calls)
    expect(calls.length).to.be.at.most(7)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expectOnce(calls)
  })

  it('gives the bytes of a blob to random readers, and fetches each group at most once', async () => {
    const reads = fc.array(fc.record({
      start: fc.nat(BYTES.length + GROUP),
      len: fc.oneof(fc.nat(40), fc.nat(BYTES.length)),
      how: fc.constantFrom('bytes', 'get', 'slice'),
      isNow: fc.boolean()
    }), { minLength: 1, maxLength: 12 })
    await holds('store: random readers of a cache', fc.asyncProperty(reads, fc.boolean(), async (reads, isSlow) => {
      const { store, calls, place } = await cache(async (bytes, ranges) => {
        await turn()
        const slice = sliceOf(bytes, ranges)
        return isSlow ? slowly(slice) : slice
      })
      const ways = {
        bytes: range => store.bytes(ROOT, range),
        get: range => collect(store.get(ROOT, range)),
        slice: range => collect(store.slice(ROOT, range))
      }
      const underWay = []
      for (const { start, len, how, isNow } of reads) {
        const range = { start, end: start + len }
        const read = ways[how](range).then(got => {
          const expected = how === 'slice' ? sliceOf(BYTES, range) : BYTES.subarray(start, start + len)
          expect(same(got, expected), `${how} ${start}+${len}`).to.equal(true)
        })
        if (isNow) await read
        else underWay.push(read)
      }
      await Promise.all(underWay)
      expectOnce(calls)
      await place.remove()
    }), 12)
  })

  const slowly = async function * (slice) {
    for (let at = 0; at < slice.length; at += 100_000) {
      yield slice.subarray(at, at + 100_000)
      await turn()
    }
  }

  it('gives slices at every group log while they come, and each byte once', async () => {
    const all = new ChunkRanges([3, 40, 64, 65, 700, 3000, 4000])
    const { store: whole } = await newStore()
    await whole.put(BYTES)
    for (const [groupLog, wanted] of pairsOf([0, 2, 4, 6], [ChunkRanges.all, all])) {
      const { store, calls } = await cache()
      const told = []
      const pieces = []
      for await (const piece of store.slice(ROOT, wanted, { groupLog, reuse: true })) {
        told.push(calls.length)
        pieces.push(piece.slice())
      }
      expect(same(await collect(pieces), await collect(whole.slice(ROOT, wanted, { groupLog })))).to.equal(true)
      expect(told[0], 'calls before the first piece').to.equal(1)
      expect(calls.length).to.be.above(1)
      expectOnce(calls)
    }
  })

  it('gives the groups that have come before the rest of a call', async () => {
    const { now } = performance
    let passed = 0
    performance.now = () => now.call(performance) + passed
    try {
      let open = () => {}
      const opened = new Promise(resolve => { open = resolve })
      const { store, calls } = await cache((bytes, ranges) => {
        const slice = sliceOf(bytes, ranges)
        return (async function * () {
          yield slice.subarray(0, slice.length / 2)
          passed += 5000 // groups that wait so long are stored
          yield slice.subarray(slice.length / 2, slice.length / 2 + 1)
          await opened
          yield slice.subarray(slice.length / 2 + 1)
        })()
      })
      const part = rangesOf(0, GROUP)
      await store.receive(ROOT, sliceOf(BYTES, ChunkRanges.last.union(part)), ChunkRanges.last.union(part))
      expect(same(await store.bytes(ROOT, { start: 0, end: 3 * GROUP }), BYTES.subarray(0, 3 * GROUP))).to.equal(true)
      open()
      expect(same(await store.bytes(ROOT, { end: MIB }), BYTES.subarray(0, MIB))).to.equal(true)
      expect(calls.length).to.equal(1)
    } finally {
      performance.now = now
    }
  })
  const rangesOf = (start, end) => ChunkRanges.fromBytes(start, end)

  it('continues with another call when a slice fails after some groups', async () => {
    let count = 0
    const { store, calls } = await cache((bytes, ranges) => {
      const slice = sliceOf(bytes, ranges)
      return count++ % 2 === 0 ? flipped(slice, Math.floor(slice.length / 2)) : slice
    })
    expect(same(await collect(store.get(ROOT)), BYTES)).to.equal(true)
    expect(count).to.be.above(4)
    expect(calls[1].ranges.boundaries[0]).to.be.above(0)
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('gets on as long as each slice brings a group, and ends when one does not', async () => {
    const { store, calls } = await cache((bytes, ranges) => sliceOf(bytes, ranges).subarray(0, 18 * 1024))
    expect(same(await store.bytes(ROOT, { end: 4 * GROUP }), BYTES.subarray(0, 4 * GROUP))).to.equal(true)
    expect(calls.length).to.be.within(4, 6)
    const poor = await cache((bytes, ranges) => sliceOf(bytes, ranges).subarray(0, 8 * 1024))
    expect(await errorOf(poor.store.bytes(ROOT))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(poor.calls.length).to.equal(1)
  })

  it('remembers for a time what is nowhere, and asks again for what it may have', async () => {
    const { store, calls } = await cache(() => undefined)
    const reads = [() => store.bytes(ROOT), () => store.bytes(ROOT, { start: MIB }), () => collect(store.slice(ROOT))]
    for (const read of reads) {
      const error = await errorOf(read())
      expect(error).to.include({ code: 'STORE_NOT_FOUND' })
      expect(error.cause).to.include({ code: 'STORE_NOT_FOUND' })
    }
    expect(calls.length).to.equal(1)
    await store.put(BYTES)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)

    const forgetful = await cache(() => undefined, { maxMissAge: 0 })
    for (let i = 0; i < 3; i++) await errorOf(forgetful.store.bytes(ROOT))
    expect(forgetful.calls.length).to.equal(3)

    const failing = await cache(() => { throw new Error('not today') })
    for (let i = 0; i < 3; i++) await errorOf(failing.store.bytes(ROOT))
    expect(failing.calls.length).to.equal(3)

    const part = ChunkRanges.fromBytes(0, MIB)
    const partial = await cache((bytes, ranges) => {
      if (ranges.boundaries[0] >= 1024) return undefined
      return sliceOf(bytes, ranges)
    })
    await partial.store.receive(ROOT, sliceOf(BYTES, part), part)
    for (let i = 0; i < 3; i++) await errorOf(partial.store.bytes(ROOT, { start: 2 * MIB, end: 2 * MIB + 9 }))
    expect(partial.calls.length).to.equal(1)
  })

  it('takes a STORE_NOT_FOUND of another store for an answer', async () => {
    const { store: origin } = await newStore()
    const { store } = await cache((_bytes, ranges) => origin.slice(ROOT, ranges))
    expect((await errorOf(store.bytes(ROOT))).cause).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await store.has(ROOT, { supply: true })).to.equal(false)
  })

  it('has() asks only with the option supply', async () => {
    const { store, calls } = await cache()
    expect(await store.has(ROOT)).to.equal(false)
    expect(calls).to.have.length(0)
    expect(await store.has(ROOT, { supply: true })).to.equal(true)
    expect(calls.map(({ ranges }) => ranges.boundaries)).to.deep.equal([[0, 16, Number.MAX_SAFE_INTEGER]])
    expect(await store.stat(ROOT)).to.include({ size: BYTES.length, sizeProven: true, complete: false })
    expect(await store.has(ROOT)).to.equal(false)
    expect(await store.has(ROOT, { supply: true })).to.equal(true)
    expect(calls[1].ranges.boundaries).to.deep.equal([16, 32])
    expect(await store.has(hash(noise(9, 9)), { supply: true })).to.equal(false)
    expect(await store.has(hash(new Uint8Array(0)), { supply: true })).to.equal(true)
    await store.bytes(ROOT)
    const { length } = calls
    expect(await store.has(ROOT, { supply: true })).to.equal(true)
    expect(calls).to.have.length(length)
    expect(await errorOf(store.has(ROOT, { hops: -1 }))).to.be.instanceOf(RangeError)

    const failing = await cache(() => { throw new Error('not today') })
    const error = await errorOf(failing.store.has(ROOT, { supply: true }))
    expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    expect(error.cause).to.include({ message: 'not today' })
    const part = rangesOf(0, GROUP)
    await failing.store.receive(ROOT, sliceOf(BYTES, part), part)
    expect(await errorOf(failing.store.has(ROOT, { supply: true }))).to.include({ code: 'STORE_MISSING' })
    const { store: plain } = await newStore()
    expect(await plain.has(ROOT, { supply: true })).to.equal(false)
  })

  it('asks for at most 64 things at a time, and takes no more for random names', async () => {
    let open = () => {}
    const opened = new Promise(resolve => { open = resolve })
    const { store, calls } = await cache(() => opened)
    const errors = Promise.all(Array.from({ length: 300 }, (_, i) => errorOf(store.bytes(hash(noise(40, i + 1))))))
    await turns()
    expect(calls.length).to.equal(64)
    open()
    for (const { code } of await errors) expect(code).to.equal('STORE_NOT_FOUND')
    expect(calls.length).to.equal(300)
    expect(await store.info()).to.deep.include({ blobs: 0, bytes: 0 })
    expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
  })

  it('an aborted read gives its turn to the next one', async () => {
    const places = new Turns(1)
    const [leave, stay] = [new AbortController(), new AbortController()]
    let open = () => {}
    const first = places.run(() => new Promise(resolve => { open = resolve }), stay.signal)
    const aborted = errorOf(places.run(async () => 2, leave.signal))
    const last = places.run(async () => 3, stay.signal)
    leave.abort(new Error('enough'))
    expect((await aborted).message).to.equal('enough')
    open(1)
    expect([await first, await last, await places.run(async () => 4, stay.signal)]).to.deep.equal([1, 3, 4])
  })

  it('ends a call when the last read that waits is aborted, and goes on for others', async () => {
    const { store, calls } = await cache(() => new Promise(() => {}))
    const [one, two] = [new AbortController(), new AbortController()]
    const reads = [one, two].map(({ signal }) => errorOf(store.bytes(ROOT, { end: 5 }, { signal })))
    while (calls.length === 0) await turn()
    await turns()
    one.abort(new Error('one'))
    expect((await reads[0]).message).to.equal('one')
    expect(calls[0].signal.aborted).to.equal(false)
    two.abort(new Error('two'))
    expect((await reads[1]).message).to.equal('two')
    expect(calls[0].signal.aborted).to.equal(true)
  })

  it('counts hops, and does not ask after four', async () => {
    const { store, calls } = await cache()
    expect(await errorOf(store.bytes(ROOT, undefined, { hops: 4 }))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await store.has(ROOT, { supply: true, hops: 4 })).to.equal(false)
    expect(calls).to.have.length(0)
    await store.bytes(ROOT, { end: 9 }, { hops: 3 })
    expect(calls.map(({ hops }) => hops)).to.deep.equal([4])
    expect(await errorOf(store.bytes(ROOT, undefined, { hops: 4 }))).to.include({ code: 'STORE_MISSING' })
    for (const hops of [-1, 0.5, '1', null]) {
      expect(() => store.get(ROOT, undefined, { hops }), `${hops}`).to.throw('"hops"')
      expect(() => store.slice(ROOT, undefined, { hops }), `${hops}`).to.throw('"hops"')
    }
  })

  it('two stores that supply each other end with what they have, also when both are asked together', async () => {
    const stores = []
    const linked = async other => (await newStore({
      supply: (cid, ranges, { hops, signal }) => stores[other].slice(cid, ranges, { hops, signal })
    })).store
    stores.push(await linked(1), await linked(0))
    for (const root of [ROOT, hash(OTHER)]) {
      for (const { code } of await Promise.all(stores.map(store => errorOf(store.bytes(root))))) {
        expect(code).to.equal('STORE_NOT_FOUND')
      }
    }
    const { cid } = await stores[0].put(noise(3 * MIB, 3))
    expect(await stores[1].bytes(cid)).to.have.length(3 * MIB)
  })

  it('evicts what was used least', async () => {
    const blobs = Array.from({ length: 4 }, (_, i) => noise(10 * GROUP, 90 + i))
    for (const bytes of blobs) known.set(hash(bytes).join(), bytes)
    const { store, calls } = await cache(undefined, { quota: 35 * GROUP })
    const read = async i => expect(same(await store.bytes(hash(blobs[i])), blobs[i])).to.equal(true)
    for (const i of [0, 1, 2]) await read(i)
    await store.tags.set('kept', hash(blobs[1]))
    await new Promise(resolve => setTimeout(resolve, 5)) // so that the next use is later by the clock
    await read(0)
    expect(calls.length).to.equal(3)
    await read(3)
    expect(await Promise.all(blobs.map(bytes => store.has(hash(bytes))))).to.deep.equal([true, true, false, true])
    await read(2)
    expect((await store.info()).bytes).to.be.at.most(35 * GROUP)
  })

  it('refuses a blob that is larger than its quota, and asks for it only once', async () => {
    const { store, calls } = await cache(undefined, { quota: 2 * MIB })
    for (const range of [undefined, { start: 3 * MIB, end: 3 * MIB + 1 }]) {
      const error = await errorOf(store.bytes(ROOT, range))
      expect(error.code).to.match(/^STORE_(NOT_FOUND|MISSING)$/)
      expect(error.cause).to.include({ code: 'STORE_FULL', wanted: BYTES.length, got: 2 * MIB })
    }
    expect(calls.length).to.equal(1)
    expect(await store.bytes(hash(OTHER))).to.have.length(OTHER.length)
  })

  it('loses nothing, and leaves nothing behind, with deletes and gc beside its reads', async () => {
    const { store, place } = await cache()
    await store.put(OTHER, { tag: 'kept' })
    const over = new AbortController()
    const cleaning = (async () => {
      for (let i = 0; !over.signal.aborted; i++) {
        await (i % 2 === 0 ? store.gc() : store.delete(ROOT))
        for (let j = 0; j < 20; j++) await turn()
      }
    })()
    for (let i = 0; i < atEffort(40); i++) {
      const start = i * 7919 * 131 % BYTES.length
      const got = await store.bytes(ROOT, { start, end: start + 2 * MIB }).catch(error => error)
      // A blob that was deleted during the read is gone for this read.
      if (got instanceof Error) expect(got.code).to.match(/^STORE_(NOT_FOUND|MISSING|CHANGED)$/)
      else expect(same(got, BYTES.subarray(start, start + 2 * MIB))).to.equal(true)
    }
    over.abort()
    await cleaning
    expect(same(await store.bytes(hash(OTHER)), OTHER)).to.equal(true)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
    await store.close()
    await expectNoOrphans(place)
  })

  it('opened again in the middle, fetches only the rest', async () => {
    const { store, place, calls } = await cache()
    const pieces = store.get(ROOT)
    for (let len = 0; len < MIB; len += (await pieces.next()).value.length);
    await Promise.all([store.close(), errorOf(async () => { while (!(await pieces.next()).done); })])
    const again = await place.open({
      supply: async (cid, ranges) => {
        calls.push({ cid, ranges })
        return sliceOf(BYTES, ranges)
      }
    })
    const lost = await again.missing(ROOT)
    const before = calls.length
    expect(lost.has(0)).to.equal(false)
    expect(same(await again.bytes(ROOT), BYTES)).to.equal(true)
    for (const { ranges } of calls.slice(before)) expect(ranges.difference(lost).isEmpty).to.equal(true)
  })
})
