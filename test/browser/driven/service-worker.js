// A browser shows a site whose files a service worker fetches from mirrors and verifies.
import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { hash, toCid } from '../../../lib/index.js'
import { Manifest, putManifest } from '../../../exchange/collections/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { flipped } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { bundleServiceWorker } from '../../support/service-worker-file.js'
import { inMemory } from '../../support/store/stores.js'
import { eventually, filesAt, spoiled, startHost } from './hosts.js'

const MIB = 1 << 20
const BIG = noise(6 * MIB + 77, 95)
/** Seconds of sound, with 44100 samples of two bytes each. */
const SECONDS = 200
const text = string => new TextEncoder().encode(string)

/** Where the bootstrap page is, and so the site. */
const FOLDER = '/some/folder/'
const BOOTSTRAP = `<!doctype html><meta charset="utf-8"><title>starting</title><script type="module">
await navigator.serviceWorker.register('sw.js')
if (navigator.serviceWorker.controller === null) {
  await new Promise(resolve => navigator.serviceWorker.addEventListener('controllerchange', resolve))
}
globalThis.location.reload()
</script>`

const pageOf = version => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>${version}</title>
<script>globalThis.version = '${version}'</script><h1>${version}</h1><img src="images/square.svg">`

/** The files of a version of the site. */
const filesOf = version => ({
  '/': ['text/html; charset=utf-8', text(pageOf(version))],
  '/version.txt': ['text/plain; charset=utf-8', text(version)],
  '/images/square.svg': ['image/svg+xml', text('<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60"/>')],
  '/big.bin': ['application/octet-stream', BIG],
  '/later.bin': ['application/octet-stream', noise(100_000, 96)],
  '/packed.txt': ['text/plain; charset=utf-8', gzipSync('unpacked')],
  '/sound.wav': ['audio/wav', wave()]
})

/** A file of silence. Source: "Multimedia Programming Interface and Data Specifications 1.0", WAVE. */
function wave () {
  const rate = 44_100
  const len = SECONDS * rate * 2
  const bytes = new Uint8Array(44 + len)
  const view = new DataView(bytes.buffer)
  bytes.set(text('RIFF'), 0)
  view.setUint32(4, 36 + len, true)
  bytes.set(text('WAVEfmt '), 8)
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, 2 * rate, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  bytes.set(text('data'), 36)
  view.setUint32(40, len, true)
  return bytes
}

/** @param {import('../engines/index.js').Browser} browser */
export function testServiceWorker (browser) {
  describe('a service worker of verified files', () => {
    let place, origin, bundle, sites
    /** What is started for one test. */
    const started = []

    before(async () => {
      place = await inMemory()
      const store = await place.open()
      sites = {}
      for (const version of ['one', 'two']) {
        const entries = []
        for (const [path, [type, bytes]] of Object.entries(filesOf(version))) {
          const encoding = path === '/packed.txt' && { 'content-encoding': 'gzip' }
          entries.push([path, { src: (await store.put(bytes)).cid, 'content-type': type, ...encoding }])
        }
        const { cid } = await putManifest(store, Manifest.from(entries))
        sites[version] = `${toCid(cid.multihash.digest)}` // as mirrors are asked for it
      }
      origin = createHandler(store)
      bundle = new TextDecoder().decode(await bundleServiceWorker())
    })
    after(() => place?.remove())

    afterEach(async () => {
      await browser.open('about:blank')
      for (const host of started.splice(0)) host.close()
    })

    const start = async (...args) => {
      const host = await startHost(...args)
      started.push(host)
      return host
    }

    /** A host of the bootstrap page, at a new origin for each test. `change` replaces its worker. */
    async function startSite (mirrors, { site = sites.one, before = '', options = '' } = {}) {
      const scriptOf = site => ['text/javascript', `${before}\n${bundle}
        baobox.serveVerified({ site: '${site}', from: ${JSON.stringify(mirrors)}, ${options} })`]
      const files = {
        '/elsewhere': ['text/html', ''],
        [FOLDER]: ['text/html', BOOTSTRAP],
        [`${FOLDER}sw.js`]: scriptOf(site)
      }
      const host = await start(filesAt(files))
      return { host, url: host.url.slice(0, -1) + FOLDER, change: site => { files[`${FOLDER}sw.js`] = scriptOf(site) } }
    }

    const startMirror = async (answer = origin, port) => {
      const host = await start(answer, port)
      return { ...host, template: `${host.url}{cid}` }
    }

    /** Opens the site, and waits until the worker shows it. */
    async function open (url) {
      await browser.open(url)
      return eventually(() => browser.evaluate(versionOf).catch(String), version => ['one', 'two'].includes(version))
    }

    it('answers a page that was loaded without it, and has the files with their types and ranges', async () => {
      const { template } = await startMirror()
      const { url } = await startSite([template])
      expect(await open(url)).to.equal('one')
      const picture = await browser.evaluate(pictureOf)
      expect(picture).to.deep.equal([80, 60])
      expect(await browser.evaluate(fetched, 'version.txt')).to.deep.equal(
        { status: 200, type: 'text/plain; charset=utf-8', text: 'one' })
      expect(await browser.evaluate(fetched, 'packed.txt')).to.include({ status: 200, text: 'unpacked' })
      expect(await browser.evaluate(fetched, 'none')).to.include({ status: 404 })
      expect(await browser.evaluate(digestOf, 'big.bin')).to.deep.equal([200, BIG.length, await sha256(BIG)])
      const part = BIG.subarray(4_000_000, 5_000_000)
      expect(await browser.evaluate(digestOf, 'big.bin', 'bytes=4000000-4999999'))
        .to.deep.equal([206, part.length, await sha256(part)])
    })

    it('lets a player seek in a sound', async function () {
      const { template } = await startMirror()
      const { url } = await startSite([template])
      await open(url)
      const result = await browser.evaluate(seekIn, 'sound.wav', 150)
      if (result === 'not played') return this.skip()
      expect(result).to.deep.equal([SECONDS, 150])
    })

    it('goes on at another mirror when one lies, and tells the pages who lied where', async () => {
      const liar = await startMirror(spoiled(origin, bytes =>
        bytes.length > MIB / 2 ? flipped(bytes, 500_000, 1) : bytes))
      const honest = await startMirror()
      const { url } = await startSite([liar.template, honest.template])
      await open(url)
      const { digest, lies } = await browser.evaluate(digestAndLies, 'big.bin')
      expect(digest).to.equal(await sha256(BIG))
      expect(lies[0]).to.include({
        mirror: new URL(liar.url).origin, cid: `${toCid(hash(BIG))}`, code: 'BAO_LEAF_MISMATCH'
      })
      expect(lies[0].offset).to.be.within(450_000, 500_000)
    })

    it('answers without a network what it has kept, and names the mirrors for the rest', async () => {
      const mirror = await startMirror()
      const { host, url } = await startSite([mirror.template])
      await open(url)
      expect((await browser.evaluate(digestOf, 'big.bin'))[2]).to.equal(await sha256(BIG))
      for (const { close } of [host, mirror]) close()
      await browser.open('about:blank')
      expect(await open(url)).to.equal('one')
      expect((await browser.evaluate(digestOf, 'big.bin'))[2]).to.equal(await sha256(BIG))
      const { status, text } = await browser.evaluate(fetched, 'later.bin')
      expect(status).to.equal(502)
      expect(text).to.include(new URL(mirror.url).origin)
    })

    it('switches to a new version when its names are whole, and open pages keep theirs', async () => {
      let isHidden = true
      let refused = 0
      const mirror = await startMirror(request => {
        if (!isHidden || !request.url.includes(sites.two)) return origin(request)
        refused++
        return new Response('', { status: 404 })
      })
      const { url, change } = await startSite([mirror.template])
      await open(url)
      change(sites.two)
      expect(await browser.evaluate(update), 'without the names').to.equal('redundant')
      await eventually(() => refused, count => count > 0)
      isHidden = false
      await eventually(() => browser.evaluate(update), state => state === 'installed')
      expect((await browser.evaluate(fetched, 'version.txt')).text).to.equal('one')
      await eventually(async () => {
        await browser.open('about:blank')
        return open(url)
      }, version => version === 'two')
      expect((await browser.evaluate(fetched, 'version.txt')).text).to.equal('two')
    })

    it('does not believe what other pages have written into its cache', async () => {
      const { template } = await startMirror()
      const { host, url } = await startSite([template])
      await browser.open(host.url + 'elsewhere')
      await browser.evaluate(poison, `baobox ${url} ${sites.one}`, sites.one)
      expect(await open(url)).to.equal('one')
      expect((await browser.evaluate(fetched, 'version.txt')).text).to.equal('one')
    })

    it('keeps files in memory when there is no IndexedDB', async () => {
      const { template } = await startMirror()
      const { url } = await startSite([template], {
        before: "Object.defineProperty(globalThis, 'indexedDB', { value: undefined })",
        options: `onEvent: ({ type, place }) => {
          if (type === 'store') new BroadcastChannel('test').postMessage(place)
        }`
      })
      await open(url)
      expect(await browser.evaluate(digestOf, 'big.bin', 'bytes=0-9')).to.deep.include(10)
      expect(await browser.evaluate(digestOf, 'big.bin')).to.deep.equal([200, BIG.length, await sha256(BIG)])
    })

    it('drops files when the browser gives it less space than it has promised', async () => {
      const { template } = await startMirror()
      const { url } = await startSite([template], { before: `(${limitStorage})(${7 * MIB})` })
      await open(url)
      expect(await browser.evaluate(digestOf, 'big.bin')).to.deep.equal([200, BIG.length, await sha256(BIG)])
      const sound = filesOf('one')['/sound.wav'][1].subarray(0, 2_000_000)
      expect(await browser.evaluate(digestOf, 'sound.wav', 'bytes=0-1999999'))
        .to.deep.equal([206, sound.length, await sha256(sound)])
      expect((await browser.evaluate(fetched, 'version.txt')).text).to.equal('one')
    })

    it('goes on with what it had when the browser has stopped it in the middle of a body', async function () {
      if (browser.stopWorkers === undefined) return this.skip()
      let release
      const released = new Promise(resolve => { release = resolve })
      let count = 0
      const mirror = await startMirror(async request => {
        if (request.url.includes(`${toCid(hash(BIG))}`) && ++count > 1) await released
        return origin(request)
      })
      const { url } = await startSite([mirror.template])
      await open(url)
      await browser.evaluate(beginReading, 'big.bin')
      await browser.stopWorkers()
      const { outcome, len } = await browser.evaluate(readOn)
      // Firefox ends the body without an error.
      expect([['failed', 'ended'].includes(outcome), len < BIG.length], outcome).to.deep.equal([true, true])
      release()
      expect(await browser.evaluate(digestOf, 'big.bin')).to.deep.equal([200, BIG.length, await sha256(BIG)])
    })
  })
}

async function sha256 (bytes) {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
}

// The functions below run in the page.

/** Makes IndexedDB refuse values beyond a limit. */
function limitStorage (limit) {
  const { IDBObjectStore, IDBKeyRange, DOMException } = globalThis
  const { put, delete: remove } = IDBObjectStore.prototype
  const kept = new Map()
  IDBObjectStore.prototype.put = function (value, key) {
    const name = `${this.name} ${key}`
    const len = value.size ?? value.byteLength
    const used = [...kept.values()].reduce((sum, { len }) => sum + len, 0) - (kept.get(name)?.len ?? 0)
    if (used + len > limit) throw new DOMException('full', 'QuotaExceededError')
    kept.set(name, { store: this.name, key, len })
    return put.call(this, value, key)
  }
  IDBObjectStore.prototype.delete = function (keys) {
    const range = keys instanceof IDBKeyRange ? keys : IDBKeyRange.only(keys)
    for (const [name, { store, key }] of kept) if (store === this.name && range.includes(key)) kept.delete(name)
    return remove.call(this, keys)
  }
}

const versionOf = () => globalThis.version

async function pictureOf () {
  const image = globalThis.document.querySelector('img')
  await image.decode()
  return [image.naturalWidth, image.naturalHeight]
}

async function fetched (path) {
  const response = await fetch(path)
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

async function digestOf (path, range) {
  const response = await fetch(path, range && { headers: { range } })
  const bytes = await response.arrayBuffer()
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return [response.status, bytes.byteLength, Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join('')]
}

async function digestAndLies (path) {
  const channel = new BroadcastChannel('baobox')
  const lies = []
  const first = new Promise(resolve => channel.addEventListener('message', ({ data }) => resolve(lies.push(data))))
  const bytes = await (await fetch(path)).arrayBuffer()
  await first
  channel.close()
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return { lies, digest: Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join('') }
}

/** Seeks in a sound. Gives its length and the new place in seconds, or says that the browser does not play it. */
async function seekIn (path, seconds) {
  const audio = new globalThis.Audio(path)
  const is = name => new Promise(resolve => audio.addEventListener(name, () => resolve(name), { once: true }))
  const failed = is('error')
  if (await Promise.race([is('loadedmetadata'), failed]) === 'error') return 'not played'
  const seeked = is('seeked')
  audio.currentTime = seconds
  await seeked
  return [Math.round(audio.duration), Math.round(audio.currentTime)]
}

/** Looks for a new worker, as the browser may do at the same time, and gives the state when it is not installing. */
async function update () {
  const registration = await globalThis.navigator.serviceWorker.getRegistration()
  await registration.update().catch(() => {})
  const worker = registration.installing ?? registration.waiting
  if (worker === null) return 'redundant'
  while (worker.state === 'installing') {
    await new Promise(resolve => worker.addEventListener('statechange', resolve, { once: true }))
  }
  return worker.state
}

async function poison (name, cid) {
  const cache = await globalThis.caches.open(name)
  for (const name of [cid, 'x']) await cache.put(`https://blobs.invalid/${name}`, new Response('wrong'))
}

async function beginReading (path) {
  globalThis.reader = (await fetch(path)).body.getReader()
  globalThis.len = (await globalThis.reader.read()).value.length
}

async function readOn () {
  try {
    while (true) {
      const { done, value } = await globalThis.reader.read()
      if (done) return { outcome: 'ended', len: globalThis.len }
      globalThis.len += value.length
    }
  } catch {
    return { outcome: 'failed', len: globalThis.len }
  }
}
