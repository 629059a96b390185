// Folders are imported into and exported from any object with the calls of a store, with or without calls for files.
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { diffDirectory, exportDirectory, importDirectory } from '../../../../exchange/collections/node/index.js'
import { MIB } from '../../../support/constants.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { newFolders, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { plainStore } from '../../../support/store/plain-store.js'
import { onDisk } from '../../../support/store/stores.js'

const FILES = { small: noise(1000), middle: noise(300_000, 2), large: noise(3 * MIB, 3), empty: '', 'a/b': 'text' }
const OF_FILES = ['importFile', 'exportFile']

describe('a folder and a store that is a plain object', () => {
  const newFolder = newFolders()

  /** Runs with a plain store on a disk, and a folder of files. */
  async function withStore (more, use) {
    const place = await onDisk()
    const folder = await newFolder()
    const top = join(folder, 'top')
    await mkdir(top)
    await writeFiles(top, FILES)
    try {
      await use({ ...plainStore(await place.open(), more), folder, top })
    } finally {
      await place.remove()
    }
  }

  for (const [what, more] of Object.entries({ 'with calls for files': OF_FILES, 'without calls for files': [] })) {
    for (const mode of ['copy', 'reflink', 'link']) {
      it(`${what}: import, export in mode '${mode}', import`, () => withStore(more, async store => {
        const { plain, called, folder, top } = store
        const { cid, length } = await importDirectory(plain, top, { tag: 'top' })
        expect(length).to.equal(5)
        const out = join(folder, 'out')
        await exportDirectory(plain, cid, out, { mode })
        expect(`${(await importDirectory(plain, join(out, 'top'))).cid}`).to.equal(`${cid}`)
        const isLinked = mode === 'link' && more.length > 0
        expect((await stat(join(out, 'top', 'large'))).nlink).to.equal(isLinked ? 2 : 1)
        expect([...called].filter(call => OF_FILES.includes(call)))
          .to.deep.equal(mode === 'copy' ? more.slice(0, 1) : more)
        expect(await listed(diffDirectory(plain, cid, top))).to.deep.equal([])
      }))
    }
  }

  it('known files that have not changed are not read again', () => withStore([], async store => {
    const { plain, folder, top } = store
    const known = join(folder, 'known')
    const { now } = Date
    Date.now = () => now() + 60_000 // files that were just changed are not remembered
    try {
      expect(await importDirectory(plain, top, { known })).to.include({ unread: 0 })
      expect(await importDirectory(plain, top, { known })).to.include({ unread: 5 })
    } finally {
      Date.now = now
    }
  }))

  it('references need a store that keeps them', () => withStore([], async ({ plain, top }) => {
    await expectSlip('mode', () => importDirectory(plain, top, { mode: 'reference' }), [TypeError])
  }))

  it('a store that lacks a call is refused', () => withStore([], async ({ plain, folder, top }) => {
    const { statMany, ...lacking } = plain
    expect(statMany).to.be.a('function')
    for (const call of [
      () => importDirectory(lacking, top), () => exportDirectory(lacking, '0'.repeat(64), folder),
      () => diffDirectory(lacking, '0'.repeat(64), top)
    ]) expect(await errorOf(call), `${call}`).to.be.instanceOf(TypeError).and.have.property('message').match(/a store/)
  }))
})
