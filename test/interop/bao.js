// Compares baobox with the command `bao`: each reads what the other writes, and refuses what the other refuses. run.js
// starts this file; it is not called bao.test.js so that `npm test` does not.
import { createWriteStream, readFileSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { hash, hashStream } from '../../lib/index.js'
import {
  Outboard, createOutboard, createOutboardSync, encode, encodeSliceSync, encodeStream
} from '../../encoder/index.js'
import { SliceVerifier, VerifiedReader, decode, verifySlice, verifyStream } from '../../verifier/index.js'
import { concat, flipped, hex, same } from '../support/bytes.js'
import { someOf } from '../support/effort.js'
import { bytesOf, errorOf, feed, ragged } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { SIZES, damagedOf, rangesOf, spansOf, wantedOf } from './cases.js'
import { Bao } from './program.js'

/** @import { Span } from './program.js' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MOST_DAMAGES = 24
const MISMATCH = ['BAO_PARENT_MISMATCH', 'BAO_LEAF_MISMATCH']
const REFUSED = [...MISMATCH, 'BAO_TRUNCATED', 'BAO_SIZE_TOO_LARGE']

const bao = new Bao()
const whole = size => ({ start: 0, count: size })
let comparisons = 0

/**
 * Compares bytes of one side with those of the other, and counts the comparison.
 *
 * @param {Uint8Array} actual @param {Uint8Array} expected @param {string} what
 */
function expectSame (actual, expected, what) {
  expect(actual.length, `length of ${what}`).to.equal(expected.length)
  expect(same(actual, expected), what).to.equal(true)
  comparisons++
}

/**
 * Checks that bao could read something, and what it read.
 *
 * @param {import('./program.js').Result} result @param {Uint8Array} expected @param {string} what
 */
function expectRead ({ ok, bytes, err }, expected, what) {
  expect(ok, `${what}: ${err}`).to.equal(true)
  expectSame(bytes, expected, what)
}

/** A blob with the encodings that bao makes of it. @param {Uint8Array} blob */
function encodedByBao (blob) {
  const root = hash(blob)
  const path = bao.keep('blob', blob)
  return { blob, root, name: hex(root), path, combined: bao.encode(path), outboard: bao.outboard(path) }
}

after(() => {
  bao.remove()
  console.log(`  ${comparisons} comparisons, for which bao was started ${bao.runs} times`)
})

describe(`bao ${bao.version}`, () => {
  for (const size of SIZES) {
    describe(`${size} bytes`, () => {
      const blob = noise(size, size + 1)
      let theirs
      before(() => { theirs = encodedByBao(blob) })

      it('hash', () => {
        expect(hex(hash(blob))).to.equal(bao.hash(theirs.path))
        comparisons++
      })

      it('combined encodings', () => {
        const ours = encode(blob, { groupLog: 0 })
        expectSame(ours.bytes, theirs.combined, 'the encoding')
        expectSame(decode(theirs.combined, theirs.root, { groupLog: 0 }), blob, 'what we decode')
        expectRead(bao.decode(theirs.name, ours.bytes), blob, 'what bao decodes')
      })

      it('outboards', async () => {
        const ours = ['pre', 'post'].map(order => createOutboardSync(blob, { groupLog: 0, order }).toBao())
        for (const outboard of ours) expectSame(outboard, theirs.outboard, 'the outboard')
        const outboard = Outboard.fromBao(theirs.outboard, theirs.root)
        const reader = new VerifiedReader({ cid: theirs.root, source: blob, outboard })
        expectSame(await reader.read(), blob, 'what we read')
        expectRead(bao.decodeOutboard(theirs.name, theirs.path, bao.keep('ours', ours[0])), blob, 'what bao reads')
      })

      it('slices', () => {
        const encoded = bao.keep('combined', encode(blob, { groupLog: 0 }).bytes)
        const ours = createOutboardSync(blob, { groupLog: 0 })
        const outboard = bao.keep('outboard', ours.toBao())
        const outboards = [ours, Outboard.fromBao(theirs.outboard, theirs.root)]
        for (const span of someOf(spansOf(size))) {
          const what = `from ${span.start}, ${span.count} bytes`
          const slice = bao.slice(span, encoded)
          expectSame(bao.slice(span, theirs.path, outboard), slice, `bao's slice by outboard ${what}`)
          for (const outboard of outboards) {
            expectSame(encodeSliceSync(blob, outboard, rangesOf(span)), slice, `our slice ${what}`)
          }

          const wanted = wantedOf(blob, span)
          const leaves = verifySlice(slice, { cid: theirs.root, ranges: rangesOf(span), groupLog: 0 })
          expectSame(bytesOf(leaves), wanted, `what we verify ${what}`)
          const ourSlice = encodeSliceSync(blob, ours, rangesOf(span))
          expectRead(bao.decodeSlice(theirs.name, span, ourSlice), wanted, `what bao verifies ${what}`)
        }
      })

      it('reading from the middle', async () => {
        const encoded = bao.keep('combined', encode(blob, { groupLog: 0 }).bytes)
        const reader = new VerifiedReader({ cid: theirs.root, encoded: theirs.combined, groupLog: 0 })
        for (const span of someOf(spansOf(size).filter(({ count }) => count > 0))) {
          const what = `from ${span.start}, ${span.count} bytes`
          const read = await reader.read({ start: span.start, end: span.start + span.count })
          expectSame(read, wantedOf(blob, span), `what we read ${what}`)
          expectRead(bao.seek(theirs.name, encoded, span), wantedOf(blob, span), `what bao reads ${what}`)
        }
      })
    })
  }
})

describe('files, by bao and by us', () => {
  const filesIn = folder => readdirSync(`${ROOT}/${folder}`, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => `${entry.parentPath}/${entry.name}`)
  const sources = ['lib', 'encoder', 'verifier', 'docs'].flatMap(filesIn)

  it('of this project', () => {
    expect(sources.length).to.be.above(20)
    for (const path of someOf(sources)) {
      const theirs = encodedByBao(new Uint8Array(readFileSync(path)))
      const ours = encode(theirs.blob, { groupLog: 0 })
      expect(hex(ours.root), path).to.equal(bao.hash(path))
      expectSame(ours.bytes, theirs.combined, path)
      expectSame(createOutboardSync(theirs.blob, { groupLog: 0 }).toBao(), theirs.outboard, path)
      expectSame(decode(theirs.combined, theirs.root, { groupLog: 0 }), theirs.blob, path)
      expectRead(bao.decode(theirs.name, ours.bytes), theirs.blob, path)
    }
  })

  it('the program that runs this', async () => {
    const path = process.execPath
    const name = bao.hash(path)
    expect(hex(await hashStream(path))).to.equal(name)

    const outboard = await createOutboard(path, { groupLog: 0 })
    expect(hex(outboard.root)).to.equal(name)
    expectSame(outboard.toBao(), bao.outboard(path), 'the outboard')

    const combined = bao.encode(path)
    const ours = bao.path('program.bao')
    await pipeline(encodeStream(path, outboard), createWriteStream(ours))
    expectSame(new Uint8Array(readFileSync(ours)), combined, 'the encoding')

    const blob = new Uint8Array(readFileSync(path))
    expectRead(bao.decode(name, new Uint8Array(readFileSync(ours))), blob, 'what bao decodes')
    let verified = 0
    for await (const { offset, bytes } of verifyStream(combined, { cid: name, groupLog: 0 })) {
      expect(offset).to.equal(verified)
      expect(same(bytes, blob.subarray(offset, offset + bytes.length)), `at ${offset}`).to.equal(true)
      verified += bytes.length
    }
    expect(verified).to.equal(blob.length)
    comparisons++

    for (const span of [{ start: 12345678, count: 1000000 }, { start: blob.length - 1, count: 1 }]) {
      const slice = bao.slice(span, ours)
      expectSame(encodeSliceSync(blob, outboard, rangesOf(span)), slice, 'a slice')
      expectRead(bao.decodeSlice(name, span, slice), wantedOf(blob, span), 'what bao verifies')
    }
    await rm(ours)
  })
})

describe('damage, before bao and before us', () => {
  const DAMAGED_SIZES = [0, 1, 1024, 1025, 3072, 16385, 1048593]

  /**
   * Gives what may be damaged to both sides. They must agree, and must give out all bytes before the damage, unharmed.
   *
   * @param {ReturnType<typeof encodedByBao>} theirs @param {Span} span @param {import('./cases.js').Damaged} damaged
   */
  function expectAgreement ({ blob, root, name }, span, { what, bytes, chunksBefore }) {
    const isWhole = span.start === 0 && span.count === blob.length
    const { ok, bytes: given } = isWhole ? bao.decode(name, bytes) : bao.decodeSlice(name, span, bytes)
    const ranges = isWhole ? undefined : rangesOf(span)
    const fed = (/** @type {boolean} */ exact) =>
      feed(new SliceVerifier({ cid: root, ranges, groupLog: 0, exact }), ragged(bytes, 7))
    const { leaves, error } = fed(true)
    const ours = bytesOf(leaves)
    const wanted = wantedOf(blob, span)

    const answers = `bao ${ok ? 'accepts' : 'refuses'} it, baobox reports ${error?.code ?? 'no error'}`
    expect(error === undefined, `${what}: both agree (${answers})`).to.equal(ok)
    if (error !== undefined) expect(error.code, what).to.be.oneOf(REFUSED)
    expect(leaves.length, `${what}: one run of leaves`).to.be.at.most(1)
    for (const { offset, bytes } of leaves) {
      expectSame(bytes, blob.subarray(offset, offset + bytes.length), `${what}: the bytes of baobox are right`)
    }
    expectSame(given, wanted.subarray(0, given.length), `${what}: the bytes of bao are right`)
    expectSame(ours, given, `${what}: both give the same bytes`)
    if (chunksBefore === undefined) return
    expect(error, what).to.not.equal(undefined)
    const verified = bytesOf(fed(false).leaves)
    expect(verified.length, `${what}: all chunks before it, and none after it`).to.equal(chunksBefore * 1024)
  }

  for (const size of DAMAGED_SIZES) {
    it(`an encoding of ${size} bytes`, () => {
      const theirs = encodedByBao(noise(size, size + 2))
      const span = whole(size)
      const damages = [...damagedOf(theirs.combined, size, span, MOST_DAMAGES)]
      for (const damaged of someOf(damages)) expectAgreement(theirs, span, damaged)
      expectAgreement(theirs, span, { what: 'more behind it', bytes: concat([theirs.combined, noise(100)]) })
    })

    it(`slices of ${size} bytes`, () => {
      const theirs = encodedByBao(noise(size, size + 3))
      const outboard = createOutboardSync(theirs.blob, { groupLog: 0 })
      const spans = [[0, 0], [size >>> 1, 1025], [size - 1, 5], [size + 9, 1]]
        .map(([start, count]) => ({ start, count }))
        .filter(({ start }) => start >= 0)
      for (const span of spans) {
        const slice = encodeSliceSync(theirs.blob, outboard, rangesOf(span))
        const damages = [...damagedOf(slice, size, span, MOST_DAMAGES / 4)]
        for (const damaged of someOf(damages)) expectAgreement(theirs, span, damaged)
        expectAgreement(theirs, span, { what: 'more behind it', bytes: concat([slice, noise(100)]) })
        const later = { start: span.start + 1024, count: span.count }
        const longer = { start: span.start, count: span.count + 3000 }
        for (const other of [later, longer, whole(size)]) {
          expectAgreement(theirs, other, { what: `read as from ${other.start}, ${other.count} bytes`, bytes: slice })
        }
      }
    })

    it(`${size} bytes under another root`, () => {
      const theirs = encodedByBao(noise(size, size + 4))
      const root = flipped(theirs.root, 31, 0x80)
      expect(bao.decode(hex(root), theirs.combined).ok).to.equal(false)
      expect(
        () => decode(theirs.combined, root, { groupLog: 0 })
      ).to.throw().with.property('code').that.is.oneOf(MISMATCH)
      comparisons++
    })

    it(`an outboard of ${size} bytes, or the bytes beside it`, async () => {
      const theirs = encodedByBao(noise(size, size + 5))
      const { blob, root, name, outboard } = theirs
      const inOutboard = [0, 7, 8, 40, outboard.length - 1].filter(at => at < outboard.length)
      const inBlob = [0, size >>> 1, size - 1].filter(at => at >= 0 && at < size)
      for (const damaged of [
        ...inOutboard.map(at => ({ at, blob, outboard: flipped(outboard, at) })),
        ...inBlob.map(at => ({ at, blob: flipped(blob, at), outboard }))
      ]) {
        const what = `byte ${damaged.at}`
        const paths = [bao.keep('damaged blob', damaged.blob), bao.keep('damaged outboard', damaged.outboard)]
        expect(bao.decodeOutboard(name, ...paths).ok, what).to.equal(false)
        const error = await errorOf(async () =>
          new VerifiedReader(
            { cid: root, source: damaged.blob, outboard: Outboard.fromBao(damaged.outboard, root) }
          ).read())
        expect(error?.code, what).to.be.oneOf(REFUSED)
        comparisons++
      }
    })
  }
})
