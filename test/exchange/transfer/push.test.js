// Blobs are sent to a server that keeps uploads.
import { expect } from 'chai'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { HASHSEQ, hash, toCid } from '../../../lib/index.js'
import { putCollection } from '../../../exchange/collections/index.js'
import { bearer } from '../../../exchange/http/index.js'
import { serve } from '../../../exchange/http/node/index.js'
import { push } from '../../../exchange/transfer/index.js'
import { same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { entriesOf, isHeld, isPage } from '../../support/store/inspect.js'
import { newStores } from '../../support/store/stores.js'
import { withTimeoutsHeld } from '../../support/timers.js'

const SHORT = noise(3000, 2)
const LONG = noise(3_000_003)
const headers = { authorization: 'Bearer secret' }

describe('push()', () => {
  const newStore = newStores()
  const closers = []
  afterEach(async () => { for (const close of closers.splice(0).reverse()) await close() })

  /** A store, and a server with another one. `asked`: the requests that have ended, in order. */
  async function both (options) {
    const [{ store, data }, { store: other }] = [await newStore(), await newStore()]
    const asked = []
    const onRequest = ({ method, cid, status }) => asked.push({ method, cid, status })
    const server = await serve(other, { authorize: bearer('secret'), basePath: '/files', ...options, onRequest })
    closers.push(() => server.close({ grace: 0 }))
    return { store, data, other, asked, to: `${server.url}/files` }
  }

  const puts = asked => asked.filter(({ method }) => method === 'PUT').map(({ cid }) => cid)

  /** A collection of blobs, one of them twice. */
  async function collected (store) {
    const { cid: short } = await store.put(SHORT)
    const { cid: long } = await store.put(LONG)
    const others = []
    for (let i = 0; i < 8; i++) others.push((await store.put(noise(100 + i, 10 + i))).cid)
    const entries = others.map((cid, i) => [`other/${i}`, cid])
    return putCollection(store, [['short', short], ['long', long], ['again', short], ...entries])
  }

  it('sends a blob that the server does not have', async () => {
    for (const bytes of [new Uint8Array(0), SHORT, LONG, noise(1 << 20, 3)]) {
      const { store, other, asked, to } = await both()
      const { cid } = await store.put(bytes)
      const isEmpty = bytes.length === 0
      const events = []
      const result = await push(store, cid, { to: `${to}/`, headers, onProgress: event => events.push(event) })
      const { length } = bytes
      expect({ ...result, cid: `${result.cid}` }).to.deep.equal({
        cid: `${cid}`, size: length, blobs: isEmpty ? 0 : 1, bytes: length
      })
      expect(same(await other.bytes(cid), bytes)).to.equal(true)
      if (isEmpty) continue
      expect(asked.map(({ method, status }) => [method, status])).to.deep.equal([['HEAD', 404], ['PUT', 201]])
      expect(events.at(-1)).to.deep.equal({
        type: 'baobox:push', detail: { done: length, total: length, unit: 'bytes' }
      })
      expect(isHeld(store, cid.multihash.digest)).to.equal(false)

      const again = await push(store, cid, { to, headers })
      expect([again.blobs, again.bytes, puts(asked)]).to.deep.equal([0, 0, [`${cid}`]])
    }
  })

  it('sends members before their sequence, each once, and only so many at a time', async () => {
    for (const parallel of [1, 3]) {
      const { store, other, asked, to } = await both()
      const { cid } = await collected(store)
      let [now, most] = [0, 0]
      const counting = async (...args) => {
        most = Math.max(most, ++now)
        try {
          return await fetch(...args)
        } finally {
          now--
        }
      }
      const events = []
      const onProgress = ({ detail }) => events.push(detail)
      const result = await push(store, cid, { to, headers, recursive: true, parallel, fetch: counting, onProgress })
      expect(result.cid.code).to.equal(HASHSEQ)
      const sent = puts(asked)
      expect(sent).to.have.length(12)
      expect(new Set(sent).size).to.equal(12)
      expect(sent.at(-1)).to.equal(`${toCid(cid.multihash.digest)}`)
      expect(most).to.be.at.most(parallel)
      expect([result.blobs, result.bytes]).to.deep.equal([12, result.size])
      expect(events.at(-1).done).to.equal(events.at(-1).total)
      expect(events.map(({ done }) => done)).to.deep.equal(events.map(({ done }) => done).toSorted((a, b) => a - b))
      expect((await other.info()).blobs).to.equal(12)
    }
  })

  it('goes on where it was interrupted', async () => {
    const { store, other, asked, to } = await both()
    const { cid } = await collected(store)
    let count = 0
    const failing = (url, init) => {
      if (init.method === 'PUT' && ++count > 3) throw new TypeError('no cable')
      return fetch(url, init)
    }
    const error = await errorOf(push(store, cid, { to, headers, recursive: true, parallel: 1, fetch: failing }))
    expect(error).to.include({ code: 'FETCH_FAILED' })
    expect(await other.has(cid)).to.equal(false)
    asked.length = 0
    const { blobs } = await push(store, cid, { to, headers, recursive: true })
    expect([blobs, puts(asked).length]).to.deep.equal([9, 9])
    expect(await other.has(cid)).to.equal(true)
  })

  it('sends to those who may put and not read', async () => {
    const authorize = (_, { type }) => type === 'put'
    const { store, other, to } = await both({ authorize })
    const { cid } = await store.put(SHORT)
    expect(await push(store, cid, { to })).to.include({ blobs: 1 })
    expect(await other.has(cid)).to.equal(true)
  })

  it('says why the server has refused', async () => {
    const { store, to } = await both({ maxBytes: 1000 })
    for (const [bytes, given, status, code] of [
      [SHORT, { authorization: 'Bearer other' }, 401, 'HTTP_UNAUTHORIZED'],
      [LONG, {}, 401, 'HTTP_UNAUTHORIZED'], [LONG, headers, 413, 'HTTP_TOO_LARGE']
    ]) {
      const { cid } = await store.put(bytes)
      const error = await errorOf(push(store, cid, { to, headers: given }))
      expect(error).to.include({ code: 'FETCH_STATUS', status, location: `${to}/blobs/${cid}` })
      expect(error.message).to.include(code)
      expect(isHeld(store, cid.multihash.digest)).to.equal(false)
    }
  })

  it('believes no text of a server, and follows it nowhere', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(SHORT)
    const paths = []
    const answers = [
      response => response.writeHead(307, { location: '/elsewhere' }).end(),
      response => response.writeHead(507).end('\x1b[2J'),
      response => response.writeHead(507).end(JSON.stringify({ code: '\x1b[2J' })),
      response => response.writeHead(507).end('x'.repeat(1 << 20)),
      response => response.destroy()
    ]
    const server = createServer((request, response) => {
      paths.push(request.url)
      if (request.method === 'HEAD') return response.writeHead(404).end()
      request.resume().on('end', () => answers[0](response))
    }).listen(0, 'localhost')
    await once(server, 'listening')
    closers.push(() => {
      server.closeAllConnections()
      server.close()
    })
    const to = `http://localhost:${server.address().port}`
    for (const code of ['FETCH_STATUS', 'FETCH_STATUS', 'FETCH_STATUS', 'FETCH_STATUS', 'FETCH_FAILED']) {
      const error = await errorOf(push(store, cid, { to, headers }))
      expect(error).to.include({ code, location: `${to}/blobs/${cid}` })
      expect(error.message).to.match(/^[\x20-\x7e]*$/)
      answers.shift()
    }
    expect(new Set(paths)).to.deep.equal(new Set([`/blobs/${cid}`]))
  })

  it('is not done when a server answers with something else than the blob', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(SHORT)
    const page = { 'content-type': 'text/html' }
    const asked = []
    const answer = {
      HEAD: () => new Response(null, { headers: { ...page, 'content-length': '12' } }),
      PUT: () => new Response('<html></html>', { headers: page })
    }
    const fake = async (url, { method }) => {
      asked.push(method)
      return answer[method]()
    }
    const to = 'https://one.example/app'
    const failing = () => push(store, cid, { to, fetch: fake })
    expect(await errorOf(failing())).to.include({ code: 'FETCH_REFUSED', location: `${to}/blobs/${cid}` })
    expect(asked).to.deep.equal(['HEAD', 'PUT', 'HEAD'])
    for (const text of ['{"cid":"other"}', 'null', '[]', '{']) {
      answer.PUT = () => new Response(text, { status: 203 })
      expect(await errorOf(failing()), text).to.include({ code: 'FETCH_REFUSED' })
    }
    answer.PUT = () => Response.json({ cid: `${cid}` }, { status: 201 })
    expect(await failing()).to.include({ blobs: 1 })
    answer.HEAD = () => new Response(null, { headers: { 'content-length': `${SHORT.length}` } })
    expect(await failing()).to.include({ blobs: 0 })
  })

  it('does not wait for an answer that never ends', async () => {
    const { store } = await newStore()
    const { cid } = await store.put(SHORT)
    let reading
    const isRead = new Promise(resolve => { reading = resolve })
    const endless = new ReadableStream({ pull: () => new Promise(() => reading()) }, { highWaterMark: 0 })
    const fake = async (_, { method }) => new Response(method === 'PUT' ? endless : null, {
      status: method === 'PUT' ? 500 : 404
    })
    await withTimeoutsHeld(10_000, async end => {
      const error = errorOf(push(store, cid, { to: 'https://one.example', fetch: fake }))
      await isRead
      end()
      expect(await error).to.include({ code: 'FETCH_STATUS', status: 500 })
    })
  })

  it('sends nothing when something is not here, or is no sequence', async () => {
    const { store, asked, to } = await both()
    const { cid } = await collected(store)
    await store.delete(hash(SHORT), { force: true })
    expect(await errorOf(push(store, cid, { to, headers, recursive: true }))).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await errorOf(push(store, hash(noise(7)), { to, headers }))).to.include({ code: 'STORE_NOT_FOUND' })
    const odd = await errorOf(push(store, hash(LONG), { to, headers, recursive: true }))
    expect(odd).to.include({ code: 'HASHSEQ_INVALID', len: LONG.length })
    expect(asked).to.deep.equal([])
  })

  it('sends no damage', async () => {
    const { store, data, other, to } = await both()
    const { cid } = await store.put(LONG)
    const last = (await entriesOf(data)).filter(entry => !isPage(entry)).find(({ offset }) => offset === 8 * 262_144)
    last.value[10_000] ^= 1
    await last.put(last.value)
    expect(await errorOf(push(store, cid, { to, headers }))).to.include({ code: 'STORE_CORRUPT' })
    expect(await other.has(cid)).to.equal(false)
  })

  it('ends with the reason of its signal', async () => {
    const { store, to } = await both()
    const { cid } = await collected(store)
    const ending = new AbortController()
    const reason = new Error('enough')
    const onProgress = () => ending.abort(reason)
    const { signal } = ending
    expect(await errorOf(push(store, cid, { to, headers, recursive: true, signal, onProgress }))).to.equal(reason)
    expect(await errorOf(push(store, cid, { to, headers, signal }))).to.equal(reason)
  })

  it('refuses wrong arguments', async () => {
    const { store, to } = await both()
    const { cid } = await store.put(SHORT)
    for (const options of [undefined, {}, { to: 'x' }, { to: 'ftp://a.test' }, { to: `${to}?x` }, { to, tag: 'x' },
      { to, parallel: '4' }]) {
      expect(await errorOf(push(store, cid, options)), JSON.stringify(options)).to.be.instanceOf(TypeError)
    }
    expect((await errorOf(push(store, cid))).message).to.equal('"options" expected { to, ... }, got undefined')
    for (const parallel of [0, 65, 1.5]) {
      expect(await errorOf(push(store, cid, { to, parallel })), `${parallel}`).to.be.instanceOf(RangeError)
    }
    expect(await errorOf(push({}, cid, { to }))).to.be.instanceOf(TypeError)
  })
})
