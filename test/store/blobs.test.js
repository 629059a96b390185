import { expect } from 'chai'
import { createOutboardSync, encodeSliceSync } from '../../encoder/index.js'
import { hex, same } from '../support/bytes.js'
import { collect, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { forEachPlace, onDisk } from '../support/store/stores.js'
import { describeStore } from '../support/store/suite.js'

const GROUP = 16384
const MIB = 1 << 20

describe('store: blobs', () => {
  forEachPlace(describeStore)

  it('one whose tree has three bands of pages', async () => {
    // 64 x 64 groups fill the second band; what lies behind has its own page there, and the root stands in the third.
    const bytes = noise(64 * MIB + 20_000, 72)
    const outboard = createOutboardSync(bytes)
    const place = await onDisk()
    try {
      const store = await place.open()
      const { cid } = await store.put(stream([bytes.subarray(0, 10_000_001), bytes.subarray(10_000_001)]))
      expect(hex(cid.multihash.digest)).to.equal(hex(outboard.root))
      let at = 0
      for await (const piece of store.get(cid)) {
        if (!same(piece, bytes.subarray(at, at + piece.length))) expect.fail(`bytes at ${at} are wrong`)
        at += piece.length
      }
      expect(at).to.equal(bytes.length)
      for (const start of [0, 32 * MIB - 1, 64 * MIB - 1, 64 * MIB, 64 * MIB + GROUP, bytes.length - 1]) {
        const range = { start, end: start + 2 }
        expect(same(await store.bytes(cid, range), bytes.subarray(start, start + 2)), `from ${start}`).to.equal(true)
        expect(same(await collect(store.slice(cid, range)), encodeSliceSync(bytes, outboard, range)), `slice from ${start}`).to.equal(true)
      }
    } finally {
      await place.remove()
    }
  })
})
