// Headers by which a client tries to cost the server time.
import { expect } from 'chai'
import { isKnown, rangeOf } from '../../../exchange/http/conditions.js'

const LEN = 1 << 20
/** Like the headers of a request, but of any length and with any spaces. */
const headersWith = (name, value) => ({ get: asked => asked === name ? value : null })

describe('an invalid header of a megabyte', () => {
  // With quadratic time, each of these would take minutes.
  for (const [title, value] of [
    ['spaces', `bytes=${' '.repeat(LEN)}x`], ['spaces after the range', `bytes=1-${' '.repeat(LEN)}x`],
    ['digits', `bytes=${'1'.repeat(LEN)}x`], ['digits among spaces', `bytes=${' '.repeat(LEN)}1${' '.repeat(LEN)}x`],
    ['ranges', `bytes=${'0-0,'.repeat(LEN / 4)}`]
  ]) {
    it(`is no range: ${title}`, () => {
      expect(rangeOf(headersWith('range', value), '"x"', 100)).to.equal('whole')
    })
  }

  for (const piece of ['"', 'W/', 'W/"', '" ', '"",']) {
    it(`names no blob: ${piece}`, () => {
      expect(isKnown(headersWith('if-none-match', piece.repeat(LEN / piece.length)), '"x"')).to.equal(false)
    })
  }
})
