// Stores are served to peers and download from them: two endpoints on one machine.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { ChunkRanges, fromCid, hash, toCid } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { fetchVerified } from '../../../verifier/index.js'
import { BlobStore } from '../../../store/index.js'
import { putCollection } from '../../../exchange/collections/index.js'
import { irohMirror, parseTicket, serveIroh } from '../../../exchange/iroh/index.js'
import { loadIroh } from '../../../exchange/iroh/endpoint.js'
import { concat, same as areSame } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { absence, answerBy, ask, closeEndpoints, connect, openEndpoint } from '../../support/iroh.js'
import { expectSlip } from '../../support/slips.js'
import { skipAloud } from '../../support/vectors.js'
import { download } from '../../../exchange/download/index.js'

const content = noise(300_000, 18)
const tree = createOutboardSync(content)
const { root, cid } = tree
const ALL = [1, 0, 1, 0]
const BLOB = [2, 0, 1, 0, 1, 0]
/** A Get of the ranges with this encoding. */
const get = (root, ranges) => [0, ...root, ...ranges]
const sliceOf = (bytes, ranges) => encodeSliceSync(bytes, createOutboardSync(bytes), ranges)
const readToEnd = async recv => Uint8Array.from(await recv.readToEnd(1 << 24))
const same = (actual, expected) => expect(areSame(actual, expected), 'the same bytes').to.equal(true)
const until = async isTrue => { while (!isTrue()) await new Promise(resolve => setTimeout(resolve, 5)) }

describe('loading @number0/iroh', () => {
  it('says what to install when the package is missing', async () => {
    const cause = new Error('Cannot find package')
    const error = await errorOf(loadIroh(() => Promise.reject(cause)))
    expect(error).to.include({ code: 'IROH_ABSENT', cause })
    expect(error.message).to.include('npm install @number0/iroh')
  })
})

if (absence !== undefined) skipAloud('stores among peers of iroh', absence)
else describe('a store among peers of iroh', suite)

