// Checks the import lines of all sources and tests.
//
// Imports run one way: bin to exchange, exchange to store, store to verifier and encoder, all of them to lib. There is
// no cycle of imports between files, nor between folders. Tests import entry points, so that internals can change
// without them.
import { existsSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect } from 'chai'
import { ROOT, filesIn, importsOf, targetsOf } from './support/imports.js'

const MAY_IMPORT = {
  lib: [],
  encoder: ['lib'],
  verifier: ['lib'],
  store: ['lib', 'encoder', 'verifier'],
  exchange: ['lib', 'encoder', 'verifier', 'store'],
  bin: ['lib', 'encoder', 'verifier', 'store', 'exchange']
}

const ENTRY_POINTS = [
  'lib', 'lib/hash', 'encoder', 'verifier', 'store', 'test/contract', 'exchange/blockstore', 'exchange/bucket',
  'exchange/collections', 'exchange/collections/node', 'exchange/download', 'exchange/http', 'exchange/http/node',
  'exchange/iroh', 'exchange/service-worker', 'exchange/transfer'
]
  .map(folder => `${folder}/index.js`)

/** The folders that `baobox/hash` loads. */
const HASHING = ['lib/core', 'lib/engine', 'lib/engine/kernel', 'lib/hash', 'lib/tree']

/** Tests that import internals which are not their own, and why. A name with a slash at its end is a folder. */
const IMPORT_INTERNALS = {
  'support/': 'helpers give the other tests access to internals',
  'lib/': 'unit tests of lib, whose files have few users outside of it',
  'bin/': 'unit tests of the command line, in one process',
  'contract/': 'the tests of the contract look into the databases',
  'bucket/': 'clocks and parts are shorter in tests',
  'fuzz/': 'parsers and limits of memory are fuzzed one by one',
  'browser/driven/demo.js': 'the demo page is served in this process',
  'browser/bundle.js': 'the worker is a file of its own for bundlers',
  'browser/driven/published.js': 'the command line runs as a process',
  'browser/kernel.test.js': 'the kernel is chosen by hand',
  'encoder/bad-input.test.js': 'counts the steps of a walk',
  'encoder/files.test.js': 'the same audit in spans of other lengths',
  'encoder/tail.test.js': 'the pairs of a tree of subtrees are compared with those of a tree of bytes',
  'encoder/write.test.js': 'the same tree in spans of other lengths',
  'verifier/audit-threads.test.js': 'the same audit in other pools and spans',
  'exchange/download/downloader.test.js': 'the downloader is given a book of mirrors',
  'store/write/import/page-writer.test.js': 'the same pages in spans of other lengths',
  'slow/collections.test.js': 'names are checked without making the millions of folders that they have',
  'slow/sparse.test.js': 'the same hash in spans of other lengths',
  'slow/disk/power-worker.js': 'a database of a store is tested alone',
  'store/storage/level/order.test.js': 'it makes the checksums of damaged tables right',
  'store/storage/disk/leveldb/files.test.js': 'it compares what a rescue copies with what LevelDB reads',
  'store/storage/opening/damaged-tables.test.js': 'it writes a seal with a right checksum',
  'store/storage/opening/rescue.test.js': 'it writes records that no call would write'
}

const folderOf = path => path.split('/')[0]

