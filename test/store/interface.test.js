// Calls that guests of a store need: its properties, lookups of many blobs, names of other hash functions, and parts of
// outboards.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import { ChunkRanges, hash, toCid } from '../../lib/index.js'
import { Outboard, createOutboardSync } from '../../encoder/index.js'
import { LOOKUP_LEN, areSameTags, assertStore } from '../../store/interface.js'
import { same } from '../support/bytes.js'
import { collect, errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { cidOf } from '../support/store/blocks.js'
import { damageRecord, flipStoredByte } from '../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf } from '../support/store/stores.js'

const bytes = noise(3000, 31)
const own = toCid(hash(bytes))
const long = noise(2_500_001, 32)
const longCid = toCid(hash(long))
const alias = await cidOf(sha256, bytes)
const second = await cidOf(sha512, bytes)
const absent = toCid(hash(noise(10, 33)))
const GROUP = 16_384

const textOf = cid => cid?.toString()
const textsOf = cids => cids.map(textOf)

describe('store: assertStore()', () => {
  const newStore = newStores()

  it('accepts any object that has the calls of a store', async () => {
    const { store } = await newStore()
    assertStore(store)
    const calls = [
      'put', 'putMany', 'get', 'getMany', 'bytes', 'stream', 'source', 'slice', 'outboard', 'receive', 'missing', 'has',
      'stat', 'statMany', 'list', 'delete', 'deleteMany', 'resolve', 'tempTag', 'gc', 'fsck', 'info', 'watch', 'close'
    ]
    const another = Object.fromEntries(calls.map(call => [call, () => {}]))
    assertStore({ ...another, tags: store.tags, aliases: store.aliases })
    expect(() => assertStore(another, 'from')).to.throw(TypeError, '"from" expected a store, got ')
  })

  for (const [name, value] of Object.entries({ undefined, null: null, 'a string': 'store', 'a Map': new Map() })) {
    it(`refuses ${name}`, () => expect(() => assertStore(value)).to.throw(TypeError, '"store" expected a store, got '))
  }
})

describe('store: properties', () => {
  forEachPlace(newPlace => {
    it('say where the store is, and how it was opened', async () => {
      const place = await newPlace()
      const store = await place.open({ quota: 1e6, verify: false, syncReads: false })
      expect(store.location).to.equal(typeof place.where === 'string' ? place.where : undefined)
      expect(store).to.include({ isReadOnly: false, quota: 1e6, verifies: false, syncReads: false })
      await store.close()
      expect(await place.open()).to.include({ quota: undefined, verifies: true, syncReads: true })
    })

    it('"closing" is aborted when close() is called, and before it resolves', async () => {
      const store = await (await newPlace()).open()
      const { closing } = store
      expect(closing.aborted).to.equal(false)
      const closed = store.close()
      expect(closing.aborted).to.equal(true)
      expect(closing.reason).to.include({ code: 'STORE_CLOSED' })
      await closed
      expect(store.closing).to.equal(closing)
    })
  })
})

describe('store: lookups of blobs', () => {
  const newStore = newStores()

  it('stat() returns how many aliases a blob has, and whether it is kept under them only', async () => {
    const { store } = await newStore()
    await store.put(bytes, { alias })
    expect(await store.stat(own)).to.include({ names: 1, isAliasOnly: true, isReference: false })
    await store.aliases.add(own, second)
    expect(await store.stat(own)).to.include({ names: 2, isAliasOnly: true })
    await store.put(bytes)
    expect(await store.stat(own)).to.include({ names: 2, isAliasOnly: false }).and.not.have.property('path')
  })

  it('statMany() returns the same of each blob as list() but the last use, in the order of its arguments', async () => {
    const { store } = await newStore()
    await store.put(bytes, { alias })
    const range = { start: 0, end: GROUP }
    await store.receive(longCid, sliceOf(long, range), range)
    await store.bytes(own)
    const listing = new Map((await listed(store.list())).map(({ lastUsed, ...stat }) => [textOf(stat.cid), stat]))
    const stats = await store.statMany(new Set([longCid, absent, hash(bytes), own.toString()]))
    const expected = [longCid, absent, own, own].map(cid => listing.get(textOf(cid)))
    expect(stats).to.deep.equal(expected)
    expect(stats[0]).to.include({ complete: false, size: long.length })
    expect(stats[2]).to.include({ complete: true, isAliasOnly: true })
    for (const [i, cid] of [longCid, absent, own].entries()) {
      expect(await store.statMany([cid]), 'alone').to.deep.equal([stats[i]])
    }
    expect(await store.statMany([])).to.deep.equal([])
  })

  it('statMany() returns undefined for a damaged record, and the same as stat() for the empty blob', async () => {
    const { store, index } = await newStore()
    const empty = toCid(hash(new Uint8Array(0)))
    await store.put(bytes)
    await damageRecord(index, hash(bytes))
    const [damaged, ofEmpty] = await store.statMany([own, empty])
    expect(damaged).to.equal(undefined)
    expect(ofEmpty).to.include({ size: 0, complete: true })
    expect(await errorOf(store.stat(own))).to.include({ code: 'STORE_CORRUPT' })
  })

  it('statMany() refuses values that are not lists of CIDs', async () => {
    const { store } = await newStore()
    expect(await errorOf(store.statMany(5))).to.be.instanceOf(TypeError)
    expect(await errorOf(store.statMany([alias]))).to.include({ code: 'CID_UNSUPPORTED' })
  })

  it('getMany() compares bytes with the hash, unless "verify" is false', async () => {
    const { store } = await newStore()
    await store.put(bytes)
    expect(bytes.length).to.be.below(LOOKUP_LEN)
    expect(await flipStoredByte(store, hash(bytes), 100)).to.equal(true)
    const [unverified] = await listed(store.getMany([own], { verify: false }))
    expect(unverified.bytes).to.have.length(bytes.length)
    expect(same(unverified.bytes, bytes)).to.equal(false)
    const [verified] = await listed(store.getMany([own]))
    expect(verified.error).to.include({ code: 'STORE_CORRUPT' })
  })
})

describe('store: putting under other names', () => {
  forEachPlace(newPlace => {
    let store
    beforeEach(async () => { store = await newPlace().then(place => place.open()) })

    it('put() with "alias" keeps a blob under that name only, until it is put without "alias"', async () => {
      expect(await store.put(bytes, { alias })).to.include({ isNew: true })
      expect(textOf(await store.aliases.resolve(alias))).to.equal(textOf(own))
      expect(await store.aliases.resolve(own)).to.equal(undefined)
      expect(textOf(await store.resolve(own))).to.equal(textOf(own))
      expect(await store.put(bytes)).to.include({ isNew: false })
      expect(textOf(await store.aliases.resolve(own))).to.equal(textOf(own))
    })

    it('putMany() keeps blobs under the aliases that come with them', async () => {
      const longAlias = await cidOf(sha256, long)
      const other = noise(20, 35)
      const results = await listed(store.putMany([{ source: bytes, alias }, other, { source: long, alias: longAlias }]))
      expect(textsOf(results.map(({ cid }) => cid))).to.deep.equal(textsOf([own, toCid(hash(other)), longCid]))
      expect(textsOf(await store.aliases.resolveMany([alias, longAlias, own, longCid, toCid(hash(other)), absent])))
        .to.deep.equal([textOf(own), textOf(longCid), undefined, undefined, textOf(toCid(hash(other))), undefined])
    })

    it('putMany() under a quota keeps aliases, too', async () => {
      const limited = await newPlace().then(place => place.open({ quota: 1e6 }))
      await listed(limited.putMany([{ source: bytes, alias }, { source: bytes, alias: second }]))
      expect(textsOf((await limited.aliases.of(own))).sort()).to.deep.equal(textsOf([alias, second]).sort())
    })

    it('an alias must be of another hash function', async () => {
      for (const wrong of [own, 5, 'abc', {}]) {
        expect(await errorOf(store.put(bytes, { alias: wrong })), wrong).to.not.equal(undefined)
        expect(await errorOf(listed(store.putMany([{ source: bytes, alias: wrong }]))), wrong).to.not.equal(undefined)
      }
      expect(await store.has(own)).to.equal(false)
    })

    it('put() with "alwaysRead" reads and compares the source, although the store already has the blob', async () => {
      await store.put(bytes)
      const wrong = noise(3000, 36)
      expect(await store.put(wrong, { expect: own })).to.include({ isNew: false })
      expect(await errorOf(store.put(wrong, { expect: own, alwaysRead: true }))).to.include({ code: 'CID_MISMATCH' })
      expect(await store.has(toCid(hash(wrong)))).to.equal(false)
      expect(await store.put(bytes, { expect: own, alwaysRead: true })).to.include({ isNew: false })
    })
  })
})

describe('store: names', () => {
  const newStore = newStores()

  it('aliases.add() gives a whole blob another name', async () => {
    const { store } = await newStore()
    await store.put(bytes)
    await store.aliases.add(own, alias)
    await store.aliases.add(hash(bytes), CID.createV0(alias.multihash))
    expect(textsOf(await store.aliases.of(own))).to.deep.equal([textOf(alias)])
    expect(textOf(await store.resolve(alias))).to.equal(textOf(own))
  })

  it('aliases.add() gives a blob that is kept under aliases its own name', async () => {
    const { store } = await newStore()
    await store.put(bytes, { alias })
    await store.aliases.add(own, own)
    expect(await store.stat(own)).to.include({ isAliasOnly: false })
    expect(await errorOf(store.aliases.add(own, absent))).to.be.instanceOf(TypeError)
  })

  it('aliases.add() refuses blobs that the store does not have whole', async () => {
    const { store } = await newStore()
    expect(await errorOf(store.aliases.add(own, alias))).to.include({ code: 'STORE_NOT_FOUND' })
    const range = { start: 0, end: GROUP }
    await store.receive(longCid, sliceOf(long, range), range)
    const error = await errorOf(store.aliases.add(longCid, alias))
    expect(error).to.include({ code: 'STORE_MISSING' })
    const rest = ChunkRanges.all.canonical(long.length).difference(new ChunkRanges([0, 16]))
    expect(error.ranges.equals(rest)).to.equal(true)
    expect(await store.resolve(alias)).to.equal(undefined)
  })

  it('aliases.delete() deletes a name, and the blob with its last name', async () => {
    const { store } = await newStore()
    await store.put(bytes)
    await store.aliases.add(own, alias)
    expect(await store.aliases.delete(own)).to.equal(true)
    expect(await store.aliases.delete(own)).to.equal(false)
    expect(await store.aliases.delete(second)).to.equal(false)
    expect(await store.has(own)).to.equal(true)
    expect(await store.aliases.delete(alias)).to.equal(true)
    expect(await store.has(own)).to.equal(false)
    expect(await store.aliases.delete(own)).to.equal(false)
  })

  it('aliases.delete() keeps a blob that a tag names', async () => {
    const { store } = await newStore()
    await store.put(bytes, { alias, tag: 'a' })
    expect(await store.aliases.delete(alias)).to.equal(true)
    expect(await store.has(own)).to.equal(true)
    expect(await store.aliases.of(own)).to.deep.equal([])
  })

  it('a forgotten alias is shown on demand only, and still leads its tag to the blob', async () => {
    const { store } = await newStore()
    await store.put(bytes)
    await store.aliases.add(own, alias)
    await store.tags.set('a', alias)
    await store.aliases.delete(alias)
    expect(await store.aliases.resolve(alias)).to.equal(undefined)
    expect(await store.aliases.of(own)).to.deep.equal([])
    expect(await listed(store.aliases.list())).to.deep.equal([])
    expect(textsOf(await store.aliases.of(own, { deleted: true }))).to.deep.equal([textOf(alias)])
    expect(await listed(store.aliases.list({ deleted: true }))).to.have.length(1)
    expect(textOf(await store.resolve(alias))).to.equal(textOf(own))
  })

  it('aliases.list() gives all aliases, in the order of their blobs', async () => {
    const { store } = await newStore()
    const blobs = Array.from({ length: 600 }, (_, i) => noise(20, 1000 + i))
    const sources = await Promise.all(blobs.map(async source => ({ source, alias: await cidOf(sha256, source) })))
    await listed(store.putMany(sources))
    await listed(store.putMany(await Promise.all(blobs.slice(0, 100)
      .map(async source => ({ source, alias: await cidOf(sha512, source) })))))
    const all = await listed(store.aliases.list())
    expect(all).to.have.length(700)
    const inOrder = (await listed(store.list())).map(({ cid }) => textOf(cid))
    expect([...new Set(all.map(({ cid }) => textOf(cid)))]).to.deep.equal(inOrder)
    for (const { cid, alias } of all) expect(textOf(await store.aliases.resolve(alias))).to.equal(textOf(cid))
  })

  it('a read-only store adds and deletes no name', async () => {
    const { store } = await newStore()
    await store.put(bytes)
    await store.close()
    expect(await errorOf(store.aliases.add(own, alias))).to.include({ code: 'STORE_CLOSED' })
    expect(await errorOf(store.aliases.delete(own))).to.include({ code: 'STORE_CLOSED' })
    expect(await errorOf(store.aliases.of(own))).to.include({ code: 'STORE_CLOSED' })
    expect(await errorOf(listed(store.aliases.list()))).to.include({ code: 'STORE_CLOSED' })
  })

  it('tags.add() sets a tag unless the name is taken', async () => {
    const { store } = await newStore()
    expect(await store.tags.add('a', own, { meta: { n: 1 } })).to.equal(true)
    expect(await store.tags.add('a', longCid)).to.equal(false)
    expect(textOf((await store.tags.get('a')).cid)).to.equal(textOf(own))
    const taken = await Promise.all([1, 2, 3].map(n => store.tags.add('b', own, { meta: n })))
    expect(taken.filter(Boolean)).to.have.length(1)
    expect(await store.tags.add('c', own, { expires: new Date(1) })).to.equal(true)
    expect(await store.tags.add('c', longCid)).to.equal(true)
    expect(await errorOf(store.tags.add('', own))).to.be.instanceOf(RangeError)
  })

  it('areSameTags() compares all properties of tags', async () => {
    const { store } = await newStore()
    const { store: other } = await newStore()
    const expires = new Date(Date.now() + 1e6)
    await store.tags.set('a', own, { meta: { list: [1, new Uint8Array(3)] }, expires })
    const tag = await store.tags.get('a')
    expect(areSameTags(tag, undefined)).to.equal(false)
    await other.tags.setMany([tag])
    expect(areSameTags(tag, await other.tags.get('a'))).to.equal(true)
    const changes = [
      { name: 'b' }, { cid: longCid }, { format: 'hashseq' }, { meta: 1 }, { meta: undefined }, { expires: undefined },
      { expires: new Date(5) }
    ]
    for (const change of changes) expect(areSameTags(tag, { ...tag, ...change }), change).to.equal(false)
  })
})

describe('store: parts of outboards', () => {
  const newStore = newStores()

  for (const groupLog of [0, 3, 4, 6]) {
    it(`outboard() gives a whole outboard, or a range of it, at group log ${groupLog}`, async () => {
      const { store } = await newStore()
      await store.put(long)
      const whole = createOutboardSync(long, { groupLog }).bytes
      const outboard = await store.outboard(longCid, { groupLog })
      expect(outboard).to.be.instanceOf(Outboard).and.include({ groupLog, size: long.length })
      expect(same(outboard.bytes, whole)).to.equal(true)
      const { length } = whole
      const parts = [[0, length], [1, 200], [64, 64], [length - 1, length], [130, undefined], [undefined, 7]]
      for (const [start, end] of parts) {
        const part = await collect(store.outboard(longCid, { groupLog, range: { start, end } }))
        expect(same(part, whole.subarray(start, end)), `${start}-${end}`).to.equal(true)
      }
    })
  }

  it('outboard() stops at the end of an outboard, and refuses wrong ranges', async () => {
    const { store } = await newStore()
    await store.put(long)
    const { length } = createOutboardSync(long).bytes
    expect(
      await collect(store.outboard(longCid, { range: { start: length - 5, end: length + 100 } }))
    ).to.have.length(5)
    expect(await collect(store.outboard(longCid, { range: { start: length + 1 } }))).to.have.length(0)
    const wrong = [
      { range: { start: -1 } }, { range: { start: 5, end: 4 } }, { range: { odd: 1 } }, { range: {}, odd: 1 },
      { range: {}, groupLog: 17 }, { range: [{}] }, { range: null }
    ]
    for (const part of wrong) {
      expect(() => store.outboard(longCid, part), part).to.throw()
    }
    expect(await errorOf(store.outboard(longCid, { groupLog: 17 }))).to.be.instanceOf(RangeError)
    expect(await errorOf(collect(store.outboard(absent, { range: {} })))).to.include({ code: 'STORE_NOT_FOUND' })
  })

  it('slice() without "readAhead" gives the same bytes', async () => {
    const { store } = await newStore()
    await store.put(long)
    const calm = await collect(store.slice(longCid, undefined, { readAhead: false }))
    expect(same(calm, sliceOf(long))).to.equal(true)
    expect(() => store.slice(longCid, undefined, { readsAhead: false })).to.throw(TypeError)
  })
})
