// Collections are exported to folders. Whatever their names are, nothing outside of the folder is touched.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { link, lstat, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { fromCid, hash } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { Manifest, putCollection, putManifest } from '../../../../exchange/collections/index.js'
import { exportDirectory, importDirectory } from '../../../../exchange/collections/node/index.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { filesBelow, newFolders, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { HARMLESS, NOT_IN_WINDOWS, TRICKS } from '../../../support/path-tricks.js'
import { holds } from '../../../support/property.js'
import { expectSlip } from '../../../support/slips.js'
import { damageRecord, flipStoredByte } from '../../../support/store/inspect.js'
import { newStores, onDisk, sliceOf } from '../../../support/store/stores.js'

const text = text => new TextEncoder().encode(text)
const MODES = ['copy', 'reflink', 'link']

describe('exportDirectory', () => {
  const newStore = newStores()
  const newFolder = newFolders()

  /** A collection whose entries have their own names as content. */
  async function collectionOf (store, names) {
    const { cid: member } = await store.put(text('content'))
    return (await putCollection(store, names.map(name => [name, member]))).cid
  }

  describe('writes nothing for', () => {
    for (const [what, names] of Object.entries(TRICKS)) {
      it(what, async () => {
        const { store } = await newStore()
        const folder = await newFolder()
        await writeFiles(folder, { out: 'mine', 'top/out': 'mine, too', 'target/mine': 'here' })
        const before = await filesBelow(folder)
        // Entries before the trick are not written either.
        const cid = await collectionOf(store, ['first', ...names])
        const error = await errorOf(exportDirectory(store, cid, join(folder, 'target')))
        expect(error).to.include({ code: 'PATH_UNSAFE', entry: names[names.length - 1] })
        const fresh = await errorOf(exportDirectory(store, cid, join(folder, 'fresh')))
        expect(fresh).to.include({ code: 'PATH_UNSAFE' })
        expect(await filesBelow(folder)).to.deep.equal(before)
      })
    }
  })

  it('writes nothing for a manifest with a path that leads out of the folder', async () => {
    const { store } = await newStore()
    const folder = await newFolder()
    const { cid: src } = await store.put(text('content'))
    for (const path of ['/../out', '//out', '/a/../../out', '/a/', '/C:/out']) {
      const { cid } = await putManifest(store, Manifest.from([['/first', { src }], [path, { src }]]))
      const error = await errorOf(exportDirectory(store, cid, join(folder, 'target')))
      expect(error).to.include({ code: 'PATH_UNSAFE', entry: path.slice(1) })
      expect(await filesBelow(folder)).to.deep.equal({})
    }
  })

  it('writes a manifest, by its CID or by that of its sequence', async () => {
    const { store } = await newStore()
    const [page, style] = [await store.put(text('page')), await store.put(text('style'))]
    const { cid, sequence } = await putManifest(store, Manifest.from([
      ['/', { src: page.cid }], ['/css/main.css', { src: style.cid, 'content-type': 'text/css' }]
    ]), { tag: 'site' })
    for (const name of [cid, sequence]) {
      const folder = await newFolder()
      expect(await exportDirectory(store, name, folder)).to.deep.equal({ length: 2, size: 9 })
      expect(await filesBelow(folder)).to.deep.equal({ 'index.html': 'page', 'css/': '', 'css/main.css': 'style' })
    }
  })

  it('writes a manifest whose blobs have names of another hash function', async () => {
    const { store } = await newStore()
    const src = CID.createV1(0x55, await sha256.digest(text('page')))
    const { cid } = await store.put(Manifest.from([['/page', { src }]]).toBytes())
    const folder = await newFolder()
    const error = await errorOf(exportDirectory(store, cid, folder))
    expect(error).to.include({ code: 'STORE_NOT_FOUND' })
    expect(`${error.cid}`).to.equal(`${src}`)
    await asBlockstore(store).put(src, text('page'))
    await exportDirectory(store, cid, folder)
    expect(await filesBelow(folder)).to.deep.equal({ page: 'page' })
  })

  it('writes harmless names', async () => {
    const { store } = await newStore()
    for (const names of [...HARMLESS, ...process.platform === 'win32' ? [] : NOT_IN_WINDOWS]) {
      const folder = await newFolder()
      await exportDirectory(store, await collectionOf(store, names), folder)
      const files = Object.entries(await filesBelow(folder)).filter(([name]) => !name.endsWith('/'))
      expect(files.map(([name]) => name).sort()).to.deep.equal([...names].sort())
      expect(files.every(([, content]) => content === 'content')).to.equal(true)
    }
  })

  describe('leaves the target as it was when', () => {
    /** Exports `top/a` and `other` to a prepared folder, and expects the export to fail. */
    async function fails (prepare, code) {
      const { store } = await newStore()
      const folder = await newFolder()
      await writeFiles(folder, { 'outside/file': 'mine', 'target/mine': 'here' })
      const target = join(folder, 'target')
      await prepare({ target, outside: join(folder, 'outside'), store })
      const before = await filesBelow(folder)
      const cid = await collectionOf(store, ['a', 'other', 'top/a'])
      expect((await errorOf(exportDirectory(store, cid, target))).code).to.equal(code)
      expect(await filesBelow(folder)).to.deep.equal(before)
    }

    it('a file is there', () => fails(({ target }) => writeFile(join(target, 'other'), 'mine'), 'PATH_EXISTS'))
    it('a folder is there', () => fails(({ target }) => mkdir(join(target, 'top')), 'PATH_EXISTS'))
    it('a file has the name of a folder',
      () => fails(({ target }) => writeFile(join(target, 'top'), ''), 'PATH_EXISTS'))
    it('a link to a folder outside is there',
      () => fails(({ target, outside }) => symlink(outside, join(target, 'top')), 'PATH_EXISTS'))
    it('a link to a file outside is there',
      () => fails(({ target, outside }) => symlink(join(outside, 'file'), join(target, 'other')), 'PATH_EXISTS'))
    it('a link without a target is there',
      () => fails(({ target, outside }) => symlink(join(outside, 'new'), join(target, 'other')), 'PATH_EXISTS'))
    it('a hard link to a file outside is there',
      () => fails(({ target, outside }) => link(join(outside, 'file'), join(target, 'other')), 'PATH_EXISTS'))
    it('the target is a file', () => fails(async ({ target }) => {
      await rm(target, { recursive: true })
      await writeFile(target, 'mine')
    }, 'EEXIST'))

    it('a file, a folder or a link appears while it writes', async () => {
      const { store } = await newStore()
      const cid = await collectionOf(store, ['a', 'other', 'top/a'])
      const comers = {
        other: [path => writeFileSync(path, 'mine'), path => mkdirSync(path), path => symlinkSync('nowhere', path)],
        top: [path => writeFileSync(path, 'mine'), path => mkdirSync(path), path => symlinkSync('nowhere', path)]
      }
      for (const [name, makers] of Object.entries(comers)) {
        for (const make of makers) {
          const [folder, other] = [await newFolder(), await newFolder()]
          make(join(other, name))
          const onProgress = ({ detail }) => { if (detail.files === 1) make(join(folder, name)) }
          const error = await errorOf(exportDirectory(store, cid, folder, { onProgress }))
          expect(error).to.include({ code: 'PATH_EXISTS', location: join(folder, name) })
          expect(await filesBelow(folder)).to.deep.equal(await filesBelow(other))
        }
      }
    })

    it('another export of the same names ends first', async () => {
      const { store } = await newStore()
      for (let i = 0; i < 5; i++) {
        const folder = await newFolder()
        const members = [await put(store, 'X'), await put(store, 'Y')]
        const exports = await Promise.allSettled(members.map(async (member, i) => {
          const { cid } = await putCollection(store, ['one', 'top/two'].map(name => [name, member]))
          await exportDirectory(store, cid, folder)
          return 'XY'[i]
        }))
        const [winner, ...others] = exports.flatMap(({ value }) => value ?? [])
        expect(others).to.deep.equal([])
        expect(exports.filter(({ reason }) => reason?.code === 'PATH_EXISTS')).to.have.length(winner ? 1 : 2)
        const files = { one: winner, 'top/': '', 'top/two': winner }
        expect(await filesBelow(folder)).to.deep.equal(winner === undefined ? {} : files)
      }
    })

    it('a member is missing, in part or whole', async () => {
      const { store } = await newStore()
      const folder = await newFolder()
      const long = noise(100_000)
      const { cid: member } = await store.put(text('content'))
      const { cid } = await putCollection(store, [['top/a', member], ['top/b', hash(long)]])
      expect(await errorOf(exportDirectory(store, cid, folder))).to.include({ code: 'STORE_NOT_FOUND' })
      const range = { start: 0, end: 16_384 }
      await store.receive(hash(long), sliceOf(long, range), range)
      expect(await errorOf(exportDirectory(store, cid, join(folder, 'new')))).to.include({ code: 'STORE_MISSING' })
      expect(await readdir(folder)).to.deep.equal([])
    })

    it('a member is damaged', async () => {
      const { store } = await newStore()
      const folder = await newFolder()
      const [small, long] = [noise(1000), noise(200_000, 2)]
      const { cid } = await putCollection(store, [['a', await put(store, small)], ['top/b', await put(store, long)]])
      await flipStoredByte(store, hash(long), 50_000)
      expect(await errorOf(exportDirectory(store, cid, folder))).to.include({ code: 'STORE_CORRUPT' })
      expect(await readdir(folder)).to.deep.equal([])
    })

    it('its signal aborts', async () => {
      const { store } = await newStore()
      const folder = await newFolder()
      const cid = await collectionOf(store, Array.from({ length: 100 }, (_, i) => `top${i}/a`))
      for (const target of [folder, join(folder, 'new'), join(folder, 'new', 'newer')]) {
        const controller = new AbortController()
        const onProgress = () => controller.abort(new Error('enough'))
        const aborted = exportDirectory(store, cid, target, { signal: controller.signal, onProgress })
        expect((await errorOf(aborted)).message).to.equal('enough')
        expect(await readdir(folder)).to.deep.equal([])
      }
    })

    it('the blob is no collection', async () => {
      const { store } = await newStore()
      const folder = await newFolder()
      const cid = await put(store, noise(100))
      expect(await errorOf(exportDirectory(store, cid, folder))).to.include({ code: 'COLLECTION_INVALID' })
      expect(await readdir(folder)).to.deep.equal([])
    })
  })

  it('writes into a folder with other files, also through a link to the folder', async () => {
    const { store } = await newStore()
    const folder = await newFolder()
    await writeFiles(folder, { 'target/mine': 'here' })
    await symlink(join(folder, 'target'), join(folder, 'link'))
    await exportDirectory(store, await collectionOf(store, ['top/a']), join(folder, 'link'))
    const link = `-> ${join(folder, 'target')}`
    const target = { 'target/': '', 'target/mine': 'here', 'target/top/': '', 'target/top/a': 'content' }
    expect(await filesBelow(folder)).to.deep.equal({ link, ...target })
  })

  it('writes empty files, which every store has', async () => {
    const { store } = await newStore()
    const folder = await newFolder()
    const { cid } = await putCollection(store, [['empty', hash(new Uint8Array(0))]])
    expect(await exportDirectory(store, cid, folder)).to.deep.equal({ length: 1, size: 0 })
    expect(await filesBelow(folder)).to.deep.equal({ empty: '' })
  })

  it('reports a damaged record of a member, and writes nothing', async () => {
    const { store, index } = await newStore()
    const folder = await newFolder()
    const cid = await collectionOf(store, ['a'])
    await damageRecord(index, hash(text('content')))
    expect(await errorOf(exportDirectory(store, cid, folder))).to.include({ code: 'STORE_CORRUPT' })
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('makes folders down to the target, and reports each file', async () => {
    const { store } = await newStore()
    const folder = await newFolder()
    const events = []
    const onProgress = ({ type, detail }) => events.push([type, detail.files, detail.done, detail.name])
    const cid = await collectionOf(store, ['b', 'a/c'])
    const result = await exportDirectory(store, cid, join(folder, 'x/y'), { onProgress })
    expect(result).to.deep.equal({ length: 2, size: 14 })
    expect(events).to.deep.equal([['baobox:export', 1, 7, 'b'], ['baobox:export', 2, 14, 'a/c']])
    expect(Object.keys(await filesBelow(folder))).to.deep.equal(['x/', 'x/y/', 'x/y/a/', 'x/y/a/c', 'x/y/b'])
  })

  it('protects the members from garbage collection', async () => {
    const { store } = await newStore()
    const folder = await newFolder()
    const members = await Promise.all(Array.from({ length: 30 }, (_, i) => put(store, noise(3000 * i, i))))
    const { cid } = await putCollection(store, members.map((cid, i) => [`top/${i}`, cid]))
    let collected
    const onProgress = ({ detail }) => { if (detail.files === 5) collected = store.gc() }
    await exportDirectory(store, cid, folder, { onProgress })
    await collected
    expect(await readdir(join(folder, 'top'))).to.have.length(30)
    expect(await store.gc()).to.deep.include({ blobs: 31 }) // the empty blob is not counted
  })

  for (const mode of MODES) {
    it(`writes small and large files, verified, in mode '${mode}'`, async () => {
      const place = await onDisk()
      const store = await place.open()
      try {
        const folder = await newFolder()
        const files = { small: noise(1000), middle: noise(300_000, 2), large: noise(3 * MIB, 3), empty: '' }
        await writeFiles(join(folder, 'top'), files)
        const { cid } = await importDirectory(store, join(folder, 'top'))
        await exportDirectory(store, cid, join(folder, 'out'), { mode })
        expect(`${(await importDirectory(store, join(folder, 'out', 'top'))).cid}`).to.equal(`${cid}`)
        const { nlink } = await stat(join(folder, 'out', 'top', 'large'))
        expect(nlink).to.equal(mode === 'link' ? 2 : 1)
        expect((await lstat(join(folder, 'out', 'top', 'middle'))).nlink).to.equal(1)
      } finally {
        await place.remove()
      }
    })

    it(`gives no damaged file in mode '${mode}'`, async () => {
      const place = await onDisk()
      const store = await place.open()
      try {
        const folder = await newFolder()
        const { cid } = await putCollection(store, [['top', await put(store, noise(3 * MIB))]])
        const [id] = await readdir(join(place.where, 'blobs'))
        const bytes = noise(3 * MIB)
        bytes[2 * MIB] ^= 1
        await writeFile(join(place.where, 'blobs', id), bytes)
        const error = await errorOf(exportDirectory(store, cid, folder, { mode }))
        expect(error).to.include({ code: 'STORE_CORRUPT' })
        expect(await readdir(folder)).to.deep.equal([])
      } finally {
        await place.remove()
      }
    })
  }

  it('refuses an imported folder if unsafe names were reported, or restores it with the same CID', async function () {
    if (process.platform !== 'linux') this.skip() // elsewhere A and a are one file
    const parts = ['a', 'A', 'b', 'B', 'aux', 'Con.txt', 'nul1', '\u00e9', 'e\u0301', '\u1e9e', 'SS', 'x ']
    const names = fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 3 }).map(parts => parts.join('/'))
    await holds('import, export, import of any names',
      fc.asyncProperty(fc.uniqueArray(names, { maxLength: 5 }), async names => {
        const files = names.filter(name => !names.some(other => other.startsWith(`${name}/`)))
        const { store } = await newStore()
        const [from, to] = [join(await newFolder(), 'top'), await newFolder()]
        await mkdir(from)
        await writeFiles(from, Object.fromEntries(files.map(name => [name, name])))
        const { cid, unsafe } = await importDirectory(store, from)
        const error = await exportDirectory(store, cid, to).then(() => undefined, error => error)
        if (error !== undefined) {
          expect(error).to.include({ code: 'PATH_UNSAFE', entry: unsafe.names[0] })
          expect(unsafe.count).to.be.greaterThan(0)
          expect(await readdir(to)).to.deep.equal([])
          return
        }
        expect(unsafe).to.deep.equal({ count: 0, names: [] })
        if (files.length > 0) expect(`${(await importDirectory(store, join(to, 'top'))).cid}`).to.equal(`${cid}`)
      }), 60)
  })

  it('restores an imported folder with the same CID', () => holds('import, export, import',
    fc.asyncProperty(fc.uniqueArray(fc.tuple(
      fc.stringMatching(/^[a-c]{1,2}(\/[d-f\u00e9\u4e2d_.]{1,3}x){0,3}$/u), fc.uint8Array({ maxLength: 50 })
    ), { maxLength: 8, selector: ([name]) => name }), async entries => {
      const isFolder = name => entries.some(([other]) => other.startsWith(`${name}/`))
      const files = Object.fromEntries(entries.filter(([name]) => !isFolder(name)))
      const { store } = await newStore()
      const [from, to] = [join(await newFolder(), 'top'), await newFolder()]
      await mkdir(from)
      await writeFiles(from, files)
      const { cid, length } = await importDirectory(store, from)
      expect(length).to.equal(Object.keys(files).length)
      await exportDirectory(store, cid, to)
      if (length === 0) return
      expect(await filesBelow(join(to, 'top'))).to.deep.equal(await filesBelow(from))
      expect(`${(await importDirectory(store, join(to, 'top'))).cid}`).to.equal(`${cid}`)
    }), 30))

  it('refuses wrong arguments', async () => {
    const { store } = await newStore()
    const cid = await collectionOf(store, ['a'])
    const folder = await newFolder()
    await expectSlip('store', () => exportDirectory({}, cid, folder))
    await expectSlip('mode', () => exportDirectory(store, cid, folder, { mode: 'move' }))
    await expectSlip('odd', () => exportDirectory(store, cid, folder, { odd: 1 }))
    await expectSlip('cid', () => exportDirectory(store, 5, folder))
    expect(await readdir(folder)).to.deep.equal([])
  })
})

const put = async (store, content) =>
  fromCid((await store.put(typeof content === 'string' ? text(content) : content)).cid)
