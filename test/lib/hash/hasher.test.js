import { expect } from 'chai'
import { Hasher, deriveKey, hash, hashInto, keyedHash } from '../../../lib/index.js'
import { OFFSETS, concat, hex, placed, unhex } from '../../support/bytes.js'
import { counter } from '../../support/count.js'
import { CONTEXT, KEY, input } from '../../support/inputs.js'
import { forEachKernel } from '../../support/kernels.js'
import { vectors } from '../../support/vectors.js'

const { key2_hex: key2, context2 } = vectors.hash

/** Every way to compute one mode: the function, and a hasher. */
const MODES = [
  { name: 'hash', once: (bytes, len) => hash(bytes, len), hasher: () => new Hasher() },
  { name: 'keyed_hash', once: (bytes, len) => keyedHash(KEY, bytes, len), hasher: () => Hasher.keyed(KEY) },
  { name: 'derive_key', once: (bytes, len) => deriveKey(CONTEXT, bytes, len), hasher: () => Hasher.deriveKey(CONTEXT) },
  {
    name: 'keyed_hash_key2',
    once: (bytes, len) => keyedHash(unhex(key2), bytes, len),
    hasher: () => Hasher.keyed(unhex(key2))
  },
  {
    name: 'derive_key_context2',
    once: (bytes, len) => deriveKey(context2, bytes, len),
    hasher: () => Hasher.deriveKey(context2)
  }
]

/** Lengths of pieces: a byte, edges of blocks and chunks, and lengths that are a multiple of neither. */
const PIECES = [1, 63, 64, 65, 1000, 1023, 1024, 1025, 4096, 65537]

forEachKernel(kernel => describe('hash vectors', () => {
  const count = counter('hash', kernel)

  for (const row of vectors.hash.cases) {
    const { gen, len } = row.input

    it(`${gen} ${len}: all modes, at every alignment`, () => {
      for (const offset of OFFSETS) {
        const bytes = placed(input(row.input), offset)
        for (const { name, once } of MODES.filter(mode => mode.name in row)) {
          const expected = row[name]
          expect(hex(once(bytes, expected.length / 2)), name).to.equal(expected)
          expect(hex(once(bytes)), name).to.equal(expected.slice(0, 64))
          count()
        }
      }
    })

    it(`${gen} ${len}: in pieces`, () => {
      const bytes = input(row.input)
      for (const { name, hasher } of MODES.filter(mode => mode.name in row)) {
        for (const piece of PIECES.filter(piece => len / piece < 3000)) {
          const growing = hasher()
          for (let at = 0; at < len; at += piece) growing.update(bytes.subarray(at, at + piece))
          expect(hex(growing.digest(row[name].length / 2)), `${name} by ${piece}`).to.equal(row[name])
          expect(growing.bytesHashed).to.equal(len)
        }
      }
    })

    it(`${gen} ${len}: only into the given memory`, () => {
      for (const offset of OFFSETS) {
        const all = new Uint8Array(offset + 40).fill(0x5a)
        const expected = all.slice()
        expected.set(unhex(row.hash).subarray(0, 32), offset)
        hashInto(input(row.input), all.subarray(offset, offset + 32))
        expect(hex(all)).to.equal(hex(expected))

        all.fill(0x5a)
        new Hasher().update(input(row.input)).digestInto(all.subarray(offset, offset + 32))
        expect(hex(all)).to.equal(hex(expected))
      }
    })
  }
}))

