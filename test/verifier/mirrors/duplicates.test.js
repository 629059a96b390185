// Mirrors that servers name with `Link: <...>; rel=duplicate`. The servers are functions that replace `fetch`.
import { expect } from 'chai'
import { createOutboardSync } from '../../../encoder/index.js'
import { fetchVerified } from '../../../verifier/index.js'
import { same } from '../../support/bytes.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { endings, endpoint, fetchOf, file, status } from '../../support/servers.js'

const content = noise(300_000, 172)
const { cid, bytes: pairs } = createOutboardSync(content)
const BREAKS = { ending: endings.reset(100_000) }

let servers = 0
const origin = () => `https://${++servers}.duplicates.example`

/** The same answers with a header. */
const linked = (answer, ...links) => async request => {
  const response = await answer(request)
  const headers = new Headers(response.headers)
  headers.set('link', links.map((url, i) => `<${url}>; rel=duplicate; pri=${i + 1}`).join(', '))
  return new Response(response.body, { status: response.status, headers })
}

async function bytesOf (url, options) {
  const response = await fetchVerified(url, { cid, retries: 0, ...options })
  return collect(response.body) // the arrayBuffer() of WebKitGTK has another error
}

/** The origins that were asked, each once. */
const asked = fetch => [...new Set(fetch.requests.map(({ url }) => new URL(url).origin))]

describe('a duplicate that a server names', () => {
  for (const [title, broken] of [
    ['an endpoint', { '/movie': endpoint(content, BREAKS) }],
    ['a plain server', { '/movie': file(content, { ending: endings.flip(70_000) }), '/movie.obao4': file(pairs) }]
  ]) {
    it(`continues where ${title} fails`, async () => {
      const [a, b] = [origin(), origin()]
      const routes = Object.entries(broken).map(([path, answer]) => [a + path, linked(answer, `${b}/copy`)])
      const fetch = fetchOf({ ...Object.fromEntries(routes), [`${b}/copy`]: endpoint(content) })
      expect(same(await bytesOf(`${a}/movie`, { fetch }), content)).to.equal(true)
      expect(asked(fetch)).to.deep.equal([a, b])
    })
  }

  it('is not asked while the mirrors of the caller answer', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = fetchOf({ [`${a}/movie`]: linked(endpoint(content), `${b}/copy`) })
    expect(same(await bytesOf(`${a}/movie`, { fetch }), content)).to.equal(true)
    expect(asked(fetch)).to.deep.equal([a])
  })

  it('gets no header of the caller and no cookies on another origin', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = fetchOf({
      [`${a}/movie`]: linked(endpoint(content, BREAKS), `${a}/again`, `${b}/copy`),
      [`${a}/again`]: endpoint(content, BREAKS),
      [`${b}/copy`]: endpoint(content)
    })
    const sent = []
    const spy = (url, init) => {
      sent.push({ origin: new URL(url).origin, init })
      return fetch(url, init)
    }
    const request = new Request(`${a}/movie`, { headers: { 'x-key': '1' }, credentials: 'include' })
    const options = { fetch: spy, headers: { authorization: 'Bearer 1' } }
    expect(same(await bytesOf(request, options), content)).to.equal(true)
    expect(sent.map(({ origin }) => origin)).to.include.members([a, b])
    for (const { origin, init } of sent) {
      const isOwn = origin === a
      expect(init.headers.get('x-key'), origin).to.equal(isOwn ? '1' : null)
      expect(init.headers.get('authorization'), origin).to.equal(isOwn ? 'Bearer 1' : null)
      if ('credentials' in Request.prototype) expect(init.credentials).to.equal(isOwn ? 'include' : 'omit')
    }
  })

  it('names no others, so no chain and no loop of servers is followed', async () => {
    const [a, b, c] = [origin(), origin(), origin()]
    const broken = endpoint(content, BREAKS)
    const fetch = fetchOf({
      [`${a}/movie`]: linked(broken, `${b}/movie`, `${a}/movie`),
      [`${b}/movie`]: linked(broken, `${a}/movie`, `${c}/movie`),
      [`${c}/movie`]: endpoint(content)
    })
    expect(await errorOf(bytesOf(`${a}/movie`, { fetch }))).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(asked(fetch)).to.deep.equal([a, b])
    expect(fetch.requests).to.have.length(2)
  })

  it('is one of at most four, or of as many as the caller allows, even if each answer names others', async () => {
    for (const [maxDuplicates, expected] of [[undefined, 4], [0, 0], [1, 1], [7, 7]]) {
      const a = origin()
      let count = 0
      const endless = request => linked(status(503), ...Array.from({ length: 9 }, () => `${origin()}/x`))(request)
      const answer = request => ++count === 1
        ? linked(endpoint(content, BREAKS), ...Array.from({ length: 9 }, () => `${origin()}/x`))(request)
        : endless(request)
      const fetch = fetchOf({ [`${a}/movie`]: answer })
      const options = { fetch, retries: 1, ...maxDuplicates !== undefined && { maxDuplicates } }
      expect(await errorOf(bytesOf(`${a}/movie`, options))).to.have.property('code')
      expect(asked(fetch).length - 1, `${maxDuplicates}`).to.equal(expected)
    }
    expect(await errorOf(bytesOf('https://a.example/', { maxDuplicates: -1 }))).to.be.instanceOf(RangeError)
  })

  it('that lies is dropped, and the next one continues', async () => {
    const [a, b, c] = [origin(), origin(), origin()]
    const fetch = fetchOf({
      [`${a}/movie`]: linked(endpoint(content, BREAKS), `${b}/copy`, `${c}/copy`),
      [`${b}/copy`]: endpoint(content, { ending: endings.flip(150_000) }),
      [`${c}/copy`]: endpoint(content)
    })
    expect(same(await bytesOf(`${a}/movie`, { fetch }), content)).to.equal(true)
    expect(asked(fetch)).to.deep.equal([a, b, c])
  })

  it('is not added if the caller has given the same mirror', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = fetchOf({ [`${a}/movie`]: linked(endpoint(content, BREAKS), `${b}/movie?again`) })
    const error = await errorOf(bytesOf(`${a}/movie`, { fetch, from: [`${b}/movie`] }))
    expect(error.cause.errors.map(({ location }) => location)).to.deep.equal([`${a}/movie`, `${b}/movie`])
  })
})

describe('the headers of a Request', () => {
  it('are not sent to the other mirrors', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = fetchOf({ [`${a}/movie`]: endpoint(content, BREAKS), [`${b}/movie`]: endpoint(content) })
    const request = new Request(`${a}/movie`, { headers: { 'x-key': '1' } })
    const options = { fetch, from: [`${b}/movie`], headers: { 'x-all': '2' } }
    expect(same(await bytesOf(request, options), content)).to.equal(true)
    for (const { url, headers } of fetch.requests) {
      expect(headers.get('x-key')).to.equal(url.startsWith(a) ? '1' : null)
      expect(headers.get('x-all')).to.equal('2')
    }
  })
})
