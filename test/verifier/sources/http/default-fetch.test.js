// The `fetch` that requests use where the caller gives none.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { defaultFetch } from '../../../../verifier/sources/http/default-fetch.node.js'
import { httpFetch } from '../../../../verifier/sources/http/http-fetch.node.js'
import { httpSource } from '../../../../verifier/index.js'
import { concat, same } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'

const content = noise(300_000, 94)
const isNode = globalThis.Bun === undefined && globalThis.Deno === undefined

describe('the fetch of requests', () => {
  const servers = []
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    }
  })

  /** @param {(request: any, response: any, count: number) => void} answer  `count`: requests of this connection */
  async function serve (answer) {
    const counts = new Map()
    const server = createServer((request, response) => {
      counts.set(request.socket, (counts.get(request.socket) ?? 0) + 1)
      answer(request, response, counts.get(request.socket))
    })
    servers.push(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { url: `http://127.0.0.1:${server.address().port}/`, counts }
  }

  const get = (url, init) => httpFetch(url, { redirect: 'manual', ...init })
  async function bytesOf ({ body }) {
    const reader = body.getReader()
    const pieces = []
    for (let next; !(next = await reader.read()).done;) pieces.push(next.value)
    return concat(pieces)
  }

  describe('in Node.js', function () {
    const { fetch } = globalThis
    const places = [2, 1].map(number => Symbol.for(`undici.globalDispatcher.${number}`))
    before(function () { if (!isNode) this.skip() })
    beforeEach(() => new Headers()) // makes the dispatcher
    afterEach(() => { globalThis.fetch = fetch })

    it('is made of node:http', () => { expect(defaultFetch()).to.equal(httpFetch) })

    it('is that of the program, if it has replaced fetch', () => {
      globalThis.fetch = async () => new Response()
      expect(defaultFetch()).to.equal(globalThis.fetch)
    })

    it('is that of Node.js, if the program has set a dispatcher', () => {
      const place = places.find(place => globalThis[place] !== undefined)
      const own = globalThis[place]
      const { constructor: Agent } = own
      class Refusing { constructor () { throw new Error('no') } }
      Object.defineProperty(Refusing, 'name', { value: 'Agent' })
      const others = [class ProxyAgent {}, class Agent {}, Refusing].map(({ prototype }) => Object.create(prototype))
      const configured = [{ connect: { rejectUnauthorized: false } }, { connect () {} }, { headersTimeout: 1 }]
      const changed = Object.assign(new Agent(), { dispatch: () => false })
      try {
        const composed = own.compose?.(to => to) ?? changed
        for (const set of [...others, ...configured.map(options => new Agent(options)), changed, composed]) {
          globalThis[place] = set
          expect(defaultFetch()).to.equal(fetch)
        }
        globalThis[place] = new Agent()
        expect(defaultFetch()).to.equal(httpFetch)
      } finally {
        globalThis[place] = own
      }
    })
  })

  it('is that of the runtime in Bun and Deno', function () {
    if (isNode) this.skip()
    expect(defaultFetch()).to.equal(globalThis.fetch)
  })

  describe('of node:http', function () {
    before(function () { if (!isNode) this.skip() })

    it('uses a connection again when all wanted bytes have come', async () => {
      const { url, counts } = await serve(({ headers: { range } }, response) => {
        const [, first, last] = range.match(/^bytes=(\d+)-(\d+)$/)
        const part = content.subarray(Number(first), Number(last) + 1)
        const headers = { 'content-range': `bytes ${first}-${Number(last)}/${content.length}` }
        response.writeHead(206, { ...headers, 'content-length': part.length }).end(part)
      })
      const source = await httpSource(url, { fetch: httpFetch })
      for (const [start, end] of [[20_000, 20_001], [30_000, 290_000], [290_000, 300_000]]) {
        expect(same(await source.read(start, end), content.subarray(start, end))).to.equal(true)
      }
      expect([...counts.values()]).to.deep.equal([4])
    })

    it('asks again when the server has closed the kept connection', async () => {
      const { url, counts } = await serve((request, response, count) => {
        if (count === 1) response.end(content)
        else request.socket.resetAndDestroy()
      })
      for (let i = 0; i < 3; i++) expect(same(await bytesOf(await get(url)), content)).to.equal(true)
      expect([...counts.values()]).to.deep.equal([2, 2, 1])
    })

    it('fails when a new connection is closed without an answer', async () => {
      const { url, counts } = await serve(({ socket }) => socket.resetAndDestroy())
      expect(await errorOf(get(url))).to.have.property('code', 'ECONNRESET')
      expect([...counts.values()]).to.deep.equal([1])
    })

    it('ends with the signal, before the answer and within it', async () => {
      const { url } = await serve(({ url }, response) => {
        if (url === '/body') response.writeHead(200, { 'content-length': 10 }).write('12345')
      })
      const caller = new AbortController()
      const waiting = errorOf(get(url, { signal: caller.signal }))
      const response = await get(`${url}body`, { signal: caller.signal })
      const reader = response.body.getReader()
      await reader.read()
      const reading = errorOf(reader.read())
      caller.abort()
      expect([await waiting, await reading].map(({ code }) => code)).to.deep.equal(['ECONNRESET', 'ECONNRESET'])
      expect(await errorOf(get(url, { signal: caller.signal }))).to.have.property('code', 'ECONNRESET')
    })

    it('fails when the server leaves HTTP', async () => {
      const { url } = await serve((request, { socket }) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx')
      })
      expect(await errorOf(get(url))).to.be.instanceOf(Error)
    })

    it('gives the status and the headers, and does not follow redirects', async () => {
      const seen = []
      const { url } = await serve(({ headers }, response) => {
        seen.push(headers)
        response.writeHead(302, [['location', '/x'], ['link', '<a>'], ['link', '<b>']]).end()
      })
      const { status, headers } = await get(url, { headers: { 'x-own': 'ö', accept: 'text/own' } })
      expect([status, headers.get('location'), headers.get('link')]).to.deep.equal([302, '/x', '<a>, <b>'])
      expect(seen[0]).to.include({ accept: 'text/own', 'user-agent': 'node', 'x-own': 'ö' })
    })

    it('leaves encoded answers, and what redirects itself, to the fetch of the runtime', async () => {
      const { url } = await serve(({ url }, response) => {
        if (url === '/from') return response.writeHead(302, { location: '/' }).end()
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(content))
      })
      expect(same(await bytesOf(await get(url)), content)).to.equal(true)
      expect(same(await bytesOf(await httpFetch(`${url}from`, { redirect: 'follow' })), content)).to.equal(true)
      expect((await errorOf(httpFetch(`${url}from`, { redirect: 'error' }))).name).to.equal('TypeError')
      for (const refused of [url.replace('//', '//name:secret@'), 'http://127.0.0.1:25/', 'http://127.0.0.1:6667/']) {
        expect((await errorOf(get(refused))).name, refused).to.equal('TypeError')
      }
    })
  })
})
