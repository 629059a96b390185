// After any sequence of calls, the store has the same as a model with plain Maps.
import { expect } from 'chai'
import fc from 'fast-check'
import { LEVEL } from '#runtime'
import { ChunkRanges, hash, toCid } from '../../lib/index.js'
import { copy } from '../../exchange/transfer/index.js'
import { SliceVerifier } from '../../verifier/index.js'
import { concat, flipped, header, same } from '../support/bytes.js'
import { GROUP, MIB } from '../support/constants.js'
import { collect, errorOf, feed, listed, ragged, stream, whole } from '../support/feeding.js'
import { holds } from '../support/property.js'
import { databasesOf, flipStoredByte, flipTree, idsIn, recordsIn } from '../support/store/inspect.js'
import {
  BLOBS, CROWD, FEW, JOINS, Model, beginsWith, changeBetween, clock, groupsOf, lenOf, numberOf, span
} from '../support/store/model.js'
import { joined, splice } from '../support/store/grown.js'
import { expectNoOrphans, inMemory, onDisk, sliceOf } from '../support/store/stores.js'

const FAST = { durability: 'process' }
const blob = fc.oneof(
  { weight: 5, arbitrary: fc.nat(FEW - 1) }, fc.integer({ min: FEW, max: BLOBS.length - 1 })
)
/** Some blobs, at least half of the small ones among them. A blob may occur twice. */
const some = fc.tuple(
  fc.array(blob, { maxLength: 4 }), fc.subarray(
    Array.from({ length: CROWD }, (_, i) => FEW + i), { minLength: CROWD / 2 }
  )
).map(parts => parts.flat())
/** The two ends of a range, as shares of the blob; they may be a little beyond its end. */
const share = fc.double({ min: 0, max: 1.1, noNaN: true })
const pair = fc.tuple(share, share)
/** The share of equal bytes that are replaced, too. */
const part = fc.double({ min: 0, max: 1, noNaN: true })
const NUMBERS = [...BLOBS.keys()]
const name = fc.constantFrom('a', 'b', 'c')
const tag = fc.option(name, { nil: undefined })
/** Chooses one of the existing things, or any. */
const which = fc.record({ number: fc.nat(99), isAny: fc.boolean() })
const chosen = ({ number, isAny }, all, there) => {
  const from = isAny || there.length === 0 ? all : there
  return from[number % from.length]
}
const call = fc.oneof(
  fc.record({ do: fc.constant('put'), blob }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('receive'),
      blob,
      pair,
      claim: fc.option(fc.nat(70 * GROUP), { nil: undefined, freq: 5 }),
      flip: fc.option(share, { nil: undefined, freq: 4 })
    })
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('get'), blob, pair, verify: fc.boolean() }) },
  fc.record({ do: fc.constant('slice'), blob, pair }),
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('splice'), which, other: blob, part, verify: fc.boolean(), tag })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('append'), which, other: blob, tag }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('concat'), which, verify: fc.boolean(), tag }) },
  fc.record({ do: fc.constant('missing'), blob, pair }),
  fc.record({ do: fc.constant('delete'), blob }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('putMany'), some }) },
  fc.record({ do: fc.constant('getMany'), some }),
  fc.record({ do: fc.constant('deleteMany'), some }),
  fc.record({ do: fc.constant('compact') }),
  fc.record({
    do: fc.constant('tag'), blob, name, ttl: fc.option(fc.nat(5000), { nil: undefined, freq: 2 }), weak: fc.boolean()
  }),
  fc.record({ do: fc.constant('sleep'), ms: fc.nat(4000) }),
  fc.record({ do: fc.constant('untag'), name }),
  fc.record({ do: fc.constant('rename'), name, other: name }),
  fc.record({ do: fc.constant('gc') }),
  fc.record({ do: fc.constant('fsck'), repair: fc.boolean() }),
  fc.record({ do: fc.constant('reopen') }),
  fc.record({ do: fc.constant('copyTo') }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('damage'), which: fc.nat(99), share, isTree: fc.boolean() }) },
  fc.record({ do: fc.constant('readOnly') })
)