forEachKernel(() => describe('Hasher', () => {
  const bytes = input({ gen: 'b3', len: 16385 })

  it('returns itself from update, so that calls chain', () => {
    const hasher = new Hasher()
    expect(hasher.update(bytes)).to.equal(hasher)
  })

  // Input is hashed in windows of 128 chunks: these pieces leave one half full, just full, and just begun.
  const long = input({ gen: 'xs', seed: 77, len: 700_000 })
  const STOPS = [
    0, 1, 1024, 1500, 65_536, 131_071, 131_072, 131_073,
    196_608, 262_144, 262_145, 393_216, 400_000, 524_288, 524_289, 700_000
  ]

  it('gives the hash more than once, and takes input after that', () => {
    const hasher = new Hasher()
    for (const [i, stop] of STOPS.entries()) {
      hasher.update(long.subarray(STOPS[i - 1] ?? 0, stop))
      const expected = hex(hash(long.subarray(0, stop)))
      expect(hex(hasher.digest()), `after ${stop}`).to.equal(expected)
      expect(hex(hasher.digest()), `after ${stop}`).to.equal(expected)
      expect(hasher.bytesHashed).to.equal(stop)
    }
  })

  it('starts again after reset, in its own mode', () => {
    for (const { name, once, hasher } of MODES) {
      const used = hasher().update(bytes)
      used.reset()
      expect(used.bytesHashed).to.equal(0)
      expect(hex(used.update(bytes.subarray(7)).digest()), name).to.equal(hex(once(bytes.subarray(7))))
    }
  })

  it('is independent of its clone', () => {
    for (const { name, once, hasher } of MODES) {
      for (const stop of STOPS.filter(stop => stop < 600_000)) {
        const one = hasher()
        // Small pieces do not fill the memory for pending input: a clone must not share it.
        for (let at = 0; at < stop; at += 900) one.update(long.subarray(at, Math.min(at + 900, stop)))
        const two = one.clone()
        let [fedOne, fedTwo] = [long.subarray(0, stop), long.subarray(0, stop)]
        for (const len of [100, 100, 140_000]) {
          one.update(long.subarray(0, len))
          two.update(long.subarray(5, 5 + len))
          fedOne = concat([fedOne, long.subarray(0, len)])
          fedTwo = concat([fedTwo, long.subarray(5, 5 + len)])
          expect(hex(one.digest()), `${name} at ${stop}`).to.equal(hex(once(fedOne)))
          expect(hex(two.digest()), `${name} at ${stop}`).to.equal(hex(once(fedTwo)))
          expect(two.bytesHashed).to.equal(fedTwo.length)
        }
      }
    }
  })

  it('keeps the input, not the memory of the caller', () => {
    const lent = bytes.slice(0, 5000)
    const hasher = new Hasher().update(lent)
    lent.fill(0)
    expect(hex(hasher.digest())).to.equal(hex(hash(bytes.subarray(0, 5000))))
  })

  it('keeps its key when the caller overwrites the key', () => {
    const lent = KEY.slice()
    const hasher = Hasher.keyed(lent)
    lent.fill(0)
    expect(hex(hasher.update(bytes).digest())).to.equal(hex(keyedHash(KEY, bytes)))
  })

  it('is not disturbed by another hasher', () => {
    const one = Hasher.keyed(KEY)
    const two = Hasher.deriveKey(CONTEXT)
    for (let at = 0; at < bytes.length; at += 700) {
      one.update(bytes.subarray(at, at + 700))
      two.update(bytes.subarray(at, at + 700))
      hash(bytes)
    }
    expect(hex(one.digest())).to.equal(hex(keyedHash(KEY, bytes)))
    expect(hex(two.digest())).to.equal(hex(deriveKey(CONTEXT, bytes)))
  })

  it('gives a fresh array each time', () => {
    const hasher = new Hasher().update(bytes)
    hasher.digest().fill(0)
    hash(bytes).fill(0)
    expect(hex(hasher.digest())).to.equal(hex(hash(bytes)))
  })

  it('reads from shared memory and from subclasses', () => {
    // Browsers hide the constructor of shared buffers from pages that are not isolated, but not a shared memory.
    const { buffer } = new WebAssembly.Memory({ initial: 2, maximum: 2, shared: true })
    const shared = new Uint8Array(buffer, 0, bytes.length)
    shared.set(bytes)
    const derived = class extends Uint8Array {}.from(bytes)
    expect(hex(hash(shared))).to.equal(hex(hash(bytes)))
    expect(hex(hash(derived))).to.equal(hex(hash(bytes)))
    expect(hex(new Hasher().update(shared).update(derived).digest()))
      .to.equal(hex(hash(concat([bytes, bytes]))))
  })
}))
