// Tests a store on a full disk: a small one in memory, which only a user with the right to mount can make.
// test/store/write/failed-puts.test.js tests the same with simulated failures of writes.
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createOutboardSync } from '../../encoder/index.js'
import { hash } from '../../lib/index.js'
import { BlobStore } from '../../store/index.js'
import { same } from '../support/bytes.js'
import { MIB } from '../support/constants.js'
import { errorOf } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { sliceOf } from '../support/store/stores.js'
import { download, downloadFile } from '../../exchange/download/index.js'

describe('store: a full disk', () => {
  let disk
  let isMounted = false
  before(async function () {
    disk = await mkdtemp(join(tmpdir(), 'baobox-full-'))
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', disk], { stdio: 'pipe' })
      isMounted = true
    } catch (error) {
      const reason = String(error.message).split('\n').at(-2) ?? error.message
      console.log(`    NOT RUN: no small disk can be mounted here: ${reason}`)
      this.skip()
    }
  })
  after(async () => {
    if (isMounted) execFileSync('umount', [disk])
    await rmdir(disk)
  })

  afterEach(() => isMounted && rm(join(disk, 'store'), { recursive: true }))

  for (const { what, size, len = 100_000 } of [
    { what: 'small blobs', size: 3000 },
    { what: 'small blobs, in larger batches', size: 3000, len: 300_000 },
    { what: 'blobs of many extents', size: 300_000 },
    { what: 'blobs in files', size: 3_000_000 }
  ]) {
    it(`of ${what}: acknowledged blobs stay, and more can be put once there is space`, async () => {
      const location = join(disk, 'store')
      const ballast = join(disk, 'ballast')
      await writeFile(ballast, new Uint8Array(40 * MIB)) // LevelDB rewrites its log when it is opened
      let store = await BlobStore.open(location)
      const kept = []
      const expectKept = async () => {
        for (const bytes of kept) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
      }
      const error = await errorOf(async () => {
        for (let i = 0; ; i++) {
          const blobs = Array.from({ length: Math.ceil(len / size) }, (_, k) => noise(size, 1000 * i + k))
          for await (const { isNew } of store.putMany(blobs)) if (isNew) kept.push(blobs.shift())
        }
      })
      expect(error).to.include({ code: 'STORE_FULL' })
      expect(kept.length * size).to.be.above(8 * MIB)
      await expectKept()

      const half = noise(2 * size + 20_000, 7)
      const end = Math.ceil(half.length / 2 / 16384) * 16384
      const receive = range => store.receive(hash(half), sliceOf(half, range), range)
      const refused = await errorOf(receive({ start: 0, end }))
      if (refused !== undefined) expect(refused).to.include({ code: 'STORE_FULL' })

      // LevelDB writes when it is opened, so a full disk may keep it from opening.
      await store.close().catch(error => expect(error).to.include({ code: 'STORE_FULL' }))
      const reopened = await BlobStore.open(location).catch(error => {
        expect(error).to.include({ code: 'STORE_FULL' })
      })
      await reopened?.close().catch(error => expect(error).to.include({ code: 'STORE_FULL' }))
      await rm(ballast)
      store = await BlobStore.open(location)
      await expectKept()
      expect(await store.fsck()).to.include({ isSound: true })
      const missing = await store.missing(hash(half))
      await receive(missing)
      expect(same(await store.bytes(hash(half)), half)).to.equal(true)
      await store.put(noise(size, 999_999))
      await store.close()
    })
  }

  const long = noise(24 * MIB + 5, 11)
  const longOutboard = createOutboardSync(long)
  const { cid } = longOutboard
  const from = [{ source: long, outboard: longOutboard }]
  for (const [name, run, look] of [
    ['download()', async location => {
      const store = await BlobStore.open(location)
      try {
        return await download(store, cid, { from })
      } finally {
        await store.close().catch(error => expect(error).to.include({ code: 'STORE_FULL' }))
      }
    }, async location => {
      const store = await BlobStore.open(location)
      expect(await store.fsck()).to.include({ isSound: true })
      expect(same(await store.bytes(cid), long)).to.equal(true)
      await store.close()
    }],
    ['downloadFile()', location => downloadFile(cid, join(location, 'file'), { from }), async location => {
      expect((await readFile(join(location, 'file'))).equals(long)).to.equal(true)
      expect(await readdir(location)).to.deep.equal(['file'])
    }]
  ]) {
    it(`ends a ${name} with STORE_FULL, which continues once there is space, and keeps received bytes`, async () => {
      const location = join(disk, 'store')
      const ballast = join(disk, 'ballast')
      await mkdir(location)
      const { bavail, bsize } = await statfs(disk)
      await writeFile(ballast, new Uint8Array(bavail * bsize - 18 * MIB))
      expect(await errorOf(run(location))).to.include({ code: 'STORE_FULL' })
      await rm(ballast)
      const { received, size, complete } = await run(location)
      expect({ size, complete }).to.deep.equal({ size: long.length, complete: true })
      expect(received).to.be.within(1, long.length - MIB)
      await look(location)
    })
  }

  it('makes a rescue fail with STORE_FULL, which changes nothing and succeeds once there is space', async () => {
    const location = join(disk, 'store')
    const ballast = join(disk, 'ballast')
    const blobs = Array.from({ length: 12 }, (_, i) => noise(MIB, i))
    const made = await BlobStore.open(location)
    for (const bytes of blobs) await made.put(bytes)
    await made.close()
    const { bavail, bsize } = await statfs(disk)
    await writeFile(ballast, new Uint8Array(bavail * bsize - 10 * MIB)) // less than the log has
    expect(await errorOf(BlobStore.rescue(location))).to.include({ code: 'STORE_FULL' })
    await rm(ballast)
    expect(await BlobStore.rescue(location)).to.include({ isSound: true, blobs: blobs.length })
    const store = await BlobStore.open(location)
    for (const bytes of blobs) expect(same(await store.bytes(hash(bytes)), bytes)).to.equal(true)
    await store.close()
  })
})
