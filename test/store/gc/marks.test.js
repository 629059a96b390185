// The marks of a garbage collection: which blobs are protected, and the sequences of hashes that protect others.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { Marks } from '../../../store/gc/collector.js'
import { concat } from '../../support/bytes.js'
import { oneByOne, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { nameOf } from '../../support/store/inspect.js'

describe('store: Marks', () => {
  it('settle() reads sequences of hashes however their bytes are cut into pieces', async () => {
    const members = Array.from({ length: 40 }, (_, i) => hash(noise(100 + i, 700 + i)))
    const bytes = concat(members)
    for (const pieces of [ragged(bytes, 3), oneByOne(bytes), [bytes, Uint8Array.of(1, 2)]]) {
      const marks = new Marks({
        catalog: { get: async () => ({ complete: true }), filterRecorded: async roots => roots },
        reader: { present: () => stream(pieces) }
      })
      marks.keep(hash(bytes), 'hashseq')
      await marks.settle()
      expect(marks.size).to.equal(members.length + 1)
      for (const root of members) expect(marks.has(nameOf(root))).to.equal(true)
    }
  })
})
