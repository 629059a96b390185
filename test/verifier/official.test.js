// The official bao vectors: every section, and every corruption point in them.
import { expect } from 'chai'
import { hash } from '../../lib/index.js'
import { Outboard, createOutboardSync, encode, encodeSliceSync } from '../../encoder/index.js'
import { SliceVerifier, VerifiedReader, decode, verifySlice } from '../../verifier/index.js'
import { flipped, hex, same, unhex } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { bytesOf, errorOf, feed, oneByOne, ragged, whole } from '../support/feeding.js'
import { input } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { span } from '../support/spans.js'
import { official, skipAloud } from '../support/vectors.js'

const vectors = official('bao')
const blob = ({ input_len: len }) => input({ gen: 'bao', len })
const wrong = root => flipped(root, 0)

const MISMATCH = ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH']
const ANY = [...MISMATCH, 'BAO_TRUNCATED', 'BAO_SIZE_TOO_LARGE']

const readAll = ({ cid, source, outboard }) => errorOf(async () =>
  new VerifiedReader({ cid, source, outboard: Outboard.fromBao(outboard, cid) }).read({ start: 0 }))

function expectRefused (bytes, options, codes) {
  for (const pieces of [whole(bytes), ragged(bytes, 5), oneByOne(bytes)]) {
    expect(feed(new SliceVerifier(options), pieces).error?.code).to.be.oneOf(codes)
  }
}

if (vectors === undefined) {
  skipAloud('official bao vectors', 'bao_test_vectors.json is not beside the checkout')
} else {
  forEachKernel(kernel => describe('official bao vectors', () => {
    const count = counter('official bao', kernel)

    it('hash', () => {
      for (const row of vectors.hash) {
        expect(hex(hash(blob(row)))).to.equal(row.bao_hash)
        count()
      }
    })

    for (const row of vectors.encode) {
      it(`encode ${row.input_len}`, () => {
        const { root, bytes } = encode(blob(row), { groupLog: 0 })
        expect(hex(root)).to.equal(row.bao_hash)
        expect(bytes).to.have.length(row.output_len)
        expect(hex(hash(bytes))).to.equal(row.encoded_blake3)
        expect(same(decode(bytes, root, { groupLog: 0 }), blob(row))).to.equal(true)

        const options = { cid: root, ranges: span(0, Number.MAX_SAFE_INTEGER), groupLog: 0 }
        expectRefused(bytes, { ...options, cid: wrong(root) }, MISMATCH)
        expect(
          () => decode(bytes, wrong(root), { groupLog: 0 })
        ).to.throw().with.property('code').that.is.oneOf(MISMATCH)
        count()
        for (const offset of row.corruptions) {
          expectRefused(flipped(bytes, offset), options, ANY)
          expect(
            () => decode(flipped(bytes, offset), root, { groupLog: 0 })
          ).to.throw().with.property('code').that.is.oneOf(ANY)
          count()
        }
      })
    }

    for (const row of vectors.outboard) {
      it(`outboard ${row.input_len}`, async () => {
        const source = blob(row)
        const outboard = createOutboardSync(source, { groupLog: 0 })
        const root = unhex(row.bao_hash)
        const encoded = outboard.toBao()
        expect(hex(outboard.root)).to.equal(row.bao_hash)
        expect(encoded).to.have.length(row.output_len)
        expect(hex(hash(encoded))).to.equal(row.encoded_blake3)
        expect(await readAll({ cid: root, source, outboard: encoded })).to.equal(undefined)
        expect((await readAll({ cid: wrong(root), source, outboard: encoded })).code).to.be.oneOf(MISMATCH)
        count()
        for (const offset of row.outboard_corruptions) {
          const error = await readAll({ cid: root, source, outboard: flipped(encoded, offset) })
          expect(error?.code, `outboard byte ${offset}`).to.be.oneOf([...ANY, 'BAO_BAD_HEADER'])
          count()
        }
        for (const offset of row.input_corruptions) {
          const error = await readAll({ cid: root, source: flipped(source, offset), outboard: encoded })
          expect(error?.code, `input byte ${offset}`).to.be.oneOf(MISMATCH)
          count()
        }
      })
    }

    for (const row of vectors.seek) {
      it(`seek ${row.input_len}`, async () => {
        const bytes = blob(row)
        const outboard = createOutboardSync(bytes, { groupLog: 0 })
        const { root, bytes: encoded } = encode(bytes, { groupLog: 0 })
        const readers = [
          () => new VerifiedReader({ cid: root, encoded, groupLog: 0 }),
          () => new VerifiedReader({ cid: root, source: bytes, outboard })
        ]
        const offsets = row.seek_offsets
        const there = [
          ...offsets, ...offsets.toReversed(), ...offsets.flatMap((offset, i) => [offset, offsets.at(-1 - i)])
        ]
        for (const reader of readers) {
          for (const offset of offsets) {
            expect(
              same(await reader().read({ start: offset }), bytes.subarray(offset)), `from ${offset}`
            ).to.equal(true)
            count()
          }
          const seeking = reader()
          for (const offset of there) {
            expect(
              same(
                await seeking.read({ start: offset, end: offset + 100 }), bytes.subarray(offset, offset + 100)
              ), `at ${offset}`
            ).to.equal(true)
            count()
          }
          expect(await seeking.size()).to.equal(bytes.length)
        }
      })
    }

    for (const row of vectors.slice) {
      it(`slice ${row.input_len}`, () => {
        const bytes = blob(row)
        const root = unhex(row.bao_hash)
        const outboards = ['pre', 'post'].map(order => createOutboardSync(bytes, { groupLog: 0, order }))
        for (const { start, len, output_len: outputLen, output_blake3: b3, corruptions } of row.slices) {
          const ranges = span(start, len)
          const options = { cid: root, ranges, groupLog: 0 }
          const slice = encodeSliceSync(bytes, outboards[0], ranges)
          expect(slice).to.have.length(outputLen)
          expect(hex(hash(slice))).to.equal(b3)
          expect(same(encodeSliceSync(bytes, outboards[1], ranges), slice)).to.equal(true)
          expect(same(bytesOf(verifySlice(slice, options)), bytes.subarray(start, start + len))).to.equal(true)
          expectRefused(slice, { ...options, cid: wrong(root) }, MISMATCH)
          count()
          for (const offset of corruptions) {
            expectRefused(flipped(slice, offset), options, ANY)
            count()
          }
        }
      })
    }
  }))
}
