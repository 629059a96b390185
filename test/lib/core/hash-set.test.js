// A set of hashes knows each hash that was added, and no other.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { HashSet } from '../../../lib/core/hash-set.js'
import { nameOf } from '../../support/store/inspect.js'

const hashOf = i => hash(new Uint8Array(new Uint32Array([i]).buffer))

describe('store: HashSet', () => {
  it('has() finds each of many hashes that were added, and no other', () => {
    const set = new HashSet()
    for (let i = 0; i < 20_000; i += 2) {
      set.add(hashOf(i))
      if (i % 3 === 0) set.add(hashOf(i))
    }
    expect(set.size).to.equal(10_000)
    for (let i = 0; i < 20_000; i++) if (set.has(nameOf(hashOf(i))) !== (i % 2 === 0)) expect.fail(`hash ${i}`)
  })

  it('has() finds hashes with any first bytes, also zeros and many similar ones', () => {
    const hashes = [[0, 0], [0, 1], [1, 0], [255, 255], ...Array.from({ length: 600 }, (_, i) => [i >> 8, i & 255])]
      .map(([a, b]) => Uint8Array.from({ length: 32 }, (_, i) => i === 0 ? a : i === 1 ? b : 0))
    const set = new HashSet()
    expect(set.has(nameOf(hashes[0]))).to.equal(false)
    for (const [i, each] of hashes.entries()) {
      set.add(each)
      if (!set.has(nameOf(each))) expect.fail(`hash ${i}`)
    }
    expect(set.size).to.equal(601)
    expect(set.has(nameOf(new Uint8Array(32).fill(7)))).to.equal(false)
  })
})
