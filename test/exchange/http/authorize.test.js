// What a request may do is decided by `authorize`.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { asBlockstore } from '../../../exchange/blockstore/index.js'
import { Manifest, putCollection, putManifest } from '../../../exchange/collections/index.js'
import { bearer } from '../../../exchange/http/index.js'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { BaoError } from '../../../lib/index.js'
import { concat } from '../../support/bytes.js'
import { noise } from '../../support/inputs.js'
import { hexOf, newHandlers } from '../../support/store/served.js'

const BYTES = noise(3000)
const ROOT = hash(BYTES)
const NAME = `${toCid(ROOT)}`
const ALL = { allowTags: true, list: true, collections: { listing: true } }

/** The CID of the blob that has the names of a collection. */
const namesOf = async (store, cid) => `${toCid(await store.bytes(cid, { end: 32 }))}`

describe('an HTTP handler asks `authorize`', () => {
  const serve = newHandlers()

  /** A handler that keeps what it asks, and answers each question like this. */
  async function asking (answer = () => true, options = ALL) {
    const actions = []
    const authorize = (request, action) => {
      actions.push(action)
      return answer(action, request)
    }
    const served = await serve({ ...options, authorize })
    await served.put(BYTES)
    return { served, actions }
  }

  it('with the blob, tag or collection that a request is about', async () => {
    const { served, actions } = await asking()
    const { store } = served
    const other = noise(10, 2)
    const otherName = `${toCid(hash(other))}`
    const { cid: collection } = await putCollection(store, [['docs/a', (await store.put(other)).cid]])
    const sequence = `${toCid(collection.multihash.digest)}`
    const names = await namesOf(store, collection)
    await store.tags.set('tag', ROOT)
    const alias = CID.createV1(0x55, await sha256.digest(other))
    await asBlockstore(store).put(alias, other)
    const missing = '0'.repeat(64)
    const read = { type: 'read', cid: NAME }
    /** @type {[path: string, init: RequestInit | undefined, expected: object[]][]} */
    const cases = [
      [`/${hexOf(ROOT)}`, undefined, [read]],
      [`/blobs/${NAME}`, { method: 'HEAD' }, [read]],
      [`/blobs/${NAME}?format=bao-slice`, undefined, [read]],
      [`/blobs/${NAME}.obao4`, undefined, [read]],
      [`/ipfs/${NAME}`, undefined, [read]],
      ['/blobs/tag', undefined, [{ ...read, tag: 'tag' }]],
      [`/blobs/${alias}`, undefined, [{ type: 'read', cid: otherName }]],
      [`/${missing}`, undefined, [{ type: 'read', cid: `${toCid(new Uint8Array(32))}` }]],
      ['/blobs/none', undefined, [{ type: 'read' }]],
      ['/v2/', undefined, [{ type: 'read' }]],
      ['/blobs', undefined, [{ type: 'list' }]],
      ['/tags', undefined, [{ type: 'list' }]],
      ['/tags/tag', undefined, [{ ...read, tag: 'tag' }]],
      ['/tags/none', undefined, [{ type: 'read', cid: undefined, tag: 'none' }]],
      [`/collections/${collection}/`, undefined,
        [{ type: 'read', cid: sequence }, { type: 'read', cid: names, collection: sequence }]],
      [`/collections/${collection}/docs/a`, undefined, [
        { type: 'read', cid: sequence }, { type: 'read', cid: names, collection: sequence },
        { type: 'read', cid: otherName, collection: sequence }
      ]],
      [`/blobs/${collection}?format=bao-members&members=1-2`, undefined,
        [{ type: 'read', cid: sequence }, { type: 'read', cid: otherName, collection: sequence }]],
      ['/blobs', { method: 'POST', body: BYTES }, [{ type: 'put' }]],
      [`/${hexOf(ROOT)}`, { method: 'PUT', body: BYTES }, [{ type: 'put', cid: NAME }]],
      [`/tags/x?cid=${NAME}`, { method: 'PUT' }, [{ type: 'tag', cid: NAME, tag: 'x' }]],
      [`/tags/y?cid=${alias}`, { method: 'PUT' }, [{ type: 'tag', cid: otherName, tag: 'y' }]],
      ['/tags/x', { method: 'DELETE' }, [{ type: 'tag', tag: 'x' }]],
      ['/tags/tag', { method: 'DELETE' }, [{ type: 'tag', tag: 'tag' }]],
      [`/blobs/${NAME}`, { method: 'DELETE' }, [{ type: 'delete', cid: NAME }]]
    ]
    for (const [path, init, expected] of cases) {
      actions.length = 0
      const { status } = await served.got(path, init)
      expect(actions, `${init?.method} ${path}`).to.deep.equal(expected)
      expect(status, `${init?.method} ${path}`).to.be.oneOf([200, 201, 307, 404])
    }
    actions.length = 0
    expect((await served.got('/blobs', { method: 'OPTIONS' })).status).to.equal(204)
    expect(actions).to.deep.equal([])
  })

  it('also for a site at the top, and each file of it', async () => {
    const { served, actions } = await asking(undefined, { ...ALL, site: 'site' })
    const { cid } = await putCollection(served.store, [['index.html', ROOT]])
    await served.store.tags.set('site', cid)
    const site = `${toCid(cid.multihash.digest)}`
    expect((await served.got('/')).status).to.equal(200)
    expect(actions).to.deep.equal([
      { type: 'read', cid: site }, { type: 'read', cid: await namesOf(served.store, cid), collection: site },
      { type: 'read', cid: NAME, collection: site }
    ])
  })

  it('and gives nothing to those who may not have it', async () => {
    const { served } = await asking(() => false, { ...ALL, site: 'site' })
    const { store } = served
    const { cid } = await putCollection(store, [['index.html', ROOT]])
    await store.tags.set('site', cid)
    const other = noise(10, 9)
    for (const [path, init] of [
      [`/${hexOf(ROOT)}`], [`/${'0'.repeat(64)}`], ['/blobs/none'], ['/blobs/site'], ['/blobs'], ['/tags'],
      ['/tags/site'], ['/tags/none'], ['/v2/'], ['/'], ['/none'], [`/collections/${cid}/index.html`],
      [`/blobs/${cid}?format=bao-members&members=0-1`], [`/${hexOf(hash(other))}`, { method: 'PUT', body: other }],
      ['/blobs', { method: 'POST', body: other }], [`/tags/x?cid=${cid}`, { method: 'PUT' }],
      ['/tags/site', { method: 'DELETE' }], [`/${hexOf(ROOT)}`, { method: 'DELETE' }]
    ]) {
      const { status, json, headers } = await served.got(path, init)
      expect([status, json().code], `${init?.method} ${path}`).to.deep.equal([403, 'HTTP_FORBIDDEN'])
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(served.events.pop()).to.include({ code: 'HTTP_FORBIDDEN', status: 403 })
    }
    expect(await store.has(ROOT)).to.equal(true)
    expect(await store.has(hash(other))).to.equal(false)
    expect(await store.tags.get('x')).to.equal(undefined)
    expect(await store.tags.get('site')).to.not.equal(undefined)
  })

  it('and gives no member of a collection that may be read to those who may not read the member', async () => {
    const { served } = await asking(({ cid }) => cid !== NAME)
    const { cid } = await putCollection(served.store, [['a', (await served.store.put(noise(5))).cid], ['b', ROOT]])
    expect((await served.got(`/collections/${cid}/a`)).status).to.equal(200)
    expect((await served.got(`/collections/${cid}/b`)).status).to.equal(403)
    expect((await served.got(`/blobs/${cid}?format=bao-members&members=1-2`)).status).to.equal(200)
    expect((await served.got(`/blobs/${cid}?format=bao-members&members=1-3`)).status).to.equal(403)
  })

  it('and shows no names of a site to those who may not read them, however the client reaches the names', async () => {
    let forbidden
    const { served } = await asking(({ cid }) => !forbidden?.includes(cid), { ...ALL, collections: { listing: true } })
    const { store } = served
    const { cid: collection } = await putCollection(store, [['secret-name.txt', ROOT]])
    const { cid: manifest } = await putManifest(store, Manifest.from([['/secret-name.txt', { src: toCid(ROOT) }]]))
    for (const first of [await namesOf(store, collection), `${toCid(manifest.multihash.digest)}`]) {
      // A client that may put makes a sequence of its own.
      const forged = concat([CID.parse(first).multihash.digest, hash(noise(9))])
      const { cid } = await store.put(forged)
      const path = `/collections/${cid}/`
      forbidden = [first]
      expect((await served.got(path)).status, 'before it is known').to.equal(403)
      forbidden = []
      const { status } = await served.got(path)
      expect(status).to.be.oneOf([200, 422])
      forbidden = [first]
      expect((await served.got(path)).status, 'when it is kept in memory').to.equal(403)
    }
    // The answer does not say whether the store has a blob that the client may not read.
    const absent = hash(noise(11))
    forbidden = [`${toCid(absent)}`, NAME]
    const answers = await Promise.all([absent, ROOT].map(async first => {
      const { cid } = await store.put(concat([first, hash(noise(9))]))
      const { status, json } = await served.got(`/collections/${cid}/`)
      return [status, json().code]
    }))
    expect(answers[0]).to.deep.equal(answers[1])
  })

  it('and waits for the answer, which may be a Response', async () => {
    const { served } = await asking(async ({ type }) => type === 'list'
      ? true
      : new Response('who are you?', { status: 401, headers: { 'www-authenticate': 'Basic realm="x"', 'x-own': '1' } }))
    expect((await served.got('/blobs')).status).to.equal(200)
    const { status, headers, bytes } = await served.got(`/${hexOf(ROOT)}`)
    expect([status, new TextDecoder().decode(bytes)]).to.deep.equal([401, 'who are you?'])
    expect(headers.get('www-authenticate')).to.equal('Basic realm="x"')
    expect(headers.get('x-own')).to.equal('1')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(served.events.at(-1)).to.include({ code: 'HTTP_UNAUTHORIZED', status: 401 })
    expect((await served.got(`/${hexOf(ROOT)}`, { method: 'HEAD' })).bytes).to.have.length(0)
    const put = await served.got(`/${hexOf(ROOT)}`, { method: 'PUT', body: BYTES })
    expect([put.status, put.headers.get('connection')]).to.deep.equal([401, 'close'])
  })

  it('and gives nothing when it fails, or answers with anything else', async () => {
    const old = new Response('once')
    await old.text()
    for (const answer of [
      () => { throw new Error('a secret') }, () => Promise.reject(new Error('a secret')), () => undefined, () => 'true',
      () => 1, () => ({ status: 200 }), () => { throw new BaoError('STORE_NOT_FOUND', 'a secret') }, () => old,
      () => Response.error()
    ]) {
      const { served } = await asking(answer)
      for (const init of [undefined, { method: 'PUT', body: BYTES }, { method: 'DELETE' }]) {
        const { status, json } = await served.got(`/${hexOf(ROOT)}`, init)
        expect([status, json()], `${answer}`).to.deep.equal([500, { code: 'HTTP_INTERNAL' }])
        expect(served.events.at(-1).error).to.be.instanceOf(Error)
      }
      expect(await served.store.has(ROOT)).to.equal(true)
    }
  })

  it('before the upload is read, which it must not read itself', async () => {
    const { served } = await asking(async (_, request) => (await request.arrayBuffer()).byteLength > 0)
    const { status, json } = await served.got('/blobs', { method: 'POST', body: noise(10) })
    expect([status, json().code]).to.deep.equal([500, 'HTTP_BODY_READ'])
  })

  it('and keeps what only some may read out of caches for all', async () => {
    const { served } = await asking()
    await served.store.tags.set('tag', ROOT)
    const { cid } = await putCollection(served.store, [['docs/a', ROOT]])
    for (const path of [`/${hexOf(ROOT)}`, `/${hexOf(ROOT)}.obao4`, `/${hexOf(ROOT)}?format=bao-slice`,
      `/collections/${cid}`, `/collections/${cid}/docs/a`, `/blobs/${cid}?format=bao-members&members=0-1`]) {
      expect((await served.got(path)).headers.get('cache-control'), path).to.match(/^private, max-age=\d+, immutable$/)
    }
    const open = await serve({ authorize: bearer('secret') })
    await open.put(BYTES)
    expect((await open.got(`/${hexOf(ROOT)}`)).headers.get('cache-control')).to.match(/^public,/)
  })
})

