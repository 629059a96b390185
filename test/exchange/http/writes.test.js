// Blobs that the server hashes, deletions, and tags.
import { expect } from 'chai'
import { CID } from 'multiformats/cid'
import { sha256, sha512 } from 'multiformats/hashes/sha2'
import * as Digest from 'multiformats/hashes/digest'
import { identity } from 'multiformats/hashes/identity'
import { HASHSEQ, hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { putCollection } from '../../../exchange/collections/index.js'
import { bearer } from '../../../exchange/http/index.js'
import { same } from '../../support/bytes.js'
import { listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { hexOf, newHandlers } from '../../support/store/served.js'

const BYTES = noise(300_000)
const ROOT = hash(BYTES)
const NAME = `${toCid(ROOT)}`

describe('an HTTP handler', () => {
  const serve = newHandlers()
  const OPTIONS = {
    allowTags: true, list: true, maxBytes: 400_000, authorize: bearer('secret', ['put', 'delete', 'tag'])
  }
  const AUTHORIZED = { authorization: 'Bearer secret' }
  const write = (method, body, headers) => ({ method, body, headers: { ...AUTHORIZED, ...headers } })

  describe('keeps blobs that it hashes', () => {
    it('and tells their CIDs', async () => {
      const served = await serve({ ...OPTIONS, basePath: '/x' })
      for (const expected of [201, 200]) {
        const { status, headers, json } = await served.got('/x/blobs', write('POST', BYTES))
        expect([status, json()]).to.deep.equal([expected, { cid: NAME, size: BYTES.length, isNew: expected === 201 }])
        const url = new URL(headers.get('location'), 'http://store.test/x/blobs')
        expect(url.pathname).to.equal(`/x/blobs/${NAME}`)
        expect(same((await served.got(url.pathname)).bytes, BYTES)).to.equal(true)
        expect(served.events.find(({ method }) => method === 'POST')).to.include({ cid: NAME, received: BYTES.length })
      }
      const empty = await served.got('/x/blobs', write('POST', new Uint8Array(0)))
      expect(empty.json()).to.include({ cid: `${toCid(hash(new Uint8Array(0)))}`, size: 0 })
    })

    it('but none that is too long, encoded, a slice, or of somebody else', async () => {
      const served = await serve(OPTIONS)
      for (const [init, status, code] of [
        [write('POST', noise(400_001)), 413, 'HTTP_TOO_LARGE'],
        [write('POST', BYTES, { 'content-encoding': 'gzip' }), 400, 'HTTP_BAD_REQUEST'],
        [write('POST', BYTES, { 'content-type': 'application/vnd.bao-slice' }), 415, 'HTTP_NOT_ACCEPTABLE'],
        [{ method: 'POST', body: BYTES }, 401, 'HTTP_UNAUTHORIZED']
      ]) {
        const { json, ...answer } = await served.got('/blobs', init)
        expect([answer.status, json().code]).to.deep.equal([status, code])
      }
      for (const path of ['/', `/${NAME}`, `/blobs/${NAME}`, '/tags/x', '/tags', '/v2/']) {
        const { status } = await served.got(path, write('POST', BYTES))
        expect(status, path).to.be.oneOf([404, 405])
      }
      expect((await served.store.info()).blobs).to.equal(0)
    })

    it('also when it lists none', async () => {
      const served = await serve({ ...OPTIONS, list: false })
      expect((await served.got('/blobs', write('POST', BYTES))).status).to.equal(201)
      const { status, headers } = await served.got('/blobs')
      expect([status, headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS'])
      const closed = await serve({ list: true })
      expect((await closed.got('/blobs', write('POST', BYTES))).status).to.equal(405)
    })
  })

  describe('deletes blobs', () => {
    it('under any form of their names', async () => {
      const served = await serve(OPTIONS)
      for (const path of [`/${hexOf(ROOT)}`, `/blobs/${NAME}`, `/blobs/${hexOf(ROOT)}`]) {
        await served.put(BYTES)
        const { status, json } = await served.got(path, write('DELETE'))
        expect([status, json()]).to.deep.equal([200, { cid: NAME, blobs: 1, bytes: BYTES.length }])
        expect(await served.store.has(ROOT)).to.equal(false)
        expect((await served.got(path, write('DELETE'))).json()).to.deep.equal({ cid: NAME, blobs: 0, bytes: 0 })
      }
    })

    it('but none that a tag names, and none on other routes', async () => {
      const served = await serve(OPTIONS)
      await served.put(BYTES)
      await served.store.tags.set('kept', ROOT)
      const { status, json } = await served.got(`/${NAME}`, write('DELETE'))
      expect([status, json().code]).to.deep.equal([409, 'STORE_TAGGED'])
      for (const path of [`/${NAME}.obao4`, `/ipfs/${NAME}`, '/blobs', `/collections/${NAME}/`]) {
        expect((await served.got(path, write('DELETE'))).status, path).to.equal(405)
      }
      expect((await served.got('/blobs/kept', write('DELETE'))).status).to.equal(307)
      await served.store.tags.delete('kept')
      const withBody = await served.askWithAny(`/${NAME}`, write('DELETE', 'x'), { 'content-length': '1' })
      expect(withBody.status).to.equal(400)
      expect(await served.store.has(ROOT)).to.equal(true)
    })
  })

  describe('has tags', () => {
    const NAMES = ['a', 'a/b', 'with 100 % & ?#', 'é', '名前', '..', '%2f']
    const pathOf = name => `/tags/${encodeURIComponent(name)}`

    it('that are set, read and deleted by their names', async () => {
      const served = await serve(OPTIONS)
      await served.put(BYTES)
      for (const name of NAMES.filter(name => name !== '..')) {
        const path = pathOf(name)
        expect((await served.got(path)).json().code, name).to.equal('STORE_TAG_NOT_FOUND')
        const set = await served.got(`${path}?cid=${hexOf(ROOT)}`, write('PUT'))
        expect([set.status, set.json()], name).to.deep.equal([200, { name, cid: NAME }])
        const { status, headers, json } = await served.got(path)
        expect([status, json()]).to.deep.equal([200, { name, cid: NAME, format: 'raw' }])
        expect(headers.get('cache-control')).to.equal('no-store')
        expect((await served.got(path, write('DELETE'))).json()).to.deep.equal({ name, isDeleted: true })
        expect((await served.got(path, write('DELETE'))).json()).to.deep.equal({ name, isDeleted: false })
        expect((await served.got(path)).status).to.equal(404)
      }
    })

    it('that name sequences with their members, and aliases', async () => {
      const served = await serve(OPTIONS)
      await served.put(BYTES)
      const sequence = toCid(ROOT, HASHSEQ)
      await served.got(`/tags/sequence?cid=${sequence}`, write('PUT'))
      expect((await served.got('/tags/sequence')).json()).to.include({ cid: `${sequence}`, format: 'hashseq' })
      for (const hasher of [sha256, sha512]) {
        const alias = CID.createV1(0x55, await hasher.digest(BYTES))
        const path = `/tags/alias?cid=${alias}`
        expect((await served.got(path, write('PUT'))).status).to.equal(200)
        expect((await served.got('/tags/alias')).json().cid).to.equal(`${alias}`)
        expect((await served.got('/blobs/alias')).status).to.equal(404)
        await asBlockstore(served.store).put(alias, BYTES)
        const { status, headers } = await served.got('/blobs/alias')
        expect([status, headers.get('location')]).to.deep.equal([307, `./${NAME}`])
      }
    })

    it('that a site may have, by the tag of an alias', async () => {
      const served = await serve({ site: 'site' })
      const { cid } = await putCollection(served.store, [['index.html', (await served.store.put(BYTES)).cid]])
      const alias = CID.createV1(0x55, await sha512.digest(await served.store.bytes(cid)))
      await served.store.tags.set('site', alias)
      expect((await served.got('/')).status).to.equal(404)
      await served.store.aliases.add(cid, alias)
      expect((await served.got('/')).status).to.equal(200)
    })

    it('in a list, page by page', async () => {
      const served = await serve(OPTIONS)
      for (const name of NAMES) await served.store.tags.set(name, ROOT)
      const found = []
      for (let query = '?limit=3'; query !== undefined;) {
        const { tags, next } = (await served.got(`/tags${query}`)).json()
        expect(tags.length).to.be.at.most(3)
        found.push(...tags)
        query = next
      }
      expect(found.map(({ name }) => name)).to.have.ordered.members(
        (await listed(served.store.tags.list())).map(({ name }) => name))
      expect(found[0]).to.deep.equal({ name: found[0].name, cid: NAME, format: 'raw' })
      for (const query of ['?limit=0', '?limit=x', '?after=', '?after=a&after=b', '?limit=1&limit=1']) {
        expect((await served.got(`/tags${query}`)).status, query).to.equal(400)
      }
    })

    it('and refuses what is no tag', async () => {
      const served = await serve(OPTIONS)
      const inline = CID.createV1(0x55, identity.digest(Uint8Array.of(1)))
      const short = CID.createV1(0x55, Digest.create(0x1e, new Uint8Array(16)))
      const odd = CID.createV1(HASHSEQ, Digest.create(0x12, new Uint8Array(32)))
      for (const [query, init, expected] of [
        ['', write('PUT'), 400], ['?cid=', write('PUT'), 400], ['?cid=x', write('PUT'), 400],
        [`?cid=${NAME}&cid=${NAME}`, write('PUT'), 400], [`?cid=${inline}`, write('PUT'), 400],
        [`?cid=${short}`, write('PUT'), 400], [`?cid=${odd}`, write('PUT'), 200],
        [`?cid=${NAME}`, { method: 'PUT' }, 401],
        ['', { method: 'DELETE' }, 401]
      ]) {
        const { status } = await served.got(`/tags/x${query}`, init)
        expect(status, query).to.equal(expected)
      }
      const body = await served.askWithAny(`/tags/x?cid=${NAME}`, write('PUT', 'x'), { 'content-length': '1' })
      expect(body.status).to.equal(400)
      for (const path of ['/tags/', '/tags/a/b', '/tags//']) {
        expect((await served.got(`${path}?cid=${NAME}`, write('PUT'))).status, path).to.equal(404)
      }
      expect((await served.got('/tags/%ff')).status).to.equal(400)
    })

    it('only if its owner allows that, and a site keeps its folder otherwise', async () => {
      const closed = await serve({ ...OPTIONS, allowTags: false })
      for (const path of ['/tags', '/tags/x']) expect((await closed.got(path)).status).to.equal(404)
      expect((await closed.got(`/tags/x?cid=${NAME}`, write('PUT'))).status).to.equal(404)
      const unlisted = await serve({ allowTags: true })
      expect((await unlisted.got('/tags')).status).to.equal(404)
      expect((await unlisted.got(`/tags/x?cid=${NAME}`, write('PUT'))).status).to.equal(405)
      for (const allowTags of [true, false]) {
        const served = await serve({ allowTags, site: 'site' })
        const { cid: file } = await served.put(BYTES)
        await served.store.tags.set('site', (await putCollection(served.store, [['tags/x', file]])).cid)
        expect((await served.got('/tags/x')).status).to.equal(allowTags ? 404 : 200)
      }
    })
  })
})
