// A store can be open only once in a process, by any thread, any path and any copy of this package.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, link, mkdir, rm, symlink } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { join, relative } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { newFolders } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'
import { StoreThread } from '../../../support/store/thread.js'

const WORKER = fileURLToPath(new URL('../../../support/store/worker.js', import.meta.url))
const MOUNTED = fileURLToPath(new URL('../../../support/store/mounted.js', import.meta.url))
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
/** Only Linux tells which files a process has open. On other systems a refused thread ends LevelDB's lock. */
const tellsFiles = process.platform === 'linux'
const LOCKED = { code: 'STORE_LOCKED' }
const LOCKED_HERE = tellsFiles ? { code: 'STORE_LOCKED', pid: process.pid } : LOCKED

describe('store: the lock of a location', () => {
  const newFolder = newFolders()
  let place
  const threads = []
  beforeEach(async () => { place = await onDisk() })
  afterEach(async () => {
    for (const thread of threads.splice(0)) await thread.end()
    await place.remove()
  })

  function newThread () {
    const thread = new StoreThread()
    threads.push(thread)
    return thread
  }

  /** Makes other paths of the store. */
  async function otherPaths () {
    const path = join(await newFolder(), 'link')
    await symlink(place.where, path)
    return { relative: relative('', place.where), 'with dots': join(place.where, 'data', '..') + '/.', link: path }
  }

  /** Has another process try to open the store. @param {number} [wait]  milliseconds */
  function tryElsewhere (wait = 0) {
    const args = [WORKER, 'try', place.where, `${wait}`]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })
    return { begun: once(child, 'spawn'), answer: once(lines, 'line').then(([line]) => line) }
  }

  /** Checks that another process cannot open the store, because this one has kept its lock. */
  async function expectLockedForOthers () {
    if (tellsFiles) expect(await tryElsewhere().answer).to.equal(`STORE_LOCKED ${process.pid}`)
  }

  it('keeps other threads of the process out, by any path', async () => {
    const store = await place.open()
    const paths = { same: place.where, ...await otherPaths() }
    for (const [name, path] of Object.entries(paths)) {
      expect(await newThread().ask({ open: path }), name).to.include(LOCKED_HERE)
    }
    await expectLockedForOthers()
    await store.close()
    for (const path of Object.values(paths)) {
      const thread = newThread()
      expect(await thread.ask({ open: path })).to.equal('done')
      expect(await errorOf(place.open())).to.include(LOCKED_HERE)
      expect(await thread.ask('close')).to.equal('done')
    }
  })

  it('keeps this thread out, by any path', async () => {
    const paths = await otherPaths()
    await place.open()
    for (const [name, path] of Object.entries(paths)) {
      expect(await errorOf(BlobStore.open(path)), name).to.include({ ...LOCKED, pid: process.pid })
      expect(await errorOf(BlobStore.rescue(path)), name).to.include({ ...LOCKED, pid: process.pid })
    }
    await expectLockedForOthers()
  })

  it('does not pass to a child process, although it inherits the open files of LevelDB', async () => {
    const store = await place.open()
    await expectLockedForOthers()
    const { begun, answer } = tryElsewhere(60_000)
    await begun
    await store.close()
    expect(await answer).to.equal('open')
  })

  it('is left when its thread ends', async () => {
    const thread = newThread()
    expect(await thread.ask({ open: place.where })).to.equal('done')
    expect(await thread.ask({ put: noise(1000) })).to.equal('done')
    await thread.end()
    const store = await place.open()
    expect(await store.has(hash(noise(1000)))).to.equal(true)
  })

  it('keeps another copy of the package out, in this thread and in others', async () => {
    const copy = await newFolder()
    for (const name of ['store', 'lib', 'encoder', 'verifier', 'package.json']) {
      await cp(join(ROOT, name), join(copy, name), { recursive: true })
    }
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'junction')
    const from = pathToFileURL(join(copy, 'store', 'index.js')).href
    const { BlobStore: Other } = await import(from)
    const paths = Object.values(await otherPaths())
    const store = await place.open()
    for (const path of [place.where, ...paths]) {
      expect(await errorOf(Other.open(path))).to.include({ ...LOCKED, pid: process.pid })
    }
    expect(await newThread().ask({ open: paths[0], from })).to.include(LOCKED_HERE)
    await expectLockedForOthers()
    await store.close()
    const other = await Other.open(paths[0])
    expect(await errorOf(place.open())).to.include({ ...LOCKED, pid: process.pid })
    await other.close()
    await place.open()
  })

  it('goes to only one of several threads that ask at the same moment', async () => {
    const paths = [place.where, ...Object.values(await otherPaths())]
    const all = paths.map(() => newThread())
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(all.map((thread, i) => thread.ask({ open: paths[i] })))
      expect(answers.filter(answer => answer === 'done'), JSON.stringify(answers)).to.have.length(1)
      for (const answer of answers) if (answer !== 'done') expect(answer).to.include(LOCKED)
      await expectLockedForOthers()
      expect(await all[answers.indexOf('done')].ask('close')).to.equal('done')
    }
  })

  it('is also taken by a rescue', async () => {
    const { relative: path } = await otherPaths()
    const thread = newThread()
    const store = await place.open()
    expect(await thread.ask({ rescue: path })).to.include(LOCKED_HERE)
    await expectLockedForOthers()
    await store.put(noise(1000))
    await store.close()
    const gate = new Int32Array(new SharedArrayBuffer(4))
    expect(await thread.ask({ rescue: path, gate })).to.equal('checking')
    expect(await errorOf(place.open())).to.include(LOCKED_HERE)
    expect(await errorOf(BlobStore.rescue(place.where))).to.include(LOCKED_HERE)
    await expectLockedForOthers()
    const answer = thread.nextAnswer()
    Atomics.store(gate, 0, 1)
    Atomics.notify(gate, 0)
    expect(await answer).to.equal('done')
    await (await place.open()).close()
  })

  it('is that of a file: two folders with the same lock files of LevelDB are one store', async function () {
    if (!tellsFiles) this.skip()
    await (await place.open()).close()
    const other = await newFolder()
    await cp(place.where, other, { recursive: true })
    for (const name of ['index', 'data']) {
      await rm(join(other, name, 'LOCK'))
      await link(join(place.where, name, 'LOCK'), join(other, name, 'LOCK'))
    }
    await place.open()
    expect(await errorOf(BlobStore.open(other))).to.include(LOCKED_HERE)
    await expectLockedForOthers()
  })

  it('is that of a folder, also where it is mounted a second time', async function () {
    const from = place.where
    const to = await newFolder()
    const script = 'mount --bind "$1" "$2" && exec "$3" "$4" "$1" "$2"'
    const args = ['-m', 'sh', '-c', script, 'sh', from, to, process.execPath, MOUNTED]
    if (!tellsFiles || spawnSync('unshare', ['-m', 'mount', '--bind', from, to]).status !== 0) this.skip()
    const { status, stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    const { pid, ...answers } = JSON.parse(stdout)
    expect(answers.here).to.deep.equal({ code: 'STORE_LOCKED', pid })
    expect(answers.inThread).to.deep.equal({ code: 'STORE_LOCKED', pid })
    for (const round of answers.atOnce) expect(round.sort()).to.deep.equal(['STORE_LOCKED', 'done'])
  })

  it('belongs to the folder: a store that was opened by a relative path goes on in another working directory',
    async () => {
      const folder = await newFolder()
      await mkdir(join(folder, 'elsewhere'))
      const before = process.cwd()
      const bytes = noise(MIB + 1, 3)
      let store
      try {
        process.chdir(folder)
        store = await BlobStore.open('here')
        process.chdir('elsewhere')
        await store.put(bytes)
        await store.put(noise(100))
        await store.compact()
        expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
        expect((await store.info()).bytesOnDisk).to.be.greaterThan(bytes.length)
      } finally {
        process.chdir(before)
        await store?.close()
      }
    })
})
