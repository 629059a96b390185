// Tests which redirects are followed, and which headers go along. The servers are functions that replace `fetch`. They
// return redirects as in Node.js, or hide them as in a page.
import { expect } from 'chai'
import { createOutboardSync } from '../../../../encoder/index.js'
import { fetchVerified, httpSource, mirrorOf } from '../../../../verifier/index.js'
import { same } from '../../../support/bytes.js'
import { collect, errorOf, iterable } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, endpoint, fetchOf, file } from '../../../support/servers.js'

const content = noise(100_000, 93)
const { cid, bytes: pairs } = createOutboardSync(content)
/** The headers that a caller sends to a server. */
const OWN = { 'x-api-key': '1', authorization: 'Bearer 1', accept: 'text/own' }

let servers = 0
/** A new origin, because findings about an origin are remembered. */
const origin = (scheme = 'https') => `${scheme}://${++servers}.redirects.example`

const redirect = (location, status = 302, body = null) => () =>
  new Response(body, { status, headers: location === undefined ? {} : { location } })

async function bytesOf (input, options) {
  const { body } = await fetchVerified(input, { cid, retries: 0, ...options })
  return collect(iterable(body)) // the arrayBuffer() of WebKitGTK has another error
}

/** The values of the caller's headers that reached the URLs with some beginning. */
const ownAt = (fetch, beginning) => fetch.requests.filter(({ url }) => url.startsWith(beginning))
  .flatMap(({ headers }) => Object.entries(OWN).filter(([name, value]) => headers.get(name) === value))

const wasAsked = (fetch, beginning) => fetch.requests.some(({ url }) => url.startsWith(beginning))

