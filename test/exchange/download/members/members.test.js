// Downloads of hash sequences with their members, from mirrors that have all or some of them, or lie about one.
import { expect } from 'chai'
import { createOutboardSync } from '../../../../encoder/index.js'
import { HASHSEQ, chunkCv, fromCid, hash, parentCv, rootHash, toCid } from '../../../../lib/index.js'
import { mirrorOf } from '../../../../verifier/index.js'
import { getCollection, putCollection } from '../../../../exchange/collections/index.js'
import { createHandler } from '../../../../exchange/http/index.js'
import { concat, same } from '../../../support/bytes.js'
import { someOf } from '../../../support/effort.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { errorOf, iterable, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, streamOf } from '../../../support/servers.js'
import { downloadBy } from '../../../support/store/inspect.js'
import { newStores, sliceOf } from '../../../support/store/stores.js'
import { download } from '../../../../exchange/download/index.js'

const MIB = 1 << 20
const LENS = [3 * MIB + 5, 0, 1, 1024, 16_385, MIB, MIB + 1, 70_000]
const contents = LENS.map((len, i) => noise(len, 400 + i))
const roots = contents.map(bytes => hash(bytes))
const rootsOf = count => Array.from({ length: count }, (_, i) => hash(new TextEncoder().encode(`member ${i}`)))
const textOf = i => new TextEncoder().encode(`member ${i}`)

/** A function that gives slices of these blobs. For other blobs it throws the error of `absent`. */
function giver (blobs, { ending = endings.whole, absent = () => new Error('none'), onAsked } = {}) {
  const byName = new Map(blobs.map(bytes => [`${toCid(hash(bytes))}`, bytes]))
  return async (cid, ranges) => {
    onAsked?.(cid, ranges)
    const bytes = byName.get(`${cid}`)
    if (bytes === undefined) throw absent(cid)
    return streamOf(ending(sliceOf(bytes, ranges)))
  }
}
const named = (location, from) => mirrorOf(from, { location })
const sequenceOf = members => concat(members)
const expectHas = async (store, blobs) => {
  for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes), `${bytes.length}`).to.equal(true)
}

