// close() in the middle of other calls.
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { same } from '../support/bytes.js'
import { MIB } from '../support/constants.js'
import { pairsOf, someOf, strideAtEffort } from '../support/effort.js'
import { collect, errorOf, listed, ragged, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { idsIn } from '../support/store/inspect.js'
import { expectNoOrphans, gated, newStores, sliceOf } from '../support/store/stores.js'

describe('store: close()', () => {
  const newStore = newStores()
  const bytes = noise(MIB, 5)
  const root = hash(bytes)

  it('after close() every call fails with STORE_CLOSED', async () => {
    const { store } = await newStore()
    await store.put(bytes)
    await store.close()
    const calls = {
      put: () => store.put(bytes),
      compose: () => store.compose([{ cid: root }]),
      get: () => collect(store.get(root)),
      bytes: () => store.bytes(root),
      stream: () => collect(store.stream(root)),
      has: () => store.has(root),
      stat: () => store.stat(root),
      list: () => collect(store.list()),
      delete: () => store.delete(root),
      slice: () => collect(store.slice(root)),
      receive: () => store.receive(root, sliceOf(bytes)),
      missing: () => store.missing(root),
      'tags.set': () => store.tags.set('a', root),
      'tags.get': () => store.tags.get('a'),
      'tags.delete': () => store.tags.delete('a'),
      'tags.rename': () => store.tags.rename('a', 'b'),
      'tags.list': () => collect(store.tags.list()),
      tempTag: () => store.tempTag(),
      gc: () => store.gc(),
      compact: () => store.compact()
    }
    for (const [name, call] of Object.entries(calls)) {
      expect(await errorOf(call), name).to.include({ code: 'STORE_CLOSED' })
    }
    await store.close() // may be called twice
  })

  it('a second close() also resolves only when the store is closed', async () => {
    const { store, index } = await newStore()
    const first = store.close()
    await store.close()
    expect(index.status).to.equal('closed')
    await first
  })

  it('a store is closed at the end of a scope with `await using`', async () => {
    const { store, index } = await newStore()
    await store[Symbol.asyncDispose]()
    expect(index.status).to.equal('closed')
  })

  it('close() ends a put, a receive or a read with STORE_CLOSED', async () => {
    const large = noise(9 * MIB, 6)
    const slice = sliceOf(large)
    const { store, place } = await newStore()
    await store.put(bytes)
    const put = gated([large.subarray(0, 6 * MIB)], [large.subarray(6 * MIB)])
    const receive = gated([slice.subarray(0, 6 * MIB)], [slice.subarray(6 * MIB)])
    const [putting, receiving] = [errorOf(store.put(put.source)), errorOf(store.receive(hash(large), receive.source))]
    const reading = store.get(root)
    await reading.next()
    await put.reached
    await receive.reached
    await store.close()
    put.open()
    receive.open()
    expect(await putting).to.include({ code: 'STORE_CLOSED' })
    expect(await receiving).to.include({ code: 'STORE_CLOSED' })
    const rest = await errorOf(collect(reading))
    if (rest) expect(rest).to.include({ code: 'STORE_CLOSED' })

    const again = await place.open()
    expect(await again.has(hash(large))).to.equal(false)
    const { present } = await again.stat(hash(large))
    expect(present.contains(0, 5 * 1024), 'groups received before are kept').to.equal(true)
    expect(same(await again.bytes(hash(large), { end: 5 * MIB }), large.subarray(0, 5 * MIB))).to.equal(true)
    expect((await again.fsck()).isSound).to.equal(true)
    await again.close()
    await expectNoOrphans(place)
  })

  it('close() does not wait for sources, not even for a source that waits for close()', async () => {
    const large = noise(3 * MIB, 7)
    for (const job of [
      (store, source) => store.put(source(large)),
      (store, source) => store.receive(hash(large), source(sliceOf(large))),
      (store, source) => listed(store.putMany(source(large))),
      (store, source) => store.compose([{ cid: root, end: 5 }, { source: source(large) }])
    ]) {
      const { store } = await newStore()
      await store.put(bytes)
      const source = async function * (bytes) {
        yield bytes.subarray(0, MIB)
        await store.close()
        yield bytes.subarray(MIB)
      }
      expect(await errorOf(job(store, source))).to.include({ code: 'STORE_CLOSED' })
      await store.close()
    }
  })

  it('after close() nothing is written, even if the databases are opened again immediately', async () => {
    const large = noise(MIB + 70_000, 7)
    const jobs = {
      receive: store => store.receive(hash(large), stream(ragged(sliceOf(large), 3))),
      put: store => store.put(stream(ragged(large, 4))),
      putMany: store => listed(store.putMany(stream([large.subarray(0, 1000), large]))),
      'compose with a source': store => store.compose([{ cid: root, end: 1000 }, { source: stream(ragged(large, 4)) }]),
      compose: store => store.compose([{ cid: root }, { cid: root }])
    }
    const moments = someOf(Array.from({ length: 20 }, (_, turns) => turns))
    for (const [[what, job], turns] of pairsOf(Object.entries(jobs), moments)) {
      const { store, place, data } = await newStore()
      await store.put(bytes)
      const working = errorOf(job(store))
      for (let i = 0; i < turns; i++) await new Promise(resolve => setTimeout(resolve))
      await store.close()
      const again = await place.open()
      let isLate = false
      const { batch } = data
      data.batch = function (...args) {
        isLate = true
        return batch.apply(this, args)
      }
      const error = await working
      if (error) expect(error).to.include({ code: 'STORE_CLOSED' })
      expect(isLate, `${what}, after ${turns} turns`).to.equal(false)
      expect(await again.fsck(), `${what}, after ${turns} turns`).to.include({ isSound: true })
      delete data.batch
      await again.close()
      await expectNoOrphans(place)
    }
  })

  it('close() in the middle of a delete leaves no data after the next opening', async () => {
    for (let steps = 0; steps < 30; steps += strideAtEffort()) {
      const { store, place } = await newStore()
      await store.put(bytes)
      const deleting = errorOf(store.delete(root))
      for (let i = 0; i < steps; i++) await undefined
      await store.close()
      const error = await deleting
      const again = await place.open()
      const isThere = await again.has(root)
      if (isThere) expect(same(await again.bytes(root), bytes)).to.equal(true)
      await again.close()
      await place.look(
        async ({ data }) => expect(await idsIn(data), `after ${steps} steps`).to.have.length(isThere ? 1 : 0)
      )
      if (error) expect(error, `after ${steps} steps`).to.include({ code: 'STORE_CLOSED' })
    }
  })
})
