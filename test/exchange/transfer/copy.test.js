// Blobs and tags are copied to another store, again and again: only those that it lacks.
import { expect } from 'chai'
import { sha256 } from 'multiformats/hashes/sha2'
import { CID } from 'multiformats/cid'
import { ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { concat, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { databasesOf, entriesOf, isHeld, recordOf } from '../../support/store/inspect.js'
import { forEachPlace, sliceOf } from '../../support/store/stores.js'
import { copy } from '../../../exchange/transfer/index.js'

const SMALL = [0, 1, 300, GROUP, GROUP + 1, 70_000].map((size, i) => noise(size, 500 + i))
const LONG = noise(MIB + 5000, 520)
const HALF = noise(30 * GROUP + 77, 521)
const HALF_RANGES = ChunkRanges.fromBytes(0, 5 * GROUP).union(ChunkRanges.fromBytes(9 * GROUP, 20 * GROUP))

/** A store with small blobs, a long one, a partial one, and tags. */
async function fill (store) {
  await listed(store.putMany(SMALL))
  await store.put(LONG, { tag: 'long' })
  await store.receive(hash(HALF), sliceOf(HALF, HALF_RANGES), HALF_RANGES)
  await store.put(concat(SMALL.map(bytes => hash(bytes))), { tag: 'all small', format: 'hashseq' })
  await store.tags.set('missing', hash(noise(9)))
}

async function expectSame (a, b) {
  const [ofA, ofB] = [await listed(a.list()), await listed(b.list())]
  const about = ({ cid, size, sizeProven, complete }) => ({ cid: `${cid}`, size, sizeProven, complete })
  expect(ofB.map(about)).to.deep.equal(ofA.map(about))
  for (const { cid } of ofA) {
    const { present, size } = await a.stat(cid)
    expect((await b.stat(cid)).present.boundaries).to.deep.equal(present.boundaries)
    for (const { start, end } of present.toBytes(size)) {
      expect(same(await b.bytes(cid, { start, end }), await a.bytes(cid, { start, end }))).to.equal(true)
    }
  }
  const tags = async store => (await listed(store.tags.list())).map(({ name, cid, format }) => [name, `${cid}`, format])
  expect(await tags(b)).to.deep.equal(await tags(a))
  expect(await b.fsck()).to.include({ isSound: true })
}

/** Flips a bit of a blob in the data database, at an offset of the blob. */
async function damage (store, bytes, at) {
  const { id } = await recordOf(store, hash(bytes))
  const entries = (await entriesOf(databasesOf(store).data)).filter(entry => entry.id === id)
  const entry = entries.findLast(({ offset }) => offset !== undefined && offset <= at)
  const value = entry.value.slice()
  value[at - entry.offset] ^= 1
  await databasesOf(store).data.put(entry.key, value)
}

describe('copy()', () => forEachPlace(newPlace => {
  let from, to, target
  beforeEach(async () => {
    from = await (await newPlace()).open({ durability: 'process' })
    target = await newPlace()
    to = await target.open({ durability: 'process' })
  })

  it('copies blobs, whole or in part, and tags', async () => {
    await fill(from)
    const events = []
    const result = await copy(from, to, { onProgress: event => events.push(event) })
    await expectSame(from, to)
    const partLen = 16 * GROUP
    const bytes = SMALL.reduce((sum, { length }) => sum + length, 0) + LONG.length + partLen + 32 * SMALL.length
    expect(result).to.deep.equal({ blobs: SMALL.length - 1 + 3, bytes, tags: 3, failed: [] })
    expect(events.at(-1)).to.deep.equal({ type: 'baobox:copy', detail: { done: bytes, unit: 'bytes' } })
  })

  it('copies nothing twice, and only the difference later', async () => {
    await fill(from)
    await copy(from, to)
    expect(await copy(from, to)).to.deep.equal({ blobs: 0, bytes: 0, tags: 0, failed: [] })
    const more = ChunkRanges.fromBytes(5 * GROUP, 9 * GROUP)
    await from.receive(hash(HALF), sliceOf(HALF, more), more)
    await from.put(noise(400, 3), { tag: 'long' })
    expect(await copy(from, to)).to.deep.equal({ blobs: 2, bytes: 4 * GROUP + 400, tags: 1, failed: [] })
    await expectSame(from, to)
  })

  it('deletes nothing from the other store', async () => {
    await from.put(SMALL[2], { tag: 'a' })
    await to.put(SMALL[3], { tag: 'b' })
    const rest = ChunkRanges.fromBytes(20 * GROUP, HALF.length)
    await from.receive(hash(HALF), sliceOf(HALF, HALF_RANGES), HALF_RANGES)
    await to.receive(hash(HALF), sliceOf(HALF, rest), rest)
    await copy(from, to)
    expect((await listed(to.tags.list())).map(({ name }) => name)).to.deep.equal(['a', 'b'])
    expect(await to.has(hash(SMALL[3]))).to.equal(true)
    const present = HALF_RANGES.union(rest).canonical(HALF.length)
    expect((await to.stat(hash(HALF))).present.boundaries).to.deep.equal(present.boundaries)
  })

  it('copies only the blobs of cids or tags', async () => {
    await fill(from)
    const missing = hash(noise(5, 5))
    const result = await copy(from, to, { cids: [toCid(hash(SMALL[3])), missing] })
    expect(result).to.deep.include({ blobs: 1, bytes: GROUP, tags: 0 })
    expect(result.failed.map(({ cid, error }) => [`${cid}`, error.code]))
      .to.deep.equal([[`${toCid(missing)}`, 'STORE_NOT_FOUND']])
    expect(await copy(from, to, { tags: ['all small'] })).to.deep.include({ blobs: SMALL.length - 1, tags: 1 })
    expect(await to.has(hash(LONG))).to.equal(false)
    expect((await to.gc()).blobs, 'the members are protected').to.equal(0)
    expect(await errorOf(copy(from, to, { tags: ['nowhere'] }))).to.include({
      code: 'STORE_TAG_NOT_FOUND', tag: 'nowhere'
    })
  })

  it('copies sequences with their members if asked to, and protects them until all are copied', async () => {
    await fill(from)
    const lost = hash(noise(8, 8))
    const sequence = concat([...SMALL, LONG].map(bytes => hash(bytes)).concat([lost]))
    const { cid } = await from.put(sequence)
    const options = { cids: [cid], recursive: true }
    await to.gc() // In a page, the first call loads the code.
    let collected
    const onProgress = () => { collected ??= to.gc() }
    const result = await copy(from, to, { ...options, onProgress })
    expect(await collected).to.include({ blobs: 0 })
    expect(result).to.include({ blobs: SMALL.length - 1 + 2, tags: 0 }) // every store has the empty blob
    expect(result.failed.map(({ cid, error }) => [`${cid}`, error.code]))
      .to.deep.equal([[`${toCid(lost)}`, 'STORE_NOT_FOUND']])
    expect(same(await to.bytes(hash(LONG)), LONG)).to.equal(true)
    expect(await to.has(hash(HALF))).to.equal(false)
    expect(await copy(from, to, options)).to.include({ blobs: 0, bytes: 0 })
    expect(isHeld(to, hash(sequence))).to.equal(false)
    await expectSlip('recursive', () => copy(from, to, { recursive: true }), [TypeError])
  })

  it('copies aliases, also to a blob that the other store has', async () => {
    const [blocks, copies] = [asBlockstore(from), asBlockstore(to)]
    const cidOf = async bytes => CID.createV1(0x55, await sha256.digest(bytes))
    const [alias, both, later] = await Promise.all([SMALL[2], SMALL[4], SMALL[5]].map(cidOf))
    await blocks.put(alias, SMALL[2])
    await blocks.put(both, SMALL[4])
    await from.put(SMALL[4])
    await from.put(SMALL[5])
    await copy(from, to)
    expect(await copies.has(toCid(hash(SMALL[2]))), 'under its alias only').to.equal(false)
    expect(await copies.has(toCid(hash(SMALL[4])))).to.equal(true)
    await blocks.put(later, SMALL[5])
    await from.put(SMALL[2])
    expect(await copy(from, to)).to.include({ blobs: 0, bytes: 0 })
    for (const [cid, bytes] of [[alias, SMALL[2]], [both, SMALL[4]], [later, SMALL[5]]]) {
      expect(same(await collect(copies.get(cid)), bytes)).to.equal(true)
    }
    expect(await copies.has(toCid(hash(SMALL[2])))).to.equal(true)
  })

  it('copies tags of aliases, with the blobs of the aliases', async () => {
    const alias = CID.createV1(0x55, await sha256.digest(SMALL[2]))
    const nowhere = CID.createV1(0x55, await sha256.digest(SMALL[3]))
    await asBlockstore(from).put(alias, SMALL[2])
    await from.tags.set('alias', alias)
    await from.tags.set('nowhere', nowhere)
    expect(await copy(from, to, { tags: ['alias', 'nowhere'] })).to.deep.include({ blobs: 1, tags: 2, failed: [] })
    expect(`${await to.resolve(alias)}`).to.equal(`${toCid(hash(SMALL[2]))}`)
    expect(`${(await to.tags.get('nowhere')).cid}`).to.equal(`${nowhere}`)
    expect((await to.gc()).blobs, 'the tag protects it').to.equal(0)
    expect(await copy(from, to)).to.include({ blobs: 0, tags: 0 })
  })

  it('reports damage at the end, and copies everything else, also the rest of the damaged blob', async () => {
    const part = noise(40 * GROUP, 7)
    await fill(from)
    const lastMissing = ChunkRanges.fromBytes(0, 39 * GROUP)
    await from.receive(hash(part), sliceOf(part, lastMissing), lastMissing)
    await damage(from, SMALL[3], 5)
    await damage(from, SMALL[5], 3 * GROUP + 5)
    await damage(from, part, 10 * GROUP + 3)
    await damage(from, part, 30 * GROUP + 3)
    const { failed } = await copy(from, to)
    const names = [SMALL[3], SMALL[5], part].map(bytes => `${toCid(hash(bytes))}`)
    expect(failed.map(({ cid }) => `${cid}`)).to.have.members(names)
    for (const { error } of failed) expect(error.code).to.equal('STORE_CORRUPT')
    const intact = lastMissing.difference(ChunkRanges.fromBytes(10 * GROUP, 11 * GROUP))
      .difference(ChunkRanges.fromBytes(30 * GROUP, 31 * GROUP))
    expect((await to.stat(hash(part))).present.boundaries).to.deep.equal(intact.boundaries)
    const ofSmall = ChunkRanges.fromBytes(0, 3 * GROUP).union(ChunkRanges.fromBytes(4 * GROUP, SMALL[5].length))
    expect((await to.stat(hash(SMALL[5]))).present.boundaries).to.deep.equal(ofSmall.boundaries)
    expect(await to.has(hash(LONG))).to.equal(true)
    expect(await to.fsck()).to.include({ isSound: true })
    const again = (await copy(from, to)).failed
    expect(again.map(({ cid }) => `${cid}`), 'as long as it is damaged').to.have.members(names)
  })

  it('restores from a backup the blobs that were damaged since', async () => {
    await fill(from)
    await copy(from, to)
    await damage(from, SMALL[5], 3 * GROUP + 5)
    expect(await errorOf(from.bytes(hash(SMALL[5])))).to.include({ code: 'STORE_CORRUPT' })
    expect(await copy(to, from)).to.deep.include({ blobs: 1, bytes: SMALL[5].length, failed: [] })
    expect(same(await from.bytes(hash(SMALL[5])), SMALL[5])).to.equal(true)
  })

  it('can be interrupted anywhere and repeated', async () => {
    await fill(from)
    for (let calls = 1; ; calls++) {
      const reason = new Error('enough')
      const controller = new AbortController()
      let events = 0
      const onProgress = () => { if (++events === 2) controller.abort(reason) }
      const error = await errorOf(copy(from, to, { signal: controller.signal, onProgress }))
      if (error === undefined) break
      expect(error).to.equal(reason)
      expect(calls).to.be.below(20)
    }
    await expectSame(from, to)
    expect(await errorOf(copy(from, to, { signal: AbortSignal.abort(7) }))).to.equal(7)
  })

  it('works while the source is written to, and copies the rest later', async () => {
    await fill(from)
    const controller = new AbortController()
    const writing = (async () => {
      for (let i = 0; !controller.signal.aborted; i++) {
        await from.put(noise(2000 + i, i), { tag: `new ${i}` })
        if (i % 3 === 2) await from.tags.delete(`new ${i - 1}`)
        if (i % 5 === 4) await from.gc()
      }
    })()
    for (let run = 0; run < 3; run++) expect((await copy(from, to)).failed).to.deep.equal([])
    controller.abort()
    await writing
    await copy(from, to)
    for (const { cid } of await listed(from.list())) expect(await errorOf(to.stat(cid))).to.equal(undefined)
    expect(await to.fsck()).to.include({ isSound: true })
  })

  it('protects the blobs of tags from garbage collection in the other store', async () => {
    const root = hash(SMALL[2])
    await from.put(SMALL[2], { tag: 'a' })
    let wasHeld
    await copy(from, to, { onProgress: () => { wasHeld = isHeld(to, root) } })
    expect(wasHeld).to.equal(true)
    expect(isHeld(to, root)).to.equal(false)
  })

  it('obeys the quota of the other store', async () => {
    await to.close()
    to = await target.open({ quota: 50_000 })
    await listed(from.putMany(SMALL))
    expect(await errorOf(copy(from, to, { cids: [hash(SMALL[5])] }))).to.include({ code: 'STORE_FULL' })
    expect(await copy(from, to, { cids: SMALL.slice(0, 5).map(bytes => hash(bytes)) })).to.include({ blobs: 4 })
  })

  it('fails when either store is closed', async () => {
    await fill(from)
    await to.close()
    expect(await errorOf(copy(from, to))).to.include({ code: 'STORE_CLOSED' })
    const other = await (await newPlace()).open()
    await from.close()
    expect(await errorOf(copy(from, other))).to.include({ code: 'STORE_CLOSED' })
  })

  it('refuses objects that are no stores, and unknown options', async () => {
    for (const bad of [undefined, {}, BlobStore, from]) await expectSlip('to', () => copy(from, bad), [TypeError])
    for (const bad of [5, 'abc', new Uint8Array(32)]) {
      await expectSlip('cids', () => copy(from, to, { cids: bad }), [TypeError])
      await expectSlip('tags', () => copy(from, to, { tags: bad }), [TypeError])
    }
    await expectSlip('tags', () => copy(from, to, { tags: [5] }), [TypeError])
    await expectSlip('tag', () => copy(from, to, { tag: 'a' }), [TypeError])
  })
}))
