// put() of a blob whose hash or length the caller knows already.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { MIB } from '../../support/constants.js'
import { errorOf, listed, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { entriesOf, recordsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, newStores, sliceOf } from '../../support/store/stores.js'

describe('store: expected puts', () => {
  const newStore = newStores()
  const large = noise(5 * MIB, 21)
  const small = noise(3000, 22)

  /** A source that counts its reads, and notes whether it was cancelled. */
  function watched (bytes, step = 100_000) {
    const seen = { given: 0, isClosed: false }
    seen.source = new ReadableStream({
      pull (controller) {
        if (seen.given >= bytes.length) return controller.close()
        controller.enqueue(bytes.slice(seen.given, seen.given + step))
        seen.given = Math.min(bytes.length, seen.given + step)
      },
      cancel () { seen.isClosed = true }
    }, { highWaterMark: 0 })
    return seen
  }

  /** Waits, because streams are cancelled in the background. */
  const settled = () => new Promise(resolve => setTimeout(resolve))

  async function expectNothing ({ store, index, data, place }) {
    expect(await listed(store.list())).to.deep.equal([])
    expect(await entriesOf(data)).to.deep.equal([])
    expect(await recordsIn(index)).to.deep.equal([])
    await store.close()
    await expectNoOrphans(place)
  }

  for (const bytes of [new Uint8Array(0), small, large]) {
    it(`${bytes.length} bytes with the expected hash are kept`, async () => {
      const { store } = await newStore()
      const cid = toCid(hash(bytes))
      for (const expected of [{ expect: cid }, { expect: `${cid}`, size: bytes.length }, { size: bytes.length }]) {
        expect(await store.put(stream([bytes]), expected)).to.include({ size: bytes.length })
        expect(await store.has(cid)).to.equal(true)
        await store.delete(cid)
      }
    })

    it(`${bytes.length} bytes with another hash are refused at the end, and nothing is kept`, async () => {
      const made = await newStore()
      const cid = toCid(hash(noise(10, 23)))
      const error = await errorOf(made.store.put(stream([bytes]), { expect: cid, tag: 'a' }))
      expect(error).to.include({ code: 'CID_MISMATCH', cid })
      expect(`${error.actual}`).to.equal(`${toCid(hash(bytes))}`)
      expect(await made.store.tags.get('a')).to.equal(undefined)
      await expectNothing(made)
    })
  }

  it('a source that is too long is refused at the first byte too many', async () => {
    const made = await newStore()
    const seen = watched(large)
    const size = 1_200_000
    const error = await errorOf(made.store.put(seen.source, { size }))
    expect(error).to.include({ code: 'SIZE_MISMATCH', wanted: size, got: size + 100_000 })
    expect(seen).to.include({ isClosed: true, given: size + 100_000 })
    await expectNothing(made)
  })

  it('a source that is too short is refused at its end', async () => {
    const made = await newStore()
    for (const bytes of [new Uint8Array(0), small, large]) {
      const error = await errorOf(made.store.put(stream([bytes]), { size: bytes.length + 1 }))
      expect(error).to.include({ code: 'SIZE_MISMATCH', wanted: bytes.length + 1, got: bytes.length })
    }
    await expectNothing(made)
  })

  it('a size above the quota is refused before anything is read', async () => {
    const { store } = await newStore({ quota: MIB })
    const seen = watched(large)
    const error = await errorOf(store.put(seen.source, { size: large.length }))
    expect(error).to.include({ code: 'STORE_FULL', wanted: large.length })
    expect(seen.given).to.equal(0)
  })

  it('the source of a whole blob that the store already has is cancelled without being read', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(large)
    const seen = watched(large)
    const result = await store.put(seen.source, { expect: cid, tag: 'again' })
    expect(result).to.deep.equal({ cid, size: large.length, isNew: false })
    await settled()
    expect(seen).to.include({ given: 0, isClosed: true })
    expect(`${(await store.tags.get('again')).cid}`).to.equal(`${cid}`)
    const again = watched(large)
    const wrong = await errorOf(store.put(again.source, { expect: cid, size: 5 }))
    expect(wrong).to.include({ code: 'SIZE_MISMATCH', wanted: 5, got: large.length })
    await settled()
    expect(again).to.include({ given: 0, isClosed: true })
  })

  it('the source of a blob that is present in part is read', async () => {
    const { store } = await newStore()
    const root = hash(large)
    await store.receive(root, sliceOf(large, { start: 0, end: MIB }), { start: 0, end: MIB })
    const seen = watched(large)
    expect(await store.put(seen.source, { expect: root })).to.include({ isNew: true })
    expect(seen.given).to.equal(large.length)
  })

  it('a temporary tag protects an expected blob that was not read', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(small)
    const tag = store.tempTag()
    await store.put(watched(small).source, { expect: cid, tag })
    expect(await store.gc()).to.include({ blobs: 0 })
    tag.release()
    expect(await store.gc()).to.include({ blobs: 1 })
  })

  it('an aborted put fails, although the store has the blob', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(small)
    const reason = new Error('enough')
    expect(await errorOf(store.put(small, { expect: cid, signal: AbortSignal.abort(reason) }))).to.equal(reason)
  })

  it('wrong hashes and sizes are refused', async () => {
    const { store } = await newStore()
    for (const bad of ['text', new Uint8Array(31)]) {
      expect(await errorOf(store.put(small, { expect: bad }))).to.include({ code: 'CID_UNSUPPORTED' })
    }
    for (const bad of [5, null]) await expectSlip('expect', () => store.put(small, { expect: bad }))
    for (const bad of [-1, 0.5, '5', null]) await expectSlip('size', () => store.put(small, { size: bad }))
  })
})