describe('a redirect', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    it(`${status} is followed, and the caller's headers stay at the origin of the caller's URL`, async () => {
      const [a, b] = [origin(), origin()]
      const fetch = fetchOf({
        [`${a}/first`]: redirect('second', status),
        [`${a}/second`]: redirect(`${b}/blob`, status),
        [`${b}/blob`]: file(content),
        [`${b}/blob.obao4`]: file(pairs)
      })
      for (const ask of [
        () => bytesOf(`${a}/first`, { fetch, headers: OWN }),
        () => bytesOf(new Request(`${a}/first`, { headers: OWN }), { fetch }),
        () => bytesOf(mirrorOf(`${a}/first`, { fetch, headers: OWN })),
        () => bytesOf('https://nobody.example/', { fetch, from: [mirrorOf(`${a}/first`, { fetch, headers: OWN })] }),
        async () => (await httpSource(`${a}/first`, { fetch, headers: OWN })).read(0, content.length)
      ]) {
        fetch.requests.length = 0
        expect(same(await ask(), content)).to.equal(true)
        for (const path of ['/first', '/second']) expect(ownAt(fetch, a + path), path).to.not.have.length(0)
        expect(wasAsked(fetch, b)).to.equal(true)
        expect(ownAt(fetch, b)).to.deep.equal([])
      }
    })
  }

  it('back to the first origin takes no headers of the caller there', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = fetchOf({
      [`${a}/first`]: redirect(`${b}/`), [`${b}/`]: redirect(`${a}/blob`), [`${a}/blob`]: endpoint(content)
    })
    expect(same(await bytesOf(`${a}/first`, { fetch, headers: OWN }), content)).to.equal(true)
    expect(ownAt(fetch, `${a}/blob`)).to.deep.equal([])
  })

  it('keeps the headers that the request itself needs', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = fetchOf({ [`${a}/first`]: redirect(`${b}/blob`), [`${b}/blob`]: file(content) })
    await (await httpSource(`${a}/first`, { fetch, headers: OWN })).read(50_000, 60_000)
    const { range, headers } = fetch.requests.at(-1)
    expect(range).to.equal('bytes=50000-59999')
    expect(headers.get('accept-encoding')).to.equal('identity')
  })

  it('from http to https, or to another port, leads to another origin', async () => {
    const host = origin().slice('https://'.length)
    const fetch = fetchOf({
      [`http://${host}/blob`]: redirect(`https://${host}/blob`),
      [`https://${host}/blob`]: redirect(`https://${host}:8443/`),
      [`https://${host}:8443/`]: endpoint(content)
    })
    expect(same(await bytesOf(`http://${host}/blob`, { fetch, headers: OWN }), content)).to.equal(true)
    expect(ownAt(fetch, 'https')).to.deep.equal([])
  })

  it('of a duplicate, or of a host of a RASL URL, takes no headers of the caller elsewhere', async () => {
    const [a, b] = [origin(), origin()]
    const link = { headers: own => ({ ...own, link: `<${a}/copy>; rel=duplicate` }), ending: endings.flip(9) }
    const fetch = fetchOf({
      [`${a}/blob`]: file(content, link),
      [`${a}/copy`]: redirect(`${b}/copy`),
      [`${b}/copy`]: file(content),
      [`https://rasl.example/.well-known/rasl/${cid}`]: redirect(`${b}/copy`)
    })
    expect(same(await bytesOf(`${a}/blob`, { fetch, headers: OWN }), content)).to.equal(true)
    expect(ownAt(fetch, `${a}/copy`)).to.not.have.length(0)
    expect(same(await bytesOf(`rasl://${cid}/?hint=rasl.example`, { fetch, headers: OWN }), content)).to.equal(true)
    for (const place of [b, 'https://rasl.example']) {
      expect(wasAsked(fetch, place), place).to.equal(true)
      expect(ownAt(fetch, place), place).to.deep.equal([])
    }
  })

  it('leads to the URL to which a `Link` is relative', async () => {
    const [a, b] = [origin(), origin()]
    const link = { headers: own => ({ ...own, link: '<blob.proof>; rel=describedby' }) }
    const fetch = fetchOf({
      [`${a}/blob`]: redirect(`${b}/deep/blob`),
      [`${b}/deep/blob`]: file(content, link),
      [`${b}/deep/blob.proof`]: file(pairs)
    })
    expect(same(await bytesOf(`${a}/blob`, { fetch, headers: OWN }), content)).to.equal(true)
    expect(wasAsked(fetch, `${b}/deep/blob.proof`)).to.equal(true)
    expect(ownAt(fetch, b)).to.deep.equal([])
  })

  it('may have its Location in UTF-8', async () => {
    const a = origin()
    const asLatin1 = String.fromCharCode(...new TextEncoder().encode('/f\u00fcr \u20ac'))
    const fetch = fetchOf({ [`${a}/first`]: redirect(asLatin1), [`${a}/f%C3%BCr%20%E2%82%AC`]: endpoint(content) })
    expect(same(await bytesOf(`${a}/first`, { fetch }), content)).to.equal(true)
  })

  it('has its body cancelled', async () => {
    const a = origin()
    let cancelled = 0
    const body = () => new ReadableStream({ cancel: () => { cancelled++ } })
    const fetch = fetchOf({ [`${a}/first`]: () => redirect('/blob', 302, body())(), [`${a}/blob`]: endpoint(content) })
    expect(same(await bytesOf(`${a}/first`, { fetch }), content)).to.equal(true)
    expect(cancelled).to.equal(1)
  })
})

