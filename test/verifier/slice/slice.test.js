import { expect } from 'chai'
import { BaoError, ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { createOutboardSync, encode, encodeSliceSync } from '../../../encoder/index.js'
import { SliceVerifier, decode, verifySlice, verifyStream, verifyTransform } from '../../../verifier/index.js'
import { OFFSETS, concat, flipped, hex, placed, same, unhex } from '../../support/bytes.js'
import { counter } from '../../support/count.js'
import { waysInTurn } from '../../support/effort.js'
import {
  chosenRuns, collect, differenceOf, errorOf, feed, joined, oneByOne, provesSize, ragged, readable, stream, whole
} from '../../support/feeding.js'
import { KEY, input, noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'
import { Bao } from '../../support/twin/index.js'
import { span } from '../../support/spans.js'
import { integers, vectors } from '../../support/vectors.js'

const expectSame = (got, expected, message) => expect(differenceOf(got, expected), message).to.equal(undefined)

/** Splits of a slice. Only a short one is split into single bytes: a long one would test the same cases slowly. */
const splits = slice => [
  () => whole(slice), () => ragged(slice, 1), () => ragged(slice, slice.length),
  ...slice.length < 6000 ? [() => oneByOne(slice)] : []
]

const cutsInTurn = waysInTurn()
const placesInTurn = waysInTurn()

/** For every cut and every place in memory, a slice gives the wanted bytes, and the size only with the last chunk. */
function expectVerified (slice, options, expected, { size, isProven }) {
  for (const split of cutsInTurn(splits(slice))) {
    const pieces = split()
    const verifier = new SliceVerifier(options)
    const { leaves, error } = feed(verifier, pieces)
    expect(error, `in ${pieces.length} pieces`).to.equal(undefined)
    expectSame(leaves, expected, `in ${pieces.length} pieces`)
    expect(verifier.done).to.equal(true)
    expect(verifier.bytesWanted).to.equal(0)
    expect(verifier.size).to.equal(size)
    expect(verifier.sizeProven).to.equal(isProven)
  }
  for (const offset of placesInTurn(OFFSETS).filter(() => slice.length < 20_000)) {
    expectSame(joined(verifySlice(placed(slice, offset), options)), expected, `at offset ${offset}`)
  }
}

describe('a slice of another blob', () => {
  it('is told by the root of what came, if its first node is the root', () => {
    for (const [len, code] of [[0, 'BAO_LEAF_MISMATCH'], [700, 'BAO_LEAF_MISMATCH'], [9000, 'BAO_PARENT_MISMATCH'],
      [16_385, 'BAO_PARENT_MISMATCH'], [600_000, 'BAO_PARENT_MISMATCH']]) {
      for (const key of [undefined, KEY]) {
        const bytes = noise(len)
        const outboard = createOutboardSync(bytes, { key })
        const slice = encodeSliceSync(bytes, outboard, { start: 0, end: 10 }, { key })
        const cid = toCid(hash(noise(5)))
        for (const pieces of [whole(slice), ragged(slice, 1)]) {
          const verifier = new SliceVerifier({ cid, ranges: { start: 0, end: 10 }, key })
          const { error } = feed(verifier, pieces)
          expect(error).to.have.property('code', code)
          expect([`${error.cid}`, `${error.actual}`], `${len} bytes`).to.deep.equal([`${cid}`, `${outboard.cid}`])
          expect(error.message).to.include(`${outboard.cid}, not of ${cid}`)
        }
      }
    }
  })

  it('is not told by a root if the fault is below the root', () => {
    const bytes = noise(600_000)
    const slice = encode(bytes).bytes
    for (const at of [8 + 64 + 1, slice.length - 1]) {
      const { error } = feed(new SliceVerifier({ cid: hash(bytes) }), whole(flipped(slice, at)))
      expect(error.code).to.match(/^BAO_/)
      expect(error).to.not.have.any.keys('actual', 'cid')
    }
  })
})

forEachKernel(kernel => describe('verified slices', () => {
  const countSlices = counter('bao_slices', kernel)
  const countResponses = counter('responses', kernel)
  const countKeyed = counter('responses.keyed', kernel)

  for (const row of vectors.bao_slices) {
    it(`${row.input.len} bytes: bao's`, () => {
      const bytes = input(row.input)
      const root = unhex(row.hash)
      const outboard = createOutboardSync(bytes, { groupLog: 0 })
      for (const { start, len, slice: { b3 }, content_len: contentLen } of row.slices) {
        const ranges = span(start, len)
        const slice = encodeSliceSync(bytes, outboard, ranges)
        expect(hex(hash(slice))).to.equal(b3)
        const last = Math.ceil(Math.max(ranges.start + 1, ranges.end) / 1024)
        const boundaries = [Math.floor(ranges.start / 1024), last]
        const size = { size: bytes.length, isProven: provesSize(bytes.length, boundaries) }
        const content = bytes.subarray(ranges.start, ranges.end)
        expect(content).to.have.length(contentLen)
        const leaves = joined([{ offset: ranges.start, bytes: content }])
        expectVerified(slice, { cid: root, ranges, groupLog: 0 }, leaves, size)
        expectVerified(slice, { cid: root, ranges, groupLog: 0, exact: false }, chosenRuns(bytes, boundaries), size)
        countSlices()
      }
    })
  }

  for (const row of vectors.responses.cases) {
    for (const { chunk_log: groupLog, responses } of row.by_chunk_log) {
      it(`${row.input.len} bytes in groups of ${2 ** groupLog}: responses`, () => {
        const bytes = input(row.input)
        const root = unhex(row.root)
        const outboard = createOutboardSync(bytes, { groupLog })
        for (const { q, b3, data_len: dataLen } of responses) {
          const ranges = ChunkRanges.fromBoundaries(integers(q))
          const response = encodeSliceSync(bytes, outboard, ranges, { header: false })
          expect(hex(hash(response))).to.equal(b3)
          const expected = chosenRuns(bytes, integers(q))
          expect(expected.reduce((sum, leaf) => sum + leaf.bytes.length, 0)).to.equal(dataLen)
          expectVerified(response, { cid: root, ranges, groupLog, size: bytes.length }, expected,
            { size: bytes.length, isProven: provesSize(bytes.length, integers(q)) })
          countResponses()
        }
      })
    }
  }

  it('keyed responses', () => {
    const { input: name, root, responses } = vectors.responses.keyed
    const bytes = input(name)
    for (const { chunk_log: groupLog, q, b3 } of responses) {
      const ranges = ChunkRanges.fromBoundaries(integers(q))
      const options = { cid: unhex(root), ranges, groupLog, size: bytes.length, key: KEY }
      const response = encodeSliceSync(
        bytes, createOutboardSync(bytes, { groupLog, key: KEY }), ranges, { header: false, key: KEY }
      )
      expect(hex(hash(response))).to.equal(b3)
      expectVerified(
        response,
        options,
        chosenRuns(bytes, integers(q)),
        { size: bytes.length, isProven: provesSize(bytes.length, integers(q)) }
      )
      countKeyed()
    }
  })
}))

forEachKernel(() => describe('the verifier', () => {
  const bytes = input({ gen: 'xs', seed: 9, len: 70_001 })

  it('asks for the header, then for the bytes of the slice', () => {
    const ranges = ChunkRanges.fromBoundaries([1, 2])
    const outboard = createOutboardSync(bytes, { groupLog: 0 })
    const slice = encodeSliceSync(bytes, outboard, ranges)
    const verifier = new SliceVerifier({ cid: outboard.root, ranges, groupLog: 0 })
    let at = 0
    let asked = 0
    while (!verifier.done) {
      const wanted = verifier.bytesWanted
      expect(wanted).to.be.greaterThan(0)
      expect(at + wanted, 'it never asks for bytes after the slice').to.be.at.most(slice.length)
      verifier.write(slice.subarray(at, at + wanted))
      at += wanted
      asked++
    }
    verifier.end()
    expect(at).to.equal(slice.length)
    expect(asked).to.be.greaterThan(1)
  })

  it('gives leaves that do not change, and does not change the input', () => {
    const { root, bytes: combined } = encode(bytes, { groupLog: 4 })
    const lent = combined.slice()
    const leaves = verifySlice(lent, { cid: root, ranges: ChunkRanges.all, groupLog: 4 })
    expect(same(lent, combined)).to.equal(true)
    lent.fill(0)
    hash(lent)
    verifySlice(combined, { cid: root, ranges: ChunkRanges.all, groupLog: 4 })
    expect(same(concat(leaves.map(leaf => leaf.bytes)), bytes)).to.equal(true)
  })

  it('gives leaves that do not change when all pieces arrive in the same buffer', () => {
    const { root, bytes: combined } = encode(bytes, { groupLog: 4 })
    for (const len of [100, 5000, 20_000]) {
      const buffer = new Uint8Array(len)
      const verifier = new SliceVerifier({ cid: root, ranges: ChunkRanges.all, groupLog: 4 })
      const leaves = []
      for (let at = 0; at < combined.length; at += len) {
        const piece = combined.subarray(at, at + len)
        buffer.set(piece)
        leaves.push(...verifier.write(buffer.subarray(0, piece.length)))
        buffer.fill(0xff)
      }
      verifier.end()
      expect(same(concat(leaves.map(leaf => leaf.bytes)), bytes), `by ${len}`).to.equal(true)
    }
  })

  it('ignores bytes after the slice', () => {
    const { root, bytes: combined } = encode(bytes, { groupLog: 0 })
    const longer = concat([combined, new Uint8Array(100).fill(7)])
    for (const split of splits(longer)) {
      const verifier = new SliceVerifier({ cid: root, ranges: ChunkRanges.all, groupLog: 0 })
      expectSame(feed(verifier, split()).leaves, [{ offset: 0, bytes }])
    }
    expect(same(decode(longer, root, { groupLog: 0 }), bytes)).to.equal(true)
  })

  it('needs no bytes for an empty query, even with a wrong root', () => {
    const verifier = new SliceVerifier({ cid: new Uint8Array(32), ranges: ChunkRanges.none, groupLog: 0, size: 5000 })
    expect(verifier.done).to.equal(true)
    expect(feed(verifier, [])).to.deep.equal({ leaves: [] })
    expect(verifier.sizeProven).to.equal(false)
  })

  it('checks the empty blob against the root', () => {
    const { root, bytes: combined } = encode(new Uint8Array(0), { groupLog: 0 })
    expect(combined).to.have.length(8)
    expect(decode(combined, root, { groupLog: 0 })).to.have.length(0)
    for (const pieces of [whole(combined), oneByOne(combined)]) {
      const wrong = new SliceVerifier({ cid: hash(Uint8Array.of(1)), ranges: ChunkRanges.all, groupLog: 0 })
      const { leaves, error } = feed(wrong, pieces)
      expect(leaves).to.deep.equal([])
      expect(error).to.include({ code: 'BAO_LEAF_MISMATCH', start: 0, len: 0 })
      expect(wrong.sizeProven).to.equal(false)
    }
    expect(
      () => decode(combined, hash(Uint8Array.of(1)), { groupLog: 0 })
    ).to.throw().with.property('code', 'BAO_LEAF_MISMATCH')
  })

  it('always reports a slice that was cut', () => {
    for (const groupLog of [0, 4]) {
      const { root, bytes: combined } = encode(bytes, { groupLog })
      const options = { cid: root, ranges: ChunkRanges.all, groupLog }
      for (const to of [0, 7, 8, 71, 72, 40_000, combined.length - 1]) {
        const cut = combined.subarray(0, to)
        expect(
          () => verifySlice(cut, options), `verifySlice at ${to}`
        ).to.throw().with.property('code', 'BAO_TRUNCATED')
        expect(
          () => decode(cut, root, { groupLog }), `decode at ${to}`
        ).to.throw().with.property('code', 'BAO_TRUNCATED')
      }
    }
  })

  it('always reports a changed byte', () => {
    for (const groupLog of [0, 4]) {
      const { root, bytes: combined } = encode(bytes, { groupLog })
      const options = { cid: root, ranges: ChunkRanges.all, groupLog }
      for (const at of [7, 8, 71, 500, 40_000, combined.length - 1]) {
        const changed = flipped(combined, at)
        expect(() => verifySlice(changed, options), `verifySlice at ${at}`).to.throw().with.property('code')
        expect(() => decode(changed, root, { groupLog }), `decode at ${at}`).to.throw().with.property('code')
      }
    }
  })

  it('throws the same fault again at every call after the first', () => {
    const { root, bytes: combined } = encode(bytes, { groupLog: 0 })
    for (const spoilt of [flipped(combined, 30_000), combined.subarray(0, 30_000)]) {
      const verifier = new SliceVerifier({ cid: root, ranges: ChunkRanges.all, groupLog: 0 })
      const { error } = feed(verifier, whole(spoilt))
      expect(error).to.be.instanceOf(BaoError)
      expect(() => verifier.write(combined)).to.throw().that.equals(error)
      expect(() => verifier.end()).to.throw().that.equals(error)
      expect(verifier.done).to.equal(false)
      expect(verifier.sizeProven).to.equal(false)
    }
  })

  it('decodes combined encodings in groups of any size, keyed or not', () => {
    for (const len of [0, 1, 1024, 1025, 16384, 16385, 70_001]) {
      for (const groupLog of [0, 1, 4]) {
        for (const key of [undefined, KEY]) {
          const part = bytes.subarray(0, len)
          const { root, bytes: combined } = encode(part, { groupLog, key })
          expect(same(decode(combined, root, { groupLog, key }), part)).to.equal(true)
        }
      }
    }
  })

  it('reads streams of pieces', async () => {
    for (const groupLog of [0, 4]) {
      const { root, bytes: combined } = encode(bytes, { groupLog })
      const leaves = []
      for await (
        const leaf of verifyStream(stream(ragged(combined, 3)), { cid: root, ranges: ChunkRanges.all, groupLog })
      ) leaves.push(leaf)
      expectSame(joined(leaves), [{ offset: 0, bytes }])
    }
  })

  it('gives every leaf with its last byte, if told to', () => {
    const part = bytes.subarray(0, 20_001)
    for (const groupLog of [0, 2, 4]) {
      const { root, bytes: combined } = encode(part, { groupLog })
      const verifier = new SliceVerifier({ cid: root, groupLog, release: 'leaf' })
      expect(verifier.write(combined.subarray(0, 8))).to.deep.equal([])
      for (const { name, bytes: item } of Bao.items(Bao.grow(part), groupLog, [0])) {
        for (const byte of oneByOne(item.subarray(0, -1))) {
          if (verifier.write(byte).length > 0) expect.fail(`${name} is given before its end`)
        }
        const leaves = verifier.write(item.subarray(-1))
        expect(
          leaves.map(({ offset, bytes }) => `L${offset}+${bytes.length}`)
        ).to.deep.equal(name[0] === 'L' ? [name] : [])
      }
      expect(verifier.done).to.equal(true)
      expect(verifier.bytesRead).to.equal(combined.length)

      for (const seed of [1, 2, 3]) {
        const { leaves, error } = feed(
          new SliceVerifier({ cid: root, groupLog, release: 'leaf' }), ragged(combined, seed)
        )
        expect(error).to.equal(undefined)
        expectSame(leaves, [{ offset: 0, bytes: part }])
      }
    }
  })

  it('verifies groups that are larger than the arena', () => {
    const long = input({ gen: 'xs', seed: 10, len: 600_001 })
    for (const len of [150_000, 262_144, 262_145, 600_001]) {
      const part = long.subarray(0, len)
      for (const key of [undefined, KEY]) {
        const { root, bytes: combined } = encode(part, { groupLog: 8, key })
        for (const pieces of [whole(combined), ragged(combined, 8)]) {
          const verifier = new SliceVerifier({ cid: root, groupLog: 8, key })
          const { leaves, error } = feed(verifier, pieces)
          expect(error).to.equal(undefined)
          expectSame(leaves, [{ offset: 0, bytes: part }])
          expect(verifier.sizeProven).to.equal(true)
        }
        for (const at of [combined.length - 1, combined.length - 140_000]) {
          const { leaves, error } = feed(
            new SliceVerifier({ cid: root, groupLog: 8, key }), ragged(flipped(combined, at), 9)
          )
          const start = Math.floor((at - combined.length + len) / 262_144) * 262_144
          expect(error).to.include({ code: 'BAO_LEAF_MISMATCH', start, len: Math.min(262_144, len - start) })
          expectSame(leaves, start === 0 ? [] : [{ offset: 0, bytes: part.subarray(0, start) }])
        }
      }
    }
  })

  it('transforms a stream of an encoding into the blob', async () => {
    const { root, bytes: combined } = encode(bytes, { groupLog: 0 })
    const through = pieces => collect(readable(pieces).pipeThrough(verifyTransform({ cid: root, groupLog: 0 })))
    expect(same(await through(ragged(combined, 6)), bytes)).to.equal(true)
    expect(await errorOf(through(ragged(flipped(combined, 50_000), 6)))).to.include({ code: 'BAO_LEAF_MISMATCH' })
    expect(await errorOf(through(ragged(combined.subarray(0, 50_000), 6)))).to.include({ code: 'BAO_TRUNCATED' })
  })

  it('throws from a stream that is wrong or ends early, after everything before the fault', async () => {
    const { root, bytes: combined } = encode(bytes, { groupLog: 0 })
    for (const [spoilt, code] of [
      [flipped(combined, 60_000), 'BAO_LEAF_MISMATCH'], [combined.subarray(0, 60_000), 'BAO_TRUNCATED']
    ]) {
      const leaves = []
      const error = await errorOf(async () => {
        for await (const leaf of verifyStream(stream(ragged(spoilt, 4)), { cid: root, groupLog: 0 })) leaves.push(leaf)
      })
      expect(error).to.include({ code })
      const [run] = joined(leaves)
      expect(run.bytes.length).to.be.greaterThan(50_000)
      expect(same(run.bytes, bytes.subarray(0, run.bytes.length))).to.equal(true)
    }
  })
}))
