// Measures how long a visitor waits for the first picture of a site: published and verified in a service worker, and as
// plain files.
//
// A page has a picture of 200 KiB. Chromium opens it from a static host on this machine, over loopback, and over a
// line with 40 ms for each answer and 5 MB/s. Cold: with a new profile. Warm: again, in a browser that has been on the
// site before; the worker is still there, or the browser has stopped it. Hosts compress scripts and pages with gzip.
// Browsers may keep a plain picture without asking for a day, so its host answers no second request for it.

import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { ENGINES, prepare } from '../test/browser/engines/index.js'
import { startHost } from '../test/browser/driven/hosts.js'
import { writeServiceWorker } from '../test/support/service-worker-file.js'
import { KiB, randomBytes } from './support/inputs.js'
import { flags, report } from './support/run.js'
import { inFolder } from './support/stores.js'

const PROGRAM = fileURLToPath(new URL('../bin/baobox.js', import.meta.url))
const ROUNDS = flags.quick ? 1 : 7
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', bmp: 'image/bmp' }
const LINES = {
  loopback: { ms: 0, bytesPerMs: Infinity },
  '40 ms, 5 MB/s': { ms: 40, bytesPerMs: 5000 }
}
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>A picture</title>
<img src="picture.bmp"><script type="module">
await document.querySelector('img').decode()
globalThis.seenAt = performance.timeOrigin + performance.now()</script>`

const { found, reason } = prepare(ENGINES.chromium, false)
if (found === undefined) {
  console.log(`NOT RUN: ${reason}`)
  process.exit()
}
await writeServiceWorker()
await inFolder(async folder => {
  await mkdir(`${folder}/plain`)
  await writeFile(`${folder}/plain/index.html`, PAGE)
  await writeFile(`${folder}/plain/picture.bmp`, pictureOf(256, 256))
  await promisify(execFile)(process.execPath, [PROGRAM, 'publish', `${folder}/plain`, '--out', `${folder}/site`])
  const results = []
  for (const [line, terms] of Object.entries(LINES)) {
    const samples = { cold: {}, 'warm, worker stopped': {}, warm: {} }
    for (const name of ['site', 'plain']) {
      for (let round = 0; round < ROUNDS; round++) {
        const times = await visits(`${folder}/${name}`, terms)
        const shown = name === 'site' ? 'published, verified' : 'plain files'
        for (const [when, ns] of Object.entries(times)) (samples[when][shown] ??= []).push(ns)
      }
    }
    for (const [when, each] of Object.entries(samples)) {
      results.push({ name: `${line}: ${when}`, bytes: 192 * KiB, unit: 'time', samples: each })
    }
  }
  report('first-picture', 'from opening a site to its first picture', results)
})

/** A picture that cannot be compressed. Source: "Bitmap Storage", BITMAPINFOHEADER. */
function pictureOf (width, height) {
  const bytes = new Uint8Array(54 + 3 * width * height)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, 0x424d)
  view.setUint32(2, bytes.length, true)
  view.setUint32(10, 54, true)
  view.setUint32(14, 40, true)
  view.setInt32(18, width, true)
  view.setInt32(22, height, true)
  view.setUint16(26, 1, true)
  view.setUint16(28, 24, true)
  bytes.set(randomBytes(bytes.length - 54), 54)
  return bytes
}

/** A static host of a folder. */
function hostOf (root, { ms, bytesPerMs }) {
  return async request => {
    const path = new URL(request.url).pathname.slice(1) || 'index.html'
    let bytes = await readFile(`${root}/${path}`).catch(() => undefined)
    await pause(ms)
    if (bytes === undefined) return new Response('', { status: 404 })
    const ending = path.split('.').pop()
    const isText = ['html', 'js'].includes(ending)
    if (isText) bytes = gzipSync(bytes)
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get('range') ?? '') ?? []
    const size = bytes.length
    const headers = {
      'content-type': TYPES[ending] ?? 'application/octet-stream',
      'cache-control': isText ? 'no-cache' : 'max-age=86400',
      ...isText && { 'content-encoding': 'gzip' }
    }
    const isPart = from !== undefined && Number(from) < size
    const end = isPart && to !== '' ? Math.min(size, Number(to) + 1) : size
    if (isPart) headers['content-range'] = `bytes ${from}-${end - 1}/${size}`
    const part = bytes.subarray(isPart ? Number(from) : 0, end)
    await pause(part.length / bytesPerMs)
    return new Response(part, { status: isPart ? 206 : 200, headers })
  }
}

/** Opens a site three times, in a new browser. @returns nanoseconds of each */
async function visits (root, terms) {
  const host = await startHost(hostOf(root, terms))
  const browser = await ENGINES.chromium.start(found, () => {})
  try {
    await browser.open('about:blank') // so that starting the browser does not count
    const cold = await visit(browser, host.url)
    await pause(1000) // browsers look for a new version of the worker after a visit
    await browser.open('about:blank')
    await browser.stopWorkers()
    const stopped = await visit(browser, host.url)
    await pause(1000)
    await browser.open('about:blank')
    const warm = await visit(browser, host.url)
    return { cold, 'warm, worker stopped': stopped, warm }
  } finally {
    await browser.close()
    host.close()
  }
}

/** Opens a page, and waits until its picture is there. */
async function visit (browser, url) {
  const began = performance.timeOrigin + performance.now()
  await browser.open(url)
  while (true) {
    const seenAt = await browser.evaluate(() => globalThis.seenAt).catch(() => undefined)
    if (seenAt !== undefined) return (seenAt - began) * 1e6
    await pause(20)
  }
}