describe('bearer()', () => {
  const serve = newHandlers()
  const withToken = (method, token = 'secret') => ({ method, headers: { authorization: `Bearer ${token}` } })

  it('lets everybody read, and those write who have the token, as far as it goes', async () => {
    const all = await serve({ ...ALL, authorize: bearer('secret', ['put', 'delete', 'tag']) })
    const some = await serve({ ...ALL, authorize: bearer('secret') })
    for (const served of [all, some]) {
      await served.put(BYTES)
      for (const path of [`/${hexOf(ROOT)}`, '/blobs', '/tags']) expect((await served.got(path)).status).to.equal(200)
      const upload = { ...withToken('PUT'), body: BYTES }
      expect((await served.got(`/${hexOf(ROOT)}`, upload)).status).to.equal(200)
      for (const [method, path] of [['PUT', `/tags/x?cid=${NAME}`], ['DELETE', '/tags/x'], ['DELETE', `/${NAME}`]]) {
        const expected = served === all ? [200, undefined] : [403, 'HTTP_FORBIDDEN']
        const { status, json } = await served.got(path, withToken(method))
        expect([status, json().code], `${method} ${path}`).to.deep.equal(expected)
        for (const init of [{ method }, withToken(method, 'secre'), withToken(method, 'secrets')]) {
          const { status, json, headers } = await served.got(path, init)
          expect([status, json().code]).to.deep.equal([401, 'HTTP_UNAUTHORIZED'])
          expect(headers.get('www-authenticate')).to.equal('Bearer')
        }
      }
    }
  })

  it('refuses what is no token, and what no token can allow', () => {
    for (const token of [undefined, '', 'a b', 'ü', 5]) expect(() => bearer(token)).to.throw(TypeError, '"token"')
    for (const types of ['put', ['read'], [undefined], null]) expect(() => bearer('x', types)).to.throw(TypeError)
  })
})
