// Reads also note damage in files: in blob files, and in the files of references. A failed read of the disk does not
// count as damage.
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { BlobStore } from '../../../store/index.js'
import { flipped, same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { countedBytes, databasesOf, nextIdOf, recordOf } from '../../support/store/inspect.js'
import { onDisk, sliceOf } from '../../support/store/stores.js'

const BYTES = noise(70 * GROUP + 500, 71)
const ROOT = hash(BYTES)
const DAMAGED = ChunkRanges.fromBytes(5 * GROUP, 6 * GROUP)

describe('store: damage that a read finds', () => {
  describe('in files', () => {
    let place, store, file
    beforeEach(async () => {
      place = await onDisk()
      store = await place.open()
      await store.put(BYTES)
      file = join(place.where, 'blobs', (await readdir(join(place.where, 'blobs')))[0])
    })
    afterEach(() => place.remove())

    it('is healed by receive() in the same file, which keeps the right groups', async () => {
      await writeFile(file, flipped(flipped(BYTES, 5 * GROUP), 40 * GROUP))
      const id = nextIdOf(store)
      expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_CORRUPT', start: 5 * GROUP })
      const missing = await store.missing(ROOT)
      expect(missing.boundaries, 'all damage in this MiB').to.deep.equal([80, 96, 640, 656])
      expect(await store.receive(ROOT, sliceOf(BYTES, missing), missing))
        .to.deep.equal({ received: 2 * GROUP, complete: true })
      expect(nextIdOf(store)).to.equal(id)
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
    })

    it('covers all of the blob when the file is gone', async () => {
      await store.close()
      await rm(file)
      store = await place.open()
      expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_CORRUPT' })
      expect((await store.missing(ROOT)).contains(0, Math.ceil(BYTES.length / 1024))).to.equal(true)
      expect(await store.receive(ROOT, sliceOf(BYTES))).to.deep.equal({ received: BYTES.length, complete: true })
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      await store.compact()
      expect((await store.fsck()).isSound).to.equal(true)
    })

    it('is not noted when a read of the disk fails once', async () => {
      const { files } = databasesOf(store)
      for (const code of ['EIO', 'EACCES']) {
        const { reader } = files
        files.reader = id => {
          const opened = reader.call(files, id)
          const failing = async () => { throw Object.assign(new Error(code), { code, errno: -5 }) }
          return Object.assign(Object.create(opened), {
            handle: opened.handle, read: failing, readInto: failing, release: () => opened.release()
          })
        }
        await errorOf(collect(store.get(ROOT)))
        files.reader = reader
        expect(await store.has(ROOT), code).to.equal(true)
        expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      }
    })
  })

  describe('in files of references', () => {
    let place, store, path
    beforeEach(async () => {
      place = await onDisk()
      store = await place.open()
      path = join(place.where, 'theirs')
      await writeFile(path, BYTES)
      await store.importFile(path, { mode: 'reference' })
    })
    afterEach(() => place.remove())

    const spoil = async () => {
      await writeFile(path, flipped(BYTES, 5 * GROUP))
      expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_CORRUPT' })
      expect((await store.missing(ROOT)).boundaries).to.deep.equal(DAMAGED.boundaries)
    }
    const expectWhole = async () => {
      expect(await store.has(ROOT)).to.equal(true)
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      expect((await store.fsck()).isSound).to.equal(true)
    }

    it('is healed by receive(): the store copies the right groups, and does not write to the file', async () => {
      await spoil()
      expect(await store.receive(ROOT, sliceOf(BYTES, DAMAGED), DAMAGED))
        .to.deep.equal({ received: GROUP, complete: true })
      await rm(path)
      await expectWhole()
    })

    it('is healed by put(), and by importFile() of this path or another', async () => {
      const other = `${path} copied`
      await writeFile(other, BYTES)
      for (const heal of [
        () => store.put(BYTES), () => store.importFile(other),
        () => store.importFile(other, { mode: 'reference' }),
        async () => { await writeFile(path, BYTES); return store.importFile(path, { mode: 'reference' }) }
      ]) {
        await spoil()
        expect((await heal()).isNew).to.equal(true)
        await expectWhole()
        await store.delete(ROOT)
        await writeFile(path, BYTES)
        await store.importFile(path, { mode: 'reference' })
      }
    })

    it('is healed when the file has its old bytes again', async () => {
      await spoil()
      await writeFile(path, BYTES)
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      await expectWhole()
      await rm(path)
      for (let reads = 0; reads < 3; reads++) {
        expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_MISSING' })
      }
      expect(await store.has(ROOT)).to.equal(false)
      await writeFile(path, BYTES)
      expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
      await expectWhole()
    })

    it('takes no quota when receive() finds too little space for the missing groups', async () => {
      await store.close()
      const quota = 66 * GROUP
      store = await place.open({ quota })
      const zeros = BYTES.slice().fill(0, 0, 64 * GROUP) // 6 groups are left, 64 are missing
      await writeFile(path, zeros)
      expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_CORRUPT' })
      expect(await errorOf(store.receive(ROOT, sliceOf(BYTES)))).to.include({ code: 'STORE_FULL' })
      expect(countedBytes(store, quota)).to.equal(0)
    })

    it('is healed by importFile() by reference: reads use the new path, noted or not', async () => {
      const other = `${path} moved`
      await writeFile(other, BYTES)
      await rm(path)
      await store.importFile(other, { mode: 'reference' })
      await expectWhole()
      const id = nextIdOf(store)
      await store.importFile(other, { mode: 'reference' })
      expect((await recordOf(store, ROOT)).id, 'the same path changes nothing').to.be.below(id)
    })
  })

  it('is not noted in a store that is opened without its files', async () => {
    const place = await onDisk()
    const first = await place.open()
    await first.put(BYTES)
    await first.close()
    await place.look(async ({ index, data }) => {
      const store = await BlobStore.open({ index, data })
      expect(await errorOf(store.bytes(ROOT))).to.include({ code: 'STORE_MISSING' })
      expect(await store.has(ROOT)).to.equal(true)
      await store.close()
    })
    const again = await place.open()
    expect(same(await again.bytes(ROOT), BYTES)).to.equal(true)
    await place.remove()
  })
})
