// Tests stores in situations of browsers: a page is reloaded while it writes, and the quota is reached.
import { expect } from 'chai'
import { BaoError, hash, toCid } from '../../lib/index.js'
import { createOutboard, encodeSlice } from '../../encoder/index.js'
import { BlobStore } from '../../store/index.js'
import { same } from '../support/bytes.js'
import { MIB } from '../support/constants.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { expectNoOrphans, onDisk, sliceOf } from '../support/store/stores.js'
import { removeLocation } from './runtime.js'

const NOISE = noise(1_000_003, 50)
const { DOMException, IDBObjectStore, document, indexedDB, navigator, setQuota } = globalThis

describe('store: in a page', () => {
  let place
  beforeEach(async () => { place = await onDisk() })
  afterEach(() => place.remove())

  describe('that is reloaded', () => {
    const bytes = noise(24 * MIB + 5, 51)
    const slice = sliceOf(bytes)
    let visitor
    afterEach(() => visitor?.leave())

    it('during a receive keeps what was received, and the receive can be continued', async () => {
      let kept = 0
      for (const given of [10, 18]) {
        visitor = await visit(place.where)
        await visitor.receive(hash(bytes), slice.subarray(0, given * MIB))
        expect(await errorOf(place.open()), 'the other page has it').to.include({ code: 'STORE_LOCKED' })
        await visitor.reload()

        const store = await openSoon(place)
        const { present, complete } = await store.stat(hash(bytes))
        expect(complete).to.equal(false)
        const ranges = present.toBytes(bytes.length)
        const len = ranges.reduce((sum, { start, end }) => sum + end - start, 0)
        expect(len, 'more than before').to.be.greaterThan(kept)
        kept = len
        for (const { start, end } of ranges) {
          const got = await store.bytes(hash(bytes), { start, end })
          expect(same(got, bytes.subarray(start, end))).to.equal(true)
        }
        await store.close()
        visitor.leave()
      }
      const store = await place.open()
      const missing = await store.missing(hash(bytes))
      const result = await store.receive(hash(bytes), sliceOf(bytes, missing), missing)
      expect(result).to.deep.equal({ received: bytes.length - kept, complete: true })
      expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })

    it('during a put leaves nothing of the blob', async () => {
      const before = await place.open()
      await before.put(noise(MIB))
      await before.close()
      visitor = await visit(place.where)
      await visitor.put(bytes.subarray(0, 12 * MIB))
      await visitor.reload()
      const store = await openSoon(place)
      expect(await store.has(hash(noise(MIB)))).to.equal(true)
      expect(await namesIn(store)).to.have.length(1)
      await store.close()
      await expectNoOrphans(place)
    })
  })

  describe('whose databases the browser closes', () => {
    const blobs = [noise(2 * MIB + 7, 56), noise(100, 57)]
    let store, connections
    beforeEach(async () => {
      connections = []
      const { open } = indexedDB
      indexedDB.open = (...args) => {
        const request = open.apply(indexedDB, args)
        request.addEventListener('success', () => connections.push(request.result))
        return request
      }
      store = await BlobStore.open(place.where)
      for (const bytes of blobs) await store.put(bytes)
    })
    afterEach(async () => {
      delete indexedDB.open
      await store.close()
    })

    /** Does what the browser does when it closes a connection. */
    async function closeAll ({ between = async () => {} } = {}) {
      const closed = connections.splice(0)
      for (const connection of closed) connection.close()
      await between()
      for (const connection of closed) connection.dispatchEvent(new Event('close'))
    }

    it('opens them again, and has lost nothing', async () => {
      await closeAll()
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      await closeAll()
      expect(await store.put(noise(2 * MIB, 58))).to.include({ isNew: true })
      await closeAll()
      await store.close()
      await expectNoOrphans(place)
      store = await BlobStore.open(place.where)
      expect(await namesIn(store)).to.have.length(3)
    })

    it('ends a list with a code', async () => {
      const list = store.list()
      await list.next()
      await closeAll()
      const toEnd = async () => { while (!(await list.next()).done); }
      expect(await errorOf(toEnd())).to.include({ code: 'STORE_REOPENED' })
    })

    it('writes nothing when the user has deleted them, and can be opened again', async () => {
      await closeAll({ between: () => removeLocation(place.where) })
      for (let i = 0; i < 2; i++) {
        expect(await errorOf(store.put(noise(9)))).to.include({ code: 'STORE_WRITE_FAILED' })
      }
      expect(await errorOf(store.bytes(hash(blobs[0])))).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await errorOf(store.close())).to.include({ code: 'STORE_WRITE_FAILED' })
      store = await BlobStore.open(place.where)
      expect(await store.put(blobs[0])).to.include({ isNew: true })
    })

    it('does not report blobs as absent because a lookup has failed', async () => {
      const { prototype } = IDBObjectStore
      const { get } = prototype
      let error
      prototype.get = function (key) {
        prototype.get = get
        queueMicrotask(() => this.transaction.abort())
        return this.get(key)
      }
      try {
        error = await errorOf(store.statMany(blobs.map(bytes => hash(bytes))))
      } finally {
        prototype.get = get
      }
      expect(error).to.be.instanceOf(DOMException)
      expect((await store.statMany(blobs.map(bytes => hash(bytes)))).map(({ size }) => size))
        .to.deep.equal(blobs.map(({ length }) => length))
    })
  })

  describe('whose quota is reached', () => {
    const first = noise(MIB, 52)
    /** More than the earlier tests wrote and deleted: the browser may still count that, and stop counting it later. */
    const large = { size: 512 * MIB, read: patternOf }
    before(function () { if (setQuota === undefined) this.skip() })
    afterEach(() => setQuota?.())

    /**
     * Slows down after the first bytes: browsers count the bytes in use only now and then.
     *
     * @param {AsyncIterable<Uint8Array>} pieces
     */
    async function * paced (pieces) {
      let given = 0
      for await (const piece of pieces) {
        given += piece.length
        if (given > 64 * MIB) await new Promise(resolve => setTimeout(resolve, piece.length / MIB * 500))
        yield piece
      }
    }

    async function * piecesOf ({ size, read }) {
      for (let at = 0; at < size; at += MIB) yield read(at, at + MIB)
    }

    const leave = async room => setQuota((await navigator.storage.estimate()).usage + room)

    it('keeps what it received before the quota was reached, and the rest when there is more', async () => {
      const store = await place.open()
      const outboard = await createOutboard(large)
      await leave(32 * MIB)
      const error = await errorOf(store.receive(outboard.root, paced(encodeSlice(large, outboard))))
      expect(error).to.include({ code: 'STORE_FULL' })
      const [{ start, end }, ...others] = (await store.stat(outboard.root)).present.toBytes(large.size)
      expect({ start, others }).to.deep.equal({ start: 0, others: [] })
      expect(end).to.be.within(MIB, large.size - 6 * MIB)
      for (let at = 0; at < end; at += MIB) {
        const part = { start: at, end: Math.min(end, at + MIB) }
        expect(same(await store.bytes(outboard.root, part), patternOf(at, part.end))).to.equal(true)
      }
      await setQuota()
      const next = { start: end, end: end + 5 * MIB }
      const result = await store.receive(outboard.root, encodeSlice(large, outboard, next), next)
      expect(result).to.deep.equal({ received: 5 * MIB, complete: false })
      expect(same(await store.bytes(outboard.root, next), patternOf(next.start, next.end))).to.equal(true)
    })

    it('rejects a put with STORE_FULL, and loses nothing', async () => {
      let store = await place.open()
      await store.put(first)
      await leave(10 * MIB)
      const error = await errorOf(store.put(paced(piecesOf(large))))
      expect(error).to.be.instanceOf(BaoError).with.property('code', 'STORE_FULL')
      expect(error.cause).to.have.property('name', 'QuotaExceededError')
      for (let life = 0; life < 2; life++) {
        expect(await namesIn(store)).to.deep.equal([toCid(hash(first)).toString()])
        expect(same(await store.bytes(hash(first)), first)).to.equal(true)
        await store.close()
        await expectNoOrphans(place)
        store = await place.open()
      }
      await setQuota()
      const { cid } = await store.put(noise(20 * MIB, 53))
      expect(same(await store.bytes(cid), noise(20 * MIB, 53))).to.equal(true)
    })
  })

  // This test is last: for a while, the browser also counts deleted bytes.
  describe('with enough quota', () => {
    it('stores and reads a blob of 96 MiB', async () => {
      const store = await place.open()
      const piece = noise(8 * MIB, 55)
      const pieces = Array.from({ length: 12 }, (_, i) => {
        const copy = piece.slice()
        copy[0] = i
        return copy
      })
      const { cid, size } = await store.put(new Blob(pieces))
      expect(size).to.equal(96 * MIB)
      let at = 0
      for await (const part of store.get(cid)) {
        const expected = pieces[Math.floor(at / piece.length)].subarray(at % piece.length)
        if (!same(part, expected.subarray(0, part.length))) expect.fail(`bytes at ${at} are wrong`)
        at += part.length
      }
      expect(at).to.equal(size)
    })
  })
})

