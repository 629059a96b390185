// Opening a store loses nothing when a part of it is missing, is older, or belongs to another store.
import { cp, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { makeMissing } from '../../../../store/storage/opening/making.js'
import { concat, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { errorOf } from '../../../support/feeding.js'
import { filesBelow, newFolders } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { onDisk, sliceOf } from '../../../support/store/stores.js'

const SMALL = [noise(300, 1), noise(3 * GROUP + 7, 2), noise(GROUP, 3)]
/** Blobs in files. */
const LARGE = [noise(MIB + 1, 4), noise(2 * MIB + 5 * GROUP, 5)]
const BLOBS = [...SMALL, ...LARGE]
/** A blob that is present in part, in a file. */
const PART = noise(4 * MIB, 6)
const RANGE = { start: 0, end: 21 * GROUP }

const LEVELDB = /^(CURRENT|LOCK|LOG(\.old)?|MANIFEST-\d+|\d+\.(ldb|log))$/

describe('store: its parts', () => {
  const newFolder = newFolders()
  let place
  beforeEach(async () => { place = await onDisk() })
  afterEach(() => place.remove())

  const at = (...names) => join(place.where, ...names)
  const refused = reason => error => {
    expect(error, error?.message).to.include({ code: 'STORE_OPEN_FAILED', location: place.where })
    expect(error.message).to.match(reason)
  }

  async function fill () {
    const store = await place.open()
    for (const [i, bytes] of BLOBS.entries()) await store.put(bytes, { tag: `tag ${i}` })
    await store.receive(hash(PART), sliceOf(PART, RANGE), RANGE)
    await store.close()
  }

  /** Checks that the store cannot be opened, and that everything stays as it is. */
  async function expectRefused (reason) {
    const before = await filesBelow(place.where)
    for (const options of [{}, { create: false }, { readOnly: true }]) {
      refused(reason)(await errorOf(place.open(options)))
      expect(await filesBelow(place.where)).to.deep.equal(before)
    }
  }

  async function expectBlobs (store, blobs) {
    for (const bytes of blobs) {
      expect(same(await store.bytes(hash(bytes)), bytes), `a blob of ${bytes.length} bytes`).to.equal(true)
    }
  }

  const DAMAGES = {
    'is missing': folder => rm(folder, { recursive: true }),
    'is empty': async folder => {
      await rm(folder, { recursive: true })
      await mkdir(folder)
    },
    'has no files but the lock and the log of messages': async folder => {
      for (const name of await readdir(folder)) if (!/^LO(CK|G)$/.test(name)) await rm(join(folder, name))
    },
    'lacks the file CURRENT': folder => rm(join(folder, 'CURRENT')),
    'lacks its manifest': async folder => {
      for (const name of await readdir(folder)) if (/^MANIFEST/.test(name)) await rm(join(folder, name))
    },
    'lacks everything but its tables': async folder => {
      for (const name of await readdir(folder)) if (!/\.ldb$/.test(name)) await rm(join(folder, name))
    }
  }
  for (const [what, damage] of Object.entries(DAMAGES)) {
    it(`a store whose index ${what} does not open, and a rescue brings back all whole blobs`, async () => {
      await fill()
      await damage(at('index'))
      await expectRefused(/call BlobStore.rescue/)
      const { orphans, damaged } = await BlobStore.rescue(place.where)
      expect(damaged).to.deep.equal([])
      const store = await place.open({ create: false })
      await expectBlobs(store, BLOBS)
      // If the tables or the log have the records, the part is known, too.
      const isPartKnown = await store.stat(hash(PART)).then(() => true, () => false)
      expect(orphans, 'the rescue reports the part if its record is lost').to.equal(isPartKnown ? 0 : 1)
      expect((await readdir(at('blobs'))), 'and deletes no file').to.have.length(3)
      expect((await store.fsck()).orphans).to.equal(orphans)
      await store.fsck({ repair: true })
      expect(await store.fsck()).to.include({ isSound: true })
      await expectBlobs(store, BLOBS)
    })

    it(`a store whose data ${what} does not open, and a rescue brings back the blobs in files`, async () => {
      await fill()
      await damage(at('data'))
      await expectRefused(/call BlobStore.rescue/)
      await BlobStore.rescue(place.where)
      const store = await place.open({ create: false })
      await expectBlobs(store, LARGE)
      for (const i of BLOBS.keys()) expect(await store.tags.get(`tag ${i}`)).to.not.equal(undefined)
      expect(await store.fsck()).to.include({ isSound: true })
    })
  }

  it('a store that has lost both databases does not open, and a rescue brings back the files', async () => {
    await fill()
    for (const name of ['index', 'data']) await rm(at(name), { recursive: true })
    await expectRefused(/its index and its data are missing: call BlobStore.rescue/)
    expect(await BlobStore.rescue(place.where)).to.include({ isStateDamaged: true, orphans: 0 })
    const store = await place.open({ create: false })
    await expectBlobs(store, LARGE)
    expect(await store.fsck()).to.include({ isSound: true })
  })

  it('a store whose index was replaced by an empty one does not open', async () => {
    await fill()
    await rm(at('index'), { recursive: true })
    await mkdir(at('new'))
    await makeMissing(at('new'), { sync: false })
    for (const name of await readdir(at('new', 'index'))) if (!LEVELDB.test(name)) await rm(at('new', 'index', name))
    await rename(at('new', 'index'), at('index'))
    await rm(at('new'), { recursive: true })
    await rm(at('seal')) // The two manifests may have the same name: then the seal would reveal the exchange.
    for (const options of [{}, { create: false }]) {
      refused(/its index has lost all entries: call BlobStore.rescue/)(await errorOf(place.open(options)))
    }
    await BlobStore.rescue(place.where)
    await expectBlobs(await place.open(), BLOBS)
  })

  it('a blob file of sharers stays when the index is lost, and the longest blob in it comes back', async () => {
    let store = await place.open()
    const [first, second] = [MIB + 1000, 300_000].map((len, i) => noise(len, 10 + i))
    const { cid } = await store.put(first)
    await store.append(cid, second)
    await store.close()
    await rm(at('index'), { recursive: true })
    await BlobStore.rescue(place.where)
    store = await place.open()
    await expectBlobs(store, [concat([first, second])])
  })

  it('a store whose making was interrupted is made again', async () => {
    const steps = [
      async () => {},
      () => mkdir(at('index')),
      async () => {
        await makeMissing(place.where, { sync: true })
        await rm(at('data'), { recursive: true })
        await mkdir(at('data.making-1'))
        await writeFile(at('data.making-1', 'MANIFEST-000001'), 'the power went')
      },
      () => makeMissing(place.where, { sync: true }),
      async () => {
        await makeMissing(place.where, { sync: true })
        await mkdir(at('blobs'))
        await writeFile(at('blobs', 'README'), 'not of the store')
      }
    ]
    for (const [i, interrupted] of steps.entries()) {
      await interrupted()
      const store = await place.open()
      await store.put(LARGE[0], { tag: 'a' })
      await store.gc()
      await expectBlobs(store, LARGE.slice(0, 1))
      await store.close()
      expect((await readdir(place.where)).sort(), `step ${i}`).to.deep.equal(['blobs', 'data', 'index', 'seal'])
      await rm(place.where, { recursive: true })
      await mkdir(place.where)
    }
  })

  it('folders of others are neither opened nor rescued', async () => {
    for (const name of ['index', 'data']) {
      await mkdir(at(name))
      await writeFile(at(name, 'index.html'), 'a page')
      for (const call of [() => place.open(), () => BlobStore.rescue(place.where)]) {
        refused(/not those of a database: move them away/)(await errorOf(call))
      }
      expect(await errorOf(place.open({ create: false }))).to.include({ code: 'STORE_ABSENT' })
      expect(await filesBelow(place.where)).to.deep.equal({ [`${name}/`]: '', [`${name}/index.html`]: 'a page' })
      await rm(at(name), { recursive: true })
    }
  })

  describe('of two stores', () => {
    let other
    beforeEach(async () => {
      await fill()
      other = await onDisk()
      const store = await other.open()
      for (let i = 0; i < 20; i++) await store.put(noise(100 + i, 100 + i))
      await store.close()
    })
    afterEach(() => other.remove())

    for (const name of ['index', 'data']) {
      it(`are not opened or rescued together: the ${name} is that of another store`, async () => {
        await rename(at(name), at('mine'))
        await cp(join(other.where, name), at(name), { recursive: true })
        const before = await filesBelow(place.where)
        for (const call of [() => place.open(), () => BlobStore.rescue(place.where)]) {
          refused(/index and its data belong to different stores/)(await errorOf(call))
          expect(await filesBelow(place.where)).to.deep.equal(before)
        }
        await rm(at(name), { recursive: true })
        await rename(at('mine'), at(name))
        await expectBlobs(await place.open(), BLOBS)
      })
    }

    it('are still told apart after a rescue', async () => {
      await rm(at('index', 'CURRENT'))
      await BlobStore.rescue(place.where)
      await rm(at('data'), { recursive: true })
      await cp(join(other.where, 'data'), at('data'), { recursive: true })
      refused(/belong to different stores/)(await errorOf(place.open()))
    })
  })

  describe('of different age', () => {
    it('are not swept, because an older index lacks the later blobs', async () => {
      let store = await place.open()
      await store.put(SMALL[0], { tag: 'tag 0' })
      await store.put(LARGE[0], { tag: 'tag 3' })
      await store.close()
      const older = join(await newFolder(), 'index')
      await cp(at('index'), older, { recursive: true })
      await fill()
      await rm(at('index'), { recursive: true })
      await cp(older, at('index'), { recursive: true })
      const files = await readdir(at('blobs'))
      for (let life = 0; life < 2; life++) {
        store = await place.open()
        for (const call of [() => store.gc(), () => store.gc({ dryRun: true }), () => store.compact()]) {
          expect(await errorOf(call)).to.include({ code: 'STORE_CORRUPT' })
        }
        await expectBlobs(store, [SMALL[0], LARGE[0]])
        expect(await readdir(at('blobs'))).to.deep.equal(files)
        if (life === 0) await store.close()
      }
      expect(await store.fsck({ repair: true })).to.include({ isStateDamaged: true, orphans: 1 })
      await expectBlobs(store, BLOBS)
      expect(await readdir(at('blobs')), 'the part is not deleted').to.deep.equal(files)
      for (const [i, bytes] of BLOBS.entries()) await store.tags.set(`tag ${i}`, hash(bytes))
      await store.close()
      store = await place.open()
      await store.gc()
      await expectBlobs(store, BLOBS)
      expect(await store.fsck()).to.include({ isSound: true })
    })

    it('are found out by a blob file alone', async () => {
      let store = await place.open()
      await store.put(SMALL[0])
      await store.close()
      await cp(at('index'), at('older'), { recursive: true })
      await fill()
      for (const name of ['index', 'data']) await rm(at(name), { recursive: true })
      await makeMissing(place.where, { sync: false })
      const [id] = (await readdir(at('index'))).filter(name => !LEVELDB.test(name))
      await rm(at('index'), { recursive: true })
      await rename(at('older'), at('index'))
      const [other] = (await readdir(at('index'))).filter(name => !LEVELDB.test(name))
      await rename(at('index', other), at('index', id))
      store = await place.open()
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
      await store.fsck({ repair: true })
      await expectBlobs(store, LARGE)
    })
  })

  it('name their store in both databases', async () => {
    await (await place.open()).close()
    const names = await Promise.all(['index', 'data'].map(async name => {
      return (await readdir(at(name))).filter(file => !LEVELDB.test(file))
    }))
    expect(names[0]).to.have.length(1)
    expect(names[0][0]).to.match(/^STORE-[0-9a-f]{16}$/)
    expect(names[1]).to.deep.equal(names[0])
    expect(await readFile(at('index', names[0][0]))).to.have.length(0)
  })
})
