// Everything that works on a store works on one in a bucket.
import { expect } from 'chai'
import { interfaceBlockstoreTests } from 'interface-blockstore-tests'
import { MemoryLevel } from 'memory-level'
import { sha256 } from 'multiformats/hashes/sha2'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { fetchVerified, mirrorOf } from '../../../../verifier/index.js'
import { BlobStore } from '../../../../store/index.js'
import { asBlockstore } from '../../../../exchange/blockstore/index.js'
import { BucketStore, memoryBucket } from '../../../../exchange/bucket/index.js'
import {
  Manifest, collectionEntries, getCollection, getManifest, putCollection, putManifest
} from '../../../../exchange/collections/index.js'
import { download, fromMirrors } from '../../../../exchange/download/index.js'
import { bearer } from '../../../../exchange/http/index.js'
import { irohMirror, serveIroh } from '../../../../exchange/iroh/index.js'
import { copy, exportCar, importCar, push } from '../../../../exchange/transfer/index.js'
import { concat, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { collect, errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { absence, closeEndpoints, openEndpoint } from '../../../support/iroh.js'
import { cidOf } from '../../../support/store/blocks.js'
import { Served, hexOf } from '../../../support/store/served.js'
import { skipAloud } from '../../../support/vectors.js'

const SMALL = [1, 300, GROUP + 1, 70_000].map((size, i) => noise(size, 700 + i))
const LONG = noise(3 * MIB + 5000, 710)
const CID = toCid(hash(LONG))
const HEX = hexOf(hash(LONG))
const levels = () => ({ index: new MemoryLevel(), data: new MemoryLevel() })
const text = new TextEncoder()
/** A mirror that is the server of a store. */
const mirrorAt = served => mirrorOf('http://store.test/blobs/{cid}', {
  fetch: (input, init) => served.handler(new Request(input, init))
})

describe('bucket store: guests', () => {
  const opened = []
  /** Opens a store as another process would, with a local store of its own. */
  const openOn = async (bucket = memoryBucket(), options) => {
    const store = await BucketStore.open(bucket, { local: levels(), ...options })
    opened.push(store)
    return store
  }
  const openBlobStore = async options => {
    const store = await BlobStore.open(levels(), options)
    opened.push(store)
    return store
  }
  /** A process that writes, and one that reads what it has written. */
  const openTwo = async () => {
    const bucket = memoryBucket()
    return [await openOn(bucket), await openOn(bucket)]
  }
  const expectBlob = async (store, bytes, what) =>
    expect(same(await store.bytes(hash(bytes)), bytes), what).to.equal(true)

  afterEach(() => Promise.all(opened.splice(0).map(store => store.close())))

  describe('an HTTP handler', () => {
    it('serves what another process has put: bytes, ranges, slices, outboards', async () => {
      const [writer, reader] = await openTwo()
      await writer.put(LONG)
      const range = { start: MIB + 7, end: MIB + 99_999 }
      const expected = {
        'a range': [
          `/${HEX}`, { range: `bytes=${range.start}-${range.end - 1}` }, 206, LONG.subarray(range.start, range.end)
        ],
        'the end': [`/${HEX}`, { range: 'bytes=-9' }, 206, LONG.subarray(-9)],
        'all bytes': [`/blobs/${CID}`, {}, 200, LONG],
        'a slice': [`/${HEX}?format=bao-slice&start=${range.start}&end=${range.end}`, {}, 200,
          encodeSliceSync(LONG, createOutboardSync(LONG), range)],
        'a proof of the size': [`/${HEX}?format=bao-slice&start=0&end=0`, {}, 200,
          encodeSliceSync(LONG, createOutboardSync(LONG), ChunkRanges.last)],
        'an outboard': [`/${HEX}.obao4`, {}, 200, createOutboardSync(LONG).bytes],
        'an outboard of other groups': [`/${HEX}.obao2`, {}, 200, createOutboardSync(LONG, { groupLog: 2 }).bytes]
      }
      for (const [what, [path, headers, wanted, body]] of Object.entries(expected)) {
        const served = new Served(reader)
        const { status, bytes } = await served.got(path, { headers })
        expect(status, what).to.equal(wanted)
        expect(same(bytes, body), what).to.equal(true)
        const head = await served.ask(path, { method: 'HEAD', headers })
        expect([head.status, head.headers.get('content-length')], what)
          .to.deep.equal([200, what === 'a range' || what === 'the end' ? `${LONG.length}` : `${body.length}`])
      }
      const served = new Served(reader)
      expect((await served.askWith(`/${HEX}`, { 'if-none-match': `"${CID}"` })).status).to.equal(304)
      expect((await served.askWith(`/${HEX}`, { range: 'bytes=9999999-' })).status).to.equal(416)
      expect((await served.ask(`/${hexOf(hash(noise(9)))}`)).status).to.equal(404)
    })

    it('takes uploads, slices, tags and deletions, and lists', async () => {
      const [store, other] = await openTwo()
      const authorize = bearer('token', ['put', 'delete', 'tag'])
      const served = new Served(store, { authorize, allowTags: true, list: true })
      const headers = { authorization: 'Bearer token' }
      const put = await served.got(`/blobs/${CID}`, { method: 'PUT', headers, body: LONG })
      expect([put.status, put.json()]).to.deep.equal([201, { cid: `${CID}`, size: LONG.length, isNew: true }])
      const post = await served.got('/blobs', { method: 'POST', headers, body: SMALL[1] })
      expect(post.status).to.equal(201)
      const slice = encodeSliceSync(SMALL[3], createOutboardSync(SMALL[3]))
      const sliced = await served.got(`/blobs/${toCid(hash(SMALL[3]))}`, {
        method: 'PUT', headers: { ...headers, 'content-type': 'application/vnd.bao-slice' }, body: slice
      })
      expect(sliced.json()).to.include({ complete: true, received: SMALL[3].length })
      expect((await served.got(`/tags/film?cid=${CID}`, { method: 'PUT', headers })).status).to.equal(200)
      const elsewhere = new Served(other, { allowTags: true, list: true })
      expect((await elsewhere.got('/tags')).json().tags.map(({ name }) => name)).to.deep.equal(['film'])
      const { blobs } = (await elsewhere.got('/blobs')).json()
      expect(blobs.map(({ cid }) => cid))
        .to.have.members([LONG, SMALL[1], SMALL[3]].map(bytes => `${toCid(hash(bytes))}`))
      const redirect = await elsewhere.ask('/blobs/film')
      expect([redirect.status, redirect.headers.get('location')]).to.deep.equal([307, `./${CID}`])
      expect((await served.got(`/blobs/${CID}`, { method: 'DELETE', headers })).status).to.equal(409)
      expect((await served.got('/tags/film', { method: 'DELETE', headers })).status).to.equal(200)
      expect((await served.got(`/blobs/${CID}`, { method: 'DELETE', headers })).json())
        .to.deep.equal({ cid: `${CID}`, blobs: 1, bytes: LONG.length })
      expect((await new Served(await openOn(memoryBucket())).ask(`/blobs/${CID}`)).status).to.equal(404)
    })

    it('is an origin of a cache, and answers however many servers have passed a request on', async () => {
      const [writer, reader] = await openTwo()
      await writer.put(LONG)
      const served = new Served(reader)
      for (const path of [`/${HEX}`, `/${HEX}?format=bao-slice`, `/${HEX}.obao4`]) {
        const response = await served.askWithAny(path, {}, { 'cdn-loop': 'baobox; hops=9' })
        expect(response.status, path).to.equal(200)
        await response.arrayBuffer()
      }
      const edge = await openBlobStore({ supply: fromMirrors([mirrorAt(served)]) })
      expect(same(await edge.bytes(CID, { start: 5, end: 2 * MIB }), LONG.subarray(5, 2 * MIB))).to.equal(true)
    })

    it('serves the files of collections and manifests, also as a site', async () => {
      const [writer, reader] = await openTwo()
      const page = text.encode('<h1>hello</h1>')
      await writer.put(page)
      await writer.put(LONG)
      const files = [['index.html', hash(page)], ['film.bin', hash(LONG)]]
      const { cid } = await putCollection(writer, files, { tag: 'site' })
      const served = new Served(reader, { site: 'site', allowTags: true })
      expect(same((await served.got('/')).bytes, page)).to.equal(true)
      const film = await served.got(`/collections/${cid}/film.bin`, { headers: { range: 'bytes=100-199' } })
      expect(same(film.bytes, LONG.subarray(100, 200))).to.equal(true)
      const manifest = Manifest.from([['/', { src: toCid(hash(page)), 'content-type': 'text/html' }]])
      const put = await putManifest(writer, manifest, { tag: 'masl' })
      const web = await new Served(reader).got(`/collections/${put.cid}/`)
      expect([web.status, web.headers.get('content-type')]).to.deep.equal([200, 'text/html'])
    })

    it('tells members of a sequence what another process has put', async () => {
      const [writer, reader] = await openTwo()
      await listed(writer.putMany(SMALL))
      const { cid } = await putCollection(writer, SMALL.map((bytes, i) => [`${i}`, hash(bytes)]), { tag: 'all' })
      const to = await openBlobStore()
      await download(to, cid, { from: [mirrorAt(new Served(reader))], recursive: true })
      for (const bytes of SMALL) await expectBlob(to, bytes)
    })
  })

  it('download() into it keeps blobs and members, and goes on where it has stopped', async () => {
    const from = await openBlobStore()
    await listed(from.putMany([...SMALL, LONG]))
    const { cid } = await putCollection(from, [...SMALL, LONG].map((bytes, i) => [`${i}`, hash(bytes)]), { tag: 'all' })
    const options = { from: [mirrorAt(new Served(from))] }
    const [store, other] = await openTwo()
    const first = { start: 0, end: MIB }
    await store.receive(CID, encodeSliceSync(LONG, createOutboardSync(LONG), first), first)
    const one = await download(store, CID, { ...options, tag: 'film' })
    expect(one).to.include({ complete: true, size: LONG.length })
    expect(one.received).to.equal(LONG.length - MIB)
    await expectBlob(other, LONG)
    await download(store, cid, { ...options, recursive: true, tag: 'everything' })
    for (const bytes of SMALL) await expectBlob(other, bytes)
    expect((await listed(other.tags.list())).map(({ name }) => name)).to.deep.equal(['everything', 'film'])
    expect((await listed(other.list())).every(({ complete }) => complete)).to.equal(true)
    await other.tags.delete('film')
    await other.gc()
    for (const bytes of SMALL) await expectBlob(other, bytes)
  })

  it('copy() goes in both directions, with tags and aliases, and repeats nothing', async () => {
    const from = await openBlobStore()
    await listed(from.putMany([...SMALL, LONG]))
    await asBlockstore(from).put(await cidOf(sha256, SMALL[2]), SMALL[2])
    await from.put(concat([hash(SMALL[0]), hash(LONG)]), { tag: 'all', format: 'hashseq', meta: { by: 'us' } })
    await from.tags.set('alias', await cidOf(sha256, SMALL[2]))
    const [bucket, second] = [await openOn(), await openOn()]
    const back = await openBlobStore()
    for (const [source, target] of [[from, bucket], [bucket, second], [second, back]]) {
      expect((await copy(source, target)).failed).to.deep.equal([])
      for (const bytes of [...SMALL, LONG]) await expectBlob(target, bytes)
      expect(await target.tags.get('all')).to.deep.include({ format: 'hashseq', meta: { by: 'us' } })
      expect((await target.tags.get('alias')).cid.multihash.code).to.equal(sha256.code)
      expect(await asBlockstore(target).has(await cidOf(sha256, SMALL[2]))).to.equal(true)
      expect(await target.fsck()).to.include({ isSound: true })
      expect(await copy(source, target)).to.include({ blobs: 0, bytes: 0, tags: 0 })
    }
  })

  it('push() sends from it, and into a server over it', async () => {
    const [writer, reader] = await openTwo()
    await listed(writer.putMany([...SMALL, LONG]))
    const { cid } = await putCollection(writer, [...SMALL, LONG].map((bytes, i) => [`${i}`, hash(bytes)]))
    const target = await openOn()
    const served = new Served(target, { authorize: bearer('token', ['put', 'tag']), allowTags: true })
    const fetch = (input, init) => served.handler(new Request(input, { ...init, duplex: 'half' }))
    const headers = { authorization: 'Bearer token' }
    const pushed = () => push(reader, cid, { to: 'http://store.test', recursive: true, headers, fetch })
    expect(await pushed()).to.include({ blobs: SMALL.length + 3 })
    for (const bytes of [...SMALL, LONG]) await expectBlob(target, bytes)
    expect(await pushed()).to.include({ blobs: 0 })
  })

  it('exportCar() and importCar() write and read it', async () => {
    const [writer, reader] = await openTwo()
    await listed(writer.putMany([...SMALL, LONG]))
    await asBlockstore(writer).put(await cidOf(sha256, SMALL[2]), SMALL[2])
    await writer.put(concat([hash(SMALL[0]), hash(LONG)]), { tag: 'all', format: 'hashseq' })
    const car = await collect(exportCar(reader))
    const other = await openOn()
    const { blocks } = await importCar(other, car, { tagRoot: (_, i) => `root ${i}` })
    expect(blocks, 'and one by two names').to.equal(SMALL.length + 3)
    for (const bytes of [...SMALL, LONG]) await expectBlob(other, bytes)
  })

  it('collections and manifests are read by other processes', async () => {
    const [writer, reader] = await openTwo()
    const roots = SMALL.map(bytes => hash(bytes))
    await listed(writer.putMany(SMALL))
    const { cid } = await putCollection(writer, roots.map((root, i) => [`folder/${i}`, root]), { tag: 'names' })
    expect((await getCollection(reader, cid)).get('folder/1').equals(toCid(roots[1]))).to.equal(true)
    expect(await listed(collectionEntries(reader, cid))).to.have.length(SMALL.length)
    const put = await putManifest(writer, Manifest.from([['/', { src: toCid(roots[1]) }]]), { tag: 'site' })
    expect((await getManifest(reader, put.cid)).get('/').src.equals(toCid(roots[1]))).to.equal(true)
    const collector = await openOn(undefined)
    await collector.gc()
    for (const bytes of SMALL) await expectBlob(reader, bytes)
  })

  it('fetchVerified() reads it through a handler', async () => {
    const [writer, reader] = await openTwo()
    await writer.put(LONG)
    const mirror = mirrorAt(new Served(reader))
    const response = await fetchVerified(mirror, { cid: CID, range: { start: 5, end: MIB } })
    expect(same(new Uint8Array(await response.arrayBuffer()), LONG.subarray(5, MIB))).to.equal(true)
  })

  describe('a blockstore', () => {
    const stores = new Map()
    interfaceBlockstoreTests({
      async setup () {
        const store = await BucketStore.open(memoryBucket(), { local: levels() })
        const blocks = asBlockstore(store)
        stores.set(blocks, store)
        return blocks
      },
      teardown: blocks => stores.get(blocks).close()
    })

    it('has the blocks of another process, by any hash function', async () => {
      const [writer, reader] = await openTwo()
      const [there, here] = [asBlockstore(writer), asBlockstore(reader)]
      const cid = await cidOf(sha256, SMALL[3])
      await there.put(cid, SMALL[3])
      await there.put(toCid(hash(SMALL[1])), SMALL[1])
      expect(same(await collect(here.get(cid)), SMALL[3])).to.equal(true)
      expect(await here.has(toCid(hash(SMALL[1])))).to.equal(true)
      // Who collects garbage by this list must not delete a block by a name under which it was not put.
      const names = (await listed(here.getAll())).map(({ cid }) => `${cid}`)
      expect(names).to.have.members([`${toCid(hash(SMALL[1]))}`, `${cid}`])
      await here.delete(cid)
      expect(await here.has(cid)).to.equal(false)
      expect(await errorOf(here.put(cid, SMALL[0]))).to.include({ code: 'CID_MISMATCH' })
    })
  })

  if (absence !== undefined) skipAloud('a store in a bucket among peers of iroh', absence)
  else {
    it('serveIroh() gives it to peers, and download() fills it from them', async () => {
      const [writer, reader] = await openTwo()
      await writer.put(LONG)
      const server = serveIroh(reader, await openEndpoint())
      const mirror = irohMirror(server.ticket(CID), { endpoint: await openEndpoint() })
      const to = await openOn()
      await download(to, CID, { from: [mirror] })
      await expectBlob(to, LONG)
      await mirror.close()
      await server.close({ grace: 0 })
      await closeEndpoints()
    })
  }
})
