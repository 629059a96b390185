// Slices and outboards over HTTP.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { SliceVerifier, fetchVerified, httpSource, verifyStream } from '../../../verifier/index.js'
import { same } from '../../support/bytes.js'
import { collect, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { newHandlers } from '../../support/store/served.js'

const BYTES = noise(600_001)
const SIZE = BYTES.length
const ROOT = hash(BYTES)
const TYPE = 'application/vnd.bao-slice'

describe('an HTTP handler gives slices', () => {
  const serve = newHandlers()

  it('of any range, at group logs from 0 to 10', async () => {
    const served = await serve()
    const { cid, hex } = await served.put(BYTES)
    const ranges = [[0, SIZE], [0, 1], [20_000, 21_000], [500_000, SIZE + 9], [SIZE + 5, SIZE + 6]]
    for (const groupLog of [0, 1, 3, 4, 6, 10]) {
      const outboard = createOutboardSync(BYTES, { groupLog })
      for (const [start, end] of ranges) {
        const query = `?format=bao-slice&start=${start}&end=${end}&group-log=${groupLog}`
        const { status, headers, bytes } = await served.got(`/blobs/${cid}${query}`)
        expect(status).to.equal(200)
        expect(same(bytes, encodeSliceSync(BYTES, outboard, { start, end })), query).to.equal(true)
        expect(headers.get('content-length')).to.equal(`${bytes.length}`)
        expect(headers.get('content-type')).to.equal(`${TYPE}; group-log=${groupLog}`)
        expect(headers.get('accept-ranges')).to.equal('none')
        expect(headers.get('etag')).to.equal(`"${cid}.slice.${start}-${end}.g${groupLog}"`)
        expect(headers.get('vary')).to.equal(null)
        const leaves = await listed(verifyStream(bytes, { cid: ROOT, ranges: { start, end }, groupLog }))
        expect(leaves.length > 0, query).to.equal(start < SIZE)
        const whole = await served.got(`/${hex}${query}`, { method: 'HEAD' })
        expect(whole.headers.get('content-length')).to.equal(`${bytes.length}`)
      }
    }
  })

  it('that begin with the size in 8 bytes, as an iroh Get does', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    const { bytes } = await served.got(`/blobs/${cid}?format=bao-slice&chunks=0-64`)
    expect(new DataView(bytes.buffer).getBigUint64(0, true)).to.equal(BigInt(SIZE))
    const ranges = ChunkRanges.fromBoundaries([0, 64])
    const bare = encodeSliceSync(BYTES, createOutboardSync(BYTES), ranges, { header: false })
    expect(same(bytes.subarray(8), bare)).to.equal(true)
  })

  it('of several ranges of chunks', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    for (const [chunks, boundaries] of [['0-64,100-110', [0, 64, 100, 110]], ['5-6,500-', [5, 6, 500]], ['0-', [0]]]) {
      const { bytes, headers } = await served.got(`/blobs/${cid}?format=bao-slice&chunks=${chunks}`)
      const expected = encodeSliceSync(BYTES, createOutboardSync(BYTES), ChunkRanges.fromBoundaries(boundaries))
      expect(same(bytes, expected), chunks).to.equal(true)
      expect(headers.get('etag')).to.equal(`"${cid}.slice.c${chunks.replace(',', '_')}.g4"`)
    }
  })

  it('that prove only the size, with which a client begins', async () => {
    const served = await serve()
    for (const len of [0, 1, 16_385, SIZE]) {
      const { cid } = await served.put(BYTES.subarray(0, len))
      const { bytes } = await served.got(`/blobs/${cid}?format=bao-slice&start=0&end=0`)
      const verifier = new SliceVerifier({ cid, ranges: ChunkRanges.last })
      for (const leaf of verifier.write(bytes)) expect(leaf.offset + leaf.bytes.length).to.equal(len)
      verifier.end()
      expect(verifier.size).to.equal(len)
      expect(bytes.length).to.be.below(4000)
    }
  })

  it('to clients that accept them, if the query does not ask for a format', async () => {
    const served = await serve()
    const { hex, cid } = await served.put(BYTES)
    const accept = `${TYPE}; group-log=2`
    const { headers, bytes } = await served.got(`/${hex}?start=5&end=20`, { headers: { accept } })
    expect(headers.get('content-type')).to.equal(accept)
    expect(headers.get('vary')).to.equal('Accept')
    const expected = encodeSliceSync(BYTES, createOutboardSync(BYTES, { groupLog: 2 }), { start: 5, end: 20 })
    expect(same(bytes, expected)).to.equal(true)
    const ofQuery = await served.got(`/${hex}?format=bao-slice&start=5&end=20`, { headers: { accept } })
    expect(ofQuery.headers.get('content-type')).to.equal(`${TYPE}; group-log=4`)
    const lessWanted = [`application/octet-stream, ${TYPE};q=0.1`, `${TYPE};q=0.0001, */*`]
    for (const other of [`${TYPE};q=0`, '*/*', 'application/*', `${TYPE}x`, ...lessWanted]) {
      const { headers } = await served.got(`/${hex}`, { headers: { accept: other } })
      expect(headers.get('content-type'), other).to.equal('application/octet-stream')
    }
    const raw = await served.got(`/blobs/${cid}?format=raw`, { headers: { accept } })
    expect(raw.headers.get('content-type')).to.equal('application/octet-stream')
  })

  it('to fetchVerified()', async () => {
    const served = await serve()
    const { cid, hex } = await served.put(BYTES)
    const fetch = (url, init) => served.handler(new Request(url, init))
    const response = await fetchVerified(
      `http://store.test/${hex}`, { cid, fetch, range: { start: 1000, end: 300_000 } }
    )
    const got = new Uint8Array(await response.arrayBuffer())
    expect(same(got, BYTES.subarray(1000, 300_000))).to.equal(true)
  })

  it('and refuses other queries', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    const many = Array.from({ length: 257 }, (_, i) => `${2 * i}-${2 * i + 1}`).join()
    for (const [query, expected] of Object.entries({
      'start=5': 400,
      'group-log=4': 400,
      'chunks=0-1': 400,
      'format=bao-slice&start=-1': 400,
      'format=bao-slice&start=1.5': 400,
      'format=bao-slice&start=01': 400,
      'format=bao-slice&start=1e3': 400,
      'format=bao-slice&start=': 400,
      'format=bao-slice&start=9007199254740992': 400,
      'format=bao-slice&start=5&end=4': 400,
      'format=bao-slice&start=5&start=6': 400,
      'format=bao-slice&format=raw': 400,
      'format=bao-slice&start=0&chunks=0-1': 400,
      'format=bao-slice&chunks=': 400,
      'format=bao-slice&chunks=0': 400,
      'format=bao-slice&chunks=0-5,5-6': 400,
      'format=bao-slice&chunks=5-6,0-1': 400,
      'format=bao-slice&chunks=0-,5-6': 400,
      'format=bao-slice&chunks=3-3': 400,
      [`format=bao-slice&chunks=${many}`]: 400,
      'format=bao-slice&group-log=17': 400,
      'format=bao-slice&group-log=x': 400,
      'format=bao-slice&group-log=11': 406,
      'format=tar': 406
    })) {
      expect((await served.got(`/blobs/${cid}?${query}`)).status, query.slice(0, 60)).to.equal(expected)
    }
  })

  it('of fewer ranges when groups are large, so that little more is hashed than is sent', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    for (const [groupLog, most] of [[0, 256], [6, 256], [7, 128], [10, 16]]) {
      const statusOf = async count => {
        const chunks = Array.from({ length: count }, (_, i) => `${2 * i}-${2 * i + 1}`).join()
        return (await served.got(`/blobs/${cid}?format=bao-slice&group-log=${groupLog}&chunks=${chunks}`)).status
      }
      expect([await statusOf(most), await statusOf(most + 1)], `${groupLog}`).to.deep.equal([200, 400])
    }
  })

  it('and answers 304 when the client has one already', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    const etag = `"${cid}.slice.0-9.g4"`
    const path = `/blobs/${cid}?format=bao-slice&start=0&end=9`
    expect((await served.got(path, { headers: { 'if-none-match': etag } })).status).to.equal(304)
    const { status, bytes } = await served.got(path, { headers: { 'if-none-match': `"${cid}"`, range: 'bytes=0-1' } })
    expect(status).to.equal(200)
    expect(bytes.length).to.be.above(1024)
  })
})

