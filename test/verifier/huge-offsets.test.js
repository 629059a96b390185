// Chunk indices beyond 32 bits and sizes up to the largest: slices of blobs that exist only around the wanted bytes.
import { expect } from 'chai'
import { ChunkRanges } from '../../lib/index.js'
import { SliceVerifier } from '../../verifier/index.js'
import { concat, flipped, header, hex } from '../support/bytes.js'
import { feed, joined, ragged, whole } from '../support/feeding.js'
import { KEY } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { forge, keyed } from '../support/twin/index.js'

const MAX = Number.MAX_SAFE_INTEGER

const BLOBS = [
  { title: 'across 32 bits of the chunk number', size: 2 ** 43, first: 2 ** 32 - 3, count: 8 },
  { title: 'just beyond 32 bits', size: 2 ** 43 + 1, first: 2 ** 32, count: 37 },
  { title: 'across twice 32 bits', size: 3 * 2 ** 43, first: 2 ** 33 - 21, count: 50 },
  {
    title: 'across 32 bits, with whole subtrees on both sides', size: 2 ** 43 + 5000, first: 2 ** 32 - 200, count: 400
  },
  { title: 'at the end of the largest blob', size: MAX, first: 2 ** 43 - 5, count: 5 },
  {
    title: 'at 2 TiB, where the byte offset passes 41 bits and the chunk number 31',
    size: 2 ** 42,
    first: 2 ** 31 - 2,
    count: 4
  }
]

forEachKernel(() => describe('slices at huge offsets', () => {
  for (const { title, ...blob } of BLOBS) {
    for (const groupLog of [0, 4]) {
      for (const key of [undefined, KEY]) {
        it(`${title}, in groups of ${2 ** groupLog}${key ? ', keyed' : ''}`, () => {
          const { root, response, leaves } = forge({ ...blob, groupLog, mode: key && keyed(key) })
          const ranges = ChunkRanges.fromBoundaries([blob.first, blob.first + blob.count])
          const options = { cid: root, ranges, groupLog, key }
          const slice = concat([header(blob.size), response])
          for (const pieces of [whole(slice), ragged(slice, 3)]) {
            const verifier = new SliceVerifier(options)
            const got = feed(verifier, pieces)
            expect(got.error).to.equal(undefined)
            expect(got.leaves.map(leaf => [leaf.offset, hex(leaf.bytes)])).to.deep.equal(
              joined(leaves).map(leaf => [leaf.offset, hex(leaf.bytes)])
            )
            expect(verifier.sizeProven).to.equal(blob.size === MAX)
          }
          const { offset, bytes } = leaves.at(-1)
          const { error } = feed(new SliceVerifier(options), whole(flipped(slice, slice.length - 1)))
          expect(error).to.include({ code: 'BAO_LEAF_MISMATCH', start: offset, len: bytes.length })
        })
      }
    }
  }
}))
