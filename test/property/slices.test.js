import { expect } from 'chai'
import fc from 'fast-check'
import { BaoError, ChunkRanges } from '../../lib/index.js'
import { Outboard, createOutboard, createOutboardSync, encodeSlice, encodeSliceSync } from '../../encoder/index.js'
import { SliceVerifier, VerifiedReader } from '../../verifier/index.js'
import { concat, flipped, header, hex, same } from '../support/bytes.js'
import { chosenRuns, collect, errorOf, feed, joined, provesSize, stream, whole } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { boundaries, cutAt, cuts, groupLogs, holds, keys, sizes } from '../support/property.js'
import { Bao, modeOf } from '../support/twin/index.js'

const SIZE = 24_000
const orders = fc.constantFrom('pre', 'post')

/** A blob, a query, and the results of the twin. */
const casesOf = parts => fc.record({ ...parts, key: keys, seed: fc.nat() })
  .map(({ size, groupLog, list, key, seed }) => {
    const bytes = noise(size, seed)
    const tree = Bao.grow(bytes, modeOf({ key }))
    return {
      bytes,
      tree,
      groupLog,
      list,
      key,
      slice: Bao.slice(tree, groupLog, list),
      options: { cid: tree.cv, ranges: ChunkRanges.fromBoundaries(list), groupLog, key },
      toString () {
        const query = `groups of 2^${groupLog}, chunks [${list}]`
        return `${size} bytes of seed ${seed}, ${query}${key ? `, key ${hex(key)}` : ''}`
      }
    }
  })

const smallCases = casesOf({ size: sizes(SIZE), groupLog: groupLogs, list: boundaries(SIZE) })

/** Blobs of several windows of 128 chunks, in groups that may be larger than a window. The twin is slow for them. */
const LARGE = 700_000
const windowEdges = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.constantFrom(-1, 0, 1))
  .map(([windows, by]) => windows * 131_072 + by)
const largeCases = casesOf({
  size: fc.oneof(fc.integer({ min: 120_000, max: LARGE }), windowEdges),
  groupLog: fc.integer({ min: 0, max: 10 }),
  list: boundaries(LARGE)
})

const plain = leaves => leaves.map(({ offset, bytes }) => `${offset} ${hex(bytes)}`)

const placeOf = error => error && { code: error.code, node: error.node, start: error.start }

/** Expects that all given bytes are those of the blob at that place. */
const expectTrue = (leaves, bytes) => {
  for (const { offset, bytes: given } of leaves) {
    expect(same(given, bytes.subarray(offset, offset + given.length)), `bytes at ${offset}`).to.equal(true)
  }
}

