// Exports that link, clone or move the file of a blob.
import { link, mkdtemp, open, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { databasesOf, flipStoredByte, recordOf } from '../../support/store/inspect.js'
import { forEachPlace } from '../../support/store/stores.js'

const long = noise(2_500_001, 41)
const cid = toCid(hash(long))
const short = noise(5000, 42)
const shortCid = toCid(hash(short))
const MODES = ['copy', 'link', 'reflink', 'move']

describe('store: exportFile() by modes', () => {
  let folder, path
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'target')
  })
  afterEach(() => rm(folder, { recursive: true }))

  /** Returns the path of a blob's file; undefined when there is none. */
  const ownFile = async (store, cid) => {
    const record = await recordOf(store, cid.multihash.digest)
    return databasesOf(store).files?.pathOf(record.id)
  }
  const inodeOf = async path => (await stat(path)).ino

  forEachPlace((newPlace, kind) => {
    let store
    beforeEach(async () => {
      store = await newPlace().then(place => place.open())
      await store.put(long)
      await store.put(short)
    })

    for (const mode of MODES) {
      it(`mode '${mode}' replaces the target, and leaves no other file`, async () => {
        for (const [bytes, cid] of [[long, toCid(hash(long))], [short, shortCid]]) {
          await writeFile(path, 'what was there before')
          expect(await store.exportFile(cid, path, { mode })).to.deep.equal({ size: bytes.length })
          expect(same(await readFile(path), bytes)).to.equal(true)
          expect(await readdir(folder)).to.deep.equal(['target'])
          expect(await store.has(cid)).to.equal(mode !== 'move')
        }
      })

      it(`mode '${mode}' of a blob that is partial or missing does not change the target`, async () => {
        await writeFile(path, 'before')
        const absent = toCid(hash(noise(10, 43)))
        expect(await errorOf(store.exportFile(absent, path, { mode }))).to.include({ code: 'STORE_NOT_FOUND' })
        expect(await readFile(path, 'utf8')).to.equal('before')
      })
    }

    it("mode 'move' fails for a blob that a tag names, and changes nothing", async () => {
      await store.tags.set('a', cid)
      await writeFile(path, 'before')
      const error = await errorOf(store.exportFile(cid, path, { mode: 'move' }))
      expect(error).to.include({ code: 'STORE_TAGGED', tag: 'a' })
      expect(await readFile(path, 'utf8')).to.equal('before')
      expect(await store.has(cid)).to.equal(true)
    })

    it('refuses other modes and options', async () => {
      for (const options of [{ mode: 'hardlink' }, { odd: 1 }, { durability: true }]) {
        expect(await errorOf(store.exportFile(cid, path, options))).to.be.instanceOf(TypeError)
      }
    })

    for (const mode of MODES) {
      it(`mode '${mode}' finds damage, and then makes no file`, async () => {
        await flipStoredByte(store, hash(long), 1_500_000)
        expect(await errorOf(store.exportFile(cid, path, { mode }))).to.include({ code: 'STORE_CORRUPT' })
        expect(await readdir(folder)).to.deep.equal([])
        expect(await store.has(cid)).to.equal(false)
      })
    }

    it("syncs nothing with durability 'process'", async () => {
      const handle = await open(folder)
      const prototype = Object.getPrototypeOf(handle)
      await handle.close()
      const { sync } = prototype
      let syncs = 0
      prototype.sync = function () { syncs++; return sync.call(this) }
      try {
        for (const mode of ['copy', 'link', 'reflink']) {
          await store.exportFile(cid, path, { mode, durability: 'process' })
          expect(syncs, mode).to.equal(0)
          await store.exportFile(cid, path, { mode, durability: 'sync' })
          expect(syncs, mode).to.be.above(0)
          syncs = 0
        }
      } finally {
        prototype.sync = sync
      }
    })

    if (kind === 'memory-level') return

    it("mode 'link' gives the store's file another name, also in a second export", async () => {
      for (let i = 0; i < 2; i++) {
        await store.exportFile(cid, path, { mode: 'link' })
        expect(await inodeOf(path)).to.equal(await inodeOf(await ownFile(store, cid)))
        expect(await readdir(folder)).to.deep.equal(['target'])
      }
    })

    it("mode 'move' makes the store's file the target", async () => {
      const inode = await inodeOf(await ownFile(store, cid))
      await store.exportFile(cid, path, { mode: 'move' })
      expect(await stat(path)).to.include({ ino: inode, nlink: 1 })
    })

    it("modes 'copy' and 'reflink' make another file", async () => {
      for (const mode of ['copy', 'reflink']) {
        await store.exportFile(cid, path, { mode })
        expect(await inodeOf(path), mode).to.not.equal(await inodeOf(await ownFile(store, cid)))
      }
    })

    it('a link without "verify" is made without reading the file', async () => {
      await flipStoredByte(store, hash(long), 1_500_000)
      await store.exportFile(cid, path, { mode: 'link', verify: false })
      const linked = await readFile(path)
      expect(linked).to.have.length(long.length)
      expect(same(linked, long)).to.equal(false)
    })

    it('of a file that has grown, only the bytes of the blob are copied', async () => {
      const more = noise(1000, 44)
      await store.append(cid, more)
      for (const mode of ['link', 'reflink']) {
        for (const verify of [true, false]) {
          await store.exportFile(cid, path, { mode, verify })
          expect(same(await readFile(path), long), `${mode} ${verify}`).to.equal(true)
        }
      }
    })

    it("mode 'copy' replaces a link by a file", async () => {
      const own = await ownFile(store, cid)
      await link(own, path)
      await store.exportFile(cid, path, { mode: 'copy' })
      expect(await inodeOf(path)).to.not.equal(await inodeOf(own))
      expect(same(await readFile(path), long)).to.equal(true)
    })
  })
})
