import { expect } from 'chai'
import fc from 'fast-check'
import { BaoError, ChunkRanges } from '../../lib/index.js'
import {
  Outboard, appendOutboard, createOutboardSync, encodeSlice, encodeSliceSync, openOutboard, writeOutboard
} from '../../encoder/index.js'
import { concat, flipped, header, hex, same } from '../support/bytes.js'
import { collect, errorOf, stream } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { boundaries, cutAt, cuts, groupLogs, holds, keys, sizes } from '../support/property.js'
import { MemorySink } from '../support/sinks.js'

const SIZE = 300_000
const BYTES = noise(SIZE, 31)
const orders = fc.constantFrom('pre', 'post')

forEachKernel(kernel => describe('property: outboards', () => {
  it('an outboard written from any source equals the one in memory, and serves the same slices', () => holds(
    `outboards: written (${kernel})`, fc.asyncProperty(
      sizes(SIZE), groupLogs, orders, keys, fc.boolean(), fc.boolean(), cuts, boundaries(SIZE),
      async (size, groupLog, order, key, hasHeader, isStream, places, list) => {
        const bytes = BYTES.subarray(0, size)
        const expected = createOutboardSync(bytes, { groupLog, order, key })
        const sink = new MemorySink()
        const source = isStream ? stream(cutAt(bytes, places)) : bytes
        const info = await writeOutboard(source, sink, { groupLog, order, key, header: hasHeader })
        expect(same(sink.bytes, concat([hasHeader ? header(size) : new Uint8Array(0), expected.bytes]))).to.equal(true)
        const outboard = await openOutboard(sink.bytes, info)
        const ranges = ChunkRanges.fromBoundaries(list)
        const slice = await collect(encodeSlice(bytes, outboard, ranges, { key }))
        expect(same(slice, encodeSliceSync(bytes, expected, ranges, { key }))).to.equal(true)
      }), 60))

  it('an outboard that is flipped twice is the same', () => holds(`outboards: turned (${kernel})`, fc.property(
    sizes(SIZE), groupLogs, orders,
    (size, groupLog, order) => {
      const bytes = BYTES.subarray(0, size)
      const outboard = createOutboardSync(bytes, { groupLog, order })
      const other = createOutboardSync(bytes, { groupLog, order: order === 'pre' ? 'post' : 'pre' })
      expect(same(outboard.flip().bytes, other.bytes)).to.equal(true)
      expect(same(outboard.flip().flip().bytes, outboard.bytes)).to.equal(true)
    }), 60))

  // A changed outboard is refused before anything is written, or the change has no effect on the root.
  it('an outboard that is appended to is that of the whole blob', () => holds(
    `outboards: appended (${kernel})`, fc.asyncProperty(
      sizes(SIZE), sizes(SIZE), groupLogs, keys, fc.option(fc.nat(), { nil: undefined }),
      async (a, b, groupLog, key, flip) => {
        const [from, to] = [Math.min(a, b), Math.max(a, b)]
        const old = createOutboardSync(BYTES.subarray(0, from), { groupLog, order: 'post', key })
        const grown = BYTES.subarray(0, to)
        const expected = createOutboardSync(grown, { groupLog, order: 'post', key })
        const lies = flip !== undefined && old.bytes.length > 0
        const bytes = lies ? flipped(old.bytes, flip % old.bytes.length) : old.bytes
        const sink = new MemorySink({ bytes })
        const info = { cid: old.root, size: from, groupLog, order: 'post', header: false }
        for (const append of [
          () => appendOutboard(grown, Outboard.from({ ...old, cid: old.root, bytes }), { key }),
          async () => {
            const { root } = await writeOutboard(grown, sink, { append: info, key })
            return { root, bytes: sink.bytes }
          }
        ]) {
          const result = []
          const error = await errorOf(async () => result.push(await append()))
          if (error) {
            expect(lies, error.stack).to.equal(true)
            expect(error).to.be.instanceOf(BaoError)
            expect(sink.writes).to.have.length(0)
            continue
          }
          expect(hex(result[0].root)).to.equal(hex(expected.root))
          if (!lies) expect(same(result[0].bytes, expected.bytes)).to.equal(true)
        }
      }), 100))
}))
