// A handler that redirects requests for bytes to the bucket, and outboards that are read without the bytes of the blob.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { VerifiedReader, fetchVerified, httpSource, mirrorOf } from '../../../../verifier/index.js'
import { BlobStore } from '../../../../store/index.js'
import { BucketStore, adopt, memoryBucket, s3 } from '../../../../exchange/bucket/index.js'
import { createHandler } from '../../../../exchange/http/index.js'
import { countedBucket } from '../../../support/bucket/counted.js'
import { FakeS3 } from '../../../support/bucket/fake-s3.js'
import { concat, hex, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { collect, errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { Served } from '../../../support/store/served.js'

const BYTES = noise(3 * MIB + 5000, 720)
const CID = toCid(hash(BYTES))
const HEX = hex(hash(BYTES))
const levels = () => ({ index: new MemoryLevel(), data: new MemoryLevel() })

describe('bucket store: redirects', () => {
  const opened = []
  let fake, bucket, store

  const openOn = async (bucket, options) => {
    const store = await BucketStore.open(bucket, { local: levels(), ...options })
    opened.push(store)
    return store
  }
  /** Sends requests to the server of the store, or to the bucket. */
  const fetchFrom = served => async (input, init) =>
    new URL(input).host === 'store.test' ? served.handler(new Request(input, init)) : fake.fetch(input, init)

  beforeEach(async () => {
    fake = new FakeS3()
    const keys = { accessKeyId: 'key', secretAccessKey: 'secret' }
    bucket = s3({ endpoint: fake.url, bucket: 'bucket', fetch: fake.fetch, ...keys })
    await (await openOn(bucket)).put(BYTES)
    store = await openOn(bucket)
  })
  afterEach(() => Promise.all(opened.splice(0).map(store => store.close())))

  it('lead GET requests for bytes to the bucket, also for ranges', async () => {
    const served = new Served(store, { redirect: true, contentType: () => 'video/mp4' })
    for (const headers of [{}, { range: 'bytes=100-199' }]) {
      fake.requests.length = 0
      const response = await served.ask(`/blobs/${CID}`, { headers })
      expect(response.status).to.equal(307)
      expect(response.headers.get('cache-control')).to.equal('public, max-age=1800')
      expect(response.headers.get('link')).to.include(`${HEX}.obao4`)
      expect(response.headers.get('vary')).to.equal('Accept')
      const url = new URL(response.headers.get('location'))
      expect(url.pathname).to.equal(`/bucket/blobs/${HEX.slice(0, 2)}/${HEX}`)
      expect(url.searchParams.get('X-Amz-Expires')).to.equal('3600')
      expect(fake.requests.filter(text => !text.includes('list-type')), 'no bytes come through the server')
        .to.deep.equal([])
      const answer = await fake.fetch(url, { method: 'GET', headers, redirect: 'manual' })
      expect(answer.headers.get('content-type')).to.equal('video/mp4')
      expect(answer.headers.get('content-disposition')).to.equal('inline')
      const body = new Uint8Array(await answer.arrayBuffer())
      expect(same(body, headers.range ? BYTES.subarray(100, 200) : BYTES)).to.equal(true)
    }
    const short = new Served(store, { redirect: { seconds: 60 } })
    const response = await short.ask(`/${HEX}`)
    expect(response.headers.get('cache-control')).to.equal('public, max-age=30')
    expect(new URL(response.headers.get('location')).searchParams.get('response-content-disposition'))
      .to.equal(`attachment; filename="${CID}.bin"`)
  })

  it('are for plain GET requests only: the server answers all others', async () => {
    const served = new Served(store, { redirect: true })
    const range = { start: 5, end: 100_000 }
    const slice = await served.got(`/${HEX}?format=bao-slice&start=5&end=100000`)
    expect(same(slice.bytes, encodeSliceSync(BYTES, createOutboardSync(BYTES), range))).to.equal(true)
    expect(same((await served.got(`/${HEX}.obao4`)).bytes, createOutboardSync(BYTES).bytes)).to.equal(true)
    const head = await served.ask(`/${HEX}`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).to.deep.equal([200, `${BYTES.length}`])
    expect((await served.askWith(`/${HEX}`, { 'if-none-match': `"${CID}"` })).status).to.equal(304)
    expect((await served.askWith(`/${HEX}`, { 'if-match': '"other"' })).status).to.equal(412)
    expect((await served.ask(`/${hex(hash(noise(9)))}`)).status).to.equal(404)
    expect((await served.got(`/${hex(hash(new Uint8Array(0)))}`)).status, 'the empty blob').to.equal(200)
  })

  it('come after `authorize`, and are then for one client', async () => {
    const authorize = ({ headers }) => headers.get('authorization') === 'Bearer right'
    const served = new Served(store, { redirect: true, authorize })
    fake.requests.length = 0
    const refused = await served.ask(`/${HEX}`)
    expect([refused.status, refused.headers.get('location'), fake.requests]).to.deep.equal([403, null, []])
    const allowed = await served.askWith(`/${HEX}`, { authorization: 'Bearer right' })
    expect([allowed.status, allowed.headers.get('cache-control')]).to.deep.equal([307, 'private, max-age=1800'])
  })

  it('are followed by clients, which verify what they get', async () => {
    const served = new Served(store, { redirect: true })
    const fetch = fetchFrom(served)
    const read = async () => {
      const source = await httpSource(`http://store.test/${HEX}`, { fetch })
      const reader = new VerifiedReader({ cid: CID, source, outboard: createOutboardSync(BYTES) })
      return collect(reader.stream({ start: 100_000, end: 200_000 }))
    }
    expect(same(await read(), BYTES.subarray(100_000, 200_000))).to.equal(true)
    expect(fake.requests.some(text => text.includes('X-Amz-Signature'))).to.equal(true)
    const mirror = mirrorOf('http://store.test/{cid}', { fetch })
    const response = await fetchVerified(mirror, { cid: CID, range: { start: 5, end: MIB } })
    expect(same(new Uint8Array(await response.arrayBuffer()), BYTES.subarray(5, MIB))).to.equal(true)
    fake.objects.get(`blobs/${HEX.slice(0, 2)}/${HEX}`).body[150_000] ^= 1
    expect(await errorOf(read)).to.include({ code: 'BAO_LEAF_MISMATCH' })
  })

  it('lead to the version of an object that was adopted', async () => {
    const film = noise(MIB, 721)
    await bucket.put('films/a.mp4', film)
    for await (const { error } of adopt(bucket, { prefix: 'films/' })) expect(error).to.equal(undefined)
    const served = new Served(store, { redirect: true })
    const path = `/${hex(hash(film))}`
    const response = await served.ask(path)
    expect(new URL(response.headers.get('location')).pathname).to.equal('/bucket/films/a.mp4')
    await bucket.put('films/a.mp4', noise(MIB, 722))
    const changed = await served.ask(path)
    expect([changed.status, changed.headers.get('location')]).to.deep.equal([502, null])
  })

  it('need a store that has URLs', async () => {
    const [inMemory, local] = [await openOn(memoryBucket()), await BlobStore.open(levels())]
    opened.push(local)
    for (const other of [inMemory, local]) {
      await other.put(BYTES)
      expect(same((await new Served(other, { redirect: true }).got(`/${HEX}`)).bytes, BYTES)).to.equal(true)
    }
    expect(await inMemory.url(CID, 60)).to.equal(undefined)
    for (const redirect of [5, 'yes', { seconds: 0 }, { seconds: 604_801 }, { second: 5 }]) {
      expect(() => createHandler(store, { redirect }), `${redirect}`).to.throw(Error, /redirect|second/)
    }
    expect(await errorOf(store.url(CID, 0))).to.be.instanceOf(RangeError)
    expect(await errorOf(store.url(CID, 60, { type: 'a\nb' }))).to.be.instanceOf(TypeError)
    expect(await errorOf(store.url(CID, 60, { contentType: 'a' }))).to.be.instanceOf(TypeError)
  })
})

describe('bucket store: outboards', () => {
  const opened = []
  afterEach(() => Promise.all(opened.splice(0).map(store => store.close())))

  /** A store in a bucket that has a blob, and whose local store has nothing. */
  async function withBlob (bytes) {
    const { bucket, take } = countedBucket(memoryBucket())
    const [writer, store] = await Promise.all([1, 2].map(() => BucketStore.open(bucket, { local: levels() })))
    opened.push(writer, store)
    const { cid } = await writer.put(bytes)
    take()
    const name = hex(cid.multihash.digest)
    return { bucket, cid, key: `blobs/${name.slice(0, 2)}/${name}.obao4`, store, take }
  }

  it('are read from the bucket, and of the blob only the end', async () => {
    const sizes = [0, 1, GROUP, GROUP + 1, 2 * GROUP, 2 * GROUP + 1, 7 * GROUP, 64 * GROUP, 133 * GROUP + 5]
    for (const size of sizes) {
      const bytes = noise(size, size)
      const { bytes: wanted } = createOutboardSync(bytes)
      const { cid, store, take } = await withBlob(bytes)
      const { bytes: got, size: gotSize } = await store.outboard(cid)
      expect([same(got, wanted), gotSize], `${size}`).to.deep.equal([true, size])
      if (size > 64 * GROUP) {
        expect(take()).to.deep.equal({ list: 1, get: 3 })
        expect((await store.missing(cid)).isEmpty, 'the bucket has all').to.equal(true)
      }
      const { length } = wanted
      for (const [start, end] of [[0, 64], [1, 100], [64, 128], [100, 5000], [length - 65, Infinity], [9e9, 9e9]]) {
        if (start < 0) continue
        const part = await collect(store.outboard(cid, { range: { start, end } }))
        expect(same(part, wanted.subarray(start, end)), `${size}: ${start} to ${end}`).to.equal(true)
      }
    }
  })

  it('are verified: no wrong pair is given out', async () => {
    const bytes = noise(4 * MIB)
    const { bytes: right } = createOutboardSync(bytes)
    for (const at of [0, 63, 64, 20 * 64 + 7, right.length - 1]) {
      const { bucket, cid, key, store } = await withBlob(bytes)
      const wrong = right.slice()
      wrong[at] ^= 1
      await bucket.put(key, wrong)
      expect(await errorOf(store.outboard(cid)), `${at}`).to.be.instanceOf(Error)
      const pieces = []
      const error = await errorOf(async () => {
        for await (const piece of store.outboard(cid, { range: { start: 0 } })) pieces.push(piece)
      })
      expect(error.code, `${at}`).to.be.oneOf(['STORE_CORRUPT', 'STORE_NOT_FOUND', 'STORE_MISSING'])
      expect(same(concat(pieces), right.subarray(0, concat(pieces).length)), `${at}`).to.equal(true)
    }
  })

  it('end with an error where they are cut off', async () => {
    const bytes = noise(4 * MIB)
    const { bucket, cid, key, store } = await withBlob(bytes)
    expect(await store.has(cid)).to.equal(true) // It has seen the outboard as a whole.
    await store.bytes(cid, ChunkRanges.last)
    await bucket.put(key, createOutboardSync(bytes).bytes.subarray(0, 128))
    expect(await errorOf(store.outboard(cid))).to.include({ code: 'STORE_CORRUPT' })
  })

  it('of other groups, and wrong arguments, go to the local store', async () => {
    const bytes = noise(40 * GROUP)
    const { cid, store } = await withBlob(bytes)
    const { bytes: got } = await store.outboard(cid, { groupLog: 2 })
    expect(same(got, createOutboardSync(bytes, { groupLog: 2 }).bytes)).to.equal(true)
    for (const options of [{ groupLog: 17 }, { other: 1 }, { hops: -1 }]) {
      const error = await errorOf(store.outboard(cid, options))
      expect(error instanceof TypeError || error instanceof RangeError, JSON.stringify(options)).to.equal(true)
      expect(() => store.outboard(cid, { ...options, range: {} })).to.throw(Error)
    }
    const absent = toCid(hash(noise(5)))
    expect(await errorOf(store.outboard(absent))).to.include({ code: 'STORE_NOT_FOUND' })
  })
})
