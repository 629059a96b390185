// Compares the reference pages with the code: docs/api.md with the exports of the entry points, docs/errors.md with the
// codes of errors. `UPDATE_TABLE=1 npx mocha --no-config test/docs.test.js` writes the tables of contents.

import { expect } from 'chai'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { env } from 'node:process'
import { MemoryLevel } from 'memory-level'
import { BaoError, ChunkRanges, Hasher, Walk } from '../lib/index.js'
import { createOutboardSync, createProofSync, openOutboard } from '../encoder/index.js'
import { SliceSource, SliceVerifier, VerifiedReader, mirrorOf } from '../verifier/index.js'
import { BlobStore } from '../store/index.js'
import { asBlockstore } from '../exchange/blockstore/index.js'
import { Collection, Manifest } from '../exchange/collections/index.js'
import { LEFT_OUT as LEFT_OUT_OF_ENGINES } from './browser/engines/left-out.js'
import { LEFT_OUT } from './runtimes/left-out.js'
import { TITLES as LEFT_OUT_OF_WORKERD } from './runtimes/workerd/left-out.js'
import { anchorsOf, linksOf, withContents } from './support/links.js'

const ROOT = new URL('../', import.meta.url)
const read = path => readFileSync(new URL(path, ROOT), 'utf8')

