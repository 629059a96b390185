// Folders are imported as collections: which files, under which names, and which of them are read.
import { linkSync, rmSync, symlinkSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import {
  chmod, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, unlink, utimes, writeFile
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import fc from 'fast-check'
import { fromCid, hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { Collection, getCollection } from '../../../../exchange/collections/index.js'
import { importDirectory } from '../../../../exchange/collections/node/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { newFolders, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { holds } from '../../../support/property.js'
import { expectSlip } from '../../../support/slips.js'
import { newStores, onDisk } from '../../../support/store/stores.js'
import { insteadOfClones } from '../../../support/store/writers.js'

const text = text => new TextEncoder().encode(text)

describe('importDirectory', () => {
  const newStore = newStores()
  const newFolder = newFolders()

  /** Makes a folder with files. Returns its path. */
  const folderOf = async (files, name = 'top') => {
    const path = join(await newFolder(), name)
    await mkdir(path)
    await writeFiles(path, files)
    return path
  }
  const namesOf = async (store, cid) => [...await getCollection(store, cid)].map(([name]) => name)

  it('names files as sendme does, sorted by their bytes, and keeps their bytes', async () => {
    const { store } = await newStore()
    const files = { B: '', 'a/b': 'ab', 'a.txt': 'text', 'a/c/d': noise(100_000), z: noise(3 * MIB, 2) }
    for (const [i, name] of ['\u{1f600}', '\u00e9', '\uffee'].entries()) files[name] = 'xyz'[i]
    const path = await folderOf(files)
    const sizes = []
    const onProgress = ({ type, detail }) => sizes.push([type, detail.files, detail.name])
    const { cid, length, size, unread, isNew } = await importDirectory(store, path, { onProgress })
    expect({ length, size, unread, isNew })
      .to.deep.equal({ length: 8, size: 6 + 100_000 + 3 * MIB + 3, unread: 0, isNew: true })
    const sorted = ['B', 'a.txt', 'a/b', 'a/c/d', 'z', '\u00e9', '\uffee', '\u{1f600}']
    const bytesOf = name => typeof files[name] === 'string' ? text(files[name]) : files[name]
    const expected = Collection.from(sorted.map(name => [`top/${name}`, hash(bytesOf(name))]))
    expect(await namesOf(store, cid)).to.deep.equal(sorted.map(name => `top/${name}`))
    expect(cid.toString()).to.equal(expected.cid.toString())
    for (const [name, member] of expected) {
      expect(same(await store.bytes(member), bytesOf(name.slice(4))), name).to.equal(true)
    }
    expect(sizes).to.deep.equal(sorted.map((name, i) => ['baobox:import', i + 1, `top/${name}`]))
  })

  it('takes a single file, a URL and an empty folder', async () => {
    const { store } = await newStore()
    const path = await folderOf({ file: 'content' })
    const one = await importDirectory(store, join(path, 'file'))
    expect(await namesOf(store, one.cid)).to.deep.equal(['file'])
    expect(await namesOf(store, (await importDirectory(store, pathToFileURL(path))).cid)).to.deep.equal(['top/file'])
    expect((await importDirectory(store, await folderOf({}))).length).to.equal(0)
  })

  it('names files by another top, or by none', async () => {
    const { store } = await newStore()
    const path = await folderOf({ 'a/b': 'x', c: 'y' })
    const names = async top => namesOf(store, (await importDirectory(store, path, { top })).cid)
    expect(await names('other')).to.deep.equal(['other/a/b', 'other/c'])
    expect(await names('')).to.deep.equal(['a/b', 'c'])
  })

  it('leaves out links, empty folders, pipes, and the store itself', async () => {
    const path = await folderOf({ file: 'x', 'folder/more': 'y' })
    await mkdir(join(path, 'empty'))
    await symlink(join(path, 'file'), join(path, 'link'))
    await symlink(join(path, 'folder'), join(path, 'linked'))
    await symlink('nowhere', join(path, 'broken'))
    if (process.platform !== 'win32') execFileSync('mkfifo', [join(path, 'pipe')])
    const store = await BlobStore.open(join(path, 'blobs'))
    try {
      const { cid } = await importDirectory(store, path, { known: join(path, 'known') })
      expect(await namesOf(store, cid)).to.deep.equal(['top/file', 'top/folder/more'])
    } finally {
      await store.close()
    }
  })

  it('leaves out folders that killed exports have left, at any depth', async () => {
    const { store } = await newStore()
    const left = '.baobox-export-aB3xYz'
    const path = await folderOf({ a: '1', [`${left}/top/b`]: '2', [`c/${left}/d`]: '3', [`e/${left}`]: 'a file' })
    expect(await namesOf(store, (await importDirectory(store, path)).cid)).to.deep.equal(['top/a', `top/e/${left}`])
    const asked = await importDirectory(store, join(path, left), { top: 'left' })
    expect(await namesOf(store, asked.cid)).to.deep.equal(['left/top/b'])
  })

  it('takes the files that patterns choose', async () => {
    const { store } = await newStore()
    const paths = [
      'a.js', 'b.log', 'keep.log', 'node_modules/x/y.js', 'src/c.js', 'src/node_modules/d.js', 'build/e.js',
      'src/build/f.js', 'A.JS'
    ]
    const path = await folderOf(Object.fromEntries(paths.map(path => [path, ''])))
    const names = async options => {
      const all = await namesOf(store, (await importDirectory(store, path, { top: '', ...options })).cid)
      return all.join(' ')
    }
    expect(await names({ ignore: ['node_modules', '/build', '*.log', '!keep.log'] }))
      .to.equal('A.JS a.js keep.log src/build/f.js src/c.js')
    expect(await names({ include: ['*.js'], ignore: ['node_modules/', 'build'] })).to.equal('a.js src/c.js')
    expect(await names({ include: ['/src'] })).to.equal('src/build/f.js src/c.js src/node_modules/d.js')
    expect(await names({ include: [] })).to.equal('')
    expect(await names({ ignore: [] })).to.include('b.log build/e.js')
  })

  it('reads no long file through a link that has replaced it, nor another file in its place', async () => {
    const secret = noise(2 * MIB, 99)
    for (const put of [symlinkSync, linkSync]) {
      const place = await onDisk()
      const store = await place.open()
      const path = await folderOf({ long: noise(2 * MIB) })
      await writeFile(join(path, '..', 'private'), secret)
      const clones = insteadOfClones(file => {
        rmSync(file)
        put(join(path, '..', 'private'), file)
      })
      try {
        const error = await errorOf(importDirectory(store, path))
        expect(error).to.include({ code: 'BAO_SOURCE_CHANGED', location: join(path, 'long') })
        expect(await store.has(hash(secret))).to.equal(false)
      } finally {
        clones.end()
        await place.remove()
      }
    }
  })

  it('protects the members during the call, and then by the tag', async () => {
    const { store } = await newStore()
    const files = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}`, noise(100 + i * 3000, i)]))
    const path = await folderOf(files)
    let collected
    const onProgress = ({ detail }) => { if (detail.files === 25) collected = store.gc() }
    const { cid } = await importDirectory(store, path, { tag: 'all', onProgress })
    expect(await collected).to.deep.include({ blobs: 0 })
    expect(await store.gc()).to.deep.include({ blobs: 0 })
    for (const [, member] of await getCollection(store, cid)) expect(await store.has(member)).to.equal(true)
    await store.tags.delete('all')
    expect(await store.gc()).to.deep.include({ blobs: 52 })
  })

  it('works under a quota that is just large enough', async () => {
    const { store } = await newStore({ quota: 30_000 })
    await store.put(noise(25_000, 99)) // this one is evicted
    const path = await folderOf({ a: noise(9000, 1), b: noise(9000, 2), c: noise(9000, 3) })
    const { cid } = await importDirectory(store, path, { tag: 'all' })
    for (const [, member] of await getCollection(store, cid)) expect(await store.has(member)).to.equal(true)
    await writeFiles(path, { d: noise(9000, 4) })
    expect(await errorOf(importDirectory(store, path))).to.include({ code: 'STORE_FULL' })
    expect((await getCollection(store, cid)).length).to.equal(3)
  })

  it('keeps references to files above 16 KiB if asked to', async () => {
    const place = await onDisk()
    const store = await place.open()
    try {
      const path = await folderOf({ small: noise(1000), long: noise(20_000, 2), longer: noise(2 * MIB, 3) })
      const { cid } = await importDirectory(store, path, { mode: 'reference' })
      const collection = await getCollection(store, cid)
      for (const name of ['small', 'long', 'longer']) await unlink(join(path, name))
      expect(await store.bytes(collection.get('top/small'))).to.have.length(1000)
      for (const name of ['top/long', 'top/longer']) {
        expect(await errorOf(store.bytes(collection.get(name)))).to.include({ code: 'STORE_MISSING' })
      }
    } finally {
      await place.remove()
    }
  })

  it('gives the same CID again, also for another folder with the same files', () => holds('import twice',
    fc.asyncProperty(fc.dictionary(
      fc.stringMatching(/^([A-Z]{1,3}\/){0,2}[a-z]{1,3}$/), fc.uint8Array({ maxLength: 100 }), { maxKeys: 8 }
    ), async files => {
      const { store } = await newStore()
      const [one, other] = [await folderOf(files), await folderOf(files)]
      const { cid } = await importDirectory(store, one)
      expect(`${(await importDirectory(store, other)).cid}`).to.equal(`${cid}`)
      expect(await importDirectory(store, one)).to.deep.include({ cid, isNew: false })
    }), 20))

  describe('with a file of known files', () => {
    const old = new Date('2020-01-01')
    const six = { a: 'one', b: 'two', c: 'three', d: noise(2 * MIB), 'e/f': 'four', gone: 'five' }
    const two = { a: 'one', b: '' }
    const three = { small: noise(1000, 5), middle: noise(50_000, 6), long: noise(2 * MIB, 7) }
    /** Folders that, by the clock of the tests, were changed so long ago that their files are remembered. */
    const settled = []
    let location
    const { now } = Date
    beforeEach(() => { Date.now = () => now() + 2100 })
    afterEach(() => { Date.now = now })
    before(async () => {
      location = await mkdtemp(join(tmpdir(), 'baobox-'))
      for (const files of [six, two, two, three]) {
        const path = join(location, String(settled.length), 'top')
        await writeFiles(path, files)
        for (const name of Object.keys(files)) await utimes(join(path, name), old, old)
        settled.push(path)
      }
    })
    after(() => rm(location, { recursive: true }))

    /** Writes a file that keeps its size and time, but not its time of change. Deno tells that one in seconds. */
    async function rewrite (path, content) {
      const { ctimeNs } = await stat(path, { bigint: true })
      do {
        await writeFile(path, content)
        await utimes(path, old, old)
      } while ((await stat(path, { bigint: true })).ctimeNs === ctimeNs)
    }

    it('reads only files that have changed', async () => {
      const { store } = await newStore()
      const path = settled[0]
      const run = () => importDirectory(store, path, { known: join(location, 'known') })
      expect(await run()).to.include({ length: 6, unread: 0, isNew: true })
      expect(await run()).to.include({ length: 6, unread: 6, isNew: false })

      await rewrite(join(path, 'b'), 'TWO')
      await rename(join(path, 'a'), join(path, 'A'))
      await unlink(join(path, 'gone'))
      await writeFiles(path, { new: 'six' })
      const { cid, unread } = await run()
      expect(unread).to.equal(3)
      const collection = await getCollection(store, cid)
      expect([...collection].map(([name]) => name))
        .to.deep.equal(['top/A', 'top/b', 'top/c', 'top/d', 'top/e/f', 'top/new'])
      expect(same(fromCid(collection.get('top/b')), hash(text('TWO')))).to.equal(true)
      expect(`${(await importDirectory(store, path)).cid}`).to.equal(`${cid}`)
    })

    it('reads files again that were changed shortly before the import', async () => {
      const time = now()
      Date.now = () => time
      const { store } = await newStore()
      const path = await folderOf(two)
      const known = join(location, 'fresh')
      for (let i = 0; i < 2; i++) expect(await importDirectory(store, path, { known })).to.include({ unread: 0 })
    })

    it('reads files again whose blobs the store no longer has', async () => {
      const { store } = await newStore()
      const known = join(location, 'lost')
      const { cid } = await importDirectory(store, settled[1], { known })
      await store.delete(hash(text('one')))
      const again = await importDirectory(store, settled[1], { known })
      expect(again).to.include({ unread: 1 })
      expect(`${again.cid}`).to.equal(`${cid}`)
      expect(await store.has(hash(text('one')))).to.equal(true)
    })

    it('reads references again if copies are asked for, and files that were moved', async () => {
      const place = await onDisk()
      const store = await place.open()
      try {
        const known = join(location, 'referred')
        const path = settled[3]
        const run = (mode, from = path) => importDirectory(store, from, { mode, known, tag: 'all' })
        expect(await run('reference')).to.include({ unread: 0 })
        expect(await run('reference')).to.include({ unread: 3 })
        const moved = join(location, 'moved', 'top')
        await mkdir(join(location, 'moved'))
        await rename(path, moved)
        expect(await run('reference', moved)).to.include({ unread: 1 })
        const { cid, unread } = await run('copy', moved)
        expect(unread).to.equal(1)
        await rm(moved, { recursive: true })
        const collection = await getCollection(store, cid)
        for (const [name, bytes] of Object.entries(three)) {
          expect(same(await store.bytes(collection.get(`top/${name}`)), bytes), name).to.equal(true)
        }
      } finally {
        await place.remove()
      }
    })

    it('leaves no file when the store is closed', async () => {
      const { store } = await newStore()
      const path = await folderOf(two)
      await store.close()
      const known = join(path, '..', 'known')
      expect(await errorOf(importDirectory(store, path, { known }))).to.include({ code: 'STORE_CLOSED' })
      expect(await readdir(join(path, '..'))).to.deep.equal(['top'])
    })

    it('reads all files when that file is invalid, and leaves it as it was when the import fails', async () => {
      const { store } = await newStore()
      const known = join(location, 'junk')
      const run = () => importDirectory(store, settled[2], { known })
      const head = 'baobox known files 1\n'
      for (const junk of ['', 'junk', '\n\n', `${head}junk\n`, `${head}["top/a",3]\n[5]`]) {
        await writeFile(known, junk)
        expect(await run(), junk).to.include({ unread: 0 })
      }
      expect(await run()).to.include({ unread: 2 })
      const failed = importDirectory(store, join(settled[2], 'nowhere'), { known })
      expect((await errorOf(failed)).code).to.equal('ENOENT')
      expect(await run()).to.include({ unread: 2 })
      expect((await readdir(location)).filter(name => name.endsWith('.part'))).to.deep.equal([])
    })
  })

  describe('with onError goes on', () => {
    /** Imports a folder. Returns the names in the collection, and those that failed with the codes of their errors. */
    const imported = async (store, path, options) => {
      const failed = []
      const onError = ({ name, error }) => failed.push([name, error.code])
      const { cid, length } = await importDirectory(store, path, { onError, ...options })
      const names = await namesOf(store, cid)
      expect(names).to.have.length(length)
      return { names, failed }
    }

    it('past names that are not paths on other systems, or not text', async function () {
      if (process.platform !== 'linux') this.skip()
      const { store } = await newStore()
      const path = await folderOf({ 'a/back\\slash': 'x', 'a/b': 'b', 'odd\ufffd': 'text', z: 'z' })
      const odd = (...parts) => Buffer.concat([Buffer.from(`${path}/`), ...parts.map(part => Buffer.from(part))])
      await writeFile(odd('odd', [0xff]), 'as written, the same name')
      await writeFile(odd('f', [0xff]), 'no text')
      await mkdir(odd('folder', [0xfe]))
      await writeFile(odd('folder', [0xfe], '/inner'), 'x')
      expect(await imported(store, path)).to.deep.equal({
        names: ['top/a/b', 'top/odd\ufffd', 'top/z'],
        failed: [
          ['top/odd\ufffd', 'PATH_UNSAFE'], ['top/a/back\\slash', 'PATH_UNSAFE'], ['top/folder\ufffd', 'PATH_UNSAFE'],
          ['top/f\ufffd', 'PATH_UNSAFE']
        ]
      })
    })

    it('past files and folders that are gone, or cannot be read', async () => {
      const { store } = await newStore()
      // The walk waits for the long files.
      const files = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`f${i}`, noise(i < 6 ? 2 * MIB : 10, i)]))
      const path = await folderOf({ ...files, 'z/z': 'z' })
      const onProgress = () => {
        for (const name of ['f8', 'z']) rmSync(join(path, name), { recursive: true, force: true })
      }
      const { names, failed } = await imported(store, path, { onProgress })
      expect(names).to.deep.equal(Object.keys(files).slice(0, -1).map(name => `top/${name}`))
      expect(failed).to.deep.equal([['top/f8', 'ENOENT'], ['top/z', 'ENOENT']])
      if (process.platform === 'win32' || process.getuid() === 0) return
      await chmod(join(path, 'f0'), 0)
      expect((await imported(store, path)).failed).to.deep.equal([['top/f0', 'EACCES']])
    })

    it('past a long file that something replaces while it is read', async () => {
      const place = await onDisk()
      const store = await place.open()
      const path = await folderOf({ a: 'a', long: noise(2 * MIB), z: 'z' })
      const clones = insteadOfClones(file => {
        rmSync(file)
        symlinkSync(join(path, 'a'), file)
      })
      try {
        expect(await imported(store, path))
          .to.deep.equal({ names: ['top/a', 'top/z'], failed: [['top/long', 'BAO_SOURCE_CHANGED']] })
      } finally {
        clones.end()
        await place.remove()
      }
    })

    it('but not past errors of the store, its signal or its callers', async () => {
      const { store } = await newStore({ quota: 1000 })
      const path = await folderOf({ a: noise(2000), b: 'b' })
      const onError = () => expect.fail('this is not the error of a file')
      expect((await errorOf(importDirectory(store, path, { onError }))).code).to.equal('STORE_FULL')
      const signal = AbortSignal.abort(new Error('enough'))
      expect((await errorOf(importDirectory(store, path, { onError, signal }))).message).to.equal('enough')
      expect((await errorOf(importDirectory(store, join(path, 'none'), { onError }))).code).to.equal('ENOENT')
      const angry = () => { throw new Error('mine') }
      await writeFiles(path, { a: 'a', 'back\\slash': 'x' })
      if (process.platform === 'win32') return
      expect((await errorOf(importDirectory(store, path, { onError: angry }))).message).to.equal('mine')
    })
  })

  describe('refuses', () => {
    it('names that are no paths on other systems', async function () {
      if (process.platform === 'win32') this.skip()
      const { store } = await newStore()
      const path = await folderOf({ 'back\\slash': 'x' })
      expect(await errorOf(importDirectory(store, path)))
        .to.include({ code: 'PATH_UNSAFE', entry: 'top/back\\slash' })
      expect(await errorOf(importDirectory(store, join(path, 'back\\slash'))))
        .to.include({ code: 'PATH_UNSAFE', entry: 'back\\slash' })
    })

    it('names that are no text', async function () {
      if (process.platform !== 'linux') this.skip()
      const { store } = await newStore()
      const path = await folderOf({ 'odd\ufffd': 'this one is text' })
      expect(await importDirectory(store, path)).to.include({ length: 1 })
      for (const bytes of [[0x66, 0xff], [0x6f, 0x64, 0x64, 0xff]]) {
        const other = await folderOf(bytes[0] === 0x66 ? {} : { 'odd\ufffd': 'this one is text' })
        await writeFile(Buffer.concat([Buffer.from(`${other}/`), Buffer.from(bytes)]), 'x')
        expect(await errorOf(importDirectory(store, other))).to.include({ code: 'PATH_UNSAFE' })
      }
    })

    it('paths that do not exist or cannot be read', async function () {
      const { store } = await newStore()
      const path = await folderOf({ 'a/b': 'x' })
      expect((await errorOf(importDirectory(store, join(path, 'c')))).code).to.equal('ENOENT')
      if (process.platform === 'win32' || process.getuid() === 0) return
      await chmod(join(path, 'a'), 0)
      expect((await errorOf(importDirectory(store, path))).code).to.equal('EACCES')
      await chmod(join(path, 'a'), 0o700)
    })

    it('wrong arguments', async () => {
      const { store } = await newStore()
      const path = await folderOf({ a: 'x' })
      await expectSlip('store', () => importDirectory({}, path))
      await expectSlip('mode', () => importDirectory(store, path, { mode: 'move' }))
      await expectSlip('odd', () => importDirectory(store, path, { odd: 1 }))
      for (const bad of ['*.js', [5], {}]) {
        await expectSlip('include', () => importDirectory(store, path, { include: bad }))
        await expectSlip('ignore', () => importDirectory(store, path, { ignore: bad }))
      }
      await expectSlip('top', () => importDirectory(store, path, { top: 5 }))
      await expectSlip('onError', () => importDirectory(store, path, { onError: true }))
    })

    it('to go on after its signal has aborted', async () => {
      const { store } = await newStore()
      const path = await folderOf(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, noise(10, i)])))
      const controller = new AbortController()
      const onProgress = () => controller.abort(new Error('enough'))
      const aborted = importDirectory(store, path, { signal: controller.signal, onProgress, tag: 'a' })
      expect((await errorOf(aborted)).message).to.equal('enough')
      expect(await store.tags.get('a')).to.equal(undefined)
    })
  })
})
