// A store in a bucket whose server refuses, fails or has a wrong clock: each error has its code, and nothing is lost.
import { expect } from 'chai'
import { openS3 } from '../../../exchange/bucket/s3.js'
import { FakeS3, errorXml } from '../../support/bucket/fake-s3.js'
import { same } from '../../support/bytes.js'
import { atEffort } from '../../support/effort.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { cidOf, openStore, withStore } from '../../support/bucket/stores.js'

const KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' }
const KEPT = noise(20_000, 1)

describe('bucket store: servers that refuse', () => {
  let server, fault
  beforeEach(async () => {
    server = new FakeS3()
    fault = () => undefined
    await withStore(bucketWith(), async store => { await store.put(KEPT, { tag: 'kept' }) })
  })

  const bucketWith = (options = {}) => openS3({
    endpoint: server.url,
    bucket: 'bucket',
    ...KEYS,
    fetch: async (url, init) => fault(new URL(url), init) ?? server.fetch(url, init),
    retries: 1,
    ...options
  }, { clock: { now: () => performance.now(), sleep: (_ms, signal) => sleepOf(_ms, signal) } })

  /** Waits between tries end at once, and time limits never. */
  const sleepOf = (ms, signal) => ms >= 3000
    ? new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }))
    : Promise.resolve()

  const CALLS = {
    put: store => store.put(noise(30_000, 2)),
    'put with a tag': store => store.put(noise(30_000, 2), { tag: 'new' }),
    'tags.set': store => store.tags.set('kept', cidOf(noise(30_000, 2))),
    'tags.get': store => store.tags.get('kept'),
    'tags.list': store => listed(store.tags.list()),
    'tags.delete': store => store.tags.delete('kept'),
    has: store => store.has(cidOf(KEPT)),
    stat: store => store.stat(cidOf(KEPT)),
    list: store => listed(store.list()),
    delete: store => store.delete(cidOf(noise(30_000, 2))),
    gc: store => store.gc(),
    fsck: store => store.fsck(),
    info: store => store.info()
  }
  const REFUSALS = {
    'wrong credentials': ['BUCKET_REFUSED', () => errorXml(403, 'InvalidAccessKeyId')],
    'a wrong signature': ['BUCKET_REFUSED', () => errorXml(403, 'SignatureDoesNotMatch')],
    'no permission': ['BUCKET_REFUSED', () => errorXml(403, 'AccessDenied')],
    'another clock': ['BUCKET_CLOCK', () => errorXml(403, 'RequestTimeTooSkewed', { date: new Date(0).toUTCString() })],
    'no bucket': ['BUCKET_ABSENT', () => errorXml(404, 'NoSuchBucket')],
    'an error of its own': [/^BUCKET_(FAILED|UNKNOWN)$/, () => errorXml(500, 'InternalError')],
    'no answer': [/^BUCKET_(FAILED|UNKNOWN)$/, () => { throw new TypeError('fetch failed') }],
    'an answer that is no XML': [/^BUCKET_(INVALID|UNKNOWN)$/, () => new Response('<html>hello</html>')]
  }

  for (const [what, [code, refuse]] of Object.entries(REFUSALS)) {
    it(`with ${what} make every call fail with its code, and lose nothing`, async () => {
      await withStore(bucketWith(), async store => {
        fault = refuse
        for (const [name, call] of Object.entries(CALLS)) {
          const error = await errorOf(call(store))
          if (code instanceof RegExp) expect(error.code, name).to.match(code)
          else expect(error.code, name).to.equal(code)
        }
        const error = await errorOf(store.bytes(cidOf(KEPT)))
        expect(error.cause ?? error, 'reads say why').to.be.an('error')
        fault = () => undefined
        expect(same(await store.bytes(cidOf(KEPT)), KEPT)).to.equal(true)
        await store.put(noise(30_000, 2), { tag: 'new' })
      })
      await expectKept()
    })
  }

  it('for deletions only lose nothing, and say so', async () => {
    await withStore(bucketWith(), async store => {
      await store.put(noise(30_000, 2))
      fault = (_url, { method }) => method === 'DELETE' ? errorXml(403, 'AccessDenied') : undefined
      expect(await errorOf(store.gc())).to.include({ code: 'BUCKET_REFUSED' })
      expect(await errorOf(store.delete(cidOf(KEPT), { force: true }))).to.include({ code: 'BUCKET_REFUSED' })
      // What is below a new version of a tag is deleted by the next one who may.
      await store.put(noise(10_000, 3), { tag: 'other' })
      await store.put(noise(10_000, 4), { tag: 'other' })
      expect(`${(await store.tags.get('other')).cid}`).to.equal(`${cidOf(noise(10_000, 4))}`)
      expect(await store.put(KEPT, { tag: 'kept' }), 'its key is condemned').to.include({ isNew: true })
      fault = () => undefined
      await store.tags.set('other', cidOf(noise(10_000, 4)))
      await store.gc()
      expect((await listed(store.list())).map(({ size }) => size).sort()).to.deep.equal([10_000, 20_000])
    })
    await expectKept()
  })

  it('for writes only are read from', async () => {
    fault = (_url, { method }) => method === 'GET' || method === 'HEAD' ? undefined : errorXml(403, 'AccessDenied')
    await withStore(bucketWith(), async store => {
      expect(same(await store.bytes(cidOf(KEPT)), KEPT)).to.equal(true)
      expect(await errorOf(store.put(noise(5)))).to.include({ code: 'BUCKET_REFUSED' })
    })
  })

  it('keep no parts of uploads that began more than a week ago', async () => {
    const week = 7 * 24 * 60 * 60 * 1000
    for (const [id, age] of [['old', week + 60_000], ['new', week - 60_000]]) {
      server.uploads.set(id, { key: 'blobs/x', parts: new Map(), begun: new Date(Date.now() - age) })
    }
    await withStore(bucketWith(), async store => {
      await store.gc({ dryRun: true })
      expect(server.uploads.size).to.equal(2)
      await store.gc()
      expect([...server.uploads.keys()]).to.deep.equal(['new'])
      fault = url => url.searchParams.has('uploads') ? errorXml(403, 'AccessDenied') : undefined
      await store.gc()
    })
  })

  it('because their clock is wrong do not set the time', async () => {
    const bucket = bucketWith()
    const date = new Date(Date.now() - 5000)
    fault = async (url, init) => {
      const response = await server.fetch(url, init)
      response.headers.set('date', date.toUTCString())
      return response
    }
    await bucket.head('baobox.json')
    expect(bucket.lastAnswer.toUTCString()).to.equal(date.toUTCString())
    const future = new Date(Date.now() + 1e11).toUTCString()
    for (const refuse of [
      () => errorXml(403, 'RequestTimeTooSkewed', { date: future }), () => errorXml(503, 'SlowDown', { date: future })
    ]) {
      fault = refuse
      await errorOf(bucket.put('a', noise(1)))
    }
    expect(bucket.lastAnswer.toUTCString()).to.equal(date.toUTCString())
  })

  const COUNT = atEffort(20_000)
  it(`with ${COUNT} keys, and those of others, are listed page by page`, async () => {
    for (let i = 0; i < COUNT; i++) {
      const digits = String(i).padStart(64, '0')
      server.objects.set(`blobs/${digits.slice(0, 2)}/${digits}`, { body: noise(1), etag: '"1"', modified: new Date() })
    }
    for (const key of ['blobs/0', 'blobs/00/x y', 'blobs/zz', 'a', 'tags/x', 'gc/y']) {
      server.objects.set(key, { body: noise(1), etag: '"1"', modified: new Date() })
    }
    server.page = 1000
    await withStore(bucketWith(), async store => {
      expect(await store.info()).to.include({ blobs: COUNT + 1, bytes: COUNT + 20_000, tags: 1 })
      const some = await listed(store.list({ prefix: '0000', maxBlobs: 3 }))
      expect(some).to.have.length(3)
    })
  })

  /** A process that has nothing in its local store reads what has a tag. */
  const expectKept = async () => {
    await withStore(bucketWith(), async store => {
      const { cid } = await store.tags.get('kept')
      expect(same(await store.bytes(cid), KEPT)).to.equal(true)
      expect(await store.fsck()).to.include({ isSound: true })
    })
  }

  it('are told from a local store that fails', async () => {
    const store = await openStore(bucketWith())
    await store.close()
    expect(await errorOf(store.has(cidOf(KEPT)))).to.include({ code: 'STORE_CLOSED' })
  })
})
