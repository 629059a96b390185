// Exports that bring a folder up to date: right files stay, others are replaced, and nothing else is touched.
import { chmod, lstat, mkdir, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { exportDirectory, importDirectory } from '../../../../exchange/collections/node/index.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { filesBelow, newFolders, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'

const LONG = noise(2 * MIB, 5)
const FILES = { 'a/one': 'one', 'a/b/two': 'two', three: '', long: LONG }

describe('exportDirectory with update', () => {
  const newFolder = newFolders()
  let folder
  let target
  let place
  let store
  let cid
  const update = (options = {}) => exportDirectory(store, cid, target, { update: true, ...options })

  beforeEach(async () => {
    place = await onDisk()
    store = await place.open()
    folder = await newFolder()
    target = join(folder, 'target')
    await writeFiles(folder, Object.fromEntries(Object.entries(FILES).map(([name, bytes]) => [`from/${name}`, bytes])))
    ;({ cid } = await importDirectory(store, join(folder, 'from'), { top: '' }))
  })

  afterEach(async () => {
    await store.close()
    await place.remove()
  })

  const expectRight = async (others = {}) => {
    const found = await filesBelow(target)
    for (const [name, bytes] of Object.entries({ ...FILES, ...others })) {
      expect(Buffer.from(await readFile(join(target, name))).equals(Buffer.from(bytes)), name).to.equal(true)
    }
    expect(Object.keys(found).filter(name => found[name] !== undefined)).to.have.members(Object.keys(found))
    expect((await readdir(target)).filter(name => name.startsWith('.'))).to.deep.equal([])
  }

  it('writes what is missing, and leaves right files and files of others as they are', async () => {
    for (const mode of ['copy', 'reflink', 'link']) {
      await rm(target, { recursive: true, force: true })
      expect(await update({ mode })).to.deep.equal({ length: 4, size: LONG.length + 6 })
      await expectRight()
      await writeFiles(target, { 'a/mine': 'mine', 'other/mine': 'mine, too' })
      const before = await Promise.all(Object.keys(FILES).map(name => stat(join(target, name), { bigint: true })))
      expect(await update({ mode })).to.deep.equal({ length: 4, size: LONG.length + 6 })
      const after = await Promise.all(Object.keys(FILES).map(name => stat(join(target, name), { bigint: true })))
      for (const [i, { ino, ctimeNs }] of before.entries()) expect(after[i]).to.include({ ino, ctimeNs })
      await expectRight({ 'a/mine': 'mine', 'other/mine': 'mine, too' })
    }
  })

  it('replaces files with other bytes, also of the same length', async () => {
    await update()
    await writeFiles(target, { 'a/one': 'eno', 'a/b/two': 'longer', three: 'not empty', 'a/mine': 'mine' })
    await writeFile(join(target, 'long'), LONG.map((byte, i) => i === LONG.length - 1 ? byte ^ 1 : byte))
    await update()
    await expectRight({ 'a/mine': 'mine' })
    await rm(join(target, 'a'), { recursive: true })
    await update()
    await expectRight()
  })

  it('keeps the permissions of the files that it replaces, and those of the files of the store', async function () {
    if (process.platform === 'win32') this.skip()
    const permissionsOf = async path => (await stat(join(folder, path))).mode & 0o777
    await exportDirectory(store, cid, join(folder, 'linked'), { mode: 'link' })
    const own = await permissionsOf('linked/long')
    for (const mode of ['copy', 'reflink', 'link']) {
      await writeFiles(target, { 'a/one': 'old', long: 'old' })
      await chmod(join(target, 'a/one'), 0o750)
      await chmod(join(target, 'long'), 0o600)
      await update({ mode })
      await expectRight()
      expect(await permissionsOf('target/a/one'), mode).to.equal(0o750)
      expect(await permissionsOf('target/long'), mode).to.equal(mode === 'link' ? own : 0o600)
      expect(await permissionsOf('linked/long'), mode).to.equal(own)
    }
  })

  it('refuses what is no file or no folder, follows no link, and changes nothing then', async function () {
    if (process.platform === 'win32') this.skip()
    await writeFiles(folder, { 'outside/b/two': 'mine', 'outside/one': 'mine' })
    for (const [place, make] of [
      ['a', path => symlink(join(folder, 'outside'), path)], ['a/b', path => symlink(join(folder, 'outside/b'), path)],
      ['a/one', path => symlink(join(folder, 'outside/one'), path)], ['three', path => mkdir(path)],
      ['a/one', path => mkdir(path)], ['a/b', path => writeFile(path, 'mine')], ['a', path => writeFile(path, 'mine')]
    ]) {
      await rm(target, { recursive: true, force: true })
      await writeFiles(target, { long: 'old' })
      await mkdir(join(target, place, '..'), { recursive: true })
      await make(join(target, place))
      const before = await filesBelow(folder)
      const kind = await lstat(join(target, place))
      const error = await errorOf(update())
      expect(error, place).to.include({ code: 'PATH_EXISTS' })
      expect(error.location.endsWith(join('target', place)), error.location).to.equal(true)
      expect(await filesBelow(folder)).to.deep.equal(before)
      expect((await lstat(join(target, place))).ino).to.equal(kind.ino)
    }
  })

  it('takes a target that is reached through a link', async function () {
    if (process.platform === 'win32') this.skip()
    await mkdir(target)
    await symlink(target, join(folder, 'link'))
    for (let i = 0; i < 2; i++) await exportDirectory(store, cid, join(folder, 'link'), { update: true })
    await expectRight()
  })

  it('leaves the folder as it was if a member is missing', async () => {
    await writeFiles(target, { 'a/one': 'old' })
    const before = await filesBelow(target)
    expect(await errorOf(exportDirectory(store, cid, target))).to.include({ code: 'PATH_EXISTS' })
    await store.delete(hash(LONG), { force: true })
    expect(await errorOf(update())).to.include({ code: 'STORE_NOT_FOUND' })
    expect(await filesBelow(target)).to.deep.equal(before)
  })
})
