// A query over a large Parquet file, most of which is holes, from two servers of files. One of them flips a bit in some
// of its answers. As a program, `node test/readers/large.js --gib 10` prints what was fetched from whom.
import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parquetReadObjects } from 'hyparquet'
import { ByteWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer'
import { writeOutboard } from '../../encoder/index.js'
import { fromMirrors } from '../../exchange/download/index.js'
import { BlobStore } from '../../store/index.js'
import { serveFiles } from './servers.js'

const GROUPS = 100
const ROWS = 20_000 // of a row group
const NAME = 'table.parquet'
/** The id of the first row of the query. */
export const FIRST = 1_230_000

/** Writes what is appended to a file, and leaves a hole after each flush, that is, after each row group. */
class SparseWriter extends ByteWriter {
  #fd
  #hole

  /** @param {string} path @param {number} hole  bytes */
  constructor (path, hole) {
    super()
    this.#fd = openSync(path, 'w')
    this.#hole = hole
  }

  flush () {
    writeSync(this.#fd, this.getBytes(), 0, this.index, this.offset - this.index)
    this.offset += this.#hole
    this.index = 0
  }

  finish () {
    this.flush()
    closeSync(this.#fd)
  }
}

/** @param {string} path @param {number} size  about how many bytes the file should have */
function writeTable (path, size) {
  const columnsOf = start => {
    const ids = Array.from({ length: ROWS }, (_, i) => start + i)
    return [
      { name: 'id', data: ids, type: 'INT32' },
      { name: 'city', data: ids.map(id => `city ${id}`), type: 'STRING' },
      { name: 'price', data: ids.map(id => Math.sin(id)), type: 'DOUBLE' }
    ]
  }
  const writer = new ParquetWriter({
    writer: new SparseWriter(path, Math.floor(size / GROUPS)),
    schema: schemaFromColumnData({ columnData: columnsOf(0) })
  })
  for (let group = 0; group < GROUPS; group++) {
    writer.write({ columnData: columnsOf(group * ROWS), rowGroupSize: ROWS })
  }
  writer.finish()
}

/** @param {{ size: number, log?: (line: string) => void }} options  `size`: about how many bytes the file has */
export async function queryLarge ({ size, log = () => {} }) {
  const folder = await mkdtemp(join(tmpdir(), 'baobox-large-'))
  const path = join(folder, NAME)
  writeTable(path, size)
  const began = performance.now()
  const info = await writeOutboard(path, `${path}.obao4`)
  const seconds = (performance.now() - began) / 1000
  const onDisk = (await stat(path)).blocks * 512
  log(`${info.size} bytes, of which the disk has ${onDisk}; outboard in ${seconds.toFixed(1)} s`)

  const servers = [await serveFiles(folder, { lies: true }), await serveFiles(folder)]
  const told = []
  const mirrors = servers.map(({ url }) => `${url}/${NAME}`)
  const store = await BlobStore.open(join(folder, 'blobs'), {
    supply: fromMirrors(mirrors, { onRequest: ({ mirror, error }) => error && told.push({ mirror, error }) })
  })
  try {
    const start = performance.now()
    const { size: byteLength, read } = await store.source(info.cid)
    const file = { byteLength, slice: async (start, end = byteLength) => (await read(start, end)).buffer }
    const rows = await parquetReadObjects({
      file, columns: ['city', 'price'], filter: { id: { $gte: FIRST, $lt: FIRST + 10 } }
    })
    const milliseconds = performance.now() - start
    const { bytes: kept } = await store.info()
    log(`${rows.length} rows in ${milliseconds.toFixed(0)} ms; kept ${kept} bytes`)
    for (const { url, sent, answers, lies } of servers) {
      log(`${url} sent ${sent} bytes in ${answers} answers, ${lies} of them wrong`)
    }
    for (const { mirror, error } of told) log(`${mirror}: ${error.code}`)
    return { rows, servers, told, byteLength }
  } finally {
    await store.close()
    for (const { close } of servers) close()
    await rm(folder, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values: { gib } } = parseArgs({ options: { gib: { type: 'string', default: '1' } } })
  await queryLarge({ size: Number(gib) * 2 ** 30, log: console.log })
}
