// Blobs are opened for libraries that read files at any offset.
import { expect } from 'chai'
import { VerifiedReader } from '../../../verifier/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { hash } from '../../../lib/index.js'
import { GROUP, MIB } from '../../support/constants.js'
import { same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectSlip } from '../../support/slips.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

describe('source()', () => {
  const newStore = newStores()

  it('reads a blob at any offset, into buffers of their own', async () => {
    const { store } = await newStore()
    for (const size of [0, 1, 1000, GROUP, 100_000, MIB + 5]) {
      const bytes = noise(size, 90 + size)
      const { cid } = await store.put(bytes)
      const reader = new VerifiedReader({ cid, source: bytes, outboard: createOutboardSync(bytes) })
      for (const source of [await store.source(cid), await reader.source()]) {
        expect(source.size).to.equal(size)
        const { read } = source
        const ranges = [[0, size], [3, 5], [size - 1, size + 9], [size, size + 1], [GROUP - 1, GROUP + 1]]
        for (const [start, end] of ranges) {
          if (start < 0) continue
          const part = await read(start, end)
          expect(same(part, bytes.subarray(start, end)), `${start} to ${end} of ${size}`).to.equal(true)
          expect(part.buffer.byteLength, `${start} to ${end} of ${size}`).to.equal(part.length)
        }
        const wrong = await errorOf(read(0, 1, AbortSignal.abort(7)))
        if (size > 0) expect(wrong).to.equal(7)
      }
    }
  })

  it('fetches what the store lacks', async () => {
    const bytes = noise(MIB, 91)
    const root = hash(bytes)
    const { store: other } = await newStore()
    await other.put(bytes)
    const { store } = await newStore({ supply: (cid, ranges) => other.slice(cid, ranges) })
    const { size, read } = await store.source(root)
    expect(size).to.equal(MIB)
    expect(same(await read(500_000, 500_100), bytes.subarray(500_000, 500_100))).to.equal(true)
    expect(await errorOf(store.source(hash(noise(5))))).to.include({ code: 'STORE_NOT_FOUND' })
  })

  it('opens a part of a blob if its size is proven', async () => {
    const { store } = await newStore()
    const bytes = noise(4 * GROUP, 92)
    const [head, tail] = [{ start: 0, end: GROUP }, { start: 3 * GROUP, end: 4 * GROUP }]
    await store.receive(hash(bytes), sliceOf(bytes, head), head)
    expect(await errorOf(store.source(hash(bytes)))).to.include({ code: 'STORE_MISSING' })
    await store.receive(hash(bytes), sliceOf(bytes, tail), tail)
    const { size, read } = await store.source(hash(bytes))
    expect(size).to.equal(bytes.length)
    expect((await read(3 * GROUP, size)).length).to.equal(GROUP)
    expect(await errorOf(read(GROUP, size))).to.include({ code: 'STORE_MISSING' })
    await expectSlip('size', () => store.source(hash(bytes), { size: 5 }), [TypeError])
  })
})
