// The options of a service worker, and which requests it answers. test/browser/driven has the rest, in browsers.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { mirrorOf } from '../../../verifier/index.js'
import { putCollection } from '../../../exchange/collections/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { serveVerified } from '../../../exchange/service-worker/index.js'
import { noise } from '../../support/inputs.js'
import { newStores } from '../../support/store/stores.js'

const SITE = 'bafkr4ibmpxntjxvhfyy54xa3utuxlyk6kl5jbo6mgvgeirzrrc2gtnvrxe'
const SCOPE = 'https://host.test/some/folder/'
const FROM = ['https://mirror.test/{cid}']

/** A Cache Storage in which nothing is kept. */
const CACHES = { open: async () => ({ keys: async () => [] }) }
/** A browser in which the store of a worker is in memory. */
const NAVIGATOR = { storage: { estimate: async () => { throw new Error('there is no storage') } } }

describe('serveVerified', () => {
  const newStore = newStores()
  const given = {}
  let listeners

  beforeEach(() => {
    listeners = {}
    for (const [name, value] of Object.entries({
      registration: { scope: SCOPE },
      caches: CACHES,
      navigator: NAVIGATOR,
      addEventListener: (type, listener) => { listeners[type] = listener }
    })) {
      given[name] = Object.getOwnPropertyDescriptor(globalThis, name)
      Object.defineProperty(globalThis, name, { value, configurable: true })
    }
  })
  afterEach(() => {
    for (const [name, property] of Object.entries(given)) {
      delete globalThis[name]
      if (property !== undefined) Object.defineProperty(globalThis, name, property)
    }
  })

  /** True if the worker answers a request for a URL. */
  function answers (url) {
    let isAnswered = false
    listeners.fetch({ request: new Request(url), respondWith () { isAnswered = true } })
    return isAnswered
  }

  for (const scope of [undefined, SCOPE, '/some/folder/', '/some/folder', './', new URL(SCOPE)]) {
    it(`answers only what is below its scope, given as ${scope}`, () => {
      serveVerified({ site: SITE, from: FROM, ...scope !== undefined && { scope } })
      expect(Object.keys(listeners).sort()).to.deep.equal(['activate', 'fetch', 'install'])
      for (const url of [
        'https://host.test/some/other/', 'https://host.test/some/folder', 'https://host.test/',
        'https://other.test/some/folder/', 'http://host.test/some/folder/'
      ]) expect(answers(url), url).to.equal(false)
    })
  }

  it('makes space for all requests that have failed together because the browser stores no more', async () => {
    const { store: origin } = await newStore()
    const { cid: film } = await origin.put(noise(50_000, 71))
    const { cid: site } = await putCollection(origin, [['film.mp4', film], ['other.mp4', film]])
    const handler = createHandler(origin)
    const mirror = mirrorOf(FROM[0], { fetch: async (url, init) => handler(new Request(url, init)) })
    const statuses = []
    const onEvent = ({ type, status }) => { if (type === 'request') statuses.push(status) }
    serveVerified({ site, from: [mirror], onEvent })
    const ask = path => new Promise((resolve, reject) => listeners.fetch({
      request: new Request(SCOPE + path),
      respondWith: answer => answer
        .then(async response => [response.status, (await response.arrayBuffer()).byteLength]).then(resolve, reject)
    }))
    expect((await ask('none'))[0]).to.equal(404) // The names are there now.
    const { _batch: write } = MemoryLevel.prototype
    let isFull = true
    MemoryLevel.prototype._batch = async function (operations, options) {
      if (operations.some(({ type }) => type === 'del')) isFull = false
      const isLong = operations.some(({ value }) => value?.length > 10_000)
      if (isFull && isLong) throw new DOMException('full', 'QuotaExceededError')
      return write.call(this, operations, options)
    }
    try {
      const answers = await Promise.all(['film.mp4', 'other.mp4', 'film.mp4'].map(ask))
      expect(answers).to.deep.equal(answers.map(() => [200, 50_000]))
      expect(statuses.filter(status => status === 507)).to.have.length(3)
    } finally {
      MemoryLevel.prototype._batch = write
    }
  })

  it('refuses wrong options', () => {
    for (const [options, message] of [
      [{ site: SITE }, '"from"'], [{ site: SITE, from: FROM[0] }, '"from"'], [{ site: SITE, from: [5] }, '"from"'],
      [{ site: SITE, from: FROM, quota: -1 }, '"quota"'], [{ site: SITE, from: FROM, onEvent: 1 }, '"onEvent"'],
      [{ site: SITE, from: FROM, mirrors: [] }, 'mirrors'], [{ from: FROM }, 'site'],
      [{ site: SITE, from: FROM, scope: 'http://[' }, '"scope"'], [{ site: SITE, from: FROM, scope: '/?x' }, '"scope"'],
      [{ site: SITE, from: FROM, scope: 'https://other.test/some/folder/' }, '"scope"'],
      [{ site: { cid: SITE, index: 'a/b' }, from: FROM }, '"site.index"'],
      [{ site: { cid: SITE, listing: 1 }, from: FROM }, '"site.listing"'],
      [{ site: { cid: SITE, unknown: 1 }, from: FROM }, 'unknown'], [undefined, '"options"']
    ]) expect(() => serveVerified(options), message).to.throw(Error, message)
    expect(listeners).to.deep.equal({})
  })
})
