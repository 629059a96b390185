// Verified downloads from servers of every kind. The servers are functions that replace `fetch`.
import { expect } from 'chai'
import fc from 'fast-check'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { BaoError, ChunkRanges } from '../../../lib/index.js'
import { fetchVerified, mirrorOf } from '../../../verifier/index.js'
import { same } from '../../support/bytes.js'
import { collect, errorOf, iterable } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'
import { endings, endpoint, fetchOf, file, silent, status, unreachable } from '../../support/servers.js'

const content = noise(300_000, 171)
const outboard = createOutboardSync(content)
const wide = createOutboardSync(content, { groupLog: 6 })
const { cid } = outboard
const BLOB = 'https://one.example/movie'
/** Options that let a download fail soon, so that tests are short. */
const SOON = { stall: 60, retries: 1 }

let servers = 0
/** A new origin for each test, because findings about an origin are remembered. */
const origin = () => `https://${++servers}.example`

async function bytesOf (response) { return new Uint8Array(await (await response).arrayBuffer()) }

/** Downloads from one server with some routes, given by their paths. */
async function download (routes, options) {
  const at = origin()
  const fetch = fetchOf(Object.fromEntries(Object.entries(routes).map(([path, answer]) => [at + path, answer])))
  const bytes = await bytesOf(fetchVerified(`${at}/movie`, { cid, fetch, ...SOON, ...options }))
  return { bytes, fetch }
}

const plain = how => ({ '/movie': file(content, how), '/movie.obao4': file(outboard.bytes, how) })

describe('the resource that fetchVerified finds at a URL', () => {
  const RANGES = [[0, Infinity], [0, 1], [100_000, 200_000], [299_999, 900_000], [16_384, 32_768], [65_530, 65_540]]
  const link = (target, parameters) => ({
    headers: own => ({
      ...own, link: `<${target}>; rel="describedby"; type="application/vnd.bao-outboard${parameters}"`
    })
  })
  const withHeader = new Uint8Array([...new Uint8Array(new BigUint64Array([300_000n]).buffer), ...outboard.bytes])

  for (const [title, routes] of [
    ['a Bao endpoint', { '/movie': endpoint(content) }],
    ['an outboard at .obao4', plain()],
    ['an outboard at .obao6', { '/movie': file(content), '/movie.obao6': file(wide.bytes) }],
    ['an outboard that Link names', {
      '/movie': file(content, link('tree', '; group-log=4')), '/tree': file(outboard.bytes)
    }],
    ['an outboard of other groups that Link names', {
      '/movie': file(content, link('/trees/tree.obao6', '')), '/trees/tree.obao6': file(wide.bytes)
    }],
    ['an outboard with a header', { '/movie': file(content), '/movie.obao4': file(withHeader) }],
    ['an outboard at .obao6 beside a page that answers for .obao4', {
      '/movie': file(content),
      '/movie.obao4': file(new TextEncoder().encode('<html>'.repeat(100))),
      '/movie.obao6': file(wide.bytes)
    }],
    ['only the bytes', { '/movie': file(content) }]
  ]) {
    it(`is ${title}`, async () => {
      for (const [start, end] of RANGES) {
        const { bytes } = await download(routes, { range: { start, end } })
        expect(same(bytes, content.subarray(start, end)), `${start} to ${end}`).to.equal(true)
      }
    })
  }

  it('is tried first at the next URL of the same origin', async () => {
    const at = origin()
    const fetch = fetchOf({
      [`${at}/a`]: file(content),
      [`${at}/a.obao4`]: file(outboard.bytes),
      [`${at}/b`]: file(content),
      [`${at}/b.obao4`]: file(outboard.bytes)
    })
    const asked = () => fetch.requests.splice(0).filter(({ url }) => url.includes('format=bao-slice')).length
    await bytesOf(fetchVerified(`${at}/a`, { cid, fetch }))
    expect(asked()).to.equal(1)
    await bytesOf(fetchVerified(`${at}/b`, { cid, fetch }))
    expect(asked()).to.equal(0)
  })

  it('is asked once for the size of a blob, and then for its last chunk', async () => {
    const at = origin()
    const fetch = fetchOf({ [`${at}/movie`]: endpoint(content) })
    const mirror = mirrorOf(`${at}/movie`, { fetch })
    const lastChunk = () => collect(mirror.pieces(
      { root: outboard.root, ranges: ChunkRanges.last, groupLog: 4 }, new AbortController().signal))
    for (const which of ['first', 'second']) {
      expect(same(await lastChunk(), encodeSliceSync(content, outboard, ChunkRanges.last)), which).to.equal(true)
      expect(fetch.requests.splice(0), which).to.have.length(2)
    }
  })

  it('may be a blob of one group, or the empty one', async () => {
    for (const len of [0, 1, 1024, 16_384]) {
      const small = content.slice(0, len)
      const { cid } = createOutboardSync(small)
      for (const routes of [{ '/movie': file(small) }, { '/movie': endpoint(small) }]) {
        expect((await download(routes, { cid })).bytes, `${len} bytes`).to.deep.equal(small)
      }
    }
  })

  it('is not sent the headers of the caller when it is on another origin', async () => {
    const other = `${origin()}/tree`
    const at = origin()
    const fetch = fetchOf({ [`${at}/movie`]: file(content, link(other, '')), [other]: file(outboard.bytes) })
    const headers = { authorization: 'Bearer 1' }
    expect(same(await bytesOf(fetchVerified(`${at}/movie`, { cid, fetch, headers })), content)).to.equal(true)
    for (const { url, headers } of fetch.requests) {
      expect(headers.get('authorization'), url).to.equal(url.startsWith(other) ? null : 'Bearer 1')
    }
    expect(fetch.requests.some(({ url }) => url === other)).to.equal(true)
  })

  it('is refused when it is long and has no outboard', async () => {
    const endless = { '/movie': file(content, { ranges: false, headers: () => ({}), ending: endings.endless }) }
    expect(await errorOf(download(endless))).to.include({ code: 'FETCH_REFUSED' })
  })
})

