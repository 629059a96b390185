// Requests to iroh-blobs have the bytes that iroh writes. Bytes that iroh would not write are refused.
import { expect } from 'chai'
import fc from 'fast-check'
import { ChunkRanges } from '../../../../lib/index.js'
import {
  MAX_REQUEST_LEN, decodeRequest, encodeGet, encodeRequest
} from '../../../../exchange/iroh/wire/request.js'
import { concat, hex, unhex } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { boundaries, holds } from '../../../support/property.js'
import { refusesAllButBytes } from '../../../support/slips.js'
import { integers, irohVectors } from '../../../support/vectors.js'

const ROOT = new Uint8Array(32).fill(0xda)
const { all, none, last } = ChunkRanges
const rangesOf = (...numbers) => ChunkRanges.fromBoundaries(numbers)

/** A Get with these bytes after the hash. */
const get = digits => concat([new Uint8Array(1), ROOT, unhex(digits)])
const wantedIn = digits => decodeRequest(get(digits)).wanted
/** A form that chai can compare. */
const shown = wanted => wanted.map(([index, ranges]) => [index, ranges.boundaries])

/** The meaning of each of iroh's sequences. */
const SEQUENCES = {
  empty: [],
  all: [[0, all]],
  root: [[0, all], [1, none]],
  verified_size: [[0, last], [1, none]],
  verified_child_sizes: [[0, all], [1, last]],
  'finite [1..3],[7..13]': [[0, rangesOf(1, 3)], [1, rangesOf(7, 13)], [2, none]],
  'infinite [],[],[],[7..],[0..]': [[3, rangesOf(7)], [4, all]],
  'finite [0..],[0..],[0..1],[],[2..4]': [[0, all], [2, rangesOf(0, 1)], [3, none], [4, rangesOf(2, 4)], [5, none]]
}

/** Sequences that can be written: no entry has the same ranges as the one before. */
const wanted = fc.array(fc.tuple(fc.oneof(fc.nat(3), fc.maxSafeNat()), boundaries(50_000)), { maxLength: 6 })
  .map(entries => {
    const byIndex = new Map(entries.map(([index, numbers]) => [index, ChunkRanges.fromBoundaries(numbers)]))
    const sorted = [...byIndex].sort(([a], [b]) => a - b)
    return sorted.filter(([, ranges], i) => !ranges.equals(i === 0 ? none : sorted[i - 1][1]))
  })

const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 })

