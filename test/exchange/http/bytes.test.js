// Plain bytes: whole blobs, ranges, conditions, headers.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { newHandlers } from '../../support/store/served.js'

const BYTES = noise(600_001)
const SIZE = BYTES.length

describe('an HTTP handler gives plain bytes', () => {
  const serve = newHandlers()

  it('of whole blobs of any length', async () => {
    const served = await serve()
    for (const len of [0, 1, 1024, 16_384, 262_144, 262_145, SIZE]) {
      const { hex, cid } = await served.put(BYTES.subarray(0, len))
      for (const path of [`/${hex}`, `/blobs/${cid}`, `/ipfs/${cid}?format=raw`, `/.well-known/rasl/${cid}`,
        `/v2/some/name/blobs/blake3:${hex}`]) {
        const { status, headers, bytes } = await served.got(path)
        expect(status, path).to.equal(200)
        expect(same(bytes, BYTES.subarray(0, len)), `${len} bytes at ${path}`).to.equal(true)
        expect(headers.get('content-length')).to.equal(`${len}`)
        expect(headers.get('etag')).to.equal(`"${cid}"`)
      }
    }
    expect(served.handler.stats()).to.deep.include({ active: 0, requests: 35, statuses: { 200: 35 } })
  })

  it('with headers that let clients cache, verify and save them, and read them from other origins', async () => {
    const served = await serve({ mirrors: ['https://a.test/', 'https://b.test/x/'] })
    const { cid, hex } = await served.put(BYTES)
    const { headers } = await served.got(`/blobs/${cid}`)
    expect(Object.fromEntries(headers)).to.deep.equal({
      'accept-ranges': 'bytes',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Accept-Ranges, Content-Length, Content-Range, ETag, Link, Location',
      'cache-control': 'public, max-age=29030400, immutable',
      'content-disposition': `attachment; filename="${cid}.bin"`,
      'content-length': `${SIZE}`,
      'content-type': 'application/octet-stream',
      'cross-origin-resource-policy': 'cross-origin',
      etag: `"${cid}"`,
      link: `<../${hex}.obao4>; rel=describedby; type="application/vnd.bao-outboard", ` +
        `<https://a.test/${hex}>; rel=duplicate; pri=1, <https://b.test/x/${hex}>; rel=duplicate; pri=2`,
      vary: 'Accept',
      'x-content-type-options': 'nosniff'
    })
    const ofHead = await served.got(`/blobs/${cid}`, { method: 'HEAD' })
    expect(Object.fromEntries(ofHead.headers)).to.deep.equal(Object.fromEntries(headers))
    expect([ofHead.status, ofHead.bytes.length]).to.deep.equal([200, 0])
  })

  it('with the type that the caller allows', async () => {
    const types = new Map()
    const served = await serve({ contentType: cid => types.get(cid) })
    const { cid, hex } = await served.put(BYTES)
    types.set(`${cid}`, 'video/mp4')
    const { headers } = await served.got(`/${hex}`)
    expect(headers.get('content-type')).to.equal('video/mp4')
    expect(headers.get('content-disposition')).to.equal('inline')
    const { headers: others } = await served.got(`/ipfs/${cid}?format=raw`)
    expect(others.get('content-type')).to.equal('application/vnd.ipld.raw')
  })

  describe('of one range', () => {
    const RANGES = {
      'bytes=0-0': [0, 1],
      'bytes=5-16': [5, 17],
      'BYTES=5-16': [5, 17],
      'bytes= 5 - 16 ': [5, 17],
      'bytes=262143-262144': [262_143, 262_145],
      'bytes=100-': [100, SIZE],
      'bytes=100-99999999999999999999': [100, SIZE],
      'bytes=-1': [SIZE - 1, SIZE],
      'bytes=-99999999999999999999': [0, SIZE],
      [`bytes=${SIZE - 1}-${SIZE + 5}`]: [SIZE - 1, SIZE]
    }
    for (const [range, [start, end]] of Object.entries(RANGES)) {
      it(range, async () => {
        const served = await serve()
        const { cid, hex } = await served.put(BYTES)
        const { status, headers, bytes } = await served.got(`/${hex}`, { headers: { range } })
        expect(status).to.equal(206)
        expect(same(bytes, BYTES.subarray(start, end))).to.equal(true)
        expect(headers.get('content-range')).to.equal(`bytes ${start}-${end - 1}/${SIZE}`)
        expect(headers.get('content-length')).to.equal(`${end - start}`)
        expect(headers.get('etag')).to.equal(`"${cid}"`)
      })
    }
  })

  it('of the whole blob when a Range asks for several ranges or other units, or is invalid', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const many = `bytes=${Array.from({ length: 500 }, (_, i) => `${2 * i}-${2 * i}`).join()}`
    for (const range of ['bytes=0-1,5-6', 'bytes=0-1,', 'items=0-1', 'bytes=', 'bytes=-', 'bytes=5-2', 'bytes=a-b',
      'bytes=--5', 'bytes=1-2-3', 'bytes=0x1-2', 'bytes=1e3-', '0-1', many]) {
      const { status, bytes, headers } = await served.got(`/${hex}`, { headers: { range } })
      expect([status, bytes.length], range).to.deep.equal([200, SIZE])
      expect(headers.get('content-range'), range).to.equal(null)
    }
  })

  it('and answers 416 when a range begins after the end', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const far = `bytes=${'9'.repeat(400)}-`
    for (const range of [`bytes=${SIZE}-`, `bytes=${SIZE}-${SIZE}`, 'bytes=99999999999999999999-', far, 'bytes=-0']) {
      const { status, headers, json } = await served.got(`/${hex}`, { headers: { range } })
      expect(status, range).to.equal(416)
      expect(headers.get('content-range')).to.equal(`bytes */${SIZE}`)
      expect(json().code).to.equal('HTTP_RANGE')
    }
    const empty = await served.put(new Uint8Array(0))
    const askEmpty = async range => (await served.got(`/${empty.hex}`, { headers: { range } })).status
    expect([await askEmpty('bytes=0-'), await askEmpty('bytes=-5')]).to.deep.equal([416, 200])
  })

  it('of a whole blob for HEAD with a Range', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const { status, headers } = await served.got(`/${hex}`, { method: 'HEAD', headers: { range: 'bytes=0-1' } })
    expect([status, headers.get('content-length')]).to.deep.equal([200, `${SIZE}`])
  })

  describe('under conditions', () => {
    const other = `"${toCid(hash(new Uint8Array(1)))}"`
    const DATE = 'Mon, 23 Nov 2026 00:00:00 GMT'
    /** @type {[headers: (etag: string) => object, status: number][]} */
    const CASES = [
      [etag => ({ 'if-none-match': etag }), 304],
      [etag => ({ 'if-none-match': `${other}, W/${etag}` }), 304],
      [() => ({ 'if-none-match': '*' }), 304],
      [() => ({ 'if-none-match': other }), 206],
      [() => ({ 'if-modified-since': DATE }), 206],
      [etag => ({ 'if-match': etag }), 206],
      [() => ({ 'if-match': '*' }), 206],
      [etag => ({ 'if-match': `W/${etag}` }), 412],
      [() => ({ 'if-match': other }), 412],
      [etag => ({ 'if-range': etag }), 206],
      [etag => ({ 'if-range': `W/${etag}` }), 200],
      [() => ({ 'if-range': other }), 200],
      [() => ({ 'if-range': DATE }), 200]
    ]
    for (const [headersFor, expected] of CASES) {
      it(`${JSON.stringify(headersFor('ETAG'))} with a Range gives ${expected}`, async () => {
        const served = await serve()
        const { cid, hex } = await served.put(BYTES)
        const headers = { range: 'bytes=0-9', ...headersFor(`"${cid}"`) }
        const { status, bytes, headers: given } = await served.got(`/${hex}`, { headers })
        expect(status).to.equal(expected)
        if (status === 304) {
          expect(bytes.length).to.equal(0)
          expect(given.get('etag')).to.equal(`"${cid}"`)
          expect(given.get('cache-control')).to.include('immutable')
        }
      })
    }
  })
})
