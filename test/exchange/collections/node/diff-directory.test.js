// A collection is compared with a folder.
import { mkdir, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { Manifest, getCollection, putCollection, putManifest } from '../../../../exchange/collections/index.js'
import { diffDirectory, importDirectory } from '../../../../exchange/collections/node/index.js'
import { MIB } from '../../../support/constants.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { newFolders, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { newStores } from '../../../support/store/stores.js'

describe('diffDirectory', () => {
  const newStore = newStores()
  const newFolder = newFolders()
  const FILES = { 'a/b': 'one', 'a.txt': 'two', c: noise(2 * MIB), d: 'four', 'log/x.log': 'five' }

  const imported = async () => {
    const { store } = await newStore()
    const path = join(await newFolder(), 'top')
    await mkdir(path)
    await writeFiles(path, FILES)
    return { store, path, cid: (await importDirectory(store, path)).cid }
  }
  const differences = async (...args) =>
    (await listed(diffDirectory(...args))).map(({ type, name }) => `${type} ${name}`)

  it('finds nothing if nothing has changed', async () => {
    const { store, path, cid } = await imported()
    expect(await differences(store, cid, path)).to.deep.equal([])
  })

  it('compares a manifest, by its CID or by that of its sequence', async () => {
    const { store, path } = await imported()
    const collection = await getCollection(store, (await importDirectory(store, path, { top: '' })).cid)
    const { cid, sequence } = await putManifest(store, Manifest.fromCollection(collection))
    await writeFiles(path, { 'a.txt': 'TWO', new: '' })
    for (const name of [cid, sequence]) {
      expect(await differences(store, name, path)).to.deep.equal(['changed a.txt', 'added new'])
    }
  })

  it('finds what was added, removed and changed, in the order of names', async () => {
    const { store, path, cid } = await imported()
    const long = noise(2 * MIB)
    long[MIB] ^= 1
    await writeFiles(path, { 'a.txt': 'TWO', c: long, 'a/new': 'x', zoo: '' })
    await unlink(join(path, 'a/b'))
    await unlink(join(path, 'd'))
    expect(await differences(store, cid, path)).to.deep.equal([
      'changed top/a.txt', 'removed top/a/b', 'added top/a/new', 'changed top/c', 'removed top/d', 'added top/zoo'
    ])
  })

  it('compares only the files that patterns choose, on both sides', async () => {
    const { store, path, cid } = await imported()
    await writeFiles(path, { 'log/x.log': 'changed', 'log/y.log': 'new', d: 'changed' })
    expect(await differences(store, cid, path, { ignore: ['*.log'] })).to.deep.equal(['changed top/d'])
    expect(await differences(store, cid, path, { include: ['log'] }))
      .to.deep.equal(['changed top/log/x.log', 'added top/log/y.log'])
    await unlink(join(path, 'log/x.log'))
    expect(await differences(store, cid, path, { include: ['d'] })).to.deep.equal(['changed top/d'])
  })

  it('compares under another top', async () => {
    const { store, cid } = await imported()
    const path = join(await newFolder(), 'elsewhere')
    await mkdir(path)
    await writeFiles(path, FILES)
    expect(await differences(store, cid, path, { top: 'top' })).to.deep.equal([])
    expect(await differences(store, cid, path)).to.have.length(10)
  })

  it('takes any collection: in any order, with odd names, of blobs that the store does not have', async () => {
    const { store } = await newStore()
    const path = join(await newFolder(), 'top')
    await mkdir(path)
    await writeFile(join(path, 'a'), 'x')
    const [x, y] = ['x', 'y'].map(text => hash(new TextEncoder().encode(text)))
    const entries = [['top/b', y], ['top/a', x], ['', y], ['../top/a', y], ['top//', y], ['top/a', y], ['top/../z', y]]
    const { cid } = await putCollection(store, entries)
    expect(await differences(store, cid, path, { ignore: ['none'] })).to.deep.equal(
      ['removed ', 'removed ../top/a', 'removed top/../z', 'removed top//', 'removed top/b'])
  })

  it('refuses blobs that are no collections, paths that are no folders, and wrong arguments', async () => {
    const { store, path, cid } = await imported()
    const { cid: blob } = await store.put(noise(10))
    expect(await errorOf(listed(diffDirectory(store, blob, path)))).to.include({ code: 'COLLECTION_INVALID' })
    expect(await errorOf(listed(diffDirectory(store, cid, join(path, 'nowhere'))))).to.include({ code: 'ENOENT' })
    await expectSlip('store', () => listed(diffDirectory({}, cid, path)))
    await expectSlip('odd', () => listed(diffDirectory(store, cid, path, { odd: 1 })))
    await expectSlip('ignore', () => listed(diffDirectory(store, cid, path, { ignore: '*' })))
  })
})
