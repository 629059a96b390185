// If ranges are in bytes, verified streams give exactly these bytes.
import { expect } from 'chai'
import fc from 'fast-check'
import { ChunkRanges } from '../../../lib/index.js'
import { createOutboardSync, createProofSync, encodeSliceSync } from '../../../encoder/index.js'
import {
  SliceSource, SliceVerifier, verifyProof, verifySlice, verifyStream, verifyTransform
} from '../../../verifier/index.js'
import { concat, flipped, same } from '../../support/bytes.js'
import { KIB } from '../../support/constants.js'
import { collect, differenceOf, feed, joined, listed, ragged, readable, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'
import { cutAt, cuts, groupLogs, holds, keys, sizes } from '../../support/property.js'
import { Bao, modeOf } from '../../support/twin/index.js'

const RELEASES = ['soon', 'leaf', 'window']

/** Every call that gives leaves of a slice, with a function that gathers them. */
const CALLS = {
  verifySlice: (slice, options) => verifySlice(slice, options),
  'verifySlice, into': (slice, options) => verifySlice(slice, { ...options, into: new Uint8Array(slice.length) }),
  'verifySlice, onLeaf': (slice, options) => {
    const leaves = []
    verifySlice(slice, { ...options, onLeaf: (offset, bytes) => { leaves.push({ offset, bytes: bytes.slice() }) } })
    return leaves
  },
  ...Object.fromEntries(RELEASES.flatMap(release => [
    [`SliceVerifier, ${release}`, (slice, options) => {
      const { leaves, error } = feed(new SliceVerifier({ ...options, release }), ragged(slice, 7))
      expect(error).to.equal(undefined)
      return leaves
    }],
    [`SliceVerifier, reuse, ${release}`, (slice, options) => {
      const verifier = new SliceVerifier({ ...options, release, reuse: true })
      const owned = leaves => leaves.map(({ offset, bytes }) => ({ offset, bytes: bytes.slice() }))
      return [...ragged(slice, 5).flatMap(piece => owned(verifier.write(piece))), ...owned(verifier.end())]
    }]
  ])),
  verifyStream: (slice, options) => listed(verifyStream(stream(ragged(slice, 3)), options)),
  SliceSource: async (slice, options) => {
    const slices = new SliceSource(stream([concat([slice, slice, Uint8Array.of(5)])]))
    await listed(verifyStream(slices, options))
    const leaves = await listed(verifyStream(slices, options))
    expect(await slices.read(1)).to.deep.equal(Uint8Array.of(5))
    return leaves
  }
}

/** Ranges in bytes of a blob of `size` bytes, by their meaning. */
const rangesOf = size => ({
  'within a chunk': { start: 1500, end: 1510 },
  'across groups': { start: 16_000, end: 70_001 },
  'up to the end of a chunk': { start: 5, end: 2048 },
  'whole chunks': { start: 4096, end: 8192 },
  'from a place on': { start: 20_001 },
  'up to a place': { end: 20_001 },
  'beyond the end of the blob': { start: 60_001, end: size + 65_000 },
  'from the end of the blob on': { start: size, end: size + 10 },
  'from beyond the end of the blob on': { start: size + 3 * KIB },
  'nothing at a place': { start: 3000, end: 3000 },
  'nothing beyond the end': { start: 10 * size, end: 10 * size },
  everything: {}
})

forEachKernel(kernel => describe('ranges in bytes', () => {
  for (const size of [75_000, 64 * KIB, 1, 0]) {
    const content = noise(size, 9)
    const outboards = [0, 4, 6].map(groupLog => createOutboardSync(content, { groupLog }))
    for (const [what, ranges] of Object.entries(rangesOf(size))) {
      const { start = 0, end = Infinity } = ranges
      const wanted = content.subarray(start, end)
      const expected = joined([{ offset: start, bytes: wanted }])

      it(`give exactly these bytes: ${what}, of ${size} bytes`, async () => {
        for (const outboard of outboards) {
          const { root, groupLog } = outboard
          const slice = encodeSliceSync(content, outboard, ranges)
          const options = { cid: root, groupLog, ranges }
          for (const [call, leavesOf] of Object.entries(CALLS)) {
            const leaves = await leavesOf(slice, options)
            expect(leaves.every(({ bytes }) => bytes.length > 0), `${call}: no empty leaf`).to.equal(true)
            expect(differenceOf(joined(leaves), expected), `${call}, group log ${groupLog}`).to.equal(undefined)
          }
          for (const release of RELEASES) {
            const through = readable(ragged(slice, 11)).pipeThrough(verifyTransform({ ...options, release }))
            expect(same(await collect(through), wanted), `verifyTransform, ${release}`).to.equal(true)
          }
        }
      })
    }
  }

  const content = noise(700_000, 3)
  const outboard = createOutboardSync(content)
  const { root } = outboard
  const ranges = { start: 500_000, end: 600_000 }
  const slice = encodeSliceSync(content, outboard, ranges)
  const chunks = [{ offset: 499_712, bytes: content.slice(499_712, 600_064) }]

  it('give whole chunks with exact: false', async () => {
    for (const [call, leavesOf] of Object.entries(CALLS)) {
      const leaves = joined(await leavesOf(slice, { cid: root, ranges, exact: false }))
      expect(differenceOf(leaves, chunks), call).to.equal(undefined)
    }
    const through = readable([slice]).pipeThrough(verifyTransform({ cid: root, ranges, exact: false }))
    expect(same(await collect(through), chunks[0].bytes)).to.equal(true)
  })

  it('give whole chunks when they are ChunkRanges', async () => {
    const { start, end } = ranges
    for (const exact of [undefined, true, false]) {
      for (const [call, leavesOf] of Object.entries(CALLS)) {
        const leaves = await leavesOf(slice, { cid: root, ranges: ChunkRanges.fromBytes(start, end), exact })
        expect(differenceOf(joined(leaves), chunks), call).to.equal(undefined)
      }
    }
  })

  it('need no more memory than these bytes', () => {
    const into = new Uint8Array(100_000)
    const [{ offset, bytes }] = verifySlice(slice, { cid: root, ranges, into })
    expect([offset, bytes.buffer === into.buffer, bytes.byteOffset]).to.deep.equal([500_000, true, 0])
    expect(same(into, content.subarray(500_000, 600_000))).to.equal(true)
    expect(() => verifySlice(slice, { cid: root, ranges, exact: false, into })).to.throw(RangeError, '"into"')
  })

  it('beyond the end prove the size, though no byte comes out', () => {
    const beyond = { start: 5_000_000 }
    const verifier = new SliceVerifier({ cid: root, ranges: beyond })
    expect(verifier.write(encodeSliceSync(content, outboard, beyond))).to.deep.equal([])
    expect(verifier).to.include({ done: true, sizeProven: true, size: content.length })
    const wrong = new SliceVerifier({ cid: root, ranges: beyond })
    const lie = encodeSliceSync(content, outboard, beyond)
    expect(() => wrong.write(flipped(lie, lie.length - 1))).to.throw().with.property('code', 'BAO_LEAF_MISMATCH')
  })

  it('do not hide a fault in the rest of their chunks', () => {
    const inside = { start: 2100, end: 2200 }
    const lie = encodeSliceSync(content, outboard, inside)
    for (const at of [lie.length - 1, lie.length - KIB]) {
      expect(() => verifySlice(flipped(lie, at), { cid: root, ranges: inside }))
        .to.throw().with.property('code', 'BAO_LEAF_MISMATCH')
    }
  })

  it('leave pairs and whole chunks to sinks', () => {
    const leaves = []
    const sink = { leaf: (offset, memory, at, len) => leaves.push({ offset, bytes: memory.slice(at, at + len) }) }
    new SliceVerifier({ cid: root, ranges }, sink).write(slice)
    expect(joined(leaves)).to.deep.equal(chunks)
  })

  it('of a proof also give exactly these bytes', () => {
    const inside = { start: 5000, end: 6000 }
    const proof = createProofSync(content, outboard, inside)
    const bytes = content.subarray(4096, 6144)
    expect(verifyProof(proof, bytes, { cid: root, ranges: inside }))
      .to.deep.equal([{ offset: 5000, bytes: content.subarray(5000, 6000) }])
    const whole = [{ offset: 4096, bytes }]
    expect(verifyProof(proof, bytes, { cid: root, ranges: inside, exact: false })).to.deep.equal(whole)
    expect(verifyProof(proof, bytes, { cid: root })).to.deep.equal(whole)
    expect(verifyProof(proof, bytes, { cid: root, ranges: { start: 5000, end: 5000 + 1024 } })).to.have.length(1)
    const beyond = createProofSync(content, outboard, { start: 5_000_000 })
    const last = content.subarray(beyond.byteRanges[0].start)
    expect(verifyProof(beyond, last, { cid: root, ranges: { start: 5_000_000 } })).to.deep.equal([])
  })

  const SIZE = 40_000
  const places = fc.oneof(fc.nat(SIZE + 3000), fc.nat(40).map(chunk => chunk * KIB))
  it('give the bytes of the twin, also before a fault', () => holds(`exact (${kernel})`, fc.property(
    sizes(SIZE), groupLogs, keys, fc.nat(), fc.tuple(places, places), fc.constantFrom(...RELEASES), cuts,
    fc.option(fc.nat(), { nil: undefined }),
    (size, groupLog, key, seed, [a, b], release, placesOfCuts, flip) => {
      const bytes = noise(size, seed)
      const tree = Bao.grow(bytes, modeOf({ key }))
      const [start, end] = [Math.min(a, b), Math.max(a, b)]
      const boundaries = [Math.floor(start / KIB), Math.max(Math.ceil(end / KIB), Math.floor(start / KIB) + 1)]
      const good = Bao.slice(tree, groupLog, boundaries).subarray(8)
      const response = flip === undefined || good.length === 0 ? good : flipped(good, flip % good.length)
      const due = Bao.decode(response, { root: tree.cv, size, groupLog, boundaries, mode: modeOf({ key }) })
      const wanted = concat(due.leaves.map(leaf => leaf.bytes.subarray(
        Math.max(0, start - leaf.offset), Math.max(0, end - leaf.offset)
      )))
      if (due.fault === undefined) expect(same(wanted, bytes.subarray(start, end))).to.equal(true)
      const options = { cid: tree.cv, groupLog, key, size, ranges: { start, end }, release }
      const { leaves, error } = feed(new SliceVerifier(options), cutAt(response, placesOfCuts))
      expect(same(concat(leaves.map(leaf => leaf.bytes)), wanted)).to.equal(true)
      expect(leaves.map(leaf => leaf.offset)).to.deep.equal(wanted.length > 0 ? [start] : [])
      expect(error?.code).to.equal(due.fault?.code)
    }), 300))
}))