function suite () {
  let store
  let other
  let server
  let client
  let events

  const openStore = () => BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
  const serve = async options => {
    const endpoint = await openEndpoint()
    return { endpoint, ...serveIroh(store, endpoint, { onRequest: event => events.push(event), ...options }) }
  }

  beforeEach(async () => {
    events = []
    store = await openStore()
    other = await openStore()
    client = await openEndpoint()
    await store.put(content)
  })
  afterEach(async () => {
    await server?.close({ grace: 0 })
    await closeEndpoints()
    await Promise.all([store.close(), other.close()])
  })

  describe('that is served', () => {
    beforeEach(async () => { server = await serve() })

    it('gives a blob to a peer with a ticket', async () => {
      const ticket = server.ticket(cid)
      expect(`${parseTicket(ticket).cid}`).to.equal(`${cid}`)
      const mirror = irohMirror(ticket, { endpoint: client })
      const result = await download(other, cid, { from: [mirror] })
      expect(result).to.include({ size: content.length, complete: true })
      same(await other.bytes(cid), content)
      await mirror.close()
      await until(() => events.at(-1)?.outcome === 'complete')
      expect(events.at(-1)).to.include({ cid: `${cid}`, peer: client.id().toString() })
    })

    it('gives ranges, and proves its size by the last chunk', async () => {
      const mirror = irohMirror(server.address, { endpoint: client })
      const parts = ChunkRanges.fromBoundaries([1, 2, 5, 7])
      for (const ranges of [ChunkRanges.fromBytes(20_000, 100_000), ChunkRanges.last, parts]) {
        const pieces = []
        for await (const piece of mirror.slice(cid, ranges)) pieces.push(piece)
        same(concat(pieces), sliceOf(content, ranges))
      }
      await mirror.close()
    })

    it('gives a blob to fetchVerified()', async () => {
      const mirror = irohMirror(server.endpoint.addr(), { endpoint: client })
      const response = await fetchVerified(mirror, { cid, range: { start: 1000, end: 200_000 } })
      same(new Uint8Array(await response.arrayBuffer()), content.subarray(1000, 200_000))
      await mirror.close()
    })

    it('gives a sequence and its members in one answer, with the empty blob', async () => {
      const small = noise(2000, 3)
      await store.put(small)
      const empty = hash(new Uint8Array(0))
      const { cid: named } = await putCollection(store, [['a', root], ['b', empty], ['c', hash(small)]])
      const sequence = await store.bytes(named)
      const meta = await store.bytes(sequence.subarray(0, 32))
      const connection = await connect(client, server.endpoint)
      const whole = [sequence, meta, content, new Uint8Array(0), small]
      same(await readToEnd(await ask(connection, get(fromCid(named), ALL))), concat(whole.map(bytes => sliceOf(bytes))))
      // Nothing of the sequence itself, but the last chunks of its members from the second on.
      const last = [1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]
      same(await readToEnd(await ask(connection, get(fromCid(named), [1, 2, ...last]))),
        concat(whole.slice(2).map(bytes => sliceOf(bytes, ChunkRanges.last))))
      same(await readToEnd(await ask(connection, get(fromCid(named), [2, 2, ...last, 1, 0]))),
        sliceOf(content, ChunkRanges.last))
    })

    it('sends nothing for blobs that it does not have', async () => {
      const absent = hash(noise(5))
      const connection = await connect(client, server.endpoint)
      expect(await (await ask(connection, get(absent, BLOB))).read(100)).to.deep.equal([])
      const mirror = irohMirror(server.address, { endpoint: client })
      const { location } = mirror
      expect(await errorOf(mirror.slice(absent).next())).to.include({ code: 'STORE_NOT_FOUND', location })
      const error = await errorOf(download(other, absent, { from: [mirror] }))
      expect(error).to.have.property('code', 'FETCH_EXHAUSTED')
      await until(() => events.length >= 3)
      expect(events.map(({ outcome }) => outcome)).to.deep.equal(['missing', 'missing', 'missing'])
      await mirror.close()
    })

    it('ends an answer before the first member that it does not have', async () => {
      const { cid: named } = await putCollection(store, [['a', root], ['b', hash(noise(5))]])
      const sequence = await store.bytes(named)
      const connection = await connect(client, server.endpoint)
      const answer = await readToEnd(await ask(connection, get(fromCid(named), ALL)))
      const meta = await store.bytes(sequence.subarray(0, 32))
      same(answer, concat([sequence, meta, content].map(bytes => sliceOf(bytes))))
    })

    it('gives the present parts of a blob', async () => {
      const part = ChunkRanges.fromBytes(0, 1 << 16)
      const blob = noise(200_000, 4)
      await store.receive(hash(blob), sliceOf(blob, part), part)
      const mirror = irohMirror(server.address, { endpoint: client })
      await other.receive(hash(blob), mirror.slice(hash(blob), part), part)
      expect(await errorOf(mirror.slice(hash(blob)).next())).to.have.property('code', 'STORE_NOT_FOUND')
      await mirror.close()
    })

    it('refuses requests other than Get, and members of a blob that is no sequence', async () => {
      const connection = await connect(client, server.endpoint)
      const resetOf = async bytes => {
        const recv = await ask(connection, bytes)
        expect(await errorOf(recv.readToEnd(1 << 20))).to.be.instanceOf(Error)
        return recv.receivedReset()
      }
      expect(await resetOf([1, ...root, 0]), 'Observe').to.equal(1)
      expect(await resetOf([0, 1, 2]), 'too short').to.equal(1)
      expect(await resetOf([0, ...root, 2, 0, 1, 0, 0, 0]), 'not canonical').to.equal(1)
      expect(await resetOf(new Uint8Array(70_000)), 'too long').to.equal(1)
      const odd = noise(100, 9)
      await store.put(odd)
      expect(await resetOf(get(hash(odd), ALL)), 'no sequence').to.equal(1)
      await until(() => events.length === 5)
      expect(events.map(({ outcome }) => outcome)).to.deep.equal(new Array(5).fill('refused'))
      expect(events.map(({ code }) => code).sort().at(-1)).to.equal('REQUEST_UNSUPPORTED')
      // The connection still works.
      same(await readToEnd(await ask(connection, get(root, BLOB))), sliceOf(content))
    })

    it('answers many requests at the same time over one connection', async () => {
      const mirror = irohMirror(server.address, { endpoint: client })
      const blobs = Array.from({ length: 40 }, (_, i) => noise(3000, 100 + i))
      for (const blob of blobs) await store.put(blob)
      await Promise.all(blobs.map(async blob => {
        await other.receive(hash(blob), mirror.slice(hash(blob)))
        same(await other.bytes(hash(blob)), blob)
      }))
      await mirror.close()
    })

    it('resets an answer that it cannot finish', async () => {
      await store.close()
      const connection = await connect(client, server.endpoint)
      const recv = await ask(connection, get(root, BLOB))
      expect(await errorOf(recv.readToEnd(1 << 20))).to.be.instanceOf(Error)
      expect(await recv.receivedReset()).to.equal(3)
      await until(() => events.length === 1)
      expect(events[0]).to.include({ outcome: 'failed', code: 'STORE_CLOSED' })
    })
  })

  it('finishes the answers under way when it is closed, and takes no new requests', async () => {
    server = await serve()
    const connection = await connect(client, server.endpoint)
    const recv = await ask(connection, get(root, BLOB))
    const first = await recv.read(8)
    const closed = server.close()
    same(concat([Uint8Array.from(first), await readToEnd(recv)]), sliceOf(content))
    await closed
    expect(events.at(-1)).to.have.property('outcome', 'complete')
    expect(await errorOf(connect(await openEndpoint(), server.endpoint))).to.be.instanceOf(Error)
  })

  it('closes the connection of a peer that takes nothing', async () => {
    server = await serve({ idleTimeout: 2000 })
    const blob = noise(8_000_000, 5)
    await store.put(blob)
    const connection = await connect(client, server.endpoint)
    await ask(connection, get(hash(blob), BLOB))
    await until(() => connection.closeReason() !== null)
    await until(() => events.length === 1)
    expect(events[0]).to.have.property('outcome', 'aborted')
  })

  it('closes the connection of a peer that asks for nothing, or does not end its request', async () => {
    server = await serve({ idleTimeout: 2000 })
    const silent = await connect(client, server.endpoint)
    const slow = await connect(await openEndpoint(), server.endpoint)
    const { send } = await slow.openBi()
    await send.writeAll([0])
    await until(() => silent.closeReason() !== null && slow.closeReason() !== null)
  })

  it('refuses more connections than it may have', async () => {
    server = await serve({ maxConnections: 1 })
    const first = await connect(client, server.endpoint)
    expect(await errorOf(connect(await openEndpoint(), server.endpoint))).to.be.instanceOf(Error)
    same(await readToEnd(await ask(first, get(root, BLOB))), sliceOf(content))
  })

  it('gives one peer no more connections than its share', async () => {
    server = await serve({ maxConnections: 9 })
    const [first, second] = [await connect(client, server.endpoint), await connect(client, server.endpoint)]
    for (const connection of [first, second]) {
      same(await readToEnd(await ask(connection, get(root, BLOB))), sliceOf(content))
    }
    const third = await connect(client, server.endpoint)
    await until(() => third.closeReason() !== null)
    const other = await connect(await openEndpoint(), server.endpoint)
    same(await readToEnd(await ask(other, get(root, BLOB))), sliceOf(content))
  })

  it('is served with valid options only', async () => {
    const endpoint = await openEndpoint()
    await expectSlip('maxRequestBytes', () => serveIroh(store, endpoint, { maxRequestBytes: 2 ** 20 + 1 }))
    for (const name of ['maxConnections', 'maxPerPeer', 'handshakeTimeout', 'maxStreams', 'idleTimeout']) {
      await expectSlip(name, () => serveIroh(store, endpoint, { [name]: 0 }))
    }
    await expectSlip('onRequest', () => serveIroh(store, endpoint, { onRequest: 1 }))
    await expectSlip('endpoint', () => serveIroh(store, undefined))
    await expectSlip('store', () => serveIroh({}, endpoint))
  })

  describe('that downloads', () => {
    const slice = sliceOf(content)
    const good = async send => {
      await send.writeAll([...slice])
      await send.finish()
    }
    /** A mirror of a peer that answers by a function. */
    const peer = async answer => {
      const endpoint = await openEndpoint()
      answerBy(endpoint, answer)
      return irohMirror(endpoint.addr(), { endpoint: client })
    }
    /** The error of a slice that is received from a peer. */
    const faultOf = async (answer, options) => {
      const mirror = await peer(answer)
      const error = await errorOf(other.receive(cid, mirror.slice(cid, undefined, options), undefined, options))
      await mirror.close()
      return error
    }

    it('keeps the blob, whatever the peer does at the end of its answer', async () => {
      const mirror = await peer(good)
      await other.receive(cid, mirror.slice(cid))
      same(await other.bytes(cid), content)
      await mirror.close()
    })

    it('refuses a flipped bit', async () => {
      const wrong = slice.slice()
      wrong[200_000] ^= 1
      expect(await faultOf(send => send.writeAll([...wrong]))).to.have.property('code', 'BAO_LEAF_MISMATCH')
    })

    it('refuses a false size, and never allocates so much memory', async () => {
      const huge = [0, 0, 0, 0, 0, 0, 16, 0]
      expect((await faultOf(send => send.writeAll([...huge, ...slice.slice(8)]))).code).to.match(/^BAO_\w+_MISMATCH$/)
      const tooLarge = new Array(64).fill(255)
      expect(await faultOf(send => send.writeAll(tooLarge))).to.have.property('code', 'BAO_SIZE_TOO_LARGE')
    })

    it('takes no more bytes than it asked for from a peer that never stops sending', async () => {
      let sent = 0
      const endless = async send => {
        await send.writeAll([...slice])
        for (const noise = new Array(1 << 16).fill(0); ; sent += noise.length) await send.writeAll(noise)
      }
      const mirror = await peer(endless)
      await other.receive(cid, mirror.slice(cid))
      same(await other.bytes(cid), content)
      expect(sent).to.be.below(2 ** 24)
      await mirror.close()
    })

    it('fails when an answer is cut off', async () => {
      const cut = async send => {
        await send.writeAll([...slice.subarray(0, 100_000)])
        await send.finish()
      }
      expect(await faultOf(cut)).to.have.property('code', 'BAO_TRUNCATED')
    })

    it('understands the codes with which a peer ends answers', async () => {
      const codes = { 1: 'FETCH_REFUSED', 2: 'FETCH_FAILED', 3: 'STORE_NOT_FOUND' }
      for (const [code, expected] of Object.entries(codes)) {
        expect(await faultOf(send => send.reset(BigInt(code))), code).to.have.property('code', expected)
      }
    })

    it('gets the rest from another mirror when a peer disconnects', async () => {
      const LEN = 50_000
      let told
      const hasCome = new Promise(resolve => { told = resolve })
      const going = async (send, recv, connection) => {
        await send.writeAll([...slice.subarray(0, LEN)])
        await hasCome // bytes in transit are lost when a connection closes
        connection.close(0n, [])
      }
      async function * watched (pieces) {
        let len = 0
        for await (const piece of pieces) {
          yield piece
          len += piece.length
          if (len >= LEN) told()
        }
      }
      const mirror = await peer(going)
      expect(await errorOf(other.receive(cid, watched(mirror.slice(cid))))).to.have.property('code', 'FETCH_FAILED')
      const kept = (await other.stat(cid)).present.toBytes(content.length)
      expect(kept[0].start).to.equal(0)
      const { complete, received } = await download(other, cid, { from: [mirror, store], retries: 0 })
      expect(complete).to.equal(true)
      expect(received).to.equal(content.length - kept[0].end)
      same(await other.bytes(cid), content)
      await mirror.close()
    })

    it('ends immediately when it is aborted, and can ask the peer again', async () => {
      const signals = []
      const first = async (send, recv, connection, i) => {
        if (signals.push(i) === 1) return send.writeAll([...slice.subarray(0, 1000)]) // and no more
        await good(send)
      }
      const mirror = await peer(first)
      const controller = new AbortController()
      const receiving = other.receive(cid, mirror.slice(cid, undefined, { signal: controller.signal }))
      await until(() => signals.length === 1)
      controller.abort(new Error('enough'))
      expect(await errorOf(receiving)).to.have.property('message', 'enough')
      await other.receive(cid, mirror.slice(cid))
      same(await other.bytes(cid), content)
      await mirror.close()
    })

    it('stops an answer that nobody reads to its end', async () => {
      const mirror = await peer(good)
      const pieces = mirror.slice(cid)
      expect((await pieces.next()).done).to.equal(false)
      await pieces.return()
      await other.receive(cid, mirror.slice(cid))
      await mirror.close()
      expect(await errorOf(mirror.slice(cid).next())).to.have.property('code', 'FETCH_FAILED')
    })

    it('opens no endpoint before a peer is asked', async () => {
      const mirror = irohMirror({ id: toHex(client.id().toBytes()) })
      mirror.slice(cid)
      await mirror.close()
    })

    it('takes tickets and addresses, and nothing else', async () => {
      expect(await errorOf(() => irohMirror('blobaaaa'))).to.have.property('code', 'TICKET_INVALID')
      await expectSlip('address', () => irohMirror(5))
      await expectSlip('address.id', () => irohMirror({ id: 'x' }))
      const mirror = irohMirror({ id: toHex(client.id().toBytes()) }, { endpoint: client }) // an endpoint asks itself
      expect(await errorOf(mirror.slice(toCid(root)).next())).to.have.property('code', 'FETCH_FAILED')
    })
  })
}

const toHex = bytes => bytes.map(byte => byte.toString(16).padStart(2, '0')).join('')
