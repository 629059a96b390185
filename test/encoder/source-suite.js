// The results for a blob are the same for every kind of source. sources.test.js and files.test.js run it.
import { expect } from 'chai'
import { hash, hashStream, keyedHash } from '../../lib/index.js'
import {
  createOutboard, createOutboardSync, encode, encodeSlice, encodeSliceSync, encodeStream
} from '../../encoder/index.js'
import { VerifiedReader } from '../../verifier/index.js'
import { hex, same } from '../support/bytes.js'
import { collect } from '../support/feeding.js'
import { KEY, input } from '../support/inputs.js'

/** The bytes of every source. */
export const BYTES = input({ gen: 'xs', seed: 41, len: 300_001 })
export const RANGES = { start: 100_000, end: 220_000 }

/** @param {Record<string, () => any>} sources  by name: read from start to end */
export function describeSequences (sources) {
  for (const [name, open] of Object.entries(sources)) {
    it(`${name}: outboard and hash`, async () => {
      for (const options of [{}, { groupLog: 0, order: 'post' }, { key: KEY }]) {
        const outboard = await createOutboard(open(), options)
        const expected = createOutboardSync(BYTES, options)
        expect(hex(outboard.root)).to.equal(hex(expected.root))
        expect(same(outboard.bytes, expected.bytes)).to.equal(true)
      }
      expect(hex(await hashStream(open()))).to.equal(hex(hash(BYTES)))
      expect(hex(await hashStream(open(), { key: KEY }))).to.equal(hex(keyedHash(KEY, BYTES)))
    })
  }
}

/** @param {Record<string, () => any>} sources  by name: read anywhere */
export function describeRandomAccess (sources) {
  for (const [name, open] of Object.entries(sources)) {
    it(`${name}: slices and reads`, async () => {
      for (const groupLog of [0, 4]) {
        const outboard = createOutboardSync(BYTES, { groupLog })
        const { root } = outboard
        expect(
          same(await collect(encodeSlice(open(), outboard, RANGES)), encodeSliceSync(BYTES, outboard, RANGES))
        ).to.equal(true)
        expect(same(await collect(encodeStream(open(), outboard)), encode(BYTES, { groupLog }).bytes)).to.equal(true)
        const reader = new VerifiedReader({ cid: root, source: open(), outboard })
        expect(
          same(await reader.read({ start: 100_000, end: 220_000 }), BYTES.subarray(100_000, 220_000))
        ).to.equal(true)
        await reader.close()
      }
    })
  }
}
