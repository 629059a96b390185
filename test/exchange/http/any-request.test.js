// Properties of answers to any request.
import { expect } from 'chai'
import fc from 'fast-check'
import { toCid, hash } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { bearer } from '../../../exchange/http/index.js'
import { same } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'
import { hexOf, newHandlers } from '../../support/store/served.js'

const BYTES = noise(300_000)
const ROOT = hash(BYTES)
const [HEX, CID] = [hexOf(ROOT), `${toCid(ROOT)}`]

const places = fc.oneof(fc.nat(310_000), fc.constantFrom(0, 1023, 16_384, 262_144, 299_999, 300_000))
const pieces = fc.oneof(
  fc.constantFrom('', '.', '..', '%2e', '%', '%00', 'blobs', 'tags', 'ipfs', 'v2', '.well-known',
    'rasl', HEX, CID, '.obao4',
    '.obao16', `blake3:${HEX}`, `sha256:${HEX}`, 'b', 'z', 'Q', 'a tag', '\u{1F600}', ';', '@', '//', '?', '#'),
  fc.string({ maxLength: 70 })
)
const paths = fc.array(pieces, { maxLength: 6 }).chain(parts =>
  fc.constantFrom('/', '').map(joint => `/${parts.join(joint)}`))
const numbers = fc.oneof(places.map(String), fc.constantFrom('', '-', '-1', '0-1', '01', '1e5', 'NaN', '9'.repeat(30)))
const parameters = fc.tuple(
  fc.constantFrom('format', 'start', 'end', 'chunks', 'group-log', 'limit', 'after', 'cid', '__proto__', 'x'),
  fc.oneof(numbers, fc.constantFrom('bao-slice', 'raw', 'car', '0-1,5-6', HEX), fc.string({ maxLength: 10 }))
)
const latin = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,30}[\x21-\x7e])?$/)
const headers = fc.record({
  range: fc.oneof(fc.tuple(numbers, numbers).map(([a, b]) => `bytes=${a}-${b}`), latin),
  accept: fc.oneof(fc.constantFrom('application/vnd.bao-slice; group-log=2', 'application/vnd.ipld.car', '*/*'), latin),
  'if-none-match': fc.oneof(fc.constantFrom(`"${CID}"`, '*', '"'), latin),
  'if-range': fc.oneof(fc.constantFrom(`"${CID}"`, 'W/"x"'), latin),
  authorization: fc.oneof(fc.constant('Bearer secret'), latin)
}, { requiredKeys: [] })

describe('an HTTP handler', () => {
  const serve = newHandlers()

  it('answers any request with a status below 500, and with as many bytes as it says', async () => {
    const served = await serve({ allowTags: true, list: true, authorize: bearer('secret', ['put', 'delete', 'tag']) })
    await served.put(BYTES)
    const methods = fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'POST', 'DELETE')
    await holds('http: any request', fc.asyncProperty(
      methods, paths, fc.array(parameters, { maxLength: 4 }), headers, async (method, path, query, given) => {
        const search = query.length === 0 ? '' : `?${new URLSearchParams(query)}`
        const { status, headers, bytes } = await served.got(path + search, { method, headers: given })
        expect(status).to.be.within(200, 499)
        const length = headers.get('content-length')
        if (method !== 'HEAD' && length !== null) expect(bytes.length).to.equal(Number(length))
        expect(headers.get('access-control-allow-origin')).to.equal('*')
        if (status === 307 || status === 308) expect(headers.get('location')).to.match(/^\.\/[\x21-\x7e]+$/)
      }), 500)
    expect(served.handler.stats()).to.deep.include({ active: 0 })
  })

  it('gives the bytes and the slice of any range', async () => {
    const served = await serve()
    await served.put(BYTES)
    const outboards = [0, 1, 2, 3, 4, 5, 6].map(groupLog => createOutboardSync(BYTES, { groupLog }))
    await holds('http: any range', fc.asyncProperty(places, places, fc.nat(6), async (a, b, groupLog) => {
      const [start, end] = [Math.min(a, b), Math.max(a, b) + 1]
      const part = await served.got(`/${HEX}`, { headers: { range: `bytes=${start}-${end - 1}` } })
      expect(part.status).to.equal(start < BYTES.length ? 206 : 416)
      if (part.status === 206) expect(same(part.bytes, BYTES.subarray(start, end))).to.equal(true)
      const query = `format=bao-slice&start=${start}&end=${end}&group-log=${groupLog}`
      const { bytes } = await served.got(`/blobs/${CID}?${query}`)
      expect(same(bytes, encodeSliceSync(BYTES, outboards[groupLog], { start, end }))).to.equal(true)
    }), 100)
  })
})
