// Findings about a server are used for the next requests to it, for some minutes. The servers are functions that
// replace `fetch`, and the clock is fake.
import { expect } from 'chai'
import { ChunkRanges } from '../../../../lib/index.js'
import { createOutboardSync } from '../../../../encoder/index.js'
import { KnownServers } from '../../../../verifier/mirrors/server/known-servers.js'
import { UrlMirror } from '../../../../verifier/mirrors/server/url-mirror.js'
import { same } from '../../../support/bytes.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endpoint, fetchOf, file, status } from '../../../support/servers.js'

const MINUTE = 60_000
const ORIGIN = 'https://known.example'
const content = noise(100_000, 176)
const { root, bytes: pairs } = createOutboardSync(content)
const members = new Uint8Array([1, 2, 3])
const { signal } = new AbortController()

/** A server with a fake clock. `ask` asks for members, and returns the result and whether a request was sent. */
function serving (answer) {
  let now = 0
  const known = new KnownServers({ now: () => now })
  const fetch = fetchOf({ [`${ORIGIN}/a`]: answer, [`${ORIGIN}/b`]: answer })
  return {
    pass: ms => { now += ms },
    async ask (path, headers) {
      fetch.requests.length = 0
      const mirror = new UrlMirror(ORIGIN + path, { fetch, headers }, known)
      const bytes = await collect(mirror.members([0], signal))
      return { isAsked: fetch.requests.length > 0, bytes }
    }
  }
}

const refusing = {
  'another type': () => new Response(members),
  'status 400': status(400),
  'status 406': status(406)
}
const good = () => new Response(members, { headers: { 'content-type': 'application/vnd.bao-members; group-log=4' } })

describe('a server that does not know requests for many members', () => {
  for (const [title, answer] of Object.entries(refusing)) {
    it(`gets no more of them for some minutes after ${title}, and then again`, async () => {
      const server = serving(answer)
      expect((await server.ask('/a')).isAsked).to.equal(true)
      for (const path of ['/a', '/b']) expect((await server.ask(path)).isAsked).to.equal(false)
      server.pass(4 * MINUTE)
      expect((await server.ask('/a')).isAsked).to.equal(false)
      server.pass(7 * MINUTE)
      expect((await server.ask('/b')).isAsked).to.equal(true)
    })
  }

  it('gets one with other headers, for which it may know them', async () => {
    const server = serving(request => request.headers.get('x-key') === '2' ? good() : status(400)())
    for (const headers of [undefined, { 'x-key': '1' }]) {
      expect((await server.ask('/a', headers)).isAsked).to.equal(true)
      expect((await server.ask('/a', headers)).isAsked).to.equal(false)
    }
    for (const headers of [{ 'x-key': '2' }, new Headers([['X-Key', '2']])]) {
      const { isAsked, bytes } = await server.ask('/b', headers)
      expect(isAsked).to.equal(true)
      expect(bytes).to.deep.equal(members)
    }
    expect((await server.ask('/b', [['x-key', '1']])).isAsked).to.equal(false)
  })
})

describe('a server that refuses a request for many members', () => {
  for (const code of [401, 403, 404, 407]) {
    it(`with status ${code} may know such requests, and is asked again`, async () => {
      let isOpen = false
      const server = serving(() => isOpen ? good() : status(code)())
      expect(await server.ask('/a')).to.deep.equal({ isAsked: true, bytes: new Uint8Array() })
      isOpen = true
      expect(await server.ask('/a')).to.deep.equal({ isAsked: true, bytes: members })
    })
  }
})

describe('the way in which a server gives its blobs', () => {
  const slice = (known, fetch, headers, path = '/a') => {
    const mirror = new UrlMirror(ORIGIN + path, { fetch, headers }, known)
    return collect(mirror.slice({ root, ranges: ChunkRanges.all, groupLog: 4 }, signal))
  }
  const isForSlice = ({ url }) => url.includes('format=bao-slice')

  it('is known for some minutes, for the same headers', async () => {
    let now = 0
    const known = new KnownServers({ now: () => now })
    const fetch = fetchOf({ [`${ORIGIN}/a`]: file(content), [`${ORIGIN}/a.obao4`]: file(pairs) })
    for (const [headers, ms, isTried] of [
      [undefined, 0, true], [undefined, 0, false], [{ 'x-key': '1' }, 0, true], [undefined, 11 * MINUTE, true]
    ]) {
      now += ms
      fetch.requests.length = 0
      await slice(known, fetch, headers)
      expect(fetch.requests.some(isForSlice)).to.equal(isTried)
    }
  })

  it('is not known from an answer that asks for credentials', async () => {
    for (const code of [401, 403]) {
      let isOpen = false
      const answer = endpoint(content)
      const fetch = fetchOf({ [`${ORIGIN}/a`]: request => isOpen ? answer(request) : status(code)() })
      const mirror = new UrlMirror(`${ORIGIN}/a`, { fetch }, new KnownServers())
      const ask = () => collect(mirror.slice({ root, ranges: ChunkRanges.all, groupLog: 4 }, signal))
      expect(await errorOf(ask())).to.include({ code: 'FETCH_STATUS', status: code })
      isOpen = true
      const bytes = await ask()
      expect(fetch.requests.at(-1).url).to.include('format=bao-slice')
      expect(same(bytes.subarray(-10), content.subarray(-10))).to.equal(true)
    }
  })
})
