// A store that is opened for reading leaves its directory as it is, even when another process has it open.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { cpSync, existsSync, readdirSync, renameSync } from 'node:fs'
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { sha256 } from 'multiformats/hashes/sha2'
import { CID } from 'multiformats/cid'
import { MemoryLevel } from 'memory-level'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { download } from '../../../../exchange/download/index.js'
import { copy, importCar } from '../../../../exchange/transfer/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { hex, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { collect, errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { databasesOf, eventEntries, recordOf } from '../../../support/store/inspect.js'
import { onDisk, sliceOf } from '../../../support/store/stores.js'
import { blobOf, isReceived, nextRound } from '../../../support/store/worker.js'

const WORKER = fileURLToPath(new URL('../../../support/store/worker.js', import.meta.url))
const SMALL = noise(3 * GROUP + 5, 1)
const LONG = noise(MIB + 3000, 2)
const PART = noise(80 * GROUP, 3)
const RANGES = ChunkRanges.fromBytes(0, 30 * GROUP)

/** Lists all files and folders, with everything that opening a store could change of them. */
async function everythingIn (folder) {
  const found = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const { ino, mode, nlink, size, mtimeMs, ctimeMs } = await lstat(path)
    const content = entry.isFile() ? hex(hash(await readFile(path))) : ''
    found[path] = [ino, mode, nlink, size, mtimeMs, ctimeMs, content].join(' ')
  }
  return found
}

