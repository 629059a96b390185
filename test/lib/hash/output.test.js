import { expect } from 'chai'
import { Hasher, hash } from '../../../lib/index.js'
import { OFFSETS, hex } from '../../support/bytes.js'
import { counter } from '../../support/count.js'
import { CONTEXT, KEY, input } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'
import { vectors } from '../../support/vectors.js'

forEachKernel(kernel => describe('extended output', () => {
  const count = counter('xof', kernel)

  for (const row of vectors.xof) {
    it(`${row.input.len} bytes: every read of the vectors, from one reader and from fresh ones`, () => {
      const hasher = new Hasher().update(input(row.input))
      const seeking = hasher.reader()
      for (const { pos, n, hex: expected } of row.reads) {
        const fresh = hasher.reader()
        for (const reader of [seeking, fresh]) {
          // Positions above 2^53 - 1 are refused, because rounding would give other bytes.
          if (typeof pos === 'string') expect(() => reader.seek(Number(pos)), `at ${pos}`).to.throw(RangeError)
          else expect(hex(reader.seek(pos).read(n)), `at ${pos}`).to.equal(expected)
        }
        count()
      }
    })
  }

  it('refuses to read past the last position', () => {
    const reader = new Hasher().reader().seek(Number.MAX_SAFE_INTEGER - 10)
    expect(() => reader.read(20)).to.throw(RangeError)
    expect(reader.read(10)).to.have.length(10)
  })

  it('continues where the last read ended', () => {
    const hasher = new Hasher().update(input({ gen: 'b3', len: 5000 }))
    const expected = hex(hash(input({ gen: 'b3', len: 5000 }), 3000))
    for (const step of [1, 7, 32, 63, 64, 65, 1000]) {
      const reader = hasher.reader()
      let got = ''
      for (let at = 0; at < 3000; at += step) {
        expect(reader.position).to.equal(at)
        got += hex(reader.read(Math.min(step, 3000 - at)))
      }
      expect(got).to.equal(expected)
    }
  })

  it('writes only into the given memory', () => {
    const hasher = new Hasher().update(input({ gen: 'b3', len: 10 }))
    for (const offset of OFFSETS) {
      for (const len of [0, 1, 63, 64, 65, 200]) {
        const all = new Uint8Array(offset + len + 5).fill(0x5a)
        const expected = all.slice()
        expected.set(hasher.digest(len + 3).subarray(3), offset)
        const reader = hasher.reader()
        reader.seek(3)
        reader.readInto(all.subarray(offset, offset + len))
        expect(hex(all)).to.equal(hex(expected))
      }
    }
  })

  it('does not change when the hasher gets more input', () => {
    for (const hasher of [new Hasher(), Hasher.keyed(KEY), Hasher.deriveKey(CONTEXT)]) {
      hasher.update(input({ gen: 'b3', len: 3000 }))
      const expected = hex(hasher.digest(200))
      const reader = hasher.reader()
      hasher.update(input({ gen: 'b3', len: 64 }))
      hash(input({ gen: 'b3', len: 2000 }))
      expect(hex(reader.read(200))).to.equal(expected)
    }
  })

  it('has every short output as the beginning of a long one', () => {
    for (const len of [0, 1, 64, 1024, 1025, 5000]) {
      const bytes = input({ gen: 'b3', len })
      const long = hex(hash(bytes, 1000))
      for (const length of [0, 1, 31, 32, 33, 63, 64, 65, 128, 999]) {
        expect(hex(hash(bytes, length))).to.equal(long.slice(0, 2 * length))
      }
    }
  })
}))
