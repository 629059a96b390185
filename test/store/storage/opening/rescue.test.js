// A rescue brings back what can be read, loses nothing when it is interrupted, and keeps everybody else out.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  copyFile, cp, link, mkdir, readFile, readdir, rename, rm, stat, symlink, truncate, writeFile
} from 'node:fs/promises'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { VIEWS, blobKey, stateKey } from '../../../../store/storage/format/keys.js'
import { LAYOUT_VERSION, decodeState, encodeState } from '../../../../store/storage/format/records.js'
import { same } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { interceptSteps } from '../../../support/store/folder-steps.js'
import { idsIn } from '../../../support/store/inspect.js'
import { onDisk } from '../../../support/store/stores.js'

const WORKER = fileURLToPath(new URL('../../../support/store/worker.js', import.meta.url))
/** Blobs; the last one is in a file. */
const BLOBS = [...Array.from({ length: 40 }, (_, i) => noise(20_000 + i, 900 + i)), noise(1_500_000, 990)]
/** So many of them are in tables, the others in logs. */
const HALF = 20
const FOLDERS = ['blobs', 'data', 'index', 'seal']
const SOUND = { isSound: true, blobs: BLOBS.length }

describe('store: rescue', () => {
  let place, template
  const children = []
  before(async () => {
    template = await onDisk()
    const store = await template.open()
    for (const [i, bytes] of BLOBS.entries()) {
      await store.put(bytes, { tag: `tag ${i}` })
      if (i === HALF) await store.compact() // moves all to tables; a log gets the rest
    }
    await store.close()
  })
  after(() => template.remove())
  beforeEach(async () => {
    place = await onDisk()
    await cp(template.where, place.where, { recursive: true })
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await killed(child)
    await place.remove()
  })

  const rescue = options => BlobStore.rescue(place.where, options)
  const at = (...names) => join(place.where, ...names)

  function start (task, ...args) {
    const stdio = ['ignore', 'pipe', 'inherit']
    const child = spawn(process.execPath, [WORKER, task, place.where, ...args], { stdio })
    child.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    children.push(child)
    return child
  }

  /** Checks that all blobs can be read, and that there is nothing beside the folders of the store. */
  async function expectAll () {
    const store = await place.open({ create: false })
    for (const [i, bytes] of BLOBS.entries()) {
      if (!same(await store.bytes(hash(bytes)), bytes)) expect.fail(`blob ${i} is wrong`)
      expect(await store.tags.get(`tag ${i}`)).to.not.equal(undefined)
    }
    await store.close()
    expect((await readdir(place.where)).sort()).to.deep.equal(FOLDERS)
  }

  /** Counts the blobs that can be read. The others must be missing or damaged, and no wrong byte is given. */
  async function countReadable () {
    const store = await place.open({ create: false })
    let count = 0
    for (const [i, bytes] of BLOBS.entries()) {
      const error = await errorOf(async () => {
        if (!same(await store.bytes(hash(bytes)), bytes)) expect.fail(`blob ${i} is wrong`)
        count++
      })
      if (error !== undefined) expect(error.code).to.match(/^STORE_(NOT_FOUND|MISSING|CORRUPT)$/)
    }
    await store.close()
    return count
  }

  it('of a sound store changes nothing that can be seen, however often it is repeated', async () => {
    for (let i = 0; i < 2; i++) expect(await rescue()).to.include(SOUND)
    await expectAll()
  })

  it('leaves the files of large blobs in place', async () => {
    const [name] = await readdir(at('blobs'))
    const before = await stat(at('blobs', name))
    await rm(at('index', 'CURRENT'))
    expect(await rescue()).to.include(SOUND)
    const after = await stat(at('blobs', name))
    expect([after.ino, after.mtimeMs, after.nlink]).to.deep.equal([before.ino, before.mtimeMs, 1])
    await expectAll()
  })

  describe('brings everything back when a database', () => {
    const DAMAGES = {
      'has lost CURRENT': folder => rm(join(folder, 'CURRENT')),
      'has a CURRENT that leads nowhere': folder => writeFile(join(folder, 'CURRENT'), 'MANIFEST-000777\n'),
      'has lost its manifest': async folder => rm(join(folder, await nameLike(folder, /^MANIFEST/))),
      'has an empty manifest': async folder => truncate(join(folder, await nameLike(folder, /^MANIFEST/)), 0),
      'has a manifest with a flipped bit': async folder => flip(join(folder, await nameLike(folder, /^MANIFEST/)), 30),
      'has lost all but its tables and logs': async folder => {
        for (const name of await readdir(folder)) if (!/\.(ldb|log)$/.test(name)) await rm(join(folder, name))
      }
    }
    for (const [what, damage] of Object.entries(DAMAGES)) {
      for (const name of ['index', 'data']) {
        it(`${what} (${name})`, async () => {
          await damage(at(name))
          expect(await rescue()).to.include(SOUND)
          await expectAll()
        })
      }
    }
  })

  describe('brings back what can be read when a database', () => {
    const sizeOf = async path => (await stat(path)).size
    const DAMAGES = {
      'has a table with a flipped bit': async folder => flip(join(folder, await nameLike(folder, /\.ldb$/)), 5000),
      'has a table without its end': async folder => {
        const path = join(folder, await nameLike(folder, /\.ldb$/))
        await truncate(path, await sizeOf(path) / 2 | 0)
      },
      'has lost a table': async folder => rm(join(folder, await nameLike(folder, /\.ldb$/))),
      'has a torn log': async folder => {
        const path = join(folder, await nameLike(folder, /\.log$/))
        await truncate(path, await sizeOf(path) / 2 | 0)
      },
      'has a log with a flipped bit': async folder => flip(join(folder, await nameLike(folder, /\.log$/)), 5000),
      'has lost its log': async folder => rm(join(folder, await nameLike(folder, /\.log$/))),
      'is gone': folder => rm(folder, { recursive: true })
    }
    for (const [what, damage] of Object.entries(DAMAGES)) {
      for (const name of ['index', 'data']) {
        it(`${what} (${name}), and a second fsck finds nothing`, async () => {
          await damage(at(name))
          await rescue()
          // The other files have half of the blobs. Without an index all get records; without data one file is left.
          const least = what !== 'is gone' ? HALF - 1 : name === 'index' ? BLOBS.length : 1
          expect(await countReadable()).to.be.at.least(least)
          const store = await place.open()
          expect(await store.fsck()).to.include({ isSound: true })
          for (const bytes of BLOBS) await store.put(bytes)
          await store.close()
          expect(await countReadable()).to.equal(BLOBS.length)
        })
      }
    }
  })

  it('keeps the newest value of a key that several tables have', async () => {
    const root = hash(BLOBS[0])
    for (let i = 0; i < 3; i++) {
      const store = await place.open()
      await store.delete(root, { force: true })
      if (i < 2) await store.put(BLOBS[0])
      await store.compact()
      await store.close()
    }
    await rm(at('index', 'CURRENT'))
    await rescue()
    expect(await place.look(({ index }) => index.get(blobKey(root), VIEWS))).to.equal(undefined)
  })

  it('gives no id again, although the rescued state is an old one', async () => {
    await place.look(async ({ index }) => {
      const state = decodeState(await index.get(stateKey, VIEWS))
      await index.put(stateKey, encodeState({ ...state, isClean: true, nextId: 1, swept: 1 }), VIEWS)
    })
    await rescue()
    const store = await place.open()
    await store.put(noise(20_000, 1))
    await store.close()
    await expectAll()
  })

  it('refuses a store of a later layout, and leaves it as it is', async () => {
    await place.look(async ({ index }) => {
      const state = decodeState(await index.get(stateKey, VIEWS))
      await index.put(stateKey, encodeState({ ...state, version: LAYOUT_VERSION + 1 }), VIEWS)
    })
    expect(await errorOf(rescue())).to.include({ code: 'STORE_VERSION' })
    expect((await readdir(place.where)).sort()).to.deep.equal(FOLDERS)
    expect(await errorOf(place.open())).to.include({ code: 'STORE_VERSION' })
  })

  describe('that is interrupted', () => {
    it('at any step must be called again before the store opens, and then has the same result', async () => {
      const before = await place.look(({ data }) => idsIn(data))
      const seen = new Set()
      for (let step = 0, isDone = false; !isDone; step += 2) {
        await rm(at('index', 'CURRENT'), { force: true })
        const child = start('rescue-until', String(step))
        isDone = (await once(child, 'exit'))[0] === 0
        const names = await readdir(place.where)
        for (const name of await readdir(at('rescue')).catch(() => [])) seen.add(name)
        if (names.includes('rescue')) {
          for (const create of [true, false]) {
            const error = await errorOf(place.open({ create }))
            expect(error, `step ${step}`).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
          }
          if (!names.includes('index') || !names.includes('data')) {
            expect(await readdir(at('rescue')), 'the old one, and the new one').to.include.members(['new', 'old'])
          }
        }
        expect(await rescue(), `step ${step}`).to.include(SOUND)
        await expectAll()
        expect(await place.look(({ data }) => idsIn(data))).to.deep.equal(before)
      }
      expect([...seen].sort()).to.deep.equal(['draft', 'lock', 'new', 'old'])
    })

    it('while it checks the new databases goes on with them', async () => {
      await rm(at('index', 'CURRENT'))
      const child = start('rescue')
      expect((await child.lines.next()).value).to.equal('checking')
      await killed(child)
      expect(await errorOf(place.open())).to.include({ code: 'STORE_OPEN_FAILED' })
      const restore = interceptSteps((take, step, path) => {
        if (step !== 'rm') expect(path, 'nothing is copied again').to.not.include('draft')
        return take()
      })
      try {
        expect(await rescue()).to.include(SOUND)
      } finally {
        restore()
      }
      await expectAll()
    })

    it('keeps the old databases until the new ones are complete and in their place', async () => {
      for (const name of ['index', 'data']) await rm(at(name, 'CURRENT'))
      const child = start('rescue')
      await child.lines.next()
      await killed(child)
      expect(await readdir(at('rescue', 'old'))).to.have.members(['index', 'data'])
      expect(await readdir(at('rescue', 'old', 'index'))).to.not.include('CURRENT')
      await rescue()
      await expectAll()
    })
  })

  describe('that fails', () => {
    it('before the new databases are complete changes nothing, and can be made again', async () => {
      let isDone = false
      for (let number = 0; !isDone; number++) {
        let steps = 0
        let hasNew = false
        const restore = interceptSteps((take, step, path) => {
          if (step === 'rename' && path.endsWith('draft')) hasNew = steps !== number
          if (hasNew || step === 'rm') return take()
          if (steps++ !== number) return take()
          return Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
        })
        const error = await errorOf(rescue())
        restore()
        isDone = hasNew
        if (error !== undefined) expect(error).to.include({ code: 'STORE_FULL' })
        await expectAll()
      }
    })

    it('in the middle of putting the new databases in place goes on when it is called again', async () => {
      for (const folder of ['draft', 'index', 'data', 'new/index', 'new/data']) {
        for (const name of ['index', 'data']) await rm(at(name, 'CURRENT'))
        const restore = interceptSteps((take, step, path) => {
          if (step !== 'rename' || !path.endsWith(folder)) return take()
          return Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' }))
        })
        expect(await errorOf(rescue()), folder).to.include({ code: 'STORE_FULL' })
        restore()
        if (folder !== 'draft') expect(await errorOf(place.open()), folder).to.include({ code: 'STORE_OPEN_FAILED' })
        expect(await rescue(), folder).to.include(SOUND)
        await expectAll()
      }
    })
  })

  it('can be aborted', async () => {
    const reason = new Error('enough')
    expect(await errorOf(rescue({ signal: AbortSignal.abort(reason) }))).to.equal(reason)
    await expectAll()
    const controller = new AbortController()
    const onProgress = () => controller.abort(reason)
    expect(await errorOf(rescue({ signal: controller.signal, onProgress }))).to.equal(reason)
    await expectAll()
  })

  it('does not change the targets of links', async () => {
    const target = at('..', `${Date.now()}-target`)
    try {
      await mkdir(target)
      await copyFile(at('index', 'CURRENT'), join(target, 'CURRENT'))
      for (const name of ['rescue', 'rescue/new', 'rescue/old', 'rescue/new/index', 'rescue/lock']) {
        await rm(at('rescue'), { recursive: true, force: true })
        await mkdir(at(name, '..'), { recursive: true })
        await symlink(target, at(name))
        expect(await errorOf(rescue()), name).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
        expect(await readdir(target)).to.deep.equal(['CURRENT'])
      }
      await rm(at('rescue'), { recursive: true })
      const log = await nameLike(at('data'), /\.log$/)
      await rename(at('data', log), join(target, log))
      await symlink(join(target, log), at('data', log))
      expect(await errorOf(rescue())).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
      await rm(at('data', log))
      await link(join(target, log), at('data', log))
      const before = await readFile(join(target, log))
      expect(await rescue()).to.include(SOUND)
      expect((await readFile(join(target, log))).equals(before)).to.equal(true)
      await expectAll()
    } finally {
      await rm(target, { recursive: true })
    }
  })

  it('keeps everybody else out, in any process, until it is done', async () => {
    const child = start('rescue')
    expect((await child.lines.next()).value).to.equal('checking')
    const locked = { code: 'STORE_LOCKED', location: place.where }
    for (let i = 0; i < 2; i++) {
      expect(await errorOf(place.open())).to.include(locked)
      expect(await errorOf(rescue())).to.include(locked)
    }
    await killed(child)
    expect(await errorOf(place.open())).to.include({ code: 'STORE_OPEN_FAILED' })
    // The same in one process, by any path.
    const names = [place.where, `${place.where}/.`, join(place.where, 'data', '..')]
    const rescues = await Promise.allSettled(names.map(where => BlobStore.rescue(where)))
    const codes = rescues.map(({ reason }) => reason?.code)
    expect(codes, 'one of them succeeds').to.have.members([undefined, 'STORE_LOCKED', 'STORE_LOCKED'])
    await expectAll()
  })

  it('refuses an open store, and leaves no mark there', async () => {
    const child = start('hold')
    await child.lines.next()
    expect(await errorOf(rescue())).to.include({ code: 'STORE_LOCKED', location: place.where })
    await killed(child)
    const store = await place.open()
    expect(await errorOf(rescue())).to.include({ code: 'STORE_LOCKED', location: place.where })
    await store.close()
    await expectAll()
  })

  it('removes the leftovers of earlier rescues', async () => {
    for (const name of ['rescue/lock', 'rescue/draft/index', 'rescue/links/data', 'rescue.done/old']) {
      await mkdir(at(name), { recursive: true })
      await writeFile(at(name, 'CURRENT'), 'MANIFEST-')
      await writeFile(at(name, '000007.ldb'), 'what was left')
    }
    expect(await rescue()).to.include(SOUND)
    await expectAll()
  })

  it('may leave files that the next opening deletes', async () => {
    await mkdir(at('rescue.done', 'old'), { recursive: true })
    await expectAll()
  })

  it('makes nothing where there is no store', async () => {
    const where = at('nowhere')
    expect(await errorOf(BlobStore.rescue(where))).to.include({ code: 'STORE_OPEN_FAILED', location: where })
    expect(existsSync(where)).to.equal(false)
    await mkdir(join(where, 'blobs'), { recursive: true })
    await writeFile(join(where, 'blobs', 'README'), 'no blob')
    expect(await errorOf(BlobStore.rescue(where))).to.include({ code: 'STORE_OPEN_FAILED', location: where })
    expect(await readdir(where)).to.deep.equal(['blobs'])
    await rm(where, { recursive: true })
  })

  it('is refused while a process has the store open, even if that process has tried to open it twice', async () => {
    await place.open()
    expect(await errorOf(place.open())).to.include({ code: 'STORE_LOCKED' }) // LevelDB would release its lock
    expect((await start('try').lines.next()).value).to.match(/^STORE_LOCKED /)
    expect(await errorOf(rescue())).to.include({ code: 'STORE_LOCKED' })
  })
})

/** Returns the first name that matches a pattern. @param {string} folder @param {RegExp} pattern */
const nameLike = async (folder, pattern) => (await readdir(folder)).sort().find(name => pattern.test(name))

/** Flips a bit of a file. @param {string} path @param {number} position  the middle in a shorter file */
async function flip (path, position) {
  const bytes = await readFile(path)
  bytes[Math.min(position, bytes.length >> 1)] ^= 4
  await writeFile(path, bytes)
}

/** Kills a process that was started here. */
async function killed (child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
