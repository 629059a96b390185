// The marks of a garbage collection: protected blobs, and sequences of hashes that protect their members.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { Marks } from '../../../store/gc/collector.js'
import { concat } from '../../support/bytes.js'
import { errorOf, oneByOne, ragged, stream } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { nameOf } from '../../support/store/inspect.js'

describe('store: Marks', () => {
  it('readSequences() reads sequences of hashes from pieces of any length', async () => {
    const members = Array.from({ length: 40 }, (_, i) => hash(noise(100 + i, 700 + i)))
    const bytes = concat(members)
    for (const pieces of [ragged(bytes, 3), oneByOne(bytes), [bytes, Uint8Array.of(1, 2)]]) {
      const marks = new Marks({
        catalog: { get: async () => ({ complete: true }), filterRecorded: async roots => roots },
        access: { present: () => stream(pieces) }
      })
      marks.keep(hash(bytes), 'hashseq')
      await marks.readSequences()
      expect(marks.size).to.equal(members.length + 1)
      for (const root of members) expect(marks.has(nameOf(root))).to.equal(true)
    }
  })

  it('readSequences() reads a sequence once, however often it arrived, and again when more arrived during the read',
    async () => {
      const root = hash(noise(64))
      let reads = 0
      const marks = new Marks({
        catalog: { get: async () => ({ complete: false }), filterRecorded: async roots => roots },
        access: {
          present: () => {
            if (++reads === 2) marks.arrived(root)
            return stream([noise(64)])
          }
        }
      })
      marks.keep(root, 'hashseq')
      await marks.readSequences()
      for (let i = 0; i < 100; i++) marks.arrived(root)
      await marks.readSequences()
      expect(reads).to.equal(3)
    })

  it('readSequences() that failed reads the sequence in the next call', async () => {
    const root = hash(noise(64))
    let reads = 0
    const marks = new Marks({
      catalog: { get: async () => ({ complete: true }), filterRecorded: async roots => roots },
      access: {
        present: () => {
          if (++reads === 1) throw new Error('not today')
          return stream([noise(64)])
        }
      }
    })
    marks.keep(root, 'hashseq')
    expect(await errorOf(marks.readSequences())).to.have.property('message', 'not today')
    await marks.readSequences()
    expect(marks.size).to.equal(3)
  })
})
