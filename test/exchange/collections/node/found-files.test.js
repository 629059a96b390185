// A walk through a folder stays in it, and only files that it has found are read, also when others put links there.
import fs, { link, lstat, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { closeSync, openSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { assertFound, readSmallFile } from '../../../../exchange/collections/node/found-file.js'
import { walkFolder } from '../../../../exchange/collections/node/walk-folder.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { newFolders, writeFiles } from '../../../support/folders.js'

/** Reads on this thread, if the system can do that safely, and reads through the thread pool. */
const PACES = {
  ...process.platform === 'win32' ? {} : { synchronously: { read: now => now() } },
  later: { read: (_now, later) => later() }
}

for (const [when, pace] of Object.entries(PACES)) {
  describe(`files of a walk, read ${when}:`, () => {
    const newFolder = newFolders()

    /** A tree with some files, and a folder with other files that must not be read. */
    async function newTree () {
      const folder = await newFolder()
      await writeFiles(folder, { 'tree/a/b/file': 'mine', 'tree/first': '1', 'private/b/file': 'private' })
      return { at: (...names) => join(folder, ...names) }
    }

    const found = async path => ({ name: 'name', path, stat: await lstat(path, { bigint: true }) })
    const read = async file => new TextDecoder().decode(await readSmallFile(file, 1000, pace))

    it('the walk ends at a folder that has become a link, or is below one', async () => {
      for (const swapped of ['tree/a', 'tree/a/b']) {
        const { at } = await newTree()
        await writeFiles(at('tree'), { 'a/1': '', 'a/b/1': '' })
        await writeFiles(at('private'), { 'b/1': '', 'b/b/1': '' })
        const files = walkFolder(at('tree'), {}, pace, () => false)
        expect((await files.next()).value.name).to.equal('tree/a/1')
        await rename(at(swapped), at('old'))
        await symlink(at('private'), at(swapped))
        const error = await errorOf(files.next())
        expect(error).to.include({ code: 'BAO_SOURCE_CHANGED', location: at('tree/a/b') })
      }
    })

    it('the walk ends at a folder that has become a file', async () => {
      const { at } = await newTree()
      await writeFiles(at('tree'), { 'a/1': '' })
      const files = walkFolder(at('tree'), {}, pace, () => false)
      await files.next()
      await rm(at('tree/a/b'), { recursive: true })
      await writeFile(at('tree/a/b'), '')
      expect(await errorOf(files.next())).to.include({ code: 'BAO_SOURCE_CHANGED', location: at('tree/a/b') })
    })

    it('a file is read, also after it has grown', async () => {
      const { at } = await newTree()
      const file = await found(at('tree/a/b/file'))
      expect(await read(file)).to.equal('mine')
      await writeFile(file.path, 'mine, and more')
      expect(await read(file)).to.equal('mine, and more')
      await writeFile(file.path, 'x'.repeat(2000))
      expect(await readSmallFile(file, 1000, pace)).to.equal(undefined)
    })

    for (const [what, swap] of Object.entries({
      'a link': at => symlink(at('private/b/file'), at('tree/a/b/file')),
      'another file': at => rename(at('private/b/file'), at('tree/a/b/file')),
      'a hard link to a file': at => link(at('private/b/file'), at('tree/a/b/file')),
      'a folder': at => mkdir(at('tree/a/b/file'))
    })) {
      it(`a file that ${what} has replaced is not read`, async () => {
        const { at } = await newTree()
        const file = await found(at('tree/a/b/file'))
        await rename(file.path, at('old'))
        await swap(at)
        expect(await errorOf(read(file))).to.include({ code: 'BAO_SOURCE_CHANGED', location: file.path })
      })
    }

    it('a file is not read through a folder that has become a link, before or after the file was found', async () => {
      for (const isBefore of [true, false]) {
        const { at } = await newTree()
        const path = at('tree/a/b/file')
        const before = await found(path)
        await rename(at('tree/a'), at('old'))
        await symlink(at('private'), at('tree/a'))
        const file = isBefore ? await found(path) : before
        expect(await errorOf(read(file))).to.include({ code: 'BAO_SOURCE_CHANGED', location: path })
        const fd = openSync(path)
        expect(() => assertFound(fd, file)).to.throw(/changed while it was read/)
        closeSync(fd)
      }
    })

    it('a file that is gone gives the error of the system', async () => {
      const { at } = await newTree()
      const file = await found(at('tree/a/b/file'))
      await rm(file.path)
      expect((await errorOf(read(file))).code).to.equal('ENOENT')
    })
  })
}

describe('a walk through deep folders', () => {
  const newFolder = newFolders()
  const pace = { read: (_now, later) => later() }
  const namesIn = async path => (await listed(walkFolder(path, {}, pace, () => false))).map(({ name }) => name)

  it('resolves its own path, and not that of each folder: that takes a step for each folder above it', async () => {
    const counts = []
    for (const depth of [3, 60]) {
      const path = join(await newFolder(), 'top')
      await writeFiles(path, { [`${'a/'.repeat(depth)}file`]: 'x', [`${'a/'.repeat(depth)}b/file`]: 'y' })
      const { realpath } = fs
      let resolved = 0
      fs.realpath = (...args) => {
        resolved++
        return realpath(...args)
      }
      syncBuiltinESMExports()
      try {
        expect(await namesIn(path)).to.have.length(2)
      } finally {
        fs.realpath = realpath
        syncBuiltinESMExports()
      }
      counts.push(resolved)
    }
    expect(counts).to.deep.equal([1, 1])
  })

  it('ends with the error of the system when a path is longer than the system allows', async function () {
    if (process.platform !== 'linux') this.skip()
    const folder = await newFolder()
    const half = Array(9).fill('x'.repeat(250)).join('/')
    const [path, other, end] = [join(folder, 'top'), join(folder, 'other'), join(folder, 'top', half, 'y')]
    for (const one of [path, other]) await mkdir(join(one, half), { recursive: true })
    await rename(other, end)
    try {
      const error = await errorOf(namesIn(path))
      expect(error).to.include({ code: 'ENAMETOOLONG' })
      expect(error.path).to.have.length.above(4095)
    } finally {
      await rename(end, other)
    }
  })
})