describe('store: opened for reading', () => {
  let place, tempDir
  const children = []
  beforeEach(async () => {
    place = await onDisk()
    tempDir = await mkdtemp(join(tmpdir(), 'baobox-'))
  })
  afterEach(async () => {
    for (const child of children.splice(0)) await killed(child)
    await chmod(place.where, 0o755)
    await place.remove()
    await rm(tempDir, { recursive: true })
  })

  const openReadOnly = options => place.open({ readOnly: true, tempDir, ...options })

  function start (task, ...args) {
    const stdio = ['ignore', 'pipe', 'ignore']
    const child = spawn(process.execPath, [WORKER, task, place.where, ...args], { stdio })
    child.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    children.push(child)
    return child
  }

  async function killed (child) {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  async function fill (store) {
    await store.put(SMALL, { tag: 'small' })
    await store.put(LONG, { tag: 'long' })
    await store.receive(hash(PART), sliceOf(PART, RANGES), RANGES)
    await asBlockstore(store).put(CID.createV1(0x55, await sha256.digest(noise(50))), noise(50))
  }

  async function expectFilled (store) {
    expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
    expect(same(await collect(store.get(hash(LONG))), LONG)).to.equal(true)
    expect((await store.stat(hash(PART))).present.boundaries).to.deep.equal(RANGES.boundaries)
    expect(same(await store.bytes(hash(PART), { start: 9, end: 29 * GROUP }), PART.subarray(9, 29 * GROUP)))
      .to.equal(true)
    expect((await listed(store.tags.list())).map(({ name }) => name)).to.deep.equal(['long', 'small'])
    expect(await listed(store.list())).to.have.length(4)
    expect(await store.fsck()).to.include({ isSound: true })
    expect((await store.gc({ dryRun: true })).blobs).to.equal(2)
  }

  it('gives everything, changes nothing, and leaves no copy', async () => {
    const writer = await place.open()
    await fill(writer)
    await writer.close()
    for (const name of ['index', 'data', 'blobs', '.']) await chmod(join(place.where, name), 0o555)
    const before = await everythingIn(place.where)
    const [a, b] = [await openReadOnly(), await openReadOnly()]
    await expectFilled(a)
    await expectFilled(b)
    expect(await readdir(tempDir)).to.have.length(2)
    for (const name of await readdir(tempDir)) expect(name).to.include(`baobox-read-only-${process.pid}-`)
    await Promise.all([a.close(), b.close()])
    expect(await readdir(tempDir)).to.deep.equal([])
    expect(await everythingIn(place.where)).to.deep.equal(before)
    for (const name of ['index', 'data', 'blobs', '.']) await chmod(join(place.where, name), 0o755)
  })

  it('refuses every call that writes', async () => {
    const writer = await place.open()
    await fill(writer)
    await writer.close()
    const before = await everythingIn(place.where)
    const store = await openReadOnly()
    const other = await onDisk()
    const source = await other.open()
    const path = join(tempDir, 'file')
    await writeFile(path, 'text')
    const blocks = asBlockstore(store)
    const [cid, absent] = [toCid(hash(SMALL)), toCid(hash(noise(7)))]
    const calls = {
      put: () => store.put(SMALL),
      putMany: () => listed(store.putMany([SMALL])),
      importFile: () => store.importFile(path),
      compose: () => store.compose([{ cid }, { cid }]),
      'importFile by reference': () => store.importFile(path, { mode: 'reference' }),
      receive: () => store.receive(hash(PART), sliceOf(PART)),
      delete: () => store.delete(cid, { force: true }),
      'delete an absent blob': () => store.delete(absent),
      'tags.set': () => store.tags.set('a', cid),
      'tags.delete': () => store.tags.delete('nothing'),
      'tags.rename': () => store.tags.rename('long', 'b'),
      gc: () => store.gc(),
      compact: () => store.compact(),
      repair: () => store.fsck({ repair: true }),
      copy: () => copy(source, store),
      importCar: () => importCar(store, SMALL),
      download: () => download(store, cid, { from: [source] }),
      'block put': () => blocks.put(cid, SMALL),
      'blocks putMany': () => listed(blocks.putMany([{ cid, bytes: SMALL }])),
      'block delete': () => blocks.delete(cid)
    }
    for (const [name, call] of Object.entries(calls)) {
      expect(await errorOf(call), name).to.include({ code: 'STORE_READ_ONLY', location: place.where })
    }
    await expectFilled(store)
    await store.close()
    await other.remove()
    expect(await everythingIn(place.where)).to.deep.equal(before)
  })

  it('opens a store whose log of changes ends with damage, and fails with WATCH_GAP there', async () => {
    const store = await place.open()
    await store.put(SMALL)
    const { point } = await store.info()
    await store.put(PART, { tag: 'a' })
    await store.close()
    await place.look(async ({ index }) => (await eventEntries(index)).at(-1).put(new Uint8Array(10)))
    const before = await everythingIn(place.where)
    const reader = await openReadOnly()
    expect(same(await reader.bytes(hash(PART)), PART)).to.equal(true)
    expect(await errorOf(listed(reader.watch({ after: point })))).to.include({ code: 'WATCH_GAP' })
    const { point: now } = await reader.info()
    await reader.close()
    expect(await everythingIn(place.where)).to.deep.equal(before)
    const writer = await place.open()
    for (const after of [point, now]) {
      expect(await errorOf(listed(writer.watch({ after })))).to.include({ code: 'WATCH_GAP' })
    }
  })

  it('can be copied to another store', async () => {
    const writer = await place.open()
    await fill(writer)
    await writer.close()
    const other = await onDisk()
    const target = await other.open()
    expect(await copy(await openReadOnly(), target)).to.include({ blobs: 4, tags: 2 })
    await expectFilled(target)
    await other.remove()
  })

  it('has all blobs that were acknowledged to a killed process', async () => {
    const child = start('work', '0')
    const done = []
    for await (const line of { [Symbol.asyncIterator]: () => child.lines }) {
      const [word, what, i] = line.split(' ')
      if (word === 'done' && what !== 'delete') done.push(Number(i))
      if (done.length === 3) break
    }
    await killed(child)
    const before = await everythingIn(place.where)
    const store = await openReadOnly()
    for (const i of done.slice(1)) expect(same(await store.bytes(hash(blobOf(i))), blobOf(i)), `${i}`).to.equal(true)
    await store.close()
    expect(await everythingIn(place.where)).to.deep.equal(before)
  })

  it('shows a store that another process writes to as of one moment', async () => {
    const child = start('work', '0')
    const settled = []
    let deleted = 0
    const following = (async () => {
      for await (const line of { [Symbol.asyncIterator]: () => child.lines }) {
        const [word, what, i] = line.split(' ')
        if (word === 'done' && what !== 'delete') settled.push(Number(i))
        if (word === 'begin' && what === 'delete') deleted = Number(i)
      }
    })()
    while (settled.length < 2) await new Promise(resolve => setTimeout(resolve, 20))
    for (let round = 0; round < 5; round++) {
      const promised = settled.filter(i => isReceived(i) || i % 4 !== 0)
      const store = await openReadOnly()
      for (const i of promised) {
        if (i <= deleted && i === nextRound(i)) continue
        expect(same(await store.bytes(hash(blobOf(i))), blobOf(i)), `blob ${i}`).to.equal(true)
      }
      for (const { cid, complete } of await listed(store.list())) {
        if (!complete) continue
        const error = await errorOf(store.bytes(cid))
        if (error) expect(error.code, error.stack).to.equal('STORE_CHANGED')
      }
      await store.close()
    }
    await killed(child)
    await following
  })

  it('shows the store as of its opening while this process writes on, and keeps its lock', async () => {
    const writer = await place.open()
    await fill(writer)
    const store = await openReadOnly()
    const { cid } = await writer.put(noise(900, 9))
    await writer.tags.set('later', cid)
    await expectFilled(store)
    expect(await store.has(cid)).to.equal(false)
    await store.close()
    const child = start('hold')
    expect((await child.lines.next()).value, 'nobody else can open it').to.not.equal('open')
  })

  it('fails with STORE_CHANGED for a blob in a file that was deleted since, and with STORE_CORRUPT for a damaged one',
    async () => {
      const writer = await place.open()
      await fill(writer)
      const damaged = noise(MIB + 1, 6)
      await writer.put(damaged)
      const { id } = await recordOf(writer, hash(damaged))
      const [changing, sound] = [await openReadOnly(), await openReadOnly()]
      await truncate(databasesOf(writer).files.pathOf(id), 5)
      expect(await errorOf(collect(sound.get(hash(damaged))))).to.include({ code: 'STORE_CORRUPT' })
      await writer.delete(hash(LONG), { force: true })
      expect(await errorOf(collect(changing.get(hash(LONG))))).to.include({ code: 'STORE_CHANGED' })
    })

  it('fails with a code where it cannot read a store', async () => {
    expect(await errorOf(openReadOnly())).to.include({ code: 'STORE_ABSENT', location: place.where })
    expect(await readdir(place.where)).to.deep.equal([])
    await (await place.open()).close()
    const current = join(place.where, 'data', 'CURRENT')
    await rename(current, `${current}.away`)
    expect(await errorOf(openReadOnly())).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
    await rename(`${current}.away`, current)
    await writeFile(current, 'MANIFEST-999999\n')
    expect(await errorOf(openReadOnly())).to.include({ code: 'STORE_OPEN_FAILED' })
    expect(await readdir(tempDir), 'no copy is left').to.deep.equal([])
  })

  it('works during a rescue, unless only one of the databases is replaced', async () => {
    const writer = await place.open()
    await fill(writer)
    await writer.close()
    const at = (...names) => join(place.where, ...names)
    const stages = {
      'before the new databases are complete': async () => {
        for (const name of ['lock', 'draft']) await mkdir(at('rescue', name), { recursive: true })
      },
      'before the old ones are moved': async () => {
        for (const name of ['index', 'data']) await cp(at(name), at('rescue', 'new', name), { recursive: true })
        await mkdir(at('rescue', 'old'))
      },
      'while the index is missing': () => rename(at('index'), at('rescue', 'old', 'index')),
      'while the data is the old one': () => rename(at('rescue', 'new', 'index'), at('index')),
      'while the data is missing': () => rename(at('data'), at('rescue', 'old', 'data')),
      'when both are the new ones': () => rename(at('rescue', 'new', 'data'), at('data')),
      'when the new ones are checked': () => rm(at('rescue', 'old'), { recursive: true })
    }
    for (const [when, reach] of Object.entries(stages)) {
      await reach()
      const before = await everythingIn(place.where)
      if (when.startsWith('while')) {
        const error = await errorOf(openReadOnly())
        expect(error, when).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
        expect(error.message).to.match(/its rescue (has not|was)/)
      } else {
        const store = await openReadOnly()
        await expectFilled(store)
        await store.close()
      }
      expect(await everythingIn(place.where), when).to.deep.equal(before)
      expect(await readdir(tempDir)).to.deep.equal([])
    }
  })

  it('works while another process rescues the store', async () => {
    const writer = await place.open()
    await fill(writer)
    await writer.close()
    const child = start('rescue')
    expect((await child.lines.next()).value).to.equal('checking')
    for (const isOver of [false, true]) {
      if (isOver) await killed(child)
      const store = await openReadOnly()
      expect(same(await store.bytes(hash(SMALL)), SMALL)).to.equal(true)
      expect(same(await collect(store.get(hash(LONG))), LONG)).to.equal(true)
      await store.close()
    }
  })

  it('does not copy one database before a rescue and the other one after it', async () => {
    const writer = await place.open()
    await fill(writer)
    await writer.close()
    const { signal } = new AbortController()
    let isReplaced = false
    signal.throwIfAborted = () => {
      if (isReplaced || !existsSync(join(tempDir, readdirSync(tempDir)[0] ?? '', 'data'))) return
      isReplaced = true
      renameSync(join(place.where, 'index'), join(place.where, 'old'))
      cpSync(join(place.where, 'old'), join(place.where, 'index'), { recursive: true })
    }
    expect(await errorOf(openReadOnly({ signal }))).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
    expect(isReplaced).to.equal(true)
    const store = await openReadOnly()
    await expectFilled(store)
    await store.close()
  })

  it('can be aborted', async () => {
    await (await place.open()).close()
    expect(await errorOf(openReadOnly({ signal: AbortSignal.abort(5) }))).to.equal(5)
    expect(await readdir(tempDir)).to.deep.equal([])
  })

  it('takes a directory, and no quota', async () => {
    const levels = { index: new MemoryLevel(), data: new MemoryLevel() }
    await expectSlip('where', () => BlobStore.open(levels, { readOnly: true }), [TypeError])
    await expectSlip('tempDir', () => openReadOnly({ tempDir: 5 }), [TypeError])
    await expectSlip('quota', () => openReadOnly({ quota: 5 }), [TypeError])
  })
})
