// The folder of a store's files: deleted files do not stay open, and new files may share blocks with others.
import { fstatSync } from 'node:fs'
import fs, { readFile, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { openFolder } from '../../../../store/storage/disk/blob-folder.js'
import { same } from '../../../support/bytes.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'

describe('store: the folder of blobs', () => {
  it('does not keep a deleted file open when a reader has opened it during the deletion', async () => {
    const place = await onDisk()
    const folder = await openFolder(join(place.where, 'blobs'))
    try {
      await writeFile(folder.pathOf(7), noise(1000))
      const removing = folder.remove(7)
      const file = folder.reader(7)
      const got = await file.read(0, 10).catch(error => error.code)
      file.release()
      await removing
      expect(got === 'ENOENT' || got.length === 10).to.equal(true)
      expect(folder.readNow(7, 0, 10)).to.equal(undefined)
    } finally {
      await folder.close()
      await place.remove()
    }
  })

  it('makes a file of the blocks of another one if the disk can, and both may be written to', async () => {
    const place = await onDisk()
    const folder = await openFolder(join(place.where, 'blobs'))
    try {
      const bytes = noise(100_000)
      await writeFile(folder.pathOf(7), bytes)
      expect(await folder.clone(folder.pathOf(6), 8), 'there is no such file').to.equal(undefined)
      const writer = await folder.clone(folder.pathOf(7), 8)
      if (writer === undefined) { // the disk cannot share blocks
        expect(await folder.len(8)).to.equal(undefined)
        return
      }
      await writer.skip(50_000)
      await writer.append(new Uint8Array(10))
      await writer.end()
      await writer.truncate(90_000)
      await writer.close()
      const expected = bytes.slice(0, 90_000)
      expected.fill(0, 50_000, 50_010)
      expect(same(await readFile(folder.pathOf(8)), expected)).to.equal(true)
      expect(same(await readFile(folder.pathOf(7)), bytes)).to.equal(true)
    } finally {
      await folder.close()
      await place.remove()
    }
  })

  it('makes a file of the blocks of one that is meant, and leaves nothing of another', async () => {
    const place = await onDisk()
    const folder = await openFolder(join(place.where, 'blobs'))
    const { copyFile } = fs
    fs.copyFile = (from, to) => copyFile(from, to) // works on disks that cannot share blocks
    syncBuiltinESMExports()
    try {
      const path = join(place.where, 'source')
      await fs.writeFile(path, 'theirs')
      await fs.symlink('source', join(place.where, 'link'))
      const { ino } = await fs.stat(path)
      const seen = []
      const check = fd => seen.push(fstatSync(fd).ino)
      const file = await folder.clone(path, 7, { check })
      await file.close()
      expect(seen).to.deep.equal([ino, ino])
      expect(await fs.readFile(folder.pathOf(7), 'utf8')).to.equal('theirs')
      const refuse = () => { throw new Error('another one') }
      expect(await folder.clone(path, 8, { check: refuse })).to.equal(undefined)
      expect(await folder.clone(join(place.where, 'link'), 8, { check })).to.equal(undefined)
      expect(await fs.readdir(join(place.where, 'blobs'))).to.deep.equal(['7'])
    } finally {
      fs.copyFile = copyFile
      syncBuiltinESMExports()
      await folder.close()
      await place.remove()
    }
  })

  it('makes no file of the blocks of another one if something has its name, and leaves that alone', async () => {
    const place = await onDisk()
    const folder = await openFolder(join(place.where, 'blobs'))
    const { copyFile } = fs
    const refusals = { Windows: 'ENOSYS', 'a file that nobody may read': 'EACCES', 'this disk': undefined }
    try {
      await fs.writeFile(folder.pathOf(7), noise(1000))
      await fs.writeFile(folder.pathOf(8), 'a file of somebody else')
      await fs.mkdir(folder.pathOf(9))
      for (const [where, code] of Object.entries(refusals)) {
        if (code !== undefined) fs.copyFile = async () => { throw Object.assign(new Error(where), { code }) }
        syncBuiltinESMExports()
        for (const id of [8, 9]) expect(await folder.clone(folder.pathOf(7), id), where).to.equal(undefined)
        fs.copyFile = copyFile
        syncBuiltinESMExports()
        expect(await fs.readFile(folder.pathOf(8), 'utf8'), where).to.equal('a file of somebody else')
        expect((await fs.stat(folder.pathOf(9))).isDirectory(), where).to.equal(true)
      }
    } finally {
      fs.copyFile = copyFile
      syncBuiltinESMExports()
      await folder.close()
      await place.remove()
    }
  })
})
