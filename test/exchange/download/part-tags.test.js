// Tags protect the received data of unfinished downloads. The mirrors are functions in the process.
import { expect } from 'chai'
import { HASHSEQ, hash, toCid } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { concat } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { endings, streamOf } from '../../support/servers.js'
import { tagEntry } from '../../support/store/inspect.js'
import { newStores } from '../../support/store/stores.js'
import { download } from '../../../exchange/download/index.js'

const MIB = 1 << 20

/** A blob of 3 MiB, and mirrors of it. */
function blobOf (seed) {
  const content = noise(3 * MIB, seed)
  const outboard = createOutboardSync(content)
  const give = ending => async (_cid, ranges) => streamOf(ending(encodeSliceSync(content, outboard, ranges)))
  return {
    cid: outboard.cid,
    good: give(endings.whole),
    /** Stops after the first MiB, and tells when it has. */
    stopping () {
      let onStop
      const isStopped = new Promise(resolve => { onStop = resolve })
      return { mirror: give(endings.stall(MIB, () => onStop())), isStopped }
    },
    /** A mirror that waits for a promise before it answers. */
    waiting: promise => async (...what) => {
      await promise
      return give(endings.whole)(...what)
    }
  }
}

const A = blobOf(481)
const B = blobOf(482)
const own = Uint8Array.of(1, 2, 3)

describe('the tag of an unfinished download', () => {
  const newStore = newStores()

  const namesIn = async store => {
    const names = {}
    for await (const { name, cid } of store.tags.list()) names[name] = `${cid}`
    return names
  }

  /** Begins a download that stops after its first MiB. `end` aborts it. */
  async function begin (store, { cid, stopping }, tag = 'a') {
    const { mirror, isStopped } = stopping()
    const controller = new AbortController()
    const ended = errorOf(download(store, cid, { from: [mirror], tag, signal: controller.signal, stall: 600_000 }))
    await isStopped
    return {
      end () {
        controller.abort(new Error('enough'))
        return ended
      }
    }
  }

  it('is shared by downloads of one blob, until the last one has ended', async () => {
    const { store } = await newStore()
    const slow = await begin(store, A)
    await download(store, A.cid, { from: [A.good], ranges: { start: 0, end: 1 }, tag: 'a' })
    expect(await namesIn(store)).to.deep.equal({ a: `${A.cid}`, 'a.part': `${A.cid}` })
    expect(await errorOf(download(store, A.cid, { from: [], tag: 'a' }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(await namesIn(store)).to.have.property('a.part', `${A.cid}`)
    await slow.end()
    await download(store, A.cid, { from: [A.good], tag: 'a' })
    expect(await namesIn(store)).to.deep.equal({ a: `${A.cid}` })
  })

  it('is different for each blob', async () => {
    const { store } = await newStore()
    const [a, b] = [await begin(store, A), await begin(store, B)]
    expect(await namesIn(store)).to.deep.equal({ 'a.part': `${A.cid}`, 'a.part2': `${B.cid}` })
    await a.end()
    await b.end()
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    // Each download goes on with its own tag, in any order.
    const { received } = await download(store, B.cid, { from: [B.good], tag: 'a' })
    expect(received).to.be.below(3 * MIB)
    expect(await namesIn(store)).to.deep.equal({ a: `${B.cid}`, 'a.part': `${A.cid}` })
    await download(store, A.cid, { from: [A.good], tag: 'a' })
    expect(await namesIn(store)).to.deep.equal({ a: `${A.cid}` })
  })

  it('is different for a blob alone and for a blob with its members', async () => {
    const { store } = await newStore()
    const sequence = concat([hash(own), hash(concat([own, own]))])
    const root = hash(sequence)
    const give = async (cid, ranges) => {
      const bytes = [sequence, own].find(one => `${toCid(hash(one))}` === `${toCid(cid.multihash.digest)}`)
      if (bytes === undefined) throw new Error('not here')
      return encodeSliceSync(bytes, createOutboardSync(bytes), ranges)
    }
    const options = { from: [give], tag: 'a', retries: 0 }
    expect(await errorOf(download(store, root, { ...options, recursive: true })))
      .to.include({ code: 'FETCH_MEMBERS_MISSING' })
    expect(await namesIn(store)).to.deep.equal({ 'a.part': `${toCid(root, HASHSEQ)}` })
    await download(store, root, options)
    expect(await namesIn(store)).to.deep.equal({ a: `${toCid(root)}`, 'a.part': `${toCid(root, HASHSEQ)}` })
  })

  it('never replaces a tag of the caller, however the download ends', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(own, { tag: 'a.part' })
    await store.tags.set('a.part2', A.cid, { meta: { mine: true } })
    const mine = { 'a.part': `${cid}`, 'a.part2': `${A.cid}` }
    const slow = await begin(store, A)
    expect(await namesIn(store)).to.deep.equal({ ...mine, 'a.part3': `${A.cid}` })
    await slow.end()
    await download(store, A.cid, { from: [A.good], tag: 'a' })
    expect(await errorOf(download(store, B.cid, { from: [], tag: 'a' }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(await namesIn(store)).to.deep.equal({ ...mine, a: `${A.cid}` })
    expect((await store.tags.get('a.part2')).meta).to.deep.equal({ mine: true })
  })

  it('stays when the caller has given its name to another blob during the download', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(own)
    let go
    const downloading = download(store, A.cid, {
      from: [A.waiting(new Promise(resolve => { go = resolve }))], tag: 'a', stall: 600_000
    })
    while ((await namesIn(store))['a.part'] === undefined);
    await store.tags.set('a.part', cid)
    go()
    await downloading
    expect(await namesIn(store)).to.deep.equal({ a: `${A.cid}`, 'a.part': `${cid}` })
  })

  it('is not confused with the own tag of another download that ends in .part', async () => {
    const { store } = await newStore()
    const slow = await begin(store, A, 'a.part')
    const other = await begin(store, A, 'a')
    expect(await namesIn(store)).to.deep.equal({ 'a.part': `${A.cid}`, 'a.part.part': `${A.cid}` })
    await slow.end()
    await other.end()
    await download(store, A.cid, { from: [A.good], tag: 'a' })
    expect(await namesIn(store)).to.deep.equal({ a: `${A.cid}`, 'a.part.part': `${A.cid}` })
    await download(store, A.cid, { from: [A.good], tag: 'a.part' })
    expect(await namesIn(store)).to.deep.equal({ a: `${A.cid}`, 'a.part': `${A.cid}` })
  })

  it('is gone when many simultaneous downloads have ended', async () => {
    const { store } = await newStore()
    await Promise.all([A, B, A, B].map(({ cid, good }) => download(store, cid, { from: [good], tag: 'a' })))
    const { a, ...others } = await namesIn(store)
    expect([`${A.cid}`, `${B.cid}`]).to.include(a)
    expect(others).to.deep.equal({})
  })

  it('gets another name when one is damaged', async () => {
    const { store, index } = await newStore()
    await store.tags.set('a.part', A.cid)
    await tagEntry(index, 'a.part').write(new Uint8Array(50))
    await download(store, A.cid, { from: [A.good], tag: 'a' })
    expect((await store.tags.get('a')).cid.equals(A.cid)).to.equal(true)
    expect(await errorOf(store.tags.get('a.part'))).to.include({ code: 'STORE_CORRUPT', tag: 'a.part' })
    expect(await store.tags.get('a.part2')).to.equal(undefined)
  })
})
