// A handler that redirects requests for bytes to the bucket, and outboards that are read without the bytes of the blob.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { ChunkRanges, hash, toCid } from '../../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { VerifiedReader, fetchVerified, httpSource, mirrorOf } from '../../../../verifier/index.js'
import { BlobStore } from '../../../../store/index.js'
import { BucketStore, adopt, memoryBucket, s3 } from '../../../../exchange/bucket/index.js'
import { download } from '../../../../exchange/download/index.js'
import { createHandler } from '../../../../exchange/http/index.js'
import { countedBucket } from '../../../support/bucket/counted.js'
import { FakeS3 } from '../../../support/bucket/fake-s3.js'
import { concat, hex, same } from '../../../support/bytes.js'
import { GROUP, MIB } from '../../../support/constants.js'
import { collect, errorOf, readUntilBroken } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { withStore } from '../../../support/bucket/stores.js'
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
    expect(slice.headers.get('link')).to.equal(`<${HEX}>; rel=alternate`)
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

  describe('read by mirrors', () => {
    let count = 0
    let served, bucketAnswer, asked

    beforeEach(() => {
      served = new Served(store, { redirect: true })
      bucketAnswer = () => undefined
      asked = []
    })

    /** A mirror of a server that nobody knows yet. It notes what it asks whom, with which headers. */
    function mirror (options) {
      const host = `store-${++count}.test`
      const fetch = async (input, init) => {
        const url = new URL(input)
        const isServer = url.host === host
        const ofServer = url.search !== '' ? 'slice' : url.pathname.endsWith('.obao4') ? 'outboard' : 'plain'
        const what = isServer ? ofServer : 'bucket'
        asked.push({ what, headers: new Headers(init.headers) })
        if (!isServer) return bucketAnswer() ?? fake.fetch(input, init)
        return served.handler(new Request(input, init))
      }
      return mirrorOf(`http://${host}/{cid}`, { fetch, ...options })
    }
    const read = async (from, start, end, options) => {
      const response = await fetchVerified(from, { cid: CID, range: { start, end }, ...options })
      const { bytes, error } = await readUntilBroken(response)
      if (error !== undefined) throw error
      return same(bytes, BYTES.subarray(start, end))
    }
    const takeAsked = () => asked.splice(0).map(({ what }) => what)

    it('give long ranges from the bucket, and short ones as slices', async () => {
      const from = mirror()
      expect(await read(from, 5, 2 * MIB)).to.equal(true)
      const first = takeAsked()
      expect(first[0]).to.equal('slice')
      expect(first.slice(1)).to.include.members(['plain', 'bucket', 'outboard']).and.not.include('slice')
      expect(await read(from, 2 * MIB, 3 * MIB)).to.equal(true)
      expect(takeAsked().filter(what => what !== 'outboard')).to.deep.equal(['plain', 'bucket'])
      expect(await read(from, 5, 100_000)).to.equal(true)
      expect(takeAsked()).to.deep.equal(['slice'])
      expect(await read(mirror(), 5, 100_000)).to.equal(true)
      expect(takeAsked(), 'a short range costs no more than before').to.deep.equal(['slice'])
    })

    it('bring downloads their bytes from the bucket', async () => {
      const local = await BlobStore.open(levels())
      opened.push(local)
      await download(local, CID, { from: [mirror()] })
      expect(same(await local.bytes(CID), BYTES)).to.equal(true)
      expect(takeAsked()).to.include('bucket')
      const slices = served.events.filter(({ sent }) => sent > MIB)
      expect(slices, 'no long answer of the server').to.deep.equal([])
    })

    it('send the headers of a caller only to the server', async () => {
      const headers = { authorization: 'Bearer 1', cookie: 'a=1', 'x-key': '1' }
      expect(await read(mirror({ headers }), 0, 2 * MIB)).to.equal(true)
      const of = name => asked.filter(({ what }) => what === name)
      expect(of('bucket')).to.not.deep.equal([])
      for (const { headers } of of('bucket')) {
        for (const name of ['authorization', 'cookie', 'x-key']) expect(headers.has(name), name).to.equal(false)
      }
      for (const { headers } of of('plain')) expect(headers.get('x-key')).to.equal('1')
    })

    it('give slices where the bucket cannot be read', async () => {
      for (const answer of [
        () => { throw new TypeError('the page may not read this') },
        () => new Response(null, { status: 403 }), () => new Response('no', { status: 500 })
      ]) {
        bucketAnswer = answer
        const from = mirror()
        expect(await read(from, 0, 2 * MIB, { retries: 0 }), `${answer}`).to.equal(true)
        expect(takeAsked().at(-1)).to.equal('slice')
        expect(await read(from, 0, 2 * MIB, { retries: 0 })).to.equal(true)
        expect(takeAsked(), 'it is not tried again at once').to.deep.equal(['slice'])
      }
    })

    it('go on with slices when the bucket refuses a URL later, as one that has expired', async () => {
      const from = mirror()
      expect(await read(from, 0, 2 * MIB)).to.equal(true)
      takeAsked()
      bucketAnswer = () => new Response(null, { status: 403 })
      expect(await read(from, 0, 2 * MIB)).to.equal(true)
      expect(takeAsked().filter(what => what !== 'outboard')).to.deep.equal(['plain', 'bucket', 'slice'])
    })

    it('go on with slices when the bucket does not answer, from the beginning or later', async () => {
      for (const isLater of [false, true]) {
        bucketAnswer = () => undefined
        const from = mirror()
        if (isLater) expect(await read(from, 0, 2 * MIB)).to.equal(true)
        takeAsked()
        bucketAnswer = () => new Promise(() => {})
        expect(await read(from, 0, 2 * MIB, { retries: 1, stall: 1000 }), `${isLater}`).to.equal(true)
        expect(takeAsked().filter(what => what === 'bucket'), `${isLater}`).to.have.length(1)
      }
    })

    it('never give a wrong byte of the bucket', async () => {
      const from = mirror()
      expect(await read(from, 0, 2 * MIB)).to.equal(true)
      fake.objects.get(`blobs/${HEX.slice(0, 2)}/${HEX}`).body[1_500_000] ^= 1
      expect(await errorOf(read(from, MIB, 2 * MIB + 5))).to.include({ code: 'BAO_LEAF_MISMATCH' })
      expect(await errorOf(read(mirror(), MIB, 2 * MIB + 5))).to.include({ code: 'BAO_LEAF_MISMATCH' })
    })
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

  it('are looked for again if another process has deleted them, or put the blob again', async () => {
    const bytes = noise(4 * MIB)
    const { bucket, cid, store } = await withBlob(bytes)
    await store.bytes(cid, ChunkRanges.last)
    for (const isThere of [true, false]) {
      expect(await store.has(cid)).to.equal(true)
      await withStore(bucket, async other => {
        await other.delete(cid)
        if (isThere) await other.put(bytes)
      })
      const read = [() => store.outboard(cid).then(({ bytes }) => bytes)]
      read.push(() => collect(store.outboard(cid, { range: { start: 0 } })))
      for (const got of read) {
        if (isThere) expect(same(await got(), createOutboardSync(bytes).bytes)).to.equal(true)
        else expect(await errorOf(got())).to.include({ code: 'STORE_MISSING' })
      }
    }
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
