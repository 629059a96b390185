// A store is served by Node's server, to real clients, good and bad ones.
import { expect } from 'chai'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { hash } from '../../../../lib/index.js'
import { fetchVerified, verifyStream } from '../../../../verifier/index.js'
import { putCollection } from '../../../../exchange/collections/index.js'
import { bearer } from '../../../../exchange/http/index.js'
import { serve } from '../../../../exchange/http/node/index.js'
import { same } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { atEffort } from '../../../support/effort.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { entriesOf, isHeld, isPage } from '../../../support/store/inspect.js'
import { hexOf } from '../../../support/store/served.js'
import { newStores, onDisk } from '../../../support/store/stores.js'
import { withTimers } from '../../../support/timers.js'

const BYTES = noise(1_000_003)
const ROOT = hash(BYTES)
const HEX = hexOf(ROOT)
const HAS_CURL = spawnSync('curl', ['--version']).status === 0

describe('serve()', () => {
  const newStore = newStores()
  const closers = []
  let folder
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'baobox-serve-')) })
  after(() => rm(folder, { recursive: true }))
  afterEach(async () => { for (const close of closers.splice(0).reverse()) await close() })

  /** A server of a store that has BYTES. */
  async function served (options, given) {
    const { store, data } = given ?? await newStore()
    const events = []
    const server = await serve(store, { ...options, onRequest: event => events.push(event) })
    closers.push(() => server.close({ grace: 0 }))
    if (given === undefined) await store.put(BYTES)
    return { store, data, server, events, url: server.url, port: Number(new URL(server.url).port) }
  }

  /** Sends text as it is, and returns all bytes that the server sends until it ends the connection. */
  async function talk (port, text) {
    const socket = connect(port, 'localhost')
    socket.on('error', () => {})
    socket.end(text)
    const parts = []
    try {
      for await (const part of socket) parts.push(part)
    } catch (error) {
      if (error.code !== 'ECONNRESET') throw error // a server need not read a request that it refuses to the end
    }
    return Buffer.concat(parts).toString('latin1')
  }

  it('gives ranges, slices and heads to fetch()', async () => {
    const { url } = await served()
    const whole = new Uint8Array(await (await fetch(`${url}/${HEX}`)).arrayBuffer())
    expect(same(whole, BYTES)).to.equal(true)
    const part = await fetch(`${url}/${HEX}`, { headers: { range: 'bytes=300000-700000' } })
    expect([part.status, part.headers.get('content-range')]).to.deep.equal([206, 'bytes 300000-700000/1000003'])
    expect(same(new Uint8Array(await part.arrayBuffer()), BYTES.subarray(300_000, 700_001))).to.equal(true)
    const head = await fetch(`${url}/${HEX}`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).to.equal('1000003')
    const slice = await fetch(`${url}/blobs/${HEX}?format=bao-slice&start=5&end=500000&group-log=2`)
    expect(slice.redirected).to.equal(false)
    const ranges = { start: 5, end: 500_000 }
    const leaves = await listed(verifyStream(slice.body, { cid: ROOT, ranges, groupLog: 2 }))
    const { offset, bytes } = leaves.at(-1)
    expect(offset + bytes.length).to.equal(500_000)
    const verified = await fetchVerified(`${url}/${HEX}`, { cid: ROOT, range: { start: 10, end: 999_999 } })
    expect(same(new Uint8Array(await verified.arrayBuffer()), BYTES.subarray(10, 999_999))).to.equal(true)
  })

  it('gives ranges to curl, and lets it resume downloads', async function () {
    if (!HAS_CURL) return this.skip()
    const { url } = await served()
    const curl = async (...args) => {
      const run = promisify(execFile)('curl', ['-s', '-S', '-i', ...args], { encoding: 'buffer', maxBuffer: 1 << 24 })
      const { stdout } = await run
      const end = stdout.indexOf('\r\n\r\n')
      return { head: stdout.subarray(0, end).toString('latin1'), body: new Uint8Array(stdout.subarray(end + 4)) }
    }
    for (const [range, start, end] of [['0-0', 0, 1], ['5-99999', 5, 100_000], ['-7', 999_996, 1_000_003],
      ['262140-', 262_140, 1_000_003]]) {
      const { head, body } = await curl('-r', range, `${url}/${HEX}`)
      expect(head).to.match(/^HTTP\/1.1 206 /)
      expect(head.toLowerCase()).to.include(`content-range: bytes ${start}-${end - 1}/1000003`)
      expect(same(body, BYTES.subarray(start, end)), range).to.equal(true)
    }
    const { head } = await curl('-I', `${url}/${HEX}.obao4`)
    expect(head.toLowerCase()).to.include('content-length: 3904')
    const file = join(folder, 'download')
    await writeFile(file, BYTES.subarray(0, 123_456))
    await promisify(execFile)('curl', ['-s', '-S', '-C', '-', '-o', file, `${url}/${HEX}`])
    expect(same(new Uint8Array(await readFile(file)), BYTES)).to.equal(true)
  })

  it('answers HEAD with the head that GET gets, and gives no length in answers without a body', async () => {
    const given = await newStore()
    const { store } = given
    const { cid: file } = await store.put(noise(5))
    const { cid: long } = await store.put(BYTES)
    await store.tags.set('tag', file)
    const { cid } = await putCollection(store, [['index.html', file], ['docs/a', long]])
    const options = { list: true, allowTags: true, collections: { listing: true }, authorize: bearer('secret') }
    const { port } = await served(options, given)
    /** Status and framing of an answer. On the connection, only another answer follows it. */
    const framing = async (method, path, header = '') => {
      const last = 'HEAD /v2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
      const answer = await talk(port, `${method} ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\n${last}`)
      const [head, status] = /^HTTP\/1.1 (\d+) .*?\r\n\r\n/s.exec(answer)
      const lines = head.toLowerCase().match(/^(content-length|transfer-encoding): \w+/gm) ?? []
      const len = method === 'GET' ? Number(lines[0]?.split(' ')[1] ?? 0) : 0
      expect(answer.slice(head.length + len), `${method} ${path}`).to.match(/^HTTP\/1.1 200 [^]*\r\n\r\n$/)
      return [status, ...lines]
    }
    for (const [path, status] of [
      [`/blobs/${file}`, 200], [`/blobs/${long}`, 200], ['/blobs/tag', 307], [`/${'0'.repeat(64)}`, 404],
      [`/blobs/${long}?format=bao-slice`, 200], [`/blobs/${long}.obao4`, 200], [`/blobs/${file}.obao4`, 200],
      [`/blobs/${cid}?format=bao-members&members=0-1`, 200], ['/blobs', 200], ['/v2/', 200], ['/none', 404],
      [`/collections/${cid}`, 308], [`/collections/${cid}/`, 200], [`/collections/${cid}/docs`, 308],
      [`/collections/${cid}/docs/`, 200], [`/collections/${cid}/none`, 404]
    ]) {
      const got = await framing('GET', path)
      expect(got, path).to.have.length(2)
      expect(got.join(), path).to.match(new RegExp(`^${status},content-length: \\d+$`))
      expect(await framing('HEAD', path), path).to.deep.equal(got)
      expect(await framing('OPTIONS', path), path).to.deep.equal(['204'])
      if (status !== 200 || !path.includes(`${cid}/`)) continue
      for (const method of ['GET', 'HEAD']) {
        const known = await framing(method, path, 'If-None-Match: *\r\n')
        expect(known, path).to.deep.equal(path.endsWith('docs/') ? got : ['304'])
      }
    }
    const odd = 'HTTP/1.1\r\nHost: x:99999\r\n'
    const [get, head] = await Promise.all(['GET', 'HEAD'].map(method => talk(port, `${method} / ${odd}\r\n`)))
    for (const answer of [get, head]) expect(answer).to.match(/^HTTP\/1.1 400 .*\r\ncontent-length: 0\r\n/is)
  })

  it('answers many readers of ranges at the same time', async () => {
    const { server, port } = await served()
    const wrong = []
    const count = atEffort(1000)
    await Promise.all(Array.from({ length: count }, async (_, i) => {
      const start = i * 997
      const answer = await talk(port,
        `GET /${HEX} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nRange: bytes=${start}-${start + GROUP - 1}\r\n\r\n`)
      const body = Buffer.from(answer.slice(answer.indexOf('\r\n\r\n') + 4), 'latin1')
      const expected = BYTES.subarray(start, start + GROUP)
      if (!answer.startsWith('HTTP/1.1 206 ') || !same(new Uint8Array(body), expected)) wrong.push(i)
    }))
    expect(wrong).to.deep.equal([])
    expect(server.handler.stats()).to.deep.include({ active: 0, requests: count, statuses: { 206: count } })
  })

  it('answers clients that have closed their side of the connection', async () => {
    const place = await onDisk()
    closers.push(() => place.remove())
    const store = await place.open({ syncReads: false })
    await store.put(BYTES)
    const { port } = await served({}, { store })
    for (let i = 0; i < 5; i++) {
      const answer = await talk(port, `GET /${HEX} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      expect(answer.length).to.be.above(BYTES.length)
    }
  })

  it('survives invalid requests', async () => {
    const { url, port } = await served()
    const line = 'GET / HTTP/1.1\r\nHost: x\r\n'
    const sent = {
      'no HTTP': 'hello\r\n\r\n',
      'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'no end': 'GET / HTTP/1.1\r\nHost: x\r\nX: ',
      'huge headers': `${line}X: ${'y'.repeat(100_000)}\r\n\r\n`,
      'many headers': `${line}${'X: y\r\n'.repeat(5000)}\r\n`,
      'ten thousand ranges': `GET /${HEX} HTTP/1.1\r\nHost: x\r\nRange: bytes=${'0-0,'.repeat(10_000)}\r\n\r\n`,
      'a huge path': `GET /${'a'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      'an odd host': 'GET / HTTP/1.1\r\nHost: [::bad:: \r\n\r\n',
      'another odd host': 'GET / HTTP/1.1\r\nHost: a b<c>\r\n\r\n',
      'no host': 'GET / HTTP/1.1\r\n\r\n',
      'an absolute target': 'GET http://other.test/x HTTP/1.1\r\nHost: x\r\n\r\n',
      'a bad absolute target': 'GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n',
      'an authority': 'CONNECT other.test:443 HTTP/1.1\r\nHost: x\r\n\r\n',
      'a star': 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
      dots: 'GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
      'encoded dots': 'GET /blobs/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: x\r\n\r\n',
      'two lengths': `PUT /${HEX} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`,
      'a smuggled request': `PUT /${HEX} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n` +
        'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'a body that is not wanted': `GET /${HEX} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n` +
        'Connection: close\r\n\r\nabcde',
      'a trace': `TRACE /${HEX} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      'an upgrade': `GET /${HEX} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`
    }
    for (const [what, text] of Object.entries(sent)) {
      const answer = await talk(port, text)
      const [, status] = /^HTTP\/1.1 (\d+) /.exec(answer) ?? []
      if (status !== undefined && !['a body that is not wanted', 'an upgrade', 'a star'].includes(what)) {
        expect(Number(status), `${what}: ${answer.slice(0, 200)}`).to.be.within(400, 499)
      }
      expect(answer, what).to.not.include('root:')
    }
    expect((await fetch(`${url}/${HEX}`, { method: 'HEAD' })).status).to.equal(200)
  })

  it('answers others while two hundred connections are half open', async () => {
    const { url, port, server } = await served()
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connect(port, 'localhost')
      socket.on('error', () => {})
      socket.write(`GET /${HEX} HTTP/1.1\r\nHost: x\r\n`)
      return socket
    })
    await Promise.all(sockets.map(socket => once(socket, 'ready')))
    expect((await fetch(`${url}/${HEX}`, { headers: { range: 'bytes=0-9' } })).status).to.equal(206)
    await server.close({ grace: 100 })
    await Promise.all(sockets.map(socket => socket.closed || once(socket, 'close')))
  })

  it('needs little memory for clients that read nothing, and breaks off their connections in the end', async () => {
    const place = await onDisk()
    closers.push(() => place.remove())
    const store = await place.open({ durability: 'process' })
    const piece = noise(1 << 20)
    const { cid, size } = await store.put((async function * () { for (let i = 0; i < 32; i++) yield piece })())
    const { port, events } = await served({ idleTimeout: 100 }, { store })
    const before = process.memoryUsage().arrayBuffers
    const COUNT = 40
    const sockets = Array.from({ length: COUNT }, () => {
      const socket = connect(port, 'localhost').pause()
      socket.on('error', () => {})
      socket.write(`GET /blobs/${cid} HTTP/1.1\r\nHost: x\r\n\r\n`)
      return socket
    })
    while (events.length < COUNT) {
      const held = process.memoryUsage().arrayBuffers - before
      // Of 32 MiB each. What the system has taken, some 4 MiB, may not be collected yet.
      expect(held / COUNT, 'bytes for each').to.be.below(8 << 20)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    expect(new Set(events.map(({ outcome }) => outcome))).to.deep.equal(new Set(['stalled']))
    for (const { sent } of events) expect(sent).to.be.below(size / 2)
    for (const socket of sockets) socket.destroy()
  })

  it('stops reading for clients that disconnect in the middle', async () => {
    const { url, events, store } = await served()
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${url}/${HEX}`)
      await response.body.getReader().cancel()
    }
    while (events.length < 20) await new Promise(resolve => setTimeout(resolve, 10))
    expect(events.every(({ outcome }) => ['aborted', 'complete'].includes(outcome))).to.equal(true)
    expect(isHeld(store, ROOT)).to.equal(false)
  })

  it('breaks the connection at damage, so that no client mistakes it for the end', async () => {
    const read = {
      fetch: async ({ url }) => {
        const response = await fetch(`${url}/${HEX}`)
        expect(response.status).to.equal(200)
        expect(await errorOf(response.arrayBuffer())).to.be.instanceOf(Error)
      },
      'a socket': async ({ port }) => {
        const answer = await talk(port, `GET /${HEX} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        expect(answer.length).to.be.within(3 * 262_144, BYTES.length)
      }
    }
    for (const [client, work] of Object.entries(read)) {
      const server = await served()
      const extents = (await entriesOf(server.data)).filter(entry => !isPage(entry))
      const last = extents.find(({ offset }) => offset === 3 * 262_144)
      last.value[10_000] ^= 1
      await last.put(last.value)
      await work(server)
      expect(server.events.map(({ outcome, code }) => [outcome, code]), client)
        .to.deep.equal([['failed', 'STORE_CORRUPT']])
    }
  })

  it('breaks connections when the store closes, and then answers that it is closed', async () => {
    const { url, store } = await served()
    const readers = await Promise.all(Array.from({ length: 20 }, async () => {
      const response = await fetch(`${url}/${HEX}`)
      return response.body.getReader()
    }))
    await store.close()
    const outcomes = await Promise.all(readers.map(async reader => {
      try {
        let len = 0
        for (;;) {
          const { done, value } = await reader.read()
          if (done) return len
          len += value.length
        }
      } catch (error) {
        return error
      }
    }))
    for (const outcome of outcomes) expect(outcome instanceof Error || outcome === BYTES.length).to.equal(true)
    expect((await fetch(`${url}/${HEX}`)).status).to.equal(503)
  })

  it('finishes answers when it closes, and takes no new requests', async () => {
    const { url, server } = await served()
    const response = await fetch(`${url}/${HEX}`)
    const closing = server.close()
    expect(same(new Uint8Array(await response.arrayBuffer()), BYTES)).to.equal(true)
    await closing
    expect(await errorOf(fetch(url))).to.be.instanceOf(Error)
    await server.close()
  })

  it('keeps uploads, and refuses those that are too long before it reads them', async () => {
    const { url, store } = await served({ authorize: bearer('secret'), maxBytes: 5000 })
    const headers = { authorization: 'Bearer secret' }
    const bytes = noise(5000, 9)
    const path = `${url}/${hexOf(hash(bytes))}`
    expect((await fetch(path, { method: 'PUT', body: bytes, headers })).status).to.equal(201)
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    expect((await fetch(path, { method: 'PUT', body: bytes })).status).to.equal(401)
    const long = await talk(Number(new URL(url).port), `PUT /${HEX} HTTP/1.1\r\nHost: x\r\n` +
      'Authorization: Bearer secret\r\nContent-Length: 5001\r\n\r\n')
    expect(long).to.match(/^HTTP\/1.1 413 /)
  })

  it('refuses wrong options, and ports that are taken', async () => {
    const { port } = await served()
    const { store } = await newStore()
    for (const options of [{ ports: 1 }, { port: '1' }, { host: '' }, { path: 5 }, { path: 'x', port: 1 }]) {
      expect(await errorOf(serve(store, options)), JSON.stringify(options)).to.be.instanceOf(TypeError)
    }
    for (const options of [{ port: 65_536 }, { maxConnections: 0 }]) {
      expect(await errorOf(serve(store, options)), JSON.stringify(options)).to.be.instanceOf(RangeError)
    }
    const { message } = await errorOf(serve(store, { prt: 1 }))
    expect(message).to.match(/^unknown option "prt": expected port, host, .*\bsite\b/)
    expect(await errorOf(serve(store, { port }))).to.include({ code: 'EADDRINUSE' })
  })

  it('leaves no timer behind when it cannot listen, or is closed', async () => {
    const { port } = await served()
    const { store } = await newStore()
    await withTimers('Interval', async timers => {
      for (const place of [{ port }, { path: folder }]) {
        expect(await errorOf(serve(store, place))).to.include({ code: 'EADDRINUSE' })
        expect(timers.size, JSON.stringify(place)).to.equal(0)
      }
      const server = await serve(store)
      expect(timers.size).to.equal(1)
      await server.close()
      expect(timers.size).to.equal(0)
    })
  })

  describe('at a Unix socket', () => {
    const getFrom = (socketPath, path) => new Promise((resolve, reject) => {
      request({ socketPath, path }, async response => {
        resolve({ status: response.statusCode, bytes: new Uint8Array(Buffer.concat(await listed(response))) })
      }).on('error', reject).end()
    })

    it('answers', async () => {
      const path = join(folder, 'socket')
      const { url, server } = await served({ path })
      expect(url).to.equal(`http+unix://${encodeURIComponent(path)}`)
      const { status, bytes } = await getFrom(path, `/${HEX}`)
      expect([status, same(bytes, BYTES)]).to.deep.equal([200, true])
      await server.close()
      expect(await errorOf(stat(path))).to.include({ code: 'ENOENT' })
    })

    it('takes over a socket that a killed process has left, and no other', async () => {
      const path = join(folder, 'left')
      const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`
      spawnSync(process.execPath, ['-e', script])
      expect((await stat(path)).isSocket()).to.equal(true)
      await served({ path })
      expect((await getFrom(path, '/x')).status).to.equal(404)
      expect(await errorOf(served({ path }))).to.include({ code: 'EADDRINUSE' })
      const file = join(folder, 'file')
      await writeFile(file, 'precious')
      expect(await errorOf(served({ path: file }))).to.include({ code: 'EADDRINUSE' })
      expect(await readFile(file, 'utf8')).to.equal('precious')
      const other = createServer().listen(join(folder, 'other'))
      await once(other, 'listening')
      expect(await errorOf(served({ path: join(folder, 'other') }))).to.include({ code: 'EADDRINUSE' })
      other.close()
    })
  })
})
