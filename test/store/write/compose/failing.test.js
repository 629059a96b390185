// Compositions that fail: they say why, leave nothing, and do not change the blobs that they read.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { concat, hex, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip, refusesAllButCounts } from '../../../support/slips.js'
import { expectBlob, splice } from '../../../support/store/grown.js'
import { entriesOf, isHeld } from '../../../support/store/inspect.js'
import { forEachPlace, gated, newStores, sliceOf } from '../../../support/store/stores.js'

const BYTES = noise(2 * MIB + 5000, 521)
const OTHERS = noise(MIB, 522)

describe('store.compose() that fails', () => {
  const newStore = newStores()

  /** Expects that the store and its databases have only the old blob, and that nothing is held. */
  async function expectBaseAlone ({ store, place, data }, before) {
    expect(isHeld(store, hash(BYTES)), 'is still held').to.equal(false)
    expect((await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))).to.deep.equal([hex(hash(BYTES))])
    expect(same(await store.bytes(hash(BYTES)), BYTES)).to.equal(true)
    expect((await entriesOf(data)).length, 'entries').to.equal(before)
    await store.close()
    expect((await (await place.open()).fsck()).isSound).to.equal(true)
  }

  async function newBase () {
    const made = await newStore()
    const { cid } = await made.store.put(BYTES)
    return { made, store: made.store, cid, before: (await entriesOf(made.data)).length }
  }

  for (const at of [0, 1, GROUP, 1_500_000]) {
    it(`because its source throws after ${at} bytes leaves nothing`, async () => {
      const { made, store, cid, before } = await newBase()
      const reason = new Error('no more')
      const source = (async function * () {
        yield * stream([OTHERS.subarray(0, at >> 1), noise(at - (at >> 1), 9)])
        throw reason
      })()
      expect(await errorOf(splice(store, cid, { start: MIB + 7, end: MIB + 9, source }))).to.equal(reason)
      await expectBaseAlone(made, before)
    })

    it(`because it is aborted after ${at} bytes of the new blob leaves nothing`, async () => {
      const { made, store, cid, before } = await newBase()
      const controller = new AbortController()
      const reason = new Error('enough')
      if (at === 0) controller.abort(reason)
      let isClosed = false
      const source = (async function * () {
        try {
          for (;;) yield OTHERS // never ends
        } finally {
          isClosed = true
        }
      })()
      const onProgress = ({ detail }) => { if (detail.done >= at) controller.abort(reason) }
      const change = { start: MIB, source }
      expect(await errorOf(splice(store, cid, change, { signal: controller.signal, onProgress }))).to.equal(reason)
      if (at > MIB) expect(isClosed, 'the source is closed').to.equal(true)
      await expectBaseAlone(made, before)
    })
  }

  it('because the store is closed does not wait for its source', async () => {
    const { made, store, cid } = await newBase()
    const gate = gated([OTHERS], [])
    const failing = errorOf(splice(store, cid, { start: MIB, source: gate.source }))
    await gate.reached
    await store.close()
    expect(await failing).to.include({ code: 'STORE_CLOSED' })
    const again = await made.place.open()
    expect(await listed(again.list())).to.have.length(1)
    expect((await again.fsck()).isSound).to.equal(true)
  })

  it('because the blob is missing says so, and cancels the source', async () => {
    const { store } = await newStore()
    let isCancelled = false
    const source = new ReadableStream({ cancel () { isCancelled = true } })
    expect(await errorOf(splice(store, hash(BYTES), { start: 0, source }))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(isCancelled).to.equal(true)
  })

  it('because its size is not proven names the missing chunks', async () => {
    const { store } = await newStore()
    const range = { start: 0, end: MIB }
    await store.receive(hash(BYTES), sliceOf(BYTES, range), range)
    const error = await errorOf(splice(store, hash(BYTES), { start: 5 }))
    expect(error).to.include({ code: 'STORE_MISSING' })
    expect(error.ranges.toBytes(BYTES.length)).to.deep.equal([{ start: 2 * MIB, end: BYTES.length }])
  })

  it('because the result is not the expected blob leaves nothing', async () => {
    const { made, store, cid, before } = await newBase()
    const change = { start: MIB, end: MIB + GROUP, source: OTHERS.subarray(0, GROUP) }
    expect(await errorOf(splice(store, cid, change, { expect: hash(OTHERS) }))).to.include({ code: 'CID_MISMATCH' })
    expect(await errorOf(splice(store, cid, change, { size: 5 }))).to.include({ code: 'SIZE_MISMATCH', wanted: 5 })
    expect(await errorOf(splice(store, cid, change, { size: BYTES.length + 1 }))).to.include({ code: 'SIZE_MISMATCH' })
    await expectBaseAlone(made, before)
  })

  it('because of a quota deletes neither its blob nor others', async () => {
    const { place, store: first } = await newStore()
    await first.put(BYTES)
    await first.close()
    const store = await place.open({ quota: 2 * BYTES.length })
    const error = await errorOf(splice(store, hash(BYTES), { start: BYTES.length, source: OTHERS }))
    expect(error).to.include({ code: 'STORE_FULL' })
    expect(same(await store.bytes(hash(BYTES)), BYTES)).to.equal(true)
    const cut = await splice(store, hash(BYTES), { start: MIB })
    await expectBlob(store, cut, BYTES.subarray(0, MIB))
  })

  it('refuses wrong arguments, and names them', async () => {
    const { made, store, cid, before } = await newBase()
    const of = part => store.compose([{ cid, ...part }])
    await refusesAllButCounts('start', start => of({ start }))
    await refusesAllButCounts('end', end => of({ end }))
    await expectSlip('end', () => of({ start: 2, end: 1 }), [RangeError])
    await expectSlip('end', () => of({ start: 2, end: BYTES.length + 1 }), [RangeError])
    await expectSlip('start', () => of({ start: BYTES.length + 1 }), [RangeError])
    await expectSlip('source', () => store.compose([{ cid }, { source: 5 }]))
    await expectSlip('piece of the source', () => store.compose([{ cid }, { source: ['text'] }]))
    await expectSlip('from', () => of({ from: 5 }))
    await expectSlip('until', () => store.compose([{ cid }], { until: 5 }))
    await expectBaseAlone(made, before)
  })
})

