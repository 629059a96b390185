// The handler answers requests of node:http, Express and Fastify: docs/guide.md, "Where to mount it".
import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { hash } from '../../../../lib/index.js'
import { fetchVerified } from '../../../../verifier/index.js'
import { putCollection } from '../../../../exchange/collections/index.js'
import { bearer, createHandler } from '../../../../exchange/http/index.js'
import { toNodeHandler } from '../../../../exchange/http/node/index.js'
import { same } from '../../../support/bytes.js'
import { testsInTurn } from '../../../support/effort.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { entriesOf, isHeld, isPage } from '../../../support/store/inspect.js'
import { hexOf } from '../../../support/store/served.js'
import { newStores } from '../../../support/store/stores.js'

const BYTES = noise(1_000_003)
const ROOT = hash(BYTES)
const HEX = hexOf(ROOT)

const { Bun, Deno } = globalThis

/**
 * Functions that mount a handler at a prefix. Each returns a listener for the requests of a server. Other runtimes than
 * Node.js have frameworks of their own.
 */
const MOUNTS = {
  'node:http' ({ store, options }, prefix) {
    return toNodeHandler(createHandler(store, { ...options, basePath: prefix }))
  },
  ...!Bun && !Deno && {
    Express ({ store, options }, prefix) {
      const app = express()
      app.use(prefix, toNodeHandler(createHandler(store, options)))
      return app
    },
    async Fastify ({ store, options }, prefix) {
      const app = fastify()
      const answer = toNodeHandler(createHandler(store, { ...options, basePath: prefix }))
      const onRequest = async (request, reply) => {
        reply.hijack()
        await answer(request.raw, reply.raw)
      }
      app.all(`${prefix}/*`, { onRequest }, () => {})
      app.all(prefix, { onRequest }, () => {})
      await app.ready()
      return app.routing
    }
  }
}

