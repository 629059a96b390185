// What a store promises about its own life: what is there when it is opened again, what is left when it is closed, and what when a write fails.
import { expect } from 'chai'
import { BaoError, hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { same } from '../support/bytes.js'
import { collect, errorOf, listed, ragged, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectSlip } from '../support/slips.js'
import { LAYOUT_VERSION, changeState, entriesOf, idsIn, recordsIn, stateEntry } from '../support/store/inspect.js'
import { expectNoOrphans, forEachPlace, gated, newStores, onDisk, sliceOf } from '../support/store/stores.js'

const MIB = 1 << 20

describe('store: life', () => {
  forEachPlace(newPlace => {
    it('what was put is there when the store is opened again', async () => {
      const place = await newPlace()
      const blobs = [1, 16_385, 70_001, 5_000_000].map(size => noise(size, size))
      for (let life = 0; life < 3; life++) {
        const store = await place.open()
        for (const bytes of blobs) {
          expect(await store.has(hash(bytes))).to.equal(life > 0)
          expect(await store.put(bytes)).to.include({ isNew: life === 0 })
          expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
        }
        await store.close()
      }
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(blobs.length))
    })

    it('what was deleted is not', async () => {
      const place = await newPlace()
      const store = await place.open()
      const { cid } = await store.put(noise(3 * MIB))
      await store.delete(cid)
      await store.close()
      const again = await place.open()
      expect(await again.has(cid)).to.equal(false)
      await again.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.deep.equal([]))
    })

    it('remembers when a blob was last used', async () => {
      const place = await newPlace()
      let store = await place.open()
      const bytes = noise(20_000)
      const { cid } = await store.put(bytes)
      const { created, lastUsed: first } = await store.stat(cid)
      expect(Math.abs(created - Date.now())).to.be.lessThan(5000)
      const uses = [
        () => store.bytes(cid, { end: 5 }),
        () => collect(store.slice(cid, { start: 0, end: 1 })),
        () => store.put(bytes)
      ]
      let before = first
      for (const use of uses) {
        await later()
        await use()
        const { lastUsed } = await store.stat(cid)
        expect(lastUsed.getTime(), use.toString()).to.be.greaterThan(before.getTime())
        await later()
        await store.has(cid)
        expect((await store.stat(cid)).lastUsed, 'asking is no use').to.deep.equal(lastUsed)
        await store.close()
        store = await place.open()
        expect((await store.stat(cid)).lastUsed, 'after opening again').to.deep.equal(lastUsed)
        before = lastUsed
      }
      expect((await store.stat(cid)).created).to.deep.equal(created)
      for await (const listed of store.list()) expect(listed.lastUsed).to.deep.equal(before)
    })

    it('is not opened by a release that is too old for it', async () => {
      const place = await newPlace()
      await (await place.open()).close()
      await place.look(async ({ index }) => {
        await changeState(index, { version: LAYOUT_VERSION + 1 })
      })
      for (let attempt = 0; attempt < 2; attempt++) {
        const error = await errorOf(place.open())
        expect(error).to.be.instanceOf(BaoError)
        expect(error).to.include({ code: 'STORE_VERSION' })
      }
    })

    it('is not made when it must be there already', async () => {
      const place = await newPlace()
      for (let attempt = 0; attempt < 2; attempt++) expect(await errorOf(place.open({ create: false }))).to.include({ name: 'BaoError', code: 'STORE_ABSENT' })
      await (await place.open()).close()
      await (await place.open({ create: false })).close()
      // A store that has lost its state is one, too.
      const store = await place.open()
      await store.put(Uint8Array.of(1))
      await store.close()
      await place.look(({ index }) => stateEntry(index).remove())
      expect(await (await place.open({ create: false })).has(hash(Uint8Array.of(1)))).to.equal(true)
    })

    it('the same content, put several times at once, is stored once', async () => {
      const place = await newPlace()
      const store = await place.open()
      const blobs = [noise(100, 1), noise(6 * MIB, 2)]
      const results = await Promise.all([0, 1, 2, 3].flatMap(() => blobs.map(bytes => store.put(stream([bytes])))))
      expect(results.filter(({ isNew }) => isNew)).to.have.length(blobs.length)
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      await store.close()
      await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(blobs.length))
    })

    it('who reads a blob that is deleted finishes, or is told; never are bytes wrong', async () => {
      const bytes = noise(6 * MIB, 3)
      const root = hash(bytes)
      const slice = sliceOf(bytes)
      const place = await newPlace()
      const store = await place.open()
      const afterwards = [
        () => store.delete(root),
        async () => { await store.delete(root); await store.put(bytes) },
        async () => { await store.delete(root); await store.receive(root, sliceOf(bytes, { start: 0, end: MIB }), { start: 0, end: MIB }) }
      ]
      for (const change of afterwards) {
        for (const [read, expected] of [[() => store.get(root), bytes], [() => store.get(root, { verify: false }), bytes], [() => store.slice(root), slice]]) {
          await store.put(bytes)
          const pieces = read()
          const { value } = await pieces.next()
          let at = value.length
          await change()
          const error = await errorOf(async () => {
            for await (const piece of pieces) {
              if (!same(piece, expected.subarray(at, at + piece.length))) expect.fail(`bytes at ${at} are wrong`)
              at += piece.length
            }
          })
          // Nothing is damaged: the one thing it must not say is that.
          if (error) expect(error.code, error.stack).to.be.oneOf(['STORE_NOT_FOUND', 'STORE_CHANGED'])
          else expect(at).to.equal(expected.length)
        }
      }
    })

    it('who reads a part finishes, or is told, when the whole is put', async () => {
      const bytes = noise(6 * MIB, 4)
      const root = hash(bytes)
      const range = { start: 0, end: 5 * MIB }
      const place = await newPlace()
      const store = await place.open()
      for (const read of [() => store.get(root, range), () => store.get(root, { ...range, verify: false })]) {
        await store.receive(root, sliceOf(bytes, range), range)
        const pieces = read()
        let at = (await pieces.next()).value.length
        await store.put(bytes)
        const error = await errorOf(async () => {
          for await (const piece of pieces) {
            if (!same(piece, bytes.subarray(at, at + piece.length))) expect.fail(`bytes at ${at} are wrong`)
            at += piece.length
          }
        })
        if (error) expect(error.code, error.stack).to.equal('STORE_CHANGED')
        else expect(at).to.equal(range.end)
        await store.delete(root)
      }
    })
  })

  describe('by name', () => {
    let place
    beforeEach(async () => { place = await onDisk() })
    afterEach(() => place.remove())

    it('is open once in a process', async () => {
      const store = await place.open()
      const { cid } = await store.put(Uint8Array.of(1))
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await errorOf(place.open())).to.include({ code: 'STORE_LOCKED', location: place.where })
      }
      expect(await store.bytes(cid), 'the first is not harmed').to.deep.equal(Uint8Array.of(1))
      await store.close()
      expect(await (await place.open()).has(cid)).to.equal(true)
    })

    it('may be opened again after an opening that failed', async () => {
      await (await place.open()).close()
      const states = []
      await place.look(async ({ index }) => {
        states.push(await stateEntry(index).read())
        await changeState(index, { version: LAYOUT_VERSION + 1 })
      })
      expect(await errorOf(place.open())).to.include({ code: 'STORE_VERSION' })
      await place.look(({ index }) => stateEntry(index).write(states[0]))
      await (await place.open()).close()
    })
  })

  describe('closing', () => {
    const newStore = newStores()
    const bytes = noise(MIB, 5)
    const root = hash(bytes)

    it('ends everything: each later call is refused', async () => {
      const { store } = await newStore()
      await store.put(bytes)
      await store.close()
      const calls = {
        put: () => store.put(bytes),
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
      for (const [name, call] of Object.entries(calls)) expect(await errorOf(call), name).to.include({ code: 'STORE_CLOSED' })
      await store.close() // may be said twice
    })

    it('is waited for by whoever asks for it a second time', async () => {
      const { store, index } = await newStore()
      const first = store.close()
      await store.close()
      expect(index.status).to.equal('closed')
      await first
    })

    it('happens at the end of a scope', async () => {
      const { store, index } = await newStore()
      await store[Symbol.asyncDispose]()
      expect(index.status).to.equal('closed')
    })

    it('in the middle of a put, a receive or a read ends them with a code', async () => {
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
      expect(present.contains(0, 5 * 1024), 'what came before is kept').to.equal(true)
      expect(same(await again.bytes(hash(large), { end: 5 * MIB }), large.subarray(0, 5 * MIB))).to.equal(true)
      expect((await again.fsck()).isSound).to.equal(true)
      await again.close()
      await expectNoOrphans(place)
    })

    it('waits for no source, not even for one that waits for it', async () => {
      const large = noise(3 * MIB, 7)
      for (const job of [
        (store, source) => store.put(source(large)),
        (store, source) => store.receive(hash(large), source(sliceOf(large))),
        (store, source) => listed(store.putMany(source(large)))
      ]) {
        const { store } = await newStore()
        const source = async function * (bytes) {
          yield bytes.subarray(0, MIB)
          await store.close()
          yield bytes.subarray(MIB)
        }
        expect(await errorOf(job(store, source))).to.include({ code: 'STORE_CLOSED' })
        await store.close()
      }
    })

    it('has nothing written any more, also where the databases are opened again at once', async () => {
      const large = noise(2 * MIB, 7)
      const jobs = {
        receive: store => store.receive(hash(large), stream(ragged(sliceOf(large), 3))),
        put: store => store.put(stream(ragged(large, 4))),
        putMany: store => listed(store.putMany(stream([large.subarray(0, 1000), large])))
      }
      for (const [what, job] of Object.entries(jobs)) {
        for (let turns = 0; turns < 20; turns++) {
          const { store, place, data } = await newStore()
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
      }
    })

    it('in the middle of a delete leaves nothing behind, at the latest when it is opened again', async () => {
      for (let steps = 0; steps < 30; steps++) {
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
        await place.look(async ({ data }) => expect(await idsIn(data), `after ${steps} steps`).to.have.length(isThere ? 1 : 0))
        if (error) expect(error, `after ${steps} steps`).to.include({ code: 'STORE_CLOSED' })
      }
    })
  })

  describe('writes that fail', () => {
    const newStore = newStores()
    const large = noise(10 * MIB, 7)
    const small = noise(3000, 8)

    /** Neither the store nor its databases show anything. */
    async function expectNothing ({ store, place, index, data }) {
      expect(await listed(store.list())).to.have.length(0)
      expect(await store.has(hash(large))).to.equal(false)
      expect(await entriesOf(data)).to.deep.equal([])
      expect(await recordsIn(index)).to.deep.equal([])
      await store.close()
      const again = await place.open()
      expect(await listed(again.list())).to.have.length(0)
    }

    for (const place of [0, 1, 100_000, 5 * MIB, 10 * MIB]) {
      it(`a put whose source throws after ${place} bytes leaves nothing`, async () => {
        const made = await newStore()
        const reason = new Error('no more')
        const source = (async function * () {
          yield * stream([large.subarray(0, place >> 1), large.subarray(place >> 1, place)])
          throw reason
        })()
        expect(await errorOf(made.store.put(source))).to.equal(reason)
        await expectNothing(made)
      })

      it(`a put that is aborted after ${place} bytes leaves nothing`, async () => {
        const made = await newStore()
        const controller = new AbortController()
        const reason = new Error('enough')
        if (place === 0) controller.abort(reason)
        let isClosed = false
        const source = (async function * () {
          try {
            for (let at = 0; at < large.length; at += 100_000) yield large.subarray(at, at + 100_000)
          } finally {
            isClosed = true
          }
        })()
        const onProgress = ({ detail }) => { if (detail.done >= place) controller.abort(reason) }
        expect(await errorOf(made.store.put(source, { signal: controller.signal, onProgress }))).to.equal(reason)
        if (place > 0) expect(isClosed, 'the source is let go').to.equal(true)
        await expectNothing(made)
      })
    }

    it('a put whose pieces are no bytes leaves nothing', async () => {
      const made = await newStore()
      await expectSlip('piece of the source', () => made.store.put([large, 'text']))
      await expectNothing(made)
    })

    it('a put whose data cannot be written leaves nothing', async () => {
      for (let failing = 0; failing < 4; failing++) {
        const made = await newStore()
        const reason = new Error('the disk is full')
        failOnce(made.data, 'batch', failing, reason)
        const error = await errorOf(made.store.put(large))
        if (failing < 3) expect(error).to.equal(reason)
        if (error) await expectNothing(made)
      }
    })

    it('a put whose record cannot be written leaves nothing once the store is opened again', async () => {
      const made = await newStore()
      const reason = new Error('the disk is full')
      failOnce(made.index, 'batch', 0, reason)
      expect(await errorOf(made.store.put(large))).to.equal(reason)
      expect(await listed(made.store.list())).to.have.length(0)
      await made.store.close()
      await expectNothing({ ...made, store: await made.place.open() })
    })

    it('a put that cannot clean up after itself leaves nothing once the store is opened again', async () => {
      const made = await newStore()
      failOnce(made.data, 'clear', 0, new Error('the disk is full'))
      const reason = new Error('no more')
      const source = (async function * () {
        yield large
        throw reason
      })()
      expect(await errorOf(made.store.put(source))).to.equal(reason)
      await made.store.close()
      const again = await made.place.open()
      await expectNothing({ ...made, store: again })
    })

    it('a put that cannot delete the part it replaces does not lose the whole', async () => {
      const { store, place, data } = await newStore()
      const range = { start: 0, end: MIB }
      await store.receive(hash(large), sliceOf(large, range), range)
      failOnce(data, 'clear', 0, new Error('the disk is full'))
      await errorOf(store.put(large))
      // Whatever was answered: what is said to be there is there.
      if (await store.has(hash(large))) expect(same(await store.bytes(hash(large)), large)).to.equal(true)
      await store.close()
      const again = await place.open()
      if (await again.has(hash(large))) expect(same(await again.bytes(hash(large)), large)).to.equal(true)
      await again.close()
      await expectNoOrphans(place)
    })

    it('a receive whose record cannot be written, though its data was, goes on with what is missing', async () => {
      const slice = sliceOf(large)
      for (let failing = 0; failing < 3; failing++) {
        const made = await newStore()
        const reason = new Error('the disk is full')
        failOnce(made.index, 'batch', failing, reason)
        expect(await errorOf(made.store.receive(hash(large), stream([slice.subarray(0, 5 * MIB), slice.subarray(5 * MIB)])))).to.equal(reason)
        const missing = await made.store.missing(hash(large))
        expect(await made.store.receive(hash(large), sliceOf(large, missing), missing), `after write ${failing}`).to.include({ complete: true })
        expect(same(await made.store.bytes(hash(large)), large)).to.equal(true)
      }
    })

    it('says so when it is for want of room, and goes on when there is some', async () => {
      const made = await newStore()
      await made.store.put(small)
      for (const reason of [
        Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }),
        Object.assign(new Error('IO error: data/000012.log: No space left on device'), { code: 'LEVEL_IO_ERROR' }),
        new DOMException('full', 'QuotaExceededError')
      ]) {
        for (const database of [made.data, made.index]) {
          failOnce(database, 'batch', 0, reason)
          const error = await errorOf(made.store.put(large))
          expect(error).to.include({ code: 'STORE_FULL', cause: reason })
          expect(same(await made.store.bytes(hash(small)), small)).to.equal(true)
        }
      }
      expect(await made.store.put(large)).to.include({ isNew: true })
    })

    it('says so when it is closed without room for what is to be noted then, and is closed', async () => {
      for (const write of [0, 1]) {
        const { store: first, place, index } = await newStore()
        await first.put(small)
        await first.close()
        const store = await BlobStore.open(place.where)
        await store.bytes(hash(small)) // so that there is a use to be noted
        const reason = Object.assign(new Error('IO error: index/000012.log: No space left on device'), { code: 'LEVEL_IO_ERROR' })
        failOnce(index, 'batch', write, reason)
        expect(await errorOf(() => store.close())).to.include({ code: 'STORE_FULL', cause: reason })
        const again = await place.open()
        expect(same(await again.bytes(hash(small)), small)).to.equal(true)
      }
    })

    it('a delete that fails halfway is finished when the store is opened again', async () => {
      const { store, place, data } = await newStore()
      await store.put(large)
      failOnce(data, 'clear', 0, new Error('the disk is full'))
      await errorOf(store.delete(hash(large)))
      await store.close()
      const again = await place.open()
      await again.close()
      await expectNoOrphans(place)
    })
  })
})

/** The clock that `lastUsed` is read from counts milliseconds. */
const later = () => new Promise(resolve => setTimeout(resolve, 3))

/** Makes one call of a database's method fail. */
function failOnce (database, method, which, error) {
  const original = database[method]
  let calls = 0
  database[method] = function (...args) {
    return calls++ === which ? Promise.reject(error) : original.apply(this, args)
  }
}
