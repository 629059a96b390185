// LevelDB does not check the order of its tables. After one flipped bit in a key or in the index of a table, it may not
// find some entries. They are not lost, and must not be treated as lost.
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { checksumOf, loadChecksum } from '../../../../store/storage/disk/leveldb/checksum.js'
import { Table } from '../../../../store/storage/disk/leveldb/table.js'
import { isInOrder } from '../../../../store/storage/level/order.js'
import { concat, hex, same } from '../../../support/bytes.js'
import { GROUP } from '../../../support/constants.js'
import { noise } from '../../../support/inputs.js'
import { changeState, extentEntry, readRecord } from '../../../support/store/inspect.js'
import { onDisk } from '../../../support/store/stores.js'

const FOOTER_LEN = 48
/** Blobs of three cells each, which have pages. */
const BLOBS = Array.from({ length: 4 }, (_, i) => noise(10 * GROUP, 50 + i))

/**
 * Flips bits at the last place of some bytes in the tables of a database, and makes the checksums right again. LevelDB
 * writes such a table when it merges a damaged one.
 *
 * @returns {Promise<boolean>} true if the bytes were found
 */
async function spoil (folder, bytes, at, xor) {
  await loadChecksum()
  for (const name of (await readdir(folder)).filter(name => name.endsWith('.ldb'))) {
    const table = await readFile(join(folder, name))
    const place = table.lastIndexOf(bytes)
    if (place === -1) continue
    const { blocks, others } = Table.of(table)
    const index = { start: others.at(-1).end, end: table.length - FOOTER_LEN }
    table[place + at] ^= xor
    for (const { start, end } of [...blocks, ...others, index]) {
      table.writeUInt32LE(checksumOf(table.subarray(start, end - 4)), end - 4)
    }
    await writeFile(join(folder, name), table)
    return true
  }
  return false
}

async function expectAll (store, blobs = BLOBS) {
  for (const [i, bytes] of blobs.entries()) {
    if (!same(await store.bytes(hash(bytes)), bytes)) expect.fail(`blob ${i} is wrong`)
  }
}

describe('store: LevelDB tables that are out of order', () => {
  let place
  beforeEach(async () => {
    place = await onDisk()
    const store = await place.open()
    for (const bytes of BLOBS) await store.put(bytes)
    await store.compact()
    await store.close()
  })
  afterEach(() => place.remove())

  /**
   * In the index of the table of data: the first extent of the second blob is said to reach as far as the third,
   * which hides the second.
   */
  async function spoilIndex () {
    const { id } = await place.look(({ index }) => readRecord(index, hash(BLOBS[1])))
    // The shortest key between chunks 0 and 64.
    const separator = extentEntry(undefined, id, 1024).key.subarray(0, 16)
    expect(await spoil(join(place.where, 'data'), separator, 15, 0x80)).to.equal(true)
    expect(await place.look(({ data }) => extentEntry(data, id, 4 * GROUP).read())).to.equal(undefined)
  }

  const areInOrder = () => place.look(async ({ index, data }) => [await isInOrder(index), await isInOrder(data)])

  it('are recognised by isInOrder', async () => {
    expect(await areInOrder()).to.deep.equal([true, true])
    await spoilIndex()
    expect(await areInOrder()).to.deep.equal([true, false])
  })

  it('make fsck report isReadable: false and drop nothing, and a rescue brings everything back', async () => {
    await spoilIndex()
    const store = await place.open()
    await expectAll(store) // a search from the start of a cell finds all later extents
    for (const repair of [false, true, true]) {
      expect(await store.fsck({ repair })).to.include({ isSound: false, isReadable: false })
    }
    await store.close()

    expect(await BlobStore.rescue(place.where)).to.include({ isSound: true })
    const mended = await place.open()
    await expectAll(mended)
    expect(await mended.fsck()).to.include({ isSound: true })
    expect((await readdir(place.where)).sort()).to.deep.equal(['blobs', 'data', 'index'])
  })

  it('hide a record, but its blob is not swept, and a rescue gives it a record again', async () => {
    const fresh = Array.from({ length: 4 }, (_, i) => noise(1000 + i, 60 + i))
    const store = await place.open()
    for (const bytes of fresh) await store.put(bytes)
    await store.compact()
    await store.close()
    // As after a crash, before which all of them were put. The index must be one table: LevelDB merges four tables, and
    // ends the process when it merges tables that are out of order.
    await place.look(async ({ index }) => {
      await changeState(index, { isClean: false, swept: 0 })
      await index.compactRange(new Uint8Array(0), Uint8Array.of(0xff))
    })
    const [first, ...others] = [...BLOBS, ...fresh].sort((a, b) => hex(hash(a)) < hex(hash(b)) ? -1 : 1)
    expect(await spoil(join(place.where, 'index'), concat([[1], hash(first)]), 0, 0x80)).to.equal(true)

    await (await place.open()).close()
    await BlobStore.rescue(place.where)
    const mended = await place.open()
    await expectAll(mended, others)
    await expectAll(mended, [first]) // the blob has a record again
  })
})
