import { expect } from 'chai'
import { Folders } from '../../../../exchange/http/sites/folders.js'

/** Files whose names are counted when they are read. */
function filesOf (names) {
  const files = Object.assign(new Map(names.map(name => [name, {}])), { read: 0 })
  files.keys = function * () {
    for (const name of names) {
      files.read++
      yield name
    }
  }
  return files
}

describe('the folders of a site', () => {
  it('are found without reading all names each time', () => {
    const files = filesOf(Array.from({ length: 1000 }, (_, i) => `folder ${i % 10}/file ${i}`))
    const folders = new Folders(() => files.keys())
    expect(files.read, 'before a folder is looked for').to.equal(0)
    for (let i = 0; i < 100; i++) {
      expect(folders.has(`none ${i}/`)).to.equal(false)
      expect(folders.has(`folder ${i % 10}/`)).to.equal(true)
      expect([...folders.entriesOf('')])
        .to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(i => [100 * i, `folder ${i}/`]))
    }
    expect(files.read).to.equal(1000)
  })

  it('have every file and folder once, for all short names', () => {
    const names = ['']
    for (const name of names) if (name.length < 4) names.push(...['.', '/', '0', 'é'].map(end => name + end))
    for (const some of [names, names.filter((_, i) => i % 3 === 0), names.filter((_, i) => i % 7 === 1), []]) {
      const folders = new Folders(() => [...some, ...some.slice(0, 3)])
      for (const path of names.filter(name => name === '' || name.endsWith('/'))) {
        const inside = some.filter(name => name.startsWith(path) && name !== path)
          .map(name => /^[^/]*\/?/.exec(name.slice(path.length))[0])
        const entries = [...folders.entriesOf(path)]
        expect(entries.map(([, entry]) => entry), path).to.deep.equal([...new Set(inside)].sort())
        for (const [i, [index]] of entries.entries()) {
          expect([...folders.entriesOf(path, index)], path).to.deep.equal(entries.slice(i))
        }
        for (const index of [-1, folders.start(path) - 1, some.length]) {
          expect([...folders.entriesOf(path, index)], path).to.deep.equal([])
        }
        expect(folders.has(path), path).to.equal(some.some(name => name.startsWith(path)))
      }
    }
  })
})
