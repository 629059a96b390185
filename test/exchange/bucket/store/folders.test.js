// Folders are imported into a store in a bucket, and exported from it in another process.
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { BucketStore, memoryBucket } from '../../../../exchange/bucket/index.js'
import { diffDirectory, exportDirectory, importDirectory } from '../../../../exchange/collections/node/index.js'
import { MIB } from '../../../support/constants.js'
import { listed } from '../../../support/feeding.js'
import { newFolders, writeFiles } from '../../../support/folders.js'
import { noise } from '../../../support/inputs.js'
import { expectSlip } from '../../../support/slips.js'

const FILES = { small: noise(1000), middle: noise(300_000, 2), large: noise(3 * MIB, 3), empty: '', 'a/b': 'text' }

describe('bucket store: folders', () => {
  const opened = []
  afterEach(() => Promise.all(opened.splice(0).map(store => store.close()))) // before the folders are removed
  const newFolder = newFolders()

  const openOn = async (bucket, local = { index: new MemoryLevel(), data: new MemoryLevel() }) => {
    const store = await BucketStore.open(bucket, { local })
    opened.push(store)
    return store
  }

  it('are imported, exported elsewhere, compared and imported again', async () => {
    const folder = await newFolder()
    const top = join(folder, 'top')
    await mkdir(top)
    await writeFiles(top, FILES)
    const bucket = memoryBucket()
    // One local store is a directory, the other one is in memory.
    const [writer, reader] = [await openOn(bucket, join(folder, 'local')), await openOn(bucket)]
    const { cid, length } = await importDirectory(writer, top, { tag: 'top' })
    expect(length).to.equal(5)
    for (const mode of ['copy', 'link']) {
      const out = join(folder, mode)
      await exportDirectory(reader, cid, out, { mode })
      expect(await readFile(join(out, 'top', 'a', 'b'), 'utf8')).to.equal('text')
      expect((await importDirectory(reader, join(out, 'top'))).cid.equals(cid)).to.equal(true)
    }
    expect(await listed(diffDirectory(reader, cid, top))).to.deep.equal([])
    await writeFiles(top, { small: noise(1000, 9) })
    expect(await listed(diffDirectory(reader, cid, top))).to.have.length(1)
    await reader.gc()
    await exportDirectory(await openOn(bucket), cid, join(folder, 'after gc'))
  })

  it('cannot be imported as references, because other machines do not have the files', async () => {
    const top = await newFolder()
    const store = await openOn(memoryBucket())
    await expectSlip('mode', () => importDirectory(store, top, { mode: 'reference' }), [TypeError])
  })
})
