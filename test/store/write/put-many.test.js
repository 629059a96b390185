// Many blobs in one call: in batches, in order, and without mix-ups.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { flipped, same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { turns } from '../../support/fake-clock.js'
import { collect, errorOf, oneByOne, ragged, readable, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { afterNextLookup, databasesOf, entriesOf } from '../../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, newStores, sliceOf } from '../../support/store/stores.js'

const SIZES = [0, 1, 1024, 4096, 16_384, 16_385, 65_536, 65_537, 300_000, MIB, MIB + 1, 2 * MIB + 5]

describe('store: putMany() and getMany()', () => {
  forEachPlace(newPlace => {
    it('keep and give blobs of any size in their order', async () => {
      const place = await newPlace()
      let store = await place.open()
      const blobs = [...SIZES, ...SIZES.slice(2)].map((size, i) => noise(size, 300 + i))
      const put = await all(store.putMany(blobs))
      expect(put.map(({ cid }) => cid.toString())).to.deep.equal(blobs.map(bytes => toCid(hash(bytes)).toString()))
      expect(put.map(({ size }) => size)).to.deep.equal(blobs.map(({ length }) => length))
      expect(put.map(({ isNew }) => isNew)).to.deep.equal(blobs.map(({ length }) => length > 0))
      for (let life = 0; life < 2; life++) {
        const got = await all(store.getMany(put.map(({ cid }) => cid).reverse()))
        for (const [i, { cid, bytes }] of got.reverse().entries()) {
          expect(cid.toString()).to.equal(put[i].cid.toString())
          expect(same(bytes, blobs[i]), `blob ${i}`).to.equal(true)
          expect(same(await collect(store.slice(cid)), sliceOf(blobs[i])), `slice of blob ${i}`).to.equal(true)
        }
        await store.close()
        store = await place.open()
      }
      await store.close()
      await expectNoOrphans(place)
    })

    it('putMany() takes any source that put() takes', async () => {
      const store = await newPlace().then(place => place.open())
      const blobs = [1, 2, 3, 4].map(i => noise(50_000 * i, 330 + i))
      const sources = [
        blobs[0], new Blob([blobs[1]]), stream([blobs[2].subarray(0, 7), blobs[2].subarray(7)]),
        blobs[3]
      ]
      const put = await all(store.putMany(stream(sources)))
      for (const [i, { cid }] of put.entries()) {
        expect(same(await store.bytes(cid), blobs[i]), `source ${i}`).to.equal(true)
      }
    })

    it('putMany() takes more than a batch, and the same blob twice', async () => {
      const place = await newPlace()
      const store = await place.open()
      const one = noise(20, 340)
      const { cid: first } = await store.put(one)
      const twin = noise(3000, 341)
      const blobs = [one, twin, ...Array.from({ length: 3000 }, (_, i) => noise(10 + i % 50, 1000 + i)), twin, one]
      const isNew = (await all(store.putMany(blobs))).map(({ isNew }) => isNew)
      const names = blobs.map(bytes => toCid(hash(bytes)).toString())
      const seen = new Set([first.toString()])
      expect(isNew).to.deep.equal(names.map(name => !seen.has(name) && Boolean(seen.add(name))))
      const got = await all(store.getMany(names))
      expect(got.every(({ bytes }, i) => same(bytes, blobs[i]))).to.equal(true)
      await store.close()
      await expectNoOrphans(place)
    })

    it('getMany() gives each result its own memory, also when a blob is asked for twice', async () => {
      const store = await newPlace().then(place => place.open())
      const bytes = noise(16_384, 345)
      await all(store.putMany([noise(100), bytes]))
      const asked = Array(3).fill(toCid(hash(bytes)))
      for (const many of [store.getMany(asked), asBlockstore(store).getMany(asked)]) {
        const got = (await all(many)).map(({ bytes }) => bytes)
        const pieces = got[0] instanceof Uint8Array ? got : await Promise.all(got.map(collect))
        expect(new Set(pieces.map(({ buffer }) => buffer)).size).to.equal(3)
        for (const { length, buffer } of pieces) expect(buffer.byteLength).to.equal(length)
        pieces[0].fill(0)
        expect(same(pieces[1], bytes)).to.equal(true)
      }
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })

    it('two calls of putMany() with the same blobs at the same time store each once', async () => {
      const place = await newPlace()
      const store = await place.open()
      const blobs = Array.from({ length: 30 }, (_, i) => noise(16_384 - i, 2100 + i))
      const results = await Promise.all([all(store.putMany(blobs)), all(store.putMany([...blobs].reverse()))])
      expect(results.flat().filter(({ isNew }) => isNew)).to.have.length(30)
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      await store.close()
      await expectNoOrphans(place)
    })

    it('getMany() reports a blob that is deleted after its lookup at its place in the order', async () => {
      const store = await newPlace().then(place => place.open())
      const [bytes, other] = [noise(3000, 346), noise(3000, 347)]
      await all(store.putMany([bytes, other]))
      afterNextLookup(store, () => store.delete(hash(bytes)))
      const [gone, got] = await all(store.getMany([hash(bytes), hash(other)]))
      expect(gone.error).to.include({ code: 'STORE_NOT_FOUND' })
      expect(same(got.bytes, other)).to.equal(true)
    })

    it('every write gives the databases values that use their whole memory', async () => {
      const place = await newPlace()
      const store = await place.open()
      await all(store.putMany(Array.from({ length: 50 }, (_, i) => noise(4000 + i, 2000 + i))))
      await store.put(stream([...oneByOne(noise(20, 344)), ...ragged(noise(140_000, 342), 16_384)]))
      const received = noise(200_000, 343)
      const range = { start: 70_000, end: 140_000 }
      await store.receive(hash(received), stream([sliceOf(received, range)]), range)
      await store.close()
      await place.look(async ({ index, data }) => {
        for (const value of [...await index.values().all(), ...await data.values().all()]) {
          // IndexedDB writes the whole buffer of a value, and memory-level keeps it.
          expect(value.buffer.byteLength, `a value of ${value.length} bytes`).to.be.at.most(value.length + 64)
        }
      })
    })
  })

  const newStore = newStores()

  it('putMany() replaces blobs that were received in part', async () => {
    const { store, place } = await newStore()
    const bytes = noise(100_000, 350)
    const range = { start: 0, end: 16_384 }
    await store.receive(hash(bytes), sliceOf(bytes, range), range)
    expect((await all(store.putMany([bytes])))[0].isNew).to.equal(true)
    expect(await store.stat(hash(bytes))).to.include({ complete: true })
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    await store.close()
    await expectNoOrphans(place)
  })

  it('putMany() copies its blobs, and getMany() gives memory that callers may keep', async () => {
    const { store } = await newStore()
    const buffer = new Uint8Array(500)
    const put = await all(store.putMany((function * () {
      for (let i = 0; i < 10; i++) yield buffer.fill(i)
      buffer.fill(99)
    })()))
    for await (const { bytes } of store.getMany(put.map(({ cid }) => cid))) bytes.fill(0xff)
    for (const [i, { cid }] of put.entries()) {
      expect(same(await store.bytes(cid), new Uint8Array(500).fill(i))).to.equal(true)
    }
  })

  it('getMany() reports each missing or damaged blob at its place in the order', async () => {
    const { store, data } = await newStore()
    const [good, damaged, part, gone] = [200, 20_000, 100_000, 300].map((size, i) => noise(size, 360 + i))
    await all(store.putMany([good, damaged]))
    await store.receive(hash(part), sliceOf(part, { start: 0, end: 16_384 }), { start: 0, end: 16_384 })
    const entry = (await entriesOf(data)).find(({ value }) => value.length === damaged.length)
    await entry.put(flipped(entry.value, 5))
    const got = await all(store.getMany([hash(gone), hash(good), hash(part), hash(damaged), hash(good)]))
    expect(got.map(({ error }) => error?.code))
      .to.deep.equal(['STORE_NOT_FOUND', undefined, 'STORE_MISSING', 'STORE_CORRUPT', undefined])
    expect(got[3].error).to.include({ start: 0, len: 16_384 })
    expect(same(got[1].bytes, good) && same(got[4].bytes, good)).to.equal(true)
  })

  it('getMany() does not read blobs longer than "maxBytes", even if that size is only a claim', async () => {
    const { store } = await newStore()
    const [short, limit, long, part] = [10, 1000, 1001, 5_000_000].map((size, i) => noise(size, 370 + i))
    await all(store.putMany([short, limit, long]))
    await store.receive(hash(part), sliceOf(part, { start: 0, end: 16_384 }), { start: 0, end: 16_384 })
    const got = await all(store.getMany([short, long, limit, part].map(bytes => hash(bytes)), { maxBytes: 1000 }))
    expect(got.map(({ bytes }) => bytes?.length)).to.deep.equal([10, undefined, 1000, undefined])
    expect(got[1].error).to.include({ code: 'BLOB_TOO_LONG', len: 1001 })
    expect(got[3].error).to.include({ code: 'BLOB_TOO_LONG', len: 5_000_000 })
    expect(`${got[3].error.cid}`).to.equal(`${toCid(hash(part))}`)
    for (const maxBytes of [-1, 1.5, '10']) {
      expect(() => store.getMany([], { maxBytes }), maxBytes).to.throw(/maxBytes/)
    }
  })

  for (const quota of [undefined, 10_000_000]) {
    const where = quota === undefined ? '' : ' under a quota'
    it(`putMany()${where} compares each blob with its expected hash`, async () => {
      const { store, place } = await newStore({ quota })
      const sizes = [0, 10, 16_384, 16_385, MIB, MIB + 1]
      const blobs = sizes.map((size, i) => noise(size, 380 + i))
      const right = blobs.map(source => ({ source, expect: hash(source) }))
      await store.put(blobs[1]) // It is compared, too.
      for (const [i, wrong] of blobs.entries()) {
        const given = [...right]
        given[i] = { source: wrong, expect: toCid(hash(noise(5, 390))) }
        const kept = []
        const error = await errorOf(async () => { for await (const one of store.putMany(given)) kept.push(one) })
        expect(error).to.include({ code: 'CID_MISMATCH' })
        expect(`${error.cid} ${error.actual}`).to.equal(`${given[i].expect} ${toCid(hash(wrong))}`)
        expect(kept.map(({ size }) => size)).to.deep.equal(sizes.slice(0, i))
        for (const bytes of blobs.slice(Math.max(i, 2))) {
          expect(await store.has(hash(bytes)), `${bytes.length}`).to.equal(false)
        }
        await store.deleteMany(kept.filter(({ isNew }) => isNew).map(({ cid }) => cid))
      }
      expect((await all(store.putMany(right))).map(({ cid }) => `${cid}`))
        .to.deep.equal(blobs.map(bytes => `${toCid(hash(bytes))}`))
      await store.close()
      await expectNoOrphans(place)
    })
  }

  it('putMany() keeps long blobs as they were given when their buffer is reused', async () => {
    const { store } = await newStore()
    const lent = new Uint8Array(MIB + 1)
    for (const given of [
      function * () { for (let i = 1; i <= 4; i++) yield lent.fill(i) },
      async function * () { for (let i = 1; i <= 4; i++) yield lent.fill(i) }
    ]) {
      const put = await all(store.putMany(given()))
      expect(put.map(({ cid }) => cid.toString()))
        .to.deep.equal([1, 2, 3, 4].map(i => toCid(hash(lent.fill(i))).toString()))
      for (const [i, { cid }] of put.entries()) {
        expect(same(await store.bytes(cid), lent.fill(i + 1)), `blob ${i}`).to.equal(true)
      }
    }
    expect(await errorOf(all(store.putMany([transferred()]))))
      .to.be.instanceOf(TypeError).and.have.property('message').that.includes('transferred')
    expect(await errorOf(store.put(transferred())))
      .to.be.instanceOf(TypeError).and.have.property('message').that.includes('transferred')
    expect(await all(store.list())).to.have.length(4)
  })

  it('putMany() refuses what is no source, and names that it does not know, after the blobs before them', async () => {
    for (const options of [{}, { quota: 8 * MIB }]) {
      for (const [wrong, message] of [
        [null, '"source"'], [undefined, '"source"'], [5, '"source"'], [{}, '"source"'],
        [{ source: null }, '"source"'], [{ source: noise(5), tag: 'x' }, '"tag"']
      ]) {
        for (const given of [items => items, stream]) {
          const { store } = await newStore(options)
          const kept = []
          const error = await errorOf(async () => {
            for await (const { size } of store.putMany(given([noise(7), wrong, noise(9)]))) kept.push(size)
          })
          expect(error).to.be.instanceOf(TypeError).and.have.property('message').that.includes(message)
          expect(kept).to.deep.equal([7])
        }
      }
    }
  })

  it('putMany() and getMany() yield to the event loop', async () => {
    const { store } = await newStore()
    const bytes = noise(10, 350)
    const forEver = function * (what) { for (;;) yield what }
    for (const many of [
      signal => store.putMany(forEver(bytes), { signal }),
      signal => store.getMany(forEver(hash(bytes)), { signal })
    ]) {
      expect(await errorOf(all(many(AbortSignal.timeout(30))))).to.have.property('name', 'TimeoutError')
    }
  })

  it('getMany() gives the blobs that were asked for before its source failed', async () => {
    const { store } = await newStore()
    const reason = new Error('the source is broken')
    const bytes = noise(10, 351)
    await store.put(bytes)
    const got = []
    const asked = function * () {
      for (let i = 0; i < 150; i++) yield hash(bytes)
      throw reason
    }
    expect(await errorOf(async () => { for await (const one of store.getMany(asked())) got.push(one) }))
      .to.equal(reason)
    expect(got.filter(one => same(one.bytes, bytes))).to.have.length(150)
  })

  it('putMany() keeps and reports the blobs that came before its source failed', async () => {
    const { store, place } = await newStore()
    const reason = new Error('no more')
    const results = []
    const error = await errorOf(async () => {
      for await (const result of store.putMany((async function * () {
        for (let i = 0; i < 1500; i++) yield noise(10, 400 + i)
        throw reason
      })())) results.push(result)
    })
    expect(error).to.equal(reason)
    expect(results).to.have.length(1500)
    for (const { cid } of results) expect(await store.has(cid)).to.equal(true)
    await store.close()
    await expectNoOrphans(place)
  })

  it('putMany() under a quota keeps blobs up to the one that does not fit', async () => {
    const { store, place } = await newStore({ quota: 10_000 })
    const blobs = Array.from({ length: 20 }, (_, i) => noise(i === 10 ? 20_000 : 10, 500 + i))
    let given = 0
    const told = []
    const error = await errorOf(async () => {
      for await (const result of store.putMany(
        (function * () { for (const bytes of blobs) { given++; yield bytes } })()
      )) {
        told.push(result)
      }
    })
    expect(error).to.include({ code: 'STORE_FULL' })
    expect(told.map(({ cid }) => cid.toString()))
      .to.deep.equal(blobs.slice(0, 10).map(bytes => toCid(hash(bytes)).toString()))
    expect(given, 'nothing after it was asked for').to.equal(11)
    const names = async () => (await all(store.list())).map(({ cid }) => cid.toString())
    expect(await names()).to.have.members(told.map(({ cid }) => cid.toString()))
    await turns()
    expect(await names()).to.have.length(10)
    await store.close()
    await expectNoOrphans(place)
  })

  it('putMany() fails only when all writes have ended, and reads no source after the failure', async () => {
    const { store, data } = await newStore()
    const reason = new Error('the disk is full')
    const { batch } = data
    let calls = 0
    let underWay = 0
    data.batch = async (...args) => {
      const isFirst = calls++ === 0
      underWay++
      await turns(isFirst ? 5 : 40)
      underWay--
      if (isFirst) throw reason
      return batch.apply(data, args)
    }
    const small = Array.from({ length: 2100 }, (_, i) => noise(10, 3000 + i))
    expect(await errorOf(all(store.putMany(small)))).to.equal(reason)
    expect(underWay).to.equal(0)
    calls = 0
    const { source, seen } = unread()
    expect(await errorOf(all(store.putMany([noise(10, 5201), source])))).to.equal(reason)
    expect(seen).to.deep.equal(['cancel'])
    data.batch = batch
  })

  it('putMany() cancels the stream of a blob that it refuses', async () => {
    for (const quota of [undefined, MIB]) {
      const { store } = await newStore({ quota })
      for (const named of [{ expect: 5 }, { alias: toCid(hash(noise(10))) }]) {
        for (const give of [blobs => blobs, stream, readable]) {
          const { source, seen } = unread()
          await expectSlip(Object.keys(named)[0], () => all(store.putMany(give([{ source, ...named }]))))
          expect(seen).to.deep.equal(['cancel'])
        }
      }
    }
  })

  for (const options of [{}, { quota: 2 * MIB }]) {
    const where = options.quota === undefined ? '' : ' also under a quota,'
    it(`putMany() protects its blobs by a temporary tag,${where} until the tag is released`, async () => {
      const { store } = await newStore(options)
      const tag = store.tempTag()
      let collected
      const blobs = [...SIZES.slice(1, -1).map((size, i) => noise(Math.min(size, 200_000), i))]
      for await (const { cid } of store.putMany(blobs, { tag })) {
        collected = await store.gc()
        expect(await store.has(cid)).to.equal(true)
      }
      expect(collected).to.include({ blobs: 0 })
      tag.release()
      expect(await store.gc()).to.include({ blobs: blobs.length })
    })
  }

  it('putMany() leaves no id under way when its tag was released before the blobs came', async () => {
    const { store, place } = await newStore()
    const { ids } = databasesOf(store)
    const tag = store.tempTag()
    const blobs = (async function * () {
      tag.release()
      yield noise(10, 560)
    })()
    await expectSlip('tag', () => all(store.putMany(blobs, { tag })), [TypeError])
    expect([...ids.underWay]).to.deep.equal([])
    expect(await all(store.list())).to.deep.equal([])
    await store.close()
    await expectNoOrphans(place)
  })

  it('putMany() refuses tags that are not temporary tags of this store', async () => {
    const [{ store }, { store: other }] = [await newStore(), await newStore()]
    const released = store.tempTag()
    released.release()
    for (const tag of ['name', {}, null, other.tempTag(), released]) {
      await expectSlip('tag', () => all(store.putMany([noise(10)], { tag })), [TypeError])
    }
    expect(await store.has(hash(noise(10)))).to.equal(false)
  })

  it('putMany() that cannot write leaves nothing after the next opening', async () => {
    for (const database of ['index', 'data']) {
      const made = await newStore()
      const { batch } = made[database]
      const reason = new Error('the disk is full')
      made[database].batch = () => Promise.reject(reason)
      expect(await errorOf(all(made.store.putMany([noise(10), noise(20_000)])))).to.equal(reason)
      made[database].batch = batch
      expect(await all(made.store.list())).to.deep.equal([])
      await made.store.close()
      const again = await made.place.open()
      expect(await entriesOf(made.data)).to.deep.equal([])
      expect(await all(again.list())).to.deep.equal([])
    }
  })

  it('putMany() and getMany() end when they are aborted, and release their sources', async () => {
    const { store } = await newStore()
    const controller = new AbortController()
    const reason = new Error('enough')
    let isClosed = false
    const source = (async function * () {
      try {
        for (let i = 0; ; i++) {
          if (i === 1200) controller.abort(reason)
          yield noise(10, 400 + i)
        }
      } finally {
        isClosed = true
      }
    })()
    expect(await errorOf(all(store.putMany(source, { signal: controller.signal })))).to.equal(reason)
    expect(isClosed).to.equal(true)
    const { signal } = controller
    const late = new AbortController()
    const last = function * () {
      yield noise(10, 399)
      late.abort(reason)
    }
    expect(await errorOf(all(store.putMany(last(), { signal: late.signal }))), 'at the very end').to.equal(reason)
    expect(await errorOf(all(store.putMany([], { signal })))).to.equal(reason)
    expect(await errorOf(all(store.putMany([new Promise(() => {})], { signal: AbortSignal.timeout(20) }))))
      .to.have.property('name', 'TimeoutError')
    const slow = new AbortController()
    const promised = [new Promise(resolve => setTimeout(resolve, 20, noise(10, 398)))]
    promised[0].then(() => slow.abort(reason))
    expect(await errorOf(all(store.putMany(promised, { signal: slow.signal })))).to.equal(reason)
    expect(await store.has(hash(noise(10, 398)))).to.equal(false)
    expect(await errorOf(all(store.getMany([hash(noise(10))], { signal: controller.signal })))).to.equal(reason)
  })

  it('putMany() and getMany() that are aborted do not wait for a stuck source, and keep earlier blobs', async () => {
    const { store } = await newStore()
    const stuck = async function * (items, onStuck) {
      yield * items
      onStuck()
      await new Promise(() => {})
    }
    for (const [what, many] of [
      ['putMany', (signal, onStuck) => store.putMany(stuck([noise(10), noise(20_000)], onStuck), { signal })],
      ['getMany', (signal, onStuck) => store.getMany(stuck([hash(noise(10))], onStuck), { signal })]
    ]) {
      const controller = new AbortController()
      const reason = new Error('enough')
      const onStuck = () => turns().then(() => controller.abort(reason))
      expect(await errorOf(all(many(controller.signal, onStuck))), what).to.equal(reason)
    }
    expect(await store.bytes(hash(noise(20_000)))).to.have.length(20_000)
  })

  it('putMany() and getMany() refuse values that are not lists, and fail in closed stores', async () => {
    const { store } = await newStore()
    for (const bad of [undefined, 5, noise(10)]) await expectSlip('blobs', () => all(store.putMany(bad)))
    await expectSlip('source', () => all(store.putMany([5])))
    await store.close()
    expect(await errorOf(all(store.putMany([noise(10)])))).to.include({ code: 'STORE_CLOSED' })
    expect(await errorOf(all(store.getMany([hash(noise(10))])))).to.include({ code: 'STORE_CLOSED' })
  })
})

/** @param {AsyncIterable<any>} items */
async function all (items) {
  const out = []
  for await (const item of items) out.push(item)
  return out
}

/** A stream that notes when it is read or cancelled. */
function unread () {
  const seen = []
  const notes = { pull () { seen.push('read') }, cancel () { seen.push('cancel') } }
  const source = new ReadableStream(notes, { highWaterMark: 0 })
  return { source, seen }
}

function transferred () {
  const bytes = noise(10)
  structuredClone(bytes, { transfer: [bytes.buffer] })
  return bytes
}
