// Makes and opens combined encodings: from every source, with and without a header, keyed, whole and in part.
import { expect } from 'chai'
import { ChunkRanges } from '../../lib/index.js'
import {
  createOutboardSync,
  createProof,
  createProofSync,
  encode,
  encodeSlice,
  encodeSliceSync,
  encodeStream,
  openEncoding,
  openOutboard
} from '../../encoder/index.js'
import { VerifiedReader, decode, validRanges } from '../../verifier/index.js'
import { concat, flipped, header, hex, same } from '../support/bytes.js'
import { collect, errorOf, stream } from '../support/feeding.js'
import { KEY, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { expectSlip, refusesAllButCounts, refusesAllButGroupLogs } from '../support/slips.js'

const SIZE = 700_001
const BYTES = noise(SIZE, 3)
const SIZES = [0, 1, 1025, 16 * 1024 + 1, 262_144, 300_001]
const RANGES = [
  ChunkRanges.all, { start: 300_000, end: 301_000 }, { start: 20_000, end: 20_001 },
  ChunkRanges.fromBoundaries([3, 9, 40, 41, 600]), ChunkRanges.last, ChunkRanges.none
]

const later = bytes => ({ size: bytes.length, read: async (start, end) => bytes.slice(start, end) })

/** The bytes that were given before an error, and the error. */
async function given (pieces) {
  const parts = []
  const error = await errorOf(async () => { for await (const piece of pieces) parts.push(piece) })
  return { bytes: concat(parts), error }
}

forEachKernel(() => describe('combined encodings', () => {
  it('are the same in one piece and piece by piece, from every random-access source', async () => {
    for (const size of SIZES) {
      const bytes = BYTES.subarray(0, size)
      for (const [groupLog, key] of [[0], [0, KEY], [4], [4, KEY], [7]]) {
        const outboard = createOutboardSync(bytes, { groupLog, order: key ? 'post' : 'pre', key })
        const paged = await openOutboard(new Blob([outboard.bytes]), outboard)
        for (const hasHeader of [true, false]) {
          const options = { header: hasHeader, key }
          const expected = encode(bytes, { groupLog, ...options })
          expect(hex(expected.root)).to.equal(hex(outboard.root))
          expect(expected.bytes.length).to.equal((hasHeader ? 8 : 0) + size + outboard.bytes.length)
          if (hasHeader) expect(same(decode(expected.bytes, outboard.root, { groupLog, key }), bytes)).to.equal(true)
          else {
            expect(
              same(concat([header(size), expected.bytes]), encode(bytes, { groupLog, key }).bytes)
            ).to.equal(true)
          }
          for (const source of [bytes, new Blob([bytes]), later(bytes)]) {
            for (const [pairs, verify] of [[outboard, true], [paged, true], [paged, false]]) {
              expect(
                same(await collect(encodeStream(source, pairs, { ...options, verify })), expected.bytes),
                `${size} bytes at ${groupLog}`
              ).to.equal(true)
            }
          }
        }
      }
    }
  })

  it('serve for slices, proofs and audits', async () => {
    for (const size of SIZES) {
      const bytes = BYTES.subarray(0, size)
      for (const [groupLog, key] of [[0], [2, KEY], [4], [10]]) {
        const outboard = createOutboardSync(bytes, { groupLog, key })
        for (const [hasHeader, encodedOf] of [
          [true, encoded => encoded], [false, encoded => later(encoded)],
          [true, encoded => new Blob([encoded, 'and more after it'])]
        ]) {
          const encoded = encode(bytes, { groupLog, key, header: hasHeader }).bytes
          const opened = await openEncoding(
            encodedOf(encoded), { cid: outboard.root, groupLog, size: hasHeader ? undefined : size }
          )
          expect(opened.source.size).to.equal(size)
          expect(opened.outboard).to.include({ size, groupLog, order: 'pre' })
          for (const ranges of RANGES) {
            const slice = await collect(encodeSlice(opened.source, opened.outboard, ranges, { key }))
            expect(
              same(slice, encodeSliceSync(bytes, outboard, ranges, { key })), `${size} bytes at ${groupLog}`
            ).to.equal(true)
          }
          const { boundaries } = await validRanges(opened.source, opened.outboard, undefined, { key })
          expect(boundaries).to.deep.equal(size === 0 ? [] : [0, Math.ceil(size / 1024)])
          const proof = await createProof(opened.source, opened.outboard, ChunkRanges.last, { key })
          expect(hex(proof.toBytes())).to.equal(
            hex(createProofSync(bytes, outboard, ChunkRanges.last, { key }).toBytes())
          )
          const reader = new VerifiedReader(
            { cid: outboard.root, source: opened.source, outboard: opened.outboard, key }
          )
          expect(same(await reader.read({ start: 10_000, end: 30_000 }), bytes.subarray(10_000, 30_000))).to.equal(true)
          await opened.close()
        }
      }
    }
  })

  it('with a changed byte give everything before the change, and name its place', async () => {
    for (const groupLog of [0, 4]) {
      const outboard = createOutboardSync(BYTES, { groupLog })
      const encoded = encode(BYTES, { groupLog }).bytes
      for (const at of [8, 50, 100_000, 400_003, encoded.length - 1]) {
        const { source, outboard: pairs } = await openEncoding(flipped(encoded, at), { cid: outboard.root, groupLog })
        const { bytes, error } = await given(encodeStream(source, pairs))
        expect(error?.code).to.be.oneOf(['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH'])
        expect(bytes.length).to.be.at.most(at)
        expect(same(bytes, encoded.subarray(0, bytes.length))).to.equal(true)
        expect(bytes.length).to.be.greaterThan(at - 64 - 1024 * 2 ** groupLog - 1)
      }
    }
  })

  it('that are cut off give the bytes that are present, and name those that are missing', async () => {
    for (const groupLog of [0, 4]) {
      const { root } = createOutboardSync(BYTES, { groupLog })
      const encoded = encode(BYTES, { groupLog }).bytes
      for (const len of [8, 71, 72, 5000, 100_000, 400_003, encoded.length - 1]) {
        const opened = await openEncoding(encoded.subarray(0, len), { cid: root, groupLog })
        const { bytes, error } = await given(encodeStream(opened.source, opened.outboard))
        expect(error).to.include({ code: 'BAO_TRUNCATED' })
        expect(error.node ?? error.start).to.be.a('number')
        expect(error.got).to.be.below(error.wanted)
        expect(same(bytes, encoded.subarray(0, bytes.length))).to.equal(true)
        expect(bytes.length).to.be.within(len - error.wanted, len)
      }
      expect(
        await errorOf(openEncoding(encoded.subarray(0, 7), { cid: root, groupLog }))
      ).to.include({ code: 'BAO_BAD_HEADER' })
    }
  })
}))

describe('encodings of blobs that are present in part', () => {
  const PRESENT = 400_000

  for (const groupLog of [0, 4]) {
    const groupLen = 1024 << groupLog
    const outboard = createOutboardSync(BYTES, { groupLog })
    const whole = encodeSliceSync(BYTES, outboard)
    const start = Math.floor(PRESENT / groupLen) * groupLen
    const place = { code: 'BAO_TRUNCATED', start, wanted: groupLen, got: PRESENT - start }

    it(`fail where the source ends, in groups of ${2 ** groupLog}`, async () => {
      const part = BYTES.subarray(0, PRESENT)
      const lies = { size: SIZE, read: (start, end) => part.subarray(start, end) }
      for (const source of [part, new Blob([part]), later(part), lies]) {
        for (const verify of [true, false]) {
          const { bytes, error } = await given(encodeStream(source, outboard, { verify }))
          expect(error).to.include(place)
          expect(same(bytes, whole.subarray(0, bytes.length))).to.equal(true)
          expect(bytes.length).to.be.greaterThan(PRESENT - groupLen)
        }
        // The present bytes are given.
        const ranges = { start: 0, end: start }
        expect(
          same(await collect(encodeSlice(source, outboard, ranges)), encodeSliceSync(BYTES, outboard, ranges))
        ).to.equal(true)
      }
      expect(await errorOf(() => encodeSliceSync(part, outboard))).to.include(place)
    })

    it(`fail where a hole begins, in groups of ${2 ** groupLog}`, async () => {
      // As in many stores: zeros where no bytes have arrived yet.
      const holed = BYTES.slice().fill(0, start, start + 100_000)
      for (const source of [holed, later(holed)]) {
        const { bytes, error } = await given(encodeStream(source, outboard))
        expect(error).to.include({ code: 'BAO_LEAF_MISMATCH', start, len: groupLen })
        expect(same(bytes, whole.subarray(0, bytes.length))).to.equal(true)
        const behind = { start: start + 200_000, end: SIZE }
        expect(
          same(await collect(encodeSlice(source, outboard, behind)), encodeSliceSync(BYTES, outboard, behind))
        ).to.equal(true)
      }
    })
  }
})

describe('openEncoding', () => {
  const { root, bytes: encoded } = encode(BYTES, { groupLog: 0 })

  it('reads only the pages that it needs, each once', async () => {
    const reads = []
    const source = {
      size: encoded.length, read: async (start, end) => { reads.push([start, end]); return encoded.slice(start, end) }
    }
    const total = () => reads.reduce((sum, [start, end]) => sum + end - start, 0)
    const opened = await openEncoding(source, { cid: root, groupLog: 0 })
    await collect(encodeSlice(opened.source, opened.outboard, { start: 350_000, end: 351_000 }))
    expect(total()).to.be.below(200_000)
    const whole = await openEncoding(source, { cid: root, groupLog: 0 })
    reads.length = 0
    await collect(encodeStream(whole.source, whole.outboard))
    expect(total()).to.be.within(encoded.length - 8, encoded.length + 20_000)
  })

  it('takes neither memory nor time for a wrong size', async () => {
    const huge = concat([header(Number.MAX_SAFE_INTEGER), encoded.subarray(8)])
    const opened = await openEncoding(huge, { cid: root, groupLog: 0 })
    expect(
      (await given(encodeStream(opened.source, opened.outboard))).error
    ).to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect((await validRanges(opened.source, opened.outboard)).isEmpty).to.equal(true)
    expect((await opened.source.read(0, opened.source.size)).length).to.be.lessThan(encoded.length)
    const tooLarge = concat([new Uint8Array(8).fill(255), encoded.subarray(8)])
    expect(await errorOf(openEncoding(tooLarge, { cid: root, groupLog: 0 }))).to.include({ code: 'BAO_SIZE_TOO_LARGE' })
  })

  it('refuses wrong arguments, and names them', async () => {
    await refusesAllButGroupLogs(groupLog => openEncoding(encoded, { cid: root, groupLog }))
    await refusesAllButCounts('size', size => openEncoding(encoded, { cid: root, size, groupLog: 0 }))
    for (const wrong of [undefined, null, 5, {}]) {
      await expectSlip(
        'cid', () => openEncoding(encoded, { cid: wrong, groupLog: 0 }), [TypeError]
      )
    }
    for (const source of [undefined, null, 5, {}, stream([])]) {
      await expectSlip(
        'source', () => openEncoding(source, { cid: root, groupLog: 0 }), [TypeError]
      )
    }
  })
})
