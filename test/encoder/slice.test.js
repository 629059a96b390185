import { expect } from 'chai'
import { ChunkRanges, hash } from '../../lib/index.js'
import { Outboard, createOutboardSync, encodeSlice, encodeSliceSync, sliceLen } from '../../encoder/index.js'
import { OFFSETS, concat, flipped, header, hex, placed, same } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { waysInTurn } from '../support/effort.js'
import { collect, errorOf } from '../support/feeding.js'
import { KEY, input, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { span } from '../support/spans.js'
import { Bao } from '../support/twin/index.js'
import { integers, vectors } from '../support/vectors.js'
import { verifySlice } from '../../verifier/index.js'

const bothOrders = (bytes, options) => ['pre', 'post'].map(order => createOutboardSync(bytes, { ...options, order }))

const ordersInTurn = waysInTurn()

/** Every way to cut a slice gives the same bytes: sync or async, checked or not, from either outboard. */
async function expectSlice (bytes, outboards, ranges, options, { len, b3, hex: expected }) {
  const first = encodeSliceSync(bytes, outboards[0], ranges, options)
  expect(first).to.have.length(len)
  expect(sliceLen(outboards[0], ranges, options)).to.equal(len)
  if (expected !== undefined) expect(hex(first)).to.equal(expected)
  expect(hex(hash(first))).to.equal(b3)
  for (const outboard of ordersInTurn(outboards)) {
    for (const verify of [true, false]) {
      const way = `${outboard.order}-order, verify ${verify}`
      expect(
        same(encodeSliceSync(bytes, outboard, ranges, { ...options, verify }), first), `sync, ${way}`
      ).to.equal(true)
      expect(
        same(await collect(encodeSlice(bytes, outboard, ranges, { ...options, verify })), first), `async, ${way}`
      ).to.equal(true)
    }
  }
}

forEachKernel(kernel => describe('slices', () => {
  const countSlices = counter('bao_slices', kernel)
  const countResponses = counter('responses', kernel)
  const countKeyed = counter('responses.keyed', kernel)

  for (const row of vectors.bao_slices) {
    it(`${row.input.len} bytes: bao's`, async () => {
      const bytes = input(row.input)
      const outboards = bothOrders(bytes, { groupLog: 0 })
      for (const { start, len, slice } of row.slices) {
        await expectSlice(bytes, outboards, span(start, len), {}, slice)
        countSlices()
      }
    })
  }

  for (const row of vectors.responses.cases) {
    for (const { chunk_log: groupLog, responses } of row.by_chunk_log) {
      it(`${row.input.len} bytes in groups of ${2 ** groupLog}: responses`, async () => {
        const bytes = input(row.input)
        const outboards = bothOrders(bytes, { groupLog })
        for (const { q, ...expected } of responses) {
          await expectSlice(bytes, outboards, ChunkRanges.fromBoundaries(integers(q)), { header: false }, expected)
          countResponses()
        }
      })
    }
  }

  it('equals the keyed responses of the vectors', async () => {
    const { input: name, root, responses } = vectors.responses.keyed
    const bytes = input(name)
    for (const { chunk_log: groupLog, q, ...expected } of responses) {
      const outboards = bothOrders(bytes, { groupLog, key: KEY })
      expect(hex(outboards[0].root)).to.equal(root)
      await expectSlice(
        bytes, outboards, ChunkRanges.fromBoundaries(integers(q)), { header: false, key: KEY }, expected
      )
      countKeyed()
    }
  })
}))

forEachKernel(() => describe('encodeSlice', () => {
  const bytes = input({ gen: 'xs', seed: 5, len: 100_000 })

  it('is the same wherever its input begins in memory', () => {
    for (const groupLog of [0, 4]) {
      const outboard = createOutboardSync(bytes, { groupLog })
      const expected = encodeSliceSync(bytes, outboard, { start: 20_000, end: 70_000 })
      for (const offset of OFFSETS) {
        const moved = placed(bytes, offset)
        expect(same(encodeSliceSync(moved, outboard, { start: 20_000, end: 70_000 }), expected)).to.equal(true)
      }
    }
  })

  it('writes into memory of the caller, and only the bytes of the slice', () => {
    const bytes = input({ gen: 'xs', len: 300000 })
    const outboard = createOutboardSync(bytes, { groupLog: 0 })
    const range = { start: 1000, end: 250000 }
    const expected = encodeSliceSync(bytes, outboard, range)
    const memory = new Uint8Array(expected.length + 50).fill(7)
    const slice = encodeSliceSync(bytes, outboard, range, { into: memory.subarray(3) })
    expect([slice.buffer, slice.byteOffset]).to.deep.equal([memory.buffer, 3])
    expect(same(slice, expected)).to.equal(true)
    expect(memory.subarray(3 + expected.length).every(byte => byte === 7), 'the bytes after it').to.equal(true)
    expect(
      () => encodeSliceSync(bytes, outboard, range, { into: memory.subarray(51) })
    ).to.throw(RangeError, /"into" expected at least/)
    expect(() => encodeSliceSync(bytes, outboard, range, { into: 'here' })).to.throw(TypeError)
  })

  it('has a length that is known before the blob is read', () => {
    expect(sliceLen({ size: 0, groupLog: 0 })).to.equal(8)
    expect(
      sliceLen({ size: 2 ** 40, groupLog: 4 }, { start: 2 ** 39, end: 2 ** 39 + 1 }, { header: false })
    ).to.equal(26 * 64 + 4 * 64 + 1024)
    // With a walk this would take hours.
    expect(
      sliceLen({ size: 2 ** 52, groupLog: 0 }, undefined, { header: false })
    ).to.equal(2 ** 52 + 64 * (2 ** 42 - 1))
    expect(() => sliceLen({ size: -1, groupLog: 0 })).to.throw(RangeError)
    expect(() => sliceLen({ size: 1, groupLog: 17 })).to.throw(RangeError)
  })

  it('is the same with and without validation, for all ends of batches', async () => {
    // A little of many long groups: the sender's windows are short there, and out of step with those of
    // the checker from then on.
    for (const [groupLog, count] of [[5, 83], [5, 101], [6, 50]]) {
      const groupLen = 1024 << groupLog
      const long = noise((count + 40) * groupLen, groupLog)
      const outboard = createOutboardSync(long, { groupLog })
      let ranges = ChunkRanges.none
      for (let i = 0; i < count; i++) ranges = ranges.union(ChunkRanges.fromBytes(i * groupLen, i * groupLen + 1000))
      for (let i = count; i < count + 40; i += 2) {
        ranges = ranges.union(
          ChunkRanges.fromBytes(i * groupLen, (i + 1) * groupLen)
        )
      }
      const trusted = encodeSliceSync(long, outboard, ranges, { verify: false })
      expect(same(encodeSliceSync(long, outboard, ranges), trusted)).to.equal(true)
      expect(same(await collect(encodeSlice(long, outboard, ranges)), trusted)).to.equal(true)
    }
  })

  it('is not made while verified bytes are borrowed', () => {
    const outboard = createOutboardSync(bytes)
    const slice = encodeSliceSync(bytes, outboard)
    for (const verify of [true, false]) {
      const onLeaf = () => encodeSliceSync(bytes, outboard, undefined, { verify })
      expect(() => verifySlice(slice, { cid: outboard.root, onLeaf })).to.throw('borrowed')
    }
    expect(same(encodeSliceSync(bytes, outboard), slice)).to.equal(true)
  })

  it('begins with the size by default', () => {
    const outboard = createOutboardSync(bytes)
    const ranges = ChunkRanges.fromBoundaries([3, 5, 90])
    const bare = encodeSliceSync(bytes, outboard, ranges, { header: false })
    expect(hex(encodeSliceSync(bytes, outboard, ranges))).to.equal(hex(concat([header(bytes.length), bare])))
    expect(hex(encodeSliceSync(bytes, outboard, ChunkRanges.none))).to.equal(hex(header(bytes.length)))
    expect(encodeSliceSync(bytes, outboard, ChunkRanges.none, { header: false })).to.have.length(0)
  })

  it('has at least one byte, and the last chunk for a range beyond the end', () => {
    const outboard = createOutboardSync(bytes, { groupLog: 0 })
    const cut = (start, end) => hex(encodeSliceSync(bytes, outboard, { start, end }))
    const last = hex(encodeSliceSync(bytes, outboard, ChunkRanges.last))
    expect(cut(5000, 5000)).to.equal(cut(5000, 5001))
    expect(() => cut(5000, 4999)).to.throw(RangeError, '"end"')
    for (const start of [
      bytes.length - 1, bytes.length, 2 ** 40, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER
    ]) {
      expect(cut(start, start), `at ${start}`).to.equal(last)
      expect(cut(start, Infinity), `at ${start}`).to.equal(last)
      expect(cut(start, Number.MAX_SAFE_INTEGER), `at ${start}`).to.equal(last)
    }
  })

  it('refuses to send data or pairs that do not match, and names the place', async () => {
    const badBytes = flipped(bytes, 50_000)
    for (const groupLog of [0, 4]) {
      const outboard = createOutboardSync(bytes, { groupLog })
      const group = 1024 * 2 ** groupLog
      const start = Math.floor(50_000 / group) * group
      for (const error of [
        await errorOf(() => encodeSliceSync(badBytes, outboard, ChunkRanges.all)),
        await errorOf(() => collect(encodeSlice(badBytes, outboard, ChunkRanges.all)))
      ]) {
        expect(error).to.include({ code: 'BAO_LEAF_MISMATCH', start, len: group })
      }

      const badOutboard = Outboard.from({ ...outboard, cid: outboard.root, bytes: flipped(outboard.bytes, 40) })
      for (const error of [
        await errorOf(() => encodeSliceSync(bytes, badOutboard, ChunkRanges.all)),
        await errorOf(() => collect(encodeSlice(bytes, badOutboard, ChunkRanges.all)))
      ]) {
        expect(error).to.include({ code: 'BAO_PARENT_MISMATCH', node: 63 })
      }
    }
  })

  it('has sent everything before the place that does not match, and nothing after it', async () => {
    const long = input({ gen: 'xs', seed: 6, len: 400_000 })
    for (const at of [50_000, 350_000]) {
      for (const groupLog of [0, 2, 4]) {
        const outboard = createOutboardSync(long, { groupLog })
        const items = Bao.items(Bao.grow(long), groupLog, [0])
        const bad = items.findIndex(({ name }) => name === `L${at - at % (1024 << groupLog)}+${1024 << groupLog}`)
        const sent = []
        const error = await errorOf(async () => {
          for await (const part of encodeSlice(flipped(long, at), outboard, ChunkRanges.all)) sent.push(part)
        })
        expect(error).to.include({ code: 'BAO_LEAF_MISMATCH' })
        expect(
          same(concat(sent), concat([header(long.length), ...items.slice(0, bad).map(item => item.bytes)]))
        ).to.equal(true)
      }
    }
  })

  it('refuses the wrong key', async () => {
    const outboard = createOutboardSync(bytes, { key: KEY })
    const other = KEY.map(byte => byte ^ 1)
    const error = await errorOf(() => encodeSliceSync(bytes, outboard, { start: 0, end: 1 }, { key: other }))
    expect(error).to.include({ code: 'BAO_PARENT_MISMATCH', node: 63 })
  })
}))