describe('a download of a sequence and its members', () => {
  const newStore = newStores()
  const sequence = sequenceOf(roots)
  const cid = toCid(hash(sequence), HASHSEQ)

  it('fetches a collection from the handler of another store, with blobs of every length', async () => {
    const [{ store: other }, { store }] = [await newStore(), await newStore()]
    for (const bytes of contents) await other.put(bytes)
    const collection = await putCollection(other, roots.map((root, i) => [`file ${i}`, root]))
    const handler = createHandler(other)
    const fetch = async (url, init) => handler(new Request(url, init))
    const from = [mirrorOf('https://a.example/blobs/{cid}', { fetch }), mirrorOf('https://b.example/{hex}', { fetch })]
    const result = await download(store, collection.cid, { from, recursive: true })
    const metaLen = (await other.stat((await other.bytes(collection.cid)).slice(0, 32))).size
    const total = LENS.reduce((sum, len) => sum + len, 0) + metaLen
    expect(result).to.include({ size: 32 * 9, received: total + 32 * 9, complete: true, members: 9 })
    expect(`${result.cid}`).to.equal(`${collection.cid}`)
    expect(result.mirrors.map(({ state }) => state)).to.deep.equal(['good', 'good'])
    await expectHas(store, contents)
    expect((await getCollection(store, collection.cid)).length).to.equal(8)
    const again = await download(store, collection.cid, { from: [], recursive: true })
    expect(again).to.include({ received: 0, complete: true })
    expect((await store.fsck()).damaged).to.deep.equal([])
  })

  it('counts what a stream has brought of a long member before it ended', async () => {
    const { store } = await newStore()
    const [long] = contents
    const members = sequenceOf([roots[0]])
    const give = giver([long, members])
    const cut = sliceOf(long).subarray(0, 2 * MIB)
    const told = []
    const mirror = { slice: give, members: () => iterable([cut]), location: 'cut' }
    const options = { from: [mirror], recursive: true, onMember: ({ received }) => told.push(received) }
    const result = await download(store, hash(members), options)
    expect([result.received, told]).to.deep.equal([long.length + members.length, [long.length]])
  })

  it('asks once for each small member, and for several at the same time', async () => {
    const { store } = await newStore()
    const blobs = Array.from({ length: 300 }, (_, i) => textOf(i))
    const members = sequenceOf(rootsOf(300))
    let asked = 0
    let [now, most] = [0, 0]
    const give = giver([...blobs, members], { onAsked: () => asked++ })
    const slowly = async (cid, ranges) => {
      most = Math.max(most, ++now)
      await new Promise(resolve => setTimeout(resolve))
      now--
      return give(cid, ranges)
    }
    const result = await download(store, hash(members), { from: [slowly], recursive: true })
    expect(result).to.include({ members: 300, complete: true })
    expect(asked).to.equal(302) // the sequence takes two: for its size, and for its bytes
    expect(most).to.equal(6)
    await expectHas(store, blobs)
  })

  it('takes each member from a mirror that has it', async () => {
    const { store } = await newStore()
    const from = [named('even', giver(contents.filter((_, i) => i % 2 === 0))),
      named('odd', giver([...contents.filter((_, i) => i % 2 === 1), sequence]))]
    const { mirrors } = await downloadQuickly(store, cid, { from, recursive: true })
    expect(mirrors.map(({ state }) => state)).to.not.include('liar')
    await expectHas(store, contents)
  })

  it('fetches a member that occurs twice once, and reports both places', async () => {
    const { store } = await newStore()
    const twice = sequenceOf([roots[0], roots[0], roots[3], roots[0], roots[3]])
    const asked = []
    const seen = []
    const give = giver([contents[0], contents[3], twice], { onAsked: cid => asked.push(`${cid}`) })
    const onMember = ({ index, cid, size, received }) => {
      seen.push([index, same(fromCid(cid), roots[0]), size, received])
    }
    const { received } = await download(store, hash(twice), { from: [give], recursive: true, onMember })
    expect(received).to.equal(twice.length + LENS[0] + LENS[3])
    expect(asked.filter(name => name === `${toCid(roots[3])}`)).to.have.length(1)
    expect(seen.sort(([a], [b]) => a - b)).to.deep.equal([
      [0, true, LENS[0], LENS[0]], [1, true, LENS[0], 0], [2, false, 1024, 1024], [3, true, LENS[0], 0],
      [4, false, 1024, 0]
    ])
  })

  it('may have no members', async () => {
    const { store } = await newStore()
    const empty = new Uint8Array(0)
    const result = await download(store, hash(empty), { from: [giver([empty])], recursive: true })
    expect(result).to.include({ size: 0, members: 0, complete: true })
  })

  it('goes on where an earlier one ended, and asks for nothing that is present', async () => {
    const { store } = await newStore()
    const controller = new AbortController()
    const reason = new Error('enough')
    const whole = []
    const onMember = ({ index }) => {
      whole.push(index)
      if (whole.length === 4) controller.abort(reason)
    }
    const give = giver([...contents, sequence])
    const options = { from: [give], recursive: true, onMember, signal: controller.signal }
    expect(await errorOf(download(store, cid, options))).to.equal(reason)
    const missing = []
    for (const root of roots) if (!await store.has(root)) missing.push(`${toCid(root)}`)
    expect(missing.length).to.be.within(1, 4)
    const asked = new Set()
    const again = giver([...contents, sequence], { onAsked: cid => asked.add(`${cid}`) })
    const result = await download(store, cid, { from: [again], recursive: true })
    expect([...asked].sort()).to.deep.equal(missing.sort())
    expect(result).to.include({ complete: true, members: 8 })
    await expectHas(store, contents)
  })

  it('names the members that no mirror has, and keeps all others', async () => {
    const { store } = await newStore()
    const lost = [2, 6]
    const have = contents.filter((_, i) => !lost.includes(i))
    for (const absent of [
      () => new Error('none'), () => Object.assign(new Error('none'), { code: 'STORE_NOT_FOUND' })
    ]) {
      const from = [named('a', giver([...have, sequence], { absent })), named('b', giver(have, { absent }))]
      const error = await errorOf(downloadQuickly(store, cid, { from, recursive: true }))
      expect(error).to.include({ code: 'FETCH_MEMBERS_MISSING' })
      expect(error.message).to.include(`2 of the 8 members of ${cid}`).and.include(`member 2, ${toCid(roots[2])}`)
      expect(error.members.map(({ index, cid }) => [index, `${cid}`]))
        .to.deep.equal(lost.map(index => [index, `${toCid(roots[index])}`]))
      expect(error.members[0].error).to.include({ code: 'FETCH_EXHAUSTED' })
      await expectHas(store, have)
    }
    const rest = await download(store, cid, { from: [giver(contents)], recursive: true })
    expect(rest.received).to.equal(LENS[2] + LENS[6])
  })

  it('ends when no mirror is left, without trying each of many members', async () => {
    const { store } = await newStore()
    const members = sequenceOf(rootsOf(10_000))
    let asked = 0
    const give = giver([members], { onAsked: () => asked++ })
    const error = await errorOf(downloadQuickly(store, hash(members), { from: [give], recursive: true }))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(asked).to.be.below(100)
  })

  it('names at most a hundred members, and counts the others', async () => {
    const { store } = await newStore()
    const members = sequenceOf([...rootsOf(250), ...rootsOf(3)])
    await store.put(members)
    const from = [giver([], { absent: () => Object.assign(new Error('none'), { code: 'STORE_NOT_FOUND' }) })]
    const error = await errorOf(download(store, hash(members), { from, recursive: true }))
    expect(error).to.include({ code: 'FETCH_MEMBERS_MISSING' })
    expect(error.message).to.match(/^no mirror has 253 of the 253 members/)
    expect(error.members).to.have.length(100)
  })

  it('drops a mirror that lies about a member, and never keeps a wrong byte', async () => {
    const { store } = await newStore()
    const absent = () => Object.assign(new Error('none'), { code: 'STORE_NOT_FOUND' })
    const from = [named('liar', giver(contents, { ending: endings.flip(400), absent })),
      named('honest', giver([...contents, sequence]))]
    const { mirrors } = await downloadQuickly(store, cid, { from, recursive: true })
    expect(mirrors.map(({ state }) => state)).to.deep.equal(['liar', 'good'])
    await expectHas(store, contents)
    expect((await store.fsck()).damaged).to.deep.equal([])
  })

  it('goes on when mirrors break off, stall or send too much', async () => {
    for (const ending of [endings.cut(9000), endings.reset(9000), endings.stall(9000), endings.endless]) {
      const { store } = await newStore()
      const from = [named('bad', giver(contents, { ending })), named('good', giver([...contents, sequence]))]
      await downloadQuickly(store, cid, { from, recursive: true })
      await expectHas(store, contents)
    }
  })

  it('tries members again when a mirror is added that has them', async () => {
    const { store } = await newStore()
    const absent = () => Object.assign(new Error('none'), { code: 'STORE_NOT_FOUND' })
    let isAsked
    const lookedFor = new Promise(resolve => { isAsked = resolve })
    const onAsked = cid => { if (same(fromCid(cid), roots[7])) isAsked() }
    const from = async function * () {
      yield giver([...contents.slice(0, 4), sequence], { absent, onAsked })
      await lookedFor
      yield giver(contents.slice(4), { absent })
      await new Promise(() => {})
    }
    expect(await download(store, cid, { from: from(), recursive: true })).to.include({ complete: true })
    await expectHas(store, contents)
  })

  it('refuses a sequence of too many members before it fetches one, however large the sequence is', async () => {
    const { store } = await newStore()
    const asked = []
    const { root, slice } = hugeSequence(2 ** 40)
    const huge = async (cid, ranges) => { asked.push([...ranges]); return slice }
    const error = await errorOf(download(store, root, { from: [huge], recursive: true }))
    expect(error).to.include({ code: 'HASHSEQ_TOO_LONG', len: 2 ** 45 })
    expect(asked).to.have.length(1)
    expect(await errorOf(download(store, cid, { from: [giver([sequence])], recursive: true, maxMembers: 7 })))
      .to.include({ code: 'HASHSEQ_TOO_LONG', len: 256 })
    await store.put(sequence)
    expect(await errorOf(download(store, cid, { from: [], recursive: true, maxMembers: 7 })))
      .to.include({ code: 'HASHSEQ_TOO_LONG' })
  })

  it('refuses a blob that is no sequence', async () => {
    const { store } = await newStore()
    const error = await errorOf(download(store, roots[4], { from: [giver(contents)], recursive: true }))
    expect(error).to.include({ code: 'HASHSEQ_INVALID', len: 16_385 })
  })

  it('protects the members until it ends, and no longer', async () => {
    const { store } = await newStore()
    let collected
    const give = giver([...contents, sequence])
    const from = [async (cid, ranges) => {
      if (same(fromCid(cid), roots[7])) {
        while (!await store.has(roots[3])) await new Promise(resolve => setTimeout(resolve, 1))
        collected = await store.gc()
      }
      return give(cid, ranges)
    }]
    await download(store, cid, { from, recursive: true })
    expect(collected).to.deep.equal({ blobs: 0, bytes: 0 })
    await expectHas(store, contents)
    expect((await store.gc()).blobs).to.equal(8) // the empty blob stays
  })

  describe('that one mirror sends in streams', () => {
    /** A mirror of whole members, one after the other; `change` gets the slices that a good one would send. */
    const streams = (blobs, change = slices => slices, { ending = endings.whole } = {}) => {
      const asked = []
      const slice = giver([...blobs, sequence], { onAsked: cid => asked.push(`${cid}`) })
      const members = async (_cid, indices) => {
        asked.push(indices)
        const byName = new Map(blobs.map(bytes => [`${toCid(hash(bytes))}`, bytes]))
        const slices = []
        for (const index of indices) {
          const bytes = byName.get(`${toCid(roots[index])}`)
          if (bytes === undefined) break
          slices.push(sliceOf(bytes))
        }
        return streamOf(ending(concat(change(slices))))
      }
      return { slice, members, asked }
    }
    const requests = ({ asked }) => asked.filter(one => typeof one !== 'string')

    it('takes one request, also with large members', async () => {
      const { store } = await newStore()
      const from = streams(contents)
      const whole = []
      const onMember = ({ index, received }) => whole.push([index, received])
      const result = await download(store, cid, { from: [from], recursive: true, onMember })
      expect(result).to.include({ members: 8, complete: true })
      expect(requests(from)).to.deep.equal([[0, 1, 2, 3, 4, 5, 6, 7].filter(i => LENS[i] > 0)])
      expect(whole.sort(([a], [b]) => a - b)).to.deep.equal(LENS.map((len, i) => [i, len]))
      await expectHas(store, contents)
      expect((await store.fsck()).damaged).to.deep.equal([])
    })

    it('goes on after a member that the mirror lacks, and names it', async () => {
      const { store } = await newStore()
      const error = await errorOf(download(store, cid, { from: [streams(contents.toSpliced(4, 1))], recursive: true }))
      expect(error).to.have.property('code', 'FETCH_MEMBERS_MISSING')
      expect(error.members.map(({ index }) => index)).to.deep.equal([4])
      await expectHas(store, contents.toSpliced(4, 1))
    })

    it('asks a mirror that lacks the sequence for single members', async () => {
      const { store } = await newStore()
      const from = streams(contents, () => [])
      expect(await download(store, cid, { from: [from], recursive: true })).to.include({ complete: true })
      expect(requests(from)).to.have.length(1)
      await expectHas(store, contents)
    })

    it('goes on after a stream that breaks off anywhere', async () => {
      for (const at of someOf([0, 3, 8, 100, 3 * MIB, 3 * MIB + 300_000, 4 * MIB])) {
        const { store } = await newStore()
        let count = 0
        const ending = bytes => ++count === 1 ? endings.reset(at)(bytes) : endings.whole(bytes)
        const result = await download(store, cid, { from: [streams(contents, undefined, { ending })], recursive: true })
        expect(result, `${at}`).to.include({ complete: true })
        await expectHas(store, contents)
      }
    })

    it('fails with the error that onMember throws, also while the next member is awaited', async () => {
      const { store } = await newStore()
      const fault = new Error('a fault of the caller')
      let hasThrown
      const thrown = new Promise(resolve => { hasThrown = resolve })
      const from = streams(contents)
      const members = async function * (...what) {
        const pieces = await listed(await from.members(...what))
        yield * pieces.slice(0, -1)
        await thrown
        await new Promise(resolve => setTimeout(resolve)) // here an unhandled rejection would end the process
        yield pieces.at(-1)
      }
      const onMember = ({ index }) => {
        if (index !== 3) return
        hasThrown()
        throw fault
      }
      const error = await errorOf(download(store, cid, { from: [{ ...from, members }], recursive: true, onMember }))
      expect(error).to.equal(fault)
    })

    it('drops a mirror that lies, and never keeps a wrong byte', async () => {
      for (const [i, at] of [[0, 0], [0, 7], [0, 2 * MIB], [2, 8], [5, 0], [6, 70_000], [7, 30]]) {
        const { store } = await newStore()
        const change = slices => slices.map((slice, n) => n === i - (i > 1 ? 1 : 0)
          ? slice.with(at, slice[at] ^ 1)
          : slice)
        const error = await errorOf(download(store, cid, { from: [streams(contents, change)], recursive: true }))
        expect(error?.code, `${i} ${at}`).to.match(/^FETCH_/)
        expect((await store.fsck()).damaged).to.deep.equal([])
        for (const bytes of contents.slice(0, i)) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      }
    })

    it('drops a mirror that claims any wrong size for a member', async () => {
      for (const size of [2n ** 52n, 2n ** 53n - 2n ** 45n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 64n - 1n]) {
        const { store } = await newStore()
        const lie = new Uint8Array([...new Uint8Array(BigUint64Array.of(size).buffer), ...new Uint8Array(100_000)])
        const error = await errorOf(download(store, cid, { from: [streams(contents, () => [lie])], recursive: true }))
        expect(error?.code, `${size}`).to.match(/^FETCH_/)
      }
    })
  })

  it('protects received members by a tag, also after an abort, and sets the caller\'s tag at the end', async () => {
    const { store } = await newStore()
    const { cid: old } = await store.put(Uint8Array.of(1, 2, 3), { tag: 'set' })
    const tags = async () => {
      const found = []
      for await (const { name, cid, format } of store.tags.list()) found.push(`${name} ${format} ${cid}`)
      return found
    }
    const controller = new AbortController()
    let count = 0
    const onMember = () => { if (++count === 4) controller.abort(new Error('enough')) }
    const options = { from: [giver([...contents, sequence])], recursive: true, tag: 'set' }
    await errorOf(download(store, cid, { ...options, onMember, signal: controller.signal }))
    expect(await tags()).to.deep.equal([`set raw ${old}`, `set.part hashseq ${cid}`])
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    expect((await store.info()).blobs).to.be.at.least(5)
    expect(await store.has(old)).to.equal(true)

    expect(await download(store, cid, options)).to.include({ complete: true })
    expect(await tags()).to.deep.equal([`set hashseq ${cid}`])
    expect((await store.gc()).blobs).to.equal(1) // the blob that the tag named before
    await expectHas(store, contents)
    await download(store, roots[1], { from: [], tag: 'empty' })
    expect((await tags())[0]).to.equal(`empty raw ${toCid(roots[1])}`)
  })

  it('leaves no tag when nothing was received', async () => {
    const { store } = await newStore()
    for (const from of [[], [giver([])]]) {
      const options = { from, retries: 0, recursive: true, tag: 'set' }
      expect(await errorOf(download(store, cid, options))).to.have.property('code')
    }
    expect((await store.tags.list().next()).done).to.equal(true)
    for (const tag of ['', 5]) expect(await errorOf(download(store, cid, { from: [], tag }))).to.be.instanceOf(Error)
  })

  it('fails when the store is full, and keeps the sequence', async () => {
    const { store } = await newStore({ quota: MIB })
    const small = [3, 4, 7].map(i => contents[i])
    const members = sequenceOf([...small.map(bytes => hash(bytes)), roots[0]])
    const give = giver([...contents, members])
    expect(await errorOf(download(store, hash(members), { from: [give], recursive: true })))
      .to.include({ code: 'STORE_FULL' })
    expect(await store.has(hash(members))).to.equal(true)
  })

  it('reports how far it is, in bytes and in members', async () => {
    const { store } = await newStore()
    const clock = new FakeClock()
    const events = []
    const give = giver([...contents, sequence])
    const slowly = async function * (cid, ranges, { signal }) {
      for await (const piece of iterable(await give(cid, ranges))) {
        await clock.sleep(piece.length / 1000, signal)
        yield piece
      }
    }
    const onProgress = ({ detail }) => events.push(detail)
    await clock.until(downloadBy(clock, store, cid, { from: [slowly], recursive: true, onProgress }))
    const total = sequence.length + LENS.reduce((sum, len) => sum + len, 0)
    expect(events.at(-1)).to.deep.include({ done: total, members: { done: 8, total: 8, current: [] } })
    const middle = events.find(({ members }) => members?.current.some(({ total }) => total === LENS[0]))
    expect(`${middle.members.current[0].cid}`).to.equal(`${toCid(roots[0])}`)
    expect(middle.members.current[0]).to.include({ index: 0, total: LENS[0] })
  })

  it('refuses ranges, wrong options, and mirrors of one blob alone', async () => {
    const { store } = await newStore()
    const options = { from: [], recursive: true }
    expect(await errorOf(download(store, cid, { ...options, ranges: { start: 0 } }))).to.be.instanceOf(TypeError)
    expect(await errorOf(download(store, cid, { ...options, maxMembers: -1 }))).to.be.instanceOf(RangeError)
    for (const from of ['https://a.example/blob', { source: sequence, outboard: createOutboardSync(sequence) }]) {
      const error = await errorOf(download(store, cid, { ...options, from: [from] }))
      expect(error).to.be.instanceOf(TypeError)
      expect(error.message).to.include('{cid}')
    }
  })
})

/** Downloads by a clock that never really waits. */
function downloadQuickly (store, cid, options) {
  const clock = new FakeClock()
  return clock.until(downloadBy(clock, store, cid, options))
}

/**
 * A sequence of so many members, of which only the proof of its size exists. Anybody can make one.
 *
 * @param {number} members  a power of two
 */
function hugeSequence (members) {
  const size = 32 * members
  const last = noise(1024, 1)
  const other = noise(32, 2)
  const levels = Math.log2(size / 1024)
  const pairs = []
  let cv = chunkCv(last, size / 1024 - 1)
  for (let level = 0; level < levels; level++) {
    pairs.unshift(concat([other, cv]))
    cv = level === levels - 1 ? rootHash(other, cv) : parentCv(other, cv)
  }
  const header = new Uint8Array(8)
  new DataView(header.buffer).setBigUint64(0, BigInt(size), true)
  return { root: cv, slice: concat([header, ...pairs, last]) }
}
