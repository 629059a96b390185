// Readers that read ahead stop at an abort, and pass the signal to the source.
import { expect } from 'chai'
import { readAhead, readInOrder } from '../../../lib/source/read-pieces.js'
import { Prefetcher } from '../../../lib/source/prefetch.js'
import { MIB } from '../../support/constants.js'
import { errorOf } from '../../support/feeding.js'

const SIZE = 8 * MIB

/** A source that records its reads. */
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
  readAhead: (source, signal) => readAhead(source, 0, SIZE, signal),
  readInOrder: (source, signal) => readInOrder(source, 0, SIZE, signal),
  async * Prefetcher (source, signal) {
    const reader = new Prefetcher(source, [{ start: 0, end: SIZE }], signal)
    for (let at = 0; at < SIZE; at += MIB) {
      reader.reclaimBuffers()
      yield await reader.read(at, at + MIB)
    }
  }
}

describe('reading ahead', () => {
  for (const [what, pieces] of Object.entries(WAYS)) {
    it(`passes the signal to every read, and begins none after an abort: ${what}`, async () => {
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

    it(`reads nothing when the signal has aborted before it begins: ${what}`, async () => {
      const { reads, source } = watched()
      const reason = new Error('enough')
      const error = await errorOf(async () => {
        for await (const piece of pieces(source, AbortSignal.abort(reason))) expect.fail(`gave ${piece.length} bytes`)
      })
      expect(error).to.equal(reason)
      expect(reads).to.have.length(0)
    })
  }
})
