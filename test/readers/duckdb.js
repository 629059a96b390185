// DuckDB in a page of Chromium queries a database at the URL of a server, whose store fetches what it lacks.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { build } from 'esbuild'
import { writeOutboard } from '../../encoder/index.js'
import { Manifest, putManifest } from '../../exchange/collections/index.js'
import { fromMirrors } from '../../exchange/download/index.js'
import { serve } from '../../exchange/http/node/index.js'
import { BlobStore } from '../../store/index.js'
import { chromium } from '../browser/engines/chromium.js'
import { prepare } from '../browser/engines/index.js'
import { serveFiles } from './servers.js'

const NAME = 'notes.duckdb'
/** So many rows that clients do not read the database as a whole, as they do up to 16 MiB. */
const COUNT = 5_000_000

/** The page starts DuckDB in a worker. */
const PAGE = `
import { AsyncDuckDB, VoidLogger } from '@duckdb/duckdb-wasm'

globalThis.start = async () => {
  const db = new AsyncDuckDB(new VoidLogger(), new Worker('worker.js'))
  await db.instantiate('/duckdb.wasm')
  globalThis.db = db
}
globalThis.query = async sql => {
  const connection = await db.connect()
  const rows = await connection.query(sql)
  await connection.close()
  return rows.toArray().map(row => row.toJSON())
}`

/** @param {BlobStore} store  gets the files of the page */
async function putPage (store) {
  const { outputFiles: [{ contents }] } = await build({
    stdin: { contents: PAGE, resolveDir: import.meta.dirname }, bundle: true, format: 'iife', write: false
  })
  const partOf = name => readFile(new URL(import.meta.resolve(`@duckdb/duckdb-wasm/dist/${name}`)))
  const files = [
    ['/', '<!doctype html><script src="page.js"></script>', 'text/html'],
    ['/page.js', contents, 'text/javascript'],
    ['/worker.js', await partOf('duckdb-browser-eh.worker.js'), 'text/javascript'],
    ['/duckdb.wasm', await partOf('duckdb-eh.wasm'), 'application/wasm']
  ]
  const resources = []
  for (const [path, content, type] of files) {
    const { cid } = await store.put(typeof content === 'string' ? new TextEncoder().encode(content) : content)
    resources.push([path, { src: cid, 'content-type': type }])
  }
  return putManifest(store, Manifest.from(resources), { tag: 'page' })
}

/** Makes a database in the page, which keeps it in a file of its origin, and returns its bytes in base64. */
async function newDatabase (count) {
  const { db, query } = globalThis
  await db.open({ path: 'opfs://notes.duckdb', accessMode: 3 }) // it may be written
  await query(`CREATE TABLE notes AS SELECT i AS id, 'note ' || i AS text FROM range(${count}) AS rows(i)`)
  await query('CHECKPOINT')
  await db.open({ path: ':memory:' })
  await db.dropFiles()
  const folder = await navigator.storage.getDirectory()
  const file = await (await folder.getFileHandle('notes.duckdb')).getFile()
  let text = ''
  for await (const piece of file.stream()) {
    for (let at = 0; at < piece.length; at += 4096) text += String.fromCharCode(...piece.subarray(at, at + 4096))
  }
  return btoa(text)
}

export function testDuckDB () {
  describe('DuckDB in a page', () => {
    let folder
    let store
    let browser
    let server
    let mirrors = []
    const told = []

    before(async function () {
      const { found, reason } = prepare(chromium, process.env.INSTALL === '1')
      if (found === undefined) {
        console.log(`NOT RUN: DuckDB in Chromium: ${reason}`)
        return this.skip()
      }
      folder = await mkdtemp(join(tmpdir(), 'baobox-duckdb-'))
      mirrors = [await serveFiles(folder, { lies: true }), await serveFiles(folder)]
      store = await BlobStore.open(join(folder, 'blobs'), {
        supply: fromMirrors(mirrors.map(({ url }) => `${url}/${NAME}`), {
          onRequest: ({ mirror, error }) => { if (error) told.push({ mirror, code: error.code }) }
        })
      })
      await putPage(store)
      server = await serve(store, { site: { cid: 'page', sandbox: false } })
      browser = await chromium.start(found, () => {})
      await browser.open(`${server.url}/`)
      await browser.evaluate(() => globalThis.start())
    })
    after(async () => {
      await browser?.close()
      await server?.close()
      await store?.close()
      for (const { close } of mirrors) close()
      if (folder !== undefined) await rm(folder, { recursive: true })
    })

    const query = sql => browser.evaluate(sql => globalThis.query(sql), sql)

    it('reads the parts of a database that a query needs, although a server lies', async () => {
      const bytes = Buffer.from(await browser.evaluate(newDatabase, COUNT), 'base64')
      const path = join(folder, NAME)
      await writeFile(path, bytes)
      const { cid } = await writeOutboard(path, `${path}.obao4`)
      await browser.evaluate(() => globalThis.db.open({ // without it, the file is read as a whole
        filesystem: { forceFullHTTPReads: false, allowFullHTTPReads: true }
      }))
      await query(`ATTACH '${server.url}/blobs/${cid}' AS remote (READ_ONLY)`)
      expect(await query('SELECT text FROM remote.notes WHERE id = 3000000')).to.deep.equal([{ text: 'note 3000000' }])
      const [liar, honest] = mirrors
      expect(told.some(({ mirror, code }) => mirror.startsWith(liar.url) && /^BAO_/.test(code))).to.equal(true)
      expect(liar.sent + honest.sent).to.be.below(bytes.length / 2)
    })
  })
}