describe('a request to iroh-blobs', () => {
  for (const { hex: digits, what } of irohVectors.range_spec_seqs) {
    it(`asks for ${what} in iroh's bytes`, () => {
      expect(hex(encodeRequest({ root: ROOT, wanted: SEQUENCES[what] }))).to.equal(hex(get(digits)))
      expect(shown(wantedIn(digits))).to.deep.equal(shown(SEQUENCES[what]))
    })
  }

  for (const { hex: digits, ranges } of irohVectors.range_specs) {
    it(`asks for the chunks [${ranges}] in iroh's bytes`, () => {
      const expected = ChunkRanges.fromBoundaries(integers(ranges))
      const [[, got] = [0, none]] = expected.isEmpty ? [] : wantedIn(`0100${digits}`)
      expect(got.boundaries).to.deep.equal(expected.boundaries)
      if (expected.isEmpty) return
      expect(hex(encodeRequest({ root: ROOT, wanted: [[0, expected]] }))).to.equal(hex(get(`0100${digits}`)))
    })
  }

  it('is a Get for one blob, as iroh writes it', () => {
    const vectors = irohVectors.requests.filter(({ what }) => what.startsWith('Get ') && what !== 'Get all')
    const parts = rangesOf(0, 10, 100, 110)
    const ranges = { 'Get blob': all, 'Get blob_ranges 0..10,100..110': parts, 'Get last chunk': last }
    expect(vectors).to.have.length(3)
    for (const { what, hex: digits } of vectors) expect(hex(encodeGet(ROOT, ranges[what])), what).to.equal(digits)
  })

  it('other than Get is refused by its name', async () => {
    const others = irohVectors.requests.filter(({ what }) => !what.startsWith('Get '))
    expect(others.map(({ what }) => what)).to.deep.equal(['Observe', 'Push blob', 'GetMany'])
    for (const { what, hex: digits } of others) {
      const error = await errorOf(() => decodeRequest(unhex(digits)))
      expect(error.code, what).to.equal('REQUEST_UNSUPPORTED')
      expect(error.message).to.include(what.split(' ')[0])
    }
    for (const kind of [2, 7]) {
      expect(await errorOf(() => decodeRequest(Uint8Array.of(kind)))).to.have.property('code', 'REQUEST_UNSUPPORTED')
    }
    expect(await errorOf(() => decodeRequest(Uint8Array.of(10)))).to.include({ code: 'REQUEST_INVALID', start: 0 })
  })

  describe('is refused', () => {
    const FAULTS = {
      'that ends before its ranges': ['', 33],
      'with a count that is longer than the rest': ['050001000100', 33],
      'with a count of 2^63 ranges': ['01008080808080808080800100', 35],
      'with bytes after its end': ['0100010000', 37],
      'with an empty range': ['010003050000', 37],
      'with two sets of ranges for one blob': ['02000100000105', 37],
      'that says the same ranges twice': ['02000100010100', 38],
      'that begins with no ranges': ['010000', 35],
      'with a varint that is too long': ['0180000100', 34],
      'with a varint of eleven bytes': ['01ffffffffffffffffffff0100', 34],
      'with a varint above 2^64 - 1': ['01ffffffffffffffffff020100', 34],
      'with chunks above 2^64 - 1': ['010002ffffffffffffffffff0101', 46],
      'with a blob above 2^64 - 1': ['02ffffffffffffffffff010100010105', 46]
    }
    for (const [what, [digits, start]] of Object.entries(FAULTS)) {
      it(what, async () => {
        expect(await errorOf(() => decodeRequest(get(digits)))).to.include({ code: 'REQUEST_INVALID', start })
      })
    }

    it('when it is empty, or ends before its hash', async () => {
      for (const len of [0, 1, 32]) {
        expect(await errorOf(() => decodeRequest(new Uint8Array(len)))).to.have.property('code', 'REQUEST_INVALID')
      }
    })

    it('when it is longer than 1 MiB', async () => {
      const error = await errorOf(() => decodeRequest(new Uint8Array(MAX_REQUEST_LEN + 1)))
      expect(error).to.have.property('code', 'REQUEST_INVALID')
      expect(MAX_REQUEST_LEN).to.equal(2 ** 20)
    })

    it('as anything but bytes', () => refusesAllButBytes('bytes', decodeRequest))
  })

  it('does not confuse sets that become equal when they are limited to 2^53', () => {
    // [2^60..) and then [2^61..): both mean the last chunk here.
    const digits = '0200018080808080808080100101808080808080808020'
    expect(shown(wantedIn(digits))).to.deep.equal([[0, last.boundaries], [1, last.boundaries]])
  })

  it('survives being written and read', () => holds('iroh request', fc.property(wanted, wanted => {
    const bytes = Uint8Array.from(encodeRequest({ root: ROOT, wanted }))
    const request = decodeRequest(bytes)
    expect(hex(request.root)).to.equal(hex(ROOT))
    expect(shown(request.wanted)).to.deep.equal(shown(wanted))
  })))

  it('with changed bytes is read as it is written, or refused', () => holds('iroh request, changed',
    fc.property(wanted, changes, fc.nat(4), (wanted, changes, cut) => {
      const bytes = Uint8Array.from(encodeRequest({ root: ROOT, wanted }))
      for (const [place, value] of changes) bytes[place % bytes.length] = value
      const changed = bytes.subarray(0, bytes.length - cut)
      let request
      try {
        request = decodeRequest(changed)
      } catch (error) {
        expect(error.code).to.match(/^REQUEST_/)
        return
      }
      // Numbers above 2^53 - 1 are not kept.
      const isExact = request.wanted.length === changed[1 + ROOT.length] &&
        request.wanted.every(([, { boundaries }]) => !boundaries.includes(Number.MAX_SAFE_INTEGER))
      if (isExact) expect(hex(encodeRequest(request))).to.equal(hex(changed))
    }), 300))
})
