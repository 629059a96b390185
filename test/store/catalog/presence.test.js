// The costs of finding out which chunks of one part of a blob are present.
import { expect } from 'chai'
import { ChunkRanges } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { noise } from '../../support/inputs.js'
import { countReads } from '../../support/store/inspect.js'
import { forEachPlace } from '../../support/store/stores.js'

const MIB = 1 << 20
const BYTES = noise(16 * MIB)
const OUTBOARD = createOutboardSync(BYTES)
/** The chunks that the store has: all except some in the fourth MiB and the last 128 KiB. */
const PRESENT = ChunkRanges.fromBoundaries([0, 3200, 3264, 16 * 1024 - 128])

describe('store: which chunks of a blob are present', () => forEachPlace(newPlace => {
  /** A store that has parts of the blob, and has not read its pages yet. */
  async function opened () {
    const place = await newPlace()
    const receiving = await place.open()
    await receiving.receive(OUTBOARD.root, encodeSliceSync(BYTES, OUTBOARD, PRESENT), PRESENT)
    await receiving.close()
    return place.open()
  }

  it('is read for the wanted chunks only, with the same result as for all', async () => {
    const store = await opened()
    const reads = countReads(store)
    for (const [boundaries, most] of [
      [[0, 1], 1], [[3199, 3201], 1], [[3200, 3264], 1], [[3000, 3200], 2], [[0, 1, 16_383, 16_384], 2],
      [[16_383], 1], [[1023, 1025], 2], [[0, 1, 3, 4, 5, 6, 900, 1024], 1], [[Number.MAX_SAFE_INTEGER], 1],
      [[3100, 5000], 2], [[0], 16], [[], 0]
    ]) {
      const wanted = ChunkRanges.fromBoundaries(boundaries)
      reads.count = 0
      const missing = await store.missing(OUTBOARD.cid, wanted)
      const groups = wanted.canonical(BYTES.length).roundToGroups(4)
      expect(missing.boundaries, boundaries.join()).to.deep.equal(groups.difference(PRESENT).boundaries)
      expect(reads.count, boundaries.join()).to.be.at.most(most)
    }
  })
}))
