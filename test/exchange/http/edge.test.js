// Handlers over stores that fetch from other handlers: caches at the edge. Nothing goes over a network.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { fetchVerified, mirrorOf } from '../../../verifier/index.js'
import { download, fromMirrors } from '../../../exchange/download/index.js'
import { getCollection, putCollection } from '../../../exchange/collections/index.js'
import { flipped, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { noise } from '../../support/inputs.js'
import { Served, hexOf } from '../../support/store/served.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const MIB = 1 << 20
const BYTES = noise(3 * MIB + GROUP + 9, 83)
const ROOT = hash(BYTES)
const HEX = hexOf(ROOT)
const CID = toCid(ROOT)
const SMALL = noise(700, 84)

describe('an HTTP handler at the edge', () => {
  const newStore = newStores()

  async function origin () {
    const { store } = await newStore()
    const served = new Served(store)
    for (const bytes of [BYTES, SMALL]) await served.put(bytes)
    return served
  }

  /** A mirror that asks a handler, and records the requests. */
  const mirrorTo = (handlerOf, name = 'origin') => {
    const requests = []
    const mirror = mirrorOf(`https://${name}.test/{cid}`, {
      fetch: (url, init) => {
        const request = new Request(url, init)
        requests.push(request)
        return handlerOf()(request)
      }
    })
    return { mirror, requests }
  }

  /** An edge in front of handlers. */
  async function edge (handlers, options) {
    const mirrors = handlers.map((handler, i) => mirrorTo(() => handler, `origin-${i}`))
    const supply = fromMirrors(mirrors.map(({ mirror }) => mirror), { stall: options?.stall ?? 15_000 })
    const { store, place } = await newStore({ supply, ...options?.store })
    return { served: new Served(store), store, place, requests: mirrors.map(({ requests }) => requests) }
  }

  it('answers HEAD, ranges and 416 of a cold blob with its proven size', async () => {
    const { handler } = await origin()
    const wanted = [
      ['HEAD', {}, 200, `${BYTES.length}`, null],
      ['GET', { range: `bytes=${MIB}-${MIB + 4}` }, 206, '5', `bytes ${MIB}-${MIB + 4}/${BYTES.length}`],
      ['GET', { range: 'bytes=-5' }, 206, '5', `bytes ${BYTES.length - 5}-${BYTES.length - 1}/${BYTES.length}`],
      ['GET', { range: `bytes=${BYTES.length}-` }, 416, undefined, `bytes */${BYTES.length}`],
      ['GET', { range: `bytes=${2 ** 53 - 1}-` }, 416, undefined, `bytes */${BYTES.length}`],
      ['GET', {}, 200, `${BYTES.length}`, null]
    ]
    for (const [method, headers, status, len, range] of wanted) {
      const { served, requests: [asked] } = await edge([handler])
      const got = await served.got(`/blobs/${HEX}`, { method, headers })
      expect(got.status).to.equal(status)
      if (len !== undefined) expect(got.headers.get('content-length')).to.equal(len)
      expect(got.headers.get('content-range')).to.equal(range)
      if (status === 200 && method === 'GET') expect(same(got.bytes, BYTES)).to.equal(true)
      if (status === 206) {
        const [, start] = /^bytes (\d+)/.exec(range)
        expect(same(got.bytes, BYTES.subarray(Number(start), Number(start) + 5))).to.equal(true)
      }
      if (method === 'HEAD') expect(asked).to.have.length(1)
    }
  })

  it('gives the first bytes after one request, and needs none when it has the blob', async () => {
    const { handler } = await origin()
    const { served, requests: [asked] } = await edge([handler])
    const response = await served.ask(`/${HEX}`)
    expect(asked).to.have.length(1)
    expect(asked).to.have.length(1)
    expect(same(new Uint8Array(await response.arrayBuffer()), BYTES)).to.equal(true)
    const { length } = asked
    expect(length).to.be.at.most(4)
    expect(same((await served.got(`/${HEX}`)).bytes, BYTES)).to.equal(true)
    expect(asked).to.have.length(length)
  })

  it('gives slices and outboards of cold blobs', async () => {
    const { handler } = await origin()
    const range = { start: MIB, end: MIB + 99 }
    for (const [path, expected] of [
      [`/${HEX}?format=bao-slice`, sliceOf(BYTES)],
      [`/${HEX}?format=bao-slice&start=${range.start}&end=${range.end}`, sliceOf(BYTES, range)],
      [`/${HEX}?format=bao-slice&start=0&end=0`, undefined],
      [`/${HEX}.obao4`, createOutboardSync(BYTES, { order: 'pre' }).bytes]
    ]) {
      const { served } = await edge([handler])
      const { status, bytes } = await served.got(path)
      expect(status, path).to.equal(200)
      if (expected !== undefined) expect(same(bytes, expected), path).to.equal(true)
    }
  })

  it('serves fetchVerified and download, also as an edge of an edge', async () => {
    const { handler } = await origin()
    const inner = await edge([handler])
    const outer = await edge([inner.served.handler])
    const { mirror } = mirrorTo(() => outer.served.handler)
    const response = await fetchVerified(mirror, { cid: CID })
    expect(same(new Uint8Array(await response.arrayBuffer()), BYTES)).to.equal(true)
    const { store } = await newStore()
    const { complete } = await download(store, hash(SMALL), { from: [mirror] })
    expect(complete).to.equal(true)
    expect(inner.requests[0].map(({ headers }) => headers.get('cdn-loop')))
      .to.deep.equal(inner.requests[0].map(() => 'baobox; hops=2'))
  })

  it('brings collections, their names and their files', async () => {
    const source = await origin()
    const { cid } = await putCollection(source.store, [['a/one', ROOT], ['two.txt', hash(SMALL)]])
    const { served, store } = await edge([source.handler])
    const { status, bytes } = await served.got(`/collections/${cid}/two.txt`)
    expect([status, same(bytes, SMALL)]).to.deep.equal([200, true])
    const other = await edge([source.handler])
    const collection = await getCollection(other.store, cid)
    expect([...collection].map(([name]) => name)).to.deep.equal(['a/one', 'two.txt'])
    for (const [, member] of collection) expect(await other.store.bytes(member)).to.have.length.above(0)
    const { store: far } = await newStore()
    const cold = await edge([source.handler])
    await download(far, cid, { from: [mirrorTo(() => cold.served.handler).mirror], recursive: true })
    expect(await far.has(ROOT)).to.equal(true)
    expect(await store.has(hash(SMALL))).to.equal(true)
  })

  const refusing = async () => new Response('no', { status: 404 })
  const dying = async () => { throw new TypeError('fetch failed') }
  /** An origin whose answers are changed. */
  const changing = (handler, change) => async request => {
    const response = await handler(request)
    if (!response.ok) return response
    return new Response(change(new Uint8Array(await response.arrayBuffer())), response)
  }

  it('tells what is nowhere from what cannot be fetched, and keeps nothing of either', async () => {
    const { handler } = await origin()
    const liar = changing(handler, bytes => flipped(bytes, 99))
    for (const [handlers, status, code] of [
      [[refusing], 404, 'STORE_NOT_FOUND'],
      [[refusing, refusing], 404, 'STORE_NOT_FOUND'],
      [[dying], 502, 'HTTP_SUPPLY_FAILED'],
      [[refusing, dying], 502, 'HTTP_SUPPLY_FAILED'],
      [[liar], 502, 'HTTP_SUPPLY_FAILED'],
      [[async () => new Response('no', { status: 500 })], 502, 'HTTP_SUPPLY_FAILED']
    ]) {
      for (const path of [`/${HEX}`, `/${HEX}?format=bao-slice`, `/${HEX}.obao4`, `/collections/${CID}/`]) {
        const { served, store } = await edge(handlers)
        const got = await served.got(path)
        expect([got.status, got.json().code], path).to.deep.equal([status, code])
        expect((await served.ask(path, { method: 'HEAD' })).status, path).to.equal(status)
        expect(await store.info()).to.deep.include({ blobs: 0, bytes: 0 })
      }
    }
    const small = await edge([handler], { store: { quota: MIB } })
    const got = await small.served.got(`/${HEX}`)
    expect([got.status, got.json().code]).to.deep.equal([507, 'STORE_FULL'])
  })

  it('goes on with another origin when one lies, breaks off or stalls', async () => {
    const { handler } = await origin()
    const stalling = async request => {
      const slice = new Uint8Array(await (await handler(request)).arrayBuffer())
      return new Response(new ReadableStream({
        start (controller) { controller.enqueue(slice.subarray(0, 200_000)) }
      }), { headers: { 'content-type': 'application/vnd.bao-slice' } })
    }
    for (const bad of [
      changing(handler, bytes => flipped(bytes, 99)),
      changing(handler, bytes => flipped(bytes, bytes.length - 5)),
      changing(handler, bytes => bytes.subarray(0, bytes.length / 2)),
      stalling, dying, refusing
    ]) {
      // The good origin must never take so long, also on a busy machine.
      const { served, store } = await edge([bad, handler], { stall: bad === stalling ? 1000 : 15_000 })
      const { status, bytes } = await served.got(`/${HEX}`)
      expect([status, same(bytes, BYTES)]).to.deep.equal([200, true])
      expect(await store.fsck()).to.include({ isSound: true })
    }
  })

  it('ends when edges ask each other in a circle, alone and together', async () => {
    for (const count of [1, 2, 3]) {
      const edges = []
      for (let i = 0; i < count; i++) {
        const { mirror, requests } = mirrorTo(() => edges[(i + 1) % count].served.handler, `edge-${i}`)
        const { store } = await newStore({ supply: fromMirrors([mirror]) })
        edges.push({ served: new Served(store), store, requests })
      }
      const [first] = edges
      expect((await first.served.got(`/${HEX}`)).status).to.equal(404)
      const together = await Promise.all(edges.map(({ served }) => served.got(`/${hexOf(hash(SMALL))}`)))
      expect(together.map(({ status }) => status)).to.deep.equal(edges.map(() => 404))
      for (const { requests, served } of edges) {
        expect(requests.length).to.be.at.most(20)
        expect(served.handler.stats().active).to.equal(0)
      }
      const { hex } = await edges[count - 1].served.put(noise(2 * MIB, 3))
      expect((await first.served.got(`/${hex}`)).status).to.equal(200)
    }
  })

  it('believes no more hops than a header says, and takes a strange one for none', async () => {
    const { handler } = await origin()
    for (const [header, status] of [
      ['baobox; hops=3', 200], ['baobox; hops=4', 404], ['other, baobox;hops=9', 404], ['baobox; hops=x', 200],
      ['otherbaobox; hops=9', 200], ['baobox; hops=', 200]
    ]) {
      const { served } = await edge([handler])
      expect((await served.askWith(`/${HEX}`, { 'cdn-loop': header })).status, header).to.equal(status)
    }
    const { served } = await edge([handler])
    expect((await served.askWith(`/${HEX}`, { 'cdn-loop': 'a'.repeat(9000) })).status).to.equal(431)
  })

  it('asks nobody for random names twice, and keeps nothing for them', async () => {
    const { handler } = await origin()
    const { served, store, requests: [asked] } = await edge([handler])
    const names = Array.from({ length: 40 }, (_, i) => hexOf(hash(noise(20, i))))
    for (let i = 0; i < 2; i++) {
      for (const name of names) expect((await served.ask(`/${name}`)).status).to.equal(404)
    }
    expect(new Set(asked.map(({ url }) => url)).size).to.be.at.most(80)
    expect(asked).to.have.length.at.most(80)
    expect(await store.info()).to.deep.include({ blobs: 0, bytes: 0 })
  })
})
