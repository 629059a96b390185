// Mirrors that redirect. The servers are real, because runtimes differ in what `fetch` shows of redirects.
import { createServer } from 'node:http'
import { expect } from 'chai'
import { createOutboardSync } from '../../../encoder/index.js'
import { fetchVerified } from '../../../verifier/index.js'
import { same } from '../../support/bytes.js'
import { errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'

const content = noise(200_000, 175)
const { cid, bytes: pairs } = createOutboardSync(content)

describe('a mirror that redirects', () => {
  const servers = []
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
    }
  })

  /** A server of some paths: bytes, or a redirect. It records the requests. */
  async function serving (paths, more = {}) {
    const seen = []
    const server = createServer((request, response) => {
      const { url, headers } = request
      seen.push({ url, headers })
      const found = paths[url.split('?')[0]]
      if (typeof found === 'string') return response.writeHead(302, { location: found }).end()
      response.writeHead(found === undefined ? 404 : 200, more).end(found)
    })
    servers.push(server)
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${server.address().port}`, seen }
  }

  const bytesOf = async (url, options) =>
    new Uint8Array(await (await fetchVerified(url, { cid, retries: 0, ...options })).arrayBuffer())

  it('is followed, also to another server, which gets no headers of the caller', async () => {
    const there = await serving({ '/there': content, '/there.obao4': pairs })
    const { url } = await serving({ '/blob': `${there.url}/there`, '/blob.obao4': `${there.url}/there.obao4` })
    const headers = { authorization: 'Bearer 1', 'x-api-key': '1' }
    expect(same(await bytesOf(`${url}/blob`, { headers }), content)).to.equal(true)
    expect(there.seen).to.not.have.length(0)
    for (const { headers } of there.seen) expect(headers).to.not.have.any.keys('authorization', 'x-api-key')
  })

  it('is followed, and its `Link` is relative to the URL that has answered', async () => {
    const more = { link: '<blob.proof>; rel=describedby; type="application/vnd.bao-outboard"' }
    const paths = { '/blob': '/deep/blob', '/deep/blob': content, '/deep/blob.proof': pairs }
    const { url, seen } = await serving(paths, more)
    expect(same(await bytesOf(`${url}/blob`), content)).to.equal(true)
    expect(seen.map(({ url }) => url)).to.include('/deep/blob.proof')
  })

  it('gets no headers of the caller for URLs that the other server names, not even at the first server', async () => {
    const headers = { 'x-token': '1' }
    const from = await serving({})
    for (const isBack of [false, true]) {
      const there = await serving({ '/deep/blob': content, '/deep/proof': pairs }, {
        link: `<${isBack ? `${from.url}/proof` : 'proof'}>; rel=describedby; type="application/vnd.bao-outboard"`
      })
      const { url, seen } = await serving({ '/blob': `${there.url}/deep/blob` })
      expect(same(await bytesOf(`${url}/blob`, { headers }), content)).to.equal(true)
      expect(seen.some(({ headers }) => headers['x-token'] === '1')).to.equal(true)
      const proofs = [...there.seen, ...from.seen].filter(({ url }) => url.endsWith('/proof'))
      expect(proofs).to.not.have.length(0)
      for (const { headers } of proofs) expect(headers).to.not.have.property('x-token')
    }
  })

  it('in a circle fails, and another one continues', async () => {
    const { url, seen } = await serving({ '/a': '/b', '/b': '/a', '/good': content, '/good.obao4': pairs })
    expect(await errorOf(bytesOf(`${url}/a`))).to.include({ code: 'FETCH_REFUSED', location: `${url}/a` })
    expect(seen.length).to.be.below(200)
    expect(same(await bytesOf(`${url}/a`, { from: [`${url}/good`] }), content)).to.equal(true)
  })

  it('is not followed with a `fetch` that refuses', async () => {
    const { url, seen } = await serving({ '/a': '/good', '/good': content })
    const careful = (input, init) => fetch(input, { ...init, redirect: 'error' })
    expect(await errorOf(bytesOf(`${url}/a`, { fetch: careful }))).to.include({ code: 'FETCH_FAILED' })
    expect(seen.some(({ url }) => url.startsWith('/good'))).to.equal(false)
  })
})