const CALLS = {
  async put ({ store, model }, { blob }) {
    const { bytes, chunks } = BLOBS[blob]
    const { isNew } = await store.put(stream(ragged(bytes, 1)))
    expect(isNew).to.equal(!model.isWhole(blob))
    if (bytes.length > 0) model.add(blob, new ChunkRanges([0, chunks]))
  },

  async receive ({ store, model }, { blob, pair, claim, flip }) {
    const { bytes, root } = BLOBS[blob]
    const { start, end } = span(BLOBS[blob], pair)
    const ranges = ChunkRanges.fromBytes(start, Math.max(start + 1, end))
    let slice = sliceOf(bytes, ranges)
    if (claim !== undefined) slice.set(header(claim))
    if (flip !== undefined) slice = flipped(slice, Math.min(slice.length - 1, Math.floor(flip * slice.length)))
    // The verifier finds how much of the slice is right. Whole groups of that are kept.
    const verifier = new SliceVerifier({ cid: root, ranges })
    const { leaves, error } = feed(verifier, whole(slice))
    let believed = ChunkRanges.none
    for (const { offset, bytes: leaf } of leaves) {
      for (let at = Math.ceil(offset / GROUP) * GROUP; at < offset + leaf.length; at += GROUP) {
        const end = Math.min(at + GROUP, bytes.length)
        if (end <= offset + leaf.length) believed = believed.union(ChunkRanges.fromBytes(at, end))
      }
    }
    const fresh = believed.difference(model.of(blob))
    const results = []
    const got = await errorOf(async () => results.push(await store.receive(root, stream(ragged(slice, 2)), ranges)))
    expect(got?.code, got?.stack).to.equal(error?.code)
    model.add(blob, believed)
    if (error === undefined) {
      expect(results[0]).to.deep.equal({ received: lenOf(fresh, bytes), complete: model.isWhole(blob) })
    }
  },

  async get ({ store, model }, { blob, pair, verify }) {
    const { bytes, root } = BLOBS[blob]
    const { start, end } = span(BLOBS[blob], pair)
    const got = []
    const error = await errorOf(async () => got.push(await store.bytes(root, { start, end }, { verify })))
    if (!model.isThere(blob)) return expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    const missing = groupsOf(BLOBS[blob], ChunkRanges.fromBytes(start, end)).difference(model.of(blob))
    if (!missing.isEmpty) {
      expect(error).to.include({ code: 'STORE_MISSING' })
      if (start < bytes.length && await isProven(store, root)) {
        expect(error.ranges.boundaries).to.deep.equal(missing.boundaries)
      }
    } else {
      expect(error, error?.stack).to.equal(undefined)
      expect(same(got[0], bytes.subarray(start, end)), `bytes ${start} to ${end}`).to.equal(true)
    }
  },

  async slice ({ store, model }, { blob, pair }) {
    const { bytes, root } = BLOBS[blob]
    const { start, end } = span(BLOBS[blob], pair)
    const ranges = { start, end: Math.max(start + 1, end) }
    const got = []
    const error = await errorOf(async () => got.push(await collect(store.slice(root, ranges))))
    if (!model.isThere(blob)) return expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    // Without a proven size, the store may not know the end of the blob.
    if (!await isProven(store, root)) return
    const missing = groupsOf(BLOBS[blob], ChunkRanges.fromBytes(ranges.start, ranges.end)).difference(model.of(blob))
    if (!missing.isEmpty) expect(error).to.include({ code: 'STORE_MISSING' })
    else expect(same(got[0], sliceOf(bytes, ranges)), `slice ${start} to ${end}`).to.equal(true)
  },

  /** Makes a blob of another one, with or without common bytes. */
  async splice (real, { which, other, part, verify, tag }) {
    const blob = chosen(which, NUMBERS, real.model.known)
    const { start, end, bytes } = changeBetween(BLOBS[blob], BLOBS[other], part)
    const change = { start, end, source: stream(ragged(bytes, 3)) }
    const kept = ChunkRanges.fromBytes(0, start).union(ChunkRanges.fromBytes(end, BLOBS[blob].bytes.length))
    await makes(real, { parts: [{ blob, needed: kept }], whole: other, tag },
      () => splice(real.store, BLOBS[blob].root, change, { verify, tag }))
  },

  /** Not for blobs in files: the model does not know damage to bytes that two blobs share. */
  async append (real, { which, other, tag }) {
    const fronts = NUMBERS.filter(i => BLOBS[i].bytes.length <= MIB && beginsWith(BLOBS[other], BLOBS[i]))
    const blob = chosen(which, fronts, fronts.filter(i => real.model.isThere(i)))
    const { bytes, root } = BLOBS[blob]
    const source = stream(ragged(BLOBS[other].bytes.subarray(bytes.length), 4))
    await makes(real, { parts: [{ blob, needed: ChunkRanges.all }], whole: other, tag },
      () => real.store.append(root, source, { tag }))
  },

  async concat (real, { which, verify, tag }) {
    const there = JOINS.filter(({ parts }) => parts.every(i => real.model.isThere(i)))
    const { parts, whole } = chosen(which, JOINS, there)
    await makes(real, { parts: parts.map(blob => ({ blob, needed: ChunkRanges.all })), whole, tag },
      () => joined(real.store, parts.map(i => BLOBS[i].root), { verify, tag }))
  },

  async missing ({ store, model }, { blob, pair }) {
    const { root } = BLOBS[blob]
    const { start, end } = span(BLOBS[blob], pair)
    const ranges = ChunkRanges.fromBytes(start, end)
    const missing = await store.missing(root, ranges)
    if (!model.isThere(blob)) expect(missing.boundaries).to.deep.equal(ranges.roundToGroups(4).boundaries)
    else if (await isProven(store, root)) {
      expect(missing.boundaries).to.deep.equal(
        groupsOf(BLOBS[blob], ranges).difference(model.of(blob)).boundaries
      )
    } else expect(missing.intersect(model.of(blob)).boundaries, 'no present chunk is missing').to.deep.equal([])
  },

  async delete ({ store, model }, { blob }) {
    if (model.isThere(blob) && model.isTagged(blob) && BLOBS[blob].bytes.length > 0) {
      expect(await errorOf(store.delete(BLOBS[blob].root))).to.include({ code: 'STORE_TAGGED' })
      return
    }
    expect(await store.delete(BLOBS[blob].root)).to.include({ blobs: Number(model.delete(blob)) })
  },

  async putMany ({ store, model }, { some }) {
    const put = await listed(store.putMany(some.map(i => BLOBS[i].bytes)))
    for (const [at, i] of some.entries()) {
      expect(same(put[at].cid.multihash.digest, BLOBS[i].root)).to.equal(true)
      expect(put[at].isNew).to.equal(!model.isWhole(i))
      if (BLOBS[i].bytes.length > 0) model.add(i, new ChunkRanges([0, BLOBS[i].chunks]))
    }
  },

  async getMany ({ store, model }, { some }) {
    const got = await listed(store.getMany(some.map(i => BLOBS[i].root)))
    for (const [at, i] of some.entries()) {
      if (model.isWhole(i)) expect(same(got[at].bytes, BLOBS[i].bytes), `blob ${i} of many`).to.equal(true)
      else expect(got[at].error).to.include({ code: model.isThere(i) ? 'STORE_MISSING' : 'STORE_NOT_FOUND' })
    }
  },

  async deleteMany (real, { some }) {
    for (const blob of some) await CALLS.delete(real, { blob })
  },

  async compact ({ store }) { await store.compact() },

  async tag ({ store, model }, { blob, name, ttl, weak }) {
    await store.tags.set(name, BLOBS[blob].root, { ttl, weak })
    model.tags.set(name, { blob, expires: ttl === undefined ? undefined : clock.time + ttl, weak })
  },

  /** Moves the clock of the store and the model. */
  async sleep (_real, { ms }) { clock.time += ms },

  async untag ({ store, model }, { name }) {
    expect(await store.tags.delete(name)).to.equal(model.liveTags.has(name))
    model.tags.delete(name)
  },

  async rename ({ store, model }, { name, other }) {
    const error = await errorOf(store.tags.rename(name, other))
    if (!model.liveTags.has(name)) return expect(error).to.include({ code: 'STORE_TAG_NOT_FOUND' })
    expect(error).to.equal(undefined)
    const tag = model.tags.get(name)
    model.tags.delete(name)
    model.tags.set(other, tag)
  },

  async gc ({ store, model }) {
    const swept = [...BLOBS.keys()].filter(i => BLOBS[i].bytes.length > 0 && model.isThere(i) && !model.isTagged(i))
    const bytes = swept.reduce((sum, i) => sum + lenOf(model.of(i), BLOBS[i].bytes), 0)
    expect(await store.gc({ dryRun: true })).to.deep.equal({ blobs: swept.length, bytes })
    expect(await store.gc()).to.deep.equal({ blobs: swept.length, bytes })
    for (const i of swept) model.delete(i)
    model.tags = model.liveTags
  },

  /** Expects no damage. */
  async fsck ({ store, model }, { repair }) {
    expect(await store.fsck({ repair })).to.deep.include({ isSound: true, blobs: model.ids })
  },

  async reopen (real) {
    await real.store.close()
    await expectNoOrphans(real.place)
    real.store = await real.place.open(FAST)
  },

  /** Opens the store read-only while it is open, and expects everything in it. */
  async readOnly ({ place, model, point }) {
    if (typeof place.where !== 'string') return
    const store = await place.open({ readOnly: true })
    await expectAll({ store, model, point })
    await store.close()
  },

  /** Damages a blob and reads it. Then exactly the damaged groups are missing; none for the tree of a whole blob. */
  async damage (real, { which, share, isTree }) {
    const { model } = real
    const blob = model.known[which % model.known.length]
    if (blob === undefined) return
    const { bytes, root } = BLOBS[blob]
    const at = Math.min(bytes.length - 1, Math.floor(share * bytes.length))
    const wasWhole = model.isWhole(blob)
    if (!await (isTree ? flipTree(real.store, root, share) : flipStoredByte(real.store, root, at))) return
    if (isTree) await CALLS.reopen(real) // An open store trusts the pairs that it has in memory.
    const { store } = real
    for (let reads = 0; ; reads++) {
      if (reads > 100) expect.fail('reads go on finding damage')
      const present = await store.stat(root).then(({ present }) => present, () => ChunkRanges.none)
      if (present.isEmpty) break
      const error = await errorOf(collect(store.slice(root, present)))
      if (error === undefined) break
      expect(error, error.stack).to.include({ code: 'STORE_CORRUPT' })
    }
    const stat = await store.stat(root).catch(error => { expect(error).to.include({ code: 'STORE_NOT_FOUND' }) })
    const before = model.of(blob)
    const present = stat?.present ?? ChunkRanges.none
    const lost = before.difference(present)
    expect(present.difference(before).boundaries, 'no chunk is new').to.deep.equal([])
    if (isTree) expect(wasWhole && !lost.isEmpty, 'the tree of a whole blob is computed again').to.equal(false)
    else {
      const damaged = groupsOf(BLOBS[blob], ChunkRanges.fromBytes(at, at + 1)).intersect(before)
      expect(lost.boundaries).to.deep.equal(damaged.boundaries)
    }
    if (stat === undefined) model.delete(blob)
    else model.lose(blob, present)
    await store.compact() // deletes data that was given up
  },

  /** Copies everything to another store. A second copy has nothing to do. Damaged blobs are reported. */
  async copyTo ({ store, model }) {
    for (const blob of model.lost) await CALLS.put({ store, model }, { blob })
    const place = await inMemory()
    try {
      const target = await place.open(FAST)
      const { point } = await target.info()
      const { failed } = await copy(store, target)
      for (const { error } of failed) expect(error, error.stack).to.include({ code: 'STORE_MISSING' })
      expect(failed.map(({ cid }) => numberOf(cid)).sort((a, b) => a - b)).to.deep.equal(model.damaged)
      await expectAll({ store: target, model, point, tags: model.liveTags })
      expect(await copy(store, target)).to.deep.include({ blobs: 0, bytes: 0, tags: 0 })
    } finally {
      await place.remove()
    }
  }
}

