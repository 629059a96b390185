// Which pages of other origins may read answers, and write.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { bearer } from '../../../exchange/http/index.js'
import { noise } from '../../support/inputs.js'
import { hexOf, newHandlers } from '../../support/store/served.js'

const BYTES = noise(3000)
const PATH = `/${hexOf(hash(BYTES))}`
const APP = 'https://app.example'

describe('an HTTP handler', () => {
  const serve = newHandlers()

  /** Asks as a browser does for a page of this origin. */
  const from = (served, origin, path, init) => served.askWithAny(path, init, origin && { origin })

  it('lets pages of all origins read, without credentials', async () => {
    const served = await serve()
    await served.put(BYTES)
    for (const path of [PATH, '/none']) {
      const { headers } = await from(served, APP, path)
      expect(headers.get('access-control-allow-origin')).to.equal('*')
      expect(headers.get('access-control-allow-credentials')).to.equal(null)
      expect(headers.get('cross-origin-resource-policy')).to.equal('cross-origin')
    }
  })

  it('lets pages of some origins read, if its owner lists them', async () => {
    for (const credentials of [false, true]) {
      const served = await serve({ cors: { origins: [APP, 'http://localhost:3000'], credentials } })
      await served.put(BYTES)
      for (const path of [PATH, '/none', `${PATH}?format=bao-slice`]) {
        for (const origin of [APP, 'http://localhost:3000']) {
          const { headers } = await from(served, origin, path)
          expect(headers.get('access-control-allow-origin')).to.equal(origin)
          expect(headers.get('access-control-allow-credentials')).to.equal(credentials ? 'true' : null)
          expect(headers.get('access-control-expose-headers')).to.include('ETag')
          expect(headers.get('vary')).to.match(/(^|, )Origin$/)
        }
        for (const origin of [undefined, 'null', '*', 'https://app.example.evil', 'http://app.example', `${APP}:444`,
          'https://APP.example', `${APP}/`]) {
          const { headers } = await from(served, origin, path)
          expect(headers.get('access-control-allow-origin'), origin).to.equal(null)
          expect(headers.get('access-control-allow-credentials'), origin).to.equal(null)
          expect(headers.get('vary')).to.match(/(^|, )Origin$/)
          expect(headers.get('cross-origin-resource-policy')).to.equal('same-origin')
        }
      }
      expect((await from(served, APP, PATH)).headers.get('vary')).to.equal('Accept, Origin')
    }
  })

  it('lets no page read, if its owner lists none', async () => {
    const served = await serve({ cors: { origins: [] } })
    await served.put(BYTES)
    expect((await from(served, APP, PATH)).headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('answers preflights with the methods and headers that the path takes', async () => {
    const served = await serve({
      allowTags: true, list: true, authorize: bearer('secret'), cors: { origins: [APP], credentials: true }
    })
    for (const [path, methods] of [
      [PATH, 'GET, HEAD, PUT, DELETE, OPTIONS'], [`${PATH}.obao4`, 'GET, HEAD, OPTIONS'],
      ['/blobs', 'GET, HEAD, POST, OPTIONS'], ['/tags', 'GET, HEAD, OPTIONS'],
      ['/tags/x', 'GET, HEAD, PUT, DELETE, OPTIONS']
    ]) {
      const { status, headers } = await from(served, APP, path, {
        method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT' }
      })
      expect([status, headers.get('access-control-allow-methods'), headers.get('allow')], path)
        .to.deep.equal([204, methods, methods])
      const allowed = headers.get('access-control-allow-headers').toLowerCase().split(', ')
      expect(allowed).to.include.members(['authorization', 'content-type', 'range', 'if-none-match'])
      expect(headers.get('access-control-allow-origin')).to.equal(APP)
      expect(headers.get('access-control-allow-credentials')).to.equal('true')
    }
    const { headers } = await from(served, 'https://evil.example', PATH, { method: 'OPTIONS' })
    expect(headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('refuses what a page of another origin makes a browser write with cookies or a password', async () => {
    const asked = []
    const authorize = (request, { type }) => {
      asked.push(type)
      return true
    }
    const served = await serve({ authorize, allowTags: true, cors: { origins: [APP] } })
    const open = await serve({ authorize, allowTags: true })
    const writes = [['PUT', PATH], ['POST', '/blobs'], ['DELETE', PATH], ['DELETE', '/tags/x']]
    const basic = { authorization: 'Basic dTpw' } // which a browser may add by itself
    const write = (served, origin, [method, path], headers) =>
      from(served, origin, path, { method, headers, ...method !== 'DELETE' && { body: BYTES } })
    for (const [handler, origin] of [[served, 'https://evil.example'], [served, 'null'], [open, APP], [open, 'null']]) {
      for (const it of writes) {
        const response = await write(handler, origin, it)
        expect([response.status, (await response.json()).code], `${origin} ${it}`)
          .to.deep.equal([403, 'HTTP_FORBIDDEN'])
      }
    }
    for (const it of writes) expect((await write(open, APP, it, basic)).status, `${it}`).to.equal(403)
    expect(asked).to.deep.equal([])
    for (const [handler, origin, headers] of [
      [served, APP], [served, 'http://store.test'], [open, 'https://store.test'], [open, undefined],
      [open, 'https://evil.example', { authorization: 'Bearer x' }], [served, APP, basic], [open, undefined, basic]
    ]) {
      for (const it of writes) expect((await write(handler, origin, it, headers)).status, origin).to.be.within(200, 201)
    }
    expect((await from(open, 'https://evil.example', '/none')).status).to.equal(404)
  })
})
