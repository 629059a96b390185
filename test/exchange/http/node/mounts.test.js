// The handler runs in the servers that this runtime has: docs/guide.md, "Where to mount it".
import { expect } from 'chai'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { hash } from '../../../../lib/index.js'
import { bearer, createHandler } from '../../../../exchange/http/index.js'
import { toNodeHandler } from '../../../../exchange/http/node/index.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { hexOf } from '../../../support/store/served.js'
import { newStores, sliceOf } from '../../../support/store/stores.js'

const { Bun, Deno } = globalThis
const BYTES = noise(1_000_003)
const HEX = hexOf(hash(BYTES))

/** Functions that start a server on a free port, by name. */
const SERVERS = {
  async 'node:http' (handler) {
    const server = createServer(toNodeHandler(handler)).listen(0, 'localhost')
    await once(server, 'listening')
    return { port: server.address().port, stop: () => new Promise(resolve => server.close(resolve)) }
  },
  ...Bun && {
    'Bun.serve' (handler) {
      const server = Bun.serve({ port: 0, fetch: handler })
      return { port: server.port, stop: () => server.stop(true) }
    }
  },
  ...Deno && {
    'Deno.serve' (handler) {
      const server = Deno.serve({ port: 0, onListen () {} }, handler)
      return { port: server.addr.port, stop: () => server.shutdown() }
    }
  }
}

describe('createHandler() in', () => {
  const newStore = newStores()
  const closers = []
  afterEach(async () => { for (const close of closers.splice(0).reverse()) await close() })

  for (const [name, start] of Object.entries(SERVERS)) {
    it(`${name} gives ranges, slices and whole blobs, and keeps uploads`, async () => {
      const { store } = await newStore()
      await store.put(BYTES)
      const handler = createHandler(store, { authorize: bearer('secret') })
      const { port, stop } = await start(handler)
      closers.push(stop)
      const ask = async (path, init) => {
        const response = await fetch(`http://localhost:${port}/${path}`, init)
        return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
      }

      const range = await ask(HEX, { headers: { range: 'bytes=300000-300099' } })
      expect([range.status, same(range.bytes, BYTES.subarray(300_000, 300_100))]).to.deep.equal([206, true])
      const slice = await ask(`${HEX}?format=bao-slice&start=5&end=50000`)
      expect([slice.status, same(slice.bytes, sliceOf(BYTES, { start: 5, end: 50_000 }))]).to.deep.equal([200, true])
      const whole = await ask(HEX)
      expect([whole.status, same(whole.bytes, BYTES)]).to.deep.equal([200, true])
      expect((await ask(HEX, { method: 'HEAD' })).status).to.equal(200)
      expect((await ask(HEX.replace(/./g, '0'))).status).to.equal(404)

      const upload = noise(400_000, 5)
      const headers = { authorization: 'Bearer secret' }
      expect((await ask(hexOf(hash(upload)), { method: 'PUT', body: upload, headers })).status).to.equal(201)
      expect(same(await store.bytes(hash(upload)), upload)).to.equal(true)
      expect((await ask(hexOf(hash(upload)), { method: 'PUT', body: upload })).status).to.equal(401)
      await handler.close()
      expect(handler.stats().outcomes).to.include({ complete: 7, failed: 0, stalled: 0 })
    })
  }
})