describe('no redirect', () => {
  it('is an answer with another status, or without a Location', async () => {
    const others = [300, 304, 305, 306].map(status => [status, '/blob'])
    for (const [status, location] of [...others, [302, undefined]]) {
      const a = origin()
      const fetch = fetchOf({ [`${a}/first`]: redirect(location, status), [`${a}/blob`]: endpoint(content) })
      const error = await errorOf(bytesOf(`${a}/first`, { fetch }))
      expect(error, `${status}`).to.include({ code: 'FETCH_STATUS', status, location: `${a}/first` })
      expect(wasAsked(fetch, `${a}/blob`)).to.equal(false)
    }
  })

  it('is followed to http from https, to another protocol, with a password, or to an invalid URL', async () => {
    const host = origin().slice('https://'.length)
    for (const location of [
      `http://${host}/blob`, 'data:text/plain,x', 'file:///etc/passwd', 'blob:https://x/y', 'javascript:0', 'ws://x/',
      `https://u:p@${host.replace('.', '-')}/blob`, `https://u@${host}:444/blob`, 'https://', 'https://[/'
    ]) {
      const a = `https://${host}`
      const fetch = fetchOf({ [`${a}/first`]: redirect(location), [`http://${host}/blob`]: endpoint(content) })
      const error = await errorOf(bytesOf(`${a}/first`, { fetch, headers: OWN }))
      expect(error, location).to.include({ code: 'FETCH_REFUSED', location: `${a}/first` })
      expect(error.message, location).to.not.match(/etc|u:p|text/)
      expect(fetch.requests.filter(({ url }) => !url.startsWith(`${a}/first`)), location).to.deep.equal([])
    }
  })

  it('is followed in a circle or without end, and another mirror continues', async () => {
    const a = origin()
    const routes = { [`${a}/a`]: redirect('/b'), [`${a}/b`]: redirect('/a'), [`${a}/good`]: endpoint(content) }
    let count = 0
    const fetch = fetchOf(routes)
    const endless = (input, init) => {
      const url = new URL(input)
      return url.pathname === '/endless' ? redirect(`/endless?${++count}`)() : fetch(input, init)
    }
    for (const path of ['/a', '/endless']) {
      fetch.requests.length = count = 0
      const error = await errorOf(bytesOf(a + path, { fetch: endless }))
      expect(error, path).to.include({ code: 'FETCH_REFUSED', location: a + path })
      expect(count + fetch.requests.length, path).to.be.below(100)
      const goesOn = await bytesOf(a + path, { fetch: endless, from: [`${a}/good`] })
      expect(same(goesOn, content), path).to.equal(true)
    }
  })

  it('is followed for a Request that refuses them', async () => {
    for (const mode of ['error', 'manual']) {
      const a = origin()
      const fetch = fetchOf({ [`${a}/first`]: redirect('/blob'), [`${a}/blob`]: endpoint(content) })
      const careful = async (input, init) => {
        const response = await fetch(input, init)
        if (init.redirect === 'error' && response.status === 302) throw new TypeError('fetch failed')
        return response
      }
      const request = new Request(`${a}/first`, { redirect: mode })
      expect(await errorOf(bytesOf(request, { fetch: careful })), mode).to.include({ code: 'FETCH_FAILED' })
      expect(wasAsked(fetch, `${a}/blob`)).to.equal(false)
    }
  })
})

describe('a redirect that a page does not see', () => {
  /** A `fetch` that follows redirects itself, and hides them otherwise. */
  const inPage = routes => {
    const fetch = fetchOf(routes)
    const modes = []
    const hiding = async (input, init) => {
      modes.push(init.redirect)
      const response = await fetch(input, init)
      if (response.status !== 302) return response
      if (init.redirect !== 'follow') return { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null }
      const to = new URL(response.headers.get('location'), input)
      const final = await hiding(to, init)
      return Object.defineProperties(final, { redirected: { value: true }, url: { value: to.href } })
    }
    return Object.assign(hiding, { requests: fetch.requests, modes })
  }

  it('is followed without the headers of the caller', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = inPage({ [`${a}/first`]: redirect(`${b}/blob`), [`${b}/blob`]: endpoint(content) })
    expect(same(await bytesOf(`${a}/first`, { fetch, headers: OWN }), content)).to.equal(true)
    expect(ownAt(fetch, `${a}/first`)).to.not.have.length(0)
    expect(wasAsked(fetch, b)).to.equal(true)
    expect(ownAt(fetch, b)).to.deep.equal([])
  })

  it('costs no further request when the caller sends no headers', async () => {
    const [a, b] = [origin(), origin()]
    const fetch = inPage({ [`${a}/first`]: redirect(`${b}/blob`), [`${b}/blob`]: endpoint(content) })
    await bytesOf(`${a}/first`, { fetch })
    fetch.requests.length = fetch.modes.length = 0
    expect(same(await bytesOf(`${a}/first`, { fetch }), content)).to.equal(true)
    expect(fetch.requests).to.have.length(2)
  })

  it('from https to http is refused', async () => {
    const a = origin()
    const b = origin('http')
    const fetch = inPage({ [`${a}/first`]: redirect(`${b}/blob`), [`${b}/blob`]: endpoint(content) })
    expect(await errorOf(bytesOf(`${a}/first`, { fetch }))).to.include({ code: 'FETCH_REFUSED' })
  })
})
