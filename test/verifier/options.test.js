// All functions of the verifier take options and ranges in the same way, and name a blob in the same way.
import { expect } from 'chai'
import { ChunkRanges } from '../../lib/index.js'
import { createOutboardSync, createProofSync, encode, encodeSliceSync, openEncoding } from '../../encoder/index.js'
import {
  SliceSource, SliceVerifier, VerifiedReader, decode, fetchVerified, httpSource, mirrorOf, validOutboardRanges,
  validRanges, verifyProof, verifySlice, verifyStream, verifyTransform
} from '../../verifier/index.js'
import { concat, hex } from '../support/bytes.js'
import { bytesOf, collect, errorOf, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'

const BYTES = noise(70_000, 81)
const outboard = createOutboardSync(BYTES)
const { root, cid } = outboard
const encoded = encode(BYTES).bytes
const RANGES = { start: 5000, end: 6000 }
const slice = encodeSliceSync(BYTES, outboard, RANGES)
const proof = createProofSync(BYTES, outboard, RANGES)
const content = BYTES.subarray(4096, 6144)
const reader = new VerifiedReader({ cid: root, encoded })

/** Answers with the slice of a Bao endpoint. */
const fetch = async url => {
  const { searchParams } = new URL(url)
  const ranges = { start: Number(searchParams.get('start') ?? 0), end: Number(searchParams.get('end') ?? Infinity) }
  const headers = { 'content-type': 'application/vnd.bao-slice' }
  return new Response(encodeSliceSync(BYTES, outboard, ranges), { headers })
}

/** A call with options of every public function that takes them. */
const CALLS = {
  SliceVerifier: options => new SliceVerifier({ cid: root, ...options }),
  verifySlice: options => verifySlice(slice, { cid: root, ranges: RANGES, ...options }),
  verifyStream: options => collect(verifyStream(stream([slice]), { cid: root, ranges: RANGES, ...options })),
  verifyTransform: options => verifyTransform({ cid: root, ranges: RANGES, ...options }),
  decode: options => decode(encoded, root, options),
  SliceSource: options => new SliceSource(stream([slice]), options),
  'isAtEnd of SliceSource': options => new SliceSource(stream([slice])).isAtEnd(options),
  'read of SliceSource': options => new SliceSource(stream([slice])).read(1, options),
  VerifiedReader: options => new VerifiedReader({ cid: root, encoded, ...options }),
  'read of VerifiedReader': options => reader.read(RANGES, options),
  'stream of VerifiedReader': options => collect(reader.stream(RANGES, options)),
  'size of VerifiedReader': options => reader.size(options),
  verifyProof: options => verifyProof(proof, content, { cid: root, ...options }),
  validRanges: options => validRanges(BYTES, outboard, RANGES, options),
  validOutboardRanges: options => validOutboardRanges(outboard, RANGES, options),
  httpSource: options => httpSource('http://localhost', options),
  mirrorOf: options => mirrorOf('http://localhost', options),
  'mirrorOf of a function': options => mirrorOf(() => slice, options),
  fetchVerified: options => fetchVerified('http://localhost', { cid: root, fetch, ...options })
}

describe('the options of the verifier', () => {
  for (const [name, call] of Object.entries(CALLS)) {
    it(`${name} refuses an option that it does not know, and names it`, async () => {
      for (const option of ['grouplog', 'root']) {
        const error = await errorOf(() => call({ [option]: undefined }))
        expect(error, option).to.be.instanceOf(TypeError)
        expect(error.message).to.include(`"${option}"`)
      }
    })
  }
})

describe('the name of a blob in options of the verifier', () => {
  const ways = {
    SliceVerifier: name => bytesOf(new SliceVerifier({ ...name, ranges: RANGES }).write(slice)),
    verifySlice: name => bytesOf(verifySlice(slice, { ...name, ranges: RANGES })),
    verifyProof: name => verifyProof(proof, content, name)[0].bytes.subarray(904, 1904),
    VerifiedReader: name => new VerifiedReader({ ...name, encoded }).read(RANGES),
    fetchVerified: async name => {
      const response = await fetchVerified('http://localhost', { ...name, fetch, range: RANGES })
      return new Uint8Array(await response.arrayBuffer())
    }
  }
  for (const [name, verify] of Object.entries(ways)) {
    it(`${name} takes it as \`cid\`, in any form`, async () => {
      for (const given of [cid, root, `${cid}`, hex(root)]) {
        expect(await verify({ cid: given })).to.deep.equal(BYTES.slice(5000, 6000))
      }
    })

    it(`${name} has no option \`root\``, async () => {
      const error = await errorOf(() => verify({ root, cid }))
      expect(error).to.be.instanceOf(TypeError)
      expect(error.message).to.include('"root"')
    })
  }
})

describe('the group log', () => {
  it('is 4 by default in every function', async () => {
    const { bytes } = encode(BYTES, { groupLog: 4 })
    expect(encoded).to.deep.equal(bytes)
    expect(decode(bytes, root)).to.deep.equal(BYTES)
    expect(await new VerifiedReader({ cid, encoded: bytes }).read()).to.deep.equal(BYTES)
    const opened = await openEncoding(bytes, { cid })
    expect(opened.outboard.groupLog).to.equal(4)
    expect(outboard.groupLog).to.equal(4)
    expect(verifySlice(encodeSliceSync(BYTES, outboard), { cid })).to.have.length.above(0)
  })
})

describe('the ranges of a read', () => {
  it('read() and stream() take bytes', async () => {
    for (const [start, end] of [[0, 1], [5000, 6000], [1023, 40_000], [69_999, 80_000], [90_000, 90_001], [7, 7]]) {
      const expected = BYTES.slice(start, end)
      expect(await reader.read({ start, end })).to.deep.equal(expected)
      expect(await collect(reader.stream({ start, end }))).to.deep.equal(expected)
    }
    expect(await reader.read({ start: 69_000 })).to.deep.equal(BYTES.slice(69_000))
    expect(await reader.read({ end: 9 })).to.deep.equal(BYTES.slice(0, 9))
    expect(await reader.read()).to.deep.equal(BYTES)
    expect(await reader.read({})).to.deep.equal(BYTES)
  })

  it('read() takes chunks, and gives the bytes of several ranges one after the other', async () => {
    const chunks = list => ChunkRanges.fromBoundaries(list)
    const wantedOf = ranges => concat(ranges.toBytes(BYTES.length).map(({ start, end }) => BYTES.subarray(start, end)))
    const sets = [
      chunks([0, 1]), chunks([3, 5, 6, 7, 40, 50]), chunks([60]), ChunkRanges.last, ChunkRanges.none, ChunkRanges.all
    ]
    for (const blob of [{ encoded }, { source: BYTES, outboard }]) {
      for (const ranges of sets) {
        expect(await new VerifiedReader({ cid: root, ...blob }).read(ranges)).to.deep.equal(wantedOf(ranges))
      }
    }
  })

  it('read() refuses values that are not a range', async () => {
    for (const ranges of [null, true, 'all', [0, 1], { start: 5, end: 4 }, { start: -1 }, { from: 5 }]) {
      const error = await errorOf(reader.read(ranges))
      expect(
        error instanceof TypeError || error instanceof RangeError, `${JSON.stringify(ranges)}: ${error}`
      ).to.equal(true)
    }
  })

  it('may be several, in any order, as for slices and proofs: each byte comes once', async () => {
    const range = (start, end) => ({ start, end })
    const several = [range(40_000, 40_010), range(5000, 6000), range(5900, 6100), range(9, 9)]
    const expected = concat([BYTES.subarray(5000, 6100), BYTES.subarray(40_000, 40_010)])
    expect(await reader.read(several)).to.deep.equal(expected)
    const slice = encodeSliceSync(BYTES, outboard, several)
    expect(slice).to.deep.equal(encodeSliceSync(BYTES, outboard, ChunkRanges.fromBoundaries([0, 1, 4, 6, 39, 40])))
    const leaves = verifySlice(slice, { cid, ranges: several })
    expect(concat(leaves.map(({ bytes }) => bytes))).to.deep.equal(expected)
    const proof = createProofSync(BYTES, outboard, several)
    const content = concat(proof.byteRanges.map(({ start, end }) => BYTES.subarray(start, end)))
    const proven = verifyProof(proof, content, { cid, ranges: several })
    expect(proven.map(({ offset, bytes }) => [offset, bytes.length])).to.deep.equal([[5000, 1100], [40_000, 10]])
    expect(await reader.read([])).to.have.length(0)
    expect(encodeSliceSync(BYTES, outboard, [])).to.have.length(8)
    expect(await reader.read([{ end: 5 }, {}])).to.deep.equal(BYTES)
    for (const wrong of [[null], [[0, 1]], [{ start: 5, end: 4 }], [ChunkRanges.all], [{ from: 1 }]]) {
      const error = await errorOf(() => encodeSliceSync(BYTES, outboard, wrong))
      expect(error instanceof TypeError || error instanceof RangeError, `${error}`).to.equal(true)
    }
  })

  it('fetchVerified() takes one range', async () => {
    const body = async options => {
      const response = await fetchVerified('http://localhost', { cid: root, fetch, ...options })
      return new Uint8Array(await response.arrayBuffer())
    }
    const expected = BYTES.slice(2048, 6144)
    expect(await body({ range: { start: 2048, end: 6144 } })).to.deep.equal(expected)
    expect(await body({ range: { start: 2048, end: 2048 } })).to.have.length(0)
    expect(await body({ range: {} })).to.deep.equal(BYTES)
    for (const range of [[RANGES], ChunkRanges.all, null, 5]) {
      expect(await errorOf(body({ range }))).to.be.instanceOf(TypeError)
    }
  })
})