describe('imports', () => {
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

  it('of the guests of a store name only its entry point and its interface', () => {
    const open = ['store/index.js', 'store/interface.js']
    for (const file of filesIn('exchange')) {
      const targets = importsOf(file).flatMap(specifier => targetsOf(file, specifier))
      for (const target of targets.filter(target => folderOf(target) === 'store')) {
        expect(open, `${file} imports ${target}`).to.include(target)
      }
    }
  })

  it('are found in every folder', () => {
    for (const folder of ['lib', 'encoder', 'verifier']) expect(filesIn(folder), folder).to.not.have.length(0)
    expect(importsOf('lib/index.js')).to.include('./hash/hasher.js')
    expect(importsOf('encoder/index.js')).to.not.have.length(0)
  })

  it('name files that exist', () => {
    for (const file of Object.keys(MAY_IMPORT).flatMap(filesIn)) {
      for (const specifier of importsOf(file)) {
        const targets = targetsOf(file, specifier)
        if (specifier.startsWith('#')) expect(targets, `${file} imports ${specifier}`).to.not.have.length(0)
        for (const target of targets) {
          expect(existsSync(new URL(target, ROOT)), `${file} imports ${target}`).to.equal(true)
        }
      }
    }
  })

  it('have no cycle between files', () => {
    const done = new Set()
    const visit = (file, path) => {
      expect(path, `a cycle: ${[...path, file].join(' -> ')}`).to.not.include(file)
      if (done.has(file)) return
      for (const specifier of importsOf(file)) {
        for (const target of targetsOf(file, specifier)) visit(target, [...path, file])
      }
      done.add(file)
    }
    for (const file of Object.keys(MAY_IMPORT).flatMap(filesIn)) visit(file, [])
  })

  it('have no cycle between folders', () => {
    const targets = new Map()
    // No source in a folder imports that folder's entry point, so the entry point may import from any other.
    const files = Object.keys(MAY_IMPORT).flatMap(filesIn).filter(file => !ENTRY_POINTS.includes(file))
    for (const [from, to] of files.flatMap(neighbours)) {
      targets.set(from, (targets.get(from) ?? new Set()).add(to))
    }
    const done = new Set()
    const visit = (place, path) => {
      expect(path, `a cycle: ${[...path, place].join(' -> ')}`).to.not.include(place)
      if (done.has(place)) return
      for (const target of targets.get(place) ?? []) visit(target, [...path, place])
      done.add(place)
    }
    for (const place of targets.keys()) visit(place, [])
  })

  it('of baobox/hash load only hashing, and load hashStream when it is called', () => {
    const streams = '../parallel/hash-source.js'
    const loaded = new Set(['lib/hash/index.js'])
    for (const file of loaded) {
      expect(HASHING, file).to.include(dirname(file))
      for (const specifier of importsOf(file)) {
        expect(specifier, `${file} imports a package`).to.match(/^[.#]/)
        if (file !== 'lib/hash/index.js' || specifier !== streams) loaded.add(...targetsOf(file, specifier))
      }
    }
    expect(loaded).to.include('lib/hash/hasher.js')
    const source = readFileSync(new URL('lib/hash/index.js', ROOT), 'utf8')
    expect(source).to.include(`await import('${streams}')`)
    expect(source).to.not.include(`from '${streams}'`)
  })

  it('of tests name entry points, or a file in the folder that the test mirrors', () => {
    for (const file of filesIn('test').filter(file => !importsInternals(file))) {
      const mirrored = dirname(file).replace(/^test\//, '')
      for (const target of sourcesOf(file)) {
        if (dirname(target) !== mirrored) expect(ENTRY_POINTS, `${file} imports ${target}`).to.include(target)
      }
    }
  })

  it('of tests that may name other files do so', () => {
    for (const name of Object.keys(IMPORT_INTERNALS)) {
      const files = filesIn('test').filter(file => file.startsWith(`test/${name}`))
      const internals = files.flatMap(sourcesOf).filter(target => !ENTRY_POINTS.includes(target))
      expect(internals, `${name} needs no place in IMPORT_INTERNALS`).to.not.have.length(0)
    }
  })
})

/**
 * The imports of a file from other folders, as pairs of entries of the same folder. A file of `lib/hash`
 * that imports one of `lib/tree` gives ['lib/hash', 'lib/tree'].
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

const importsInternals = file => Object.keys(IMPORT_INTERNALS).some(name => file.startsWith(`test/${name}`))

/** The source files that a test imports by their paths. @param {string} file */
const sourcesOf = file => importsOf(file)
  .filter(specifier => specifier.startsWith('.'))
  .flatMap(specifier => targetsOf(file, specifier))
  .filter(target => folderOf(target) in MAY_IMPORT)
