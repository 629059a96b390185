// The cases of DASL's own tests. Those that are only of other formats show what DRISL does with them.
import { expect } from 'chai'
import { DrislReader } from '../../../../exchange/collections/web/drisl.js'
import { Manifest } from '../../../../exchange/collections/index.js'
import { concat, hex, unhex } from '../../../support/bytes.js'
import { counter } from '../../../support/count.js'
import { daslVectors } from '../../../support/vectors.js'

const DASL = ['basic', 'dasl-cid', 'dag-cbor']

/** The values that must not be written. There is no value in JavaScript for the simple value 0. */
const VALUES = {
  f97e00: NaN,
  f97c00: Infinity,
  f9fc00: -Infinity,
  fb8000000000000000: -0,
  c249010000000000000000: 2n ** 64n,
  a10000: new Map([[0, 0]]),
  f7: undefined,
  c07819323032352d30352d32365431363a31383a31372d30343a3030: new Date('2025-05-26T16:18:17-04:00')
}
const NO_VALUE = 'e0'

/** Cases whose only formats differ from DRISL: tag, big numbers, or floats that are not 64 bits long. */
const ELSEWHERE = [
  'f93e00', 'f97e00', 'f90000', 'c249010000000000000000', 'c349010000000000000000', 'a20a00f9490000'
]
/** Cases that other formats refuse, and DRISL does not: a long float, and text that is not normalized. */
const ONLY_HERE = ['fb3ff8000000000000', '6365cc81']

function isTaken (bytes) {
  const reader = new DrislReader(bytes, Infinity, fault => new Error(fault))
  try {
    reader.skip()
    reader.end()
    return true
  } catch {
    return false
  }
}

/** A manifest whose field `v` is a value. */
const around = value => concat([unhex('a26176'), value, unhex('697265736f7572636573a0')])

describe('the tests of DASL', () => {
  const { about, ...sets } = daslVectors
  const count = counter('DASL')

  for (const [set, cases] of Object.entries(sets)) {
    it(`pass for ${set}`, () => {
      for (const [what, formats, text] of cases) {
        count()
        const isOfDasl = formats.split(' ').some(format => DASL.includes(format))
        const bytes = unhex(text)
        if (what === 'refuse') {
          expect(isTaken(bytes), text).to.equal(!isOfDasl && ONLY_HERE.includes(text))
        } else if (what === 'keep') {
          expect(isTaken(bytes), text).to.equal(isOfDasl || !ELSEWHERE.includes(text))
          if (isTaken(bytes)) expectKept(bytes)
        } else if (text !== NO_VALUE) {
          expect(text in VALUES, text).to.equal(true)
          const write = () => Manifest.from([], { v: VALUES[text] })
          if (Object.is(VALUES[text], -0)) expect(hex(write().toBytes())).to.equal(hex(around([0])))
          else expect(write, text).to.throw()
        }
      }
    })
  }
})

function expectKept (value) {
  const manifest = Manifest.fromBytes(around(value))
  expect(hex(manifest.toBytes())).to.equal(hex(around(value)))
  // JavaScript writes 0.0 as the number 0, so only the bytes that were read have it.
  const isZero = hex(value) === 'fb0000000000000000'
  expect(hex(Manifest.from([], manifest.fields).toBytes())).to.equal(hex(around(isZero ? [0] : value)))
}
