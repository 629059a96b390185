// Compares slices made of bytes and an outboard in different places with those that the encoder cuts.
import { expect } from 'chai'
import fc from 'fast-check'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { ChunkRanges } from '../../../../lib/index.js'
import { sliceOfPlain } from '../../../../verifier/mirrors/plain/plain-slice.js'
import { same } from '../../../support/bytes.js'
import { collect, ragged } from '../../../support/feeding.js'
import { KEY, noise } from '../../../support/inputs.js'
import { holds, sizes } from '../../../support/property.js'

const SIZE = 300_000
const content = noise(SIZE, 671)

/** A blob whose bytes come in pieces of random lengths. It records the requested spans. */
const plain = (bytes, outboard, seed = 1, asked = []) => ({
  size: outboard.size,
  outboard,
  async * pieces (start, end) {
    asked.push([start, end])
    yield * ragged(bytes.subarray(start, end), seed)
  }
})

const slice = async (blob, what) => collect(await array(sliceOfPlain(blob, what, new AbortController().signal)))

async function array (pieces) {
  const all = []
  for await (const piece of pieces) all.push(piece.slice())
  return all
}

describe('a slice of plain bytes and an outboard', () => {
  it('equals that of the encoder, for outboards and slices of any groups and any ranges', () => {
    const logs = fc.integer({ min: 0, max: 8 })
    const list = fc.uniqueArray(fc.nat(330), { maxLength: 8 })
    return holds('plain slices', fc.asyncProperty(sizes(SIZE), logs, logs, list, fc.boolean(), fc.nat(), async (
      size, outboardLog, groupLog, list, isKeyed, seed
    ) => {
      const bytes = content.subarray(0, size)
      const key = isKeyed ? KEY : undefined
      const ranges = ChunkRanges.fromBoundaries(list.sort((a, b) => a - b))
      const outboard = createOutboardSync(bytes, { groupLog: outboardLog, key })
      const expected = encodeSliceSync(bytes, createOutboardSync(bytes, { groupLog, key }), ranges, { key })
      const got = await slice(plain(bytes, outboard, seed), { ranges, groupLog, key })
      expect(same(got, expected)).to.equal(true)
    }), 100)
  })

  it('reads each contiguous range as one stream, in whole groups of the outboard', async () => {
    const asked = []
    const ranges = ChunkRanges.fromBytes(20_000, 20_001).union(ChunkRanges.fromBytes(100_000, 200_000))
    await slice(plain(content, createOutboardSync(content, { groupLog: 6 }), 1, asked), { ranges, groupLog: 4 })
    expect(asked).to.deep.equal([[0, 262_144]])
    asked.length = 0
    await slice(plain(content, createOutboardSync(content), 1, asked), { ranges, groupLog: 4 })
    expect(asked).to.deep.equal([[16_384, 32_768], [98_304, 212_992]])
  })

  it('ends where bytes or pairs end', async () => {
    const outboard = createOutboardSync(content)
    const whole = encodeSliceSync(content, outboard)
    const short = await slice(plain(content.subarray(0, 100_000), outboard), { ranges: ChunkRanges.all, groupLog: 4 })
    expect(short.length).to.be.within(100_000, 101_500)
    expect(same(short, whole.subarray(0, short.length))).to.equal(true)
    const poor = { root: outboard.root, size: SIZE, groupLog: 4, copyPair: () => false }
    expect(await slice(plain(content, poor), { ranges: ChunkRanges.all, groupLog: 4 })).to.have.length(8)
  })
})
