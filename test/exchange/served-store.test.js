// Any object with the calls of a store can be served, over HTTP and to peers of iroh.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../lib/index.js'
import { createOutboardSync } from '../../encoder/index.js'
import { putCollection } from '../../exchange/collections/index.js'
import { bearer, createHandler } from '../../exchange/http/index.js'
import { serveIroh } from '../../exchange/iroh/index.js'
import { concat, same } from '../support/bytes.js'
import { noise } from '../support/inputs.js'
import { FakeEndpoint } from '../support/iroh-endpoint.js'
import { hexOf } from '../support/store/served.js'
import { plainStore } from '../support/store/plain-store.js'
import { newStores, sliceOf } from '../support/store/stores.js'

const BYTES = noise(600_001)
const ROOT = hash(BYTES)
const HEX = hexOf(ROOT)
const SMALL = noise(3000, 2)

describe('an object that has the calls of a store', () => {
  const newStore = newStores()
  let store
  let called
  let other

  beforeEach(async () => {
    store = (await newStore()).store
    const { plain, called: names } = plainStore(store)
    other = plain
    called = names
    await store.put(BYTES)
    await store.put(SMALL)
  })

  it('is served over HTTP', async () => {
    const handler = createHandler(other, { allowTags: true, list: true, authorize: bearer('x') })
    const ask = async (path, init) => {
      const response = await handler(new Request(`http://store.test${path}`, init))
      return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
    }
    const expectBytes = async (path, bytes, init) => {
      const answer = await ask(path, init)
      expect(answer.status, path).to.be.within(200, 206)
      expect(same(answer.bytes, bytes), path).to.equal(true)
    }
    await expectBytes(`/${HEX}`, BYTES)
    await expectBytes(`/${HEX}`, BYTES.subarray(5, 10), { headers: { range: 'bytes=5-9' } })
    await expectBytes(`/${HEX}?format=bao-slice&start=5&end=300000`, sliceOf(BYTES, { start: 5, end: 300_000 }))
    await expectBytes(`/${HEX}.obao0`, createOutboardSync(BYTES, { groupLog: 0, order: 'pre' }).bytes)

    const { cid } = await putCollection(store, [['index.html', ROOT], ['a', hash(SMALL)]])
    await expectBytes(`/collections/${cid}/a`, SMALL)
    await store.tags.set('site', cid)
    const members = `${hexOf(cid.multihash.digest)}?format=bao-members&members=1-3`
    await expectBytes(`/${members}`, concat([sliceOf(BYTES), sliceOf(SMALL)]))
    expect((await ask('/blobs/site')).status).to.equal(307)
    expect((await ask('/blobs')).status).to.equal(200)

    const upload = noise(1000, 3)
    const headers = { authorization: 'Bearer x' }
    expect((await ask(`/${hexOf(hash(upload))}`, { method: 'PUT', body: upload, headers })).status).to.equal(201)
    expect((await ask(`/${hexOf(hash(noise(9)))}`)).status).to.equal(404)
    await handler.close()
    expect([...called]).to.include.members(['bytes', 'get', 'getMany', 'list', 'outboard', 'put', 'slice', 'statMany'])
  })

  it('is served in part, and says what is missing', async () => {
    const bytes = noise(600_001, 4)
    const held = ChunkRanges.fromBytes(0, 1 << 18)
    await store.receive(hash(bytes), sliceOf(bytes, held), held)
    const handler = createHandler(other)
    const url = `http://store.test/${hexOf(hash(bytes))}`
    const part = await handler(new Request(url, { headers: { range: 'bytes=0-99' } }))
    expect(same(new Uint8Array(await part.arrayBuffer()), bytes.subarray(0, 100))).to.equal(true)
    const whole = await handler(new Request(url))
    expect([whole.status, await whole.json()]).to.deep.equal([404, {
      code: 'STORE_MISSING',
      message: `missing bytes 262144-600001 of ${(await store.stat(hash(bytes))).cid}`,
      missing: [[1 << 18, 586 * 1024]]
    }])
    await handler.close()
  })

  it('is served to peers', async () => {
    const endpoint = new FakeEndpoint()
    const events = []
    const server = serveIroh(other, endpoint, { onRequest: event => events.push(event) })
    const peer = endpoint.arrive('a')
    const get = root => peer.ask([0, ...root, 2, 0, 1, 0, 1, 0])
    expect(same(await get(ROOT), sliceOf(BYTES))).to.equal(true)
    const { cid } = await putCollection(store, [['a', hash(SMALL)]])
    const sequence = await store.bytes(cid)
    const meta = await store.bytes(sequence.subarray(0, 32))
    const answer = await peer.ask([0, ...cid.multihash.digest, 1, 0, 1, 0])
    expect(same(answer, concat([sliceOf(sequence), sliceOf(meta), sliceOf(SMALL)]))).to.equal(true)
    expect(await get(hash(noise(7)))).to.have.length(0)
    await server.close()
    expect(events.map(({ outcome }) => outcome)).to.deep.equal(['complete', 'complete', 'missing'])
    expect([...called]).to.include.members(['slice', 'statMany', 'bytes'])
  })
})