describe('servers that make false claims', () => {
  let tag = 0
  for (const [title, how] of [
    ['count one byte too many in Content-Range', {
      headers: (own, range) => range ? { ...own, 'content-range': `bytes ${range[0]}-${range[1] + 1}/300000` } : own
    }],
    ['give no Content-Range', { headers: ({ 'content-range': _, ...own }) => own }],
    ['answer a Range with 200 and everything', { ranges: false }],
    // `fetch` gives the decoded bytes with the headers of the encoded ones.
    ['compress everything, and state the compressed length', {
      ranges: false, headers: own => ({ ...own, 'content-encoding': 'gzip', 'content-length': '77' })
    }],
    ['change the ETag with every answer', { headers: own => ({ ...own, etag: `"${tag++}"` }) }],
    ['never end', { ending: endings.endless }]
  ]) {
    it(`${title}: only the bytes matter`, async () => {
      expect(same((await download(plain(how))).bytes, content)).to.equal(true)
      const { bytes } = await download(plain(how), { range: { start: 150_000, end: 250_000 } })
      expect(same(bytes, content.subarray(150_000, 250_000))).to.equal(true)
    })
  }

  for (const [title, routes, expected] of [
    ['the stated size is too large', plain({
      headers: own => ({ ...own, 'content-range': 'bytes 0-1/9007199254740991' })
    })],
    ['the size from an endpoint is wrong', { '/movie': endpoint(content, { size: 2 ** 52 }) }],
    ['Content-Range is another range', plain({ headers: own => ({ ...own, 'content-range': 'bytes 77-99/300000' }) })],
    ['a range is of compressed bytes', plain({
      headers: own => ({ ...own, 'content-encoding': 'br' })
    }), 'FETCH_REFUSED'],
    ['a byte is wrong', plain({ ending: endings.flip(9000) })],
    ['a slice is wrong', { '/movie': endpoint(content, { ending: endings.flip(9000) }) }],
    ['a connection breaks', plain({ ending: endings.reset(0) }), 'FETCH_FAILED'],
    ['the server cannot be reached', { '/movie': unreachable }, 'FETCH_FAILED'],
    ['the server does not answer', { '/movie': silent }, 'FETCH_FAILED'],
    ['the body stalls', { '/movie': endpoint(content, { ending: endings.stall(9000) }) }, 'FETCH_FAILED'],
    ['the body drips', { '/movie': endpoint(content, { ending: endings.drip }) }, 'FETCH_FAILED'],
    ['the status is 403', { '/movie': status(403) }, 'FETCH_STATUS'],
    ['the status is 503', { '/movie': status(503) }, 'FETCH_STATUS']
  ]) {
    it(`where ${title}, another mirror continues`, async () => {
      const error = await errorOf(download(routes))
      expect(error, `${error}`).to.have.property('code')
      if (expected) expect(error.code).to.equal(expected)
      const good = origin()
      const at = origin()
      const fetch = fetchOf({
        ...Object.fromEntries(Object.entries(routes).map(([path, answer]) => [at + path, answer])),
        [`${good}/movie`]: endpoint(content)
      })
      const from = [`${good}/movie`]
      const response = await fetchVerified(`${at}/movie`, { cid, fetch, from, ...SOON })
      expect(same(await bytesOf(response), content)).to.equal(true)
    })
  }

  it('names the mirror in the error, and all of them when none is left', async () => {
    const at = origin()
    const fetch = fetchOf({ [`${at}/a`]: endpoint(content, { ending: endings.flip(9) }), [`${at}/b`]: status(404) })
    expect(await errorOf(fetchVerified(`${at}/a?secret`, { cid, fetch, ...SOON }))).to.include({ location: `${at}/a` })
    const error = await errorOf(fetchVerified(`${at}/a?secret`, { cid, fetch, from: [`${at}/b`], ...SOON }))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(error.cause.errors.map(({ location }) => location)).to.deep.equal([`${at}/a`, `${at}/b`])
  })

  it('are asked again after the time in their Retry-After', async () => {
    let answers = 0
    const busy = request => answers++ === 0 ? status(503, { 'retry-after': '1' })() : endpoint(content)(request)
    const since = performance.now()
    expect(same((await download({ '/movie': busy })).bytes, content)).to.equal(true)
    expect(performance.now() - since).to.be.at.least(950)
  })

  it('that list the bytes they lack in thousands of ranges are left for the next mirror', async () => {
    const at = origin()
    const missing = Array.from({ length: 3000 }, (_, i) => [131_072 + i, 131_073 + i]).reverse()
    const part = request => rangeIsPast(request, 131_072)
      ? new Response(JSON.stringify({ missing }), { status: 404, headers: { 'content-type': 'application/json' } })
      : endpoint(content)(request)
    const fetch = fetchOf({ [`${at}/part`]: part, [`${at}/all`]: endpoint(content) })
    expect(same(await bytesOf(fetchVerified(`${at}/part`, { cid, fetch, from: [`${at}/all`], ...SOON })), content))
      .to.equal(true)
    expect(fetch.requests).to.have.length(3)
  })

  it('that give one byte per request are not asked for every byte', async () => {
    const at = origin()
    const routes = plain({ ending: endings.cut(1) })
    const fetch = fetchOf(Object.fromEntries(Object.entries(routes).map(([path, answer]) => [at + path, answer])))
    const error = await errorOf(bytesOf(fetchVerified(`${at}/movie`, { cid, fetch, ...SOON })))
    expect(error).to.include({ code: 'FETCH_REFUSED' })
    expect(fetch.requests.length).to.be.below(20)
  })

  it('that lack a part are left at its beginning', async () => {
    const at = origin()
    const part = request => rangeIsPast(request, 131_072)
      ? new Response(JSON.stringify({ code: 'STORE_MISSING', missing: [[131_072, 300_000]] }), {
        status: 404, headers: { 'content-type': 'application/json' }
      })
      : endpoint(content)(request)
    const fetch = fetchOf({ [`${at}/part`]: part, [`${at}/all`]: endpoint(content) })
    const bytes = await bytesOf(fetchVerified(`${at}/part`, { cid, fetch, from: [`${at}/all`], ...SOON }))
    expect(same(bytes, content)).to.equal(true)
    const asked = fetch.requests.map(({ url }) => url.replace(/^.*?example|format=bao-slice&|&group-log=4/g, ''))
    expect(asked).to.deep.equal(['/part?start=0', '/part?start=0&end=131072', '/all?start=131072'])
  })

  it('that lack one more chunk each time are given up', async () => {
    const at = origin()
    let end = 2 ** 50
    const stingy = () => {
      end -= 2048
      if (end < 2 ** 50 - 2048 * 100) throw new Error('it was asked a hundred times')
      return new Response(JSON.stringify({ code: 'STORE_MISSING', missing: [[end, end + 1024]] }), {
        status: 404, headers: { 'content-type': 'application/json' }
      })
    }
    const fetch = fetchOf({ [`${at}/stingy`]: stingy, [`${at}/all`]: endpoint(content) })
    const bytes = await bytesOf(fetchVerified(`${at}/stingy`, { cid, fetch, from: [`${at}/all`], ...SOON }))
    expect(same(bytes, content)).to.equal(true)
    expect(fetch.requests.length).to.be.below(20)
  })
})

