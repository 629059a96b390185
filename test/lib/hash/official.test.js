// The official BLAKE3 vectors.
import { expect } from 'chai'
import { Hasher, deriveKey, hash, keyedHash } from '../../../lib/index.js'
import { OFFSETS, hex, placed } from '../../support/bytes.js'
import { counter } from '../../support/count.js'
import { CONTEXT, KEY, input } from '../../support/inputs.js'
import { ALL_KERNELS, forEachKernel } from '../../support/kernels.js'
import { official, skipAloud } from '../../support/vectors.js'

const vectors = official('blake3')

if (vectors === undefined) {
  skipAloud('official BLAKE3 vectors', 'blake3_test_vectors.json is not beside the checkout')
} else {
  forEachKernel(kernel => describe('official BLAKE3 vectors', () => {
    const count = counter('official blake3', kernel)

    it('use the key and the context that the other tests use', () => {
      expect(new TextDecoder().decode(KEY)).to.equal(vectors.key)
      expect(CONTEXT).to.equal(vectors.context_string)
    })

    for (const row of vectors.cases) {
      it(`${row.input_len} bytes`, () => {
        for (const offset of OFFSETS) {
          const bytes = placed(input({ gen: 'b3', len: row.input_len }), offset)
          const modes = [
            [row.hash, length => hash(bytes, length), new Hasher()],
            [row.keyed_hash, length => keyedHash(KEY, bytes, length), Hasher.keyed(KEY)],
            [row.derive_key, length => deriveKey(CONTEXT, bytes, length), Hasher.deriveKey(CONTEXT)]
          ]
          for (const [expected, once, hasher] of modes) {
            expect(hex(once(131))).to.equal(expected)
            expect(hex(once())).to.equal(expected.slice(0, 64))
            expect(hex(hasher.update(bytes).digest(131))).to.equal(expected)
            count()
          }
        }
      })
    }
  }), ALL_KERNELS)
}
