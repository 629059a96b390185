// Writes the files that the recipes read.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TextReader, Uint8ArrayWriter, ZipWriter } from '@zip.js/zip.js'
import { parquetWriteBuffer } from 'hyparquet-writer'
import * as SQLite from 'wa-sqlite'
import createModule from 'wa-sqlite/dist/wa-sqlite.mjs'
import { MemoryVFS } from 'wa-sqlite/src/examples/MemoryVFS.js'
import { varint } from 'multiformats'
import { concat } from '../support/bytes.js'

const numbers = Array.from({ length: 1000 }, (_, i) => i)

/** @param {string} folder */
export async function writeFiles (folder) {
  const files = {
    'cities.parquet': parquet(), 'map.pmtiles': tiles(), 'files.zip': await zip(), 'notes.sqlite': await database()
  }
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes)
}

const parquet = () => new Uint8Array(parquetWriteBuffer({
  columnData: [
    { name: 'id', data: numbers, type: 'INT32' }, { name: 'name', data: numbers.map(i => `city ${i}`), type: 'STRING' }
  ],
  rowGroupSize: 100
}))

/**
 * The tiles of the zooms 0 and 1, in PMTiles version 3, without compression. Each tile has a text.
 * https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md
 */
function tiles () {
  const HEADER_LEN = 127
  const NONE = 1
  const texts = Array.from({ length: 5 }, (_, id) => new TextEncoder().encode(`tile ${id}`))
  const columns = [
    [texts.length], texts.map((_, i) => Math.min(i, 1)), texts.map(() => 1), texts.map(text => text.length),
    texts.map((_, i) => i === 0 ? 1 : 0) // a zero says that a tile follows the one before it
  ]
  const directory = concat(columns.flat().map(value => varint.encodeTo(value, new Uint8Array(1))))
  const parts = [directory, new TextEncoder().encode('{}'), new Uint8Array(0), concat(texts)]
  const header = new DataView(new ArrayBuffer(HEADER_LEN))
  new Uint8Array(header.buffer).set(new TextEncoder().encode('PMTiles\x03'))
  let offset = HEADER_LEN
  for (const [i, { length }] of parts.entries()) {
    header.setBigUint64(8 + 16 * i, BigInt(offset), true)
    header.setBigUint64(16 + 16 * i, BigInt(length), true)
    offset += length
  }
  for (const [at, byte] of [[96, 1], [97, NONE], [98, NONE], [100, 0], [101, 1]]) header.setUint8(at, byte)
  return concat([new Uint8Array(header.buffer), ...parts])
}

async function zip () {
  const archive = new ZipWriter(new Uint8ArrayWriter())
  for (const name of ['a.txt', 'b.txt']) await archive.add(name, new TextReader(`text of ${name}`))
  return archive.close()
}

async function database () {
  const file = new URL(import.meta.resolve('wa-sqlite/dist/wa-sqlite.wasm'))
  const sqlite = SQLite.Factory(await createModule({ wasmBinary: await readFile(file) }))
  const files = new MemoryVFS()
  sqlite.vfs_register(files)
  const db = await sqlite.open_v2('notes', undefined, files.name)
  const rows = numbers.map(i => `(${i}, 'note ${i}')`)
  await sqlite.exec(db, `CREATE TABLE notes (id INTEGER PRIMARY KEY, text); INSERT INTO notes VALUES ${rows.join()}`)
  await sqlite.close(db)
  const { data, size } = files.mapNameToFile.get('notes')
  return new Uint8Array(data, 0, size)
}
