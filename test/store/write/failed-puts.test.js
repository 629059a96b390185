// put(), receive() and delete() that fail leave nothing, and lose nothing.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { errorOf, listed, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { entriesOf, recordsIn } from '../../support/store/inspect.js'
import { expectNoOrphans, newStores, sliceOf } from '../../support/store/stores.js'

describe('store: failed writes', () => {
  const newStore = newStores()
  const large = noise(10 * MIB, 7)
  const small = noise(3000, 8)

  /** Expects that the store and its databases have nothing. */
  async function expectNothing ({ store, place, index, data }) {
    expect(await listed(store.list())).to.have.length(0)
    expect(await store.has(hash(large))).to.equal(false)
    expect(await entriesOf(data)).to.deep.equal([])
    expect(await recordsIn(index)).to.deep.equal([])
    await store.close()
    const again = await place.open()
    expect(await listed(again.list())).to.have.length(0)
  }

  it('a put, append() or compose() that is refused before its source is read cancels the source', async () => {
    const { store } = await newStore({ quota: MIB })
    const { cid } = await store.put(small)
    const refused = async run => {
      let cancelled = 0
      const error = await errorOf(run(new ReadableStream({ cancel () { cancelled++ } })))
      expect(cancelled, `${run}`).to.equal(1)
      return error
    }
    for (const run of [source => store.put(source, { size: 2 * MIB }),
      source => store.append(cid, source, { size: 2 * MIB })]) {
      expect(await refused(run)).to.include({ code: 'STORE_FULL' })
    }
    for (const [name, bad] of [['expect', 5], ['format', 5], ['ttl', 5]]) {
      for (const run of [source => store.put(source, { [name]: bad }),
        source => store.append(cid, source, { [name]: bad }),
        source => store.compose([{ source }], { [name]: bad })]) {
        expect((await refused(run)).message).to.include(`"${name}"`)
      }
    }
  })

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
      if (place > 0) expect(isClosed, 'the source is closed').to.equal(true)
      await expectNothing(made)
    })
  }

  it('a put whose pieces are not bytes leaves nothing', async () => {
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

  it('a put whose record cannot be written leaves nothing after the next opening', async () => {
    const made = await newStore()
    const reason = new Error('the disk is full')
    failOnce(made.index, 'batch', 0, reason)
    expect(await errorOf(made.store.put(large))).to.equal(reason)
    expect(await listed(made.store.list())).to.have.length(0)
    await made.store.close()
    await expectNothing({ ...made, store: await made.place.open() })
  })

  it('a put that cannot delete its data leaves nothing after the next opening', async () => {
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

  it('a put that cannot delete the part that it replaces does not lose the whole blob', async () => {
    const { store, place, data } = await newStore()
    const range = { start: 0, end: MIB }
    await store.receive(hash(large), sliceOf(large, range), range)
    failOnce(data, 'clear', 0, new Error('the disk is full'))
    await errorOf(store.put(large))
    // Whether the put failed or not, the store has everything that it reports as present.
    if (await store.has(hash(large))) expect(same(await store.bytes(hash(large)), large)).to.equal(true)
    await store.close()
    const again = await place.open()
    if (await again.has(hash(large))) expect(same(await again.bytes(hash(large)), large)).to.equal(true)
    await again.close()
    await expectNoOrphans(place)
  })

  it('after a receive whose data was written, but not its record, only the missing groups must be sent', async () => {
    const slice = sliceOf(large)
    for (let failing = 0; failing < 3; failing++) {
      const made = await newStore()
      const reason = new Error('the disk is full')
      failOnce(made.index, 'batch', failing, reason)
      expect(
        await errorOf(made.store.receive(hash(large), stream([slice.subarray(0, 5 * MIB), slice.subarray(5 * MIB)])))
      ).to.equal(reason)
      const missing = await made.store.missing(hash(large))
      expect(await made.store.receive(hash(large), sliceOf(large, missing), missing), `after write ${failing}`)
        .to.include({ complete: true })
      expect(same(await made.store.bytes(hash(large)), large)).to.equal(true)
    }
  })

  it('a full disk is STORE_FULL, and the store works again when there is space', async () => {
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

  it('close() without space for its notes fails with STORE_FULL, and closes the store', async () => {
    for (const write of [0, 1]) {
      const { store: first, place, index } = await newStore()
      await first.put(small)
      await first.close()
      const store = await BlobStore.open(place.where)
      await store.bytes(hash(small)) // so that there is a use to note
      const reason = Object.assign(
        new Error('IO error: index/000012.log: No space left on device'), { code: 'LEVEL_IO_ERROR' }
      )
      failOnce(index, 'batch', write, reason)
      expect(await errorOf(() => store.close())).to.include({ code: 'STORE_FULL', cause: reason })
      const again = await place.open()
      expect(same(await again.bytes(hash(small)), small)).to.equal(true)
    }
  })

  it('a delete that fails halfway is finished at the next opening', async () => {
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

/** Makes one call of a database's method fail. */
function failOnce (database, method, which, error) {
  const original = database[method]
  let calls = 0
  database[method] = function (...args) {
    return calls++ === which ? Promise.reject(error) : original.apply(this, args)
  }
}
