// bao's combined encoding and its outboard: the size, then pairs and bytes in pre-order.
import { expect } from 'chai'
import { hash, keyedHash } from '../../lib/index.js'
import { createOutboardSync, encode } from '../../encoder/index.js'
import { OFFSETS, hex, placed, same } from '../support/bytes.js'
import { counter } from '../support/count.js'
import { KEY, input } from '../support/inputs.js'
import { forEachKernel } from '../support/kernels.js'
import { Bao, keyed } from '../support/twin/index.js'
import { vectors } from '../support/vectors.js'

function expectBytes (bytes, { len, b3, hex: expected }) {
  expect(bytes).to.have.length(len)
  if (expected !== undefined) expect(hex(bytes)).to.equal(expected)
  expect(hex(hash(bytes))).to.equal(b3)
}

forEachKernel(kernel => describe('bao encodings', () => {
  const count = counter('bao', kernel)

  for (const row of vectors.bao) {
    it(`${row.input.gen} ${row.input.len}`, () => {
      for (const offset of OFFSETS.filter(offset => offset === 0 || row.input.len <= 180000)) {
        const { root, bytes } = encode(placed(input(row.input), offset), { groupLog: 0 })
        expect(hex(root)).to.equal(row.hash)
        expectBytes(bytes, row.combined)
      }
      expectBytes(createOutboardSync(input(row.input), { groupLog: 0 }).toBao(), row.outboard)
      count()
    })
  }

  it('equals the twin at every size around windows, chunk groups and their parents', () => {
    const all = input({ gen: 'xs', len: 400 * 1024 })
    for (const chunks of [1, 2, 63, 64, 65, 128, 129, 193, 257, 399]) {
      for (const by of [-1, 0, 1]) {
        const bytes = all.subarray(0, chunks * 1024 + by)
        const tree = Bao.grow(bytes)
        for (const groupLog of [0, 1, 3, 6, 7, 8, 10]) {
          const { root, bytes: encoded } = encode(bytes, { groupLog })
          expect(hex(root)).to.equal(hex(tree.cv))
          expect(
            same(encoded, Bao.combined(tree, groupLog)), `${bytes.length} bytes, group log ${groupLog}`
          ).to.equal(true)
        }
      }
    }
  })

  it('writes into memory of the caller, at any alignment', () => {
    const bytes = input({ gen: 'b3', len: 200000 })
    const expected = encode(bytes, { groupLog: 0 }).bytes
    for (const offset of [0, 1, 4]) {
      const memory = new Uint8Array(expected.length + 100).fill(7)
      const { bytes: encoded } = encode(bytes, { into: memory.subarray(offset), groupLog: 0 })
      expect(encoded.buffer).to.equal(memory.buffer)
      expect(encoded.byteOffset).to.equal(offset)
      expect(hex(encoded)).to.equal(hex(expected))
      expect(memory.subarray(offset + expected.length).every(byte => byte === 7), 'the bytes after it').to.equal(true)
    }
    expect(
      () => encode(bytes, { into: new Uint8Array(expected.length - 1), groupLog: 0 })
    ).to.throw(RangeError, /"into" expected at least/)
    expect(() => encode(bytes, { into: [], groupLog: 0 })).to.throw(TypeError)
  })

  it('equals the twin in larger groups, and keyed', () => {
    for (const len of [0, 1, 1024, 1025, 5121, 16384, 16385, 40000]) {
      const bytes = input({ gen: 'b3', len })
      const plain = Bao.grow(bytes)
      const locked = Bao.grow(bytes, keyed(KEY))
      for (const groupLog of [0, 1, 2, 4]) {
        expect(hex(encode(bytes, { groupLog }).bytes)).to.equal(hex(Bao.combined(plain, groupLog)))
        const encoded = encode(bytes, { groupLog, key: KEY })
        expect(hex(encoded.bytes)).to.equal(hex(Bao.combined(locked, groupLog)))
        expect(hex(encoded.root)).to.equal(hex(keyedHash(KEY, bytes)))
      }
    }
  })
}))
