// DRISL has one form for each value. The reader is compared with a decoder whose values are encoded again.
import { expect } from 'chai'
import fc from 'fast-check'
import { decode, encode } from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256 } from 'multiformats/hashes/sha2'
import { hash, toCid } from '../../../../lib/index.js'
import { DrislReader } from '../../../../exchange/collections/web/drisl.js'
import { hex, same, unhex } from '../../../support/bytes.js'
import { strideAtEffort } from '../../../support/effort.js'
import { holds } from '../../../support/property.js'

const CIDS = [
  toCid(hash(new Uint8Array(1))), toCid(hash(new Uint8Array(1)), 0x71),
  CID.createV1(0x55, await sha256.digest(new Uint8Array(1)))
]
/** Not of DASL. */
const OTHER_CIDS = [
  CID.createV1(0x200, identity.digest(new Uint8Array(3))), CID.parse('QmNLei78zWmzUdbeRB3CiUfAizWUrbeeZh5K1rhAQKCh51'),
  toCid(hash(new Uint8Array(1)), 0x80)
]
const TEXT = fc.string({ unit: 'grapheme' })
const VALUES = fc.letrec(tie => ({
  value: fc.oneof({ depthSize: 'small' }, fc.constantFrom(null, true, false, ...CIDS, ...OTHER_CIDS),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n - 1n }), fc.double({ noNaN: true, noDefaultInfinity: true }),
    TEXT, fc.uint8Array(), fc.array(tie('value')), fc.dictionary(TEXT, tie('value')))
})).value

/** True if the reader takes this as one item. */
function isTaken (bytes) {
  const reader = new DrislReader(bytes, Infinity, what => new Error(what))
  try {
    reader.skip()
    reader.end()
    return true
  } catch {
    return false
  }
}

function hasOneForm (bytes) {
  try {
    const value = decode(bytes)
    return hasOnlyDasl(value) && same(encode(value), bytes)
  } catch {
    return false
  }
}

function hasOnlyDasl (value) {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  const cid = CID.asCID(value)
  if (cid !== null) return cid.bytes.length === 36 && /^01(55|71)(12|1e)20/.test(hex(cid.bytes))
  return Object.values(value).every(hasOnlyDasl)
}

/** Turns floats like 1.0 into 0.5, because JavaScript would encode them as integers. */
function withoutWholeFloats (bytes) {
  const copy = bytes.slice()
  const view = new DataView(copy.buffer)
  for (let at = 0; at + 9 <= copy.length; at++) {
    if (copy[at] !== 0xfb) continue
    const float = view.getFloat64(at + 1)
    if (Number.isSafeInteger(float) && !Object.is(float, -0)) view.setFloat64(at + 1, 0.5)
  }
  return copy
}

function expectAlike (given) {
  const bytes = withoutWholeFloats(given)
  expect(isTaken(bytes), hex(bytes)).to.equal(hasOneForm(bytes))
}

describe('DRISL', () => {
  it('is read if and only if it is the one form of a value', () => holds('drisl', fc.property(
    VALUES, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1)), { maxLength: 3 }),
    (value, changes) => {
      const bytes = [...encode(value)]
      expectAlike(Uint8Array.from(bytes))
      for (const [at, byte, deleted] of changes) {
        bytes.splice(at % bytes.length, deleted, byte)
        expectAlike(Uint8Array.from(bytes))
      }
      for (let len = 0; len < bytes.length; len++) expectAlike(Uint8Array.from(bytes.slice(0, len)))
    }), 100))

  it('has no other heads, numbers, texts, keys and CIDs', () => {
    const isWrong = bytes => isTaken(bytes) !== hasOneForm(bytes)
    for (let head = 0; head < 256; head++) {
      const wrong = []
      for (let next = head % strideAtEffort(); next < 256; next += strideAtEffort()) {
        if (isWrong(Uint8Array.of(head, next))) wrong.push(next)
      }
      expect(wrong, `behind ${head}`).to.deep.equal([])
      for (const rest of ['', '61', '6161', '616101', '00'.repeat(2), '00'.repeat(4), '00'.repeat(8), 'ff'.repeat(8)]) {
        expectAlike(unhex(head.toString(16).padStart(2, '0') + rest))
      }
    }
    for (const text of [
      'fb7ff0000000000000', 'fb7ff8000000000000', 'fb3ff0000000000000', 'fb8000000000000000', 'fb4340000000000000',
      '1818', '190100', '1900ff', '1a00010000', '1a0000ffff', '1b0000000100000000', '1b00000000ffffffff',
      '1bffffffffffffffff', '3bffffffffffffffff', '63eda080', '62c328', '63efbbbf', '64efbbbf61', '6461efbbbf',
      'a2616201616101', 'a2616101616101', 'a262616101616201', 'a2616201626161f6', 'a10100', 'a1a000', 'd82a4100',
      'd82a40', 'd82a450001550000', 'd82a46000155000000', 'd82a46008100550000', 'd82a4500005500', 'd82a450101550000',
      'd82a6500' + '01550000', 'd82a00', 'c000', 'd8290100', 'd9002a450001550000', '9bffffffffffffffff',
      'bbffffffffffffffff', '7bffffffffffffffff', '5bffffffffffffffff'
    ]) expectAlike(unhex(text))
  })

  it('has floats that are whole numbers', () => {
    for (const float of ['3ff0000000000000', '0000000000000000', '7fefffffffffffff', 'c340000000000000']) {
      expect(isTaken(unhex(`fb${float}`)), float).to.equal(true)
    }
  })

  it('may be nested a hundred times at most', () => {
    const nested = depth => unhex('81'.repeat(depth - 1) + '00')
    expect([isTaken(nested(100)), isTaken(nested(101))]).to.deep.equal([true, false])
    for (const byte of [0x81, 0xa1, 0xd8]) expect(isTaken(new Uint8Array(1 << 20).fill(byte))).to.equal(false)
  })
})
