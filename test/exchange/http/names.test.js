// Names in URLs: a blob is found under its hash in any form, and under other names by a redirect.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { base16 } from 'multiformats/bases/base16'
import { base32, base32upper } from 'multiformats/bases/base32'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { sha256 } from 'multiformats/hashes/sha2'
import { identity } from 'multiformats/hashes/identity'
import { HASHSEQ, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { same } from '../../support/bytes.js'
import { hexOf, newHandlers } from '../../support/store/served.js'

const BYTES = new TextEncoder().encode('a block')

describe('an HTTP handler finds blobs by name', () => {
  const serve = newHandlers()

  /** Where a path leads to, and how. */
  const leads = async (served, path) => {
    const { status, headers } = await served.got(path)
    return [status, headers.get('location')]
  }

  it('under every form of its hash, without a redirect', async () => {
    const served = await serve()
    const { cid, hex } = await served.put(BYTES)
    const root = cid.multihash.digest
    const size = Uint8Array.of(BYTES.length)
    const blobId = Uint8Array.of(0x5b, 0x82, 0x1e, ...root, ...size)
    const spellings = [
      hex.toUpperCase(), base32.baseEncode(root), base32.baseEncode(root).toUpperCase(),
      cid.toString(base16), cid.toString(base32upper), cid.toString(base36), cid.toString(base58btc),
      base32.encode(blobId), base58btc.encode(blobId), base16.encode(blobId), `blake3:${hex}`,
      `%${hex.charCodeAt(0).toString(16)}${hex.slice(1)}`
    ]
    const routes = ['', 'blobs/', 'ipfs/', '.well-known/rasl/', 'v2/a/blobs/']
    for (const spelling of [...spellings, hex, `${cid}`]) {
      for (const route of routes) {
        const path = `/${route}${spelling}`
        const { status, headers, bytes } = await served.got(path)
        expect([status, headers.get('etag'), same(bytes, BYTES)], path).to.deep.equal([200, `"${cid}"`, true])
        const outboard = new URL(/^<([^>]+)>/.exec(headers.get('link'))[1], `http://store.test${path}`)
        expect(outboard.pathname, path).to.equal(`/${hex}.obao4`)
      }
      const { status, headers } = await served.got(`/${spelling}.obao4`)
      expect([status, headers.get('etag')], spelling).to.deep.equal([200, `"${cid}.obao4"`])
      expect((await served.got(`/blobs/${spelling}?format=bao-slice`)).status, spelling).to.equal(200)
    }
    expect(base32.encode(blobId).startsWith('blob')).to.equal(true)
  })

  it('under CIDs with other codecs', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    const sequence = toCid(cid.multihash.digest, HASHSEQ)
    const { status, headers } = await served.got(`/blobs/${sequence}`)
    expect([status, headers.get('etag')]).to.deep.equal([200, `"${cid}"`])
  })

  it('by aliases, which are redirected to their blobs, not for ever', async () => {
    const served = await serve()
    const alias = CID.createV1(0x55, await sha256.digest(BYTES))
    await asBlockstore(served.store).put(alias, BYTES)
    const { cid, hex } = await served.put(BYTES)
    for (const name of [`${alias}`, `${CID.createV0(alias.multihash)}`]) {
      expect(await leads(served, `/blobs/${name}`)).to.deep.equal([307, `./${cid}`])
    }
    const digest = `sha256:${hexOf(alias.multihash.digest)}`
    expect(await leads(served, `/v2/a/b/blobs/${digest}`)).to.deep.equal([307, `./blake3:${hex}`])
    const { headers } = await served.got(`/${alias}`)
    expect(headers.get('cache-control')).to.equal('no-cache')
    const inName = CID.createV1(0x55, identity.digest(BYTES))
    expect(await leads(served, `/blobs/${inName}`)).to.deep.equal([307, `./${cid}`])
    const unknown = CID.createV1(0x55, await sha256.digest(new Uint8Array(9)))
    expect(await leads(served, `/blobs/${unknown}`)).to.deep.equal([404, null])
  })

  it('by tags if they are allowed', async () => {
    const open = await serve({ allowTags: true })
    const closed = await serve()
    for (const served of [open, closed]) {
      const { cid } = await served.put(BYTES)
      await served.store.tags.set('a tag/with 100 %', cid)
      await served.store.tags.set('sequence', toCid(cid.multihash.digest, HASHSEQ))
    }
    const { cid } = await open.put(BYTES)
    const path = `/blobs/${encodeURIComponent('a tag/with 100 %')}`
    expect(await leads(open, `${path}?format=bao-slice&start=0`))
      .to.deep.equal([307, `./${cid}?format=bao-slice&start=0`])
    expect(await leads(open, '/blobs/sequence.obao4')).to.deep.equal([307,
      `./${toCid(cid.multihash.digest, HASHSEQ)}.obao4`])
    expect(await leads(open, '/blobs/other')).to.deep.equal([404, null])
    expect(await leads(closed, path)).to.deep.equal([404, null])
  })

  it('under a base path', async () => {
    const served = await serve({ basePath: '/files/x' })
    const { cid, hex } = await served.put(BYTES)
    expect((await served.got(`/files/x/${hex}`)).status).to.equal(200)
    expect((await served.got(`/files/x/blobs/${cid}`)).status).to.equal(200)
    for (const path of [`/${hex}`, `/files/xy/${hex}`, '/files/x', `/files/x${hex}`]) {
      expect((await served.got(path)).status, path).to.equal(404)
    }
  })

  it('and finds nothing at other paths', async () => {
    const served = await serve({ allowTags: true })
    const { cid, hex } = await served.put(BYTES)
    for (const path of ['/', '//', `/${hex}/`, `//${hex}`, `/blobs/${cid}/`, `/blobs//${cid}`, '/blobs/', `/x/${cid}`,
      `/${hex}.obao17`, `/${hex}.obao`, `/${hex}.obao04`, `/ipfs/${cid}.obao4`, `/ipfs/${cid}/file`, '/ipfs/', '/v2',
      `/v2/blobs/blake3:${hex}`, `/v2/a/blobs/blake3:${hex.slice(2)}`, `/v2/a/blobs/md5:${hex.slice(32)}`,
      '/.well-known/rasl/', `/.well-known/${cid}`, '/favicon.ico', `/${hex.slice(1)}`, `/${'a'.repeat(2000)}`,
      `/${'z'.repeat(60)}`, `/b${'a'.repeat(80)}`, '/..%2f..%2fetc%2fpasswd', '/blobs/%2e%2e%2fx', `/${hex}%00`]) {
      expect((await served.got(path)).status, path).to.equal(404)
    }
    for (const path of ['/%', '/%zz', '/%ff', `/blobs/%e0%80${cid}`]) {
      expect((await served.got(path)).status, path).to.equal(400)
    }
  })

  it('and answers the first request of clients of registries', async () => {
    const served = await serve()
    const { status, headers } = await served.got('/v2/', { method: 'HEAD' })
    expect([status, headers.get('docker-distribution-api-version')]).to.deep.equal([200, 'registry/2.0'])
    const { hex } = await served.put(BYTES)
    const answer = await served.got(`/v2/library/thing/blobs/blake3:${hex}`, { method: 'HEAD' })
    expect(answer.headers.get('docker-content-digest')).to.equal(`blake3:${hex}`)
    expect(answer.headers.get('content-length')).to.equal(`${BYTES.length}`)
  })

  it('and serves no CARs', async () => {
    const served = await serve()
    const { cid } = await served.put(BYTES)
    const accept = 'application/vnd.ipld.car'
    const refused = [[`/ipfs/${cid}?format=car`], [`/ipfs/${cid}`, { accept }], [`/blobs/${cid}?format=x`]]
    for (const [path, headers] of refused) {
      const { status, json } = await served.got(path, { headers })
      expect([status, json().code], path).to.deep.equal([406, 'HTTP_NOT_ACCEPTABLE'])
    }
    for (const other of ['application/vnd.ipld.car, */*;q=0.1', 'application/vnd.ipld.car;q=0, */*', '*/*',
      'application/vnd.ipld.car, application/vnd.ipld.raw;q=0.5', 'application/vnd.ipld.car;q=0']) {
      expect((await served.got(`/ipfs/${cid}`, { headers: { accept: other } })).status, other).to.equal(200)
    }
    const { status, headers } = await served.got(`/ipfs/${cid}`, { headers: { accept: 'application/vnd.ipld.raw' } })
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'application/vnd.ipld.raw'])
  })
})
