// Imports run one way: bin to store, store to verifier and encoder, all of them to lib. Inside these, folders are rooms: no two rooms import
// each other, not even in a circle, and a room is entered through its face. The import lines of all sources are read and checked.
import { readFileSync, readdirSync, existsSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = new URL('../', import.meta.url)

const MAY_IMPORT = {
  lib: [],
  encoder: ['lib'],
  verifier: ['lib'],
  store: ['lib', 'encoder', 'verifier'],
  bin: ['lib', 'encoder', 'verifier', 'store']
}

/** At most so many files and folders in a folder of source. */
const MOST_ENTRIES = 9

const filesIn = folder => existsSync(new URL(folder, ROOT))
  ? readdirSync(new URL(folder, ROOT), { recursive: true }).filter(name => name.endsWith('.js')).map(name => `${folder}/${name}`)
  : []

/** Static and dynamic imports, re-exports, and modules named to `new URL` (workers). Comments may hold JSDoc types only. */
const IMPORT = /^\s*(?:import|export)\b[^'"`;]*?from\s*['"]([^'"]+)['"]|^\s*import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|\bnew URL\(\s*['"]([^'"]+\.js)['"]\s*,\s*import\.meta\.url/gm

const importsOf = file => [...withoutComments(readFileSync(new URL(file, ROOT), 'utf8')).matchAll(IMPORT)]
  .map(match => match.slice(1).find(name => name !== undefined))

const withoutComments = source => source.replace(/\/\*\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

/** Names that package.json gives to files of ours: `#files`, and what the package exports. */
const { name: PACKAGE, imports = {} } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))

/** The files of ours that an import may mean, as paths from the root; none for packages and what Node brings. */
function targetsOf (file, specifier) {
  if (specifier.startsWith('.')) return [relative(fileURLToPath(ROOT), fileURLToPath(new URL(specifier, new URL(file, ROOT)))).replaceAll('\\', '/')]
  if (specifier.startsWith('#')) return leavesOf(imports[specifier]).map(path => path.replace(/^\.\//, ''))
  if (specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`)) return [`the package's own name (${specifier})`]
  return []
}

const leavesOf = value => typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(leavesOf)

const folderOf = path => path.split('/')[0]

describe('the import arrow', () => {
  for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
    it(`${folder} imports from ${allowed.join(', ') || 'nowhere else'}`, () => {
      for (const file of filesIn(folder)) {
        for (const specifier of importsOf(file)) {
          for (const target of targetsOf(file, specifier)) {
            expect([folder, ...allowed], `${file} imports ${target}`).to.include(folderOf(target))
          }
        }
      }
    })
  }

  it('was read: the folders have files, and those have imports', () => {
    for (const folder of ['lib', 'encoder', 'verifier']) expect(filesIn(folder), folder).to.not.have.length(0)
    expect(importsOf('lib/index.js')).to.include('./hash/hasher.js')
    expect(importsOf('encoder/index.js')).to.not.have.length(0)
  })

  it('names files that exist', () => {
    for (const file of Object.keys(MAY_IMPORT).flatMap(filesIn)) {
      for (const specifier of importsOf(file)) {
        if (specifier.startsWith('#')) expect(targetsOf(file, specifier), `${file} imports ${specifier}`).to.not.have.length(0)
        for (const target of targetsOf(file, specifier)) expect(existsSync(new URL(target, ROOT)), `${file} imports ${target}`).to.equal(true)
      }
    }
  })

  it('runs in no circle, not even within a folder', () => {
    const done = new Set()
    const visit = (file, path) => {
      expect(path, `a circle: ${[...path, file].join(' -> ')}`).to.not.include(file)
      if (done.has(file)) return
      for (const specifier of importsOf(file)) {
        for (const target of targetsOf(file, specifier)) visit(target, [...path, file])
      }
      done.add(file)
    }
    for (const file of Object.keys(MAY_IMPORT).flatMap(filesIn)) visit(file, [])
  })

  it('runs in no circle between folders', () => {
    const targets = new Map()
    for (const [from, to] of Object.keys(MAY_IMPORT).flatMap(filesIn).flatMap(neighbours)) {
      targets.set(from, (targets.get(from) ?? new Set()).add(to))
    }
    const done = new Set()
    const visit = (place, path) => {
      expect(path, `a circle: ${[...path, place].join(' -> ')}`).to.not.include(place)
      if (done.has(place)) return
      for (const target of targets.get(place) ?? []) visit(target, [...path, place])
      done.add(place)
    }
    for (const place of targets.keys()) visit(place, [])
  })

  it(`leads to no folder with more than ${MOST_ENTRIES} entries`, () => {
    const folders = new Set(Object.keys(MAY_IMPORT).flatMap(filesIn).map(dirname))
    for (const folder of folders) {
      expect(readdirSync(new URL(folder, ROOT)), folder).to.have.length.of.at.most(MOST_ENTRIES)
    }
  })
})

/**
 * What a file imports from other folders, as pairs of places that lie side by side in one folder: a file of `lib/hash` that imports one of
 * `lib/tree` gives ['lib/hash', 'lib/tree'].
 *
 * @param {string} file
 */
function neighbours (file) {
  return importsOf(file).flatMap(specifier => targetsOf(file, specifier)).map(target => {
    const [from, to] = [file.split('/'), target.split('/')]
    const shared = from.findIndex((name, i) => name !== to[i])
    return [from, to].map(names => names.slice(0, shared + 1).join('/'))
  })
}
