// One site at the top of a handler, beside all routes for blobs.
import { expect } from 'chai'
import { encode } from '@ipld/dag-cbor'
import { hash, toCid } from '../../../lib/index.js'
import { bearer, createHandler } from '../../../exchange/http/index.js'
import { Collection, Manifest, putCollection, putManifest } from '../../../exchange/collections/index.js'
import { hexOf, newHandlers, Served } from '../../support/store/served.js'

const bytesOf = text => new TextEncoder().encode(text)
const textOf = bytes => new TextDecoder().decode(bytes)
const FILES = {
  'index.html': '<!doctype html><p>Hello',
  'css/main.css': 'p { color: green }',
  'docs/index.html': 'docs',
  'blobs/page.html': 'hidden',
  'collections/x': 'hidden',
  ipfs: 'a file',
  '.well-known/security.txt': 'Contact',
  '.well-known/rasl/x': 'hidden',
  'a b%2f&.txt': 'odd',
  '../outside': 'no',
  'e\0f': 'no'
}

describe('a site at the top of an HTTP handler', () => {
  const newServed = newHandlers()

  /** Puts a site, and gives its CID. */
  async function putSite (store, files = FILES, options) {
    const entries = []
    for (const [name, text] of Object.entries(files)) entries.push([name, (await store.put(bytesOf(text))).cid])
    return (await putCollection(store, entries, options)).cid
  }

  /** A handler with the site, by its CID or by a tag. */
  async function mounted (options, files) {
    const { store } = await newServed()
    const cid = await putSite(store, files, { tag: 'site' })
    return Object.assign(new Served(store, { site: cid, ...options }), { cid })
  }

  it('has its files at their paths, with types, ranges, conditions and HEAD', async () => {
    for (const options of [{}, { site: 'site' }, { basePath: '/files' }, { collections: false }]) {
      const { basePath = '' } = options
      const served = await mounted(options)
      for (const [path, name, type] of [
        ['/', 'index.html', 'text/html; charset=utf-8'], ['/index.html', 'index.html', 'text/html; charset=utf-8'],
        ['/css/main.css', 'css/main.css', 'text/css; charset=utf-8'],
        ['/docs/', 'docs/index.html', 'text/html; charset=utf-8'], ['/ipfs', 'ipfs', 'application/octet-stream'],
        ['/.well-known/security.txt', '.well-known/security.txt', 'text/plain; charset=utf-8'],
        ['/a%20b%252f&.txt', 'a b%2f&.txt', 'text/plain; charset=utf-8']
      ]) {
        const { status, headers, bytes } = await served.got(basePath + path)
        expect([status, textOf(bytes), headers.get('content-type')], path).to.deep.equal([200, FILES[name], type])
        expect(headers.get('etag')).to.equal(`"${toCid(hash(bytes))}"`)
        expect(headers.get('content-security-policy')).to.match(/^sandbox /)
      }
      const path = `${basePath}/css/main.css`
      const part = await served.got(path, { headers: { range: 'bytes=2-2' } })
      expect([part.status, textOf(part.bytes), part.headers.get('content-range')])
        .to.deep.equal([206, '{', 'bytes 2-2/18'])
      expect((await served.got(path, { headers: { range: 'bytes=99-' } })).status).to.equal(416)
      const known = await served.got(path, { headers: { 'if-none-match': part.headers.get('etag') } })
      expect(known.status).to.equal(304)
      const head = await served.got(path, { method: 'HEAD' })
      expect([head.status, head.bytes.length, head.headers.get('content-length')]).to.deep.equal([200, 0, '18'])
      expect((await served.got(path, { method: 'PUT', body: 'x' })).status).to.equal(405)
      expect((await served.got(path, { method: 'OPTIONS' })).headers.get('allow')).to.equal('GET, HEAD, OPTIONS')
    }
  })

  it('must be asked for again each time, while content under a hash may be cached for ever', async () => {
    const served = await mounted({ site: 'site' })
    expect((await served.got('/')).headers.get('cache-control')).to.equal('no-cache')
    const { status, headers } = await served.got('/docs?a=b')
    expect([status, headers.get('location'), headers.get('cache-control')])
      .to.deep.equal([307, './docs/?a=b', 'no-cache'])
    const byCid = await mounted()
    expect((await byCid.got('/')).headers.get('cache-control')).to.equal('no-cache')
    for (const path of [`/collections/${byCid.cid}/`, `/blobs/${toCid(hash(bytesOf(FILES.ipfs)))}`]) {
      expect((await byCid.got(path)).headers.get('cache-control'), path).to.include('immutable')
    }
  })

  it('changes with its tag, and is not found while there is no tag', async () => {
    const served = await mounted({ site: 'site' })
    const before = (await served.got('/')).headers.get('etag')
    await putSite(served.store, { 'index.html': 'new' }, { tag: 'site' })
    const { status, headers, bytes } = await served.got('/', { headers: { 'if-none-match': before } })
    expect([status, textOf(bytes)]).to.deep.equal([200, 'new'])
    expect(headers.get('etag')).to.not.equal(before)
    expect((await served.got('/css/main.css')).status).to.equal(404)
    await served.store.tags.delete('site')
    const none = await served.got('/')
    expect([none.status, none.json().code]).to.deep.equal([404, 'STORE_NOT_FOUND'])
    const entries = [['index.html', (await served.store.put(bytesOf('as a manifest'))).cid]]
    await putManifest(served.store, Manifest.fromCollection(Collection.from(entries)), { tag: 'site' })
    expect(textOf((await served.got('/')).bytes)).to.equal('as a manifest')
    await served.store.tags.set('site', (await served.store.put(bytesOf('no site'))).cid)
    expect((await served.got('/')).status).to.equal(422)
  })

  it('hides no path of a blob', async () => {
    const served = await mounted({ list: true, allowTags: true, authorize: bearer('secret') })
    const { cid, hex } = await served.put(bytesOf('a blob'))
    await served.store.tags.set('css', cid)
    for (const path of [
      `/${hex}`, `/blobs/${cid}`, `/ipfs/${cid}`, `/.well-known/rasl/${cid}`, `/v2/x/blobs/blake3:${hex}`, `/${cid}`
    ]) expect(textOf((await served.got(path)).bytes), path).to.equal('a blob')
    expect((await served.got(`/${hex}.obao4`)).status).to.equal(200)
    expect((await served.got('/blobs')).json().blobs).to.not.have.length(0)
    expect((await served.got('/v2/')).json()).to.deep.equal({})
    expect((await served.got('/blobs/css')).headers.get('location')).to.equal(`./${cid}`)
    expect((await served.got('/css/main.css')).status).to.equal(200)
    for (const path of ['/blobs/page.html', '/collections/x', '/.well-known/rasl/x', '/ipfs/none', '/v2/x']) {
      const { status, bytes } = await served.got(path)
      expect(status, path).to.be.oneOf([404, 308, 307])
      expect(textOf(bytes), path).to.not.include('hidden')
    }
    const put = { method: 'PUT', body: 'new', headers: { authorization: 'Bearer secret' } }
    expect((await served.got(`/${hexOf(hash(bytesOf('new')))}`, put)).status).to.equal(201)
    expect((await served.got('/new', put)).status).to.equal(405)
  })

  it('gives its files by their exact paths, and nothing by tricks', async () => {
    const served = await mounted()
    for (const path of [
      '/none', '/css', '/css/', '/INDEX.HTML', '//index.html', '/css//main.css', '/css%2fmain.css', '/css%5cmain.css',
      '/..%2foutside', '/%2e%2e%2foutside', '/..%5coutside', '/%252e%252e/outside', '/e%00f', '/%00', '/index.html%20',
      '/index.html/', '/index.html%3f', '/__proto__', '/constructor', '/toString', `/${'a'.repeat(3000)}`, '/%2e%2e'
    ]) {
      const { status, bytes } = await served.got(path)
      expect([status, textOf(bytes) === 'no'], path).to.deep.equal([path === '/%2e%2e' ? 200 : 404, false])
    }
    for (const path of ['/%', '/%zz', '/docs/%c3%28']) expect((await served.got(path)).status, path).to.equal(400)
    expect((await served.got(`/${'a'.repeat(5000)}`)).status).to.equal(414)
  })

  it('has a top with a slash, also below a base path', async () => {
    const served = await mounted({ basePath: '/my/files' })
    const { status, headers } = await served.got('/my/files?x')
    const location = headers.get('location')
    expect([status, new URL(location, 'http://store.test/my/files?x').pathname]).to.deep.equal([307, '/my/files/'])
    expect((await served.got('/my/filesystem')).status).to.equal(404)
    expect((await served.got('/')).status).to.equal(404)
  })

  it('has lists of folders, and no sandbox, if its owner wants that', async () => {
    const served = await mounted({ collections: { listing: true, sandbox: false, index: 'none' } })
    expect(textOf((await served.got('/css/')).bytes)).to.include('<a href="./main.css">')
    expect((await served.got('/index.html')).headers.get('content-security-policy')).to.equal(null)
  })

  it('is read although too many other sites are asked for', async () => {
    const { now } = performance
    performance.now = () => 0
    try {
      const served = await mounted()
      const codes = await Promise.all(Array.from({ length: 5 }, async (_, i) => {
        const fill = encode({ fill: new Uint8Array(7 << 20), i, resources: {} })
        const { status, headers } = await served.got(`/collections/${(await served.store.put(fill)).cid}/`)
        return `${status} ${headers.get('retry-after')}`
      }))
      expect(codes.sort()).to.deep.equal(['404 null', '404 null', '404 null', '503 3', '503 3'])
      expect((await served.got('/css/main.css')).status).to.equal(200)
    } finally {
      performance.now = now
    }
  })

  /** The files of a folder as `importDirectory` names them. */
  const below = (folder, files) => Object.fromEntries(Object.entries(files).map(([name, text]) =>
    [`${folder}/${name}`, text]))
  const shownAt = async (served, path, options) => {
    const { status, bytes } = await served.got(path, options)
    return [status, textOf(bytes)]
  }

  it('begins in the only folder of a collection, or in the one that its owner names', async () => {
    const files = { 'index.html': 'top', 'a/index.html': 'a', 'a/b/index.html': 'b' }
    for (const [options, at, inA] of [
      [{}, 'top', 'a'], [{ top: 'public' }, 'top', 'a'], [{ top: 'public/a' }, 'a', undefined]
    ]) {
      const served = await mounted({}, below('public', files))
      const named = new Served(served.store, { site: { cid: served.cid, ...options } })
      expect(await shownAt(named, '/')).to.deep.equal([200, at])
      expect(await shownAt(named, '/index.html')).to.deep.equal([200, at])
      if (inA === undefined) continue
      expect(await shownAt(named, '/a/')).to.deep.equal([200, inA])
      expect((await named.got('/a')).headers.get('location')).to.equal('./a/')
      expect((await named.got('/public/index.html')).status).to.equal(404)
    }
    const served = await mounted({}, below('public', files))
    for (const site of [{ cid: 'site', top: '' }, { cid: served.cid, top: 'other' }]) {
      const named = new Served(served.store, { site })
      expect((await named.got('/')).status).to.equal(404)
      expect((await named.got('/public/')).status).to.equal(site.top === '' ? 200 : 404)
    }
    expect(await shownAt(served, `/collections/${served.cid}/public/`)).to.deep.equal([200, 'top'])
    const two = await mounted({}, { ...below('one', files), ...below('onemore', files) })
    expect([(await two.got('/')).status, (await two.got('/one/')).status]).to.deep.equal([404, 200])
    const listed = await mounted({ collections: { listing: true, index: 'none' } }, below('public', files))
    expect(textOf((await listed.got('/')).bytes)).to.include('<h1>/</h1>')
      .and.to.include('<a href="./a/">')
    expect(textOf((await listed.got('/a/')).bytes)).to.include('<a href="./b/">')
  })

  it('begins at the paths of a manifest', async () => {
    const { store } = await newServed()
    const { cid: src } = await store.put(bytesOf('css'))
    const { cid } = await putManifest(store, Manifest.from([['/css/main.css', { src }]]))
    const served = new Served(store, { site: cid })
    expect([(await served.got('/css/main.css')).status, (await served.got('/main.css')).status])
      .to.deep.equal([200, 404])
  })

  it('has pages without .html in their URLs, as static hosts do', async () => {
    const served = await mounted({}, {
      'index.html': 'top',
      'about.html': 'about',
      'about/index.html': 'folder',
      'a/b.html': 'b',
      exact: 'exact',
      'exact.html': 'page',
      '.html': 'odd'
    })
    expect(await shownAt(served, '/about?x')).to.deep.equal([200, 'about'])
    expect((await served.got('/about')).headers.get('content-type')).to.equal('text/html; charset=utf-8')
    expect(await shownAt(served, '/about/')).to.deep.equal([200, 'folder'])
    expect(await shownAt(served, '/a/b')).to.deep.equal([200, 'b'])
    expect(await shownAt(served, '/exact')).to.deep.equal([200, 'exact'])
    for (const path of ['/a/', '/a/b/', '/none']) expect((await served.got(path)).status, path).to.equal(404)
    expect((await served.got(`/collections/${served.cid}/a/b`)).status).to.equal(404)
  })

  it('answers with its 404.html when there is no such file', async () => {
    const served = await mounted({}, below('public', { 'index.html': 'top', '404.html': 'gone', 'a/x': 'x' }))
    for (const path of ['/none', '/a/', '/a/none', '/none/']) {
      const { status, headers, bytes } = await served.got(path, { headers: { range: 'bytes=0-1' } })
      expect([status, textOf(bytes), headers.get('content-type'), headers.get('cache-control')], path)
        .to.deep.equal([404, 'gone', 'text/html; charset=utf-8', 'no-cache'])
      expect(headers.get('content-security-policy')).to.match(/^sandbox /)
      const known = { 'if-none-match': headers.get('etag') }
      expect(await shownAt(served, path, { headers: known })).to.deep.equal([404, 'gone'])
    }
    const head = await served.got('/none', { method: 'HEAD' })
    expect([head.status, head.bytes.length, head.headers.get('content-length')]).to.deep.equal([404, 0, '4'])
    expect(await shownAt(served, '/404.html')).to.deep.equal([200, 'gone'])
    expect((await served.got(`/${hexOf(hash(bytesOf('no blob')))}`)).headers.get('content-type'))
      .to.equal('application/json')
    expect((await served.got(`/collections/${served.cid}/none`)).headers.get('content-type'))
      .to.equal('application/json')
  })

  it('answers with one page for all paths of an application, if its owner wants that', async () => {
    const served = await mounted({}, below('app', { 'index.html': 'app', '404.html': 'gone', 'main.js': 'js' }))
    const app = new Served(served.store, { site: { cid: 'site', fallback: 'index.html' } })
    for (const path of ['/', '/users/5', '/users/', '/none.js']) {
      expect(await shownAt(app, path), path).to.deep.equal([200, 'app'])
    }
    expect(await shownAt(app, '/main.js')).to.deep.equal([200, 'js'])
    const other = new Served(served.store, { site: { cid: 'site', fallback: 'missing.html' } })
    expect(await shownAt(other, '/none')).to.deep.equal([404, 'gone'])
  })

  it('may have rules of its own, which no other collection has', async () => {
    const { store, cid } = await mounted()
    const served = new Served(store, { site: { cid, sandbox: false, index: 'ipfs' } })
    expect((await served.got('/')).headers.get('content-security-policy')).to.equal(null)
    expect(await shownAt(served, '/')).to.deep.equal([200, 'a file'])
    const other = await served.got(`/collections/${cid}/`)
    expect([textOf(other.bytes), other.headers.get('content-security-policy')?.slice(0, 7)])
      .to.deep.equal([FILES['index.html'], 'sandbox'])
    const both = new Served(store, { site: { cid, listing: true }, collections: { sandbox: false } })
    expect((await both.got('/index.html')).headers.get('content-security-policy')).to.equal(null)
    expect((await both.got('/css/')).status).to.equal(200)
    expect((await both.got(`/collections/${cid}/css/`)).status).to.equal(404)
  })

  it('refuses wrong rules', async () => {
    const { store, cid } = await mounted()
    for (const rules of [
      { top: 5 }, { top: '/a' }, { top: 'a/' }, { top: 'a//b' }, { fallback: '' }, { fallback: '/index.html' },
      { fallback: true }, { index: 'a/b' }, { spa: true }, { cid: 5 }, { cid: '' },
      { listing: 3 }, { sandbox: 'no' }
    ]) {
      expect(() => createHandler(store, { site: { cid, ...rules } }), JSON.stringify(rules)).to.throw()
    }
  })

  it('is a CID or the name of a tag', async () => {
    const { store, cid } = await mounted()
    for (const site of [cid, `${cid}`, hexOf(cid.multihash.digest), 'any tag']) createHandler(store, { site })
    for (const site of [5, null, {}, '', '\ud800', new Uint8Array(3)]) {
      expect(() => createHandler(store, { site }), `${site}`).to.throw()
    }
  })
})
