// Files of collections and manifests over HTTP: a static site is served from one CID.
import { expect } from 'chai'
import { base32upper } from 'multiformats/bases/base32'
import { HASHSEQ, fromCid, hash, toCid } from '../../../lib/index.js'
import { createHandler } from '../../../exchange/http/index.js'
import { Collection, Manifest, putCollection, putManifest } from '../../../exchange/collections/index.js'
import { concat } from '../../support/bytes.js'
import { hexOf, newHandlers } from '../../support/store/served.js'

const bytesOf = text => new TextEncoder().encode(text)
const textOf = bytes => new TextDecoder().decode(bytes)
/** Bytes of a page of a list: a piece of 256 KiB, and the longest entry. */
const MOST_OF_A_LIST = 320_000
const FILES = {
  'index.html': '<!doctype html><link rel="stylesheet" href="styles/main.css"><p>Hello',
  'styles/main.css': 'p { color: green }',
  'docs/index.html': 'docs',
  'docs/a b%2f&"<é>.txt': 'odd',
  'script.mjs': 'export {}',
  data: 'some data'
}

describe('an HTTP handler serves the files of', () => {
  const newServed = newHandlers()

  /** A handler with a site, as a collection, as a manifest, and as the sequence of the manifest. */
  async function serve (options, files = FILES) {
    const served = await newServed(options)
    const entries = []
    for (const [name, text] of Object.entries(files)) entries.push([name, (await served.store.put(bytesOf(text))).cid])
    const { cid: collection } = await putCollection(served.store, entries)
    const { cid: manifest, sequence } =
      await putManifest(served.store, Manifest.fromCollection(Collection.from(entries)))
    const all = [collection, manifest, sequence]
    const at = path => served.got(`/collections/${collection}/${path}`)
    return Object.assign(served, { all, collection, manifest, sequence, at })
  }

  it('a collection, a manifest, and the sequence of a manifest, with their types', async () => {
    const served = await serve()
    for (const cid of served.all) {
      for (const [path, name, type] of [
        ['', 'index.html', 'text/html; charset=utf-8'], ['index.html', 'index.html', 'text/html; charset=utf-8'],
        ['styles/main.css', 'styles/main.css', 'text/css; charset=utf-8'],
        ['docs/', 'docs/index.html', 'text/html; charset=utf-8'],
        ['script.mjs', 'script.mjs', 'text/javascript; charset=utf-8'],
        ['data', 'data', 'application/octet-stream'],
        [`docs/${encodeURIComponent('a b%2f&"<é>.txt')}`, 'docs/a b%2f&"<é>.txt', 'text/plain; charset=utf-8']
      ]) {
        const { status, headers, bytes } = await served.got(`/collections/${cid}/${path}`)
        expect([status, textOf(bytes), headers.get('content-type')], `${cid} ${path}`)
          .to.deep.equal([200, FILES[name], type])
        expect(headers.get('etag')).to.equal(`"${toCid(hash(bytes))}"`)
        expect(headers.get('x-content-type-options')).to.equal('nosniff')
        expect(headers.get('cache-control')).to.include('immutable')
        expect(headers.get('content-security-policy')).to.match(/^sandbox allow-scripts/).and.not.include('same-origin')
      }
    }
  })

  it('with ranges, conditions and HEAD', async () => {
    const served = await serve()
    const path = `/collections/${served.manifest}/data`
    const part = await served.got(path, { headers: { range: 'bytes=5-' } })
    expect([part.status, textOf(part.bytes), part.headers.get('content-range')])
      .to.deep.equal([206, 'data', 'bytes 5-8/9'])
    expect((await served.got(path, { headers: { range: 'bytes=9-' } })).status).to.equal(416)
    const etag = part.headers.get('etag')
    expect((await served.got(path, { headers: { 'if-none-match': etag } })).status).to.equal(304)
    const head = await served.got(path, { method: 'HEAD' })
    expect([head.status, head.bytes.length, head.headers.get('content-length')]).to.deep.equal([200, 0, '9'])
    expect((await served.got(path, { method: 'PUT', body: 'x' })).status).to.equal(405)
    expect((await served.got(path, { method: 'OPTIONS' })).status).to.equal(204)
  })

  it('and gives each folder one URL, so that relative links in it work', async () => {
    const served = await serve()
    const { collection: cid } = served
    const hex = hexOf(fromCid(cid))
    const upper = cid.toString(base32upper)
    for (const [path, location] of [
      [`/collections/${cid}`, `./${cid}/`], [`/collections/${cid}/docs`, './docs/'],
      [`/collections/${cid}/docs?a=b`, './docs/?a=b'], [`/collections/${upper}`, `./${cid}/`],
      [`/collections/${upper}/docs`, './docs/'], [`/collections/${hex}`, `./${toCid(fromCid(cid))}/`]
    ]) {
      const { status, headers } = await served.got(path)
      expect([status, headers.get('location')], path).to.deep.equal([308, location])
    }
    for (const name of [upper, hex]) expect((await served.got(`/collections/${name}/data`)).status).to.equal(200)
  })

  it('by tags, if they are allowed, with redirects to the folder that the tag names now', async () => {
    const served = await serve({ allowTags: true })
    const { collection: cid } = served
    await served.store.tags.set('tag', cid)
    for (const [path, location] of [
      ['/collections/tag', `./${cid}/`], ['/collections/tag/', `../${cid}/`],
      ['/collections/tag/docs/x?y', `../../${cid}/docs/x?y`]
    ]) {
      const { status, headers } = await served.got(path)
      expect([status, headers.get('location')], path).to.deep.equal([307, location])
    }
  })

  it('by their exact paths, and nothing by tricks', async () => {
    const odd = { '../outside': 'no', 'a/../b': 'no', 'c\\d': 'no', 'e\0f': 'no', '.': 'no' }
    const served = await serve({}, { ...FILES, ...odd })
    for (const path of [
      'Data', 'INDEX.HTML', 'data/', 'data/index.html', 'docs//index.html', '/data', 'styles', 'styles/', 'none',
      'styles%2fmain.css', 'styles%2Fmain.css', 'styles%5cmain.css', 'c%5Cd', 'c\\d', 'data%00', 'e%00f', '%00',
      '..%2foutside', '%2e%2e%2foutside', '%2e%2e/outside', '..%5coutside', '%252e%252e/data', 'docs/%2e%2e%2fdata',
      'data%2f', 'data%20', 'data.', 'data::$DATA', 'index.html%3f', 'index.html;x', 'styles%252fmain.css',
      'a%2f..%2fb', '%2e', '%EF%BC%8E%EF%BC%8E/data', '__proto__', 'constructor', 'toString'
    ]) {
      const { status, bytes } = await served.at(path)
      const { pathname } = new URL(`http://a.test/collections/${served.collection}/${path}`)
      expect(status, path).to.equal(pathname.endsWith(`${served.collection}/`) ? 200 : 404)
      expect(textOf(bytes), path).to.not.include('no data').and.not.equal('no')
    }
    for (const path of ['%', '%zz', 'docs/%c3%28', '%ff']) expect((await served.at(path)).status, path).to.equal(400)
    // Clients resolve `..` before they send a URL. The result is another path, never a file of the server.
    expect((await served.at('docs/../data')).status).to.equal(200)
    expect((await served.at('../../../etc/passwd')).status).to.equal(404)
  })

  it('as a list only if the owner wants that', async () => {
    const without = await serve()
    expect((await without.at('styles/')).status).to.equal(404)
    const served = await serve({ collections: { listing: true, index: 'none.html' } })
    const { status, headers, bytes } = await served.at('docs/')
    expect([status, headers.get('content-security-policy')]).to.deep.equal([200, "default-src 'none'"])
    expect(textOf(bytes)).to.include('<a href="./index.html">index.html</a>')
    expect(textOf(bytes)).to.include('href="./a%20b%252f%26%22%3C%C3%A9%3E.txt">a b%2f&#38;&#34;&#60;é&#62;.txt<')
    expect(textOf((await served.at('')).bytes)).to.include('<a href="./styles/">styles/</a>')
    expect((await served.at('styles')).headers.get('location')).to.equal('./styles/')
    expect((await served.at('none/')).status).to.equal(404)
  })

  it('as lists with each file and folder once, in order', async () => {
    const names = [
      'a', 'a.txt', 'a/b/c', 'a/b/d', 'a/b.txt', 'a/b', 'a0', 'b/c/d/e', 'b-c/d', 'b', 'B', 'b/c/d/', '\u{1f600}/x',
      '\uffee'
    ]
    const served = await serve({ collections: { listing: true } }, Object.fromEntries(names.map(name => [name, 'x'])))
    for (const folder of ['', 'a/', 'a/b/', 'b/', 'b/c/', 'b-c/', '\u{1f600}/', 'none/', 'a0/', 'a.txt/', 'B/c/']) {
      const inside = names.filter(name => name.startsWith(folder))
        .map(name => /^[^/]*\/?/.exec(name.slice(folder.length))[0])
      const { status, bytes } = await served.at(encodeURI(folder))
      expect(status, folder).to.equal(inside.length > 0 ? 200 : 404)
      if (status === 404) continue
      const listed = Array.from(textOf(bytes).matchAll(/<li><a href="[^"]*">([^<]*)/g), ([, name]) => name)
      expect(listed, folder).to.deep.equal([...new Set(inside)].sort())
    }
    for (const [path, status] of [['b/c', 308], ['a', 200], ['a/b', 200], ['b-c', 308], ['b-', 404], ['no', 404]]) {
      expect((await served.at(path)).status, path).to.equal(status)
    }
  })

  it('with the headers of a manifest, except those that would affect more than the file', async () => {
    const served = await serve()
    const src = (await served.store.put(bytesOf('<svg/>'))).cid
    const { cid } = await putManifest(served.store, Manifest.from([
      ['/', {
        src, 'content-type': 'image/svg+xml', 'content-language': 'en', 'set-cookie': 'a=b', 'cache-control': 'x'
      }],
      ['/odd', { src, 'content-language': ['en'] }], ['/dir/', { src, 'content-type': 'text/plain' }]
    ]))
    const { headers } = await served.got(`/collections/${cid}/`)
    expect([headers.get('content-type'), headers.get('content-language'), headers.get('set-cookie')])
      .to.deep.equal(['image/svg+xml', 'en', null])
    expect(headers.get('cache-control')).to.include('immutable')
    expect((await served.got(`/collections/${cid}/odd`)).headers.get('content-language')).to.equal(null)
    expect((await served.got(`/collections/${cid}/dir/`)).headers.get('content-type')).to.equal('text/plain')
  })

  it('and has the resource of a manifest of one at its top', async () => {
    const served = await serve()
    const { cid: src } = await served.store.put(bytesOf('%PDF'))
    const type = 'application/pdf'
    const { cid } = await putManifest(served.store, Manifest.single({ src, 'content-type': type }, { name: 'A' }))
    const { headers, bytes } = await served.got(`/collections/${cid}/`)
    expect([headers.get('content-type'), textOf(bytes)]).to.deep.equal([type, '%PDF'])
    expect((await served.got(`/collections/${cid}/other`)).status).to.equal(404)
  })

  it('and tells what is wrong with other blobs, and which blobs are missing', async () => {
    const served = await serve()
    const { cid: text } = await served.store.put(bytesOf('no collection'))
    const first = await served.store.put(bytesOf('x'))
    const { cid: odd } = await served.store.put(concat([fromCid(first.cid), fromCid(first.cid)]))
    const { cid: lost } = await served.store.put(new Uint8Array(64).fill(5)) // its first bytes are no hash of a blob
    for (const [path, status, code] of [
      [`/collections/${text}/`, 422, 'MANIFEST_INVALID'], [`/collections/${odd}/`, 422, 'COLLECTION_INVALID'],
      [`/collections/${lost}/`, 422, 'COLLECTION_INVALID'],
      [`/collections/${toCid(hash(bytesOf('none')), HASHSEQ)}/`, 404, 'STORE_NOT_FOUND'],
      ['/collections/x/', 404, 'HTTP_NOT_FOUND'], ['/collections/', 404, 'HTTP_NOT_FOUND'],
      ['/collections', 404, 'HTTP_NOT_FOUND']
    ]) {
      const answer = await served.got(path)
      expect([answer.status, answer.json().code], path).to.deep.equal([status, code])
    }
    expect((await served.at('data')).status).to.equal(200)
    await served.store.delete(hash(bytesOf(FILES.data)))
    expect((await served.at('data')).status).to.equal(404)
    await served.store.delete(served.collection)
    expect((await served.at('index.html')).status).to.equal(404)
  })

  it('and reads a blob once for all requests, also one that is no site', async () => {
    const served = await serve()
    const bomb = new Uint8Array(1 << 16).fill(0x80) // in CBOR, a list of empty lists
    bomb.set([0xa1, 0x61, 0x61, 0x9a, 0, 0, 0xff, 0xf8])
    const { cid } = await served.store.put(bomb)
    const read = []
    const { bytes } = served.store
    served.store.bytes = (root, ...rest) => {
      if (!rest[0]?.end) read.push(hexOf(root))
      return bytes.call(served.store, root, ...rest)
    }
    const requests = length => Array.from({ length }, () => served.got(`/collections/${cid}/`))
    for (const { status, bytes } of await Promise.all(requests(9))) {
      expect(status).to.equal(422)
      expect(textOf(bytes)).to.include(`${cid} is neither a collection nor a manifest`)
    }
    await Promise.all(requests(3))
    expect(read).to.deep.equal([hexOf(fromCid(cid))])
    await Promise.all([1, 2, 3].map(() => served.got(`/collections/${served.manifest}/`)))
    expect(read).to.deep.equal([cid, served.manifest].map(cid => hexOf(fromCid(cid))))
    // A collection is found when the store has its names.
    const late = Collection.from([['a', hash(bytesOf(FILES.data))]])
    await served.store.put(late.toBytes().sequence)
    expect((await served.got(`/collections/${late.cid}/a`)).status).to.equal(422)
    await served.store.put(late.toBytes().meta)
    expect((await served.got(`/collections/${late.cid}/a`)).status).to.equal(200)
  })

  it('and lists a long folder in short pages', async () => {
    const served = await serve({ collections: { listing: true } })
    const src = toCid(hash(bytesOf(FILES.data)))
    const names = Array.from({ length: 10_001 }, (_, i) => i % 3 === 0 ? `many/${i}` : `many/${i}/${i % 7}/x`)
    const { cid } = await putCollection(served.store, [...names, 'few/1', 'other'].map(name => [name, src]))
    const listed = []
    let pages = 0
    for (let query = ''; query !== undefined; pages++) {
      const { bytes, headers } = await served.got(`/collections/${cid}/many/${query}`)
      expect(bytes.length).to.be.below(MOST_OF_A_LIST)
      expect(headers.get('content-length')).to.equal(`${bytes.length}`)
      listed.push(...Array.from(textOf(bytes).matchAll(/<li><a href="\.\/([^"]*)">\1<\/a>/g), ([, name]) => name))
      query = /<a href="(\?from=\d+)" rel="next">/.exec(textOf(bytes))?.[1]
    }
    expect(listed).to.deep.equal(names.map(name => /many\/(\d+\/?)/.exec(name)[1]).sort())
    expect(pages).to.be.within(2, 9)
    for (const path of ['few/', '']) {
      expect(textOf((await served.got(`/collections/${cid}/${path}`)).bytes), path).to.not.include('next')
    }
    for (const [query, status] of [
      ['?from=x', 400], ['?from=-1', 400], ['?from=01', 400], ['?from=1&from=1', 400], ['?from=99999999', 404],
      ['?from=0', 404]
    ]) expect((await served.got(`/collections/${cid}/many/${query}`)).status, query).to.equal(status)
  })

  it('and lists names that grow when they are escaped, in pages that are as short', async () => {
    const served = await serve({ collections: { listing: true } })
    const src = toCid(hash(bytesOf(FILES.data)))
    const names = Array.from({ length: 100 }, (_, i) => '&'.repeat(65_000) + i)
    const middling = Array.from({ length: 127 }, (_, i) => `e/${'&'.repeat(4000)}${i}`)
    const { cid } = await putCollection(served.store, [...names, ...middling].map(name => [name, src]))
    for (const method of ['GET', 'HEAD']) {
      for (const path of ['', 'e/']) {
        const { headers } = await served.got(`/collections/${cid}/${path}`, { method })
        expect(Number(headers.get('content-length')), path).to.be.below(MOST_OF_A_LIST)
      }
    }
    const list = textOf((await served.got(`/collections/${cid}/`)).bytes)
    expect(list.match(/<li>/g)).to.have.length(101)
    expect(list).to.match(/<li>(&#38;){200}…/)
    const { bytes } = await served.got(`/collections/${cid}/e/`)
    expect(textOf(bytes)).to.include(`<li><a href="./${'%26'.repeat(4000)}0">`)
    expect(served.events.map(({ sent }) => sent).every(sent => sent < MOST_OF_A_LIST)).to.equal(true)
  })

  it('unless that is turned off, and without a sandbox if the owner wants that', async () => {
    const off = await serve({ collections: false })
    expect((await off.at('')).status).to.equal(404)
    const trusted = await serve({ collections: { sandbox: false }, basePath: '/files' })
    const { status, headers } = await trusted.got(`/files/collections/${trusted.manifest}/`)
    expect([status, headers.get('content-security-policy')]).to.deep.equal([200, null])
    for (const collections of [
      5, null, { index: '' }, { index: 'a/b' }, { other: 1 }, { listing: 3 }, { sandbox: 'no' }
    ]) {
      expect(() => createHandler(trusted.store, { collections }), JSON.stringify(collections)).to.throw(TypeError)
    }
  })
})