/** True if a request for a slice wants bytes after an offset. */
function rangeIsPast ({ url }, byte) {
  const end = url.searchParams.get('end')
  return end === null || Number(end) > byte
}

describe('mirrors', () => {
  it('are URLs with a placeholder for the name, stores, functions, and parts', async () => {
    const hex = [...outboard.root].map(byte => byte.toString(16).padStart(2, '0')).join('')
    const slice = async (_cid, ranges) => {
      const fetch = endpoint(content)
      const url = new URL('https://x.example')
      url.searchParams.set('chunks', ranges.boundaries.join('-'))
      const headers = new Headers({ accept: 'application/vnd.bao-slice' })
      return fetch({ url, headers }).body
    }
    const fetch = fetchOf({
      [`https://a.example/${cid}`]: endpoint(content),
      [`https://b.example/${hex.slice(0, 2)}/${hex}`]: endpoint(content)
    })
    for (const from of [
      'https://a.example/{cid}', 'https://b.example/{hex2}/{hex}', slice, { slice, location: 'here' },
      { source: content, outboard }, { source: new Blob([content]), outboard }, { source: content, outboard: wide },
      mirrorOf(slice, { location: 'there' })
    ]) {
      const response = await fetchVerified('https://nobody.example/', { cid, fetch, from: [from] })
      expect(same(await bytesOf(response), content), String(from)).to.equal(true)
      expect(same(await bytesOf(fetchVerified(from, { cid, fetch })), content), String(from)).to.equal(true)
    }
    const files = fetchOf({ [`https://c.example/${hex}`]: file(content) })
    const options = { cid, outboard, fetch: files, ...SOON }
    expect(same(await bytesOf(fetchVerified('https://c.example/{hex}', options)), content)).to.equal(true)
    expect((await errorOf(fetchVerified({}, { cid }))).message).to.equal('"input" expected a string or URL, got Object')
    expect(mirrorOf('https://a.example/x/{cid}?y').location).to.equal('https://a.example')
    expect(mirrorOf(slice).location).to.equal('slice')
    for (const bad of [5, undefined, null, {}, 'file:///x', 'file:///{cid}', { source: content, outboard: 5 }]) {
      expect(() => mirrorOf(bad), String(bad)).to.throw(TypeError)
    }
  })

  it('that are not URLs of servers are refused with the expected values', async () => {
    const expected = 'expected a URL that begins with https:// or http://, got'
    for (const bad of ['nourl', 'example.org/{cid}', 'ftp://example.org/{cid}', new URL('data:,x')]) {
      if (globalThis.location !== undefined && !`${bad}`.includes(':')) continue // relative to the page
      expect(() => mirrorOf(bad)).to.throw(TypeError, `"from" ${expected} '${bad}'`)
    }
    const advice = 'A file is given as { source'
    expect(() => mirrorOf('file:///x')).to.throw(TypeError, `"from" ${expected} 'file:///x'. ${advice}`)
    for (const bad of [[BLOB], new Uint8Array(1), new ArrayBuffer(1), new Blob([])]) {
      expect(() => mirrorOf(bad)).to.throw(TypeError, '"from" expected a URL, a store, ')
    }
    const { message } = await errorOf(fetchVerified('ftp://x', { cid }))
    expect(message).to.equal(`"input" ${expected} 'ftp://x'`)
  })

  it('report why a connection has failed', async () => {
    const failing = cause => async () => { throw new TypeError('fetch failed', { cause }) }
    const system = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    for (const [fetch, reason] of [
      [failing(system), 'ECONNREFUSED'], [failing(new Error('')), 'fetch failed'],
      [failing(new Error('not over HTTP/3')), 'not over HTTP/3'], [failing(undefined), 'fetch failed']
    ]) {
      const { code, message } = await errorOf(fetchVerified(BLOB, { cid, fetch, retries: 0 }))
      expect({ code, message }).to.deep.equal({
        code: 'FETCH_FAILED', message: `the connection to ${BLOB} failed: ${reason}`
      })
    }
    const stalled = await errorOf(fetchVerified(BLOB, { cid, fetch: silent, stall: 20, retries: 0 }))
    expect(stalled.message)
      .to.equal(`the connection to ${BLOB} failed: fewer than 16384 bytes arrived within 20 ms`)
  })
})

