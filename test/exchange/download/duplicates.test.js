// Downloads into a store from mirrors that servers name with `Link: <...>; rel=duplicate`.
import { expect } from 'chai'
import { base16 } from 'multiformats/bases/base16'
import { createOutboardSync } from '../../../encoder/index.js'
import { mirrorOf } from '../../../verifier/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { endings, endpoint, fetchOf } from '../../support/servers.js'
import { inMemory } from '../../support/store/stores.js'
import { download } from '../../../exchange/download/index.js'

const content = noise(3_000_000, 372)
const { cid, root } = createOutboardSync(content)

/** Does work with empty stores in memory. */
async function withStores (count, work) {
  const places = await Promise.all(Array.from({ length: count }, inMemory))
  try {
    return await work(...await Promise.all(places.map(place => place.open())))
  } finally {
    for (const place of places) await place.remove()
  }
}

const linked = (answer, ...links) => async request => {
  const response = await answer(request)
  const headers = new Headers(response.headers)
  headers.set('link', links.map(url => `<${url}>; rel=duplicate`).join())
  return new Response(response.body, { status: response.status, headers })
}

describe('a download from duplicates that a server names', () => {
  for (const [title, path] of [
    ['an endpoint', name => `blobs/${name}`],
    ['a plain file', (_, hex) => `plain/${hex}`]
  ]) {
    it(`goes on there when the server, ${title}, fails`, () => withStores(3, async (here, first, second) => {
      const hex = base16.baseEncode(root)
      await first.put(content)
      await second.put(content)
      let answers = 0
      const handlers = {
        'first.example': createHandler(first, { mirrors: ['https://second.example/'] }),
        'second.example': createHandler(second)
      }
      const asked = new Set()
      const fetch = async (input, init) => {
        const url = new URL(input)
        asked.add(url.host)
        if (url.host === 'first.example' && ++answers > 4) throw new TypeError('fetch failed')
        const isPlain = url.pathname.startsWith('/plain/')
        if (isPlain) url.search = ''
        return handlers[url.host](new Request(`${url}`.replace('/plain/', '/'), init))
      }
      const from = [mirrorOf(`https://first.example/${path(cid, hex)}`, { fetch })]
      const { complete, mirrors } = await download(here, cid, { from })
      expect(complete).to.equal(true)
      expect(mirrors.map(({ location }) => location).sort())
        .to.deep.equal([`https://first.example/${path(cid, hex)}`, `https://second.example/${hex}`].sort())
      expect([...asked].sort()).to.deep.equal(['first.example', 'second.example'])
      expect(same(await here.bytes(cid), content)).to.equal(true)
    }))
  }

  it('uses at most `maxDuplicates` of them, and none that they name themselves', () => withStores(1, async store => {
    for (const [maxDuplicates, expected] of [[undefined, 4], [2, 2], [0, 0]]) {
      const names = Array.from({ length: 6 }, (_, i) => `https://d${i}.example/blob`)
      const broken = endpoint(content, { ending: endings.flip(40) })
      const fetch = fetchOf(Object.fromEntries(names.map(name => [name, linked(broken, 'https://far.example/blob')])))
      const main = fetchOf({ 'https://main.example/blob': linked(broken, ...names) })
      const both = (url, init) => new URL(url).host === 'main.example' ? main(url, init) : fetch(url, init)
      const from = [mirrorOf('https://main.example/blob', { fetch: both })]
      const options = { from, retries: 0, ...maxDuplicates !== undefined && { maxDuplicates } }
      const error = await errorOf(download(store, cid, options))
      expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
      expect(error.cause.errors).to.have.length(1 + expected)
      expect(fetch.requests.some(({ url }) => url.includes('far'))).to.equal(false)
    }
    expect(await errorOf(download(store, cid, { from: [], maxDuplicates: 1.5 }))).to.be.instanceOf(RangeError)
  }))

  it('uses none for a sequence, because the URL has one blob only', () => withStores(2, async (here, there) => {
    const sequence = await there.put(root)
    await there.put(content)
    const handler = createHandler(there, { mirrors: ['https://second.example/'] })
    const asked = new Set()
    const fetch = async (input, init) => {
      asked.add(new URL(input).host)
      return handler(new Request(input, init))
    }
    const from = [mirrorOf('https://first.example/blobs/{cid}', { fetch })]
    const { mirrors } = await download(here, sequence.cid, { from, recursive: true })
    expect(mirrors).to.have.length(1)
    expect([...asked]).to.deep.equal(['first.example'])
  }))
})
