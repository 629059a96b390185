// Exports of iroh-blobs: the size, then the response in groups of 16 chunks.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../encoder/index.js'
import { SliceVerifier } from '../../verifier/index.js'
import { hex, same, unhex } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { chosenRuns, feed, provesSize, ragged } from '../support/feeding.js'
import { input } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { integers, irohVectors } from '../support/vectors.js'

forEachKernel(kernel => describe('iroh-blobs exports', () => {
  const count = counter('iroh exports', kernel)

  for (const { input: name, hash: root, exports } of irohVectors.blobs) {
    it(`${name.len} bytes`, () => {
      const bytes = input(name)
      const outboard = createOutboardSync(bytes)
      expect(hex(outboard.root)).to.equal(root)

      for (const { q, len, b3 } of exports) {
        const boundaries = integers(q)
        const ranges = ChunkRanges.fromBoundaries(boundaries)
        const file = encodeSliceSync(bytes, outboard, ranges)
        expect(file).to.have.length(len)
        expect(hex(hash(file))).to.equal(b3)

        const verifier = new SliceVerifier({ cid: unhex(root), ranges, groupLog: 4 })
        const { leaves, error } = feed(verifier, ragged(file, len))
        expect(error).to.equal(undefined)
        const expected = chosenRuns(bytes, boundaries)
        expect(leaves.map(leaf => leaf.offset)).to.deep.equal(expected.map(leaf => leaf.offset))
        expect(leaves.every((leaf, i) => same(leaf.bytes, expected[i].bytes))).to.equal(true)
        expect(verifier.sizeProven).to.equal(provesSize(bytes.length, boundaries))
        count()
      }
    })
  }
}))
