// Joining blobs makes the same blob as a put of all their bytes.
import { expect } from 'chai'
import fc from 'fast-check'
import { hash } from '../../../../lib/index.js'
import { concat, same } from '../../../support/bytes.js'
import { GROUP, KIB, MIB } from '../../../support/constants.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { expectSlip } from '../../../support/slips.js'
import { expectBlob, expectSlices, joined } from '../../../support/store/grown.js'
import { isHeld } from '../../../support/store/inspect.js'
import { forEachPlace, newStores, sliceOf } from '../../../support/store/stores.js'

const BYTES = noise(3 * MIB, 511)
const parts = lens => lens.map((len, i) => BYTES.subarray(i * 1000, i * 1000 + len))
const sizes = fc.oneof(
  fc.constantFrom(0, 1, KIB, GROUP - 1, GROUP, GROUP + 1, 4 * GROUP, MIB, MIB + 1, 2 * MIB),
  fc.nat(2 * MIB)
)

describe('store.compose() that joins blobs', () => {
  forEachPlace(newPlace => {
    it('makes the same blob as a put of the same bytes', async () => {
      const store = await (await newPlace()).open({ durability: 'process' })
      const property = fc.asyncProperty(fc.array(sizes, { maxLength: 4 }), fc.boolean(), async (lens, verify) => {
        const cids = []
        for (const part of parts(lens)) cids.push((await store.put(part)).cid)
        const made = await joined(store, cids, { verify })
        await expectBlob(store, made, concat(parts(lens)))
      })
      await holds('joined blobs', property, 40)
    })

    it('gives slices and outboards that verify, at every group log', async () => {
      const store = await (await newPlace()).open()
      const lens = [MIB + 3 * GROUP, 70_001, MIB]
      const cids = []
      for (const part of parts(lens)) cids.push((await store.put(part)).cid)
      const { cid } = await store.compose(stream(cids.map(cid => ({ cid }))))
      await expectSlices(store, cid, concat(parts(lens)))
    })
  })

  const newStore = newStores()

  it('makes the empty blob of none, and of one the same blob', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    expect(await joined(store, [])).to.include({ size: 0 })
    const same = await joined(store, [cid])
    expect(same.cid.equals(cid)).to.equal(true)
    expect(same.isNew).to.equal(false)
    expect(await listed(store.list())).to.have.length(1)
  })

  it('may join a blob to itself, and tag the result', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    const made = await joined(store, [cid, cid], { tag: 'twice' })
    await expectBlob(store, made, concat([BYTES, BYTES]))
    expect((await store.tags.get('twice')).cid.equals(made.cid)).to.equal(true)
    await store.gc()
    expect((await listed(store.list())).map(({ cid }) => String(cid))).to.deep.equal([String(made.cid)])
  })

  it('reads nothing when the store has the expected blob', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    const cids = (async function * () { throw new Error('the parts were read') })()
    expect(await store.compose(cids, { expect: cid })).to.deep.include({ size: BYTES.length, isNew: false })
  })

  it('reports its progress in bytes of the new blob', async () => {
    const { store } = await newStore()
    const cids = []
    for (const part of parts([MIB, 2 * MIB])) cids.push((await store.put(part)).cid)
    const events = []
    await joined(store, cids, { onProgress: event => events.push(event) })
    const detail = { done: 3 * MIB, total: 3 * MIB, unit: 'bytes' }
    expect(events.at(-1)).to.deep.equal({ type: 'baobox:compose', detail })
    const done = events.map(({ detail }) => detail.done)
    expect(done).to.deep.equal([...new Set(done)].sort((a, b) => a - b))
  })

  it('needs all bytes of every blob', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    const lacking = BYTES.subarray(5)
    const first = { start: 0, end: MIB }
    expect(await errorOf(joined(store, [cid, hash(lacking)]))).to.include({ code: 'STORE_NOT_FOUND' })
    await store.receive(hash(lacking), sliceOf(lacking, first), first)
    expect(await errorOf(joined(store, [cid, hash(lacking)]))).to.include({ code: 'STORE_MISSING' })
    expect(isHeld(store, hash(BYTES)), 'is let go').to.equal(false)
    expect(same(await store.bytes(cid), BYTES)).to.equal(true)
    expect(await listed(store.list())).to.have.length(2)
  })

  it('ends when it is aborted while it waits for parts', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    const controller = new AbortController()
    const reason = new Error('enough')
    const parts = (async function * () {
      yield { cid }
      controller.abort(reason)
      await new Promise(() => {})
    })()
    expect(await errorOf(store.compose(parts, { signal: controller.signal }))).to.equal(reason)
    expect(isHeld(store, hash(BYTES)), 'is let go').to.equal(false)
  })

  it('refuses values that are not lists of parts', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(BYTES)
    for (const bad of [undefined, cid, String(cid), cid.bytes, { cid }, [5], [undefined], [cid.bytes]]) {
      await expectSlip('parts', () => store.compose(bad))
    }
    await expectSlip('cid', () => store.compose([{ cid: 5 }]))
    await expectSlip('source', () => store.compose([{}]))
    await expectSlip('source', () => store.compose([{ cid, source: BYTES }]))
    await expectSlip('start', () => store.compose([{ source: BYTES, start: 1 }]))
    await expectSlip('expectation', () => store.compose([{ cid }], { expectation: cid }))
  })
})
