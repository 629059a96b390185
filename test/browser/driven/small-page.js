// A page keeps blobs with the smallest bundle: without the module `buffer`, and with the rare parts of a store in a
// file of their own.
import { expect } from 'chai'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { bundleForPage } from '../../support/page-bundle.js'

const PAGE = `<!doctype html><meta charset="utf-8"><title>a small page</title>
<script type="module" src="/page.js"></script>`
const CONTENTS = `import { BlobStore } from './store/index.js'
globalThis.BlobStore = BlobStore`

/** @param {import('../engines/index.js').Browser} browser */
export function testSmallPage (browser) {
  describe('a page with the smallest bundle', () => {
    let files
    let server
    let loaded

    before(async () => {
      const bundle = await bundleForPage({ contents: CONTENTS, hasBuffer: false })
      files = new Map(bundle.map(file => [`/${file.name}`, file]))
      server = createServer(({ url }, response) => {
        const script = files.get(url)
        if (script !== undefined) loaded.push(script)
        response.setHeader('content-type', script ? 'text/javascript' : 'text/html').end(script?.contents ?? PAGE)
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
    })
    beforeEach(async () => {
      loaded = []
      await browser.open(`http://127.0.0.1:${server.address().port}/`)
    })
    after(() => {
      server?.close()
      server?.closeAllConnections()
    })

    it('puts, tags and reads blobs, and loads nothing else for that', async () => {
      expect(await browser.evaluate(putAndGet, 'first')).to.deep.equal({ text: 'hello', meta: { of: ['first'] } })
      expect(loaded.filter(({ isFirst }) => !isFirst)).to.deep.equal([])
    })

    it('collects garbage, checks and composes with a file that it loads then', async () => {
      await browser.evaluate(putAndGet, 'second')
      const found = await browser.evaluate(collectAndCompose, 'second')
      expect(found).to.deep.equal({ blobs: 1, isSound: true, text: 'hello' })
      expect(loaded.filter(({ isFirst }) => !isFirst)).to.not.have.length(0)
    })
  })
}

// The functions below run in the page.

async function putAndGet (name) {
  const store = await globalThis.BlobStore.open(name)
  await store.put(new TextEncoder().encode('without a tag'))
  const { cid } = await store.put(new TextEncoder().encode('hello'))
  await store.tags.set(name, cid, { meta: { of: [name] } })
  const text = new TextDecoder().decode(await store.bytes(cid))
  const { meta } = await store.tags.get(name)
  await store.close()
  return { text, meta }
}

async function collectAndCompose (name) {
  const store = await globalThis.BlobStore.open(name)
  const { blobs } = await store.gc()
  const { isSound } = await store.fsck()
  const { cid } = await store.tags.get(name)
  const composed = await store.compose([{ cid }])
  const text = new TextDecoder().decode(await store.bytes(composed.cid))
  await store.close()
  return { blobs, isSound, text }
}
