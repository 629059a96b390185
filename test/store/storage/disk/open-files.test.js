// When too many files are open, the system refuses to open another. The store then closes files that it does not read.
import fs, { readdir } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectNoOrphans, onDisk } from '../../../support/store/stores.js'

const LEN = MIB + 1

describe('store: when the system has too many files open', () => {
  const { open } = fs
  let place, store
  beforeEach(async () => {
    place = await onDisk()
    store = await place.open({ durability: 'process' })
  })
  afterEach(async () => {
    allowFiles(Infinity)
    await place.remove()
  })

  /** Lets only so many files be open, in addition to those of LevelDB. @param {number} max @param {string} [code] */
  function allowFiles (max, code = 'EMFILE') {
    let count = 0
    fs.open = max === Infinity
      ? open
      : async (...args) => {
        if (count >= max) throw Object.assign(new Error(`${code}: too many open files`), { code })
        count++
        const handle = await open(...args).catch(error => {
          count--
          throw error
        })
        const { close } = handle
        handle.close = () => {
          handle.close = close
          return close.call(handle).finally(() => { count-- })
        }
        return handle
      }
    syncBuiltinESMExports()
  }

  for (const code of ['EMFILE', 'ENFILE']) {
    it(`it closes files that no call reads, and goes on (${code})`, async () => {
      allowFiles(5, code)
      const blobs = Array.from({ length: 9 }, (_, i) => noise(LEN, i))
      for (const bytes of blobs) {
        await store.put(bytes)
        expect(same(await store.bytes(hash(bytes), { start: 0, end: 100 }), bytes.subarray(0, 100))).to.equal(true)
      }
      const paths = blobs.map((_, i) => join(place.where, `copy-${i}`))
      for (const [i, bytes] of blobs.entries()) {
        await store.exportFile(hash(bytes), paths[i])
        expect(await store.put(paths[i])).to.include({ isNew: false })
        expect(await store.importFile(paths[i])).to.include({ isNew: false })
      }
      expect(await store.fsck()).to.include({ isSound: true })
      for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    })
  }

  it('it leaves the files open that are being read', async () => {
    const blobs = Array.from({ length: 4 }, (_, i) => noise(4 * MIB, i))
    await listed(store.putMany(blobs))
    allowFiles(3)
    const pieces = store.get(hash(blobs[0]))
    const first = (await pieces.next()).value
    expect(same(first, blobs[0].subarray(0, first.length))).to.equal(true)
    for (const bytes of blobs.slice(1)) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    let at = first.length
    for await (const piece of pieces) {
      expect(same(piece, blobs[0].subarray(at, at + piece.length))).to.equal(true)
      at += piece.length
    }
    expect(at).to.equal(blobs[0].length)
  })

  it('concurrent reads wait for the same files to be closed', async () => {
    const blobs = Array.from({ length: 8 }, (_, i) => noise(LEN, i))
    await listed(store.putMany(blobs))
    allowFiles(4)
    const read = all => Promise.all(all.map(bytes => store.bytes(hash(bytes), { start: 0, end: 10 })))
    await read(blobs.slice(0, 4))
    await read(blobs.slice(4))
  })

  it('a put that finds no room leaves nothing, and succeeds when there is some', async () => {
    const bytes = noise(LEN, 1)
    allowFiles(0)
    expect(await errorOf(store.put(bytes))).to.include({ code: 'EMFILE' })
    expect(await listed(store.list())).to.deep.equal([])
    expect(await readdir(join(place.where, 'blobs'))).to.deep.equal([])
    allowFiles(2)
    expect(await store.put(bytes)).to.include({ isNew: true })
    allowFiles(Infinity)
    expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    await store.close()
    await expectNoOrphans(place)
  })
})
