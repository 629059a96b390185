// deleteMany() deletes blobs in batches of a thousand.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { GROUP } from '../../../support/constants.js'
import { errorOf, listed, stream } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { damageRecord, databasesOf } from '../../../support/store/inspect.js'
import { expectNoOrphans, newStores, sliceOf } from '../../../support/store/stores.js'

const BLOBS = Array.from({ length: 2500 }, (_, i) => noise(20 + i % 3, i + 1))
const ROOTS = BLOBS.map(bytes => hash(bytes))

describe('store: deleteMany()', () => {
  const newStore = newStores()

  it('deleteMany() deletes the blobs that the store has, and counts them', async () => {
    const { store, place } = await newStore()
    await listed(store.putMany(BLOBS))
    const part = noise(9 * GROUP)
    const first = { start: 0, end: GROUP }
    await store.receive(hash(part), sliceOf(part, first), first)
    const cids = [...ROOTS.slice(0, 2400), ROOTS[5], hash(part), hash(noise(50)), hash(new Uint8Array(0))]
    const bytes = BLOBS.slice(0, 2400).reduce((sum, { length }) => sum + length, GROUP)
    const events = []
    const deleted = await store.deleteMany(stream(cids), { onProgress: event => events.push(event) })
    expect(deleted).to.deep.equal({ blobs: 2401, bytes })
    expect(events.map(({ type, detail }) => [type, detail.unit, detail.done])).to.deep.equal(
      [1000, 2000, 2404].map(done => ['baobox:delete', 'cids', done])
    )
    expect(await listed(store.list())).to.have.length(100)
    await store.close()
    await expectNoOrphans(place)
  })

  it('deleteMany() writes a thousand deletions in one batch', async () => {
    const { store } = await newStore()
    await listed(store.putMany(BLOBS))
    const { index } = databasesOf(store)
    let batches = 0
    const { batch } = index
    index.batch = function (...args) {
      batches++
      return batch.apply(index, args)
    }
    await store.deleteMany(ROOTS)
    expect(batches).to.be.at.most(6)
  })

  it('a tagged blob ends it: the blobs before it are deleted, and those after it are not', async () => {
    const { store } = await newStore()
    await listed(store.putMany(BLOBS))
    await store.tags.set('a', ROOTS[1500])
    const error = await errorOf(store.deleteMany(ROOTS))
    expect(error).to.include({ code: 'STORE_TAGGED', tag: 'a' })
    expect(await listed(store.list())).to.have.length(1000)
    expect(await store.has(ROOTS[1499])).to.equal(false)
    expect(await store.has(ROOTS[1500])).to.equal(true)
    expect(await store.deleteMany(ROOTS, { force: true })).to.include({ blobs: 1000 })
  })

  it('a damaged record is deleted like any other record', async () => {
    const { store, index } = await newStore()
    await listed(store.putMany(BLOBS.slice(0, 3)))
    await damageRecord(index, ROOTS[1])
    expect(await store.deleteMany(ROOTS)).to.include({ blobs: 3 })
    expect(await store.info()).to.include({ blobs: 0 })
  })

  it('an abort, or a failing source, ends it between two writes', async () => {
    const { store } = await newStore()
    await listed(store.putMany(BLOBS))
    const reason = new Error('enough')
    const controller = new AbortController()
    const onProgress = () => controller.abort(reason)
    expect(await errorOf(store.deleteMany(ROOTS, { signal: controller.signal, onProgress }))).to.equal(reason)
    expect(await listed(store.list())).to.have.length(1500)
    const failing = (async function * () {
      yield ROOTS[2000]
      throw reason
    })()
    expect(await errorOf(store.deleteMany(failing))).to.equal(reason)
    expect(await store.has(ROOTS[2000])).to.equal(true)
  })

  it('deleteMany() refuses a single CID', async () => {
    const { store } = await newStore()
    for (const bad of [ROOTS[0], 'text', 5, null]) await expectSlip('cids', () => store.deleteMany(bad))
  })
})
