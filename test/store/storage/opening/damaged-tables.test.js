// Damage in LevelDB's files is found before LevelDB reads it, even in an open store.
import { cp, readFile, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { checksumOf } from '../../../../store/storage/disk/leveldb/checksum.js'
import { same } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { onDisk } from '../../../support/store/stores.js'

const BLOBS = Array.from({ length: 30 }, (_, i) => noise(20_000, 700 + i))

describe('store: damaged tables of LevelDB', () => {
  let place, template
  before(async () => {
    template = await onDisk()
    const store = await template.open()
    for (const [i, bytes] of BLOBS.entries()) {
      await store.put(bytes, { tag: `tag ${i}` })
      if (i === 20) await store.compact() // moves all to tables; a log gets the rest
    }
    await store.close()
  })
  after(() => template.remove())
  beforeEach(async () => {
    place = await onDisk()
    await cp(template.where, place.where, { recursive: true })
  })
  afterEach(() => place.remove())

  const at = (...names) => join(place.where, ...names)
  const tableOf = async database => at(database, (await readdir(at(database))).find(name => name.endsWith('.ldb')))

  async function flip (path, position) {
    const bytes = await readFile(path)
    bytes[position] ^= 4
    await writeFile(path, bytes)
  }

  async function expectAll (store) {
    for (const [i, bytes] of BLOBS.entries()) {
      if (!same(await store.bytes(hash(bytes)), bytes)) expect.fail(`blob ${i} is wrong`)
      expect(await store.tags.get(`tag ${i}`)).to.not.equal(undefined)
    }
  }

  for (const database of ['index', 'data']) {
    it(`prevent an opening, but not one for reading, and lose nothing in a rescue (${database})`, async () => {
      const table = await tableOf(database)
      await flip(table, (await stat(table)).size - 100) // in the index of the table
      const error = await errorOf(place.open())
      expect(error).to.include({ code: 'STORE_CORRUPT', location: place.where })
      expect(error.message).to.include(`${database}/`).and.include('BlobStore.rescue')
      const reader = await place.open({ readOnly: true })
      await expectAll(reader)
      await reader.close()
      expect(await errorOf(place.open())).to.include({ code: 'STORE_CORRUPT' })
      expect(await BlobStore.rescue(place.where)).to.include({ isSound: true, lostBytes: 0, blobs: BLOBS.length })
      await expectAll(await place.open())
    })
  }

  it('of an open store are reported by fsck, and a collection fails and deletes nothing', async () => {
    const store = await place.open()
    await flip(await tableOf('index'), 50)
    expect(await store.fsck()).to.include({ isSound: false, isReadable: false })
    expect(await store.fsck({ repair: true })).to.include({ isSound: false, isReadable: false })
    for (const dryRun of [true, false]) {
      expect(await errorOf(store.gc({ dryRun }))).to.include({ code: 'STORE_CORRUPT', location: place.where })
    }
    expect(await errorOf(store.compact())).to.include({ code: 'STORE_CORRUPT', location: place.where })
    await store.close()
    expect(await BlobStore.rescue(place.where)).to.include({ isSound: true, lostBytes: 0 })
    await expectAll(await place.open())
  })

  it('harm only one blob when a bit of a value in data is wrong', async () => {
    await flip(await tableOf('data'), 5000)
    const store = await place.open()
    const errors = await Promise.all(BLOBS.map(bytes => errorOf(store.bytes(hash(bytes)))))
    expect(errors.filter(error => error !== undefined).map(({ code }) => code)).to.deep.equal(['STORE_CORRUPT'])
    for (const bytes of BLOBS) await store.put(bytes)
    await expectAll(store)
    expect(await store.fsck({ repair: true })).to.include({ isReadable: true })
    expect(await store.fsck()).to.include({ isSound: true })
  })

  describe('and the seal of a store', () => {
    const logOf = async database => at(database, (await readdir(at(database))).find(name => name.endsWith('.log')))
    const readSeal = async () => JSON.parse((await readFile(at('seal'), 'utf8')).split('\n')[0])

    for (const database of ['index', 'data']) {
      it(`reveal a log that was cut after the store was closed (${database})`, async () => {
        const log = await logOf(database)
        const { size } = await stat(log)
        expect(size).to.be.above(0)
        await truncate(log, size - 1)
        expect(await errorOf(place.open())).to.include({ code: 'STORE_CORRUPT' })
        const { lostBytes } = await BlobStore.rescue(place.where)
        expect(lostBytes).to.be.above(0)
        expect(await (await place.open()).fsck()).to.include({ isSound: true })
      })
    }

    it('have each table read once, and know it by its name, size and time', async () => {
      await (await place.open()).close() // the files of a copy have other times
      const table = await tableOf('index')
      await flip(table, 50)
      expect(await errorOf(place.open())).to.include({ code: 'STORE_CORRUPT' })
      const seal = await readSeal()
      const entry = seal.index.find(({ name }) => table.endsWith(name))
      expect(entry.isChecked).to.equal(true)
      const { ctimeMs, mtimeMs } = await stat(table)
      entry.changed = Math.max(ctimeMs ?? 0, mtimeMs)
      const text = JSON.stringify(seal)
      await writeFile(at('seal'), `${text}\n${checksumOf(new TextEncoder().encode(text)).toString(16)}\n`)
      const store = await place.open()
      expect(await store.fsck(), 'fsck reads all tables').to.include({ isReadable: false })
    })

    it('have all tables of the index read after a crash', async () => {
      await (await place.open()).close()
      const seal = await readFile(at('seal'))
      const store = await place.open()
      await store.put(noise(100, 1))
      const crashed = await onDisk()
      await cp(place.where, crashed.where, { recursive: true }) // as a killed process leaves the store
      await store.close()
      await writeFile(join(crashed.where, 'seal'), seal)
      const table = (await readdir(join(crashed.where, 'index'))).find(name => name.endsWith('.ldb'))
      await flip(join(crashed.where, 'index', table), 50)
      expect(await errorOf(crashed.open())).to.include({ code: 'STORE_CORRUPT' })
      await crashed.remove()
    })

    it('are without a seal when nothing is synced', async () => {
      await rm(at('seal'))
      const store = await place.open({ durability: 'process' })
      await store.put(noise(100, 1))
      await store.close()
      expect(await readdir(place.where)).to.not.include('seal')
      await expectAll(await place.open())
    })

    it('are all read when the seal is damaged', async () => {
      const sound = await readFile(at('seal'), 'utf8')
      const flipped = sound.replace(/"size":\d/, found => found.replace(/\d/, digit => `${(Number(digit) + 1) % 10}`))
      expect(flipped).to.not.equal(sound)
      for (const text of ['', '{', 'null', sound.slice(0, 100), flipped, `${sound}\n`]) {
        await writeFile(at('seal'), text)
        const store = await place.open()
        await expectAll(store)
        await store.close()
        expect(await readSeal()).to.include({ version: 1 })
      }
    })

    it('do no harm when an earlier release has opened the store since', async () => {
      const seal = await readFile(at('seal'))
      await place.look(async ({ index }) => { expect(await listed(index.keys())).to.not.equal(undefined) })
      expect((await readFile(at('seal'))).equals(seal)).to.equal(true)
      const store = await place.open()
      await expectAll(store)
    })
  })
})