/**
 * Makes a blob of others, of which the needed chunks must be present.
 *
 * @param {{ parts: { blob: number, needed: ChunkRanges }[], whole: number, tag?: string }} what
 */
async function makes ({ model }, { parts, whole, tag }, make) {
  const results = []
  const error = await errorOf(async () => results.push(await make()))
  for (const { blob, needed } of parts) {
    if (!model.isThere(blob)) return expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    const isMissing = !groupsOf(BLOBS[blob], needed.union(ChunkRanges.last)).difference(model.of(blob)).isEmpty
    if (isMissing) return expect(error).to.include({ code: 'STORE_MISSING' })
  }
  expect(error, error?.stack).to.equal(undefined)
  const [{ cid, size, isNew }] = results
  expect({ blob: numberOf(cid), size, isNew }).to.deep.equal(
    { blob: whole, size: BLOBS[whole].bytes.length, isNew: !model.isWhole(whole) })
  if (size > 0) model.add(whole, new ChunkRanges([0, BLOBS[whole].chunks]))
  if (tag !== undefined) model.tags.set(tag, { blob: whole, expires: undefined })
}

const isProven = async (store, root) => (await store.stat(root)).sizeProven

/** Returns which blobs are whole and what tags name, according to the events since the beginning. */
async function replayed (store, point) {
  const [blobs, tags] = [new Map(), new Map()]
  const { point: last } = await store.info()
  if (last === point) return { blobs, tags }
  for await (const { type, cid, complete, tag, point: reached } of store.watch({ after: point })) {
    if (tag !== undefined) type === 'tagged' ? tags.set(tag, `${cid}`) : tags.delete(tag)
    else type === 'removed' ? blobs.delete(`${cid}`) : blobs.set(`${cid}`, complete)
    if (reached === last) return { blobs, tags }
  }
}

