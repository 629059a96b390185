// The limits of a server for peers. The test plays the endpoint, so no package is needed.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { serveIroh } from '../../../exchange/iroh/index.js'
import { noise } from '../../support/inputs.js'
import { FakeEndpoint } from '../../support/iroh-endpoint.js'
import { sliceOf } from '../../support/store/stores.js'
import { withTimeoutsHeld } from '../../support/timers.js'

const turn = () => new Promise(resolve => setTimeout(resolve, 1))
const until = async isTrue => { while (!isTrue()) await turn() }

describe('a store that is served to peers', () => {
  let store
  let endpoint
  let server

  const serve = options => { server = serveIroh(store, endpoint, options) }
  /** Opens connections of a peer. */
  const arrive = async (peer, options) => {
    const arrival = endpoint.arrive(peer, options)
    await until(() => arrival.isRefused || arrival.isClosed || arrival.isServed || options?.finishes === false)
    return arrival
  }

  beforeEach(async () => {
    store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
    endpoint = new FakeEndpoint()
  })
  afterEach(async () => {
    await server.close({ grace: 0 })
    await store.close()
  })

  it('gives one peer an eighth of its connections, and leaves the rest to other peers', async () => {
    serve({ maxConnections: 16 })
    const greedy = []
    for (let i = 0; i < 16; i++) greedy.push(await arrive('a'))
    expect(greedy.map(({ isServed }) => isServed).filter(Boolean)).to.have.length(2)
    expect(greedy.slice(2).every(({ isClosed }) => isClosed)).to.equal(true)
    const others = []
    for (let i = 0; i < 14; i++) others.push(await arrive(`b${i}`))
    expect(others.every(({ isServed }) => isServed)).to.equal(true)
    expect((await arrive('c')).isRefused).to.equal(true)
    greedy[0].leave()
    await turn()
    expect((await arrive('a')).isServed).to.equal(true)
  })

  it('gives a peer at least one connection, or as many as its owner says', async () => {
    serve({ maxConnections: 2 })
    expect([(await arrive('a')).isServed, (await arrive('a')).isServed, (await arrive('b')).isServed])
      .to.deep.equal([true, false, true])
    await server.close({ grace: 0 })
    endpoint = new FakeEndpoint()
    serve({ maxConnections: 2, maxPerPeer: 2 })
    expect([(await arrive('a')).isServed, (await arrive('a')).isServed]).to.deep.equal([true, true])
  })

  it('waits for handshakes for a limited time, and does not count them as connections', async () => {
    await withTimeoutsHeld(12_345, async end => {
      serve({ maxConnections: 2, handshakeTimeout: 12_345 })
      const slow = [await arrive('a', { finishes: false }), await arrive('b', { finishes: false })]
      expect((await arrive('c')).isRefused).to.equal(true)
      end()
      await turn()
      expect((await arrive('c')).isServed).to.equal(true)
      for (const arrival of slow) arrival.finish() // too late
      await until(() => slow.every(({ isClosed }) => isClosed))
      expect((await arrive('d')).isServed).to.equal(true)
    })
  })

  it('lets many requests of one connection wait for missing chunks', async () => {
    const bytes = noise(300_000)
    const held = ChunkRanges.fromBytes(0, 1 << 14)
    await store.close()
    store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() }, {
      supply: () => new Promise(() => {})
    })
    await store.receive(hash(bytes), sliceOf(bytes, held), held)
    const warnings = []
    const onWarning = warning => warnings.push(warning.name)
    globalThis.process?.on?.('warning', onWarning) // where the runtime has these warnings
    try {
      const events = []
      serve({ onRequest: event => events.push(event.outcome) })
      const arrival = await arrive('a')
      for (let i = 0; i < 16; i++) arrival.ask([0, ...hash(bytes), 2, 0, 1, 0, 1, 0]).catch(() => {})
      for (let i = 0; i < 20; i++) await turn() // all of them have begun to wait
      await server.close({ grace: 0 })
      expect(events).to.deep.equal(Array(16).fill('aborted'))
      expect(warnings).to.deep.equal([])
    } finally {
      globalThis.process?.off?.('warning', onWarning)
    }
  })

  it('resolves all calls of close() when it has ended', async () => {
    serve()
    await arrive('a', { finishes: false })
    await turn()
    await Promise.all([server.close(), server.close({ grace: 10 })])
  })

  it('does not wait for handshakes longer than its grace', async () => {
    serve({ handshakeTimeout: 2 ** 31 - 1 })
    const slow = await arrive('a', { finishes: false })
    await turn()
    await server.close({ grace: 10 })
    slow.finish()
    await until(() => slow.isClosed)
    expect(slow.isServed).to.equal(false)
  })
})