/**
 * Any part of a large blob, without holding it in memory. Its bytes repeat, but the browser must not be able to
 * compress them: the period is not a power of two, so no two extents are alike.
 *
 * @param {number} start @param {number} end
 */
function patternOf (start, end) {
  const bytes = new Uint8Array(end - start)
  for (let at = start; at < end;) {
    const round = Math.floor(at / NOISE.length)
    const next = Math.min(end, (round + 1) * NOISE.length)
    bytes.set(NOISE.subarray(at % NOISE.length, at % NOISE.length + next - at), at - start)
    at = next
  }
  return bytes
}

/** @returns {Promise<string[]>} */
async function namesIn (store) {
  const names = []
  for await (const { cid } of store.list()) names.push(cid.toString())
  return names
}

/** Opens the store of a page that has ended: the browser releases its lock a moment later. */
async function openSoon (place) {
  for (let attempt = 0; ; attempt++) {
    const error = await errorOf(async () => { await (await BlobStore.open(place.where)).close() })
    if (error === undefined) return place.open()
    if (error.code !== 'STORE_LOCKED' || attempt > 5000) throw error
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Opens another page of this site, which opens a store: visitor.js runs there. @param {string} location */
async function visit (location) {
  const frame = document.createElement('iframe')
  document.body.append(frame)
  const heard = word => new Promise((resolve, reject) => {
    const listener = ({ source, data }) => {
      if (source !== frame.contentWindow) return
      if (data !== word) reject(new Error(`the page said: ${data}`))
      else resolve()
      globalThis.removeEventListener('message', listener)
    }
    globalThis.addEventListener('message', listener)
  })
  const load = async query => {
    frame.src = `/visitor?${new URLSearchParams(query)}`
    await heard('ready')
  }
  await load({ location })
  const work = async message => {
    const done = heard('waiting')
    frame.contentWindow.postMessage(message, '*')
    await done
  }
  return {
    receive: (root, slice) => work({ task: 'receive', root, bytes: slice }),
    put: bytes => work({ task: 'put', bytes }),
    reload: () => load({}),
    leave: () => frame.remove()
  }
}