/** Expects everything that the model has. */
async function expectAll ({ store, model, point, tags: tagsOfModel = model.tags }) {
  const { blobs: blobsOfEvents, tags: tagsOfEvents } = await replayed(store, point)
  const stats = await listed(store.list())
  expect([...blobsOfEvents].sort()).to.deep.equal(stats.map(({ cid, complete }) => [`${cid}`, complete]).sort())
  expect([...tagsOfEvents.keys()].sort()).to.deep.equal([...tagsOfModel.keys()].sort())
  for (const [name, { blob }] of tagsOfModel) {
    expect(tagsOfEvents.get(name)).to.equal(`${toCid(BLOBS[blob].root)}`)
  }
  const { blobs, tags: tagCount } = await store.info()
  expect({ blobs, tagCount }).to.deep.equal({ blobs: stats.length, tagCount: model.strongTags.length })
  await CALLS.fsck({ store, model }, { repair: false })
  const tags = []
  for await (const { name, cid } of store.tags.list()) {
    tags.push([name, numberOf(cid)])
  }
  expect(tags).to.deep.equal([...model.liveTags].map(([name, { blob }]) => [name, blob]).sort())
  expect(stats).to.have.length(model.ids)
  for (const [i, { bytes, root }] of BLOBS.entries()) {
    expect(await store.has(root)).to.equal(model.isWhole(i))
    if (!model.isThere(i)) continue
    const { present, complete } = await store.stat(root)
    expect(complete).to.equal(model.isWhole(i))
    expect(present.boundaries).to.deep.equal(model.of(i).boundaries)
    for (const { start, end } of present.toBytes(bytes.length)) {
      expect(
        same(await store.bytes(root, { start, end }), bytes.subarray(start, end)), `${start} to ${end} of blob ${i}`
      ).to.equal(true)
    }
  }
  const { index, data } = databasesOf(store)
  const records = await recordsIn(index)
  expect(records).to.have.length(model.ids)
  const ids = records.map(({ id }) => id)
  expect(ids).to.include.members(await idsIn(data))
  expect((await idsIn(data)).length).to.be.at.least(ids.length - model.lost.length)
}

