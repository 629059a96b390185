// The files of a LevelDB: all their entries can be read without LevelDB, and every damage to them is found.
import { appendFile, cp, mkdir, readFile, readdir, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { Level } from 'level'
import { checkDatabase } from '../../../../../store/storage/disk/leveldb/check.js'
import { loadChecksum } from '../../../../../store/storage/disk/leveldb/checksum.js'
import { Salvage } from '../../../../../store/storage/disk/leveldb/salvage.js'
import { Table } from '../../../../../store/storage/disk/leveldb/table.js'
import { copyReadable } from '../../../../../store/storage/opening/copy-readable.js'
import { concat, hex } from '../../../../support/bytes.js'
import { VIEWS } from '../../../../support/constants.js'
import { newFolders } from '../../../../support/folders.js'
import { noise } from '../../../../support/inputs.js'
import { holds } from '../../../../support/property.js'

const FOOTER_LEN = 48

/** Returns the key with a number. */
const keyOf = number => Uint8Array.of(number >> 8, number & 255)

/** Returns all entries of a database as text. */
async function entriesIn (path) {
  const level = new Level(path, VIEWS)
  await level.open()
  try {
    return (await level.iterator(VIEWS).all()).map(([key, value]) => `${hex(key)} ${hex(value)}`)
  } finally {
    await level.close()
  }
}

describe('store: files of LevelDB', () => {
  const newFolder = newFolders()

  /** Makes a database with tables on several levels, deletions and logs. @returns {Promise<string>} its path */
  async function newDatabase (options) {
    const path = join(await newFolder(), 'database')
    for (let round = 0; round < 3; round++) {
      const level = new Level(path, { ...VIEWS, ...options })
      await level.open() // makes a table of the log
      if (round === 1) await level.compactRange(keyOf(0), keyOf(400), VIEWS)
      for (let i = 0; i < 300; i++) {
        await level.put(keyOf(i * 7 % 400), concat([noise(100, i), new Uint8Array(round * 50)]), VIEWS)
        if (i % 5 === 0) await level.del(keyOf(i), VIEWS)
      }
      await level.close()
    }
    return path
  }

  const copyOf = async path => {
    const copy = join(await newFolder(), 'copy')
    await cp(path, copy, { recursive: true })
    return copy
  }

  /** Returns what a rescue reads of a database. @returns {Promise<{ entries: string[], lostBytes: number }>} */
  async function salvaged (path) {
    const to = join(await newFolder(), 'to')
    const lostBytes = await copyReadable('index', { from: path, to, change: entry => entry })
    return { entries: await entriesIn(to), lostBytes }
  }

  const tablesOf = async path => (await readdir(path)).filter(name => name.endsWith('.ldb')).sort()
  const fileLike = async (path, pattern) => join(path, (await readdir(path)).sort().find(name => pattern.test(name)))

  describe('that are sound', () => {
    for (const compression of [true, false]) {
      it(`are found sound, and are read as LevelDB reads them (compression: ${compression})`, async () => {
        const path = await newDatabase({ compression })
        const { fault, checked } = await checkDatabase(path, { checksOrder: true })
        expect(fault).to.equal(undefined)
        expect([...checked.keys()]).to.have.members(await tablesOf(path))
        const { entries, lostBytes } = await salvaged(path)
        expect(lostBytes).to.equal(0)
        expect(entries).to.deep.equal(await entriesIn(path))
        expect(entries.length).to.be.above(200)
      })
    }

    it('give the newest version of each key after any writes, deletions and compactions', async () => {
      const operations = fc.array(fc.oneof(
        { weight: 12, arbitrary: fc.record({ put: fc.nat(20), len: fc.constantFrom(0, 1, 50, 5000, 40_000) }) },
        { weight: 5, arbitrary: fc.record({ del: fc.nat(20) }) },
        { weight: 2, arbitrary: fc.constant({ compacts: true }) },
        { weight: 2, arbitrary: fc.constant({ reopens: true }) }
      ), { minLength: 1, maxLength: 60 })
      await holds('leveldb-files', fc.asyncProperty(operations, async operations => {
        const path = join(await newFolder(), 'database')
        let level = new Level(path, VIEWS)
        await level.open()
        for (const [i, { put, len, del, compacts, reopens }] of operations.entries()) {
          if (put !== undefined) await level.put(keyOf(put), noise(len, i), VIEWS)
          if (del !== undefined) await level.del(keyOf(del), VIEWS)
          if (compacts) await level.compactRange(keyOf(0), keyOf(30), VIEWS)
          if (!reopens) continue
          await level.close()
          level = new Level(path, VIEWS)
          await level.open()
        }
        await level.close()
        expect((await checkDatabase(path, { checksOrder: true, isClosed: true })).fault).to.equal(undefined)
        const { entries } = await salvaged(path)
        expect(entries).to.deep.equal(await entriesIn(path))
      }), 12)
    })

    it('are found sound while LevelDB writes and deletes them', async () => {
      const path = join(await newFolder(), 'database')
      const level = new Level(path, { ...VIEWS, writeBufferSize: 1 << 15 })
      await level.open()
      const faults = []
      for (let round = 0; round < 10; round++) {
        const writing = Array.from({ length: 300 }, (_, i) => level.put(keyOf(i * 37 % 500), noise(300, i), VIEWS))
        faults.push((await checkDatabase(path, { isInUse: true, checksOrder: true })).fault)
        await Promise.all(writing)
      }
      await level.close()
      expect(faults.filter(fault => fault !== undefined)).to.deep.equal([])
    })
  })

  describe('with a flipped bit', () => {
    let path, entries
    before(async () => {
      path = await newDatabase({ compression: false })
      entries = await entriesIn(await copyOf(path))
    })
    // `newFolders` removes folders after each test: this suite keeps its own copy of the bytes.
    let files
    before(async () => {
      files = new Map()
      for (const name of await readdir(path)) files.set(name, await readFile(join(path, name)))
    })
    beforeEach(async () => {
      path = join(await newFolder(), 'database')
      await writeFiles(path, files)
    })

    /** Flips bits of a file one by one, and checks what `check` expects. */
    async function flipAll (name, step, check) {
      const bytes = files.get(name)
      for (let bit = step % 8; bit < 8 * bytes.length; bit += step) {
        const flipped = Buffer.from(bytes)
        flipped[bit >> 3] ^= 1 << (bit & 7)
        await writeFile(join(path, name), flipped)
        await check(bit, bytes.length)
      }
      await writeFile(join(path, name), bytes)
    }

    it('in a table are found damaged, wherever the bit is, except in unused bytes of the footer', async () => {
      for (const name of await tablesOf(path)) {
        await flipAll(name, 499, async (bit, len) => {
          const { fault } = await checkDatabase(path)
          if (fault === undefined) expect(bit >> 3, `bit ${bit} of ${name}`).to.be.within(len - FOOTER_LEN, len - 9)
        })
      }
    })

    it('lose nothing in a rescue', async () => {
      for (const name of files.keys()) {
        if (!/\.ldb$|\.log$|^MANIFEST|^CURRENT/.test(name) || files.get(name).length === 0) continue
        const step = Math.floor(8 * files.get(name).length / 8) | 1
        await flipAll(name, step, async bit => {
          const rescued = await salvaged(path)
          const isInFooter = name.endsWith('.ldb') && (bit >> 3) >= files.get(name).length - FOOTER_LEN
          if (!isInFooter) expect(rescued.lostBytes, `bit ${bit} of ${name}`).to.equal(0)
          expect(rescued.entries, `bit ${bit} of ${name}`).to.deep.equal(entries)
        })
      }
    })

    it('in a restart point of a block, by which LevelDB searches, are damaged', async () => {
      await loadChecksum()
      for (const name of await tablesOf(path)) {
        const bytes = Buffer.from(files.get(name))
        for (const { end } of Table.of(bytes).blocks) {
          if (bytes[end - 5] !== 0) continue // It is compressed.
          const count = bytes.readUInt32LE(end - 9)
          if (count < 2) continue
          bytes[end - 13] ^= 1 // of the last restart point
          await writeFile(join(path, name), bytes)
          expect((await checkDatabase(path, { forgivesValues: true })).fault, name).to.include(name)
          bytes[end - 13] ^= 1
        }
        await writeFile(join(path, name), bytes)
      }
    })

    it('in a value are accepted with "forgivesValues", and in a key are not', async () => {
      let isForgiven = 0
      let isRefused = 0
      for (const name of await tablesOf(path)) {
        await flipAll(name, 2003, async () => {
          if ((await checkDatabase(path, { forgivesValues: true })).fault === undefined) isForgiven++
          else isRefused++
        })
      }
      expect(isForgiven).to.be.above(0)
      expect(isRefused).to.be.above(0)
    })
  })

  describe('that are damaged', () => {
    let path, entries
    beforeEach(async () => {
      path = await newDatabase({ compression: false })
      entries = await entriesIn(await copyOf(path))
    })

    it('are found damaged when a file is missing, cut, longer, or replaced by another file', async () => {
      const [first, second] = await tablesOf(path)
      const damages = {
        'no table': path => rm(join(path, first)),
        'a cut table': path => truncate(join(path, first), 1000),
        'a longer table': path => appendFile(join(path, first), 'more'),
        'two exchanged tables': async path => {
          await rename(join(path, first), join(path, 'x'))
          await rename(join(path, second), join(path, first))
          await rename(join(path, 'x'), join(path, second))
        },
        'no log': async path => rm(await fileLike(path, /\.log$/)),
        'no manifest': async path => rm(await fileLike(path, /^MANIFEST/)),
        'a cut manifest': async path => truncate(await fileLike(path, /^MANIFEST/), 20),
        'no CURRENT': path => rm(join(path, 'CURRENT')),
        'a CURRENT that leads elsewhere': path => writeFile(join(path, 'CURRENT'), '../CURRENT\n')
      }
      for (const [what, damage] of Object.entries(damages)) {
        const copy = await copyOf(path)
        await damage(copy)
        expect((await checkDatabase(copy)).fault, what).to.be.a('string')
      }
    })

    it('may end with a torn record, unless the database was closed', async () => {
      const log = await fileLike(path, /\.log$/)
      const bytes = await readFile(log)
      await truncate(log, bytes.length - 5)
      expect((await checkDatabase(path)).fault).to.equal(undefined)
      expect((await checkDatabase(path, { isClosed: true })).fault).to.include('.log')
    })

    it('of the same size and keys as the right table are found damaged', async () => {
      const [name] = await tablesOf(path)
      const bytes = await readFile(join(path, name))
      const other = Buffer.from(bytes)
      other.fill(0, 100, 612)
      await writeFile(join(path, name), other)
      expect((await checkDatabase(path)).fault).to.include(name)
    })

    it('give all whole blocks of a table that is cut or has lost its index', async () => {
      const [name] = await tablesOf(path)
      const bytes = await readFile(join(path, name))
      const { blocks, others } = Table.of(bytes)
      for (const [what, len] of [['the last block', blocks.at(-1).end - 10], ['its index', others.at(-1).end]]) {
        await writeFile(join(path, name), bytes.subarray(0, len))
        const salvage = new Salvage(path)
        let count = 0
        for await (const { isDoubtful } of salvage.entries()) count += isDoubtful ? 0 : 1
        expect(count, what).to.be.at.least(blocks.length - (what === 'its index' ? 0 : 1))
        expect(salvage.lostBytes > 0, what).to.equal(what === 'the last block')
      }
    })

    it('lose only entries of the lost sector, and tell how many bytes are lost', async () => {
      const [name] = await tablesOf(path)
      const bytes = await readFile(join(path, name))
      bytes.fill(0xaa, 512, 1024)
      await writeFile(join(path, name), bytes)
      const rescued = await salvaged(path)
      expect(rescued.lostBytes).to.be.within(512, 16_384)
      expect(rescued.entries.length).to.be.above(entries.length / 2)
    })

    it('are all read when there is no manifest', async () => {
      await rm(await fileLike(path, /^MANIFEST/))
      const { entries: all, lostBytes } = await salvaged(path)
      expect(lostBytes).to.equal(0)
      expect(all).to.deep.equal(entries)
    })

    it('are all read when the manifest ends too early, and are damaged unless LevelDB can open them', async () => {
      const level = new Level(path, { ...VIEWS, writeBufferSize: 1 << 15 })
      await level.open()
      for (let i = 0; i < 300; i++) await level.put(keyOf(i), noise(300, i), VIEWS)
      await level.compactRange(keyOf(0), keyOf(400), VIEWS)
      await level.close()
      const all = await entriesIn(await copyOf(path))
      const { length, ends } = await manifestOf(path)
      expect(ends.length).to.be.above(4)
      let told = 0
      for (const end of [...ends, ...ends.map(end => end - 3)]) {
        if (end === length) continue
        const copy = await copyOf(path)
        await truncate(await fileLike(copy, /^MANIFEST/), end)
        expect((await salvaged(copy)).entries, `cut after ${end} bytes`).to.deep.equal(all)
        const { fault } = await checkDatabase(copy)
        if (fault === undefined) expect(await entriesIn(copy), `cut after ${end} bytes`).to.deep.equal(all)
        else told++
      }
      expect(told).to.be.above(4)
    })

    /** Returns the length of the manifest, and where its records end. */
    async function manifestOf (path) {
      const bytes = await readFile(await fileLike(path, /^MANIFEST/))
      const ends = []
      for (let at = 0; at < bytes.length; ends.push(at)) at += 7 + bytes.readUInt16LE(at + 4)
      return { length: bytes.length, ends }
    }

    it('with random bytes end a rescue, and waste no memory', async () => {
      for (const name of await readdir(path)) {
        if (!/\.ldb$|\.log$|^MANIFEST/.test(name)) continue
        const bytes = await readFile(join(path, name))
        await writeFile(join(path, name), concat([noise(bytes.length / 2, 5), bytes.subarray(bytes.length / 2)]))
      }
      await salvaged(path)
      expect((await checkDatabase(path)).fault).to.be.a('string')
    })
  })
})

/** @param {string} folder @param {Map<string, Uint8Array>} files */
async function writeFiles (folder, files) {
  await mkdir(folder)
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
}
