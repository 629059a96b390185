import { expect } from 'chai'
import { chunkCv, leftLen, maxSubtreeLen, parentCv, rootHash, subtreeCv } from '../../../lib/index.js'
import { OFFSETS, hex, placed, unhex } from '../../support/bytes.js'
import { counter } from '../../support/count.js'
import { input, noise } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'
import { MODES } from '../../support/modes.js'
import { vectors } from '../../support/vectors.js'
import { chainingValue } from '../../support/twin/index.js'

const { subtree } = vectors
const entries = row => Object.entries(MODES).filter(([name]) => name in row)

forEachKernel(kernel => describe('subtrees', () => {
  const count = counter('subtree', kernel)

  it('give the chaining values of the vectors, at every alignment', () => {
    for (const row of subtree.cvs) {
      const { offset, len } = row
      for (const at of OFFSETS) {
        const bytes = placed(input(subtree.input).subarray(offset, offset + len), at)
        for (const [name, options] of entries(row)) {
          const where = `${name} ${offset}+${len}`
          expect(hex(subtreeCv(bytes, offset / 1024, options)), where).to.equal(row[name])
          if (len <= 1024) expect(hex(chunkCv(bytes, offset / 1024, options)), where).to.equal(row[name])
        }
      }
      count()
    }
  })

  it('count chunks beyond 32 bits', () => {
    const bytes = input(subtree.input).subarray(0, 1024)
    for (const { offset, hash: expected } of subtree.far) {
      if (typeof offset === 'string') {
        // Above the largest size: refused, because rounding would give the value of another chunk.
        expect(() => chunkCv(bytes, Number(BigInt(offset) / 1024n))).to.throw(RangeError)
      } else {
        expect(hex(chunkCv(bytes, offset / 1024))).to.equal(expected)
        expect(hex(subtreeCv(bytes, offset / 1024))).to.equal(expected)
      }
      count()
    }
  })

  it('take the high 32 bits of the chunk number into account', () => {
    const bytes = noise(8192, 3)
    for (const start of [2 ** 32 - 8, 2 ** 32, 3 * 2 ** 32 - 8, 2 ** 42]) {
      for (const len of [1, 1024, 2048, 3000, 8191, 8192]) {
        const part = bytes.subarray(0, len)
        expect(hex(subtreeCv(part, start)), `${len} at chunk ${start}`).to.equal(hex(chainingValue(part, start)))
      }
    }
  })

  it('are joined to parents and to roots', () => {
    for (const { left, right, ...expected } of subtree.merges) {
      for (const [name, options] of entries(expected)) {
        const { non_root: cv, root, root_xof_131: long } = expected[name]
        for (const at of OFFSETS) {
          const pair = [placed(unhex(left), at), placed(unhex(right), at)]
          expect(hex(parentCv(...pair, options))).to.equal(cv)
          expect(hex(rootHash(...pair, options))).to.equal(root)
          if (long) expect(hex(rootHash(...pair, { ...options, length: 131 }))).to.equal(long)
        }
        count()
      }
    }
  })

  it('do not change their input', () => {
    const bytes = input(subtree.input).slice(0, 5000)
    const before = hex(bytes)
    subtreeCv(bytes, 0)
    parentCv(bytes.subarray(0, 32), bytes.subarray(32, 64))
    expect(hex(bytes)).to.equal(before)
  })
}))

describe('lengths of subtrees', () => {
  const count = counter('subtree lengths')

  it('leftLen is the largest power of two chunks that leaves a byte for the right', () => {
    for (const [len, left] of subtree.left_subtree_len) {
      if (typeof len === 'number') expect(leftLen(len), len).to.equal(left)
      else expect(() => leftLen(Number(len))).to.throw(RangeError)
      count()
    }
  })

  it('maxSubtreeLen is the longest subtree that starts there', () => {
    for (const [offset, len] of subtree.max_subtree_len) {
      if (typeof offset === 'number') expect(maxSubtreeLen(offset), offset).to.equal(len ?? Infinity)
      else expect(() => maxSubtreeLen(Number(offset))).to.throw(RangeError)
      count()
    }
  })
})