describe('fetchVerified instead of fetch', () => {
  const respond = (headers, options) => {
    const fetch = fetchOf({ [BLOB]: endpoint(content) })
    return fetchVerified(new Request(BLOB, { headers, ...options }), { cid, fetch })
  }

  it('answers a Range header with exactly that range, whose length is proven', async () => {
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 1], ['bytes=1000-', 1000, 300_000], ['bytes=-500', 299_500, 300_000],
      ['bytes=299999-400000', 299_999, 300_000], ['bytes=-900000', 0, 300_000], ['bytes=100000-199999', 1e5, 2e5]
    ]) {
      const response = await respond({ range })
      expect(response.status, range).to.equal(206)
      expect(response.headers.get('content-range')).to.equal(`bytes ${start}-${end - 1}/300000`)
      expect(response.headers.get('content-length')).to.equal(`${end - start}`)
      expect(same(await bytesOf(response), content.subarray(start, end)), range).to.equal(true)
    }
    for (const range of ['bytes=300000-', 'bytes=-0', 'bytes=999999-1000000']) {
      const response = await respond({ range })
      expect(response.status, range).to.equal(416)
      expect(response.headers.get('content-range')).to.equal('bytes */300000')
    }
    for (const range of ['bytes=5-4', 'bytes=0-1,5-6', 'lines=1-2', 'bytes=-', 'x']) {
      const response = await respond({ range })
      expect(response.status, range).to.equal(200)
      expect(same(await bytesOf(response), content)).to.equal(true)
    }
  })

  it('answers HEAD with the proven length, and refuses other methods', async () => {
    const head = await respond({}, { method: 'HEAD' })
    expect(head.headers.get('content-length')).to.equal('300000')
    expect(head.status).to.equal(200)
    expect((await bytesOf(head)).length).to.equal(0)
    expect(await errorOf(respond({}, { method: 'POST' }))).to.be.instanceOf(TypeError)
  })

  it('ignores Range in a HEAD, and with an If-Range of another ETag', async () => {
    const head = await respond({ range: 'bytes=0-9' }, { method: 'HEAD' })
    expect(head.status).to.equal(200)
    expect(head.headers.get('content-length')).to.equal('300000')
    expect(head.headers.get('content-range')).to.equal(null)
    for (const validator of ['"other"', `W/"${cid}"`, 'Tue, 24 Nov 2026 14:08:44 GMT']) {
      const response = await respond({ range: 'bytes=0-9', 'if-range': validator })
      expect(response.status, validator).to.equal(200)
      expect(same(await bytesOf(response), content)).to.equal(true)
    }
    const again = await respond({ range: 'bytes=0-9', 'if-range': `"${cid}"` })
    expect(again.status).to.equal(206)
    expect(await bytesOf(again)).to.deep.equal(content.slice(0, 10))
  })

  it('has the given type, says that it takes ranges, and has the length if that is proven', async () => {
    const small = content.slice(0, 5000)
    const { cid } = createOutboardSync(small)
    const fetch = fetchOf({ [BLOB]: endpoint(small) })
    const whole = await fetchVerified(new Request(BLOB), { cid, fetch, type: 'text/plain' })
    expect(await bytesOf(whole)).to.deep.equal(small)
    expect(Object.fromEntries(whole.headers)).to.deep.equal({
      'accept-ranges': 'bytes', 'content-length': '5000', 'content-type': 'text/plain', etag: `"${cid}"`
    })
    const part = await fetchVerified(BLOB, { cid, fetch, range: { start: 4990 } })
    expect(await bytesOf(part)).to.deep.equal(small.slice(4990))
    expect(part.headers.get('content-length')).to.equal('10')
    const long = await respond({})
    expect(long.headers.get('accept-ranges')).to.equal('bytes')
    expect(long.headers.get('content-type')).to.equal('application/octet-stream')
    expect(long.headers.get('content-length')).to.equal(null)
    await long.body.cancel()
  })

  it('ends its request when the body is whole, even if nobody reads the body', async () => {
    const small = noise(5000, 172)
    const tree = createOutboardSync(small)
    let isEnded = false
    const slice = async function * () {
      try {
        yield encodeSliceSync(small, tree)
        await new Promise(() => {})
      } finally {
        isEnded = true
      }
    }
    const response = await fetchVerified({ slice }, { cid: tree.cid })
    expect(isEnded).to.equal(true)
    expect(same(await bytesOf(response), small)).to.equal(true)
  })

  it('reports the bytes that were sent, and the proven total, also of a range that ends beyond the blob', async () => {
    const small = noise(700, 172)
    const lacksLast = async (_cid, ranges) => {
      if (ranges.boundaries[0] > 64) throw new BaoError('STORE_MISSING', 'the end is missing', { ranges })
      return [encodeSliceSync(content, outboard, ranges)]
    }
    for (const [routes, bytes, range, total] of [
      [{ '/movie': endpoint(content) }, content, undefined, 300_000],
      [plain(), content, undefined, 300_000],
      [plain(), content, { start: 100_000 }, 200_000],
      [plain(), content, { start: 100_000, end: 200_000 }, 100_000],
      [plain(), content, { start: 299_000, end: 400_000 }, 1000],
      [{ '/movie': file(small), '/movie.obao4': file(createOutboardSync(small).bytes) }, small, { end: 9000 }, 700]
    ]) {
      const details = []
      const { cid } = createOutboardSync(bytes)
      const got = await download(routes, { cid, range, onProgress: ({ detail }) => details.push(detail) })
      expect(got.bytes.length).to.equal(total)
      expect(details.every(detail => detail.total === total && detail.unit === 'bytes'), `${total}`).to.equal(true)
      expect(details.at(-1).done).to.equal(total)
    }
    const details = []
    const onProgress = ({ detail }) => details.push(detail)
    const response = await fetchVerified(mirrorOf(lacksLast), { cid, range: { end: 65_536 }, onProgress, ...SOON })
    expect(same(await bytesOf(response), content.subarray(0, 65_536)), 'a mirror without the end').to.equal(true)
    expect(details.at(-1)).to.deep.equal({ done: 65_536, total: undefined, unit: 'bytes' })
  })

  it('passes on the headers of a Request, but not its range', async () => {
    const fetch = fetchOf({ [BLOB]: endpoint(content) })
    const headers = { range: 'bytes=5-9', 'x-token': '1', 'if-none-match': '"x"' }
    await bytesOf(fetchVerified(new Request(BLOB, { headers }), { cid, fetch, headers: { 'x-other': '2' } }))
    for (const { headers } of fetch.requests) {
      expect(headers.get('range')).to.equal(null)
      expect(headers.get('if-none-match')).to.equal(null)
      expect(headers.get('x-token')).to.equal('1')
      expect(headers.get('x-other')).to.equal('2')
    }
  })

  it('ends with the signal of a Request', async () => {
    const controller = new AbortController()
    const fetch = fetchOf({ [BLOB]: silent })
    setTimeout(() => controller.abort(new Error('enough')), 10)
    const request = new Request(BLOB, { signal: controller.signal })
    expect(await errorOf(fetchVerified(request, { cid, fetch }))).to.have.property('message', 'enough')
  })
})

