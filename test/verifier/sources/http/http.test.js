// Blobs on HTTP servers: good ones, plain ones, and liars.
import { createServer } from 'node:http'
import { expect } from 'chai'
import { createOutboardSync, encode, encodeSliceSync, openOutboard } from '../../../../encoder/index.js'
import { VerifiedReader, fetchVerified, httpSource } from '../../../../verifier/index.js'
import { same } from '../../../support/bytes.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { KEY, noise } from '../../../support/inputs.js'
import { forEachKernel } from '../../../support/kernels.js'
import { outboardOf } from '../../../support/outboards.js'

const content = noise(2_500_000, 71)
const outboard = createOutboardSync(content)
const { root, cid } = outboard
const encoded = encode(content, { groupLog: 0 })
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
/** Breaks a connection, but not before the client has read all bytes: Bun's `fetch` would drop the others. */
const breakSoon = response => { setTimeout(() => response.destroy(), 500) }

/**
 * A good server of one file; `answer` may change its answers.
 *
 * @param {(request: any, response: any, good: (change?: object) => void) => void} [answer]
 */
async function serving (bytes, answer = (_request, _response, good) => good()) {
  const seen = { requests: [], open: 0, sent: 0, bytes, etag: '"1"' }
  const server = createServer((request, response) => {
    seen.open++
    response.on('close', () => seen.open--)
    seen.requests.push({ range: request.headers.range, headers: request.headers, url: request.url })
    /** Sends bytes until the client ends. */
    const send = async (status, headers, body) => {
      response.writeHead(status, headers)
      for (const piece of body) {
        if (response.destroyed) return
        seen.sent += piece.length
        if (!response.write(piece)) await drained(response)
      }
      response.end()
    }
    seen.send = send
    const good = ({ headers, ranges = true, status } = {}) => {
      const [, first, last] = (ranges && request.headers.range?.match(/^bytes=(\d+)-(\d*)$/)) || []
      const size = seen.bytes.length
      const tags = { etag: seen.etag, ...headers }
      if (first === undefined) return send(status ?? 200, { 'content-length': size, ...tags }, cut(seen.bytes))
      const end = Math.min(last ? Number(last) + 1 : size, size)
      if (Number(first) >= size) return send(416, { 'content-range': `bytes */${size}`, ...tags }, [])
      const part = seen.bytes.subarray(Number(first), end)
      send(
        status ?? 206,
        { 'content-range': `bytes ${first}-${end - 1}/${size}`, 'content-length': part.length, ...tags },
        cut(part)
      )
    }
    answer(request, response, good, send)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  seen.url = `http://127.0.0.1:${server.address().port}/files/movie.mp4?secret=1`
  seen.close = () => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  }
  return seen
}

const drained = response => new Promise(resolve => {
  const done = () => {
    response.off('drain', done).off('close', done)
    resolve()
  }
  response.on('drain', done).on('close', done)
})

const cut = (bytes, len = 65_536) => Array.from(
  { length: Math.ceil(bytes.length / len) }, (_, i) => bytes.subarray(i * len, (i + 1) * len)
)

/** Waits until all answers have ended, also those that nobody reads. */
async function allClosed (server, what = 'answers that are under way') {
  for (let i = 0; i < 500 && server.open > 0; i++) await pause(20)
  expect(server.open, what).to.equal(0)
}

/** Does work with a server, and ends the server. */
async function withServer (bytes, answer, work) {
  const server = await serving(bytes, answer)
  try {
    await work(server)
  } finally {
    await server.close()
  }
}

describe('a source at a URL', () => {
  it('is read at any offset, by requests for just that', () => withServer(encoded.bytes, undefined, async server => {
    const source = await httpSource(server.url)
    expect(source.size).to.equal(encoded.bytes.length)
    for (const [start, end] of [
      [0, 8], [100, 5000], [20_000, 20_001], [1_000_000, 1_200_000], [source.size - 1, source.size]
    ]) {
      expect(
        same(await source.read(start, end), encoded.bytes.subarray(start, end)), `${start} to ${end}`
      ).to.equal(true)
    }
    expect(await source.read(source.size, source.size + 10)).to.have.length(0)
    expect(server.requests.map(({ range }) => range)).to.deep.equal([
      'bytes=0-16383', 'bytes=20000-20000', 'bytes=1000000-1199999', `bytes=${source.size - 1}-${source.size - 1}`
    ])
    expect(server.requests.slice(1).every(({ headers }) => headers['if-range'] === '"1"')).to.equal(true)
  }))

  it('serves a reader, which asks only for what it needs', () => withServer(encoded.bytes, undefined, async server => {
    const reader = new VerifiedReader({ cid: root, encoded: await httpSource(server.url), groupLog: 0 })
    expect(await reader.read({ start: 1_500_000, end: 1_500_010 })).to.deep.equal(content.slice(1_500_000, 1_500_010))
    expect(server.sent).to.be.below(100_000)
    const before = server.requests.length
    await reader.read({ start: 1_500_100, end: 1_500_110 })
    expect(server.requests.length - before).to.equal(1)
    expect(await reader.size()).to.equal(content.length)
  }))

  it('may be empty, or small', async () => {
    for (const len of [0, 1, 100, 16_384, 16_385]) {
      const small = encode(content.subarray(0, len), { groupLog: 0 })
      for (const bytes of [new Uint8Array(0), small.bytes]) {
        await withServer(
          bytes, undefined, async server => expect((await httpSource(server.url)).size).to.equal(bytes.length)
        )
      }
      await withServer(small.bytes, undefined, async server => {
        const reader = new VerifiedReader({ cid: small.root, encoded: await httpSource(server.url), groupLog: 0 })
        expect(same(await reader.read(), content.subarray(0, len))).to.equal(true)
      })
    }
  })

  it('from a server without ranges is read only as far as needed', () => withServer(encoded.bytes, (
    _request, _response, good
  ) => good({ ranges: false }), async server => {
    const source = await httpSource(server.url)
    expect(same(await source.read(500_000, 500_100), encoded.bytes.subarray(500_000, 500_100))).to.equal(true)
    expect(await errorOf(source.read(2_000_000, 2_000_001))).to.include({ code: 'FETCH_REFUSED' })
  }))

  it('continues where a connection breaks', async () => {
    let breaks = 0
    const broken = (request, response, good) => {
      if (breaks++ % 2 === 1) {
        const first = Number(request.headers.range.match(/\d+/)[0])
        response.writeHead(206, {
          'content-range': `bytes ${first}-999999/${encoded.bytes.length}`,
          etag: '"1"',
          'content-length': 1_000_000 - first
        })
        response.write(encoded.bytes.subarray(first, first + 70_000), () => breakSoon(response))
      } else {
        good()
      }
    }
    await withServer(encoded.bytes, broken, async server => {
      const source = await httpSource(server.url)
      expect(same(await source.read(100_000, 1_000_000), encoded.bytes.subarray(100_000, 1_000_000))).to.equal(true)
      expect(
        server.requests.map(({ range }) => range).slice(1)
      ).to.deep.equal(['bytes=100000-999999', 'bytes=170000-999999'])
    })
  })

  it('has all bytes although the last of many broken answers was short, too', async () => {
    const [start, end] = [100_000, 100_100]
    const broken = ({ headers: { range } }, response, good) => {
      const [first, last] = range.match(/\d+/g).map(Number)
      if (first < start || last - first < 60) return good()
      const headers = { 'content-range': `bytes ${first}-${last}/${encoded.bytes.length}`, etag: '"1"' }
      response.writeHead(206, { ...headers, 'content-length': last + 1 - first })
      response.write(encoded.bytes.subarray(first, first + 10), () => breakSoon(response))
    }
    await withServer(encoded.bytes, broken, async server => {
      const source = await httpSource(server.url)
      expect(same(await source.read(start, end), encoded.bytes.subarray(start, end))).to.equal(true)
      expect(server.requests).to.have.length(6)
    })
  })

  it('reports every way of failing', async () => {
    const failing = {
      404: [
        (_request, response) => { response.writeHead(404); response.end('no') }, { code: 'FETCH_STATUS', status: 404 }
      ],
      500: [(_request, response) => { response.writeHead(500); response.end() }, { code: 'FETCH_STATUS', status: 500 }],
      'no answer': [(_request, response) => response.destroy(), { code: 'FETCH_FAILED' }],
      'another range': [
        (_request, _response, good) => good({ headers: { 'content-range': `bytes 5-16388/${encoded.bytes.length}` } }),
        { code: 'FETCH_REFUSED' }
      ],
      'a longer range': [
        (_request, _response, good) => good({ headers: { 'content-range': `bytes 0-99999/${encoded.bytes.length}` } }),
        { code: 'FETCH_REFUSED' }
      ],
      'a range beyond its end': [
        (_request, _response, good) => good({ headers: { 'content-range': 'bytes 0-16383/100' } }),
        { code: 'FETCH_REFUSED' }
      ],
      'no range': [
        (_request, _response, good) => good({ headers: { 'content-range': 'nonsense' } }), { code: 'FETCH_REFUSED' }
      ],
      'a size that is no number': [
        (_request, _response, good) => good({ headers: { 'content-range': 'bytes 0-16383/99999999999999999999' } }),
        { code: 'FETCH_REFUSED' }
      ],
      'no size': [
        (_request, _response, good) => good({ headers: { 'content-range': 'bytes 0-16383/*' } }),
        { code: 'FETCH_REFUSED' }
      ],
      'nothing where there is something': [
        (_request, response) => { response.writeHead(416, { 'content-range': 'bytes */100' }); response.end() },
        { code: 'FETCH_REFUSED' }
      ]
    }
    for (const [title, [answer, expected]] of Object.entries(failing)) {
      await withServer(encoded.bytes, answer, async server => {
        const error = await errorOf(httpSource(server.url))
        expect(error, title).to.include({ ...expected, location: server.url.split('?')[0] })
        expect(error.message, 'secrets stay out of messages').to.not.include('secret')
      })
    }
    const gone = await serving(encoded.bytes)
    await gone.close()
    expect(await errorOf(httpSource(gone.url))).to.include({ code: 'FETCH_FAILED' })
  })

  it('is not read to the end when the answer does not end', async () => {
    const endless = function * () { while (true) yield new Uint8Array(65_536) }
    await withServer(encoded.bytes, (_request, _response, _good, send) => send(
      200, { 'content-length': 9e9 }, endless()
    ), async server => {
      const source = await httpSource(server.url)
      expect(await source.read(500_000, 500_010)).to.deep.equal(new Uint8Array(10))
      await allClosed(server)
    })
    for (const [status, headers] of [
      [206, { 'content-range': 'bytes 0-16383/9000000' }], [200, {}], [416, { 'content-range': 'bytes */0' }],
      [404, {}]
    ]) {
      await withServer(encoded.bytes, (
        _request, _response, _good, send
      ) => send(status, headers, endless()), async server => {
        await errorOf(httpSource(server.url))
        await allClosed(server, `answers with ${status} that are under way`)
      })
    }
  })

  it('reports a change between two reads', async () => {
    const changes = {
      etag: server => { server.etag = '"2"' },
      size: server => { server.bytes = encoded.bytes.subarray(0, encoded.bytes.length - 1) },
      'etag, and it knows If-Range': server => { server.etag = '"2"'; server.ranges = false }
    }
    for (const [title, change] of Object.entries(changes)) {
      let server
      await withServer(encoded.bytes, (_request, _response, good) => good({ ranges: server?.ranges }), async it => {
        server = it
        const source = await httpSource(server.url)
        change(server)
        expect(await errorOf(source.read(100_000, 100_001)), title).to.include({ code: 'FETCH_CHANGED' })
      })
    }
  })

  it('ends with an abort: its own, or that of a read', () => withServer(encoded.bytes, (_request, response, good) => {
    if (_request.headers.range === 'bytes=0-16383') good()
  }, async server => {
    const reason = new Error('enough')
    const own = new AbortController()
    const source = await httpSource(server.url, { signal: own.signal })
    const read = new AbortController()
    setTimeout(() => read.abort(reason), 10)
    expect(await errorOf(source.read(100_000, 100_001, read.signal))).to.equal(reason)
    setTimeout(() => own.abort(reason), 10)
    expect(await errorOf(source.read(100_000, 100_001))).to.equal(reason)
    expect(await errorOf(httpSource(server.url, { signal: own.signal }))).to.equal(reason)
  }))

  it('is requested with the caller\'s headers and the caller\'s fetch, also after a redirect', async () => {
    await withServer(encoded.bytes, undefined, async target => {
      await withServer(encoded.bytes, (_request, response) => {
        response.writeHead(302, { location: target.url })
        response.end()
      }, async server => {
        let asked = 0
        const source = await httpSource(new URL(server.url), {
          headers: { authorization: 'Bearer 1' },
          fetch: (url, options) => { asked++; return fetch(url, options) }
        })
        expect(same(await source.read(50_000, 50_010), encoded.bytes.subarray(50_000, 50_010))).to.equal(true)
        expect(asked).to.equal(4) // twice for each read
        expect(server.requests.every(({ headers }) => headers.authorization === 'Bearer 1')).to.equal(true)
        expect(target.requests.every(({ headers }) => headers.authorization === undefined)).to.equal(true)
        expect(await errorOf(
          httpSource(server.url, { fetch: (url, options) => fetch(url, { ...options, redirect: 'error' }) })
        )).to.include({ code: 'FETCH_FAILED' })
      })
    })
  })

  it('is refused when the URL is invalid', async () => {
    for (const url of [undefined, 5, null, {}]) expect(await errorOf(httpSource(url))).to.be.instanceOf(TypeError)
    const error = await errorOf(httpSource('http://name:secret@one.example/x'))
    expect(error).to.be.instanceOf(TypeError)
    expect(error.message).to.match(/"headers"/).and.not.match(/secret/)
    for (const url of ['', 'nonsense', 'file:///etc/passwd', 'data:,abc']) {
      expect(
        await errorOf(httpSource(url))
      ).to.be.instanceOf(TypeError)
    }
    expect(await errorOf(httpSource('http://localhost', { fetch: 5 }))).to.be.instanceOf(TypeError)
  })
})

/** A Bao endpoint, as `fetchVerified` describes it. */
const endpoint = (change = slice => slice, headers = {}) => (request, _response, _good, send) => {
  const { searchParams } = new URL(request.url, 'http://localhost')
  const [, log = '4'] = request.headers.accept.match(/^application\/vnd\.bao-slice; group-log=(\d+)$/) ?? []
  const range = { start: Number(searchParams.get('start') ?? 0), end: Number(searchParams.get('end') ?? Infinity) }
  const slice = encodeSliceSync(content, outboardOf(content, Number(log)), range)
  send(200, { 'content-type': `application/vnd.bao-slice; group-log=${log}`, ...headers }, cut(change(slice)))
}

forEachKernel(() => describe('a verified download', () => {
  const RANGES = [
    [0, Infinity], [0, 1], [0, content.length], [1000, 1001], [16_000, 50_000], [2_000_000, Infinity],
    [2_499_999, 9_000_000], [5_000_000, 6_000_000], [7, 7]
  ]

  for (const [title, answer, options] of [
    ['from a plain server and an outboard', undefined, { outboard }],
    ['from a Bao endpoint', endpoint(), {}],
    ['from a Bao endpoint, at group log 0', endpoint(), { groupLog: 0 }]
  ]) {
    it(title, () => withServer(content, answer, async server => {
      for (const [start, end] of RANGES) {
        const events = []
        const response = await fetchVerified(
          server.url, { cid, range: { start, end }, ...options, onProgress: event => events.push(event) }
        )
        expect(response.status).to.equal(start === 0 && end === Infinity ? 200 : 206)
        expect(response.headers.get('content-length')).to.be.oneOf([null, `${content.subarray(start, end).length}`])
        expect(response.headers.get('etag')).to.equal(`"${cid}"`) // not that of the server
        const bytes = new Uint8Array(await response.arrayBuffer())
        expect(same(bytes, content.subarray(start, end)), `${start} to ${end}`).to.equal(true)
        expect(events.every(({ type }) => type === 'baobox:fetch')).to.equal(true)
        expect(events.at(-1)?.detail.done ?? 0).to.equal(bytes.length)
      }
    }))
  }

  it('is one request for whole chunk groups', () => withServer(content, undefined, async server => {
    for (const bad of [outboard.bytes, server.url, Promise.resolve(outboard)]) {
      expect(
        await errorOf(fetchVerified(server.url, { cid, outboard: bad }))
      ).to.be.instanceOf(TypeError).with.property('message').that.includes('"outboard"')
    }
    await (await fetchVerified(server.url, { cid, range: { start: 20_000, end: 1_000_000 }, outboard })).arrayBuffer()
    expect(server.requests.map(({ range }) => range)).to.deep.equal(['bytes=16384-1015807'])
  }))

  it('begins when its first bytes have arrived, and ends with its reader', async () => {
    const slice = encodeSliceSync(content, outboard)
    for (const [bytes, options, headers, enough] of [
      [content, { outboard }, { 'content-range': `bytes 0-${content.length - 1}/${content.length}` }, 16_384],
      [slice, {}, { 'content-type': 'application/vnd.bao-slice' }, 18_000]
    ]) {
      const stalls = (_request, response) => {
        response.writeHead(options.outboard ? 206 : 200, headers)
        response.write(bytes.subarray(0, enough))
      }
      await withServer(content, stalls, async server => {
        const { body } = await fetchVerified(server.url, { cid, ...options })
        const reader = body.getReader()
        for (let at = 0; at < 16_384;) {
          const { value } = await reader.read()
          expect(same(value, content.subarray(at, at += value.length))).to.equal(true)
        }
        expect(server.open).to.equal(1)
        await reader.cancel()
        await allClosed(server)
      })
    }
  })

  it('may have its outboard on another server', () => withServer(outboard.bytes, undefined, async pairs => {
    await withServer(content, undefined, async server => {
      const tree = await openOutboard(await httpSource(pairs.url), { cid: root, size: content.length })
      const response = await fetchVerified(
        server.url, { cid, range: { start: 1_000_000, end: 1_100_000 }, outboard: tree }
      )
      expect(same(new Uint8Array(await response.arrayBuffer()), content.subarray(1_000_000, 1_100_000))).to.equal(true)
    })
  }))

  it('of a keyed tree, and of the empty blob', async () => {
    const keyed = createOutboardSync(content, { key: KEY })
    await withServer(content, undefined, async server => {
      const response = await fetchVerified(
        server.url, { cid: keyed.root, outboard: keyed, key: KEY, range: { end: 70_000 } }
      )
      expect(same(new Uint8Array(await response.arrayBuffer()), content.subarray(0, 70_000))).to.equal(true)
      expect(
        await errorOf(fetchVerified(server.url, { cid: keyed.root, outboard: keyed, range: { end: 70_000 } }))
      ).to.include({ code: 'BAO_PARENT_MISMATCH' })
    })
    const empty = createOutboardSync(new Uint8Array(0))
    await withServer(new Uint8Array(0), undefined, async server => {
      expect(
        await (await fetchVerified(server.url, { cid: empty.cid, outboard: empty })).arrayBuffer()
      ).to.have.property('byteLength', 0)
      const lie = { ...empty, root, reader: () => ({ copyPair: () => false }) }
      expect(await errorOf(fetchVerified(server.url, { cid, outboard: lie }))).to.include({ code: 'BAO_LEAF_MISMATCH' })
    })
  })

  it('gives the right bytes before a fault, and then the fault', async () => {
    const spoilt = content.slice()
    spoilt[1_000_000] ^= 1
    for (const [bytes, answer, options, code] of [
      [spoilt, undefined, { outboard }, 'BAO_LEAF_MISMATCH'],
      [content.subarray(0, 1_000_000), undefined, { outboard }, 'BAO_TRUNCATED'],
      [content, endpoint(slice => { slice[1_000_000] ^= 1; return slice }), {}, 'BAO_LEAF_MISMATCH'],
      [content, endpoint(slice => slice.subarray(0, 1_000_000)), {}, 'BAO_TRUNCATED']
    ]) {
      await withServer(bytes, answer, async server => {
        const parts = []
        const { body } = await fetchVerified(server.url, { cid, retries: 0, ...options })
        const error = await errorOf(async () => { for await (const part of body) parts.push(part.slice()) })
        expect(error).to.include({ code })
        const good = await collect(parts)
        expect(good.length).to.be.within(950_000, 1_000_000)
        expect(same(good, content.subarray(0, good.length))).to.equal(true)
      })
    }
  })

  it('fails immediately when the beginning is wrong or missing', async () => {
    const wrong = content.slice()
    wrong[5] ^= 1
    for (const [bytes, answer, options, expected] of [
      [wrong, undefined, { outboard }, { code: 'BAO_LEAF_MISMATCH' }],
      [
        content, (_request, response) => { response.writeHead(404); response.end() }, { outboard },
        { code: 'FETCH_STATUS', status: 404 }
      ],
      [
        content, (_request, response) => { response.writeHead(404); response.end() }, {},
        { code: 'FETCH_STATUS', status: 404 }
      ],
      [
        content, endpoint(undefined, { 'content-type': 'application/vnd.bao-slice; group-log=0' }), {},
        { code: 'BAO_LEAF_MISMATCH' }
      ],
      [content, endpoint(slice => slice.subarray(0, 5)), {}, { code: 'BAO_TRUNCATED' }],
      [content, (_request, response) => response.destroy(), {}, { code: 'FETCH_FAILED' }]
    ]) {
      await withServer(
        bytes,
        answer,
        async server => expect(
          await errorOf(fetchVerified(server.url, { cid, retries: 0, ...options }))
        ).to.include(expected)
      )
    }
  })

  it('continues a download where the connection broke', () => withServer(content, (request, response, good) => {
    if (request.headers.range.startsWith('bytes=0-')) {
      response.writeHead(206, {
        'content-range': `bytes 0-${content.length - 1}/${content.length}`,
        'content-length': content.length,
        etag: '"1"'
      })
      response.write(content.subarray(0, 300_000), () => breakSoon(response))
    } else {
      good()
    }
  }, async server => {
    const response = await fetchVerified(server.url, { cid, outboard })
    expect(same(new Uint8Array(await response.arrayBuffer()), content)).to.equal(true)
    expect(server.requests[1].range).to.equal(`bytes=300000-${content.length - 1}`)
  }))

  it('does not read on when the slice has ended', async () => {
    const more = function * () {
      yield encodeSliceSync(content, outboard)
      while (true) yield new Uint8Array(65_536)
    }
    await withServer(content, (_request, _response, _good, send) => send(
      200, { 'content-type': 'application/vnd.bao-slice' }, more()
    ), async server => {
      const response = await fetchVerified(server.url, { cid })
      expect(same(new Uint8Array(await response.arrayBuffer()), content)).to.equal(true)
      await allClosed(server)
    })
  })

  it('ends with an abort, before and after its beginning', async () => {
    const reason = new Error('enough')
    for (const [answer, options] of [[undefined, { outboard }], [endpoint(), {}]]) {
      await withServer(content, answer, async server => {
        expect(
          await errorOf(fetchVerified(server.url, { cid, ...options, signal: AbortSignal.abort(reason) }))
        ).to.equal(reason)
        const controller = new AbortController()
        const { body } = await fetchVerified(server.url, { cid, ...options, signal: controller.signal })
        const reader = body.getReader()
        await reader.read()
        controller.abort(reason)
        expect(await errorOf(async () => { while (!(await reader.read()).done); })).to.equal(reason)
      })
    }
    await withServer(content, () => {}, async server => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 10)
      expect(await errorOf(fetchVerified(server.url, { cid, outboard, signal: controller.signal }))).to.equal(reason)
    })
  })

  it('ends with an abort, even by a fetch that ignores the signal', async () => {
    let onCancel = () => {}
    const answers = {
      /** An endless body. */
      slow: async (_url, { headers }) => {
        const [first, last] = headers.get('range').match(/\d+/g).map(Number)
        let at = first
        const body = new ReadableStream({
          pull (controller) {
            controller.enqueue(content.slice(at, at += 16_384))
          },
          cancel () { onCancel() }
        })
        return new Response(
          body, { status: 206, headers: { 'content-range': `bytes ${first}-${last}/${content.length}` } }
        )
      },
      stuck: () => new Promise(() => {}),
      silent: async () => new Response(new ReadableStream({ cancel () { onCancel() } })),
      late: () => new Promise(resolve => setTimeout(() => resolve(answers.silent()), 20)),
      refused: async () => new Response(new ReadableStream({ cancel () { onCancel() } }), { status: 404 })
    }
    const get = (fetch, options) => fetchVerified('http://localhost/', { cid, outboard, fetch, ...options })
    const ways = {
      slow: [
        async fetch => (await get(fetch)).body.cancel(),
        async fetch => errorOf((await get(fetch, { onProgress () { throw new Error('of the caller') } })).arrayBuffer())
      ],
      refused: [fetch => errorOf(get(fetch))],
      silent: [
        fetch => errorOf(get(fetch, { signal: AbortSignal.timeout(5) })),
        fetch => errorOf(httpSource('http://localhost/', { fetch, signal: AbortSignal.timeout(5) }))
      ],
      late: [fetch => errorOf(get(fetch, { signal: AbortSignal.timeout(5) }))]
    }
    expect(await errorOf(get(answers.stuck, { signal: AbortSignal.timeout(5) }))).to.include({ name: 'TimeoutError' })
    for (const [what, list] of Object.entries(ways)) {
      for (const way of list) {
        const cancelled = new Promise(resolve => { onCancel = resolve })
        await way(answers[what])
        await cancelled
      }
    }
  })

  it('is refused for impossible arguments', async () => {
    expect(await errorOf(fetchVerified('http://localhost', { cid: 5 }))).to.be.instanceOf(TypeError)
    expect(await errorOf(fetchVerified('nonsense', { cid }))).to.be.instanceOf(TypeError)
    expect(await errorOf(fetchVerified('http://localhost', { cid, range: { start: -1 } }))).to.be.instanceOf(RangeError)
    expect(
      await errorOf(fetchVerified('http://localhost', { cid, range: { start: 5, end: 4 } }))
    ).to.be.instanceOf(RangeError)
    expect(await errorOf(fetchVerified('http://localhost', { cid, outboard: 5 }))).to.be.instanceOf(TypeError)
  })
}))
