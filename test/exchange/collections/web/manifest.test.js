// Manifests are written, read and refused.
import { expect } from 'chai'
import fc from 'fast-check'
import { encode } from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { HASHSEQ, fromCid, hash, toCid } from '../../../../lib/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { Collection, Manifest, getManifest, putManifest } from '../../../../exchange/collections/index.js'
import { concat, hex, same, unhex } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { holds } from '../../../support/property.js'
import { expectSlip } from '../../../support/slips.js'
import { newStores } from '../../../support/store/stores.js'
import { download } from '../../../../exchange/download/index.js'

const TEXT = fc.string({ unit: 'grapheme' })
const bytesOf = text => new TextEncoder().encode(text)
const cidOf = text => toCid(hash(bytesOf(text)))
const PAGES = [
  ['/', { src: cidOf('page'), 'content-type': 'text/html; charset=utf-8' }],
  ['/index.html', { src: cidOf('page'), 'content-type': 'text/html; charset=utf-8' }],
  ['/styles/main.css', { src: cidOf('style'), 'content-type': 'text/css; charset=utf-8' }],
  ['/data', { src: cidOf('data') }]
]
const shown = manifest => [...manifest].map(([path, { src, ...headers }]) => [path, `${src}`, headers])
const codeOf = action => errorOf(async () => action()).then(({ code }) => code)