describe('any mix of mirrors', () => {
  const bad = fc.oneof(
    fc.record({ kind: fc.constantFrom('flip', 'reset', 'cut', 'stall'), at: fc.nat(320_000) }),
    fc.record({ kind: fc.constantFrom('unreachable', 'forbidden', 'lyingSize', 'endless', 'otherRange'), at: fc.nat() })
  )
  const answerOf = ({ kind, at }, isPlain) => {
    const serve = isPlain ? how => file(content, how) : how => endpoint(content, how)
    if (kind === 'unreachable') return unreachable
    if (kind === 'forbidden') return status(403)
    if (kind === 'lyingSize') return endpoint(content, { size: at })
    if (kind === 'otherRange') return file(content.subarray(at % content.length))
    if (kind === 'endless') return serve({ ending: endings.endless })
    return serve({ ending: endings[kind](at) })
  }

  it('with an honest one gives the blob, and never a wrong byte before a failure', () => {
    const mirrors = fc.array(fc.tuple(bad, fc.boolean()), { maxLength: 3 })
    return holds('mirrors', fc.asyncProperty(mirrors, fc.boolean(), fc.boolean(), async (list, isPlain, isThere) => {
      const at = origin()
      const routes = {}
      list.forEach(([how, isPlain], i) => {
        routes[`${at}/${i}`] = answerOf(how, isPlain)
        routes[`${at}/${i}.obao4`] = file(outboard.bytes)
      })
      if (isThere) {
        routes[`${at}/good`] = isPlain ? file(content) : endpoint(content)
        routes[`${at}/good.obao4`] = file(outboard.bytes)
      }
      const urls = [...Object.keys(routes).filter(url => !url.endsWith('.obao4')), `${at}/nothing`]
      const [first, ...from] = urls
      const got = []
      const options = { cid, fetch: fetchOf(routes), from, stall: 30, retries: 0 }
      const error = await errorOf(async () => {
        for await (const bytes of iterable((await fetchVerified(first, options)).body)) got.push(bytes)
      })
      const bytes = new Uint8Array(await new Blob(got).arrayBuffer())
      expect(same(bytes, content.subarray(0, bytes.length)), 'every byte is right').to.equal(true)
      if (isThere) expect(error, `${error}`).to.equal(undefined)
      if (error === undefined) expect(bytes.length).to.equal(content.length)
    }), 40)
  })
})