describe('store.compose() beside other calls', () => {
  forEachPlace(newPlace => {
    it('protects the blob from gc() and delete() until it ends', async () => {
      const store = await (await newPlace()).open()
      const { cid } = await store.put(BYTES)
      const gate = gated([OTHERS.subarray(0, 100)], [OTHERS.subarray(100)])
      const splicing = splice(store, cid, { start: MIB, end: MIB + 5, source: gate.source })
      await gate.reached
      await store.gc()
      expect(await errorOf(store.delete(cid))).to.include({ code: 'STORE_TAGGED' })
      gate.open()
      const expected = concat([BYTES.subarray(0, MIB), OTHERS, BYTES.subarray(MIB + 5)])
      await expectBlob(store, await splicing, expected)
      expect(await store.delete(cid)).to.include({ blobs: 1 })
      expect(same(await store.bytes(hash(expected)), expected)).to.equal(true)
    })

    it('fails, or gives the right blob, when the blob is deleted by force', async () => {
      const store = await (await newPlace()).open()
      const { cid } = await store.put(BYTES)
      const gate = gated([OTHERS.subarray(0, 100)], [OTHERS.subarray(100)])
      const expected = concat([BYTES.subarray(0, MIB), OTHERS, BYTES.subarray(MIB + 5)])
      const splicing = splice(store, cid, { start: MIB, end: MIB + 5, source: gate.source })
        .then(made => expectBlob(store, made, expected), error => expect(error.code).to.equal('STORE_NOT_FOUND'))
      await gate.reached
      expect(await store.delete(cid, { force: true })).to.include({ blobs: 1 })
      gate.open()
      await splicing
      expect((await store.fsck()).isSound).to.equal(true)
    })
  })
})
