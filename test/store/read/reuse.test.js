// Reads with `reuse`: pieces are borrowed until the next piece, and their memory is reused.
import { expect } from 'chai'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { concat, same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { forEachPlace } from '../../support/store/stores.js'

const BYTES = noise(6 * MIB + 5)
const SLICE = encodeSliceSync(BYTES, createOutboardSync(BYTES))

const READINGS = {
  'get()': { expected: BYTES, read: (store, cid, reuse) => store.get(cid, undefined, { reuse }) },
  'get() without verification': {
    expected: BYTES,
    read: (store, cid, reuse) => store.get(cid, undefined, { verify: false, reuse })
  },
  'slice()': { expected: SLICE, read: (store, cid, reuse) => store.slice(cid, undefined, { reuse }) }
}

describe('store: reads with reuse', () => {
  forEachPlace(newPlace => {
    let store, cid
    beforeEach(async () => {
      store = await newPlace().then(place => place.open())
      cid = (await store.put(BYTES)).cid
    })

    for (const [name, { expected, read }] of Object.entries(READINGS)) {
      it(`${name} gives right pieces and reuses their memory, also after callers have written to it`, async () => {
        const memories = new Set()
        let [at, pieces] = [0, 0]
        for await (const piece of read(store, cid, true)) {
          if (!same(piece, expected.subarray(at, at + piece.length))) expect.fail(`bytes at ${at} are wrong`)
          at += piece.length
          pieces++
          memories.add(piece.buffer)
          piece.fill(0xff)
        }
        expect(at).to.equal(expected.length)
        expect(memories.size).to.be.below(pieces / 2)
      })

      it(`${name} gives pieces that own their memory where reuse is false`, async () => {
        const kept = []
        for await (const piece of read(store, cid, false)) kept.push(piece)
        expect(same(concat(kept), expected)).to.equal(true)
        expect(new Set(kept.map(({ buffer }) => buffer)).size).to.be.above(3)
      })
    }

    it('bytes() and stream() give memory that nothing writes to later', async () => {
      expect(same(await store.bytes(cid, undefined, { reuse: true }), BYTES)).to.equal(true)
      expect(same(concat(await listed(store.stream(cid, undefined, { reuse: true }))), BYTES)).to.equal(true)
    })
  })
})
