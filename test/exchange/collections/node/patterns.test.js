// Patterns are applied to untrusted paths: the names of a collection.
import { expect } from 'chai'
import { selectionOf } from '../../../../exchange/collections/node/patterns.js'

describe('the selection of files', () => {
  it('matches no name that is too long for a path, however many parts it has', () => {
    for (const name of [`${'a/'.repeat(30_000)}a.log`, `${'a/'.repeat(2047)}a.log`, `${'x'.repeat(4096)}.log`]) {
      expect(selectionOf({ ignore: ['*.log', 'a'] }).hasFile(name)).to.equal(true)
      expect(selectionOf({ include: ['*.log', 'a'] }).hasFile(name)).to.equal(false)
    }
    const longest = `${'b/'.repeat(2045)}b.log`
    expect(longest).to.have.length(4095)
    expect(selectionOf({ ignore: ['*.log'] }).hasFile(longest)).to.equal(false)
    expect(selectionOf({ include: ['*.log'] }).hasFile(longest)).to.equal(true)
  })

  it('gives the same result for a path after any others', () => {
    const { hasFile } = selectionOf({ ignore: ['*.log', '/a/b'] })
    for (let i = 0; i < 12; i++) {
      expect(hasFile(`${`${i}/`.repeat(1300)}x`)).to.equal(true)
      expect(hasFile(`${`${i}/`.repeat(1300)}x.log`)).to.equal(false)
      expect(hasFile('a/b/c')).to.equal(false)
    }
  })
})
