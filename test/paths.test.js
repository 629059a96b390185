// Every path that a caller gives may be a `file:` URL.
import { expect } from 'chai'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { platform } from 'node:process'
import { pathToFileURL } from 'node:url'
import { hash, hashStream } from '../lib/index.js'
import {
  appendOutboard, createOutboard, createProof, encode, encodeSlice, encodeStream, openEncoding, openOutboard,
  writeOutboard
} from '../encoder/index.js'
import { VerifiedReader, mirrorOf, validRanges, verifyStream } from '../verifier/index.js'
import { BlobStore } from '../store/index.js'
import { downloadFile } from '../exchange/download/index.js'
import { diffDirectory, exportDirectory, importDirectory } from '../exchange/collections/node/index.js'
import { serve } from '../exchange/http/node/index.js'
import { exportCar, importCar } from '../exchange/transfer/index.js'
import { collect, listed } from './support/feeding.js'
import { noise } from './support/inputs.js'

const BYTES = noise(1_100_000, 41)
const ROOT = hash(BYTES)

describe('a path may be a file: URL, of', () => {
  let folder, store
  /** The URL of a file in the folder, with characters in its name that URLs escape. */
  const at = name => pathToFileURL(join(folder, `50% of ${name}`))

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baobox-paths-'))
    await writeFile(at('blob'), BYTES)
    await writeFile(at('encoding'), encode(BYTES).bytes)
    await mkdir(at('tree'))
    await writeFile(new URL(`${at('tree')}/a`), 'a')
    store = await BlobStore.open(at('store'))
    await store.put(at('blob'))
  })
  after(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })

  it('every source', async () => {
    expect(await hashStream(at('blob'))).to.deep.equal(ROOT)
    const outboard = await createOutboard(at('blob'), { order: 'post' })
    const slice = await collect(encodeSlice(at('blob'), outboard, { end: 5 }))
    await writeFile(at('slice'), slice)
    const [leaf] = await listed(verifyStream(at('slice'), { cid: ROOT, ranges: { end: 5 } }))
    expect(leaf.bytes).to.deep.equal(BYTES.slice(0, 5))
    expect(await collect(encodeStream(at('blob'), outboard))).to.deep.equal(encode(BYTES).bytes)
    expect((await appendOutboard(at('blob'), outboard)).root).to.deep.equal(ROOT)
    expect((await createProof(at('blob'), outboard, { end: 5 })).size).to.equal(BYTES.length)
    expect((await validRanges(at('blob'), outboard)).equals((await store.stat(ROOT)).present)).to.equal(true)
    for (const blob of [{ source: at('blob'), outboard }, { encoded: at('encoding') }]) {
      const reader = new VerifiedReader({ cid: ROOT, ...blob })
      expect(await reader.read({ end: 5 })).to.deep.equal(BYTES.slice(0, 5))
      await reader.close()
    }
    const opened = await openEncoding(at('encoding'), { cid: ROOT })
    expect(opened.source.size).to.equal(BYTES.length)
    await opened.close()
    const mirror = mirrorOf({ source: at('blob'), outboard })
    expect((await downloadFile(ROOT, at('mirrored'), { from: [mirror] })).complete).to.equal(true)
    await writeFile(at('car'), await collect(exportCar(store)))
    expect((await importCar(store, at('car'))).blocks).to.be.greaterThan(0)
  })

  it('an outboard that is written, extended and opened', async () => {
    const info = await writeOutboard(at('blob'), at('outboard'), { order: 'post' })
    expect((await writeOutboard(at('blob'), at('outboard'), { append: info })).root).to.deep.equal(ROOT)
    const outboard = await openOutboard(at('outboard'), info)
    expect(await outboard.pair(15)).to.have.length(64)
    await outboard.close()
  })

  it('a store, also one that is read only, and its copy', async () => {
    await mkdir(at('copies'))
    const reading = await BlobStore.open(at('store'), { readOnly: true, tempDir: at('copies') })
    expect(await reading.has(ROOT)).to.equal(true)
    await reading.close()
    const other = await BlobStore.open(at('other'))
    await other.put(BYTES)
    await other.close()
    expect((await BlobStore.rescue(at('other'))).blobs).to.equal(1)
  })

  it('a file that is imported, exported or downloaded to', async () => {
    expect((await store.importFile(at('blob'), { mode: 'reference' })).isNew).to.equal(false)
    await store.exportFile(ROOT, at('exported'))
    expect(new Uint8Array(await readFile(at('exported')))).to.deep.equal(BYTES)
    await downloadFile(ROOT, at('downloaded'), { from: [store] })
    expect(new Uint8Array(await readFile(at('downloaded')))).to.deep.equal(BYTES)
  })

  it('a folder, and its file of known files', async () => {
    const { cid, length } = await importDirectory(store, at('tree'), { top: '', known: at('known') })
    expect(length).to.equal(1)
    expect(await readFile(at('known'))).to.have.length.above(0)
    expect(await listed(diffDirectory(store, cid, at('tree'), { top: '' }))).to.deep.equal([])
    await exportDirectory(store, cid, at('copy'))
    expect(`${await readFile(new URL(`${at('copy')}/a`))}`).to.equal('a')
  })

  it('a socket', async function () {
    if (platform === 'win32') this.skip()
    const server = await serve(store, { path: pathToFileURL(join(folder, 'socket')) })
    expect(server.url).to.match(/^http\+unix:.*socket$/)
    await server.close()
  })
})
