// Clients that ask for odd things, read slowly or not at all, or disconnect; and the end of a handler.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { turns } from '../../support/fake-clock.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { isHeld } from '../../support/store/inspect.js'
import { newHandlers } from '../../support/store/served.js'
import { newStores } from '../../support/store/stores.js'
import { withTimeoutsHeld } from '../../support/timers.js'

const PIECE = 1 << 18
const BYTES = noise(8 * PIECE + 5)
const ROOT = hash(BYTES)

describe('an HTTP handler', () => {
  const serve = newHandlers()
  const newStore = newStores()

  it('refuses wrong options', async () => {
    const { store } = await newStore()
    for (const options of [{ lists: true }, { basePath: 'x' }, { basePath: '/x/' }, { basePath: '/?' }, { put: true },
      { authorize: 'token' }, { maxBytes: '1' }, { cors: true }, { cors: { origin: '*' } }, { cors: { origins: 'a' } },
      { cors: { origins: ['https://a.test/'] } }, { cors: { origins: ['*'] } }, { cors: { origins: ['null'] } },
      { cors: { credentials: true } }, { cors: { origins: '*', credentials: true } },
      { cors: { origins: [], credentials: 1 } },
      { mirrors: 'https://a.test' }, { mirrors: ['a'] }, { idleTimeout: '5' }, { contentType: 'text/html' },
      { onRequest: true }, { allowTags: 'no' }, { list: 1 }]) {
      expect(() => createHandler(store, options), JSON.stringify(options)).to.throw(TypeError)
    }
    expect(() => createHandler(store, { basePath: '/x/' })).to.throw("without a slash at its end, got '/x/'")
    expect(() => createHandler(store, { idleTimeout: 0 })).to.throw(RangeError)
    expect(() => createHandler(store, { maxBytes: -1 })).to.throw(RangeError)
    expect(() => createHandler({})).to.throw(TypeError, '"store" expected a store')
    expect(await errorOf(createHandler(store).close({ now: true }))).to.be.instanceOf(TypeError)
    // A longer timer would end immediately, and break every answer.
    expect(await errorOf(createHandler(store).close({ grace: 2 ** 31 }))).to.be.instanceOf(RangeError)
  })

  it('answers OPTIONS, so that pages of other origins may ask for ranges', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const { status, headers } = await served.got(`/${hex}`, {
      method: 'OPTIONS', headers: { 'access-control-request-method': 'GET', 'access-control-request-headers': 'range' }
    })
    expect(status).to.equal(204)
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(headers.get('access-control-allow-methods')).to.equal('GET, HEAD, OPTIONS')
    expect(headers.get('access-control-allow-headers').toLowerCase().split(', ')).to.include.members(
      ['accept', 'authorization', 'if-range', 'range'])
    expect(headers.get('access-control-max-age')).to.equal('86400')
  })

  it('refuses other methods', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'MOVE']) {
      const { status, headers, json } = await served.got(`/${hex}`, { method })
      expect([status, json().code], method).to.deep.equal([405, 'HTTP_METHOD'])
      expect(headers.get('allow')).to.equal('GET, HEAD, OPTIONS')
    }
    expect(await served.store.has(ROOT)).to.equal(true)
  })

  it('refuses URLs and headers that are too long', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    expect((await served.got(`/${hex}?x=${'y'.repeat(5000)}`)).status).to.equal(414)
    const ranges = `bytes=${Array.from({ length: 10_000 }, (_, i) => `${2 * i}-${2 * i}`).join()}`
    for (const name of ['range', 'if-range', 'if-none-match', 'if-match', 'accept', 'authorization']) {
      expect((await served.got(`/${hex}`, { headers: { [name]: ranges } })).status, name).to.equal(431)
    }
  })

  it('lists blobs only if its owner allows it', async () => {
    const closed = await serve()
    expect((await closed.got('/blobs')).status).to.equal(404)
    const served = await serve({ list: true })
    const cids = []
    for (let i = 0; i < 25; i++) cids.push(`${(await served.put(noise(100 + i, i + 1))).cid}`)
    const listed = []
    for (let query = '?limit=10', pages = 1; query !== undefined; pages++) {
      const { status, json, headers } = await served.got(`/blobs${query}`)
      expect(status).to.equal(200)
      expect(headers.get('cache-control')).to.equal('no-store')
      const { blobs, next } = json()
      expect(blobs.length).to.be.at.most(10)
      listed.push(...blobs)
      expect(pages).to.be.at.most(3)
      query = next
    }
    expect(listed.map(({ cid }) => cid)).to.have.members(cids)
    const hashes = listed.map(({ hash }) => hash)
    expect(hashes).to.deep.equal(hashes.toSorted())
    const { cid, ...first } = listed[0]
    expect(first).to.deep.equal({ hash: hashes[0], size: first.size, sizeProven: true, complete: true })
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?limit=-1', '?after=zz', '?after=',
      '?limit=1&limit=2', `?after=${hashes[0]}&after=${hashes[0]}`]) {
      expect((await served.got(`/blobs${query}`)).status, query).to.equal(400)
    }
  })

  it('reads one piece for a client that takes nothing, and the next one when that is taken', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const asked = []
    const { get } = served.store
    served.store.get = function (cid, range, options) {
      if (range.end - range.start > 1) asked.push(range.start) // a read of one byte stays open, to protect the blob
      return get.call(this, cid, range, options)
    }
    const response = await served.ask(`/${hex}`)
    await turns()
    expect(asked).to.deep.equal([0])
    const reader = response.body.getReader()
    await reader.read()
    await reader.read()
    await turns()
    expect(asked).to.deep.equal([0, PIECE])
    await reader.cancel()
    expect(served.events[0]).to.deep.include({ outcome: 'aborted', sent: 2 * PIECE })
    await turns()
    expect(isHeld(served.store, ROOT)).to.equal(false)
  })

  it('breaks the body of a client that takes nothing for too long', async () => {
    const idleTimeout = 12_345
    const served = await serve({ idleTimeout })
    const { hex } = await served.put(BYTES)
    await withTimeoutsHeld(idleTimeout, async endTimeouts => {
      const response = await served.ask(`/${hex}`)
      const reader = response.body.getReader()
      await reader.read()
      expect(isHeld(served.store, ROOT)).to.equal(true)
      endTimeouts()
      expect(await errorOf(reader.read())).to.include({ code: 'HTTP_STALLED' })
      await turns()
      expect(isHeld(served.store, ROOT)).to.equal(false)
      expect(served.events[0]).to.deep.include({ status: 200, outcome: 'stalled', code: 'HTTP_STALLED', sent: PIECE })
      const never = await served.ask(`/${hex}`)
      endTimeouts()
      expect(await errorOf(firstPiece(never))).to.include({ code: 'HTTP_STALLED' })
      expect(served.handler.stats()).to.deep.include({ active: 0, requests: 2 })
    })
  })

  it('stops when the client disconnects', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const gone = new AbortController()
    const response = await served.ask(`/${hex}`, { signal: gone.signal })
    const reader = response.body.getReader()
    await reader.read()
    gone.abort(new Error('gone'))
    expect(await errorOf(reader.read())).to.have.property('message', 'gone')
    expect(served.events[0]).to.deep.include({ outcome: 'aborted', sent: PIECE })
    await turns()
    expect(isHeld(served.store, ROOT)).to.equal(false)
    const late = await served.got(`/${hex}`, { signal: gone.signal })
    expect([late.status, late.json().code]).to.deep.equal([499, 'HTTP_ABORTED'])
    expect(served.events[1].outcome).to.equal('aborted')
  })

  it('waits for answers when it closes, takes no new requests, and breaks off answers that take too long', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const quick = await served.ask(`/${hex}`)
    const stuck = await served.ask(`/${hex}`)
    let isClosed = false
    const closing = served.handler.close().then(() => { isClosed = true })
    const refused = await served.got(`/${hex}`)
    expect([refused.status, refused.json().code]).to.deep.equal([503, 'HTTP_CLOSING'])
    expect(refused.headers.get('retry-after')).to.equal('1')
    expect((await quick.arrayBuffer()).byteLength).to.equal(BYTES.length)
    await turns()
    expect(isClosed).to.equal(false)
    // A later call may give less time. All calls resolve at the end.
    await served.handler.close({ grace: 10 })
    await closing
    expect(await errorOf(firstPiece(stuck))).to.include({ code: 'HTTP_CLOSING' })
    await served.handler.close()
    expect(served.handler.stats().outcomes).to.deep.equal({ complete: 2, aborted: 1, stalled: 0, failed: 0 })
    expect(await served.store.has(ROOT)).to.equal(true)
  })

  it('reports every request once, and counts them', async () => {
    const served = await serve()
    const { cid, hex } = await served.put(BYTES)
    await served.got(`/${hex}`)
    await served.got(`/${hex}`, { headers: { range: 'bytes=0-9' } })
    await served.got('/nothing?secret=1')
    const [whole, part, none] = served.events
    expect(whole).to.deep.include({
      method: 'GET', path: `/${hex}`, status: 200, outcome: 'complete', cid: `${cid}`, sent: BYTES.length, received: 0
    })
    expect(whole.ms).to.be.above(0)
    expect(part).to.deep.include({ status: 206, sent: 10 })
    expect(none).to.deep.include({ path: '/nothing', status: 404, code: 'HTTP_NOT_FOUND', sent: 0, cid: undefined })
    expect(served.handler.stats()).to.deep.equal({
      active: 0,
      requests: 3,
      sent: BYTES.length + 10,
      received: 0,
      statuses: { 200: 1, 206: 1, 404: 1 },
      outcomes: { complete: 3, aborted: 0, stalled: 0, failed: 0 }
    })
  })

  it('ignores errors of onRequest', async () => {
    const { store } = await newStore()
    const handler = createHandler(store, { onRequest () { throw new Error('no disk') } })
    expect((await handler(new Request('http://store.test/x'))).status).to.equal(404)
    await handler.close()
  })
})

/** Reads from the stream itself: of a stream that broke, Chromium's arrayBuffer() gives a TypeError of its own. */
const firstPiece = ({ body }) => body.getReader().read()
