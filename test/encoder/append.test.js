// An outboard that is appended to equals that of the whole blob, for any old length. A wrong outboard is refused before
// anything is changed.
import { expect } from 'chai'
import {
  Outboard, appendOutboard, createOutboardSync, openOutboard, encodeSlice, writeOutboard
} from '../../encoder/index.js'
import { concat, flipped, header, hex, same } from '../support/bytes.js'
import { KIB } from '../support/constants.js'
import { collect, errorOf, stream } from '../support/feeding.js'
import { KEY, noise } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { MemorySink } from '../support/sinks.js'
import { expectSlip } from '../support/slips.js'

const SIZES = [
  0, 1, 1024, 1025, 2048, 3 * KIB, 4 * KIB + 5, 7 * KIB, 16 * KIB, 16 * KIB + 1, 33 * KIB, 48 * KIB, 64 * KIB,
  127 * KIB + 1, 128 * KIB, 131 * KIB, 192 * KIB + 7, 256 * KIB, 300_001
]
const BYTES = noise(SIZES.at(-1), 77)
const post = (size, options) => createOutboardSync(BYTES.subarray(0, size), { order: 'post', ...options })

forEachKernel(() => describe('an outboard of a blob that has grown', () => {
  for (const groupLog of [0, 1, 2, 4, 7]) {
    it(`equals the outboard of the whole blob, in groups of ${2 ** groupLog}`, async () => {
      const key = groupLog === 2 ? KEY : undefined
      const outboards = SIZES.map(size => post(size, { groupLog, key }))
      for (const [i, old] of outboards.entries()) {
        for (const expected of outboards.slice(i)) {
          const grown = await appendOutboard(BYTES.subarray(0, expected.size), old, { key })
          expect(hex(grown.root), `${old.size} to ${expected.size} bytes`).to.equal(hex(expected.root))
          expect(same(grown.bytes, expected.bytes), `${old.size} to ${expected.size} bytes`).to.equal(true)
          expect(grown).to.include({ size: expected.size, groupLog, order: 'post' })
          expect(grown.bytes.buffer).to.not.equal(old.bytes.buffer)
        }
      }
    })

    it(`is extended in place, in groups of ${2 ** groupLog}`, async () => {
      const hasHeader = groupLog % 2 === 0
      const fileOf = outboard => concat([hasHeader ? header(outboard.size) : new Uint8Array(0), outboard.bytes])
      const outboards = SIZES.map(size => post(size, { groupLog }))
      for (const [i, old] of outboards.entries()) {
        for (const expected of outboards.slice(i).filter((_, j) => j % 3 === 0 || j > 12)) {
          const sink = new MemorySink({ bytes: fileOf(old) })
          const layout = { groupLog, order: 'post', header: hasHeader }
          const info = { cid: old.root, size: old.size, ...layout }
          const grown = await writeOutboard(BYTES.subarray(0, expected.size), sink, { append: info })
          const { cid, ...facts } = grown
          expect(facts).to.deep.equal({ root: expected.root, size: expected.size, ...layout })
          expect(cid.equals(expected.cid)).to.equal(true)
          expect(same(sink.bytes, fileOf(expected)), `${old.size} to ${expected.size} bytes`).to.equal(true)
          if (expected.size === old.size) expect(sink.writes).to.have.length(0)
        }
      }
    })
  }
}))

