// A browser shows a site that `baobox publish` has written, from hosts of which one is honest.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { testsInTurn } from '../../support/effort.js'
import { noise } from '../../support/inputs.js'
import { writeServiceWorker } from '../../support/service-worker-file.js'
import { eventually, startHost } from './hosts.js'

const PROGRAM = fileURLToPath(new URL('../../../bin/baobox.js', import.meta.url))
const run = promisify(execFile)
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript' }
const FILM = noise(3_000_000, 97)
/** The published folder is here on each host. */
const FOLDER = '/some/folder/'

const pageOf = version => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>${version}</title>
<script>globalThis.version = '${version}'</script><img src="images/square.svg">`
const FILES = {
  'guide/index.html': '<!doctype html><script>globalThis.version = "guide"</script><img src="../images/square.svg">',
  'images/square.svg': '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60"/>',
  'film.bin': FILM
}

/** Ways in which a host changes its answers: gets the bytes, the path and the status of each. */
const BAD = {
  'flips bits': ({ bytes }) => {
    const changed = new Uint8Array(bytes)
    for (let at = 0; at < changed.length; at += 10_000) changed[at] ^= 1
    return { bytes: changed }
  },
  truncates: ({ bytes }) => ({ bytes: bytes.subarray(0, Math.floor(bytes.length / 2)) }),
  'answers everything with 200 and a page': () =>
    ({ status: 200, type: TYPES['.html'], bytes: new TextEncoder().encode('<!doctype html><h1>Welcome</h1>') })
}

/** @param {import('../engines/index.js').Browser} browser */
export function testPublished (browser) {
  describe('a published site', () => {
    let folder, honest
    const started = []

    before(async () => {
      await writeServiceWorker()
      folder = await mkdtemp(join(tmpdir(), 'baobox-published-'))
      await writeFiles('old', { ...FILES, 'index.html': pageOf('old'), 'film.bin': noise(2_000_000, 98) })
      await writeFiles('new', { ...FILES, 'index.html': pageOf('new') })
      await publish('old', 'old-site')
      await publish('new', 'copy')
    })
    after(() => rm(folder, { recursive: true }))
    beforeEach(async () => { honest = await start(hostOf(join(folder, 'copy'))) })
    afterEach(async () => {
      await browser.open('about:blank')
      for (const host of started.splice(0)) host.close()
    })

    async function writeFiles (name, files) {
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(folder, name, path)), { recursive: true })
        await writeFile(join(folder, name, path), content)
      }
    }

    const publish = (name, out, ...mirrors) => run(process.execPath, [
      PROGRAM, 'publish', join(folder, name), '--out', join(folder, out), ...mirrors.flatMap(url => ['--mirror', url])
    ])

    /** A static host of a folder. It knows ranges and `404.html`, as most do, and `spoil` changes its answers. */
    const hostOf = (root, spoil = () => ({})) => async request => {
      const { pathname } = new URL(request.url)
      const path = pathname.startsWith(FOLDER) ? pathname.slice(FOLDER.length) || 'index.html' : '404.html'
      const isFound = existsSync(join(root, path))
      const file = isFound ? path : '404.html'
      const found = { status: isFound ? 200 : 404, type: TYPES[extname(file)] ?? 'application/octet-stream' }
      let bytes = new Uint8Array(await readFile(join(root, file)))
      const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get('range') ?? '') ?? []
      const headers = { 'access-control-allow-origin': '*' }
      if (isFound && from !== undefined && Number(from) < bytes.length) {
        const end = Math.min(bytes.length, to === '' ? Infinity : Number(to) + 1)
        headers['content-range'] = `bytes ${from}-${end - 1}/${bytes.length}`
        headers['access-control-expose-headers'] = 'content-range'
        bytes = bytes.subarray(Number(from), end)
        found.status = 206
      }
      const { status, type, bytes: body } = { bytes, ...found, ...spoil({ bytes, path }) }
      return new Response(body, { status, headers: { ...headers, 'content-type': type, 'cache-control': 'no-cache' } })
    }

    async function start (answer) {
      const host = await startHost(answer)
      started.push(host)
      return { ...host, folder: host.url.slice(0, -1) + FOLDER }
    }

    /** The files at the start are right, so that a visitor gets the worker; all blobs are spoiled. */
    const spoilBlobs = spoil => answer => answer.path.startsWith('blobs/') ? spoil(answer) : {}

    const seen = () => browser.evaluate(lookAt).catch(() => ({}))
    const open = async (url, version) => {
      await browser.open(url)
      return eventually(seen, seen => seen.version === version)
    }

    const [own, only] = testsInTurn(2)
    for (const [what, spoil] of Object.entries(BAD)) {
      own(`comes from the one honest host when its own ${what}`, async () => {
        await cp(join(folder, 'copy'), join(folder, 'bad'), { recursive: true })
        const bad = await start(hostOf(join(folder, 'bad'), spoilBlobs(spoil)))
        await publish('new', 'bad', honest.folder)
        const { picture } = await open(bad.folder, 'new')
        expect(picture).to.deep.equal([80, 60])
        expect(await browser.evaluate(filmOf)).to.deep.equal([200, FILM.length, await sha256(FILM)])
      })

      only(`names its own host, which ${what}, when no other has right bytes`, async () => {
        const bad = await start(hostOf(join(folder, 'copy'), spoilBlobs(spoil)))
        await browser.open(bad.folder)
        const { text } = await eventually(seen, ({ text = '' }) => text.includes('could not be installed'))
        expect(text).to.include(`${new URL(bad.url).origin} has sent files that could not be verified`)
      })
    }

    it('comes from the one honest host when its own has only an old version', async () => {
      await cp(join(folder, 'old-site'), join(folder, 'stale'), { recursive: true })
      await publish('new', 'for-scripts', honest.folder)
      // The worker is new, as from a cache in front of the host, and the files are old.
      for (const name of ['sw.js', 'index.html']) {
        await cp(join(folder, 'for-scripts', name), join(folder, 'stale', name))
      }
      const stale = await start(hostOf(join(folder, 'stale')))
      expect((await open(stale.folder, 'new')).picture).to.deep.equal([80, 60])
      expect(await browser.evaluate(filmOf)).to.deep.equal([200, FILM.length, await sha256(FILM)])
    })

    it('comes from the one honest host when another has old files under new names', async () => {
      await cp(join(folder, 'copy'), join(folder, 'bad'), { recursive: true })
      const old = await readFile(join(folder, 'old', 'film.bin'))
      const isFilm = ({ bytes, path }) => path.startsWith('blobs/') && bytes.length > 100_000
      const liar = await start(hostOf(join(folder, 'copy'), answer => isFilm(answer) ? { bytes: old } : {}))
      await publish('new', 'bad', liar.folder, honest.folder)
      const own = await start(hostOf(join(folder, 'bad'), spoilBlobs(() => ({ status: 404, bytes: null }))))
      await open(own.folder, 'new')
      expect(await browser.evaluate(filmOf)).to.deep.equal([200, FILM.length, await sha256(FILM)])
    })

    it('takes the place of another worker when its pages are closed, and is not loaded again and again', async () => {
      const page = '<!doctype html><script>navigator.serviceWorker.register("sw.js")</script>'
      const before = { 'index.html': page, 'sw.js': 'addEventListener("activate", () => clients.claim())' }
      let isOld = true
      const loaded = []
      const host = await start(hostOf(join(folder, 'copy'), ({ path }) => {
        loaded.push(path)
        return isOld ? { bytes: new TextEncoder().encode(before[path]) } : {}
      }))
      await browser.open(host.folder)
      await eventually(() => browser.evaluate(hasController), isControlled => isControlled)
      isOld = false
      loaded.length = 0
      await browser.open(host.folder)
      await eventually(seen, ({ text = '' }) => text.includes('Close all pages'))
      expect(loaded.filter(path => path === 'index.html')).to.have.length(1)
      await eventually(() => browser.evaluate(isNextWaiting), isWaiting => isWaiting)
      await browser.open('about:blank')
      await open(host.folder, 'new')
    })

    it('shows a page deep in the folder to a new visitor, and says when a file is nowhere', async () => {
      const { picture } = await open(`${honest.folder}guide/`, 'guide')
      expect(picture).to.deep.equal([80, 60])
      expect(await browser.evaluate(statusOf, '../none')).to.equal(404)
      expect((await open(`${honest.folder}guide`, 'guide')).url).to.equal(`${honest.folder}guide/`)
    })
  })
}

async function sha256 (bytes) {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
}

// The functions below run in the page.

async function lookAt () {
  const { document, version } = globalThis
  const image = document.querySelector('img')
  await image?.decode()
  const picture = image && [image.naturalWidth, image.naturalHeight]
  return { url: globalThis.location.href, version, picture, text: document.body?.innerText }
}

const hasController = () => navigator.serviceWorker.controller !== null

const isNextWaiting = async () => (await navigator.serviceWorker.getRegistration()).waiting !== null

async function filmOf () {
  const response = await fetch('film.bin')
  const bytes = await response.arrayBuffer()
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return [response.status, bytes.byteLength, Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join('')]
}

const statusOf = async path => (await fetch(path)).status
