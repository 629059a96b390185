// A blob whose tree is so high that its pages are in three bands.
import { expect } from 'chai'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { hex, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { collect, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { onDisk } from '../../support/store/stores.js'

describe('store: a tree with three bands of pages', () => {
  it('get(), bytes() and slice() find every part of it', async () => {
    // 64 x 64 groups fill a page of the second band. Later groups have another page there; the root is in the third.
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
        const slice = await collect(store.slice(cid, range))
        expect(same(slice, encodeSliceSync(bytes, outboard, range)), `slice from ${start}`).to.equal(true)
      }
    } finally {
      await place.remove()
    }
  })
})
