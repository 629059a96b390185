// Names that could lead out of a folder, or to the file of another name, on any system, are refused.
import { expect } from 'chai'
import fc from 'fast-check'
import { SafeNames, compareNames, fold } from '../../../exchange/collections/safe-names.js'
import { hex } from '../../support/bytes.js'
import { strideAtEffort } from '../../support/effort.js'
import { HARMLESS, NOT_IN_WINDOWS, TRICKS } from '../../support/path-tricks.js'
import { holds } from '../../support/property.js'

/** The first of these names that is refused, or undefined. */
function refusedOf (names, isForWindows = false) {
  const safe = new SafeNames({ isForWindows })
  for (const name of names) {
    try {
      safe.add(name)
    } catch (error) {
      expect(error).to.include({ code: 'PATH_UNSAFE', entry: name })
      expect(error.message).to.match(/^[^\0-\x1f]*$/) // eslint-disable-line no-control-regex
      return name
    }
  }
}

describe('SafeNames', () => {
  for (const [what, names] of Object.entries(TRICKS)) {
    it(`refuses ${what}`, () => {
      for (const isForWindows of [false, true]) {
        expect(refusedOf(names, isForWindows)).to.equal(names[names.length - 1])
      }
    })
  }

  it('refuses names that are wrong in Windows only, in Windows only', () => {
    for (const names of NOT_IN_WINDOWS) {
      expect(refusedOf(names, true), names[0]).to.equal(names[0])
      expect(refusedOf(names, false)).to.equal(undefined)
    }
  })

  it('takes harmless names, and lists their first parts', () => {
    for (const names of HARMLESS) expect(refusedOf(names, true)).to.equal(undefined)
    const safe = new SafeNames({ isForWindows: false })
    for (const name of ['b/c', 'a', 'b/d/e']) safe.add(name)
    expect([...safe.tops]).to.deep.equal(['b', 'a'])
  })

  it('takes no name with a part that leads elsewhere, in any combination', () => holds('unsafe names',
    fc.property(fc.array(fc.constantFrom(
      '.', '..', '/', '\\', 'a', 'A', ' ', 'nul', '\u200b', '\uff0e', ':', '\0', 'c:', '\u00e9', 'e\u0301'
    ), { maxLength: 6 }), pieces => {
      const name = pieces.join('')
      if (refusedOf([name]) !== undefined) return
      const seen = name.replaceAll('\u200b', '')
      expect(seen).to.not.match(/\0|[. ](\/|$)|^[a-z]:/i)
      const parts = seen.normalize('NFKC').split(/[/\\]/)
      expect(parts.some(part => ['', '.', '..'].includes(part)), name).to.equal(false)
      expect(refusedOf([name, name.toUpperCase()])).to.equal(name.toUpperCase())
    }), 500))

  it('refuses names that are too long, however deep they are', () => {
    const safe = new SafeNames({ isForWindows: false })
    for (const top of ['x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7']) {
      expect(() => safe.add(`${top}/${'a/'.repeat(32_000)}a`)).to.throw(/more than 4096 bytes/)
    }
  })

  it('shortens long names in messages', () => {
    const safe = new SafeNames({ isForWindows: false })
    expect(() => safe.add(`../${'x'.repeat(60_000)}`)).to.throw(/^.{1,400}$/)
  })
})

describe('fold', () => {
  it('is equal for characters that differ in case or normal form, and changes nothing twice', () => {
    for (let code = 1; code < 0x110000; code += code < 0x3000 ? 1 : strideAtEffort()) {
      if (code >= 0xd800 && code < 0xe000) continue
      const text = `x${String.fromCodePoint(code)}x`
      const key = fold(text)
      const others = [
        key, text.toLowerCase(), text.toUpperCase(), text.normalize('NFC'), text.normalize('NFD'),
        text.toLowerCase().toUpperCase(), text.toUpperCase().toLowerCase()
      ]
      for (const other of others) if (other !== text && fold(other) !== key) expect(fold(other), other).to.equal(key)
    }
  })
})

describe('compareNames', () => {
  /** Any characters but halves of those beyond U+FFFF. The strings of fast-check take half a second to be set up. */
  const names = fc.array(fc.oneof(fc.nat(0xff), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff })), {
    maxLength: 4
  }).map(codes => String.fromCodePoint(...codes))

  it('orders names as their bytes', () => holds('order of names', fc.property(
    names, names, (a, b) => {
      const [bytesA, bytesB] = [a, b].map(text => hex(new TextEncoder().encode(text)))
      expect(Math.sign(compareNames(a, b))).to.equal(bytesA < bytesB ? -1 : bytesA > bytesB ? 1 : 0)
    })))

  it('orders characters above U+FFFF after all others', () => {
    const names = ['\u{10000}', '\uffff', '\ue000', '\ud7ff', 'a']
    expect([...names].sort(compareNames)).to.deep.equal(names.reverse())
  })
})