describe('an HTTP handler gives outboards', () => {
  const serve = newHandlers()

  it('at any group log, whole or in part', async () => {
    const served = await serve()
    for (const len of [0, 1024, 16_384, 16_385, SIZE]) {
      const bytes = BYTES.subarray(0, len)
      const { cid, hex } = await served.put(bytes)
      for (let groupLog = 0; groupLog <= 16; groupLog++) {
        const expected = createOutboardSync(bytes, { groupLog, order: 'pre' }).bytes
        const path = groupLog % 2 === 0 ? `/${hex}` : `/blobs/${cid}`
        const answer = await served.got(`${path}.obao${groupLog}`)
        expect([answer.status, answer.headers.get('content-length')]).to.deep.equal([200, `${expected.length}`])
        expect(same(answer.bytes, expected), `${len} bytes at group log ${groupLog}`).to.equal(true)
        expect(answer.headers.get('etag')).to.equal(`"${cid}.obao${groupLog}"`)
        if (expected.length < 200) continue
        for (const [start, end] of [[0, 1], [63, 65], [100, 200], [expected.length - 1, expected.length]]) {
          const range = `bytes=${start}-${end - 1}`
          const part = await served.got(`${path}.obao${groupLog}`, { headers: { range } })
          expect(part.status).to.equal(206)
          expect(part.headers.get('content-range')).to.equal(`bytes ${start}-${end - 1}/${expected.length}`)
          expect(same(part.bytes, expected.subarray(start, end)), `${range} at group log ${groupLog}`).to.equal(true)
        }
      }
    }
  })

  it('that are longer than a piece', async () => {
    const served = await serve()
    const { hex } = await served.put(noise(3 << 20))
    const expected = createOutboardSync(noise(3 << 20), { groupLog: 0, order: 'pre' }).bytes
    const { bytes } = await served.got(`/${hex}.obao0`)
    expect(same(bytes, expected)).to.equal(true)
    const { bytes: end } = await served.got(`/${hex}.obao0`, { headers: { range: 'bytes=65000-' } })
    expect(same(end, expected.subarray(65_000))).to.equal(true)
  })

  it('and answers 416 and 304', async () => {
    const served = await serve()
    const { cid, hex } = await served.put(BYTES)
    const ask = async headers => (await served.got(`/${hex}.obao4`, { headers })).status
    expect(await ask({ range: 'bytes=99999-' })).to.equal(416)
    expect(await ask({ 'if-none-match': `"${cid}.obao4"` })).to.equal(304)
    expect(await ask({ 'if-none-match': `"${cid}"` })).to.equal(200)
  })

  it('to readers of a plain file and an outboard beside it', async () => {
    const served = await serve()
    const { hex } = await served.put(BYTES)
    const fetch = (url, init) => served.handler(new Request(url, init))
    const source = await httpSource(`http://store.test/${hex}.obao4`, { fetch })
    const expected = createOutboardSync(BYTES, { order: 'pre' }).bytes
    expect(source.size).to.equal(expected.length)
    expect(same(await collect([await source.read(64, 500)]), expected.subarray(64, 500))).to.equal(true)
  })
})
