// The connections of a server, and clients that ask for much, take little, or never finish a request.
import { expect } from 'chai'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { hash } from '../../../../lib/index.js'
import { serve } from '../../../../exchange/http/node/index.js'
import { Connections } from '../../../../exchange/http/node/connections.js'
import { noise } from '../../../support/inputs.js'
import { hexOf } from '../../../support/store/served.js'
import { newStores } from '../../../support/store/stores.js'

const REQUEST = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
/** More bytes than the system buffers for a client that reads nothing. */
const MUCH = 1 << 26
const LONG = 1 << 30

describe('a connection of a server', () => {
  const closers = []
  afterEach(async () => { for (const close of closers.splice(0).reverse()) await close() })

  /** Starts a server that answers like this. Returns its port. */
  async function answering (answer, limits) {
    const server = createServer()
    const deliveries = []
    const connections = new Connections(server, (request, response) => {
      connections.delivered(response).then(delivery => deliveries.push(delivery))
      return answer(request, response)
    }, { idleTimeout: LONG, headTimeout: LONG, ...limits })
    server.listen(0, 'localhost')
    await once(server, 'listening')
    closers.push(() => {
      connections.end()
      server.close()
    })
    return { deliveries, port: server.address().port }
  }

  /** Starts a client that sends this. */
  function client (port, text) {
    const socket = connect(port, 'localhost')
    socket.on('error', () => {})
    socket.write(text)
    closers.push(() => socket.destroy())
    return socket
  }

  const closed = socket => new Promise(resolve => socket.closed ? resolve() : socket.once('close', resolve))
  const until = async isTrue => { while (!isTrue()) await new Promise(resolve => setTimeout(resolve, 10)) }

  it('answers one request at a time, and all in their order', async () => {
    let underWay = 0
    let most = 0
    const { port, deliveries } = await answering(async ({ url }, response) => {
      most = Math.max(most, ++underWay)
      await new Promise(resolve => setTimeout(resolve, url === '/0' ? 20 : 1))
      underWay--
      response.end(`<${url}>`)
    })
    const asked = Array.from({ length: 20 }, (_, i) => REQUEST.replace('/', `/${i}`)).join('')
    const socket = client(port, asked)
    let text = ''
    socket.on('data', data => { text += data })
    await until(() => text.includes('</19>'))
    expect(text.match(/(?<=<\/)\d+(?=>)/g).map(Number)).to.deep.equal(Array.from({ length: 20 }, (_, i) => i))
    expect(most).to.equal(1)
    expect(deliveries).to.deep.equal(Array.from({ length: 20 }, () => 'complete'))
  })

  it('is broken off when too many requests wait', async () => {
    let begun = 0
    const { port, deliveries } = await answering(() => { begun++ })
    await closed(client(port, REQUEST.repeat(100)))
    expect(begun).to.equal(1)
    expect(deliveries).to.deep.equal(['aborted'])
  })

  it('answers no requests after an answer with Connection: close', async () => {
    let begun = 0
    const { port } = await answering((_, response) => {
      begun++
      response.setHeader('connection', 'close').end('bye')
    })
    await closed(client(port, REQUEST.repeat(3)).resume())
    expect(begun).to.equal(1)
  })

  it('is broken off when the client does not take an answer', async () => {
    const answer = (_, response) => response.end(Buffer.alloc(MUCH))
    const { port, deliveries } = await answering(answer, { idleTimeout: 20 })
    const socket = client(port, REQUEST).pause()
    const drip = setInterval(() => socket.write('\r\n'), 5)
    closers.push(() => clearInterval(drip))
    await until(() => deliveries.length === 1)
    expect(deliveries).to.deep.equal(['stalled'])
    await closed(socket.resume())
  })

  it('reports an answer as aborted when the client did not wait for it', async () => {
    const { port, deliveries } = await answering((_, response) => response.end(Buffer.alloc(MUCH)))
    const socket = client(port, REQUEST.repeat(2))
    await once(socket, 'readable')
    socket.destroy()
    await until(() => deliveries.length === 1)
    expect(deliveries).to.deep.equal(['aborted'])
  })

  it('is broken off when the client never finishes the head of a request, or the body of an answered one', async () => {
    const { port } = await answering((_, response) => response.end(), { headTimeout: 20 })
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n'
    const sent = { '\r\n': ['', REQUEST], x: ['GET ', head] }
    for (const [byte, beginnings] of Object.entries(sent)) {
      for (const beginning of beginnings) {
        const socket = client(port, beginning).resume()
        const drip = setInterval(() => socket.write(byte), 5)
        closers.push(() => clearInterval(drip))
        await closed(socket)
      }
    }
  })

  describe('of a store', () => {
    const newStore = newStores()
    const BYTES = noise(1 << 18)
    const PATH = `/${hexOf(hash(BYTES))}`

    async function served () {
      const { store } = await newStore()
      await store.put(BYTES)
      const events = []
      const server = await serve(store, { onRequest: event => events.push(event) })
      closers.push(() => server.close({ grace: 0 }))
      return { server, events, port: Number(new URL(server.url).port) }
    }

    it('does not make close() wait for a client that has disconnected before its requests are answered', async () => {
      const { server, port, events } = await served()
      const socket = client(port, `GET ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(30)).pause()
      await until(() => server.handler.stats().active === 1 && events.length > 0)
      socket.destroy()
      await server.close({ grace: 2 ** 31 - 1 })
      expect(server.handler.stats().active).to.equal(0)
    })

    it('counts an answer as complete only when the system has taken it', async () => {
      const COUNT = 8
      const { store } = await newStore()
      const bytes = noise(1 << 20) // the system takes a few of these for a client that reads nothing, and no 33
      await store.put(bytes)
      let look
      const server = await serve(store, { onRequest: () => look(server.handler.stats()) })
      closers.push(() => server.close({ grace: 0 }))
      const oneIsTaken = new Promise(resolve => { look = resolve })
      const requests = `GET /${hexOf(hash(bytes))} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(33)
      const sockets = Array.from({ length: COUNT }, () => client(new URL(server.url).port, requests))
      await Promise.all([oneIsTaken, ...sockets.map(socket => once(socket, 'readable'))])
      const allEnded = new Promise(resolve => {
        look = ({ active, outcomes }) => { if (active === 0) resolve(outcomes) }
      })
      for (const socket of sockets) socket.destroy()
      const { complete, aborted } = await allEnded
      expect(aborted).to.equal(COUNT)
      expect(complete).to.be.within(1, COUNT * 33 / 2)
    })

    it('is closed after a request that has a body although its method has none', async () => {
      const { port, server } = await served()
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        for (const header of ['Content-Length: 100000', 'Transfer-Encoding: chunked']) {
          const socket = client(port, `${method} ${PATH} HTTP/1.1\r\nHost: x\r\nRange: bytes=0-0\r\n${header}\r\n\r\n`)
          let text = ''
          socket.on('data', data => { text += data })
          await closed(socket)
          expect(text, `${method} ${header}`).to.match(/^HTTP\/1.1 400 /)
        }
      }
      const socket = client(port, `GET ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
      await closed(socket.resume())
      const { statuses, outcomes } = server.handler.stats()
      expect(statuses).to.deep.equal({ 200: 1, 400: 6 })
      expect(outcomes).to.include({ complete: 7 })
    })
  })
})
