// A repair of the files of LevelDB: one at a time, no store meanwhile, and nothing lost when it is interrupted.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { newLevel } from '../../../../store/storage/level/levels.js'
import { salvage } from '../../../../store/storage/opening/salvage.js'
import { openFolder } from '../../../../store/storage/disk/blob-folder.js'
import { same } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { idsIn } from '../../../support/store/inspect.js'
import { onDisk } from '../../../support/store/stores.js'

const WORKER = fileURLToPath(new URL('../../../support/store/worker.js', import.meta.url))
/** They are in the logs of LevelDB, which a repair moves away. */
const BLOBS = Array.from({ length: 40 }, (_, i) => noise(20_000 + i, 900 + i))
const NAMES = ['blobs', 'data', 'index']

describe('store: repair', () => {
  let place
  const children = []
  beforeEach(async () => {
    place = await onDisk()
    const store = await place.open()
    for (const bytes of BLOBS) await store.put(bytes)
    await store.close()
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await killed(child)
    await place.remove()
  })

  function start (task) {
    const child = spawn(process.execPath, [WORKER, task, place.where], { stdio: ['ignore', 'pipe', 'inherit'] })
    child.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    children.push(child)
    return child
  }

  async function expectAll () {
    const store = await place.open({ create: false })
    for (const [i, bytes] of BLOBS.entries()) if (!same(await store.bytes(hash(bytes)), bytes)) expect.fail(`blob ${i} is wrong`)
    await store.close()
    expect((await readdir(place.where)).sort(), 'nothing is left').to.deep.equal(NAMES)
  }

  it('leaves what is in order as it is', async () => {
    for (let i = 0; i < 2; i++) expect(await BlobStore.repair(place.where)).to.include({ isSound: true, blobs: BLOBS.length })
    await expectAll()
  })

  it('loses nothing when it is interrupted, and is to be called again before the store is opened', async function () {
    this.timeout(60_000)
    const before = await place.look(({ data }) => idsIn(data))
    for (const mark of ['repairing', 'index.repairing', 'index.repairing/lost', 'data.repairing', 'data.repairing/lost']) {
      const child = start('repair')
      while (!existsSync(join(place.where, mark))) {
        expect(child.exitCode, `${mark} was to be seen`).to.equal(null)
        await setImmediate()
      }
      await killed(child)
      for (const create of [true, false]) expect(await errorOf(place.open({ create })), mark).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
      expect(await place.look(({ data }) => idsIn(data)), 'the old one is as it was').to.deep.equal(before)
      expect(await BlobStore.repair(place.where)).to.include({ isSound: true, blobs: BLOBS.length })
      await expectAll()
      // New logs, for the next one to move away.
      const store = await place.open()
      await store.tags.set('any', hash(BLOBS[0]))
      const { cid } = await store.put(noise(20_000, 1))
      await store.delete(cid)
      await store.close()
    }
  })

  it('keeps everybody else out, in any process, until it is done', async () => {
    const child = start('repair')
    expect((await child.lines.next()).value).to.equal('mending')
    const locked = { code: 'STORE_LOCKED', location: place.where }
    for (let i = 0; i < 2; i++) {
      expect(await errorOf(place.open())).to.include(locked)
      expect(await errorOf(BlobStore.repair(place.where))).to.include(locked)
    }
    await killed(child)
    expect(await errorOf(place.open())).to.include({ code: 'STORE_OPEN_FAILED' })
    // In one process, by any name of the place.
    const repairs = await Promise.allSettled([place.where, `${place.where}/.`, join(place.where, 'data', '..')].map(where => BlobStore.repair(where)))
    expect(repairs.map(({ reason }) => reason?.code), 'whichever comes first').to.have.members([undefined, 'STORE_LOCKED', 'STORE_LOCKED'])
    await expectAll()
  })

  it('keeps away from a store that is open, and leaves no mark there', async () => {
    const child = start('hold')
    await child.lines.next()
    expect(await errorOf(BlobStore.repair(place.where))).to.include({ code: 'STORE_LOCKED', location: place.where })
    await killed(child)
    const store = await place.open()
    expect(await errorOf(BlobStore.repair(place.where))).to.include({ code: 'STORE_LOCKED', location: place.where })
    await store.close()
    await expectAll()
  })

  it('can be called off', async () => {
    const reason = new Error('enough')
    expect(await errorOf(BlobStore.repair(place.where, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
    await expectAll()
  })

  it('takes away what earlier ones left', async () => {
    for (const name of ['data.rewriting', 'index.rewriting', 'data.repairing', 'index.replaced', 'repairing', 'repairing.done']) {
      await mkdir(join(place.where, name))
      await writeFile(join(place.where, name, 'CURRENT'), 'MANIFEST-')
      await writeFile(join(place.where, name, '000007.ldb'), 'what was left')
    }
    expect(await BlobStore.repair(place.where)).to.include({ isSound: true })
    await expectAll()
  })

  it('puts nothing in place that lacks what LevelDB gave up', async () => {
    const log = join(place.where, 'data', '009999.log')
    await symlink('nowhere', log)
    // A store with a link in it is not repaired: this is what would be done then.
    const repairing = salvage(join(place.where, 'data'), path => newLevel('data', path))
    expect(await errorOf(repairing)).to.include({ code: 'LEVEL_IO_ERROR' })
    expect(await readdir(join(place.where, 'data'))).to.include('009999.log')
    await rm(log)
    await expectAll() // it can still be opened
    expect(await BlobStore.repair(place.where)).to.include({ isSound: true })
    await expectAll()
  })

  it('makes nothing where there is nothing', async () => {
    const where = join(place.where, 'nowhere')
    expect(await errorOf(BlobStore.repair(where))).to.include({ code: 'STORE_OPEN_FAILED', location: where })
    expect(existsSync(where)).to.equal(false)
  })

  it('is for stores that one process has, though that has tried to open them twice', async () => {
    await place.open()
    expect(await errorOf(place.open())).to.include({ code: 'STORE_LOCKED' }) // LevelDB would let go of its lock now
    expect((await start('try').lines.next()).value).to.equal('STORE_LOCKED')
  })
})

describe('store: a file that is removed', () => {
  it('is not kept open, though it was opened again meanwhile', async () => {
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
})

/** Ends a process that was started here, as a power cut would. */
async function killed (child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
