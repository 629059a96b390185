// A store leaves files of others alone: it follows no links, opens only regular files, and neither writes to nor
// deletes files that are not its own.
import {
  copyFile, link, mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, writeFile
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { BlobFile } from '../../../../store/storage/disk/blob-file.js'
import { MIB, VIEWS } from '../../../support/constants.js'
import { same } from '../../../support/bytes.js'
import { collect, errorOf, listed } from '../../../support/feeding.js'
import { pairsOf, someOf } from '../../../support/effort.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { IS_WINDOWS, ODD_THINGS, Victims, kindOf } from '../../../support/store/odd-things.js'
import {
  changeState, databasesOf, nextIdOf, noteDeletion, recordEntry, recordOf, recordsIn, writePath, writeRecord
} from '../../../support/store/inspect.js'
import { gated, onDisk, sliceOf } from '../../../support/store/stores.js'

/** Every call must end within so many milliseconds. */
const MAX_MS = 50_000

const WHOLE = noise(MIB + 5, 700)
const PART = noise(MIB + 70_000, 701)
const FIRST = { start: 0, end: 65_536 }
const REST = { start: 65_536, end: PART.length }
const OTHER = noise(MIB + 1, 702)
const [WHOLE_ROOT, PART_ROOT] = [hash(WHOLE), hash(PART)]
const [FIRST_SLICE, REST_SLICE] = [FIRST, REST].map(range => sliceOf(PART, range))

describe('store: files of others', () => {
  let place, store, victims
  const blobs = () => join(place.where, 'blobs')
  const reopen = async () => { store = await place.open({ durability: 'process' }) }
  const fileOf = async root => {
    const { id } = await recordOf(store, root)
    return join(blobs(), String(id))
  }

  beforeEach(async () => {
    victims = await Victims.make()
    place = await onDisk()
    await reopen()
  })
  afterEach(async () => {
    await place.remove()
    await victims.remove()
  })

  /** Leaves the store as a process that dies. */
  const crash = async () => {
    const nextId = nextIdOf(store) + 100
    await store.close()
    await place.look(({ index }) => changeState(index, { isClean: false, swept: 0, nextId }))
  }

  /** Returns the error of a call, if it fails. @param {() => Promise<unknown>} call @returns {Promise<any>} */
  const failure = call => call().then(() => undefined, error => error)

  /**
   * Runs a call that must end soon.
   *
   * @template T
   * @param {() => Promise<T>} call
   * @param {string} name
   * @returns {Promise<T>}
   */
  async function bounded (call, name) {
    let timer
    const late = new Promise((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`${name} has not ended`)), MAX_MS)
    })
    try {
      return await Promise.race([call(), late])
    } finally {
      clearTimeout(timer)
    }
  }

  /** Runs a call that must end soon, may fail only with a code of the store, and must not change a file of others. */
  async function expectHarmless (name, call) {
    const error = await bounded(() => failure(call), name)
    const isOurs = error === undefined || (error.name === 'BaoError' && error.code.startsWith('STORE_'))
    if (!isOurs) throw new Error(`${name} failed`, { cause: error })
    await victims.expectUnharmed(name)
    return error?.code
  }

  describe('in place of a file', () => {
    beforeEach(async () => {
      await store.put(WHOLE)
      await store.receive(PART_ROOT, FIRST_SLICE, FIRST)
    })

    const ROOTS = { 'a whole blob': WHOLE_ROOT, 'a part of a blob': PART_ROOT }
    const BYTES = { 'a whole blob': WHOLE, 'a part of a blob': PART }

    const calls = () => ({
      ...Object.fromEntries(Object.entries(ROOTS).flatMap(([what, root]) => Object.entries({
        get: () => collect(store.get(root)),
        bytes: () => store.bytes(root, { start: 5, end: 10 }),
        'bytes, not verified': () => store.bytes(root, { start: 5, end: 40_000 }, { verify: false }),
        slice: () => collect(store.slice(root, FIRST)),
        outboard: () => store.outboard(root),
        exportFile: () => store.exportFile(root, join(place.where, 'exported')),
        getMany: () => listed(store.getMany([root])),
        stat: () => store.stat(root),
        missing: () => store.missing(root)
      }).map(([name, call]) => [`${name} of ${what}`, call]))),
      'put of the same': () => store.put(WHOLE),
      'put of another': () => store.put(OTHER),
      'receive of the rest': () => store.receive(PART_ROOT, REST_SLICE, REST),
      compact: () => store.compact(),
      fsck: () => store.fsck(),
      'close and open': async () => {
        await store.close()
        await reopen()
      }
    })
    const changes = {
      delete: () => Promise.all(Object.values(ROOTS).map(root => store.delete(root))),
      gc: () => store.gc(),
      'fsck with repair': () => store.fsck({ repair: true }),
      'an opening after a crash': async () => {
        await store.delete(WHOLE_ROOT)
        await crash()
        await reopen()
      }
    }

    const pairs = pairsOf(Object.entries(ODD_THINGS), Object.entries(changes))
    for (const [[thing, { make, isFile }], [change, run]] of pairs) {
      it(`${thing}: no call changes what is not the store's, nor does ${change}`, async () => {
        const paths = await Promise.all(Object.values(ROOTS).map(fileOf))
        await store.close()
        for (const path of paths) {
          await rm(path)
          await make(path, victims)
        }
        const kinds = await Promise.all(paths.map(kindOf))
        await reopen()
        const before = change === 'fsck with repair' ? Object.entries(calls()) : []
        for (const [name, call] of before) await expectHarmless(name, call)
        await expectHarmless(change, run)
        if (!isFile) expect(await Promise.all(paths.map(kindOf)), 'what was there').to.deep.equal(kinds)
      })
    }

    for (const [thing, { make, isFile }] of someOf(Object.entries(ODD_THINGS))) {
      if (thing === 'an unreadable file') continue // a repair drops nothing of it
      it(`${thing}: the blob is damaged, is repaired, and can be received again`, async () => {
        for (const [finder, [what, root]] of pairsOf(['a read', 'fsck'], Object.entries(ROOTS))) {
          const path = await fileOf(root)
          const { complete } = await recordOf(store, root)
          await store.close()
          await rm(path)
          await make(path, victims)
          await reopen()
          if (finder === 'a read') {
            expect(await errorOf(store.bytes(root, FIRST)), what).to.include({ code: 'STORE_CORRUPT', start: 0 })
            expect(await errorOf(store.bytes(root, FIRST)), what)
              .to.include({ code: complete ? 'STORE_MISSING' : 'STORE_NOT_FOUND' })
          }
          const { damaged } = await store.fsck({ repair: true })
          const found = damaged.map(({ cid, isUnreadable }) => [String(cid), isUnreadable])
          // A read has looked at 1 MiB, and not at the end of a long file.
          const isLeft = finder === 'fsck' || (complete && thing.startsWith('a huge file'))
          expect(found, 'what no read has noted').to.deep.equal(isLeft ? [[String(toCid(root)), false]] : [])
          if (thing === 'a hard link to a file') await rm(path, { force: true })
          const missing = await store.missing(root)
          expect(await store.receive(root, sliceOf(BYTES[what], missing), missing), what).to.include({ complete: true })
          expect(same(await store.bytes(root), BYTES[what]), what).to.equal(true)
          const strays = isFile ? 0 : 1
          const report = await store.fsck({ repair: true })
          expect(report, 'what is there stays').to.include({ isSound: strays === 0, strays })
          if (!isFile) await rm(path, { recursive: true })
        }
        expect(await store.fsck()).to.include({ isSound: true })
        await victims.expectUnharmed('all of that')
      })
    }

    it('a forged record and a link: no bytes are received into the target of the link', async () => {
      const id = 777
      await store.close()
      const record = { id, size: WHOLE.length, sizeProven: false, complete: false, home: 'file', created: 1 }
      await place.look(({ index }) => writeRecord(index, WHOLE_ROOT, record))
      await symlink(victims.file, join(blobs(), `${id}`))
      await reopen()
      expect(await expectHarmless('receive', () => store.receive(WHOLE_ROOT, sliceOf(WHOLE)))).to.equal('STORE_CORRUPT')
    })

    it('a file with other names is read, and not written to until it is replaced by a copy', async () => {
      const path = await fileOf(PART_ROOT)
      const backup = join(place.where, 'backup')
      await rename(path, backup)
      await link(backup, path)
      const before = await readFile(backup)
      expect(same(await store.bytes(PART_ROOT, FIRST), PART.subarray(0, FIRST.end))).to.equal(true)
      expect(await store.fsck({ repair: true })).to.include({ isSound: true })
      const error = await errorOf(store.receive(PART_ROOT, REST_SLICE, REST))
      expect(error).to.include({ code: 'STORE_CORRUPT', location: path })
      expect(error.message).to.match(/hard links/)
      expect(String(error.cid)).to.equal(String(toCid(PART_ROOT)))
      expect(same(await readFile(backup), before)).to.equal(true)
      await copyFile(path, `${path}.copy`)
      await rename(`${path}.copy`, path)
      expect(await store.receive(PART_ROOT, REST_SLICE, REST)).to.include({ complete: true })
      expect(same(await store.bytes(PART_ROOT), PART)).to.equal(true)
      expect(same(await readFile(backup), before)).to.equal(true)
    })
  })

  describe('that have the next id as a name', () => {
    const theirs = noise(500, 702)
    const next = () => join(blobs(), `${nextIdOf(store)}`)

    it('a file is neither overwritten by a put, nor deleted when the put fails', async () => {
      const path = next()
      await writeFile(path, theirs)
      expect(await errorOf(store.put(WHOLE))).to.include({ code: 'STORE_CORRUPT', location: path })
      expect(same(await readFile(path), theirs)).to.equal(true)
      expect(await store.put(WHOLE)).to.include({ isNew: true })
      expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
    })

    it('a file is neither overwritten by a slice, nor deleted when the slice fails', async () => {
      const path = next()
      await writeFile(path, theirs)
      const error = await errorOf(store.receive(PART_ROOT, sliceOf(PART)))
      expect(error).to.include({ code: 'STORE_CORRUPT', location: path })
      expect(same(await readFile(path), theirs)).to.equal(true)
      expect(await store.receive(PART_ROOT, sliceOf(PART))).to.include({ complete: true })
    })

    it('two slices of a new blob are written to one file', async () => {
      const slice = sliceOf(PART)
      const gate = gated([slice.subarray(0, 700_000)], [slice.subarray(700_000)])
      const receiving = store.receive(PART_ROOT, gate.source)
      await gate.reached
      await store.receive(PART_ROOT, REST_SLICE, REST)
      gate.open()
      expect(await receiving).to.include({ complete: true })
      expect(same(await store.bytes(PART_ROOT), PART)).to.equal(true)
    })
  })

  it('leftovers of a crash are deleted, and files of others stay', async () => {
    await store.put(WHOLE)
    await crash()
    await place.look(({ index }) => noteDeletion(index, 50))
    await writeFile(join(blobs(), '40'), 'a leftover')
    await mkdir(join(blobs(), '41'))
    await writeFile(join(blobs(), '.DS_Store'), 'of the system')
    if (!IS_WINDOWS) for (const id of [42, 50]) await symlink(victims.file, join(blobs(), `${id}`))
    await reopen()
    const names = await readdir(blobs())
    expect(names).to.not.include('40')
    expect(names).to.include.members(['41', '.DS_Store', ...IS_WINDOWS ? [] : ['42', '50']])
    await victims.expectUnharmed('the opening')
    expect(await store.fsck({ repair: true })).to.include({ strays: IS_WINDOWS ? 1 : 3 })
    await victims.expectUnharmed('fsck')
    for (const name of ['41', '42', '50']) await rm(join(blobs(), name), { recursive: true, force: true })
    expect(await store.fsck({ repair: true })).to.include({ isSound: true })
    expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
  })

  describe('in place of a folder', () => {
    beforeEach(async () => {
      await store.put(WHOLE)
      await store.receive(PART_ROOT, FIRST_SLICE, FIRST)
    })

    for (const [thing, { make, isFolder }] of Object.entries(ODD_THINGS)) {
      if (isFolder && thing !== 'nothing') continue
      const isNothing = thing === 'nothing'

      it(`blobs is ${thing}, while the store is open: nothing there is changed`, async () => {
        await rename(blobs(), `${blobs()} moved`)
        await make(blobs(), victims)
        const kind = await kindOf(blobs())
        const codes = {}
        for (const [name, call] of Object.entries({
          bytes: () => store.bytes(WHOLE_ROOT),
          slice: () => collect(store.slice(WHOLE_ROOT)),
          fsck: () => store.fsck(),
          'fsck with repair': () => store.fsck({ repair: true }),
          put: () => store.put(OTHER),
          receive: () => store.receive(PART_ROOT, REST_SLICE, REST),
          compact: () => store.compact(),
          delete: () => store.delete(WHOLE_ROOT),
          gc: () => store.gc()
        })) codes[name] = await expectHarmless(name, call)
        const done = isNothing ? undefined : 'STORE_CORRUPT'
        expect(codes).to.include({ put: done, fsck: undefined, delete: undefined, gc: undefined })
        if (!isNothing) expect(await kindOf(blobs())).to.equal(kind)
      })

      const outcome = isNothing ? 'it is made again' : 'the store is not opened'
      it(`blobs is ${thing}, when the store is opened: ${outcome}`, async () => {
        await crash()
        await rename(blobs(), `${blobs()} moved`)
        await make(blobs(), victims)
        const code = await expectHarmless('opening', () => reopen())
        expect(code).to.equal(isNothing ? undefined : 'STORE_OPEN_FAILED')
        if (isNothing) return
        expect((await errorOf(place.open())).cause.message).to.include(blobs())
        await rm(blobs())
        await rename(`${blobs()} moved`, blobs())
        await reopen()
        expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
      })
    }

    it('a missing folder blobs is damage, and a repair makes it again', async () => {
      await rm(blobs(), { recursive: true })
      const { damaged, isSound } = await store.fsck()
      expect(isSound).to.equal(false)
      expect(damaged).to.have.length(2)
      await store.fsck({ repair: true })
      expect(await readdir(blobs())).to.be.an('array')
      expect(await store.fsck()).to.include({ isSound: true })
      expect(await store.put(WHOLE)).to.include({ isNew: true })
      await store.close()
      await rm(blobs(), { recursive: true })
      await reopen()
      expect(await store.fsck({ repair: true })).to.include({ isSound: false })
      expect(await store.fsck()).to.include({ isSound: true })
    })

    for (const name of ['index', 'data', 'rescue']) {
      it(`${name} that is a link: the store is neither opened nor rescued`, async function () {
        if (IS_WINDOWS) this.skip()
        await store.close()
        const path = join(place.where, name)
        const moved = join(place.where, 'moved')
        await rename(path, moved).catch(() => mkdir(moved))
        await symlink(moved, path)
        const before = await readdir(moved)
        const attempts = [() => place.open(), () => place.open({ create: false }), () => BlobStore.rescue(place.where)]
        for (const attempt of attempts) {
          const error = await errorOf(attempt)
          expect(error).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
          expect(error.cause.message).to.include(`${path} is a link`)
        }
        expect(await readdir(moved), 'nothing was made in it').to.deep.equal(before)
        await rm(path)
        if (before.length > 0) await rename(moved, path)
        await reopen()
        expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
      })
    }

    it('a link among the files of LevelDB: the store is not opened', async function () {
      if (IS_WINDOWS) this.skip()
      await store.close()
      for (const level of ['index', 'data']) {
        const path = join(place.where, level, '009999.log')
        await symlink(victims.file, path)
        const error = await errorOf(place.open())
        expect(error).to.include({ code: 'STORE_OPEN_FAILED' })
        expect(error.cause.message).to.include(path)
        await rm(path)
      }
      await victims.expectUnharmed('the opening')
      await reopen()
    })

    it('the location itself may be a link', async function () {
      if (IS_WINDOWS) this.skip()
      await store.close()
      const link = join(victims.folder, '..', 'link')
      await symlink(place.where, link)
      store = await BlobStore.open(link)
      expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
      await store.close()
    })
  })

  describe('that cannot be read now', () => {
    const { readInto, read } = BlobFile.prototype
    afterEach(() => Object.assign(BlobFile.prototype, { readInto, read }))

    for (const code of ['EIO', 'EACCES']) {
      it(`for ${code}: fsck says so, and a repair drops nothing`, async () => {
        await store.put(WHOLE)
        await store.receive(PART_ROOT, FIRST_SLICE, FIRST)
        const failing = async () => { throw Object.assign(new Error(`${code}: the disk is busy`), { code }) }
        Object.assign(BlobFile.prototype, { readInto: failing, read: failing })
        for (const repair of [false, true]) {
          const { isSound, damaged } = await store.fsck({ repair })
          expect(isSound).to.equal(false)
          expect(damaged).to.have.length(2)
          for (const { isUnreadable, data, lost } of damaged) {
            expect([isUnreadable, data.isEmpty, lost.isEmpty]).to.deep.equal([true, false, true])
          }
        }
        Object.assign(BlobFile.prototype, { readInto, read })
        expect(await store.fsck()).to.include({ isSound: true })
        expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
        expect((await store.stat(PART_ROOT)).present.boundaries).to.deep.equal([0, 64])
      })
    }

    it('and have no record: a repair leaves them', async () => {
      await store.put(WHOLE)
      const path = await fileOf(WHOLE_ROOT)
      await recordEntry(databasesOf(store).index, WHOLE_ROOT).remove()
      const failing = async () => { throw Object.assign(new Error('the disk is busy'), { code: 'EIO' }) }
      Object.assign(BlobFile.prototype, { readInto: failing, read: failing })
      expect(await store.fsck({ repair: true })).to.include({ isSound: false, orphans: 1 })
      expect((await stat(path)).size).to.equal(WHOLE.length)
      Object.assign(BlobFile.prototype, { readInto, read })
      expect(await store.fsck({ repair: true })).to.include({ orphans: 1 })
      expect(await kindOf(path)).to.equal(undefined)
    })

    it('when pairs are computed again: a repair drops nothing', async () => {
      await store.put(WHOLE)
      const { data } = databasesOf(store)
      for await (const key of data.keys(VIEWS)) await data.del(key, VIEWS)
      let reads = 0
      Object.assign(BlobFile.prototype, {
        read (...args) {
          if (reads++ === 3) throw Object.assign(new Error('the disk is busy'), { code: 'EIO' })
          return read.apply(this, args)
        }
      })
      const { damaged } = await store.fsck({ repair: true })
      expect(damaged[0]).to.include({ isUnreadable: true })
      expect(reads).to.be.above(3)
      Object.assign(BlobFile.prototype, { read })
      await store.fsck({ repair: true })
      expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
    })
  })

  describe('in place of the file of a reference', () => {
    let folder, path
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'baobox-'))
      path = join(folder, 'a file')
      await writeFile(path, WHOLE)
      await store.importFile(path, { mode: 'reference' })
    })
    afterEach(() => rm(folder, { recursive: true }))

    const calls = {
      get: () => collect(store.get(WHOLE_ROOT)),
      bytes: () => store.bytes(WHOLE_ROOT, { start: 5, end: 10 }),
      slice: () => collect(store.slice(WHOLE_ROOT)),
      exportFile: () => store.exportFile(WHOLE_ROOT, join(place.where, 'exported')),
      fsck: () => store.fsck(),
      'close and open': async () => {
        await store.close()
        await reopen()
      }
    }
    const changes = {
      'fsck with repair': async () => {
        const { damaged } = await store.fsck({ repair: true })
        expect(damaged.map(({ cid }) => String(cid))).to.deep.equal([String(toCid(WHOLE_ROOT))])
      },
      delete: () => store.delete(WHOLE_ROOT),
      gc: () => store.gc(),
      put: () => store.put(WHOLE)
    }
    const things = { ...ODD_THINGS }
    if (!IS_WINDOWS) {
      const devices = ['/dev/null', '/dev/zero', '/dev/tty']
      for (const device of devices) things[device] = { make: path => symlink(device, path) }
      things['a name in a file'] = { make: async path => { await writeFile(path, ''); return `${path}/name` } }
      things['a name that is too long'] = { make: async path => `${path}${'x'.repeat(300)}` }
    }

    for (const [thing, { make }] of Object.entries(things)) {
      it(`${thing}: the blob is missing or damaged until its file is back, and no call hangs`, async () => {
        for (const [change, run] of Object.entries(changes)) {
          await rm(path, { recursive: true, force: true })
          const elsewhere = await make(path, victims)
          if (typeof elsewhere === 'string') {
            const [{ id }] = await recordsIn(databasesOf(store).index)
            await writePath(databasesOf(store).index, id, elsewhere)
          }
          for (const [name, call] of change === 'put' ? Object.entries(calls) : []) {
            const code = await expectHarmless(name, call)
            if (!['fsck', 'close and open'].includes(name)) expect(code, name).to.match(/^STORE_(MISSING|CORRUPT)$/)
          }
          await expectHarmless(change, run)
          await rm(path, { recursive: true, force: true })
          await store.delete(WHOLE_ROOT)
          await writeFile(path, WHOLE)
          await store.importFile(path, { mode: 'reference' })
          expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
        }
      })

      it(`${thing}: cannot become a reference, unless it is a file`, async function () {
        if (thing.startsWith('a huge file')) this.skip() // it is a file, and takes long
        await rm(path)
        await make(path, victims)
        const error = await bounded(() => failure(() => store.importFile(path, { mode: 'reference' })), 'importFile')
        if (error !== undefined && !(error instanceof TypeError)) expect(error.code).to.match(/^E/)
        await victims.expectUnharmed('importFile')
      })
    }

    it('a path that no store writes counts as damaged', async () => {
      const { index } = databasesOf(store)
      const [{ id }] = await recordsIn(index)
      for (const wrong of ['', 'relative', './a', `${path}\0`, '\0']) {
        await writePath(index, id, path)
        expect(same(await store.bytes(WHOLE_ROOT), WHOLE), 'with its path').to.equal(true)
        await writePath(index, id, wrong)
        for (const count of [1, 0]) { // the read at the end of the loop notes the damage
          const { isSound, strays, damaged } = await store.fsck()
          expect({ isSound, strays, count: damaged.length }).to.deep.equal({ isSound: false, strays: 1, count })
          expect(await errorOf(store.bytes(WHOLE_ROOT)), JSON.stringify(wrong)).to.include({ code: 'STORE_MISSING' })
        }
      }
      await store.fsck({ repair: true })
      expect(await store.fsck()).to.include({ isSound: true })
      expect((await store.missing(WHOLE_ROOT)).equals(ChunkRanges.all.canonical(WHOLE.length))).to.equal(true)
      await store.receive(WHOLE_ROOT, sliceOf(WHOLE))
      expect(same(await store.bytes(WHOLE_ROOT), WHOLE)).to.equal(true)
    })

    it('the error of the system is the cause of the error', async () => {
      await rm(path)
      expect((await errorOf(store.bytes(WHOLE_ROOT))).cause).to.include({ code: 'ENOENT' })
      await writeFile(path, WHOLE)
      expect(same(await store.bytes(WHOLE_ROOT), WHOLE), 'when it is back').to.equal(true)
      await rm(path)
      await mkdir(path)
      expect((await errorOf(store.bytes(WHOLE_ROOT))).cause.message).to.include(path)
      await expectSlip('path', () => store.importFile(path, { mode: 'reference' }))
    })
  })
})
