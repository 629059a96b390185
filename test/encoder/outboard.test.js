import { expect } from 'chai'
import { hash, parseRoot, walk, ENTER } from '../../lib/index.js'
import { Outboard, createOutboard, createOutboardSync } from '../../encoder/index.js'
import { OFFSETS, concat, header, hex, placed } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { errorOf, ragged, stream } from '../support/feeding.js'
import { KEY, input } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { vectors } from '../support/vectors.js'

/** The vectors' two orders, of which each names the BLAKE3 of its bytes, plain and keyed. */
const ORDERS = ['pre', 'post']

function expectBytes (outboard, { len, b3, hex: expected }) {
  expect(outboard.bytes).to.have.length(len)
  if (expected !== undefined) expect(hex(outboard.bytes)).to.equal(expected)
  expect(hex(hash(outboard.bytes))).to.equal(b3)
}

forEachKernel(kernel => describe('outboards', () => {
  const count = counter('outboards', kernel)

  for (const row of vectors.outboards.cases) {
    const { len } = row.input

    for (const { chunk_log: groupLog, ...expected } of row.outboards) {
      it(`${len} bytes in groups of ${2 ** groupLog}`, async () => {
        for (const order of ORDERS) {
          const options = { groupLog, order }
          for (const offset of OFFSETS.filter(offset => offset === 0 || len <= 70000)) {
            const outboard = createOutboardSync(placed(input(row.input), offset), options)
            expect(hex(outboard.root)).to.equal(row.root)
            expectBytes(outboard, expected[order])
            expect(outboard).to.include({ size: len, groupLog, order })
          }

          const bytes = input(row.input)
          const streamed = await createOutboard(stream(ragged(bytes, len)), options)
          expect(hex(streamed.root)).to.equal(row.root)
          expectBytes(streamed, expected[order])
          expectBytes(await createOutboard(bytes, options), expected[order])

          const keyed = createOutboardSync(bytes, { ...options, key: KEY })
          expect(hex(keyed.root)).to.equal(row.keyed_root)
          expect(hex(hash(keyed.bytes))).to.equal(expected[`keyed_${order}_b3`])
          const keyedStreamed = await createOutboard(stream(ragged(bytes, len)), { ...options, key: KEY })
          expect(hex(keyedStreamed.root)).to.equal(row.keyed_root)
          expect(hex(hash(keyedStreamed.bytes))).to.equal(expected[`keyed_${order}_b3`])
          count()
        }
      })

      it(`${len} bytes in groups of ${2 ** groupLog}: the other order`, () => {
        const pre = createOutboardSync(input(row.input), { groupLog, order: 'pre' })
        const post = pre.flip()
        expect(post).to.include({ size: len, groupLog, order: 'post' })
        expectBytes(post, expected.post)
        expectBytes(post.flip(), expected.pre)
        expectBytes(pre, expected.pre)
        expect(hex(post.root)).to.equal(row.root)
      })

      it(`${len} bytes in groups of ${2 ** groupLog}: single pairs`, () => {
        const pre = createOutboardSync(input(row.input), { groupLog, order: 'pre' })
        const post = pre.flip()
        for (const { node, pre: index } of [...walk(len, groupLog)].filter(step => step.kind === ENTER)) {
          const pair = hex(pre.bytes.subarray(64 * index, 64 * index + 64))
          expect(hex(pre.pair(node))).to.equal(pair)
          expect(hex(post.pair(node))).to.equal(pair)
        }
      })
    }
  }
}))

describe('Outboard', () => {
  const bytes = input({ gen: 'b3', len: 70000 })

  it('has groups of 16 chunks in pre-order by default', () => {
    expect(createOutboardSync(bytes)).to.include({ groupLog: 4, order: 'pre' })
  })

  it('names the blob by a CID', () => {
    const outboard = createOutboardSync(bytes)
    expect(hex(parseRoot(outboard.cid))).to.equal(hex(hash(bytes)))
    expect(hex(outboard.root)).to.equal(hex(hash(bytes)))
  })

  it('is made again from its parts', () => {
    const { root, size, groupLog, order, bytes: pairs } = createOutboardSync(bytes, { groupLog: 2, order: 'post' })
    const again = Outboard.from({ cid: root, size, groupLog, order, bytes: pairs })
    expect(again).to.include({ size, groupLog, order })
    expect(hex(again.root)).to.equal(hex(root))
    expect(hex(again.flip().bytes)).to.equal(hex(createOutboardSync(bytes, { groupLog: 2 }).bytes))
  })

  it('is the same after a conversion to bao\'s form and back', () => {
    for (const order of ORDERS) {
      const outboard = createOutboardSync(bytes, { groupLog: 0, order })
      const pre = createOutboardSync(bytes, { groupLog: 0 })
      expect(hex(outboard.toBao())).to.equal(hex(concat([header(70000), pre.bytes])))
      const back = Outboard.fromBao(outboard.toBao(), outboard.root)
      expect(back).to.include({ size: 70000, groupLog: 0, order: 'pre' })
      expect(hex(back.bytes)).to.equal(hex(pre.bytes))
      expect(hex(back.root)).to.equal(hex(hash(bytes)))
    }
  })

  it('has no pairs for nodes below the group level or outside the tree', async () => {
    const outboard = createOutboardSync(bytes, { groupLog: 4 })
    for (const node of [0, 7, 2 ** 40 - 1, -1, 0.5]) {
      const error = await errorOf(
        () => { if (outboard.pair(node) !== undefined) throw new Error(`pair ${node} exists`) }
      )
      if (error) expect(error, `node ${node}`).to.be.instanceOf(RangeError)
    }
  })

  it('keeps its root and bytes when the source changes afterwards', () => {
    const lent = bytes.slice()
    const outboard = createOutboardSync(lent)
    const before = hex(outboard.bytes)
    lent.fill(0)
    hash(lent)
    expect(hex(outboard.bytes)).to.equal(before)
  })
})
