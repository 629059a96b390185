// Files that are copied to a store, that a store refers to, and that it exports.
import { readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { concat, flipped, same } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'
import { idsIn } from '../../../support/store/inspect.js'
import { expectNoOrphans, inMemory, onDisk, sliceOf } from '../../../support/store/stores.js'

const bytes = noise(2_500_001, 500)
const root = hash(bytes)

describe('store: importFile() and exportFile()', () => {
  let folder, place, store, path
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'a file')
    await writeFile(path, bytes)
    place = await onDisk()
    store = await place.open()
  })
  afterEach(async () => {
    await place.remove()
    await rm(folder, { recursive: true })
  })

  describe('imported files', () => {
    it('by reference and under an alias only get their own names back by put()', async () => {
      const bytes = noise(5000, 505)
      await writeFile(path, bytes)
      const puts = {
        put: () => store.put(bytes),
        putMany: () => collected(store.putMany([bytes])),
        'putMany of blocks': () => collected(asBlockstore(store).putMany([{ cid: toCid(hash(bytes)), bytes }]))
      }
      for (const [how, put] of Object.entries(puts)) {
        await store.importFile(path, { mode: 'reference', tag: 'kept' })
        await asBlockstore(store).delete(toCid(hash(bytes)))
        const alias = CID.createV1(0x55, await sha256.digest(bytes))
        await collected(asBlockstore(store).putMany([{ cid: alias, bytes }]))
        expect(await asBlockstore(store).has(toCid(hash(bytes))), 'an alias is not its own name').to.equal(false)
        await put()
        expect(await asBlockstore(store).has(toCid(hash(bytes))), how).to.equal(true)
        await rm(path)
        await store.close()
        store = await place.open()
        expect(same(await store.bytes(hash(bytes)), bytes), how).to.equal(true)
        expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
        await store.delete(hash(bytes), { force: true })
        await writeFile(path, bytes)
      }
    })

    it('by copy become files of the store', async () => {
      for (const mode of [undefined, 'copy']) {
        const { cid, size, isNew } = await store.importFile(mode ? pathToFileURL(path) : path, { mode })
        expect({ cid: cid.toString(), size, isNew })
          .to.deep.equal({ cid: toCid(root).toString(), size: bytes.length, isNew: mode === undefined })
      }
      await rm(path)
      expect(same(await store.bytes(root), bytes)).to.equal(true)
    })

    it('by reference are read in their place, at any size, also when the store is opened again', async () => {
      const files = [0, 1, GROUP, GROUP + 1, 100_000, 2_500_001].map((size, i) => ({
        path: join(folder, `${size}`),
        bytes: noise(size, 510 + i)
      }))
      for (const { path, bytes } of files) {
        await writeFile(path, bytes)
        expect(await store.importFile(path, { mode: 'reference' }))
          .to.include({ size: bytes.length, isNew: bytes.length > 0 })
      }
      for (let life = 0; life < 2; life++) {
        for (const { bytes } of files) {
          expect(same(await store.bytes(hash(bytes)), bytes), `${bytes.length}`).to.equal(true)
          expect(same(await collect(store.slice(hash(bytes))), sliceOf(bytes)), `slice of ${bytes.length}`)
            .to.equal(true)
          expect(await store.stat(hash(bytes))).to.include({ complete: true, size: bytes.length })
        }
        await store.close()
        store = await place.open()
      }
      await store.close()
      await expectNoOrphans(place)
      await place.look(async ({ data, files }) => {
        expect(files).to.deep.equal([])
        const lens = await data.values().all()
        expect(lens.reduce((sum, { length }) => sum + length, 0), 'only the tree').to.be.lessThan(20_000)
      })
    })

    it('by reference are verified, also with verify: false', async () => {
      const { cid } = await store.importFile(path, { mode: 'reference' })
      await store.close()
      store = await place.open({ verify: false })
      const at = 20 * GROUP + 7
      await writeFile(path, flipped(bytes, at))
      const reads = [undefined, true, false].map(verify => () => store.get(cid, undefined, { verify }))
      for (const read of [...reads, () => store.slice(cid)]) {
        await writeFile(path, flipped(bytes, at))
        const got = []
        const error = await errorOf(async () => { for await (const piece of read()) got.push(piece) })
        expect(error).to.include({ code: 'STORE_CORRUPT', start: 20 * GROUP, len: GROUP })
        if (reads.includes(read)) expect(same(concat(got), bytes.subarray(0, 20 * GROUP))).to.equal(true)
        expect((await store.missing(cid)).boundaries).to.deep.equal([320, 336])
        await writeFile(path, bytes)
        expect(same(await store.bytes(cid), bytes), 'when it is as it was').to.equal(true)
        expect(await store.has(cid)).to.equal(true)
      }
      await writeFile(path, flipped(bytes, at))
      expect(await errorOf(store.bytes(cid))).to.include({ code: 'STORE_CORRUPT' })
      expect(same(await store.bytes(cid, { start: 21 * GROUP }), bytes.subarray(21 * GROUP)), 'the later bytes')
        .to.equal(true)
      await writeFile(path, bytes)
      expect(same(await store.bytes(cid), bytes), 'when it is as it was').to.equal(true)
    })

    it('by reference that became shorter are damaged at the end, and longer ones are not damaged', async () => {
      const { cid } = await store.importFile(path, { mode: 'reference' })
      await writeFile(path, concat([bytes, bytes]))
      expect(same(await store.bytes(cid), bytes)).to.equal(true)
      await truncate(path, 100 * GROUP + 5)
      const { code, start, len } = await errorOf(store.bytes(cid))
      expect({ code, start, len }).to.deep.equal({ code: 'STORE_CORRUPT', start: 100 * GROUP, len: GROUP })
      expect(same(await store.bytes(cid, { end: 100 * GROUP }), bytes.subarray(0, 100 * GROUP))).to.equal(true)
    })

    it('by reference that are gone are missing until the file is there again', async () => {
      const { cid } = await store.importFile(path, { mode: 'reference' })
      await rename(path, `${path} moved`)
      for (const read of [
        () => store.bytes(cid), () => collect(store.slice(cid)),
        () => store.bytes(cid, { start: 5, end: 6 })
      ]) {
        const error = await errorOf(read)
        expect(error).to.include({ code: 'STORE_MISSING' })
        expect(error.cid.toString()).to.equal(cid.toString())
        expect(error.ranges.has(0)).to.equal(true)
        expect((await store.missing(cid)).equals(ChunkRanges.all.canonical(bytes.length))).to.equal(true)
      }
      expect(await errorOf(collect(asBlockstore(store).get(cid))), 'a block has no parts')
        .to.include({ name: 'NotFoundError' })
      await rename(`${path} moved`, path)
      expect(same(await store.bytes(cid), bytes)).to.equal(true)
      expect(same(await collect(asBlockstore(store).get(cid)), bytes)).to.equal(true)
    })

    it('by reference become blobs of the store when they are put', async () => {
      for (const put of [() => store.put(bytes), () => store.importFile(path)]) {
        const { cid } = await store.importFile(path, { mode: 'reference' })
        expect((await store.importFile(path, { mode: 'reference' })).isNew).to.equal(false)
        expect((await put()).isNew, 'the store had the blob').to.equal(false)
        await rm(path)
        expect(same(await store.bytes(cid), bytes)).to.equal(true)
        await writeFile(path, bytes)
        expect((await store.importFile(path, { mode: 'reference' })).isNew).to.equal(false)
        await store.delete(cid)
      }
      const small = bytes.subarray(0, 70_000)
      await writeFile(path, small)
      const { cid } = await store.importFile(path, { mode: 'reference' })
      for await (const { isNew } of store.putMany([small, small])) expect(isNew).to.equal(false)
      await rm(path)
      expect(same(await store.bytes(cid), small)).to.equal(true)
      await store.close()
      await expectNoOrphans(place)
    })

    it('by reference are not deleted with the blob', async () => {
      const { cid } = await store.importFile(path, { mode: 'reference' })
      expect(await store.delete(cid)).to.include({ blobs: 1 })
      expect(same(new Uint8Array(await readFile(path)), bytes)).to.equal(true)
      await store.close()
      await place.look(async ({ index, data }) => {
        expect(await idsIn(data)).to.deep.equal([])
        const kinds = new Set((await index.keys().all()).map(([kind]) => kind))
        expect([...kinds], 'only the state and the log of changes').to.deep.equal([0, 6])
      })
    })

    it('that are not regular files are refused', async () => {
      expect(await errorOf(store.importFile(join(folder, 'none'), { mode: 'reference' })))
        .to.include({ code: 'ENOENT' })
      expect(await errorOf(store.importFile(join(folder, 'none')))).to.include({ code: 'ENOENT' })
      await expectSlip('path', () => store.importFile(folder, { mode: 'reference' }))
      await expectSlip('mode', () => store.importFile(path, { mode: 'link' }))
      const memory = await inMemory().then(place => place.open())
      await expectSlip('mode', () => memory.importFile(path, { mode: 'reference' }))
      expect((await memory.importFile(path)).size).to.equal(bytes.length)
      await memory.close()
    })
  })

  describe('exported files', () => {
    const names = () => readdir(folder).then(names => names.sort())

    it('have the bytes of the blob, and replace the old file', async () => {
      for (const blob of [bytes, bytes.subarray(0, 1), bytes.subarray(0, 0), bytes.subarray(0, 70_000)]) {
        const { cid } = await store.put(blob)
        const told = []
        expect(await store.exportFile(cid, pathToFileURL(path), { onProgress: event => told.push(event) }))
          .to.deep.equal({ size: blob.length })
        expect(same(new Uint8Array(await readFile(path)), blob)).to.equal(true)
        const detail = { done: blob.length, total: blob.length, unit: 'bytes' }
        if (blob.length > 0) expect(told.at(-1)).to.deep.equal({ type: 'baobox:export', detail })
        expect(await names()).to.deep.equal(['a file'])
      }
    })

    it('leave the old file, and nothing else, when the export fails', async () => {
      const other = noise(500, 520)
      await writeFile(path, other)
      const { cid } = await store.put(bytes)
      const range = { start: 0, end: GROUP }
      const part = noise(100_000, 521)
      await store.receive(hash(part), sliceOf(part, range), range)
      const [id] = await readdir(join(place.where, 'blobs'))
      const file = join(place.where, 'blobs', id)
      await writeFile(file, flipped(bytes, 2_000_000))
      const reason = new Error('enough')
      const controller = new AbortController()
      const failing = [
        [() => store.exportFile(hash(part), path), { code: 'STORE_MISSING' }],
        [() => store.exportFile(hash(other), path), { code: 'STORE_NOT_FOUND' }],
        [() => store.exportFile(cid, path, { signal: AbortSignal.abort(reason) }), { message: 'enough' }],
        [
          () => store.exportFile(cid, path, { signal: controller.signal, onProgress: () => controller.abort(reason) }),
          { message: 'enough' }
        ],
        [() => store.exportFile(cid, path), { code: 'STORE_CORRUPT' }],
        [() => store.exportFile(cid, path), { code: 'STORE_MISSING' }]
      ]
      for (const [run, expected] of failing) {
        expect(await errorOf(run)).to.include(expected)
        expect(await names()).to.deep.equal(['a file'])
        expect(same(new Uint8Array(await readFile(path)), other)).to.equal(true)
      }
      expect(await errorOf(store.exportFile(hash(new Uint8Array(0)), join(folder, 'no', 'folder'))))
        .to.include({ code: 'ENOENT' })
      await mkdir(join(folder, 'folder'))
      expect((await errorOf(store.exportFile(hash(new Uint8Array(0)), join(folder, 'folder')))).code).to.match(/^E/)
      expect(await names()).to.deep.equal(['a file', 'folder'])
    })

    it('have bytes that `supply` has fetched, also of a blob of which the store has nothing', async () => {
      await store.close()
      store = await place.open({ supply: async (_cid, ranges) => sliceOf(bytes, ranges) })
      for (const mode of ['copy', 'link']) {
        const target = join(folder, mode)
        expect(await store.exportFile(root, target, { mode })).to.deep.equal({ size: bytes.length })
        expect(same(new Uint8Array(await readFile(target)), bytes), mode).to.equal(true)
        await store.delete(root)
      }
    })

    it('have another name until they are whole, which shows that an export was killed', async () => {
      for (const target of ['film.mp4', 'x'.repeat(200)]) {
        const { cid } = await store.put(bytes)
        let during
        await store.exportFile(cid, join(folder, target), { onProgress () { during ??= readdirSync(folder) } })
        const [name] = during.filter(name => name.startsWith('.'))
        expect(name.slice(0, -5).match(/^\.(.*)\.[0-9a-z]{2,14}$/)[1]).to.equal(target.slice(0, 50))
        expect(name).to.match(/\.part$/)
      }
    })

    it('may have the path of a reference', async () => {
      const { cid } = await store.importFile(path, { mode: 'reference' })
      await store.exportFile(cid, path)
      expect(same(await store.bytes(cid), bytes)).to.equal(true)
      expect((await stat(path)).size).to.equal(bytes.length)
    })
  })
})

/** @template T @param {AsyncIterable<T>} many @returns {Promise<T[]>} */
async function collected (many) {
  const all = []
  for await (const one of many) all.push(one)
  return all
}