/** Codes of errors when a blob is deleted during the call, or replaced by a whole one. */
const RACES = ['STORE_NOT_FOUND', 'STORE_MISSING', 'STORE_CHANGED']

/** Expects that a call gives the blob of these bytes, unless its parts were missing. */
async function expectMade (making, bytes) {
  const results = []
  const error = await errorOf(async () => results.push(await making))
  if (error) expect(error.code, error.stack).to.be.oneOf(RACES)
  else expect(same(results[0].cid.multihash.digest, hash(bytes))).to.equal(true)
}

/** The kinds of places, with their shares of the runs. Only stores on a disk have files. */
const PLACES = {
  'in memory': { newPlace: inMemory, share: 1 },
  ...LEVEL === 'classic-level' && { 'on a disk': { newPlace: onDisk, share: 0.3 } }
}

for (const [where, { newPlace, share }] of Object.entries(PLACES)) {
  describe(`store: model ${where}`, () => {
    const someCalls = fc.array(call, { minLength: 1, maxLength: 25 })
    const inTurn = fc.asyncProperty(someCalls, async calls => {
      const place = await newPlace()
      const real = { place, store: await place.open(FAST), model: new Model(), point: undefined }
      real.point = (await real.store.info()).point
      Date.now = () => clock.time
      try {
        for (const call of calls) await CALLS[call.do](real, call)
        await expectAll(real)
        await CALLS.reopen(real)
        await expectAll(real)
      } finally {
        Date.now = clock.real
        await place.remove()
      }
    })
    it('any calls one after the other give the same as the model', () =>
      holds(`store: model ${where}`, inTurn, 100 * share))

    const name = `store: model ${where} at once`
    it('any calls at the same time lose no blob and give no wrong byte', () => holds(name, fc.asyncProperty(
      fc.array(fc.record({
        what: fc.constantFrom(
          'put', 'putMany', 'putMany', 'receive', 'splice', 'append', 'concat', 'get', 'getMany', 'missing', 'delete',
          'deleteMany', 'gc', 'compact', 'fsck'
        ),
        blob,
        other: blob,
        some,
        pair
      }), { minLength: 2, maxLength: 12 }), async calls => {
        const place = await newPlace()
        const store = await place.open(FAST)
        const rootsOf = some => some.map(i => BLOBS[i].root)
        const run = {
          put: ({ bytes }) => store.put(stream(ragged(bytes, 1))),
          receive: ({ bytes, root }, { start, end }) => store.receive(
            root, stream(ragged(sliceOf(bytes, { start, end }), 2)), { start, end }
          ),
          get: async ({ bytes, root }, { start, end }) => {
            const got = []
            const error = await errorOf(async () => got.push(await store.bytes(root, { start, end })))
            if (error) {
              expect(error.code, error.stack).to.be.oneOf(RACES)
            } else expect(same(got[0], bytes.subarray(start, end))).to.equal(true)
          },
          putMany: (_blob, _span, some) => listed(store.putMany(some.map(i => BLOBS[i].bytes))),
          async getMany (_blob, _span, some) {
            for (const [at, { bytes, error }] of (await listed(store.getMany(rootsOf(some)))).entries()) {
              if (error) {
                expect(error.code, error.stack).to.be.oneOf(RACES)
              } else expect(same(bytes, BLOBS[some[at]].bytes)).to.equal(true)
            }
          },
          splice: (blob, _span, _some, other) => {
            const { start, end, bytes } = changeBetween(blob, other, 0)
            return expectMade(splice(store, blob.root, { start, end, source: stream([bytes]) }), other.bytes)
          },
          append: (blob, _span, _some, { bytes }) =>
            expectMade(store.append(blob.root, stream([bytes])), concat([blob.bytes, bytes])),
          concat: (blob, _span, _some, other) =>
            expectMade(joined(store, [blob.root, other.root]), concat([blob.bytes, other.bytes])),
          deleteMany: (_blob, _span, some) => Promise.all(rootsOf(some).map(root => run.delete({ root }))),
          missing: ({ root }) => store.missing(root),
          /** Parts of calls that are under way are not deleted. */
          async delete ({ root }) {
            const error = await errorOf(store.delete(root))
            if (error) expect(error, error.stack).to.include({ code: 'STORE_TAGGED' })
          },
          compact: () => store.compact(),
          gc: () => store.gc(),
          fsck: async () => expect(await store.fsck({ repair: true })).to.include({ isSound: true })
        }
        try {
          await Promise.all(
            calls.map(({ what, blob, other, some, pair }) =>
              run[what](BLOBS[blob], span(BLOBS[blob], pair), some, BLOBS[other]))
          )
          for (const { bytes, root } of BLOBS) {
            if (await errorOf(store.stat(root))) continue
            const { present, complete } = await store.stat(root)
            for (const { start, end } of present.toBytes(bytes.length)) {
              expect(same(await store.bytes(root, { start, end }), bytes.subarray(start, end))).to.equal(true)
            }
            // A blob that the store has lost could never be completed.
            if (complete) continue
            expect((await store.receive(root, sliceOf(bytes))).complete).to.equal(true)
          }
          await store.close()
          await expectNoOrphans(place)
        } finally {
          await place.remove()
        }
      }), 60 * share))
  })
}
