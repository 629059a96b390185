// A server for peers starts, or fails to start. Its endpoint is fake, so no package is needed.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { servePeers } from '../../../../bin/commands/network/peers.js'
import { BlobStore } from '../../../../store/index.js'
import { errorOf } from '../../../support/feeding.js'
import { withTimers } from '../../../support/timers.js'

/** An endpoint without connections. */
class FakeEndpoint {
  isClosed = false
  #accepted = []

  online = async () => {}

  addr () {
    return { id: () => ({ toBytes: () => new Array(32).fill(7) }), relayUrl: () => null, directAddresses: () => [] }
  }

  acceptNext () { return new Promise(resolve => this.#accepted.push(resolve)) }

  async close () {
    this.isClosed = true
    for (const resolve of this.#accepted) resolve(null)
  }
}

describe('serving peers', () => {
  let store
  let endpoint
  let failure
  const { write } = process.stdout
  before(async () => { store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() }) })
  after(() => store.close())
  beforeEach(() => { endpoint = new FakeEndpoint() })

  /** Starts serving, while the reader of stdout ends after some lines. */
  async function begun ({ lines = 9, ...values }) {
    failure = Object.assign(new Error('the reader has gone'), { code: 'EPIPE' })
    process.stdout.write = (_, done) => done(lines-- > 0 ? undefined : failure)
    try {
      return await servePeers(store, values, async () => endpoint)
    } finally {
      process.stdout.write = write
    }
  }

  it('ends the endpoint with the server', async () => {
    const server = await begun({ 'no-relays': true })
    expect(endpoint.isClosed).to.equal(false)
    await server.close({ grace: 0 })
    expect(endpoint.isClosed).to.equal(true)
  })

  it('leaves no endpoint open when the reader of its output has ended', async () => {
    const { cid } = await store.put(new Uint8Array(5))
    for (const lines of [0, 1]) {
      endpoint = new FakeEndpoint()
      const error = await errorOf(begun({ 'no-relays': true, ticket: [`${cid}`], lines }))
      expect([error, endpoint.isClosed], lines).to.deep.equal([failure, true])
    }
  })

  it('leaves neither an endpoint nor a timer when the endpoint finds no relay', async () => {
    const broken = new Error('no network')
    endpoint.online = async () => { throw broken }
    await withTimers('Timeout', async timers => {
      expect(await errorOf(begun({}))).to.equal(broken)
      expect([endpoint.isClosed, timers.size]).to.deep.equal([true, 0])
    })
  })
})
