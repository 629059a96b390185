// Who reads ahead reads no more once he is called off, and tells his source.
import { expect } from 'chai'
import { ahead, inTurn } from '../../../lib/source/async-util.js'
import { SpanReader } from '../../../lib/source/prefetch.js'
import { errorOf } from '../../support/feeding.js'

const MIB = 1 << 20
const SIZE = 8 * MIB

/** A source that says what it was asked for. */
function watched () {
  const reads = []
  const read = async (start, end, signal) => {
    reads.push({ start, signal })
    await new Promise(resolve => setTimeout(resolve))
    return new Uint8Array(end - start)
  }
  return { reads, source: { size: SIZE, overlaps: true, read } }
}

const WAYS = {
  ahead: (source, signal) => ahead(source, 0, SIZE, signal),
  inTurn: (source, signal) => inTurn(source, 0, SIZE, signal),
  async * SpanReader (source, signal) {
    const reader = new SpanReader(source, [[0, SIZE]], signal)
    for (let at = 0; at < SIZE; at += MIB) {
      reader.begin()
      yield await reader.read(at, at + MIB)
    }
  }
}

describe('reading ahead', () => {
  for (const [what, pieces] of Object.entries(WAYS)) {
    it(`gives every read the signal, and begins none after it: ${what}`, async () => {
      const { reads, source } = watched()
      const controller = new AbortController()
      const reason = new Error('enough')
      let count = 0
      let before
      const error = await errorOf(async () => {
        for await (const piece of pieces(source, controller.signal)) {
          expect(piece).to.have.length(MIB)
          if (++count < 3) continue
          before = reads.length
          controller.abort(reason)
        }
      })
      expect(error).to.equal(reason)
      await new Promise(resolve => setTimeout(resolve, 5))
      expect(count).to.equal(3)
      expect(reads).to.have.length(before)
      for (const { signal } of reads) expect(signal).to.equal(controller.signal)
    })

    it(`reads nothing when it is called off before it begins: ${what}`, async () => {
      const { reads, source } = watched()
      const reason = new Error('enough')
      expect(await errorOf(async () => { for await (const piece of pieces(source, AbortSignal.abort(reason))) expect.fail(`gave ${piece.length} bytes`) })).to.equal(reason)
      expect(reads).to.have.length(0)
    })
  }
})