forEachKernel(kernel => describe('property: outboards and slices', () => {
  for (const [title, cases, runs] of [['small', smallCases, 120], ['large', largeCases, 20]]) {
    it(`${title} ones equal the twin's, and verify`, () => holds(`slices: twin (${title}, ${kernel})`, fc.asyncProperty(
      cases, orders, cuts, cuts,
      async ({ bytes, tree, groupLog, list, key, slice, options }, order, placesIn, placesOut) => {
        const outboard = createOutboardSync(bytes, { groupLog, order, key })
        const expected = order === 'pre' ? Bao.preOrder(tree, groupLog) : Bao.postOrder(tree, groupLog)
        expect(hex(outboard.root)).to.equal(hex(tree.cv))
        expect(same(outboard.bytes, expected)).to.equal(true)
        const streamed = await createOutboard(stream(cutAt(bytes, placesIn)), { groupLog, order, key })
        expect(same(streamed.bytes, expected)).to.equal(true)

        const { ranges } = options
        expect(same(encodeSliceSync(bytes, outboard, ranges, { key }), slice)).to.equal(true)
        const sent = await collect(encodeSlice(bytes, outboard, ranges, { key, verify: false }))
        expect(same(sent, slice)).to.equal(true)

        const verifier = new SliceVerifier(options)
        const { leaves, error } = feed(verifier, cutAt(slice, placesOut))
        expect(error).to.equal(undefined)
        expect(plain(leaves)).to.deep.equal(plain(chosenRuns(bytes, list)))
        expect(verifier.sizeProven).to.equal(provesSize(bytes.length, list))
      }), runs))
  }

  const readPlaces = fc.array(fc.tuple(fc.nat(SIZE + 3000), fc.nat(8000)), { minLength: 1, maxLength: 4 })

  it('are read at any offset, from both forms', () => holds(`slices: reader (${kernel})`, fc.asyncProperty(
    smallCases, orders, readPlaces, fc.option(fc.nat(), { nil: undefined }),
    async ({ bytes, tree, groupLog, key }, order, reads, flip) => {
      const root = tree.cv
      const whole = Bao.combined(tree, groupLog)
      const encoded = flip === undefined ? whole : flipped(whole, flip % whole.length)
      const source = flip === undefined || bytes.length === 0 ? bytes : flipped(bytes, flip % bytes.length)
      const outboard = createOutboardSync(bytes, { groupLog, order, key })
      const readers = [
        new VerifiedReader({ cid: root, encoded, groupLog, key }),
        new VerifiedReader({ cid: root, source, outboard, key })
      ]
      for (const reader of readers) {
        for (const [start, len] of reads) {
          const got = []
          const error = await errorOf(async () => got.push(await reader.read({ start, end: start + len })))
          if (flip === undefined) expect(error).to.equal(undefined)
          // Changed or not: the given bytes are those of the blob.
          if (error) expect(error).to.be.instanceOf(BaoError)
          else expect(same(got[0], bytes.subarray(start, start + len)), `${start} to ${start + len}`).to.equal(true)
        }
        const told = []
        const error = await errorOf(async () => told.push(await reader.size()))
        if (flip === undefined) expect(error).to.equal(undefined)
        if (!error) expect(told).to.deep.equal([bytes.length])
      }
    })))

  it('are never sent with a byte that does not verify', () => holds(`slices: sender (${kernel})`, fc.asyncProperty(
    smallCases, orders, fc.boolean(), fc.nat(), fc.integer({ min: 1, max: 255 }),
    async ({ bytes, groupLog, key, slice, options: { ranges } }, order, isData, at, xor) => {
      const outboard = createOutboardSync(bytes, { groupLog, order, key })
      const spoilt = isData ? bytes : outboard.bytes
      if (spoilt.length === 0) return
      const changed = flipped(spoilt, at % spoilt.length, xor)
      const source = isData ? changed : bytes
      const pairs = isData ? outboard : Outboard.from({ ...outboard, cid: outboard.root, bytes: changed })

      const sent = []
      const error = await errorOf(async () => {
        for await (const part of encodeSlice(source, pairs, ranges, { key })) sent.push(part)
      })
      const got = concat(sent)
      expect(same(got, slice.subarray(0, got.length))).to.equal(true)
      if (error) expect(error).to.be.instanceOf(BaoError)
      else expect(got.length).to.equal(slice.length)

      const atOnce = await errorOf(() => {
        expect(same(encodeSliceSync(source, pairs, ranges, { key }), slice)).to.equal(true)
      })
      expect(atOnce?.code).to.equal(error?.code)
    }), 150))

  const fractions = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

  it('give only bytes of the blob when any byte is changed', () => holds(`slices: flip (${kernel})`, fc.property(
    smallCases, fractions, fc.integer({ min: 1, max: 255 }), cuts,
    ({ bytes, list, slice, options }, place, xor, places) => {
      const at = Math.floor(place * slice.length)
      const verifier = new SliceVerifier(options)
      const { leaves, error } = feed(verifier, cutAt(flipped(slice, at, xor), places))
      expectTrue(leaves, bytes)
      if (error) return
      // Only a wrong header may stay unnoticed, and only while the size is not said to be proven.
      expect(at).to.be.lessThan(8)
      expect(verifier.sizeProven).to.equal(false)
      expect(provesSize(bytes.length, list)).to.equal(false)
    }), 400))

  for (const [title, cases, runs] of [['small', smallCases, 200], ['large', largeCases, 20]]) {
    // However a slice is cut into pieces, it gives the same leaves, and then the same fault.
    it(`${title} ones fail in the same way for all cuts`, () => holds(`slices: cuts (${title}, ${kernel})`, fc.property(
      cases, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 2 }), fc.nat(), cuts,
      fc.constantFrom('soon', 'window', 'leaf'),
      ({ bytes, tree, groupLog, list, key, slice, options }, flips, cutOff, places, release) => {
        let response = slice.slice(8)
        if (response.length > 0) {
          for (const [at, xor] of flips) response = flipped(response, at % response.length, xor)
        }
        if (cutOff % 3 === 0) response = response.slice(0, cutOff % (response.length + 1))
        const expected = Bao.decode(response, {
          root: tree.cv,
          size: bytes.length,
          groupLog,
          boundaries: list,
          mode: modeOf({ key })
        })
        const expectedLeaves = plain(joined(expected.leaves))

        const spoilt = concat([header(bytes.length), response])
        for (const pieces of [whole(spoilt), cutAt(spoilt, places)]) {
          const { leaves, error } = feed(new SliceVerifier({ ...options, release }), pieces)
          expect(plain(leaves)).to.deep.equal(expectedLeaves)
          expect(placeOf(error)).to.deep.equal(placeOf(expected.fault))
        }
      }), runs))
  }

  it('that end anywhere give exactly the leaves before the end', () => holds(
    `slices: truncation (${kernel})`, fc.property(
      smallCases.filter(({ slice }) => slice.length < 5000),
      ({ bytes, tree, groupLog, list, slice, options }) => {
        const items = Bao.items(tree, groupLog, list)
        for (let to = 0; to < slice.length; to++) {
          const { leaves, error } = feed(new SliceVerifier(options), whole(slice.subarray(0, to)))
          const { before, place } = whatStands(items, to)
          const got = leaves.reduce((sum, leaf) => sum + leaf.bytes.length, 0)
          expect(got, `cut at ${to}`).to.equal(before)
          expectTrue(leaves, bytes)
          const { code, node, start, wanted, got: gotBytes } = error ?? {}
          expect({ code, node, start, wanted, got: gotBytes }, `cut at ${to}`)
            .to.deep.equal({ code: 'BAO_TRUNCATED', node: undefined, start: undefined, ...place })
        }
      }), 16))
}))

/** The bytes of the complete leaves in the first `to` bytes of a slice, and the place where it ends. */
function whatStands (items, to) {
  if (to < 8) return { before: 0, place: { wanted: 8, got: to } }
  let at = 8
  let before = 0
  for (const { name, bytes } of items) {
    if (at + bytes.length > to) {
      const [, place] = name.match(/(\d+)/)
      const field = name[0] === 'P' ? 'node' : 'start'
      return { before, place: { [field]: Number(place), wanted: bytes.length, got: to - at } }
    }
    at += bytes.length
    if (name[0] === 'L') before += bytes.length
  }
}
