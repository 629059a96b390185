// Large collections: a million names in bounded memory, and a folder of a hundred thousand files.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Collection, collectionEntries, putCollection } from '../../exchange/collections/index.js'
import { SafeNames } from '../../exchange/collections/safe-names.js'
import { diffDirectory, exportDirectory, importDirectory } from '../../exchange/collections/node/index.js'
import { MIB } from '../support/constants.js'
import { atEffort } from '../support/effort.js'
import { listed } from '../support/feeding.js'
import { onDisk } from '../support/store/stores.js'

const NAMES = atEffort(1_000_000)
const FILES = atEffort(100_000)
const PER_FOLDER = 500
const BOUND = 48 * MIB

// Garbage is collected before memory is measured: only memory that is still in use counts.
setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')
const used = () => {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** @param {(i: number) => void} [sample] */
function * manyEntries (sample) {
  const hash = new Uint8Array(32)
  for (let i = 0; i < NAMES; i++) {
    new DataView(hash.buffer).setUint32(0, i)
    if (i % 50_000 === 0) sample?.(i)
    yield [`folder ${i % 1000}/a name of the usual length, number ${i}`, hash]
  }
}

describe('large collections', () => {
  let place, store, folder
  before(async () => {
    place = await onDisk()
    store = await place.open({ durability: 'process' })
    folder = await mkdtemp(join(tmpdir(), 'baobox-'))
  })
  after(async () => {
    await place.remove()
    await rm(folder, { recursive: true })
  })

  it(`${NAMES} names are put and read in bounded memory`, async () => {
    const idle = used()
    let most = 0
    const sample = () => { most = Math.max(most, used() - idle) }
    const { cid, length } = await putCollection(store, manyEntries(sample), { tag: 'many' })
    expect(length).to.equal(NAMES)
    const expected = manyEntries()
    let count = 0
    for await (const [name, member] of collectionEntries(store, cid)) {
      if (count++ % 50_000 === 0) sample()
      const [wanted, hash] = expected.next().value
      if (name !== wanted || Buffer.compare(member.multihash.digest, hash) !== 0) expect(name).to.equal(wanted)
    }
    expect(count).to.equal(NAMES)
    expect(most, `at most ${Math.round(most / MIB)} MiB`).to.be.lessThan(BOUND)
    expect((await store.info()).blobs).to.equal(2)
    expect(`${Collection.from(manyEntries()).cid}`).to.equal(`${cid}`)
    await store.tags.delete('many')
    await store.gc()
  })

  it('names of the greatest depth take memory for at most 2^22 folders', () => {
    const idle = used()
    const safe = new SafeNames({ isForWindows: false })
    const addAll = () => { for (let i = 0; i < 3000; i++) safe.add(`${i}/${'a/'.repeat(2040)}a`) }
    expect(addAll).to.throw(/more than 4194304 folders/)
    expect(used() - idle).to.be.within(1, 500 * MIB)
    expect(safe.tops.size).to.be.greaterThan(2000)
  })

  it(`${FILES} files are imported, exported and imported again with the same CID`, async () => {
    const top = join(folder, 'top')
    await mkdir(top)
    for (let i = 0; i < FILES; i++) {
      const inner = join(top, `${Math.floor(i / PER_FOLDER)}`)
      if (i % PER_FOLDER === 0) await mkdir(inner)
      await writeFile(join(inner, `file ${i}`), `${i}\n`.repeat(i % 400))
    }
    const known = join(folder, 'known')
    const { cid, length, unread } = await importDirectory(store, top, { tag: 'all', known })
    expect({ length, unread }).to.deep.equal({ length: FILES, unread: 0 })
    const lines = (await readFile(known, 'utf8')).trimEnd().split('\n').length - 1
    expect(await importDirectory(store, top, { known })).to.deep.include({ cid, unread: lines })
    expect(await store.gc()).to.include({ blobs: 0 })
    expect(await exportDirectory(store, cid, join(folder, 'out'))).to.include({ length: FILES })
    const again = await importDirectory(store, join(folder, 'out', 'top'))
    expect(again).to.deep.include({ cid, isNew: false })
    await writeFile(join(top, '0', 'file 1'), 'changed')
    expect(await listed(diffDirectory(store, cid, top))).to.deep.equal([{ type: 'changed', name: 'top/0/file 1' }])
  })
})
