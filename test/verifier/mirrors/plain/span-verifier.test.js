// Compares spans with the bytes of the blob, and the faults that they find with those of slices.
import { expect } from 'chai'
import fc from 'fast-check'
import { createOutboardSync } from '../../../../encoder/index.js'
import { ChunkRanges, hash, keyedHash } from '../../../../lib/index.js'
import { SliceVerifier } from '../../../../verifier/index.js'
import { SpanVerifier } from '../../../../verifier/mirrors/plain/span-verifier.js'
import { sliceOfPlain } from '../../../../verifier/mirrors/plain/plain-slice.js'
import { same } from '../../../support/bytes.js'
import { errorOf, ragged } from '../../../support/feeding.js'
import { KEY, noise } from '../../../support/inputs.js'
import { boundaries, holds, sizes } from '../../../support/property.js'

const SIZE = 3 << 20
const content = noise(SIZE, 672)

/** Verifies pieces. Returns the leaves and the error. */
async function verified (verifier, pieces) {
  const leaves = []
  const keep = some => { for (const { offset, bytes } of some) leaves.push({ offset, bytes: bytes.slice() }) }
  try {
    for await (const piece of pieces) {
      keep(await verifier.write(piece))
      if (verifier.error) throw verifier.error
    }
    keep(await verifier.flush())
    await verifier.end()
    return { leaves }
  } catch ({ code, node, start, len, wanted, got, message }) {
    if (code === undefined) throw new Error(message)
    return { leaves, fault: { code, node, start, len, wanted, got } }
  }
}

/** The bytes of leaves, each at its place; others are 0. */
function placed (leaves, size) {
  const blob = new Uint8Array(size)
  let end = 0
  for (const { offset, bytes } of leaves) {
    expect(offset, 'leaves are in increasing order').to.be.at.least(end)
    blob.set(bytes, offset)
    end = offset + bytes.length
  }
  return blob
}

const some = {
  size: fc.oneof(sizes(200_000), sizes(SIZE)),
  groupLog: fc.constantFrom(0, 2, 4, 6),
  list: boundaries(SIZE),
  isKeyed: fc.boolean(),
  seed: fc.nat()
}

/** A blob, its outboard, and the pieces of some ranges of its groups. */
function prepared ({ size, groupLog, list, isKeyed, seed }) {
  const bytes = content.slice(0, size)
  const key = isKeyed ? KEY : undefined
  const outboard = createOutboardSync(bytes, { groupLog, key })
  const ranges = new ChunkRanges(list)
  const wanted = ranges.canonical(size).roundToGroups(groupLog)
  const piecesOf = async function * (blob) {
    for (const { start, end } of wanted.toBytes(size)) yield * ragged(blob.subarray(start, end), seed)
  }
  const root = key === undefined ? hash(bytes) : keyedHash(key, bytes)
  return { bytes, key, outboard, ranges, wanted, piecesOf, root }
}

/** The verdict on a slice of the same, wrong or right, parts. */
function verdictOnSlice ({ key, outboard, ranges, root }, blob, groupLog) {
  const pieces = async function * (start, end) { yield blob.subarray(start, end) }
  const plain = { size: outboard.size, outboard, pieces }
  const wanted = ranges.canonical(outboard.size).roundToGroups(groupLog)
  const verifier = new SliceVerifier({ cid: root, ranges: wanted, groupLog, key })
  return verified(verifier, sliceOfPlain(plain, { ranges: wanted, groupLog, key }, new AbortController().signal))
}

describe('spans', () => {
  it('are verified with an outboard, for blobs of any size, groups and ranges', () => {
    return holds('spans', fc.asyncProperty(fc.record(some), async what => {
      const { bytes, key, outboard, ranges, wanted, piecesOf, root } = prepared(what)
      const verifier = new SpanVerifier({ cid: root, outboard, ranges, key })
      const { leaves, fault } = await verified(verifier, piecesOf(bytes))
      expect(fault).to.equal(undefined)
      const expected = new Uint8Array(what.size)
      for (const { start, end } of wanted.toBytes(what.size)) expected.set(bytes.subarray(start, end), start)
      expect(same(placed(leaves, what.size), expected)).to.equal(true)
      expect(verifier.sizeProven).to.equal(wanted.has(Math.max(Math.ceil(what.size / 1024), 1) - 1))
      expect(verifier.done).to.equal(true)
      expect(verifier.bytesRead).to.equal(leaves.reduce((len, { bytes }) => len + bytes.length, 0))
    }), 60)
  })

  it('find the same first fault as slices, and pass on the same leaves before it', () => {
    const damage = fc.record({
      ...some,
      size: fc.nat(SIZE),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      where: fc.constantFrom('bytes', 'pairs', 'end')
    })
    return holds('faults of spans', fc.asyncProperty(damage, async ({ at, where, ...what }) => {
      const parts = prepared(what)
      const { bytes, key, outboard, ranges, piecesOf, root } = parts
      const target = where === 'pairs' ? outboard.bytes : bytes
      const place = Math.floor(at * target.length)
      const isCut = where === 'end' && place < target.length
      if (!isCut && place < target.length) target[place] ^= 1
      const blob = isCut ? bytes.subarray(0, place) : bytes
      const verifier = new SpanVerifier({ cid: root, outboard, ranges, key })
      const spans = await verified(verifier, piecesOf(blob))
      const slice = await verdictOnSlice(parts, blob, what.groupLog)
      expect(spans.fault).to.deep.equal(slice.fault)
      expect(same(placed(spans.leaves, what.size), placed(slice.leaves, what.size))).to.equal(true)
      if (spans.fault !== undefined) expect(verifier.error).to.include({ code: spans.fault.code })
    }), 60)
  })

  it('are not done when bytes are missing, or the outboard is wrong at the end', async () => {
    const bytes = content.subarray(0, 100_000)
    const outboard = createOutboardSync(bytes)
    const short = new SpanVerifier({ cid: outboard.cid, outboard })
    await short.write(bytes.subarray(0, 99_000))
    await short.flush()
    expect(short.done).to.equal(false)
    expect(await errorOf(short.end())).to.include({ code: 'BAO_TRUNCATED', start: 98_304 })
    outboard.bytes[0] ^= 1
    const wrong = new SpanVerifier({ cid: outboard.cid, outboard })
    expect(await errorOf(wrong.end())).to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect(wrong.error).to.include({ code: 'BAO_PARENT_MISMATCH' })
  })

  it('grow while bytes arrive quickly, and pass on the memory in which they came', async () => {
    const outboard = createOutboardSync(content)
    const verifier = new SpanVerifier({ cid: outboard.cid, outboard })
    const counts = []
    for (let at = 0; at < SIZE; at += 1 << 14) {
      const leaves = await verifier.write(content.subarray(at, at + (1 << 14)))
      expect(leaves.every(({ bytes }) => bytes.buffer === content.buffer)).to.equal(true)
      counts.push(leaves.length)
    }
    expect(counts[0]).to.equal(1)
    expect(counts.reduce((sum, count) => sum + count)).to.equal(SIZE >> 14)
    expect(Math.max(...counts)).to.be.at.most(64)
  })
})
