import { expect } from 'chai'
import { ChunkRanges } from '../../lib/index.js'
import {
  Outboard, createOutboard, createOutboardSync, createProofSync, encode, encodeSlice, encodeSliceSync
} from '../../encoder/index.js'
import { Walk } from '../../lib/tree/walk.js'
import { collect, errorOf, stream } from '../support/feeding.js'
import { KEY, input } from '../support/inputs.js'
import {
  IMPOSSIBLE_NUMBERS, expectSlip, refusesAllButBytes, refusesAllButCounts, refusesAllButGroupLogs, refusesAllButKeys
} from '../support/slips.js'

const BYTES = input({ gen: 'b3', len: 70_000 })
const outboard = createOutboardSync(BYTES)

describe('bad input to outboards', () => {
  it('values that are not bytes are refused', async () => {
    await refusesAllButBytes('bytes', value => createOutboardSync(value))
    await refusesAllButBytes('bytes', value => Outboard.fromBao(value, outboard.root))
    await refusesAllButBytes('bytes', value => Outboard.from({ ...outboard, cid: outboard.root, bytes: value }))
    await expectSlip(
      'bytes', () => Outboard.from({ ...outboard, cid: outboard.root, bytes: outboard.bytes.subarray(64) })
    )
  })

  it('values that are not a source are refused', async () => {
    // A string is a path here, so it is allowed.
    for (const value of [undefined, null, 5, true, {}, () => {}]) {
      await expectSlip(
        'source', () => createOutboard(value), [TypeError]
      )
    }
    for (const piece of ['abc', 5, [1], new ArrayBuffer(4)]) {
      expect(await errorOf(createOutboard(stream([piece])))).to.be.instanceOf(TypeError)
    }
  })

  it('wrong options are refused', async () => {
    for (const create of [options => createOutboardSync(BYTES, options), options => createOutboard(BYTES, options)]) {
      await refusesAllButGroupLogs(groupLog => create({ groupLog }))
      await refusesAllButKeys(key => create({ key }))
      for (const order of [null, 5, 'in', 'PRE', '']) await expectSlip('order', () => create({ order }))
    }
    await refusesAllButGroupLogs(groupLog => Outboard.from({ ...outboard, cid: outboard.root, groupLog }))
    await refusesAllButCounts('size', size => Outboard.from({ ...outboard, cid: outboard.root, size }))
    for (const order of [null, 5, 'in']) {
      await expectSlip(
        'order', () => Outboard.from({ ...outboard, cid: outboard.root, order })
      )
    }
    for (const root of [undefined, null, 5, {}]) {
      await expectSlip('cid', () => Outboard.from({ ...outboard, cid: root }), [TypeError])
      await expectSlip('cid', () => Outboard.fromBao(new Uint8Array(8), root), [TypeError])
    }
  })

  it('values that are not a node are refused', () => refusesAllButCounts('node', node => outboard.pair(node)))

  it('outboards of larger groups have no form of bao', () => {
    expect(() => outboard.toBao()).to.throw(RangeError)
  })
})

describe('bad input to encodings', () => {
  it('values that are not bytes are refused', async () => {
    await refusesAllButBytes('bytes', value => encode(value, { groupLog: 0 }))
    await refusesAllButBytes('bytes', value => encodeSliceSync(value, outboard, ChunkRanges.all))
  })

  it('values that are not a source are refused', async () => {
    for (const value of [undefined, null, 5, {}, stream([BYTES])]) {
      await expectSlip('source', () => collect(encodeSlice(value, outboard, ChunkRanges.all)), [TypeError])
    }
  })

  it('values that are not an outboard are refused', async () => {
    for (const value of [undefined, null, 5, 'outboard', outboard.bytes]) {
      await expectSlip('outboard', () => encodeSliceSync(BYTES, value, ChunkRanges.all), [TypeError])
      await expectSlip('outboard', () => collect(encodeSlice(BYTES, value, ChunkRanges.all)), [TypeError])
    }
    for (const root of [undefined, outboard.cid, `${outboard.cid}`, outboard.root.subarray(1)]) {
      const other = {
        size: outboard.size, groupLog: outboard.groupLog, copyPair: outboard.copyPair.bind(outboard), root
      }
      await expectSlip('outboard.root', () => encodeSliceSync(BYTES, other))
      expect(encodeSliceSync(BYTES, other, undefined, { verify: false })).to.have.length.above(BYTES.length)
    }
  })

  it('wrong options are refused', async () => {
    await refusesAllButGroupLogs(groupLog => encode(BYTES, { groupLog }))
    await refusesAllButKeys(key => encode(BYTES, { key, groupLog: 0 }))
    await refusesAllButKeys(key => encodeSliceSync(BYTES, outboard, ChunkRanges.all, { key }))
    await refusesAllButKeys(key => collect(encodeSlice(BYTES, outboard, ChunkRanges.all, { key })))
  })

  it('values that are not a range are refused', async () => {
    const cut = ranges => encodeSliceSync(BYTES, outboard, ranges)
    // A list of boundaries has no start and no end, and must not mean "everything".
    for (const value of [null, 5, 'all', true, [0, 1]]) await expectSlip('ranges', () => cut(value), [TypeError])
    await refusesAllButCounts('start', start => cut({ start, end: 5 }))
    await refusesAllButCounts(
      'end', end => cut({ start: 0, end }), IMPOSSIBLE_NUMBERS.filter(value => value !== Infinity)
    )
  })

  it('a source that is shorter than its outboard says is BAO_TRUNCATED', async () => {
    for (const cut of [
      () => encodeSliceSync(BYTES.subarray(0, 60_000), outboard, ChunkRanges.all),
      () => collect(encodeSlice(BYTES.subarray(0, 60_000), outboard, ChunkRanges.all)),
      () => collect(encodeSlice(BYTES.subarray(0, 60_000), outboard, ChunkRanges.all, { verify: false }))
    ]) {
      const error = await errorOf(cut)
      expect(error).to.include({ code: 'BAO_TRUNCATED' })
    }
  })

  it('a wrong size takes no time', () => {
    const { next } = Walk.prototype
    let steps = 0
    Walk.prototype.next = function () {
      steps++
      return next.call(this)
    }
    try {
      for (const size of [2 ** 34, 2 ** 36 + 1]) {
        const liar = { root: outboard.root, size, groupLog: 4, copyPair: () => false }
        expect(() => encodeSliceSync(BYTES, liar)).to.throw().with.property('code', 'BAO_TRUNCATED')
        expect(() => createProofSync(BYTES, liar, ChunkRanges.all)).to.throw().with.property('code', 'BAO_TRUNCATED')
      }
    } finally {
      Walk.prototype.next = next
    }
    expect(steps).to.be.lessThan(10_000)
  })

  it('a source that gives too many bytes, or none, is refused', async () => {
    const liars = [
      { size: 70_000, read: (start, end) => BYTES.subarray(start, end + 1) },
      { size: 70_000, read: (start, end) => Array.from(BYTES.subarray(start, end)) },
      { size: 70_000, read: async () => undefined }
    ]
    for (const source of liars) {
      const error = await errorOf(collect(encodeSlice(source, outboard, { start: 0, end: 100 }, { key: undefined })))
      expect(error instanceof TypeError || error instanceof RangeError, error?.stack).to.equal(true)
    }
  })

  it('a key for a tree without one is BAO_PARENT_MISMATCH', async () => {
    expect(
      await errorOf(() => encodeSliceSync(BYTES, outboard, ChunkRanges.all, { key: KEY }))
    ).to.include({ code: 'BAO_PARENT_MISMATCH' })
  })
})
