// Names that an export would refuse are found while sorted names are read.
import { expect } from 'chai'
import fc from 'fast-check'
import { UnsafeNames } from '../../../../exchange/collections/node/unsafe-names.js'
import { HARMLESS, TRICKS } from '../../../support/path-tricks.js'
import { holds } from '../../../support/property.js'
import { inOrderOfNames, refusedAmong } from '../../../support/refused-names.js'

describe('UnsafeNames', () => {
  /** The result for these names. */
  function toldOf (names) {
    const unsafe = new UnsafeNames()
    for (const name of names) unsafe.note(name)
    return { count: unsafe.count, names: unsafe.names }
  }

  it('finds the names that SafeNames refuses, and no harmless names', () => {
    for (const list of [...Object.values(TRICKS), ...HARMLESS]) {
      const names = inOrderOfNames(list)
      const refused = refusedAmong(names)
      expect(toldOf(names), list[0]).to.deep.equal({ count: refused.length, names: refused })
    }
  })

  it('finds the names that SafeNames refuses in any combination of parts', () => holds('names in order',
    fc.property(fc.array(fc.array(fc.constantFrom(
      'a', 'A', 'b', 'c', 'aux', 'a.txt', 'a-', 'A!', '\u00e9', 'e\u0301', 'E\u0301', 'ss', '\u00df', '\u1e9e', '..', ''
    ), { minLength: 1, maxLength: 4 }).map(parts => parts.join('/')), { maxLength: 12 }), list => {
      // A folder cannot have a file and a folder of one name.
      const names = inOrderOfNames(list).filter((name, _i, all) => !all.some(other => other.startsWith(`${name}/`)))
      const refused = refusedAmong(names)
      expect(toldOf(names)).to.deep.equal({ count: refused.length, names: refused.slice(0, 10) })
    }), 1000))

  it('keeps ten names, and counts all', () => {
    const names = inOrderOfNames(Array.from({ length: 30 }, (_, i) => `top/aux.${i}`))
    expect(toldOf(names)).to.deep.equal({ count: 30, names: names.slice(0, 10) })
  })
})
