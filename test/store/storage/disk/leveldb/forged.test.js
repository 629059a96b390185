// Forged files of LevelDB with right checksums: they are found, and take no more memory than files of their length do.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { contentsOf, rawEntriesOf } from '../../../../../store/storage/disk/leveldb/block.js'
import { checkDatabase } from '../../../../../store/storage/disk/leveldb/check.js'
import { checksumOf, loadChecksum } from '../../../../../store/storage/disk/leveldb/checksum.js'
import { readLog } from '../../../../../store/storage/disk/leveldb/log.js'
import { Table } from '../../../../../store/storage/disk/leveldb/table.js'
import { concat } from '../../../../support/bytes.js'
import { newFolders } from '../../../../support/folders.js'

const BLOCK_LEN = 1 << 15
const HEADER_LEN = 7
const FOOTER_LEN = 48

const u32 = value => {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

function varint (value) {
  const bytes = []
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 + 128)
  return Uint8Array.from([...bytes, value])
}

/** Makes a block with its trailer. */
function block (contents) {
  const checked = concat([contents, Uint8Array.of(0)])
  return concat([checked, u32(checksumOf(checked))])
}

/** Makes a block of entries. */
const contents = entries => concat([...entries, u32(0), u32(1)])

/** Makes a table without entries, with bytes that its index does not name. */
function emptyTable (unnamed) {
  const [metaindex, index] = [block(contents([])), block(contents([]))]
  const footer = new Uint8Array(FOOTER_LEN)
  const start = unnamed.length
  footer.set(concat([start, metaindex.length - 5, start + metaindex.length, index.length - 5].map(varint)))
  footer.set(concat([u32(0x8b80fb57), u32(0xdb477524)]), FOOTER_LEN - 8)
  return concat([unnamed, metaindex, index, footer])
}

/** Makes a whole record of a log. */
function record (payload) {
  const checked = concat([Uint8Array.of(1), payload])
  return concat([u32(checksumOf(checked)), Uint8Array.of(payload.length & 255, payload.length >> 8), checked])
}

describe('store: forged files of LevelDB', () => {
  const newFolder = newFolders()
  before(loadChecksum)

  it('are faulty if they are tables without entries, or with too few bytes for a block', async () => {
    const checks = { forgivesValues: false, checksOrder: true }
    for (const len of [1, 4]) {
      expect(Table.of(emptyTable(new Uint8Array(len))).fault(checks), `${len}`).to.equal('the block at 0 is damaged')
    }
    const table = emptyTable(new Uint8Array(0))
    expect(Table.of(table).ends()).to.deep.equal([undefined, undefined])
    const path = join(await newFolder(), 'database')
    await mkdir(path)
    const key = concat([varint(9), new Uint8Array(9)])
    const change = concat([[2, 0, 3, 6, 4, 9, 7, 0, 5].map(varint), varint(table.length), key, key].flat())
    await writeFile(join(path, 'MANIFEST-000004'), record(change))
    await writeFile(join(path, 'CURRENT'), 'MANIFEST-000004\n')
    await writeFile(join(path, '000005.ldb'), table)
    expect((await checkDatabase(path)).fault).to.equal('000005.ldb: it is another table')
  })

  it('are faulty if they are manifests that LevelDB refuses', async () => {
    const path = join(await newFolder(), 'database')
    await mkdir(path)
    await writeFile(join(path, 'CURRENT'), 'MANIFEST-000004\n')
    await writeFile(join(path, '000003.log'), '')
    const numbers = [2, 3, 3, 6, 4, 9]
    const facts = { comparator: 'leveldb.BytewiseComparator', level: 6 }
    const faultOf = async ({ comparator, level }) => {
      const name = new TextEncoder().encode(comparator)
      const change = [1, name.length, ...name, ...numbers, 5, level, 1, 0, 6, level, 1]
      await writeFile(join(path, 'MANIFEST-000004'), record(Uint8Array.from(change)))
      return (await checkDatabase(path)).fault
    }
    expect(await faultOf(facts)).to.equal(undefined)
    for (const other of [{ comparator: 'leveldb.BytewiseComparators' }, { comparator: '' }, { level: 7 }]) {
      expect(await faultOf({ ...facts, ...other }), JSON.stringify(other)).to.include('MANIFEST-000004')
    }
  })

  it('with blocks whose keys are far longer than the block are not read to the end', () => {
    const first = concat([varint(0), varint(50_000), varint(0), new Uint8Array(50_000)])
    const same = concat([varint(50_000), varint(0), varint(0)])
    const { entries, isWellFormed } = rawEntriesOf(contents([first, ...Array(4000).fill(same)]))
    expect(isWellFormed).to.equal(false)
    expect(entries).to.have.length(16)
    expect(rawEntriesOf(contents([first, ...Array(15).fill(same), first, same]))).to.include({ isWellFormed: true })
  })

  it('with blocks of zeros, as lost sectors have them, or of short keys, are not read to the end', () => {
    const short = concat([varint(0), varint(7), varint(0), new Uint8Array(7)])
    for (const bytes of [new Uint8Array(1 << 16), contents([short, short])]) {
      expect(rawEntriesOf(bytes)).to.deep.equal({ entries: [], isWellFormed: false })
    }
  })

  it('with blocks that are far longer than those of a store are not read', () => {
    for (const [len, isRead] of [[1 << 22, true], [(1 << 22) + 1, false]]) {
      expect(contentsOf(new Uint8Array(len + 5))?.length === len, `${len} bytes`).to.equal(isRead)
    }
  })

  it('with compressed blocks that claim more bytes than they can have are not read', () => {
    let grown = 0
    const { grow } = WebAssembly.Memory.prototype
    WebAssembly.Memory.prototype.grow = function (pages) {
      grown += pages
      return grow.call(this, pages)
    }
    try {
      expect(contentsOf(concat([varint(1 << 26), new Uint8Array(5), Uint8Array.of(1), new Uint8Array(4)])))
        .to.equal(undefined)
      const [literal, copy] = [Uint8Array.of(0, 7), Uint8Array.of(63 << 2 | 2, 1, 0)]
      const copies = Array(1000).fill(copy)
      const most = concat([varint(64_001), literal, ...copies, Uint8Array.of(1), new Uint8Array(4)])
      expect(contentsOf(most)).to.deep.equal(new Uint8Array(64_001).fill(7))
    } finally {
      WebAssembly.Memory.prototype.grow = grow
    }
    expect(grown).to.be.below(4)
  })

  it('with a flipped bit in every record of a log are corrected only in some records of each block', () => {
    const log = new Uint8Array(BLOCK_LEN)
    for (let at = 0; at + HEADER_LEN <= BLOCK_LEN; at += HEADER_LEN) {
      log.set(record(new Uint8Array(0)), at)
      log[at + 4] = 1
    }
    const found = [...readLog(log, { corrects: true })]
    expect(found.filter(({ payload }) => payload !== undefined)).to.have.length(8)
    expect(found.at(-1).lost).to.include({ start: 8 * HEADER_LEN, end: BLOCK_LEN })
  })
})