describe('a manifest', () => {
  const newStore = newStores()

  it('is a map in DRISL of the resources by path, under a CID of that codec', () => {
    const manifest = Manifest.from([['/a', { src: cidOf('a'), 'content-type': 'text/plain' }]], { name: 'A' })
    // By hand: {"name": "A", "resources": {"/a": {"src": 42(h'00 CID'), "content-type": "text/plain"}}}
    const expected = 'a2' + '646e616d65' + '6141' + '697265736f7572636573' + 'a1' + '622f61' + 'a2' +
      '63737263' + 'd82a5825' + '00' + hex(cidOf('a').bytes) + '6c636f6e74656e742d74797065' + '6a746578742f706c61696e'
    expect(hex(manifest.toBytes())).to.equal(expected)
    expect(manifest.cid.code).to.equal(0x71)
    expect(same(fromCid(manifest.cid), hash(unhex(expected)))).to.equal(true)
    expect(manifest.length).to.equal(1)
    expect(manifest.fields).to.deep.equal({ name: 'A' })
  })

  it('is read as it was written, whatever its content', () => holds('manifest', fc.property(
    fc.uniqueArray(fc.tuple(TEXT, TEXT), { selector: ([path]) => path }),
    fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.oneof(TEXT, fc.integer(), fc.boolean(), fc.constant(null))),
    (list, { resources: _, ...fields }) => {
      const manifest = Manifest.from(list.map(([path, text]) => [`/${path}`, { src: cidOf(text) }]), fields)
      const again = Manifest.fromBytes(manifest.toBytes())
      const byPath = ([a], [b]) => a < b ? -1 : 1
      expect(shown(again).sort(byPath)).to.deep.equal(shown(manifest).sort(byPath))
      expect(again.fields).to.deep.equal({ ...fields })
      expect(`${again.cid}`).to.equal(`${manifest.cid}`)
    }), 100))

  it('keeps unknown keys, and keys in upper case', () => {
    const odd = { sizes: ['1x1'], 'Content-Type': 5, 'X\r\n': null, 'my-Project': { src: cidOf('b') }, '': 1 }
    const bytes = encode({ resources: { '/a': { src: cidOf('a'), ...odd } }, 'Content-Type': 7, 'content-type': 8 })
    const manifest = Manifest.fromBytes(bytes)
    expect(manifest.get('/a')).to.deep.equal({ src: cidOf('a'), ...odd })
    expect(manifest.fields).to.deep.equal({ 'Content-Type': 7, 'content-type': 8 })
    expect(same(manifest.toBytes(), bytes)).to.equal(true)
    expect(manifest.get('/b')).to.equal(undefined)
    const { 'Content-Type': _, ...kept } = odd
    expect(Manifest.from([['/a', { src: cidOf('a'), ...kept }]]).get('/a')).to.deep.include(kept)
  })

  it('may have one resource, whose headers are beside the other fields', () => {
    const resource = { src: cidOf('a'), 'content-type': 'application/pdf', 'content-language': 'en' }
    const fields = { name: 'A', 'Content-Type': 'text/html', version: 1, roots: [] }
    const bytes = encode({ ...resource, ...fields })
    for (const manifest of [Manifest.fromBytes(bytes), Manifest.single(resource, fields)]) {
      expect(manifest.isSingle).to.equal(true)
      expect(shown(manifest)).to.deep.equal(shown([['/', resource]]))
      expect(manifest.fields).to.deep.equal(fields)
      expect(manifest.files().map(([name]) => name)).to.deep.equal(['index.html'])
      expect(same(manifest.toBytes(), bytes)).to.equal(true)
    }
    expect(() => Manifest.single(resource, { src: cidOf('b') })).to.throw(TypeError)
    expect(() => Manifest.single(resource, { resources: {} })).to.throw(TypeError)
    expect(() => Manifest.single({ src: cidOf('a'), 'content-type': '\n' })).to.throw(TypeError)
  })

  it('ignores its own source and headers if it has a map of resources', () => {
    for (const src of [cidOf('b'), 'text']) {
      const fields = { src, 'content-type': '\n', link: '<a>' }
      const manifest = Manifest.fromBytes(encode({ ...fields, resources: { '/a': { src: cidOf('a') } } }))
      expect(manifest.isSingle).to.equal(false)
      expect(shown(manifest)).to.deep.equal(shown([['/a', { src: cidOf('a') }]]))
      expect(manifest.fields).to.deep.equal(fields)
    }
  })

  it('keeps numbers as they were written', () => {
    const bytes = unhex('a2' + '646e616d65fb3ff0000000000000' + '697265736f7572636573a0')
    const manifest = Manifest.fromBytes(bytes)
    expect(manifest.fields).to.deep.equal({ name: 1 })
    expect(same(manifest.toBytes(), bytes)).to.equal(true)
    expect(same(fromCid(manifest.cid), hash(bytes))).to.equal(true)
    bytes[0] = 0
    expect(manifest.toBytes()[0]).to.equal(0xa2)
  })

  it('is made from a collection, and turned into the same collection again', () => {
    const names = ['site/index.html', 'site/styles/main.css', 'site/data', 'other']
    const collection = Collection.from(names.map(name => [name, cidOf(name)]))
    const manifest = Manifest.fromCollection(collection, { folder: 'site', fields: { name: 'Site' } })
    expect(shown(manifest)).to.deep.equal([
      ['/index.html', `${cidOf(names[0])}`, { 'content-type': 'text/html; charset=utf-8' }],
      ['/', `${cidOf(names[0])}`, { 'content-type': 'text/html; charset=utf-8' }],
      ['/styles/main.css', `${cidOf(names[1])}`, { 'content-type': 'text/css; charset=utf-8' }],
      ['/data', `${cidOf(names[2])}`, {}]
    ])
    expect([...manifest.toCollection()].map(([name, cid]) => [name, `${cid}`]))
      .to.deep.equal(names.slice(0, 3).map(name => [name.slice(5), `${cidOf(name)}`]))
    const alone = Manifest.from([['/', { src: cidOf('page') }]])
    expect([...alone.toCollection()].map(([name]) => name)).to.deep.equal(['index.html'])
    expect(Manifest.fromCollection(Collection.from([])).length).to.equal(0)
  })

  it('refuses other forms of the same values, and bytes that are no manifest', async () => {
    const good = Manifest.from(PAGES).toBytes()
    const src = cidOf('a')
    const one = hex(Manifest.from([['/a', { src }]]).toBytes())
    const v0 = CID.createV0(await sha256.digest(bytesOf('a')))
    const odd = [
      new Uint8Array(0), good.slice(0, -1), concat([good, Uint8Array.of(0)]), bytesOf('<!doctype html>'),
      encode([]), encode('text'), encode(src), encode({}), encode({ resources: [] }),
      encode({ resources: { '/a': 1 } }),
      encode({ src: 'a' }), encode({ name: 'a' }), encode({ src, 'content-type': 1 }), encode({ src, prev: 1 }),
      encode({ src, resources: [] }), encode({ resources: {}, prev: 'a' }),
      encode({ resources: {}, roots: [toCid(hash(bytesOf('a')), HASHSEQ)] }), encode({ resources: {}, a: { b: [v0] } }),
      encode({ resources: { '/a': {} } }), encode({ resources: { '/a': { src: 'a' } } }),
      encode({ resources: { a: { src } } }), encode({ resources: { '': { src } } }),
      encode({ resources: { '/a': { src, 'content-type': 1 } } }),
      encode({ resources: { '/a': { src, 'content-type': 'a\r\nset-cookie: b' } } }),
      encode({ resources: { '/a': { src: toCid(hash(bytesOf('a')), HASHSEQ) } } }),
      encode({ resources: { '/a': { src: v0 } } }),
      unhex(one.replace('a1697265', 'bf697265') + 'ff'), // a map of indefinite length
      unhex(one.replace('a1697265', 'b801697265')), // a count that is not in its shortest form
      unhex(one.replace('697265', '78097265')), // the same for the length of a key
      unhex(one.replace('a1622f61', 'a2622f61') + one.slice(one.indexOf('622f61'))), // a key twice
      unhex('a2' + '697265736f7572636573a0' + '646e616d656141'), // keys in the wrong order
      unhex('a2' + '646e616d65fb8000000000000000' + '697265736f7572636573a0'), // the negative zero
      unhex('a2' + '646e616d65fa3fc00000' + '697265736f7572636573a0'), // a short float
      unhex('a2' + '646e616d6562c328' + '697265736f7572636573a0'), // no UTF-8
      unhex('bbffffffffffffffff'), unhex('a1697265736f7572636573bb00ffffffffffffff'), // lying counts
      new Uint8Array(1 << 20).fill(0x81), new Uint8Array(1 << 20).fill(0xa1) // nested too deeply
    ]
    for (const [i, bytes] of odd.entries()) {
      expect(await codeOf(() => Manifest.fromBytes(bytes)), `${i}: ${hex(bytes.subarray(0, 40))}`)
        .to.equal('MANIFEST_INVALID')
    }
    for (let at = 0; at < good.length; at++) {
      expect(await codeOf(() => Manifest.fromBytes(good.slice(0, at)))).to.equal('MANIFEST_INVALID')
    }
  })

  it('refuses wrong paths, headers and names', async () => {
    const src = cidOf('a')
    const v0 = CID.createV0(await sha256.digest(bytesOf('a')))
    for (const resources of [
      [['a', { src }]], [[5, { src }]], [['/a', src]], [['/a', { src, 'Content-Type': 'a' }]],
      [['/a', { src, 'content-type': 'a\n' }]], [['/a', { src, 'content-type': 5 }]], 5
    ]) expect(() => Manifest.from(resources), JSON.stringify(resources)).to.throw(TypeError)
    expect(() => Manifest.from([], { resources: {} })).to.throw(TypeError)
    for (const wrong of [undefined, NaN, v0, { a: [toCid(hash(bytesOf('a')), HASHSEQ)] }, '\ufeff']) {
      expect(() => Manifest.from([], { wrong }), String(wrong)).to.throw()
      expect(() => Manifest.from([['/a', { src, wrong }]]), String(wrong)).to.throw()
    }
    expect(await codeOf(() => Manifest.from([['/a', { src: 'x' }]]))).to.equal('CID_UNSUPPORTED')
    expect(() => Manifest.fromCollection([])).to.throw(TypeError)
  })

  it('is kept with a sequence whose tag protects it and its blobs, and which can be downloaded with them', async () => {
    const [{ store }, { store: other }] = [await newStore(), await newStore()]
    for (const text of ['page', 'style', 'data']) await store.put(bytesOf(text))
    const manifest = Manifest.from(PAGES)
    const { cid, sequence, length, isNew } = await putManifest(store, manifest, { tag: 'site' })
    expect(`${cid}`).to.equal(`${manifest.cid}`)
    expect({ length, isNew }).to.deep.equal({ length: 4, isNew: true })
    expect(`${(await store.tags.get('site')).cid}`).to.equal(`${sequence}`)
    expect((await store.gc()).blobs).to.equal(0)
    const result = await download(other, sequence, { from: [store], recursive: true })
    expect(result).to.include({ members: 4, complete: true }) // the page is a member once
    expect(shown(await getManifest(other, cid))).to.have.length(4)
    expect((await putManifest(store, manifest)).isNew).to.equal(false)
  })

  it('is refused before it is decoded when it has too many items', async () => {
    const manifest = Manifest.from(PAGES)
    const bytes = manifest.toBytes()
    const items = 3 + 7 * 3 + 5 // the map, its one key, and the map under it; three resources with types, one without
    expect(Manifest.fromBytes(bytes, { maxItems: items }).length).to.equal(4)
    const error = await errorOf(async () => Manifest.fromBytes(bytes, { maxItems: items - 1 }))
    expect(error).to.include({ code: 'MANIFEST_INVALID' })
    expect(error.message).to.include('more than 28 items')
    const { store } = await newStore()
    const { cid } = await putManifest(store, manifest).catch(() => store.put(bytes))
    expect(await codeOf(() => getManifest(store, cid, { maxItems: 5 }))).to.equal('MANIFEST_INVALID')
    await expectSlip('maxItems', () => Manifest.fromBytes(bytes, { maxItems: -1 }), [RangeError])
  })

  it('takes as a source every CID that a manifest in bytes may have', async () => {
    const digest = await sha256.digest(bytesOf('page'))
    const list = [
      CID.createV1(0x55, digest), CID.createV1(0x71, digest), cidOf('page'), toCid(hash(bytesOf('page')), 0x71)
    ]
    for (const src of list) {
      const read = Manifest.fromBytes(encode({ resources: { '/': { src } } }))
      for (const given of [src, `${src}`, src.bytes]) {
        const again = Manifest.from([['/', { src: given }]])
        expect(`${again.get('/').src}`).to.equal(`${src}`)
        expect(`${again.cid}`).to.equal(`${read.cid}`)
      }
      expect(`${Manifest.from(read).cid}`).to.equal(`${read.cid}`)
    }
    const sha = Manifest.from([['/', { src: list[0] }]])
    expect(await codeOf(() => sha.toCollection())).to.equal('CID_UNSUPPORTED')
    for (const src of [CID.createV0(digest), CID.createV1(0x70, digest)]) {
      expect(await codeOf(() => Manifest.from([['/', { src }]])), `${src}`).to.equal('CID_UNSUPPORTED')
    }
  })

  it('may name blobs by SHA2-256, as base DASL does, if the store has these aliases', async () => {
    const { store } = await newStore()
    const src = CID.createV1(0x55, await sha256.digest(bytesOf('page')))
    const manifest = Manifest.fromBytes(encode({ resources: { '/': { src } } }))
    expect(await codeOf(() => putManifest(store, manifest))).to.equal('STORE_NOT_FOUND')
    await asBlockstore(store).put(src, bytesOf('page'))
    const { sequence } = await putManifest(store, manifest)
    expect(same((await store.bytes(sequence)).slice(32), hash(bytesOf('page')))).to.equal(true)
  })

  it('is refused when it is longer than the caller allows', async () => {
    const { store } = await newStore()
    const { cid } = await putManifest(store, Manifest.from(PAGES))
    expect(await codeOf(() => getManifest(store, cid, { maxBytes: 100 }))).to.equal('COLLECTION_TOO_LONG')
    expect(await codeOf(() => getManifest(store, cidOf('none')))).to.equal('STORE_NOT_FOUND')
    const { cid: text } = await store.put(bytesOf('no manifest'))
    expect(await codeOf(() => getManifest(store, text))).to.equal('MANIFEST_INVALID')
    await expectSlip('manifest', () => putManifest(store, {}), [TypeError])
  })
})