/** The part of a page under a heading, up to the next one of its level. */
function sectionsOf (page, level) {
  const parts = page.split(new RegExp(`^${'#'.repeat(level)} (?=\`)`, 'm')).slice(1)
  return new Map(parts.map(part => [/^`([^`]*)`/.exec(part)[1], part]))
}

/** The names in the headings of a section: `hash(bytes) → ...` is hash, `class Hasher` is Hasher. */
const nameIn = signature => /^(?:class )?([\w$]+)/.exec(signature)[1]

/** The properties that engines give to every error. */
const OF_ERRORS = ['stack', 'message', 'line', 'column', 'sourceURL', 'originalLine', 'originalColumn']

describe('docs/api.md', () => {
  const entries = sectionsOf(read('docs/api.md'), 2)
  const { exports } = JSON.parse(read('package.json'))

  it('has a section for every entry point', () => {
    const paths = Object.keys(exports).filter(path => path !== './package.json')
    expect([...entries.keys()]).to.have.members(paths.map(path => path.replace('.', 'baobox')))
  })

  /** Names of classes that are returned and not exported. */
  const RETURNED = ['PagedOutboard', 'Tags', 'Aliases', 'TempTag', 'Blockstore']
  /** Names that another entry point explains. */
  const sharedIn = section => {
    const list = /^Exports of `baobox[^`]*`:([^.]*)/m.exec(section)?.[1] ?? ''
    return [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  }

  for (const [entry, section] of entries) {
    it(`lists exactly the exports of ${entry}`, async () => {
      const { default: file } = exports[entry.replace('baobox', '.')]
      const module = await import(new URL(file, ROOT))
      const constants = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
      const headings = [...sectionsOf(section, 3).keys()].map(nameIn).filter(name => !RETURNED.includes(name))
      expect([...constants, ...headings, ...sharedIn(section)]).to.have.members(Object.keys(module))
    })
  }

  it('says at least a sentence of every entry', () => {
    const bare = [...read('docs/api.md').matchAll(/^####? (`.*`)\n+(?=(.))/gm)]
      .filter(([, , next]) => !/[\w`'|]/.test(next))
    expect(bare.map(([, signature]) => signature)).to.deep.equal([])
  })

  describe('lists the members of', () => {
    const bytes = new Uint8Array(5000)
    const outboard = createOutboardSync(bytes, { groupLog: 0 })
    let store
    before(async () => { store = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() }) })
    after(() => store.close())

    /** One of each class. */
    const SAMPLES = {
      Hasher: () => new Hasher(),
      OutputReader: () => new Hasher().reader(),
      Walk: () => new Walk(0, 0),
      ChunkRanges: () => ChunkRanges.all,
      BaoError: () => new BaoError('STORE_CLOSED', ''),
      Outboard: () => outboard,
      PagedOutboard: () => openOutboard(outboard.bytes, outboard),
      Proof: () => createProofSync(bytes, outboard, { start: 0, end: 1 }),
      SliceVerifier: () => new SliceVerifier({ cid: outboard.root }),
      SliceSource: () => new SliceSource(bytes),
      VerifiedReader: () => new VerifiedReader({ cid: outboard.root, source: bytes, outboard }),
      Mirror: () => mirrorOf(store),
      BlobStore: () => store,
      Tags: () => store.tags,
      Aliases: () => store.aliases,
      TempTag: () => store.tempTag(),
      Blockstore: () => asBlockstore(store),
      Collection: () => Collection.from([]),
      Manifest: () => Manifest.from([])
    }
    /** Fields that the page describes as one thing: those of a step. */
    const TOGETHER = { Walk: Object.keys(new Walk(0, 0)) }
    /** Members for tests and for other parts of the library. */
    const INTERNAL = { TempTag: ['assertOf'], Walk: ['setSubtrees', 'lookInside'] }
    const classes = new Map([...entries.values()].flatMap(section => [...sectionsOf(section, 3)])
      .filter(([signature]) => signature.startsWith('class '))
      .map(([signature, section]) => [nameIn(signature), section]))

    it('every class', () => expect([...classes.keys()]).to.have.members(Object.keys(SAMPLES)))

    for (const [name, section] of classes) {
      it(name, async () => {
        const sample = await SAMPLES[name]()
        const instance = name[0].toLowerCase() + name.slice(1)
        const own = Object.getOwnPropertyNames(sample).filter(key => !OF_ERRORS.includes(key))
        const methods = Reflect.ownKeys(Object.getPrototypeOf(sample)).filter(key => key !== 'constructor')
        const statics = Object.getOwnPropertyNames(sample.constructor)
          .filter(key => !['length', 'name', 'prototype'].includes(key))
        const headings = [...sectionsOf(section, 4).keys()].filter(signature => !signature.startsWith(`new ${name}(`))
        const ofInstance = headings.filter(signature => !signature.startsWith(`${name}.`))
          .map(signature => signature.replace(instance, ''))
          .map(signature => signature.replace(/^\[(Symbol\.\w+)\].*/, '$1').replace(/^\.(\w+).*/, '$1'))
        const ofClass = headings.filter(signature => signature.startsWith(`${name}.`))
          .map(signature => /\.(\w+)/.exec(signature)[1])
        const leftOut = [...TOGETHER[name] ?? [], ...INTERNAL[name] ?? []]
        const members = [...own, ...methods].filter(key => !leftOut.includes(key))
          .map(key => typeof key === 'symbol' ? key.description.replace(/^nodejs\./, 'Symbol.') : key)
        expect(ofInstance, 'of an instance').to.have.members(members)
        expect(ofClass, 'of the class').to.have.members(RETURNED.includes(name) ? [] : statics)
        sample.release?.()
      })
    }
  })
})

describe('codes of errors', () => {
  const [, union] = /@typedef \{([^}]*)\} BaoErrorCode/.exec(read('lib/core/errors.js'))
  const codes = union.match(/[A-Z]+_[A-Z_]+/g)

  it('docs/errors.md explains every one', () => {
    const explained = [...read('docs/errors.md').matchAll(/^\| `([A-Z]+_[A-Z_]+)` \|/gm)].map(([, code]) => code)
    expect(explained.sort()).to.deep.equal([...codes].sort())
  })

  it('docs/errors.md has every one of the HTTP handler', () => {
    const files = readdirSync(new URL('exchange/http/', ROOT), { recursive: true }).filter(name => name.endsWith('.js'))
    const used = files.flatMap(name => read(`exchange/http/${name}`).match(/(?<=')HTTP_[A-Z_]+(?=')/g) ?? [])
    const explained = read('docs/errors.md').match(/HTTP_[A-Z]+[A-Z_]*[A-Z]/g)
    expect([...new Set(explained)].sort()).to.deep.equal([...new Set(used)].sort())
  })

  it('docs/api.md names no other', () => {
    const page = read('docs/api.md')
    const groups = codes.map(code => code.split('_')[0])
    const constants = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
    const names = [...page.matchAll(/`([A-Z]+(?:_[A-Z]+)+)\b/g)].map(([, name]) => name)
    const named = names.filter(name => groups.includes(name.split('_')[0]) && !constants.includes(name))
    expect(named).to.include('STORE_FULL')
    expect(named.filter(name => !codes.includes(name))).to.deep.equal([])
  })
})

it('docs/architecture.md lists every folder of source', () => {
  const withSubfolders = folder => [folder, ...readdirSync(new URL(`${folder}/`, ROOT), { withFileTypes: true })
    .filter(entry => entry.isDirectory()).flatMap(({ name }) => withSubfolders(`${folder}/${name}`))]
  const folders = ['lib', 'encoder', 'verifier', 'store', 'exchange', 'bin'].flatMap(withSubfolders)
  const listed = [...read('docs/architecture.md').matchAll(/^\| `([\w/-]+)` \|/gm)].map(([, name]) => name)
  expect(listed).to.have.members(folders)
})

it('docs/guide.md says how many tests are left out in each runtime', () => {
  const { chromium, firefox, webkit } = LEFT_OUT_OF_ENGINES
  const leftOut = {
    ...LEFT_OUT, Chromium: chromium, Firefox: firefox, WebKitGTK: webkit, workerd: LEFT_OUT_OF_WORKERD
  }
  const rows = [...read('docs/guide.md').matchAll(/^\| ([\w.]+)[^|]*\|[^|]*\| (\d+) \|/gm)].map(([, ...cells]) => cells)
  expect(rows).to.deep.equal(Object.entries(leftOut).map(([name, tests]) => [name, `${Object.keys(tests).length}`]))
})

describe('the documents', () => {
  const decisions = readdirSync(new URL('docs/decisions/', ROOT)).map(name => `docs/decisions/${name}`)
  const pages = readdirSync(new URL('docs/', ROOT)).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)
  const results = readdirSync(new URL('bench/results/', ROOT)).map(name => `bench/results/${name}`)
  const others = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/README.md']
  const all = [...others, ...pages, ...decisions, ...results]
  /** Anchors by the paths of their pages. */
  const anchors = new Map()

  for (const path of ['docs/api.md', 'docs/cli.md', 'docs/store.md']) {
    it(`${path} begins with its contents`, () => {
      const text = read(path)
      const expected = withContents(text)
      expect(expected).to.include('<!-- /contents -->')
      if (env.UPDATE_TABLE) writeFileSync(new URL(path, ROOT), expected)
      else expect(text, 'UPDATE_TABLE=1 writes it').to.equal(expected)
    })
  }

  for (const path of all) {
    it(`${path} has only links with a target`, () => {
      for (const { target, path: file, anchor } of linksOf(path, read(path))) {
        expect(!file.startsWith('..') && existsSync(new URL(file, ROOT)), `${target} is there`).to.equal(true)
        if (anchor === '') continue
        if (!anchors.has(file)) anchors.set(file, anchorsOf(read(file)))
        expect(anchors.get(file), target).to.include(anchor)
      }
    })

    it(`${path} names only existing files`, () => {
      const paths = /`((?:lib|encoder|verifier|store|exchange|bin|bench|test|docs|examples)\/[\w./-]*)`/g
      const names = [...read(path).matchAll(paths)].map(([, name]) => name)
      expect(names.filter(name => !name.includes('node_modules') && !existsSync(new URL(name, ROOT)))).to.deep.equal([])
    })

    it(`${path} has only lines of at most 120 characters`, () => {
      const long = read(path).split('\n').filter(line => line.length > 120 && !/^\||^<!--|https?:\/\/|^#/.test(line))
      expect(long).to.deep.equal([])
    })
  }
})

describe('links of a page', () => {
  it('to its sections are its contents', () => {
    const page = (contents, body) => `# A\n\n<!-- contents -->\n${contents}<!-- /contents -->\n\n${body}`
    const plain = ['## One', '### Two', '## Three, four', '```', '## no', '```'].join('\n')
    expect(withContents(page('old\n', plain))).to.equal(page('[One](#one) · [Three, four](#three-four)\n', plain))
    const reference = ['## `a/b`', '### `class C`', '#### `c.d`', '### `e(f) → g`', '## H'].join('\n')
    const rows = ['| [`a/b`](#ab) | [`C`](#class-c), [`e`](#ef--g) |', '| [H](#h) |  |', '']
    expect(withContents(page('', reference)))
      .to.equal(page(['| section | names |', '| --- | --- |', ...rows].join('\n'), reference))
  })

  it('are those outside of code, without those to other hosts', () => {
    const text = [
      'See [one](a.md#x), ![two](../b%20c.svg "title") and `[no](no.md)`, `no', '[no](no.md) no` [`hash`](#y)', '',
      '```sh', '[no](no.md)', '```', '<img src="d.svg"> [other](https://example.org/e) [out](../../../f)'
    ].join('\n')
    expect(linksOf('docs/page.md', text).map(({ path, anchor }) => [path, anchor])).to.deep.equal([
      ['docs/a.md', 'x'], ['b c.svg', ''], ['docs/page.md', 'y'], ['docs/d.svg', ''], ['../../f', '']
    ])
  })

  it('lead to anchors as GitHub makes them', () => {
    const text = [
      '# `hash(bytes, length = 32) → bytes`', '## A [link](x.md) of a_name', '## A link of a_name', '```sh',
      '# no heading', '```', '### 0.1.0 - ÜBER 10 % ##'
    ].join('\n')
    expect(anchorsOf(text)).to.deep.equal([
      'hashbytes-length--32--bytes', 'a-link-of-a_name', 'a-link-of-a_name-1', '010---über-10-'
    ])
  })
})
