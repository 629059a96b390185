// The options of a service worker, and which requests it answers. test/browser/driven has the rest, in browsers.
import { expect } from 'chai'
import { serveVerified } from '../../../exchange/service-worker/index.js'

const SITE = 'bafkr4ibmpxntjxvhfyy54xa3utuxlyk6kl5jbo6mgvgeirzrrc2gtnvrxe'
const SCOPE = 'https://host.test/some/folder/'
const FROM = ['https://mirror.test/{cid}']

describe('serveVerified', () => {
  const given = {}
  let listeners

  beforeEach(() => {
    listeners = {}
    for (const [name, value] of Object.entries({
      registration: { scope: SCOPE },
      caches: {},
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
