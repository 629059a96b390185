import { expect } from 'chai'
import fc from 'fast-check'
import { Hasher, chunkCv, deriveKey, hash, keyedHash, parentCv, subtreeCv } from '../../lib/index.js'
import { concat, hex } from '../support/bytes.js'
import { noise } from '../support/inputs.js'
import { ALL_KERNELS, forEachKernel, onEachKernel } from '../support/kernels.js'
import { cutAt, cuts, holds, keys, sizes } from '../support/property.js'
import { chainingValue, hash as twinHash, modeOf } from '../support/twin/index.js'

/** Plain, keyed, or deriving a key: options for the functions under test and for the twin. */
const modes = fc.oneof(
  keys.map(key => ({ key })),
  fc.string().map(context => ({ context }))
)

const once = (bytes, length, { key, context }) =>
  key ? keyedHash(key, bytes, length) : context === undefined ? hash(bytes, length) : deriveKey(context, bytes, length)

function hasher ({ key, context }) {
  if (key) return Hasher.keyed(key)
  return context === undefined ? new Hasher() : Hasher.deriveKey(context)
}

const expectEqual = ([first, ...others], message) => {
  for (const other of others) expect(other, message).to.equal(first)
}

describe('property: kernel against kernel', () => {
  it('hashes of any length', () => holds('kernels: hash', fc.property(
    sizes(400_000), fc.integer({ min: 1, max: 300 }), modes, fc.nat(),
    (len, length, mode, seed) => {
      const bytes = noise(len, seed)
      expectEqual(onEachKernel(() => hex(once(bytes, length, mode))))
    }), 150))

  it('chaining values anywhere', () => holds('kernels: cvs', fc.property(
    fc.integer({ min: 0, max: 42 }), fc.nat(2 ** 20), sizes(70_000), modes, fc.nat(),
    (log, place, size, mode, seed) => {
      const startChunk = (place * 2 ** log) % 2 ** 43
      const max = startChunk === 0 ? 70_000 : Math.min(70_000, 1024 * 2 ** log)
      const bytes = noise(Math.max(1, Math.min(size, max)), seed)
      expectEqual(onEachKernel(() => hex(subtreeCv(bytes, startChunk, mode))))
      expectEqual(onEachKernel(() => hex(chunkCv(bytes.subarray(0, 1024), startChunk, mode))))
      expectEqual(onEachKernel(() => hex(parentCv(noise(32, seed + 1), noise(32, seed + 2), mode))))
    }), 150))
})

forEachKernel(kernel => describe('property: the twin', () => {
  it('hashes the same, in any pieces, and at every pause', () => holds(`twin: hash (${kernel})`, fc.property(
    sizes(12_000), cuts, fc.integer({ min: 1, max: 200 }), modes, fc.nat(),
    (len, places, length, mode, seed) => {
      const bytes = noise(len, seed)
      const twinMode = modeOf(mode)
      const expected = hex(twinHash(bytes, length, twinMode))
      expect(hex(once(bytes, length, mode))).to.equal(expected)

      const growing = hasher(mode)
      let end = 0
      for (const piece of cutAt(bytes, places)) {
        growing.update(piece)
        end += piece.length
        if (end % 3 === 0) expect(hex(growing.digest())).to.equal(hex(twinHash(bytes.subarray(0, end), 32, twinMode)))
      }
      expect(hex(growing.digest(length))).to.equal(expected)
      expect(growing.bytesHashed).to.equal(len)
    }), 100))

  it('has the same chaining values', () => holds(`twin: cvs (${kernel})`, fc.property(
    fc.integer({ min: 0, max: 42 }), fc.nat(2 ** 20), sizes(12_000), modes, fc.nat(),
    (log, place, size, mode, seed) => {
      const startChunk = (place * 2 ** log) % 2 ** 43
      const max = startChunk === 0 ? 12_000 : 1024 * 2 ** log
      const bytes = noise(Math.max(1, Math.min(size, max)), seed)
      expect(hex(subtreeCv(bytes, startChunk, mode))).to.equal(hex(chainingValue(bytes, startChunk, modeOf(mode))))
    }), 100))

  it('gives the same output from any position', () => holds(`twin: xof (${kernel})`, fc.property(
    sizes(3000), fc.nat(200), fc.oneof(fc.nat(1000), fc.integer({ min: 0, max: 2 ** 53 - 1000 })), modes,
    (len, length, position, mode) => {
      const bytes = noise(len)
      const reader = hasher(mode).update(bytes).reader().seek(position)
      expect(hex(reader.read(length))).to.equal(hex(twinHash(bytes, length, modeOf(mode), position)))
      expect(reader.position).to.equal(position + length)
    })))

  const fedLens = fc.oneof(fc.nat(100), sizes(5000), sizes(300_000))
  const otherActs = fc.constantFrom('digest', 'clone', 'clone', 'swap', 'swap', 'reset')

  it('gives the digest of the input of a hasher, after any other calls to it', () => holds(
    `twin: hashers (${kernel})`, fc.property(
      modes,
      fc.array(fc.oneof(
        { weight: 3, arbitrary: fc.record({ act: fc.constant('update'), len: fedLens, seed: fc.nat(9) }) },
        { weight: 4, arbitrary: fc.record({ act: otherActs }) }
      ), { minLength: 4, maxLength: 20 }),
      (mode, acts) => {
        // The twin is too slow for long input: then the digest is compared with that of hashing the whole input.
        const expected = bytes => bytes.length < 10_000 ? twinHash(bytes, 32, modeOf(mode)) : once(bytes, 32, mode)
        // Two hashers, each with a record of its input. A clone replaces the one that is not in use.
        let [hand, other] = [{ hasher: hasher(mode), fed: [] }, { hasher: hasher(mode), fed: [] }]
        for (const { act, len, seed } of [...acts, { act: 'digest' }, { act: 'swap' }, { act: 'digest' }]) {
          if (act === 'update') {
            const piece = noise(len, seed)
            hand.hasher.update(piece)
            hand.fed.push(piece)
          }
          if (act === 'digest') expect(hex(hand.hasher.digest())).to.equal(hex(expected(concat(hand.fed))))
          if (act === 'clone') other = { hasher: hand.hasher.clone(), fed: [...hand.fed] }
          if (act === 'swap') [hand, other] = [other, hand]
          if (act === 'reset') {
            hand.hasher.reset()
            hand.fed = []
          }
        }
      }), 120))
}), ALL_KERNELS)
