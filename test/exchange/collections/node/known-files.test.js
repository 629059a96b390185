// Anything may be in the place of the file of known files. The import replaces files, and refuses everything else.
import { lstat, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { importDirectory } from '../../../../exchange/collections/node/index.js'
import { KnownFiles } from '../../../../exchange/collections/node/known-files.js'
import { hex } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { newFolders, writeFiles } from '../../../support/folders.js'
import { expectSlip } from '../../../support/slips.js'
import { ODD_THINGS, Victims, kindOf } from '../../../support/store/odd-things.js'
import { newStores } from '../../../support/store/stores.js'

describe('importDirectory, if the path of the known files has', () => {
  const newStore = newStores()
  const newFolder = newFolders()
  const taken = ['nothing', 'a link to a file', 'a link to nothing', 'a hard link to a file', 'an empty file',
    'a huge file of nothing but zeros']
  const devices = process.platform === 'win32'
    ? {}
    : { 'a link to zeros without end': { make: path => symlink('/dev/zero', path) } }

  for (const [what, { make }] of Object.entries({ ...ODD_THINGS, ...devices })) {
    it(`${what}: it ${taken.includes(what) ? 'makes the file' : 'is refused'}, and changes nothing else`, async () => {
      const { store } = await newStore()
      const folder = await newFolder()
      await writeFiles(folder, { 'top/a': 'one', 'top/b': 'two' })
      const victims = await Victims.make()
      const known = join(folder, 'known')
      try {
        await make(known, victims)
        const before = await kindOf(known)
        const run = () => importDirectory(store, join(folder, 'top'), { known })
        if (taken.includes(what)) {
          expect(await run()).to.include({ length: 2, unread: 0 })
          expect((await lstat(known)).isFile()).to.equal(true)
        } else {
          if (what === 'an unreadable file') expect(await errorOf(run())).to.include({ code: 'EACCES' })
          else await expectSlip('known', run)
          expect(await kindOf(known)).to.equal(before)
        }
        await victims.expectUnharmed('the import')
        expect((await readdir(folder)).sort()).to.deep.equal(['known', 'top'])
      } finally {
        await victims.remove()
      }
    })
  }
})

describe('KnownFiles', () => {
  const newFolder = newFolders()
  const root = hash(new Uint8Array(7))
  const stat = { size: 1n, mtimeNs: 2n, ctimeNs: 3n, ino: 4n }
  const line = name => `${JSON.stringify([name, 1, '2', '3', '4', hex(root)])}\n`
  const HEAD = 'baobox known files 1\n'

  /** Calls a function with the KnownFiles of a file with these lines. */
  async function withKnown (lines, use, signal) {
    const path = join(await newFolder(), 'known')
    await writeFile(path, HEAD + lines)
    const known = await KnownFiles.open(path, signal)
    try {
      return await use(name => known.find({ name, path: '', stat }))
    } finally {
      await known.discard()
    }
  }

  it('finds names of any length that a collection can have, also when a read ends inside a character', async () => {
    const names = ['a', `b${'\u00e9\u{1f600}'.repeat(9000)}`, `c${'\u0001'.repeat(65_535)}`, 'd']
    await withKnown(names.map(line).join(''), async find => {
      for (const name of names) expect(await find(name), name.slice(0, 9)).to.deep.equal(root)
    })
  })

  it('knows nothing after a line that is too long', async () => {
    await withKnown(line('a') + line('b'.repeat(2 ** 20)) + line('c'), async find => {
      expect(await find('a')).to.deep.equal(root)
      expect(await find('c')).to.equal(undefined)
    })
  })

  it('stops reading when its signal is aborted', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    await withKnown(Array.from({ length: 2000 }, (_, i) => line(`a${i + 1000}`)).join(''), async find => {
      expect(await find('a1000')).to.deep.equal(root)
      controller.abort(reason)
      expect(await errorOf(find('b'))).to.equal(reason)
    }, controller.signal)
  })
})