describe('toNodeHandler()', () => {
  const newStore = newStores()
  const closers = []
  afterEach(async () => { for (const close of closers.splice(0).reverse()) await close() })

  /** Starts a server. Returns its port. */
  async function listening (listener) {
    const server = createServer(listener).listen(0, 'localhost')
    await once(server, 'listening')
    closers.push(() => {
      server.closeAllConnections()
      return new Promise(resolve => server.close(resolve))
    })
    return server.address().port
  }

  /** A store with BYTES under /files of a server, and the events of its handler. */
  async function served (mount, options) {
    const { store, data } = await newStore()
    await store.put(BYTES)
    const events = []
    const onRequest = event => events.push(event)
    const port = await listening(await mount({ store, options: { ...options, onRequest } }, '/files'))
    const ended = async () => { while (events.length === 0) await new Promise(resolve => setTimeout(resolve, 5)) }
    return { store, data, events, ended, port, url: `http://localhost:${port}/files` }
  }

  const mounts = Object.entries(MOUNTS)
  for (const [i, test] of testsInTurn(mounts.length).entries()) {
    const [name, mount] = mounts[i]
    describe(`in ${name}`, () => {
      const headers = { authorization: 'Bearer secret' }

      it('gives blobs, ranges, heads, and 304 to those who have the blob', async () => {
        const { url } = await served(mount)
        const whole = await fetch(`${url}/${HEX}`)
        expect(same(new Uint8Array(await whole.arrayBuffer()), BYTES)).to.equal(true)
        const part = await fetch(`${url}/${HEX}`, { headers: { range: 'bytes=300000-300099' } })
        expect([part.status, part.headers.get('content-range')]).to.deep.equal([206, 'bytes 300000-300099/1000003'])
        expect(same(new Uint8Array(await part.arrayBuffer()), BYTES.subarray(300_000, 300_100))).to.equal(true)
        const head = await fetch(`${url}/${HEX}`, { method: 'HEAD' })
        expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, '1000003'])
        const etag = whole.headers.get('etag')
        expect((await fetch(`${url}/${HEX}`, { headers: { 'if-none-match': etag } })).status).to.equal(304)
        expect((await fetch(`${url}/${'0'.repeat(64)}`)).status).to.equal(404)
      })

      it('gives links that stay below the mount', async () => {
        const { store, url } = await served(mount, { allowTags: true, list: true })
        await store.put(noise(10))
        await store.tags.set('tag', ROOT)
        for (const path of [`/${HEX}`, '/blobs/tag']) {
          const response = await fetch(url + path)
          const [, link] = /^<([^>]+)>; rel=describedby/.exec(response.headers.get('link'))
          const outboard = new URL(link, response.url)
          expect(outboard.pathname).to.equal(`/files/${HEX}.obao4`)
          expect((await fetch(outboard)).status).to.equal(200)
          await response.arrayBuffer()
        }
        const verified = await fetchVerified(`${url}/blobs/tag`, { cid: ROOT, range: { start: 10, end: 999_999 } })
        expect(same(new Uint8Array(await verified.arrayBuffer()), BYTES.subarray(10, 999_999))).to.equal(true)
        const first = await fetch(`${url}/blobs?limit=1`)
        const { next } = await first.json()
        expect((await (await fetch(new URL(next, first.url))).json()).blobs).to.have.length(1)
      })

      it('gives a site whose links stay below the mount, also without a slash at its end', async () => {
        const { store, url } = await served(mount, { site: 'site', collections: { listing: true } })
        const { cid: file } = await store.put(noise(5))
        const { cid } = await putCollection(store, [['docs/a', file], ['more', file]])
        await store.tags.set('site', cid)
        for (const [path, expected] of [['', '/files/docs/'], ['?x=1', '/files/docs/'], ['/docs', '/files/docs/a']]) {
          const page = await fetch(url + path)
          const [, href] = /href="([^"]+)"/.exec(await page.text())
          expect(new URL(href, page.url).pathname, path).to.equal(expected)
          expect((await fetch(new URL(href, page.url))).status).to.equal(200)
        }
        expect((await fetch(`${url}?x=1`)).url).to.equal(`${url}/?x=1`)
      })

      it('keeps uploads', async () => {
        const { store, url } = await served(mount, { authorize: bearer('secret') })
        const upload = noise(400_000, 5)
        const path = `${url}/${hexOf(hash(upload))}`
        for (const type of ['application/json', 'text/plain', undefined]) {
          const init = { method: 'PUT', body: upload, headers: { ...headers, ...type && { 'content-type': type } } }
          expect((await fetch(path, init)).status, type).to.be.oneOf([200, 201])
        }
        expect(same(await store.bytes(hash(upload)), upload)).to.equal(true)
        expect((await fetch(path, { method: 'PUT', body: upload })).status).to.equal(401)
        const empty = `${url}/${hexOf(hash(new Uint8Array(0)))}`
        expect((await fetch(empty, { method: 'PUT', headers })).status).to.be.oneOf([200, 201])
      })

      test('reads only as fast as the client, and is told when the client stalls', async () => {
        const { store, port, events, ended } = await served(mount, { idleTimeout: 100 })
        const { cid, size } = await store.put(new Uint8Array(1 << 25))
        const socket = connect(port, 'localhost').pause()
        socket.on('error', () => {})
        closers.push(() => socket.destroy())
        socket.write(`GET /files/blobs/${cid} HTTP/1.1\r\nHost: x\r\n\r\n`)
        await ended()
        expect(events[0].outcome).to.equal('stalled')
        expect(events[0].sent).to.be.below(size / 2)
      })

      test('stops reading when the client disconnects', async () => {
        const { store, url, events, ended } = await served(mount)
        const { cid } = await store.put(new Uint8Array(1 << 24))
        const gone = new AbortController()
        const response = await fetch(`${url}/blobs/${cid}`, { signal: gone.signal })
        await response.body.getReader().read()
        gone.abort()
        await ended()
        expect(events[0].outcome).to.equal('aborted')
        expect(isHeld(store, cid.multihash.digest)).to.equal(false)
      })

      it('breaks the connection at damage after the headers', async () => {
        const { data, url, events } = await served(mount)
        const extents = (await entriesOf(data)).filter(entry => !isPage(entry))
        const last = extents.find(({ offset }) => offset === 3 * 262_144)
        last.value[10_000] ^= 1
        await last.put(last.value)
        const response = await fetch(`${url}/${HEX}`)
        expect(response.status).to.equal(200)
        expect(await errorOf(response.arrayBuffer())).to.be.instanceOf(Error)
        expect(events.map(({ outcome, code }) => [outcome, code])).to.deep.equal([['failed', 'STORE_CORRUPT']])
      })
    })
  }

  it('says that a middleware has read the body of an upload', async () => {
    const { store } = await newStore()
    const events = []
    const handler = createHandler(store, { authorize: bearer('secret'), onRequest: event => events.push(event) })
    const app = express()
    app.use(express.json(), express.raw({ limit: '10mb' }))
    app.use(toNodeHandler(handler))
    const url = `http://localhost:${await listening(app)}`
    const json = new TextEncoder().encode('{"a":1}')
    const put = (bytes, type) => fetch(`${url}/${hexOf(hash(bytes))}`, {
      method: 'PUT', body: bytes, headers: { authorization: 'Bearer secret', 'content-type': type }
    })
    for (const [bytes, type] of [[json, 'application/json'], [BYTES, 'application/octet-stream']]) {
      const response = await put(bytes, type)
      expect(response.status).to.equal(500)
      expect(await response.json()).to.include({ code: 'HTTP_BODY_READ' })
      expect(events.pop()).to.include({ code: 'HTTP_BODY_READ', status: 500 })
    }
    expect((await put(json, 'text/plain')).status).to.equal(201)
  })

  it('takes a body that the server keeps for it as bytes', async () => {
    const { store } = await newStore()
    const answer = toNodeHandler(createHandler(store, { authorize: bearer('secret') }))
    const port = await listening(async (request, response) => {
      const parts = []
      for await (const part of request) parts.push(part)
      answer(Object.assign(request, { rawBody: Buffer.concat(parts) }), response)
    })
    const init = { method: 'PUT', body: BYTES, headers: { authorization: 'Bearer secret' } }
    expect((await fetch(`http://localhost:${port}/${HEX}`, init)).status).to.equal(201)
    expect(await store.has(ROOT)).to.equal(true)
  })

  it('breaks the connection when the handler fails', async () => {
    const port = await listening(toNodeHandler(async () => { throw new Error('wrong') }))
    expect(await errorOf(fetch(`http://localhost:${port}/`))).to.be.instanceOf(Error)
  })

  it('refuses what is no handler', () => {
    for (const handler of [undefined, {}, 'x']) expect(() => toNodeHandler(handler)).to.throw(TypeError, '"handler"')
  })
})
