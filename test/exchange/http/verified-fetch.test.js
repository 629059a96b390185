// A fetch whose answers are verified files. Nothing goes over a network: the mirrors are handlers and functions.
import { expect } from 'chai'
import { BaoError, hash, toCid } from '../../../lib/index.js'
import { mirrorOf } from '../../../verifier/index.js'
import { Manifest, putCollection, putManifest } from '../../../exchange/collections/index.js'
import { fromMirrors } from '../../../exchange/download/index.js'
import { createHandler, createVerifiedFetch } from '../../../exchange/http/index.js'
import { flipped, same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { ALL_KERNELS } from '../../support/kernels.js'
import { newStores } from '../../support/store/stores.js'
import { withTimeoutsHeld } from '../../support/timers.js'

const MIB = 1 << 20
const PIECE_LEN = 1 << 16
const BASE = 'https://site.test/some/folder/'
const FILM = noise(3 * MIB + 7, 90)
const MODULE = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00)
const FILES = {
  'index.html': new TextEncoder().encode('<!doctype html><p>Hello'),
  'docs/index.html': new TextEncoder().encode('docs'),
  'film.mp4': FILM,
  'module.wasm': MODULE
}

describe('a verified fetch', () => {
  const newStore = newStores()

  /** A store with a site, and a handler over it. */
  async function origin () {
    const { store } = await newStore()
    const entries = []
    for (const [name, bytes] of Object.entries(FILES)) entries.push([name, (await store.put(bytes)).cid])
    return { site: (await putCollection(store, entries)).cid, handler: createHandler(store) }
  }

  /** A mirror that asks a function. `spoil` may change the bytes of each answer. */
  const mirrorTo = (handler, name, spoil = bytes => bytes) => mirrorOf(`https://${name}.test/{cid}`, {
    fetch: async (url, init) => {
      const response = await handler(new Request(url, init))
      return new Response(inPieces(spoil(new Uint8Array(await response.arrayBuffer()))), response)
    }
  })

  /** A verified fetch of the site, from mirrors. */
  async function fetchOf ({ spoils = [undefined], ...options } = {}) {
    const { site, handler } = await origin()
    const mirrors = spoils.map((spoil, i) => mirrorTo(handler, `mirror-${i}`, spoil))
    const { store } = await newStore({ supply: fromMirrors(mirrors) })
    return createVerifiedFetch({ store, site, base: BASE, ...options })
  }

  const inPieces = bytes => new ReadableStream({
    start (controller) {
      for (let at = 0; at < bytes.length; at += PIECE_LEN) controller.enqueue(bytes.slice(at, at + PIECE_LEN))
      controller.close()
    }
  })

  const bytesOf = async response => new Uint8Array(await response.arrayBuffer())

  it('answers with the files of a site and with blobs, by a string, a URL or a Request', async () => {
    const verifiedFetch = await fetchOf()
    for (const [path, bytes, type] of [
      ['', FILES['index.html'], 'text/html; charset=utf-8'],
      ['docs/', FILES['docs/index.html'], 'text/html; charset=utf-8'],
      ['film.mp4?start=1#end', FILM, 'video/mp4'],
      [`blobs/${toCid(hash(FILM))}`, FILM, 'application/octet-stream']
    ]) {
      for (const input of [BASE + path, new URL(BASE + path), new Request(BASE + path)]) {
        const response = await verifiedFetch(input)
        expect([response.status, response.headers.get('content-type')], path).to.deep.equal([200, type])
        expect(response.headers.get('etag')).to.equal(`"${toCid(hash(bytes))}"`)
        expect(same(await bytesOf(response), bytes)).to.equal(true)
      }
    }
    expect((await verifiedFetch(`${BASE}none`)).status).to.equal(404)
    expect((await verifiedFetch(`${BASE}film.mp4`, { method: 'PUT', body: 'x' })).status).to.equal(405)
  })

  it('answers ranges, conditions and HEAD', async () => {
    const verifiedFetch = await fetchOf()
    const url = `${BASE}film.mp4`
    const part = await verifiedFetch(url, { headers: { range: `bytes=${2 * MIB}-${2 * MIB + 9}` } })
    expect([part.status, part.headers.get('content-range')])
      .to.deep.equal([206, `bytes ${2 * MIB}-${2 * MIB + 9}/${FILM.length}`])
    expect(await bytesOf(part)).to.deep.equal(FILM.slice(2 * MIB, 2 * MIB + 10))
    const known = await verifiedFetch(url, { headers: { 'if-none-match': part.headers.get('etag') } })
    expect(known.status).to.equal(304)
    const head = await verifiedFetch(new Request(url, { method: 'HEAD' }))
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, `${FILM.length}`])
  })

  it('undoes the encodings of files, as fetch does', async () => {
    const { store } = await newStore()
    const entries = []
    for (const [path, encoding, format] of [
      ['/a.bin', 'gzip', 'gzip'], ['/b.bin', 'X-GZIP', 'gzip'], ['/c.bin', 'deflate', 'deflate']
    ]) {
      const packed = await bytesOf(new Response(new Blob([FILM]).stream().pipeThrough(new CompressionStream(format))))
      entries.push([path, { src: (await store.put(packed)).cid, 'content-encoding': encoding }])
    }
    entries.push(['/d.bin', { src: (await store.put(MODULE)).cid, 'content-encoding': 'constructor' }])
    const site = (await putManifest(store, Manifest.from(entries))).cid
    const verifiedFetch = createVerifiedFetch({ store, site, base: BASE })
    for (const name of ['a.bin', 'b.bin', 'c.bin']) {
      // The file is longer than its encoding. A range may begin between the two ends, or after both.
      for (const range of [undefined, 'bytes=0-99', `bytes=${8 * MIB}-`]) {
        const headers = range === undefined ? {} : { range }
        const response = await verifiedFetch(BASE + name, { headers })
        expect(response.status).to.equal(200)
        expect(same(await bytesOf(response), FILM), name).to.equal(true)
        expect(response.headers.get('content-length')).to.equal(null)
      }
      const head = await verifiedFetch(BASE + name, { method: 'HEAD' })
      expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, null])
      const known = await verifiedFetch(BASE + name, { headers: { 'if-none-match': head.headers.get('etag') } })
      expect(known.status).to.equal(304)
    }
    expect(same(await bytesOf(await verifiedFetch(`${BASE}d.bin`)), MODULE)).to.equal(true)
    expect((await verifiedFetch(`${BASE}d.bin`, { headers: { range: 'bytes=99-' } })).status).to.equal(416)
  })

  it('takes URLs of any length, with the state that pages keep in them', async () => {
    const verifiedFetch = await fetchOf()
    const state = 's'.repeat(100_000)
    for (const url of [`${BASE}#${state}`, `${BASE}?${state}`]) {
      for (const input of [url, new Request(url)]) expect((await verifiedFetch(input)).status).to.equal(200)
    }
    expect((await verifiedFetch(BASE + state)).status).to.equal(404)
  })

  it('finds relative URLs as the page does, whose <base> may name another folder', async function () {
    if (globalThis.document !== undefined) return this.skip() // The page of the tests has no such element.
    const verifiedFetch = await fetchOf({ fetch: async input => `not verified: ${input}` })
    globalThis.document = { baseURI: BASE }
    try {
      const head = await verifiedFetch('film.mp4', { method: 'HEAD' })
      expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, `${FILM.length}`])
      expect(await verifiedFetch('/film.mp4')).to.equal('not verified: /film.mp4')
    } finally {
      delete globalThis.document
    }
  })

  it('gives all other requests to the other fetch, as they are', async () => {
    const calls = []
    const verifiedFetch = await fetchOf({ fetch: async (...args) => calls.push(args) })
    const init = { method: 'POST' }
    for (const input of [
      'https://site.test/some/folder', 'https://site.test/some/', 'https://other.test/some/folder/film.mp4',
      'http://site.test/some/folder/film.mp4', new Request('https://other.test/'), 'data:,x', 'http://['
    ]) {
      await verifiedFetch(input, init)
      expect(calls.pop()).to.deep.equal([input, init])
    }
  })

  it('follows redirects, unless the request forbids that', async () => {
    const verifiedFetch = await fetchOf()
    const url = `${BASE}docs`
    const response = await verifiedFetch(url)
    expect([response.status, await response.text()]).to.deep.equal([200, 'docs'])
    const error = await errorOf(verifiedFetch(url, { redirect: 'error' }))
    expect(error).to.be.instanceOf(TypeError)
    const redirect = await verifiedFetch(url, { redirect: 'manual' })
    expect([redirect.status, redirect.headers.get('location')]).to.deep.equal([307, `${BASE}docs/`])
  })

  it('goes on at another mirror when one lies', async () => {
    const spoil = bytes => bytes.length > MIB ? flipped(bytes, MIB, 1) : bytes
    const verifiedFetch = await fetchOf({ spoils: [spoil, undefined] })
    expect(same(await bytesOf(await verifiedFetch(`${BASE}film.mp4`)), FILM)).to.equal(true)
  })

  it('fails in the middle of the body when no mirror has right bytes', async () => {
    const events = []
    let lies = false
    const verifiedFetch = await fetchOf({
      spoils: [bytes => {
        lies ||= bytes.length > 1.5 * MIB // the second part of the film
        return lies ? flipped(bytes, bytes.length - 1, 1) : bytes
      }],
      onRequest: event => events.push(event)
    })
    const response = await verifiedFetch(`${BASE}film.mp4`)
    expect(response.status).to.equal(200)
    // Methods such as `arrayBuffer` fail with a TypeError of their own in Chromium.
    const reader = response.body.getReader()
    const error = await errorOf(async () => { while (!(await reader.read()).done); })
    expect(error).to.be.instanceOf(BaoError).with.property('code', 'STORE_MISSING')
    expect(error.cause).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(error.cause.message).to.include('https://mirror-0.test')
    expect(events.map(({ outcome }) => outcome)).to.deep.equal(['failed'])
  })

  it('lets the program take its time with a body', async () => {
    const verifiedFetch = await fetchOf()
    await withTimeoutsHeld(60_000, async endTimeouts => {
      const reader = (await verifiedFetch(`${BASE}film.mp4`)).body.getReader()
      await reader.read()
      endTimeouts()
      expect((await reader.read()).value).to.be.instanceOf(Uint8Array)
      await reader.cancel()
    })
  })

  it('answers 502 when no mirror has the right first bytes, and 404 when none has the file', async () => {
    const lies = await fetchOf({ spoils: [bytes => flipped(bytes, bytes.length - 1, 1)] })
    const failed = await lies(`${BASE}film.mp4`)
    const { code, message } = await failed.json()
    expect([failed.status, code]).to.deep.equal([502, 'HTTP_SUPPLY_FAILED'])
    expect(message).to.match(/^no mirror is left: https:\/\/mirror-0\.test: /)
    const { site } = await origin()
    const empty = mirrorTo(async () => new Response('', { status: 404 }), 'empty')
    const { store } = await newStore({ supply: fromMirrors([empty]) })
    expect((await createVerifiedFetch({ store, site, base: BASE })(BASE)).status).to.equal(404)
  })

  it('rejects with the reason of a signal, before the answer and in its body', async () => {
    const verifiedFetch = await fetchOf()
    const reason = new Error('enough')
    expect(await errorOf(verifiedFetch(BASE, { signal: AbortSignal.abort(reason) }))).to.equal(reason)
    const abort = new AbortController()
    const asking = verifiedFetch(BASE, { signal: abort.signal })
    abort.abort(reason)
    expect(await errorOf(asking)).to.equal(reason)
    const later = new AbortController()
    const { body } = await verifiedFetch(`${BASE}film.mp4`, { signal: later.signal })
    const reader = body.getReader()
    await reader.read()
    later.abort(reason)
    expect(await errorOf(reader.closed)).to.equal(reason)
  })

  it('loads a module of WebAssembly while it arrives', async function () {
    if (!ALL_KERNELS.includes('simd-rows')) return this.skip() // the policy of a page may refuse modules
    const verifiedFetch = await fetchOf()
    const compiled = await WebAssembly.compileStreaming(verifiedFetch(`${BASE}module.wasm`))
    expect(compiled).to.be.instanceOf(WebAssembly.Module)
  })

  it('refuses a base that is not the URL of a folder, and options that it does not know', async () => {
    const { store } = await newStore()
    for (const base of [undefined, '/files', 'file:///x/', 'https://x.test/?a', 'https://x.test/#a', 5]) {
      expect(() => createVerifiedFetch({ store, base }), String(base)).to.throw(TypeError, '"base"')
    }
    expect(() => createVerifiedFetch({ store, base: BASE, from: [] })).to.throw(TypeError, 'from')
    expect(() => createVerifiedFetch({ store, base: BASE, fetch: 1 })).to.throw(TypeError, '"fetch"')
    expect(() => createVerifiedFetch({ base: BASE })).to.throw(TypeError)
    for (const options of [undefined, null, 'x']) {
      expect(() => createVerifiedFetch(options)).to.throw(TypeError, '"options" expected { store')
    }
    const { site } = await origin()
    for (const rules of [{ listing: 3 }, { sandbox: 'no' }]) {
      const [name] = Object.keys(rules)
      expect(() => createVerifiedFetch({ store, base: BASE, site: { cid: site, ...rules } }))
        .to.throw(TypeError, `"site.${name}" expected a boolean`)
    }
  })
})
