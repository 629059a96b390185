// A page puts, receives and deletes long blobs until its process is killed, and the next page finds everything that the
// store has acknowledged. The driver of WebKitGTK ends with the process, so there only a frame is removed. Other tests
// damage the files of Blobs.
import { expect } from 'chai'
import { readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { EFFORT } from '../pages.js'
import { bundleForPage } from '../../support/page-bundle.js'
import { eventually, filesAt, startHost } from './hosts.js'

/** How many pages are killed; more with EFFORT above 0.2. */
const KILLS = Math.ceil(4 * Math.max(1, EFFORT / 0.2))
/** The most milliseconds from the first acknowledged job of a page to the kill. */
const PATIENCE = 1500
const CONTENTS = `
export { encodeSliceSync, createOutboardSync } from './encoder/index.js'
export { hash } from './lib/index.js'
export { BlobStore } from './store/index.js'`
const PAGE = `<!doctype html><meta charset="utf-8"><title>a tab</title><link rel="icon" href="data:,">
<script type="module">import * as baobox from '/page.js'
Object.assign(globalThis, { baobox, bytesOf: ${bytesOf}, work: ${work} })</script>`

/** @param {import('../engines/index.js').Browser} browser */
export function testLongBlobs (browser) {
  describe('a page with long blobs', () => {
    let host
    /** What the pages have told, by the number of the blob: `writing`, `kept`, `deleting` or `deleted`. */
    const told = new Map()

    before(async () => {
      const bundle = await bundleForPage({ contents: CONTENTS })
      const files = filesAt({
        '/': ['text/html', PAGE],
        ...Object.fromEntries(bundle.map(({ name, contents }) => [`/${name}`, ['text/javascript', contents]]))
      })
      host = await startHost(async request => {
        const { pathname, searchParams } = new URL(request.url)
        if (pathname !== '/told') return files(request)
        told.set(Number(searchParams.get('blob')), searchParams.get('state'))
        return new Response()
      })
    })
    after(() => host?.close())

    it('whose process is killed has lost nothing that was acknowledged, and the next page goes on', async function () {
      this.timeout(KILLS * 300_000)
      const kill = browser.kill ?? (() => browser.evaluate(leave))
      let first = 0
      for (let kills = 0; kills <= KILLS; kills++) {
        await browser.open(host.url)
        await eventually(() => browser.evaluate(isReady), Boolean) // WebKitGTK may run this in the page before.
        const report = await browser.evaluate(check, [...told])
        expect(report, `after ${kills} kills`).to.deep.equal({ wrong: [], isSound: true, orphans: 0, strays: 0 })
        if (kills === KILLS) break
        await browser.evaluate(begin, first)
        const count = told.size
        while (told.size < count + 2) await pause(5)
        await pause(Math.random() * PATIENCE)
        await kill()
        first = Math.max(...told.keys()) + 1
      }
      expect([...told.values()].filter(state => state === 'kept')).to.not.have.length(0)
    })

    const DAMAGE = { lost: rm, 'cut short': path => truncate(path, 1000), emptied: path => truncate(path, 0) }
    for (const [how, damage] of Object.entries(DAMAGE)) {
      it(`notices that a file of a Blob was ${how}, and receives the bytes again`, async function () {
        if (browser.profile === undefined) return this.skip()
        await browser.open(host.url)
        const name = `damaged ${how}`
        await browser.evaluate(putOne, name)
        const isExtent = async path => (await stat(path)).size === 1 << 20 && !path.endsWith('.log')
        const files = []
        for (const path of await readdir(browser.profile, { recursive: true })) {
          const whole = join(browser.profile, path)
          if (/indexeddb|idb/i.test(path) && await isExtent(whole).catch(() => false)) files.push(whole)
        }
        expect(files).to.not.have.length(0)
        for (const path of files) await damage(path)
        await browser.open(host.url)
        const { codes, ...report } = await browser.evaluate(readOne, name)
        expect(codes).to.include('STORE_CORRUPT')
        expect(report).to.deep.equal({ isSame: true, isSound: true })
      })
    }
  })
}

// The functions below run in the page.

/** The bytes of a blob, which are different for each number: some short, most of several extents. */
function bytesOf (number) {
  const len = [700_000, 3_300_000 + number, 100 + number, 5_242_880, 2_000_000][number % 5]
  const words = new Uint32Array(Math.ceil(len / 4))
  let word = number * 2_654_435_761 + 1 | 0
  for (let i = 0; i < words.length; i++) {
    word ^= word << 13
    word ^= word >>> 17
    word ^= word << 5
    words[i] = word
  }
  return new Uint8Array(words.buffer, 0, len)
}

/** Puts, receives and deletes blobs, from this number on, and says so before and after each. */
async function work (first) {
  const { BlobStore, createOutboardSync, encodeSliceSync, hash } = globalThis.baobox
  const store = await BlobStore.open('killed', { wait: 200_000 })
  const tell = (blob, state) => fetch(`/told?blob=${blob}&state=${state}`)
  for (let number = first; ; number++) {
    const bytes = globalThis.bytesOf(number)
    await tell(number, 'writing')
    if (number % 2 === 0) await store.put(bytes)
    else await store.receive(hash(bytes), encodeSliceSync(bytes, createOutboardSync(bytes)))
    await tell(number, 'kept')
    if (number % 3 === 0) continue
    await tell(number, 'deleting')
    await store.delete(hash(bytes))
    await tell(number, 'deleted')
  }
}

const isReady = () => globalThis.work !== undefined && globalThis.document.querySelector('iframe') === null

/** Begins the work in a frame. */
async function begin (first) {
  const { document } = globalThis
  const frame = document.createElement('iframe')
  frame.src = '/'
  const isLoaded = new Promise(resolve => frame.addEventListener('load', resolve))
  document.body.append(frame)
  await isLoaded
  frame.contentWindow.work(first)
}

const leave = () => globalThis.document.querySelector('iframe').remove()

/** Compares the store with what was told. */
async function check (told) {
  const { BlobStore, hash } = globalThis.baobox
  const store = await BlobStore.open('killed', { wait: 200_000 })
  const isSame = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i])
  const wrong = []
  for (const [number, state] of told) {
    const bytes = globalThis.bytesOf(number)
    const { complete = false, present } = await store.stat(hash(bytes)).catch(() => ({}))
    const isKept = complete && isSame(await store.bytes(hash(bytes)), bytes)
    if (state === 'kept' && !isKept) wrong.push([number, 'is not there'])
    if (state === 'deleted' && present !== undefined) wrong.push([number, 'was deleted'])
    if (complete && !isKept) wrong.push([number, 'has wrong bytes'])
  }
  const { isSound, orphans, strays } = await store.fsck()
  await store.close()
  return { wrong, isSound, orphans, strays }
}

/** Puts a blob into a store of its own. */
async function putOne (name) {
  const store = await globalThis.baobox.BlobStore.open(name)
  await store.put(globalThis.bytesOf(3))
  await store.close()
}

/** Reads that blob, receives what is missing then, and reads it again. */
async function readOne (name) {
  const { BlobStore, createOutboardSync, encodeSliceSync, hash } = globalThis.baobox
  const store = await BlobStore.open(name)
  const bytes = globalThis.bytesOf(3)
  const root = hash(bytes)
  const codes = []
  for (const part of [undefined, { start: 2_000_000, end: 2_000_001 }]) {
    await store.bytes(root, part).catch(error => codes.push(error.code ?? `${error}`))
  }
  await store.fsck({ repair: true })
  const missing = await store.missing(root)
  await store.receive(root, encodeSliceSync(bytes, createOutboardSync(bytes), missing), missing)
  const got = await store.bytes(root)
  const isSame = got.length === bytes.length && got.every((byte, i) => byte === bytes[i])
  const { isSound } = await store.fsck()
  await store.close()
  return { codes, isSame, isSound }
}
