// The promises of buckets, on real stores.
import { expect } from 'chai'
import { adopt, bucketMirror, probe, s3 } from '../../exchange/bucket/index.js'
import { adoptInBucket } from '../../exchange/bucket/adopt.js'
import { openS3 } from '../../exchange/bucket/s3.js'
import { fetchVerified } from '../../verifier/index.js'
import { hash, toCid } from '../../lib/index.js'
import { createOutboardSync } from '../../encoder/index.js'
import { bytesOf, testBucket, textOf } from '../support/bucket/contract.js'
import { hex, same } from '../support/bytes.js'
import { errorOf, listed } from '../support/feeding.js'
import { noise } from '../support/inputs.js'
import { collectAll, openStore, withStore } from '../support/bucket/stores.js'
import { ENGINES, chosen, start } from './engines.js'

/** The shortest part that stores take, but for the last. */
const PART_LEN = 5 << 20
let folders = 0

for (const name of chosen()) {
  describe(`${name} ${ENGINES[name].version}`, () => {
    let engine
    before(async () => { engine = await start(name) })
    after(() => engine?.stop())

    const open = ({ prefix = `folder-${++folders}`, endpoint = 0, ...more } = {}) =>
      openS3({ ...engine.options[endpoint], prefix, ...more }, { partLen: PART_LEN })

    if (!ENGINES[name].isSafe) {
      it('is refused by the probe, and its objects can be read', async () => {
        const bucket = open()
        const error = await errorOf(probe(bucket))
        expect(error).to.include({ code: 'BUCKET_UNSAFE' })
        expect(error.message).to.include('racing creates').and.include('a create of a key that was there succeeded')
        await bucket.put('a', bytesOf('1'))
        expect(await textOf(await bucket.get('a'))).to.equal('1')
        await expectBlob(bucket)
      })

      it('is refused by a store at each write, unless no other process writes', async () => {
        const prefix = 'store'
        await withStore(open({ prefix }), async store => {
          for (const write of [() => store.put(noise(9)), () => store.tags.delete('x'), () => store.gc()]) {
            expect(await errorOf(write())).to.include({ code: 'BUCKET_UNSAFE' })
          }
        })
        expect(await listed(open({ prefix }).list())).to.deep.equal([])
        await withStore(open({ prefix }), store => store.put(noise(700_000), { tag: 'x' }), { exclusive: true })
        await withStore(open({ prefix }), async store => {
          const { cid } = await store.tags.get('x')
          expect(same(await store.bytes(cid), noise(700_000))).to.equal(true)
          expect(await errorOf(store.put(noise(9)))).to.include({ code: 'BUCKET_UNSAFE' })
        })
      })
      return
    }

    it('passes the probe through each endpoint', async () => {
      const [bucket, ...others] = engine.options.map((_, endpoint) => open({ endpoint, prefix: 'probed' }))
      expect(await probe(bucket, { others })).to.deep.equal({ endpoints: engine.options.length, creates: 32 })
      expect(await listed(bucket.list())).to.deep.equal([])
    })

    describe('keeps the promises of a bucket', () => testBucket(async () => open(), { partLen: PART_LEN }))

    it('serves blobs as a mirror', () => expectBlob(open()))

    it('holds a store of several processes, through each endpoint', async () => {
      const buckets = engine.options.map((_, endpoint) => open({ endpoint, prefix: 'processes' }))
      const stores = await Promise.all([...buckets, ...buckets].map(bucket => openStore(bucket)))
      const sizes = [0, 1, 16_384, 16_385, 700_000, 11_000_000]
      await Promise.all(stores.map(async (store, i) => {
        for (const size of sizes) await store.put(noise(size, size), { tag: `${size}/${i}` })
        await store.put(noise(100 + i, 1))
      }))
      for (const size of sizes) {
        const { cid } = await stores[0].tags.get(`${size}/${stores.length - 1}`)
        expect(same(await stores[0].bytes(cid), noise(size, size))).to.equal(true)
      }
      await Promise.all(stores.map(store => store.gc()))
      const info = await stores[0].info()
      expect(info).to.include({ tags: stores.length * sizes.length })
      expect(info.blobs).to.be.within(sizes.length - 1, sizes.length - 1 + stores.length)
      for await (const { name } of stores[0].tags.list()) await stores[1].tags.delete(name)
      await collectAll(stores[0], buckets[0])
      expect(await listed(buckets[0].list('blobs/'))).to.deep.equal([])
      await Promise.all(stores.map(store => store.close()))
    })

    it('gets blobs of objects that are there already, and tells of those that change', async () => {
      const bucket = open()
      const contents = { 'v/empty': 0, 'v/a b+\u00e4': 16_384, 'v/long': 40_000_000 }
      for (const [key, size] of Object.entries(contents)) await bucket.putParts(key, [noise(size, size)])
      const sizesOfPages = { pageLen: 1 << 16, maxPages: 1 }
      const results = await listed(adoptInBucket(bucket, { prefix: 'v/' }, sizesOfPages))
      expect(results.map(({ key, isNew }) => [key, isNew]))
        .to.deep.equal(Object.keys(contents).sort().map(key => [key, true]))
      const mirror = bucketMirror(bucket)
      for (const { key, cid, size } of results) {
        const response = await fetchVerified(mirror, { cid })
        expect(same(new Uint8Array(await response.arrayBuffer()), noise(size, contents[key])), key).to.equal(true)
      }
      const left = (await listed(bucket.list('adopted/'))).filter(({ key }) => key.includes('.'))
      expect(left, 'pages of the outboard').to.deep.equal([])
      expect((await listed(adopt(bucket, { prefix: 'v/' }))).map(({ isNew }) => isNew))
        .to.deep.equal([false, false, false])
      await bucket.put('v/long', noise(40_000_000, 1))
      const { cid } = results.find(({ key }) => key === 'v/long')
      const reading = fetchVerified(bucketMirror(bucket), { cid, retries: 0 }).then(response => response.arrayBuffer())
      const error = await errorOf(reading)
      expect(error.cause?.errors?.[0] ?? error).to.include({ code: 'FETCH_CHANGED' })
      expect((await listed(adopt(bucket, { prefix: 'v/' }))).filter(({ isNew }) => isNew)).to.have.length(1)
    })

    it('lists more than a thousand keys page by page', async () => {
      const bucket = open()
      const keys = Array.from({ length: 1100 }, (_, i) => `k/${hex(hash(bytesOf(`${i}`))).slice(0, 16)}`).sort()
      for (let at = 0; at < keys.length; at += 50) {
        await Promise.all(keys.slice(at, at + 50).map(key => bucket.put(key, bytesOf(key))))
      }
      expect((await listed(bucket.list())).map(({ key }) => key)).to.deep.equal(keys)
      const after = await listed(bucket.list('k/', keys[500]))
      expect(after.map(({ key }) => key)).to.deep.equal(keys.slice(501))
    })

    it('deletes the parts of an upload that a process has left', async () => {
      const bucket = open()
      const ending = new AbortController()
      const source = async function * () {
        yield noise(2 * PART_LEN + 1)
        // The process ends here: nothing is deleted any more.
        await new Promise(() => {})
      }
      const begun = new Promise(resolve => {
        let parts = 0
        const fetch = async (url, init) => {
          const response = await globalThis.fetch(url, init)
          if (init.method === 'PUT' && ++parts === 2) resolve()
          return response
        }
        open({ prefix: 'left', fetch }).putParts('a', source(), { signal: ending.signal }).catch(() => {})
      })
      await begun
      const left = open({ prefix: 'left' })
      expect(await left.abortUploads(new Date(Date.now() - 3_600_000))).to.equal(0)
      expect(await bucket.abortUploads(new Date(Date.now() + 3_600_000)), 'of another prefix').to.equal(0)
      expect(await left.abortUploads(new Date(Date.now() + 3_600_000))).to.equal(1)
      expect(await left.abortUploads(new Date(Date.now() + 3_600_000))).to.equal(0)
      ending.abort()
    })

    it('gives an object to those who have a signed URL, and to nobody else', async () => {
      const bucket = open()
      await bucket.put('a b/\u00e4', bytesOf('signed'))
      const url = await bucket.url('a b/\u00e4', 60)
      expect(await (await fetch(url)).text()).to.equal('signed')
      expect((await fetch(url.replace(/Signature=../, 'Signature=00'))).status).to.equal(403)
      expect((await fetch(url.split('?')[0])).status).to.equal(403)
    })

    it('accepts signed bodies, and refuses other ones', async () => {
      const signing = open({ signPayload: true })
      expect(await signing.put('a', bytesOf('1'))).to.include({ isWritten: true })
      const changing = (url, init) => fetch(url, init.method === 'PUT' ? { ...init, body: bytesOf('2') } : init)
      const error = await errorOf(open({ signPayload: true, fetch: changing }).put('b', bytesOf('1')))
      expect(error).to.include({ code: 'BUCKET_REFUSED' })
      expect(await open({ signPayload: false }).put('a', bytesOf('1'))).to.include({ isWritten: true })
    })

    it('refuses wrong credentials with a clear code', async () => {
      for (const wrong of [{ secretAccessKey: 'wrong' }, { accessKeyId: 'nobody' }]) {
        const bucket = s3({ ...engine.options[0], ...wrong })
        const calls = [
          () => bucket.get('a'), () => bucket.put('a', bytesOf('1')), () => bucket.delete('a'),
          () => listed(bucket.list()), () => bucket.put('a', bytesOf('1'), { ifAbsent: true })
        ]
        for (const call of calls) expect(await errorOf(call()), `${call}`).to.include({ code: 'BUCKET_REFUSED' })
      }
    })

    it('says that a bucket is missing', async () => {
      const bucket = s3({ ...engine.options[0], bucket: 'missing-bucket' })
      // SeaweedFS makes a bucket for the first put.
      const calls = [() => listed(bucket.list()), ...name === 'seaweedfs' ? [] : [() => bucket.put('a', bytesOf('1'))]]
      for (const call of calls) expect(await errorOf(call()), `${call}`).to.include({ code: 'BUCKET_ABSENT' })
    })

    it('says that the clock is wrong', async function () {
      const { Date: RightDate } = globalThis
      globalThis.Date = class extends RightDate {
        constructor (...args) { super(...args.length === 0 ? [RightDate.now() - 3 * 3_600_000] : args) }
      }
      try {
        expect(await errorOf(s3(engine.options[0]).get('a'))).to.include({ code: 'BUCKET_CLOCK' })
      } finally {
        globalThis.Date = RightDate
      }
    })
  })
}

/** Puts a blob with its outboard, and reads it through the mirror. */
async function expectBlob (bucket) {
  const bytes = noise(700_000, 3)
  const root = hash(bytes)
  const key = `blobs/${hex(root).slice(0, 2)}/${hex(root)}`
  await bucket.put(`${key}.obao4`, createOutboardSync(bytes).bytes)
  await bucket.put(key, bytes)
  const range = { start: 200_000, end: 600_000 }
  const response = await fetchVerified(bucketMirror(bucket), { cid: toCid(root), range })
  expect(same(new Uint8Array(await response.arrayBuffer()), bytes.subarray(200_000, 600_000))).to.equal(true)
}
