// RASL URLs, and the mirrors that they name.
import { expect } from 'chai'
import { createOutboardSync } from '../../../../encoder/index.js'
import { fetchVerified, mirrorOf } from '../../../../verifier/index.js'
import { parseRasl } from '../../../../verifier/mirrors/server/rasl.js'
import { same } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, fetchOf, file } from '../../../support/servers.js'

const content = noise(100_000, 174)
const { cid, root } = createOutboardSync(content)
const { cid: other } = createOutboardSync(content.subarray(1))
const at = host => `https://${host}/.well-known/rasl/${cid}`

async function bytesOf (input, options) {
  return new Uint8Array(await (await fetchVerified(input, { cid, retries: 0, ...options })).arrayBuffer())
}

describe('a RASL URL', () => {
  it('names a blob, and where it may be', () => {
    const found = parseRasl(`rasl://${cid}/?hint=example.org&hint=b.example:8443&x=y`)
    expect(same(found.root, root)).to.equal(true)
    expect(found.urls).to.deep.equal([at('example.org'), at('b.example:8443')])
    expect(parseRasl(`RASL://${cid}`).urls).to.deep.equal([])
  })

  it('has hosts as its hints, and a CID of BLAKE3', () => {
    for (const wrong of ['rasl://', 'rasl:x', 'rasl://example.org/', `rasl://u@${String(cid).slice(1)}/`, ...[
      '', 'a/b', 'a?b', 'a#b', 'u@a', 'u:p@a', ' a', 'a:99999', '[', 'a%00', 'http://a', '//a'
    ].map(hint => `rasl://${cid}/?hint=${encodeURIComponent(hint)}`)]) {
      expect(() => parseRasl(wrong), wrong).to.throw(TypeError)
    }
  })

  it('with many hints names eight servers', () => {
    const hints = Array.from({ length: 5000 }, (_, i) => `hint=h${i}.example`).join('&')
    expect(parseRasl(`rasl://${cid}/?${hints}`).urls).to.have.length(8)
  })
})

describe('a mirror of a RASL URL', () => {
  const url = `rasl://${cid}/?hint=a.example&hint=b.example`

  it('asks the hosts of its hints in turn, one of which may lie', async () => {
    const fetch = fetchOf({
      [at('a.example')]: file(content, { ending: endings.flip(9) }), [at('b.example')]: file(content)
    })
    for (const input of [url, new URL(url), mirrorOf(url, { fetch })]) {
      expect(same(await bytesOf(input, { fetch }), content)).to.equal(true)
    }
    expect(same(await bytesOf('https://nobody.example/', { fetch, from: [url] }), content)).to.equal(true)
    const [first, second] = [mirrorOf(url), ...mirrorOf(url).others]
    expect([first.location, second.location]).to.deep.equal([at('a.example'), at('b.example')])
    expect(first.hasAnyBlob).to.equal(false)
  })

  it('sends neither headers of the caller nor cookies', async () => {
    const fetch = fetchOf({ [at('a.example')]: file(content) })
    const sent = []
    const spy = (input, init) => {
      sent.push(init)
      return fetch(input, init)
    }
    const headers = { authorization: 'Bearer 1' }
    expect(same(await bytesOf(mirrorOf(url, { fetch: spy, headers })), content)).to.equal(true)
    expect(same(await bytesOf(url, { fetch: spy, headers }), content)).to.equal(true)
    for (const { headers, credentials } of sent) {
      expect(headers.get('authorization')).to.equal(null)
      if ('credentials' in Request.prototype) expect(credentials).to.equal('omit')
    }
  })

  it('gives no other blob, and asks nobody for it', async () => {
    const fetch = fetchOf({ [at('a.example')]: file(content) })
    const error = await errorOf(bytesOf(url, { fetch, cid: other }))
    expect(error.cause.errors.map(({ code }) => code)).to.deep.equal(['FETCH_REFUSED', 'FETCH_REFUSED'])
    expect(fetch.requests).to.have.length(0)
  })

  it('has at least one hint', () => {
    expect(() => mirrorOf(`rasl://${cid}/`)).to.throw(TypeError, 'hint')
  })
})
