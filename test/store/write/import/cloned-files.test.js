// Imports where the file system can clone files. In these tests the clones are copies.
import { chmod, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash, toCid } from '../../../../lib/index.js'
import { same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { nextIdOf } from '../../../support/store/inspect.js'
import { expectNoOrphans, onDisk, sliceOf } from '../../../support/store/stores.js'
import { cloneByCopy } from '../../../support/store/writers.js'

const BYTES = noise(2 * MIB + 12_345, 561)
const CID = toCid(hash(BYTES))

describe('store: importFile() of a file that can be cloned', () => {
  let folder, path, place, store, clones
  beforeEach(async () => {
    clones = cloneByCopy()
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    path = join(folder, 'file')
    await writeFile(path, BYTES)
    place = await onDisk()
    store = await place.open()
  })
  afterEach(async () => {
    clones.end()
    await place.remove()
    await rm(folder, { recursive: true })
  })

  it('keeps the old bytes of the file, also when the file is changed and the store is opened again', async () => {
    const told = []
    const onProgress = ({ type, detail }) => told.push(type, detail)
    const result = await store.importFile(path, { tag: 'kept', onProgress })
    expect({ ...result, cid: `${result.cid}` }).to.deep.equal({ cid: `${CID}`, size: BYTES.length, isNew: true })
    expect(told.slice(-2)).to.deep.equal(['baobox:put', { done: BYTES.length, total: BYTES.length, unit: 'bytes' }])
    expect(clones.count).to.equal(1)
    await writeFile(path, 'changed')
    for (let life = 0; life < 2; life++) {
      expect(same(await store.bytes(CID), BYTES)).to.equal(true)
      expect(same(await collect(store.slice(CID)), sliceOf(BYTES))).to.equal(true)
      expect(await store.fsck()).to.include({ isSound: true, orphans: 0 })
      await store.close()
      store = await place.open()
    }
    expect(await store.delete(CID, { force: true })).to.include({ blobs: 1 })
    await store.close()
    await expectNoOrphans(place)
    expect(await readdir(join(place.where, 'blobs'))).to.deep.equal([])
  })

  it('keeps nothing twice, and nothing of a refused file', async () => {
    await store.importFile(path)
    expect((await store.importFile(path)).isNew).to.equal(false)
    expect((await store.importFile(path, { expect: CID })).isNew).to.equal(false)
    expect(clones.count, 'a file whose hash the store has is not read').to.equal(2)
    await writeFile(path, BYTES.subarray(1))
    const other = toCid(hash(BYTES.subarray(2)))
    expect(await errorOf(store.importFile(path, { expect: other }))).to.include({ code: 'CID_MISMATCH' })
    expect(await errorOf(store.importFile(path, { size: 5 }))).to.include({ code: 'SIZE_MISMATCH' })
    const signal = AbortSignal.abort(new Error('enough'))
    expect(await errorOf(store.importFile(path, { signal }))).to.include({ message: 'enough' })
    const leaving = new AbortController()
    const onProgress = () => leaving.abort(new Error('enough by now'))
    expect(await errorOf(store.importFile(path, { signal: leaving.signal, onProgress })))
      .to.include({ message: 'enough by now' })
    await store.close()
    await expectNoOrphans(place)
    expect(await readdir(join(place.where, 'blobs'))).to.have.length(1)
    store = await place.open({ quota: MIB })
    expect(await errorOf(store.importFile(path))).to.include({ code: 'STORE_FULL' })
  })

  it('copies a file that is too short for a blob file', async () => {
    await writeFile(path, BYTES.subarray(0, MIB))
    await store.importFile(path)
    expect(clones.count).to.equal(0)
    expect(same(await store.bytes(hash(BYTES.subarray(0, MIB))), BYTES.subarray(0, MIB))).to.equal(true)
  })

  it('does not change a foreign file with the name of its blob file', async () => {
    const taken = join(place.where, 'blobs', `${nextIdOf(store)}`)
    await store.importFile(path) // makes the folder
    const next = join(place.where, 'blobs', `${nextIdOf(store)}`)
    expect(next).to.not.equal(taken)
    clones.end()
    await writeFile(next, 'a file of somebody else')
    await writeFile(path, BYTES.subarray(1))
    expect(await errorOf(store.importFile(path))).to.include({ code: 'STORE_CORRUPT', location: next })
    expect((await stat(next)).size).to.equal(23)
  })

  it('reports a file in the place of its folder, and that the store was moved', async () => {
    clones.end()
    await rm(join(place.where, 'blobs'), { recursive: true })
    await writeFile(join(place.where, 'blobs'), 'a file of somebody else')
    expect(await errorOf(store.importFile(path))).to.include({ code: 'STORE_CORRUPT' })
    await rename(place.where, join(folder, 'moved'))
    try {
      await rm(join(folder, 'moved', 'blobs'))
      expect(await errorOf(store.importFile(path))).to.include({ code: 'STORE_MOVED' })
    } finally {
      await rename(join(folder, 'moved'), place.where)
    }
  })
})

describe('store: importFile() on the disk of this machine', () => {
  it('takes a file without write permission, and makes one that the store may write to', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    const path = join(folder, 'file')
    const place = await onDisk()
    try {
      await writeFile(path, BYTES)
      await chmod(path, 0o444)
      const store = await place.open()
      await store.importFile(path)
      expect(same(await store.bytes(CID), BYTES)).to.equal(true)
      const [name] = await readdir(join(place.where, 'blobs'))
      const { mode } = await stat(join(place.where, 'blobs', name))
      expect(mode & 0o200, 'the owner may write').to.equal(0o200)
      expect((await store.append(CID, Uint8Array.of(1))).size).to.equal(BYTES.length + 1)
    } finally {
      await place.remove()
      await rm(folder, { recursive: true })
    }
  })
})
