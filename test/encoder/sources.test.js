// Bytes from sources of every kind give the same outboards, slices and hashes.
import { expect } from 'chai'
import { hashStream } from '../../lib/index.js'
import { createOutboard, createOutboardSync, encodeSlice, encodeSliceSync } from '../../encoder/index.js'
import { same } from '../support/bytes.js'
import { collect, errorOf, ragged, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { BYTES, RANGES, describeRandomAccess, describeSequences } from './source-suite.js'

describe('sources', () => {
  const RANDOM_ACCESS = {
    bytes: () => BYTES,
    'a Blob': () => new Blob([BYTES]),
    'an object that reads': () => ({ size: BYTES.length, read: (start, end) => BYTES.subarray(start, end) }),
    'an object that reads later': () => ({ size: BYTES.length, read: async (start, end) => BYTES.slice(start, end) })
  }
  const SEQUENCES = {
    ...RANDOM_ACCESS,
    'an async iterable': () => stream(ragged(BYTES, 2)),
    'an array of pieces': () => ragged(BYTES, 2),
    'a ReadableStream': () => new Blob([BYTES]).stream()
  }

  describeSequences(SEQUENCES)
  describeRandomAccess(RANDOM_ACCESS)

  it('that fill memory get the same memory again, and are checked like others', async () => {
    const bytes = noise(9 * 2 ** 20 + 5)
    const outboard = createOutboardSync(bytes)
    const buffers = new Set()
    /** @param {(part: Uint8Array, buffer: Uint8Array) => number} fill */
    const filled = fill => ({
      size: bytes.length,
      overlaps: true,
      read: (start, end) => bytes.slice(start, end),
      async readInto (buffer, start) {
        buffers.add(buffer.buffer)
        return fill(bytes.subarray(start, start + buffer.length), buffer)
      }
    })
    const right = filled((part, buffer) => { buffer.set(part); return part.length })
    expect(same(await collect(encodeSlice(right, outboard)), encodeSliceSync(bytes, outboard))).to.equal(true)
    expect(buffers.size).to.be.within(1, 4)
    const ended = filled((part, buffer) => { buffer.set(part); return 0 })
    expect(await errorOf(collect(encodeSlice(ended, outboard)))).to.include({ code: 'BAO_TRUNCATED' })
    for (const wrong of [-1, 2 ** 20 + 1, 1.5, NaN, '5', undefined]) {
      const error = await errorOf(collect(encodeSlice(filled(() => wrong), outboard, undefined, { verify: false })))
      expect(error.message, `${wrong}`).to.include('source.readInto')
    }
  })

  it('are closed after an abort', async () => {
    const signal = AbortSignal.abort()
    const outboard = createOutboardSync(BYTES)
    for (const action of [
      () => createOutboard(BYTES, { signal }),
      () => hashStream(stream(ragged(BYTES, 2)), { signal }),
      () => collect(encodeSlice(BYTES, outboard, RANGES, { signal }))
    ]) expect(await errorOf(action)).to.include({ name: 'AbortError' })
  })

  it('are closed when they are not read to the end', async () => {
    let isClosed = false
    async function * pieces () {
      try {
        yield BYTES.subarray(0, 1000)
        yield 'not bytes'
      } finally {
        isClosed = true
      }
    }
    expect(await errorOf(createOutboard(pieces()))).to.be.instanceOf(TypeError)
    expect(isClosed).to.equal(true)
  })

  it('report progress', async () => {
    const told = []
    await createOutboard(
      stream([BYTES.subarray(0, 1000), BYTES.subarray(1000)]), { onProgress: event => told.push(event) }
    )
    expect(told.map(event => event.detail.done)).to.deep.equal([1000, BYTES.length])
    expect(told.every(event => event.type === 'baobox:outboard')).to.equal(true)
  })
})
