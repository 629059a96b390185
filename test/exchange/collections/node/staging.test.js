// Files are written to a new folder, placed without replacing anything, and taken back without deleting what others
// have written since.
import fs, { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import { Staging, isStagingName } from '../../../../exchange/collections/node/staging.js'
import { errorOf } from '../../../support/feeding.js'
import { filesBelow, newFolders, writeFiles } from '../../../support/folders.js'

describe('Staging', () => {
  const newFolder = newFolders()

  /** A target, and files to be placed in it. */
  async function staged (files) {
    const target = await newFolder()
    const staging = await Staging.make(target)
    await writeFiles(staging.path, files)
    return { target, staging, path: name => join(target, name) }
  }

  /** Gives names to be placed. Calls a function before each. */
  function * between (steps) {
    for (const [name, step] of Object.entries(steps)) {
      step?.()
      yield name
    }
  }

  /** Expects that a name is taken, and returns the files that are left in the target. */
  async function leaves ({ target, staging }, steps, taken) {
    const error = await errorOf(staging.place(between(steps)))
    expect(error).to.include({ code: 'PATH_EXISTS', location: join(target, taken) })
    await staging.remove()
    return filesBelow(target)
  }

  it('places files and folders, each under one name only, and leaves nothing else', async () => {
    const { target, staging, path } = await staged({ file: 'a', 'top/one': 'b', 'top/inner/two': 'c' })
    await mkdir(join(staging.path, 'top', 'empty'))
    await staging.place(['file', 'top'])
    await staging.remove()
    const files = { file: 'a', 'top/': '', 'top/empty/': '', 'top/inner/': '', 'top/inner/two': 'c', 'top/one': 'b' }
    expect(await filesBelow(target)).to.deep.equal(files)
    expect((await stat(path('file'))).nlink).to.equal(1)
  })

  it('copies files where there are no links, and replaces and leaves nothing there either', async () => {
    const { link } = fs.promises
    fs.promises.link = () => Promise.reject(Object.assign(new Error('no links here'), { code: 'EPERM' }))
    syncBuiltinESMExports()
    try {
      const place = await staged({ file: 'a', 'top/one': 'b' })
      await place.staging.place(['file', 'top'])
      await place.staging.remove()
      expect(await filesBelow(place.target)).to.deep.equal({ file: 'a', 'top/': '', 'top/one': 'b' })
      for (const change of [() => {}, path => writeFileSync(path, 'mine')]) {
        const other = await staged({ file: 'a', last: 'b' })
        const last = () => {
          change(other.path('file'))
          writeFileSync(other.path('last'), 'taken')
        }
        const left = await leaves(other, { file: undefined, last }, 'last')
        expect(left).to.deep.equal(change.length === 0 ? { last: 'taken' } : { file: 'mine', last: 'taken' })
      }
    } finally {
      fs.promises.link = link
      syncBuiltinESMExports()
    }
  })

  it('has a name by which it can be recognised', async () => {
    const { staging } = await staged({})
    expect(isStagingName(basename(staging.path))).to.equal(true)
    for (const name of ['.baobox-export-', '.baobox-export-abcdef0', '.baobox-export-abc.ef', '.baobox-abcdef', 'x']) {
      expect(isStagingName(name), name).to.equal(false)
    }
  })

  for (const [what, make] of Object.entries({
    'a file': path => writeFileSync(path, 'mine'),
    'an empty folder': path => mkdirSync(path),
    'a folder with a file': path => { mkdirSync(path); writeFileSync(join(path, 'mine'), 'mine') },
    'a link without a target': path => symlinkSync('nowhere', path)
  })) {
    it(`does not replace ${what} that appears during the call, and takes back what was placed before`, async () => {
      for (const taken of ['file', 'top']) {
        const place = await staged({ first: '1', 'second/a': '2', file: 'a', 'top/one': 'b' })
        const steps = { first: undefined, second: undefined, [taken]: () => make(place.path(taken)) }
        const left = await leaves(place, steps, taken)
        const other = await newFolder()
        make(join(other, taken))
        expect(left).to.deep.equal(await filesBelow(other))
      }
    })
  }

  for (const [what, change] of Object.entries({
    'with other text': path => writeFileSync(path, 'mine'),
    'with more text': path => appendFileSync(path, 'mine'),
    'in its place': path => {
      writeFileSync(`${path} new`, 'mine')
      renameSync(`${path} new`, path)
    }
  })) {
    it(`does not take back a file ${what}`, async () => {
      const place = await staged({ file: '', before: '', last: '' })
      const left = await leaves(place, {
        before: undefined,
        file: undefined,
        last () {
          change(place.path('file'))
          writeFileSync(place.path('last'), 'taken')
        }
      }, 'last')
      expect(left).to.deep.equal({ file: 'mine', last: 'taken' })
    })
  }

  for (const [what, change] of Object.entries({
    'a new file': path => writeFileSync(join(path, 'mine'), 'mine'),
    'a new file further down': path => writeFileSync(join(path, 'a/b/mine'), 'mine'),
    'a file that was changed': path => writeFileSync(join(path, 'a/b/c'), 'mine'),
    'a new link': path => symlinkSync('nowhere', join(path, 'a/link')),
    'a file that was removed': path => rmSync(join(path, 'a/b/c'))
  })) {
    it(`does not take back a folder with ${what}`, async () => {
      const files = { 'a/b/c': 'c', d: 'd' }
      const place = await staged({ 'top/a/b/c': 'c', 'top/d': 'd', 'before/e': 'e', last: 'l' })
      const left = await leaves(place, {
        before: undefined,
        top: undefined,
        last () {
          waitForClock()
          change(place.path('top'))
          writeFileSync(place.path('last'), 'taken')
        }
      }, 'last')
      const other = await newFolder()
      await writeFiles(join(other, 'top'), files)
      change(join(other, 'top'))
      expect(left).to.deep.equal({ ...await filesBelow(other), last: 'taken' })
    })
  }

  it('neither places nor deletes anything when another folder is in the place of its own', async () => {
    for (const swap of [path => symlinkSync('..', path), path => mkdirSync(path), () => {}]) {
      const { target, staging } = await staged({ file: 'a' })
      renameSync(staging.path, join(target, 'aside'))
      swap(staging.path)
      expect(await errorOf(staging.place(['file']))).to.include({ code: 'PATH_MOVED', location: staging.path })
      const before = await filesBelow(target)
      await staging.remove()
      expect(await filesBelow(target)).to.deep.equal(before)
      expect(before).to.include({ 'aside/file': 'a' })
    }
  })
})

/** Waits for the next tick of the file system's clock, which has ticks of some milliseconds. */
const waitForClock = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)
