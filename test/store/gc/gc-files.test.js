// Garbage collection and quotas of blobs in files: blob files, and files of references.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { concat, hex, same } from '../../support/bytes.js'
import { MIB } from '../../support/constants.js'
import { collect, errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { expectNoOrphans, onDisk } from '../../support/store/stores.js'

const LEN = 2 * MIB + 1

describe('store: gc() of blobs in files', () => {
  let folder
  let place
  let store
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
    place = await onDisk()
    store = await place.open()
  })
  afterEach(async () => {
    await place.remove()
    await rm(folder, { recursive: true })
  })

  /** Makes a file that does not belong to the store. */
  async function fileOf (bytes) {
    const path = join(folder, hex(hash(bytes)))
    await writeFile(path, bytes)
    return path
  }

  const filesOf = () => place.look(({ files }) => files)
  const namesIn = async () => (await listed(store.list())).map(({ cid }) => hex(cid.multihash.digest))
  const namesOf = blobs => blobs.map(bytes => hex(hash(bytes))).sort()

  it('gc() deletes the file of a blob', async () => {
    const [kept, swept] = [noise(LEN, 1), noise(LEN, 2)]
    await store.put(kept, { tag: 'kept' })
    await store.put(swept)
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: LEN })
    expect(same(await store.bytes(hash(kept)), kept)).to.equal(true)
    await store.close()
    expect(await filesOf()).to.have.length(1)
    await expectNoOrphans(place)
  })

  it('gc() deletes no file that is being read', async () => {
    const bytes = noise(3 * LEN, 3)
    await store.put(bytes)
    const reading = store.get(hash(bytes))
    const { value } = await reading.next()
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    expect(same(concat([value, await collect(reading)]), bytes)).to.equal(true)
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: bytes.length })
  })

  it('gc() does not delete the file of a reference', async () => {
    const bytes = noise(LEN, 4)
    const path = await fileOf(bytes)
    await store.importFile(path, { mode: 'reference' })
    expect(await store.gc({ dryRun: true }), 'no byte of the store').to.deep.equal({ blobs: 1, bytes: 0 })
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: 0 })
    expect(await store.has(hash(bytes))).to.equal(false)
    expect(same(new Uint8Array(await readFile(path)), bytes)).to.equal(true)
    await store.close()
    await expectNoOrphans(place)
  })

  it('gc() deletes nothing while the file of a sequence is gone', async () => {
    const member = noise(100, 5)
    const sequence = concat([hash(member), noise(LEN, 6).subarray(0, 32 * 1000)])
    const path = await fileOf(sequence)
    await store.importFile(path, { mode: 'reference', tag: 'sequence', format: 'hashseq' })
    await store.put(member)
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    await writeFile(path, noise(sequence.length, 7))
    expect(await errorOf(store.gc())).to.include({ code: 'STORE_CORRUPT' })
    await rm(path)
    expect(await errorOf(store.gc())).to.include({ code: 'STORE_MISSING' })
    expect(await store.has(hash(member))).to.equal(true)
    await store.tags.delete('sequence')
    expect(await store.gc()).to.deep.equal({ blobs: 2, bytes: 100 })
  })

  it('a quota evicts blob files, and does not count the files of references', async () => {
    await store.close()
    store = await place.open({ quota: 2 * LEN })
    const [first, second, third, elsewhere] = [1, 2, 3, 4].map(seed => noise(LEN, seed))
    const long = noise(3 * LEN, 8)
    await store.put(first)
    await store.put(second)
    for (const bytes of [elsewhere, long]) await store.importFile(await fileOf(bytes), { mode: 'reference' })
    expect(await namesIn()).to.deep.equal(namesOf([first, second, elsewhere, long]))
    await store.put(third)
    expect(await namesIn()).to.deep.equal(namesOf([second, third, elsewhere, long]))
    await store.put(elsewhere)
    expect(await namesIn(), 'it is in the store now').to.deep.equal(namesOf([third, elsewhere, long]))
    await store.close()
    store = await place.open({ quota: 2 * LEN })
    await store.put(Uint8Array.of(1))
    expect(await namesIn(), 'counted anew').to.deep.equal(namesOf([elsewhere, Uint8Array.of(1), long]))
    await store.close()
    expect(await filesOf()).to.have.length(1)
    await expectNoOrphans(place)
  })
})