describe('an outboard of a blob that has grown', () => {
  const SIZE = 300_001
  const old = post(200_000, { groupLog: 1 })
  const info = { cid: old.root, size: old.size, groupLog: 1, order: 'post', header: false }
  const expected = post(SIZE, { groupLog: 1 })

  it('is made from only the last group and the new bytes', async () => {
    const reads = []
    const source = { size: SIZE, read: async (start, end) => { reads.push(start); return BYTES.slice(start, end) } }
    const pairs = []
    const sink = new MemorySink({ bytes: old.bytes })
    const read = sink.read
    sink.read = (start, end) => { pairs.push(end - start); return read(start, end) }
    await writeOutboard(source, sink, { append: info })
    expect(Math.min(...reads)).to.equal(Math.floor(200_000 / 2048) * 2048)
    expect(same(sink.bytes, expected.bytes)).to.equal(true)
    // Unchanged pairs are not written again.
    const [first] = sink.writes.map(([offset]) => offset).sort((a, b) => a - b)
    expect(first).to.be.greaterThan(old.bytes.length - 64 * 10)
  })

  it('is the same for a Blob and for bytes', async () => {
    const grown = await appendOutboard(new Blob([BYTES]), old)
    expect(same(grown.bytes, expected.bytes)).to.equal(true)
  })

  it('is unchanged in the target until the last write', async () => {
    const states = []
    let isLate = false
    const onWrite = offset => {
      isLate ||= offset < old.bytes.length
      if (isLate) expect(offset).to.be.lessThan(old.bytes.length)
      states.push(sink.bytes.slice())
    }
    const sink = new MemorySink({ bytes: old.bytes, onWrite })
    await writeOutboard(BYTES, sink, { append: info })
    const before = states.filter(state => same(state.subarray(0, old.bytes.length), old.bytes))
    expect(before.length).to.be.greaterThan(1)
    // An interrupted caller begins again.
    for (const state of before) {
      const again = new MemorySink({ bytes: state })
      await writeOutboard(BYTES, again, { append: info })
      expect(same(again.bytes, expected.bytes)).to.equal(true)
    }
  })

  it('is truncated after its last pair, where an interrupted call has left bytes', async () => {
    const sink = new MemorySink({ bytes: concat([old.bytes, noise(50_000)]) })
    sink.truncate = async len => { sink.bytes = sink.bytes.slice(0, len) }
    await writeOutboard(BYTES, sink, { append: info })
    expect(same(sink.bytes, expected.bytes)).to.equal(true)
  })

  it('is refused when a pair on its right edge is wrong, and then nothing is changed', async () => {
    for (const node of [127, 191, 193]) { // over 64 and 34, 32 and 2, 1 and 1 groups
      const pair = old.pair(node)
      for (const at of [pair.byteOffset, pair.byteOffset + 63].map(at => at - old.bytes.byteOffset)) {
        const spoilt = flipped(old.bytes, at)
        expect(
          await errorOf(appendOutboard(BYTES, Outboard.from({ ...old, cid: old.root, bytes: spoilt })))
        ).to.include({ code: 'BAO_PARENT_MISMATCH' })
        const sink = new MemorySink({ bytes: spoilt })
        expect(await errorOf(writeOutboard(BYTES, sink, { append: info }))).to.include({ code: 'BAO_PARENT_MISMATCH' })
        expect(sink.writes).to.have.length(0)
      }
    }
    // A pair elsewhere is not read, and does not change.
    const grown = await appendOutboard(BYTES, Outboard.from({ ...old, cid: old.root, bytes: flipped(old.bytes, 5) }))
    expect(hex(grown.root)).to.equal(hex(expected.root))
    expect(same(grown.bytes, flipped(expected.bytes, 5))).to.equal(true)
  })

  it('is refused when its size, its root or the key is wrong', async () => {
    for (const [size, code] of [
      [199_999, 'BAO_LEAF_MISMATCH'], [98 * 2048, 'BAO_LEAF_MISMATCH'], [199_000, 'BAO_LEAF_MISMATCH']
    ]) {
      expect(await errorOf(appendOutboard(BYTES, new Outboard({ ...old, size }))), `${size}`).to.include({ code })
      const sink = new MemorySink({ bytes: old.bytes })
      expect(await errorOf(writeOutboard(BYTES, sink, { append: { ...info, size } }))).to.include({ code })
      expect(sink.writes).to.have.length(0)
    }
    expect(
      await errorOf(appendOutboard(BYTES, new Outboard({ ...old, root: flipped(old.root, 3) })))
    ).to.include({ code: 'BAO_PARENT_MISMATCH' })
    expect(await errorOf(appendOutboard(BYTES, old, { key: KEY }))).to.include({ code: 'BAO_PARENT_MISMATCH' })
    const short = new MemorySink({ bytes: old.bytes.subarray(0, -64) })
    expect(await errorOf(writeOutboard(BYTES, short, { append: info }))).to.be.instanceOf(Error)
    expect(short.writes).to.have.length(0)
    // A blob of one group has no pair.
    const small = post(1500, { groupLog: 1 })
    expect(
      await errorOf(appendOutboard(BYTES, new Outboard({ ...small, root: old.root })))
    ).to.include({ code: 'BAO_LEAF_MISMATCH', start: 0, len: 1500 })
    expect(
      await errorOf(appendOutboard(BYTES, new Outboard({ ...small, size: 1501 })))
    ).to.include({ code: 'BAO_LEAF_MISMATCH' })
  })

  it('is refused when the source no longer begins with the old bytes, or is shorter', async () => {
    const start = Math.floor(200_000 / 2048) * 2048
    for (const at of [start, 199_999]) {
      const sink = new MemorySink({ bytes: old.bytes })
      expect(
        await errorOf(writeOutboard(flipped(BYTES, at), sink, { append: info }))
      ).to.include({ code: 'BAO_LEAF_MISMATCH', start, len: 200_000 - start })
      expect(sink.writes).to.have.length(0)
    }
    expect(await errorOf(appendOutboard(BYTES.subarray(0, 199_999), old))).to.include(
      { code: 'BAO_TRUNCATED', start, wanted: 200_000 - start, got: 199_999 - start }
    )
    expect(await errorOf(appendOutboard(BYTES.subarray(0, 10), old))).to.include({ code: 'BAO_TRUNCATED', got: 0 })
  })

  it('is extended several times in its target, and can be opened', async () => {
    const sink = new MemorySink()
    let written = await writeOutboard(BYTES.subarray(0, 100_000), sink, { order: 'post', groupLog: 0, key: KEY })
    for (const size of [100_001, 150_000, 300_001]) {
      written = await writeOutboard(
        BYTES.subarray(0, size), sink, { append: written, key: KEY }
      )
    }
    const outboard = await openOutboard(sink.bytes, written)
    expect(
      (await collect(encodeSlice(BYTES, outboard, undefined, { key: KEY }))).length
    ).to.equal(8 + 300_001 + 64 * 292)
  })

  it('is extended with the CID as text', async () => {
    const sink = new MemorySink()
    const first = await writeOutboard(BYTES.subarray(0, 100_000), sink, { order: 'post' })
    const kept = JSON.stringify({ ...first, cid: `${first.cid}` })
    expect(await writeOutboard(BYTES.subarray(0, 100_000), sink, { append: JSON.parse(kept) })).to.deep.equal(first)
    const grown = await writeOutboard(BYTES, sink, { append: JSON.parse(kept) })
    expect(grown.root).to.deep.equal(createOutboardSync(BYTES).root)
  })

  it('does not change when the key is overwritten after the call', async () => {
    const keyed = post(200_000, { groupLog: 1, key: KEY })
    const ways = {
      appendOutboard: key => appendOutboard(BYTES, keyed, { key }),
      writeOutboard: key => writeOutboard(
        BYTES,
        new MemorySink({ bytes: keyed.bytes }),
        { append: { cid: keyed.root, size: keyed.size, groupLog: 1, order: 'post', header: false }, key }
      )
    }
    for (const [name, way] of Object.entries(ways)) {
      const key = KEY.slice()
      const work = way(key)
      key.fill(0)
      expect(hex((await work).root), name).to.equal(hex(post(300_001, { groupLog: 1, key: KEY }).root))
    }
  })

  it('refuses wrong arguments, and names them', async () => {
    for (const outboard of [undefined, null, 5, {}, old.bytes, info]) {
      await expectSlip(
        'outboard', () => appendOutboard(BYTES, outboard), [TypeError]
      )
    }
    await expectSlip('outboard', () => appendOutboard(BYTES, old.flip()), [RangeError])
    await expectSlip(
      'append', () => writeOutboard(BYTES, new MemorySink(), { append: { ...info, order: 'pre' } }), [RangeError]
    )
    await expectSlip(
      'append.groupLog',
      () => writeOutboard(BYTES, new MemorySink({ bytes: old.bytes }), { append: { ...info, groupLog: undefined } }),
      [TypeError]
    )
    await expectSlip(
      'target', () => writeOutboard(BYTES, new MemorySink({ canRead: false }), { append: info }), [TypeError]
    )
    for (const source of [undefined, 5, {}, stream([BYTES])]) {
      await expectSlip(
        'source', () => appendOutboard(source, old), [TypeError]
      )
    }
    expect(
      await errorOf(appendOutboard(BYTES, old, { signal: AbortSignal.abort() }))
    ).to.include({ name: 'AbortError' })
  })
})
