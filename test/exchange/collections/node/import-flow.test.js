// An import holds few files at a time, however many there are, and reports each when it is done.
import fs from 'node:fs'
import { lstat, mkdir, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { Collection, getCollection } from '../../../../exchange/collections/index.js'
import { importDirectory } from '../../../../exchange/collections/node/index.js'
import { hex, same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { newFolders } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { newStores } from '../../../support/store/stores.js'

const OLD = new Date('2020-01-01')
const SMALL = Uint8Array.of(1, 2, 3)
const LONG = noise(MIB + 1)

describe('importDirectory holds few files at a time:', () => {
  const newStore = newStores()
  const newFolder = newFolders()

  /** A folder of files, and a file of known files, by which some of them have not changed. */
  async function newFiles (kinds) {
    const folder = await newFolder()
    const path = join(folder, 'top')
    await mkdir(path)
    const lines = ['baobox known files 1']
    for (const [i, kind] of kinds.entries()) {
      const [name, bytes] = [`f${String(i).padStart(5, '0')}`, kind === 'long' ? LONG : SMALL]
      fs.writeFileSync(join(path, name), bytes) // of thousands of files, in a third of the time
      if (kind !== 'unread') continue
      await utimes(join(path, name), OLD, OLD)
      const { size, mtimeNs, ctimeNs, ino } = await lstat(join(path, name), { bigint: true })
      lines.push(JSON.stringify([`top/${name}`, Number(size), `${mtimeNs}`, `${ctimeNs}`, `${ino}`, hex(hash(bytes))]))
    }
    const known = join(folder, 'known')
    await writeFile(known, `${lines.join('\n')}\n`)
    return { path, known }
  }

  /** Imports files, and returns the largest number of files that were found and not yet reported. */
  async function heldOf (store, path, options) {
    const originals = { lstatSync: fs.lstatSync, lstat: fs.promises.lstat }
    let [found, told, held] = [0, 0, 0]
    const note = path => { if (basename(path).startsWith('f')) held = Math.max(held, ++found - told) }
    fs.lstatSync = (path, options) => {
      note(path)
      return originals.lstatSync(path, options)
    }
    fs.promises.lstat = (path, options) => {
      note(path)
      return originals.lstat(path, options)
    }
    syncBuiltinESMExports()
    try {
      const result = await importDirectory(store, path, { ...options, onProgress: () => { told++ } })
      expect([found, told]).to.deep.equal([result.length, result.length])
      return { held, result }
    } finally {
      fs.lstatSync = originals.lstatSync
      fs.promises.lstat = originals.lstat
      syncBuiltinESMExports()
    }
  }

  it('of files above 1 MiB, two are put while the next is found', async () => {
    const { store } = await newStore()
    const { path } = await newFiles(Array(12).fill('long'))
    expect((await heldOf(store, path)).held).to.be.within(2, 5)
  })

  it('of files that have not changed, few are looked up', async () => {
    const { store } = await newStore()
    await store.put(SMALL)
    const { path, known } = await newFiles(Array(400).fill('unread'))
    const { held, result } = await heldOf(store, path, { known })
    expect(result).to.include({ unread: 400, length: 400 })
    expect(held).to.be.within(2, 40)
  })

  it('of small files, a batch is kept while the next is gathered', async () => {
    const { store } = await newStore()
    const { path } = await newFiles(Array(2200).fill('small'))
    expect((await heldOf(store, path)).held).to.be.within(1024, 2 * 1024 + 40)
  })

  it('of all kinds one after the other, a long one waits for few small ones, and all come in order', async () => {
    const { store } = await newStore()
    const kinds = Array.from({ length: 60 }, (_, i) => ['small', 'unread', 'long', 'unread', 'small'][i % 5])
    const { path, known } = await newFiles(kinds)
    await store.put(SMALL)
    const { held, result } = await heldOf(store, path, { known })
    expect(held).to.be.within(2, 40)
    expect(result).to.include({ unread: 24, length: 60 })
    const names = kinds.map((_, i) => `top/f${String(i).padStart(5, '0')}`)
    const roots = kinds.map(kind => hash(kind === 'long' ? LONG : SMALL))
    const expected = Collection.from(names.map((name, i) => [name, roots[i]]))
    expect(`${result.cid}`).to.equal(`${expected.cid}`)
    for (const [, member] of await getCollection(store, result.cid)) expect(await store.has(member)).to.equal(true)
    expect(same(await store.bytes(hash(LONG)), LONG)).to.equal(true)
  })
})
