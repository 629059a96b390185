// Objects that are in a bucket already become blobs: nothing is copied, and changed objects are told.
import { expect } from 'chai'
import fc from 'fast-check'
import { hash, toCid } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { fetchVerified } from '../../../verifier/index.js'
import { adopt, bucketMirror, memoryBucket } from '../../../exchange/bucket/index.js'
import { adoptInBucket } from '../../../exchange/bucket/adopt.js'
import { OutboardSpool } from '../../../exchange/bucket/outboard-spool.js'
import { openS3 } from '../../../exchange/bucket/s3.js'
import { openR2 } from '../../../exchange/bucket/r2.js'
import { download } from '../../../exchange/download/index.js'
import { bodyOf, bytesOf, textOf } from '../../support/bucket/contract.js'
import { FakeR2 } from '../../support/bucket/fake-r2.js'
import { FakeS3, errorXml } from '../../support/bucket/fake-s3.js'
import { hex, same } from '../../support/bytes.js'
import { GROUP, MIB } from '../../support/constants.js'
import { turn } from '../../support/fake-clock.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds, sizes } from '../../support/property.js'
import { newStores } from '../../support/store/stores.js'

const SIZES = [0, 1, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP, 5 * GROUP + 77, MIB + 1, 3 * MIB]
const pathOf = bytes => `${hex(hash(bytes)).slice(0, 2)}/${hex(hash(bytes))}`
const referenceOf = bytes => `refs/${pathOf(bytes)}`
const outboardOf = bytes => `blobs/${pathOf(bytes)}.obao4`
const noteOf = key => `adopted/${pathOf(bytesOf(key))}`
const keysIn = async bucket => (await listed(bucket.list())).map(({ key }) => key)

async function fetched (mirror, cid, range) {
  const response = await fetchVerified(mirror, { cid, range, retries: 0 })
  return new Uint8Array(await response.arrayBuffer())
}

/** The error of a fetch from a new mirror of a bucket; that of the mirror itself, if there was one. */
async function fetchError (bucket, cid) {
  const error = await errorOf(fetched(bucketMirror(bucket), cid))
  return error.code === 'FETCH_EXHAUSTED' ? error.cause.errors[0] : error
}

/** A bucket that notes its calls, and calls `onCall` before each of them. */
function watched (bucket) {
  const calls = []
  const own = { location: bucket.location, calls, onCall: () => {} }
  for (const name of ['get', 'head', 'put', 'putParts', 'delete', 'list', 'abortUploads', 'url']) {
    own[name] = (...args) => {
      calls.push(`${name} ${args[0]}`)
      const instead = own.onCall(name, ...args)
      return instead ?? bucket[name](...args)
    }
  }
  return own
}

const KINDS = {
  'in memory': () => memoryBucket(),
  'of S3': () => {
    const server = new FakeS3()
    server.page = 3
    const { url, fetch } = server
    const keys = { accessKeyId: 'key', secretAccessKey: 'secret' }
    return openS3({ endpoint: url, bucket: 'bucket', prefix: 'p', ...keys, fetch }, { partLen: 10_000 })
  },
  'of R2': () => openR2(new FakeR2(), { prefix: 'p' }, { partLen: 10_000 })
}

describe('adopt', () => {
  const newStore = newStores()

  for (const [kind, open] of Object.entries(KINDS)) {
    describe(`in a bucket ${kind}`, () => {
      let bucket
      beforeEach(() => { bucket = open() })

      it('makes blobs of objects of every size, which mirrors give whole and in ranges', async () => {
        for (const size of SIZES) await bucket.put(`videos/${size}`, noise(size, size + 1))
        await bucket.put('others/a', noise(5, 5))
        const results = await listed(adopt(bucket, { prefix: 'videos/' }))
        expect(results.map(({ key }) => key)).to.deep.equal(SIZES.map(size => `videos/${size}`).sort())
        const mirror = bucketMirror(bucket)
        for (const size of SIZES) {
          const bytes = noise(size, size + 1)
          const result = results.find(({ key }) => key === `videos/${size}`)
          expect(result).to.include({ size, isNew: true })
          expect(`${result.cid}`).to.equal(`${toCid(hash(bytes))}`)
          expect(same(await fetched(mirror, result.cid), bytes), `${size} bytes`).to.equal(true)
          for (const [start, end] of [[0, 1], [Math.floor(size / 2), size], [size - 1, size]]) {
            if (start < 0 || start >= end) continue
            const part = await fetched(mirror, result.cid, { start, end })
            expect(same(part, bytes.subarray(start, end)), `${size} bytes from ${start}`).to.equal(true)
          }
          const { store } = await newStore()
          expect(await download(store, result.cid, { from: [bucketMirror(bucket)] })).to.include({ complete: true })
          const outboard = await bucket.get(outboardOf(bytes))
          if (size <= GROUP) expect(outboard).to.equal(undefined)
          else expect(same(await bodyOf(outboard), createOutboardSync(bytes).bytes)).to.equal(true)
        }
        expect(await fetchError(bucket, toCid(hash(noise(5, 5))))).to.include({ code: 'STORE_NOT_FOUND' })
      })

      it('copies nothing: of an object it keeps the outboard, a reference and a note', async () => {
        const bytes = noise(3 * GROUP, 1)
        const { etag } = await bucket.put('a', bytes)
        await listed(adopt(bucket))
        expect(await keysIn(bucket)).to.deep.equal(['a', noteOf('a'), outboardOf(bytes), referenceOf(bytes)].sort())
        const reference = JSON.parse(await textOf(await bucket.get(referenceOf(bytes))))
        expect(reference).to.deep.equal({ key: 'a', etag, size: 3 * GROUP })
        const note = JSON.parse(await textOf(await bucket.get(noteOf('a'))))
        expect(note).to.deep.equal({ ...reference, hash: hex(hash(bytes)) })
      })

      it('says that an object changed or was deleted after it was adopted, and adopts it again', async () => {
        const [bytes, other] = [noise(5 * GROUP, 2), noise(5 * GROUP, 3)]
        await bucket.put('a', bytes)
        const [{ cid }] = await listed(adopt(bucket))
        const mirror = bucketMirror(bucket)
        await fetched(mirror, cid)
        await bucket.put('a', other)
        for (const from of [mirror, bucketMirror(bucket)]) {
          const error = await errorOf(fetched(from, cid))
          expect(error.cause?.errors?.[0] ?? error).to.include({ code: 'FETCH_CHANGED' })
        }
        const [again] = await listed(adopt(bucket))
        expect(again.isNew).to.equal(true)
        expect(same(await fetched(mirror, again.cid), other)).to.equal(true)
        expect(await fetchError(bucket, cid)).to.include({ code: 'FETCH_CHANGED' })
        await bucket.delete('a')
        expect(await fetchError(bucket, again.cid)).to.include({ code: 'STORE_NOT_FOUND' })
      })

      it('does not read objects again whose references are right', async () => {
        for (let i = 0; i < 7; i++) await bucket.put(`v/${i}`, noise(i * GROUP, i))
        const first = await listed(adopt(bucket, { prefix: 'v/' }))
        const counting = watched(bucket)
        const second = await listed(adopt(counting, { prefix: 'v/' }))
        expect(second).to.deep.equal(first.map(result => ({ ...result, isNew: false })))
        expect(counting.calls.filter(call => /^(?:get v|put|delete)/.test(call))).to.deep.equal([])
        await bucket.put('v/3', noise(3 * GROUP, 77))
        const third = await listed(adopt(bucket, { prefix: 'v/' }))
        expect(third.filter(({ isNew }) => isNew).map(({ key }) => key)).to.deep.equal(['v/3'])
        const read = await listed(adopt(bucket, { prefix: 'v/', recheck: true }))
        expect(read.every(({ isNew }) => isNew)).to.equal(true)
      })

      it('takes keys with odd characters', async () => {
        const keys = ['a b', 'a%2Fb', 'a+c?d#e', 'a"\\d', '\u00e4/\u{1f600}', '__proto__', 'adopted/x', 'blobs/photo']
        for (const [i, key] of keys.entries()) await bucket.put(key, noise(100 + i, i))
        const results = await listed(adopt(bucket))
        expect(results.map(({ key }) => key)).to.have.members(keys)
        for (const { key, cid } of results) {
          expect(same(await fetched(bucketMirror(bucket), cid), noise(100 + keys.indexOf(key), keys.indexOf(key))))
            .to.equal(true)
        }
        expect((await listed(adopt(bucket))).every(({ isNew }) => !isNew)).to.equal(true)
      })
    })
  }

  describe('while objects change', () => {
    let bucket, calls
    beforeEach(() => {
      bucket = watched(memoryBucket())
      ;({ calls } = bucket)
    })

    it('does not adopt an object that changes before, while or after it is read', async () => {
      const inner = memoryBucket()
      const changeAt = async (name, when) => {
        const bucket = watched(inner)
        await inner.put('a', noise(9 * GROUP, 1))
        bucket.onCall = (call, ...args) => {
          if (call !== name || args[0] !== 'a') return
          bucket.onCall = () => {}
          if (when === 'before') return inner.put('a', noise(9 * GROUP, 2)).then(() => inner[name](...args))
          return inner[name](...args).then(object => inner.put('a', noise(9 * GROUP, 2)).then(() => object))
        }
        const results = await listed(adopt(bucket))
        expect(results, `${when} ${name}`).to.have.length(1)
        expect(results[0].error, `${when} ${name}`).to.include({ code: 'FETCH_CHANGED' })
        expect(await keysIn(inner)).to.deep.equal(['a'])
        if (when === 'before' && name === 'get') expect(bucket.calls, 'it is not read').to.not.include('head a')
      }
      await changeAt('get', 'before')
      await changeAt('get', 'after')
      await changeAt('head', 'before')
    })

    it('says that an object is gone, and goes on with the others', async () => {
      for (const key of ['a', 'b', 'c']) await bucket.put(key, noise(9, key.charCodeAt(0)))
      const gone = bucket.delete.bind(bucket, 'b')
      bucket.onCall = (name, key) => {
        if (name !== 'get' || key !== noteOf('b')) return
        bucket.onCall = () => {}
        return gone().then(() => undefined)
      }
      const results = await listed(adopt(bucket))
      expect(results.map(({ error }) => error?.code)).to.deep.equal([undefined, 'STORE_NOT_FOUND', undefined])
    })

    it('adopts equal objects as one blob, and finds it under the one that is left', async () => {
      const bytes = noise(3 * GROUP, 4)
      for (const key of ['a', 'b']) await bucket.put(key, bytes)
      const [{ cid }] = await listed(adopt(bucket, { parallel: 1 }))
      calls.length = 0
      expect((await listed(adopt(bucket))).map(({ isNew }) => isNew)).to.deep.equal([false, false])
      expect(calls.filter(call => call.startsWith('put'))).to.deep.equal([])
      await bucket.delete('b')
      expect(await fetchError(bucket, cid)).to.include({ code: 'STORE_NOT_FOUND' })
      expect((await listed(adopt(bucket))).map(({ isNew }) => isNew)).to.deep.equal([true])
      expect(same(await fetched(bucketMirror(bucket), cid), bytes)).to.equal(true)
    })

    it('writes references last, and goes on where a call was interrupted, wherever that was', async () => {
      const keys = ['a', 'b', 'c', 'd']
      for (const key of keys) await bucket.put(key, noise(3 * GROUP, key.charCodeAt(0)))
      let isFinished = false
      for (let at = 1; !isFinished; at++) {
        const stopping = new AbortController()
        let left = at
        bucket.onCall = (name, key) => {
          if (--left === 0) stopping.abort(new Error('stop'))
        }
        const results = adopt(bucket, { signal: stopping.signal, parallel: 2, recheck: at % 2 === 1 })
        const error = await errorOf(listed(results)).catch(() => undefined)
        isFinished = error?.message !== 'stop'
        bucket.onCall = () => {}
        for (const key of keys) {
          const bytes = noise(3 * GROUP, key.charCodeAt(0))
          if (await bucket.head(referenceOf(bytes)) === undefined) continue
          expect(same(await fetched(bucketMirror(bucket), toCid(hash(bytes))), bytes)).to.equal(true)
        }
        if (at > 200) throw new Error('it does not end')
      }
      expect((await listed(adopt(bucket))).map(({ isNew }) => isNew)).to.deep.equal([false, false, false, false])
    })

    it('does not take a changed object for the one that it was equal to', async () => {
      for (const key of ['a', 'b']) await bucket.put(key, noise(3 * GROUP, 4))
      await listed(adopt(bucket, { parallel: 1 }))
      await bucket.put('a', noise(3 * GROUP, 5))
      const [{ cid, isNew }] = await listed(adopt(bucket))
      expect(isNew).to.equal(true)
      expect(cid.equals(toCid(hash(noise(3 * GROUP, 5))))).to.equal(true)
    })

    it('says that a bucket gives another size than it has listed', async () => {
      await bucket.put('a', noise(3 * GROUP, 4))
      const short = async function * () { yield noise(3 * GROUP - 1, 4) }
      const lies = [
        [object => ({ ...object, size: 2 * GROUP }), 'FETCH_CHANGED'],
        [object => ({ ...object, body: short() }), 'BUCKET_INVALID']
      ]
      for (const [lie, code] of lies) {
        let isOver = false
        bucket.onCall = (name, ...args) => {
          if (name !== 'get' || args[0] !== 'a' || isOver) return
          isOver = true
          return bucket.get(...args).then(lie)
        }
        const [{ error }] = await listed(adopt(bucket))
        expect(error).to.include({ code })
        expect((await keysIn(bucket))).to.deep.equal(['a'])
      }
    })

    it('ends all reads when the caller stops, and when the bucket fails', async () => {
      for (const key of ['a', 'b', 'c']) await bucket.put(key, noise(100, key.charCodeAt(0)))
      const failure = new Error('full')
      let [begun, ended, isFull] = [[], [], false]
      const bothBegan = async () => { while (begun.length < 2) await turn() }
      bucket.onCall = (name, key, range, { signal } = {}) => {
        if (name === 'put' && key === noteOf('a') && isFull) return bothBegan().then(() => Promise.reject(failure))
        if (name !== 'get' || !['b', 'c'].includes(key)) return
        begun.push(key)
        const isAborted = new Promise((resolve, reject) => signal.addEventListener('abort', () => {
          ended.push(key)
          reject(signal.reason)
        }))
        const body = async function * () { yield await isAborted }
        return bucket.head(key).then(info => ({ ...info, range: { start: 0, end: 100 }, body: body() }))
      }
      const results = adopt(bucket, { recheck: true })
      expect((await results.next()).value).to.include({ key: 'a' })
      await bothBegan()
      await results.return()
      expect(ended.sort()).to.deep.equal(['b', 'c']);
      [begun, ended, isFull] = [[], [], true]
      expect(await errorOf(listed(adopt(bucket, { recheck: true })))).to.equal(failure)
      expect(ended.sort()).to.deep.equal(['b', 'c'])
    })

    it('reads no more objects than it should at a time', async () => {
      for (let i = 0; i < 20; i++) await bucket.put(`${i}`, noise(100, i))
      calls.length = 0
      const results = adopt(bucket, { parallel: 3, recheck: true })
      expect((await results.next()).value).to.include({ key: '0' })
      await results.return()
      expect(await results.next()).to.include({ done: true })
      const read = calls.filter(call => /^get \d/.test(call))
      expect(read.length).to.be.at.most(4)
    })

    it('reads objects again whose note, reference or outboard is gone or wrong', async () => {
      const bytes = noise(4 * GROUP, 6)
      await bucket.put('a', bytes)
      await listed(adopt(bucket))
      const damages = [
        () => bucket.delete(noteOf('a')), () => bucket.delete(referenceOf(bytes)),
        () => bucket.delete(outboardOf(bytes)), () => bucket.put(outboardOf(bytes), noise(10)),
        () => bucket.put(noteOf('a'), bytesOf('no JSON')), () => bucket.put(referenceOf(bytes), bytesOf('[]')),
        () => bucket.put(noteOf('a'), noise(100_000)),
        () => bucket.put(referenceOf(bytes), bytesOf(JSON.stringify({ key: 'a', etag: 'old', size: bytes.length })))
      ]
      for (const damage of damages) {
        await damage()
        const [{ cid, isNew }] = await listed(adopt(bucket))
        expect(isNew, `${damage}`).to.equal(true)
        expect(same(await fetched(bucketMirror(bucket), cid), bytes), `${damage}`).to.equal(true)
      }
    })
  })

  it('passes over folder markers and the objects of baobox, but not what only looks like them', async () => {
    const server = new FakeS3()
    const bucket = openS3({
      endpoint: server.url, bucket: 'bucket', accessKeyId: 'key', secretAccessKey: 'secret', fetch: server.fetch
    })
    const bytes = noise(2 * GROUP, 7)
    const own = [
      'baobox.json', `blobs/${pathOf(bytes)}`, outboardOf(bytes), `blobs/${pathOf(bytes)}.0123abcd`,
      `blobs/${pathOf(bytes)}.0123abcd.obao4`, referenceOf(bytes), `${referenceOf(bytes)}.0123abcd`, noteOf('x'),
      `${noteOf('x')}.0123abcd.00000001`, 'tags/a%2Fb/0000000000000001',
      'gc/12.0123456789abcdef/begin', 'gc/12.0123456789abcdef/done', 'probe/0123456789abcdef/race-1'
    ]
    const others = [
      'blobs/ab/cd', `blobs/00/${hex(hash(bytes))}`, `blobs/${pathOf(bytes)}.mp4`, 'gc/readme', 'refs/x',
      'tags/summer.mp4'
    ]
    for (const key of [...own, ...others]) await bucket.put(key, noise(20, key.length))
    server.objects.set('videos/', { body: new Uint8Array(0), etag: '"m"', modified: new Date() })
    server.objects.set('videos//a', { body: new Uint8Array(1), etag: '"n"', modified: new Date() })
    const results = await listed(adopt(bucket))
    expect(results.filter(({ error }) => !error).map(({ key }) => key)).to.have.members(others)
    const errors = results.filter(({ error }) => error)
    expect(errors.map(({ key, error }) => [key, error.code])).to.deep.equal([['videos//a', 'BUCKET_INVALID']])
  })

  it('takes keys in place of a prefix, from any iterable', async () => {
    const bucket = memoryBucket()
    for (const key of ['a', 'b', 'c']) await bucket.put(key, noise(9, key.charCodeAt(0)))
    const keys = async function * () { yield * ['c', 'none', referenceOf(noise(1)), 'a'] }
    const results = await listed(adopt(bucket, { keys: keys() }))
    expect(results.map(({ key, error }) => [key, error?.code])).to.deep.equal([
      ['c', undefined], ['none', 'STORE_NOT_FOUND'], [referenceOf(noise(1)), 'BUCKET_INVALID'], ['a', undefined]
    ])
    expect((await listed(adopt(bucket, { keys: ['a', 'b'] }))).map(({ isNew }) => isNew)).to.deep.equal([false, true])
  })

  it('does not adopt objects whose ETag cannot be compared', async () => {
    const inner = memoryBucket()
    await inner.put('a', noise(9))
    for (const etag of [undefined, 'W/"1"', 'a b', 'a\r\nb', '"', 'x'.repeat(1025)]) {
      const bucket = watched(inner)
      bucket.onCall = (name, ...args) => {
        if (name === 'head') return inner.head(...args).then(info => ({ ...info, etag }))
        if (name === 'list') return (async function * () { yield { key: 'a', size: 9, etag } })()
      }
      const [{ error }] = await listed(adopt(bucket))
      expect(error, etag).to.include({ code: 'BUCKET_INVALID' })
    }
    expect(await keysIn(inner)).to.deep.equal(['a'])
  })

  it('goes on after an object that the bucket refuses, and fails when writes are refused', async () => {
    const server = new FakeS3()
    let isRefused = () => false
    const fetch = (url, init) => isRefused(url, init) ? errorXml(403, 'AccessDenied') : server.fetch(url, init)
    const keys = { accessKeyId: 'key', secretAccessKey: 'secret' }
    const bucket = openS3({ endpoint: server.url, bucket: 'bucket', ...keys, fetch })
    for (const key of ['a', 'b']) await bucket.put(`v/${key}`, noise(3 * GROUP, key.charCodeAt(0)))
    isRefused = (url, { method }) => method === 'GET' && `${url}`.endsWith('/v/a')
    expect((await listed(adopt(bucket))).map(({ error }) => error?.code)).to.deep.equal(['BUCKET_REFUSED', undefined])
    isRefused = (url, { method }) => method === 'PUT'
    expect(await errorOf(listed(adopt(bucket, { recheck: true })))).to.include({ code: 'BUCKET_REFUSED' })
    const spilling = adoptInBucket(bucket, { recheck: true }, { pageLen: 64, maxPages: 1 })
    expect(await errorOf(listed(spilling))).to.include({ code: 'BUCKET_REFUSED' })
  })

  it('reports the bytes that it reads', async () => {
    const bucket = memoryBucket()
    for (const key of ['a', 'b']) await bucket.put(key, noise(200_000, key.charCodeAt(0)))
    const events = []
    await listed(adopt(bucket, { onProgress: event => events.push(event) }))
    expect(events.every(({ type, detail }) => type === 'baobox:adopt' && detail.unit === 'bytes')).to.equal(true)
    expect(events.at(-1).detail.done).to.equal(400_000)
    events.length = 0
    await listed(adopt(bucket, { onProgress: event => events.push(event) }))
    expect(events).to.deep.equal([])
  })

  it('adopts a thousand objects in order', async () => {
    const bucket = memoryBucket()
    for (let i = 0; i < 1000; i++) await bucket.put(`k/${i}`, bytesOf(`${i}`))
    const results = await listed(adopt(bucket, { parallel: 50 }))
    expect(results.map(({ key }) => key)).to.deep.equal(Array.from({ length: 1000 }, (_, i) => `k/${i}`).sort())
    expect(results.every(({ key, cid }) => cid.equals(toCid(hash(bytesOf(key.slice(2))))))).to.equal(true)
  })

  it('checks its arguments', async () => {
    const bucket = memoryBucket()
    expect(() => adopt({})).to.throw(TypeError, 'get()')
    expect(() => adopt(bucket, { from: 'a' })).to.throw(TypeError, 'from')
    expect(() => adopt(bucket, { prefix: 'a', keys: [] })).to.throw(TypeError, 'exclude')
    expect(() => adopt(bucket, { prefix: '/a' })).to.throw(TypeError, 'prefix')
    expect(() => adopt(bucket, { keys: 'a' })).to.throw(TypeError, 'keys')
    expect(() => adopt(bucket, { parallel: 0 })).to.throw(RangeError, 'parallel')
    expect(await errorOf(listed(adopt(bucket, { keys: ['a//b'] })))).to.be.an.instanceOf(TypeError)
    const signal = AbortSignal.abort(new Error('no'))
    expect(await errorOf(listed(adopt(bucket, { signal })))).to.include({ message: 'no' })
  })

  describe('with outboards that do not fit into the memory', () => {
    const bytes = noise(100 * GROUP + 1, 8)
    let bucket
    beforeEach(async () => {
      bucket = watched(memoryBucket())
      await bucket.put('a', bytes)
      bucket.calls.length = 0
    })

    const spoolOf = (len, pages) =>
      new OutboardSpool(bucket, { key: 'a', len, signal: new AbortController().signal }, pages)

    it('keeps parts of them in the bucket, and deletes these', async () => {
      for (const [pageLen, maxPages] of [[64, 1], [64, 3], [128, 1], [1024, 2], [1000 * 64, 1]]) {
        bucket.calls.length = 0
        await listed(adoptInBucket(bucket, { recheck: true }, { pageLen, maxPages }))
        const spilled = bucket.calls.filter(call => call.startsWith(`put ${noteOf('a')}.`)).length
        expect(spilled, `${pageLen}`).to.equal(Math.max(0, Math.ceil(100 * 64 / pageLen) - maxPages))
        expect(same(await bodyOf(await bucket.get(outboardOf(bytes))), createOutboardSync(bytes).bytes)).to.equal(true)
        expect(await keysIn(bucket)).to.deep.equal(['a', noteOf('a'), outboardOf(bytes), referenceOf(bytes)].sort())
      }
    })

    it('takes pairs that come in any order', async () => {
      const pairs = createOutboardSync(bytes).bytes
      const orders = { reversed: i => 99 - i, mixed: i => i * 37 % 100, 'in order': i => i }
      for (const [what, placeOf] of Object.entries(orders)) {
        for (const [pageLen, maxPages] of [[64, 1], [640, 2], [6400, 1]]) {
          const spool = spoolOf(pairs.length, { pageLen, maxPages })
          for (let i = 0; i < 100; i++) {
            const at = placeOf(i) * 64
            const piece = pairs.slice(at, at + 64)
            await spool.write(at, piece)
          }
          await spool.copyTo('outboard')
          await spool.close()
          expect(same(await bodyOf(await bucket.get('outboard')), pairs), `${what}, ${pageLen}`).to.equal(true)
          expect(await keysIn(bucket)).to.deep.equal(['a', 'outboard'])
        }
      }
    })

    it('finds out that the bucket gives back other bytes', async () => {
      const spool = spoolOf(640, { pageLen: 64, maxPages: 1 })
      for (let i = 0; i < 10; i++) await spool.write(64 * i, noise(64, i))
      bucket.onCall = (name, key) => name !== 'get'
        ? undefined
        : bucket.head(key).then(info => ({ ...info, body: (async function * () { yield noise(64, 99) })() }))
      expect(await errorOf(spool.copyTo('outboard'))).to.include({ code: 'BUCKET_INVALID' })
    })

    it('finds out when the bucket has changed them', async () => {
      const pages = () => bucket.calls.filter(call => call.startsWith(`put ${noteOf('a')}.`)).map(call => call.slice(4))
      for (const damage of [key => bucket.put(key, noise(1024)), key => bucket.delete(key)]) {
        const { putParts } = bucket
        bucket.putParts = async (...args) => {
          await damage(pages()[0])
          return putParts(...args)
        }
        const error = await errorOf(listed(adoptInBucket(bucket, { recheck: true }, { pageLen: 1024, maxPages: 1 })))
        expect(['BUCKET_INVALID', 'FETCH_CHANGED']).to.include(error.code)
        bucket.putParts = putParts
        bucket.calls.length = 0
        expect(await keysIn(bucket)).to.not.include(referenceOf(bytes))
      }
    })

    it('deletes parts that a killed process has left, when they are a day old', async () => {
      const left = `${noteOf('a')}.0123abcd.00000000`
      await bucket.put(left, noise(9))
      const sizes = { pageLen: 1024, maxPages: 1 }
      await listed(adoptInBucket(bucket, { recheck: true }, sizes))
      expect(await keysIn(bucket)).to.include(left)
      bucket.onCall = (name, prefix) => name !== 'list' || prefix !== `${noteOf('a')}.`
        ? undefined
        : (async function * () { yield { key: left, size: 9, modified: new Date(Date.now() - 90_000_000) } })()
      await listed(adoptInBucket(bucket, { recheck: true }, sizes))
      expect(await keysIn(bucket)).to.not.include(left)
    })
  })

  describe('references that lie', () => {
    const bytes = noise(5 * GROUP + 3, 9)
    const cid = toCid(hash(bytes))
    let bucket, etag
    beforeEach(async () => {
      bucket = memoryBucket()
      ;({ etag } = await bucket.put('a', bytes))
      await listed(adopt(bucket))
    })

    const right = () => ({ key: 'a', etag, size: bytes.length })

    it('lead to a clear code', async () => {
      const lies = {
        'not JSON': bytesOf('{'),
        'not UTF-8': new Uint8Array([0x22, 0xff, 0x22]),
        'nothing at all': new Uint8Array(0),
        'deep JSON': bytesOf('['.repeat(8000)),
        'too many bytes': noise(100_000),
        'JSON and many spaces': bytesOf(JSON.stringify(right()) + ' '.repeat(9000)),
        'long JSON': bytesOf(JSON.stringify({ ...right(), more: 'x'.repeat(9000) }))
      }
      const values = [
        null, [], 'a', 5, {}, { ...right(), key: undefined }, { ...right(), key: '../a' }, { ...right(), key: '/a' },
        { ...right(), key: 'a/' }, { ...right(), key: 'x'.repeat(1025) }, { ...right(), key: 'a\0' },
        { ...right(), key: '\ud800' }, { ...right(), key: ['a'] }, { ...right(), key: referenceOf(bytes) },
        { ...right(), key: `blobs/${pathOf(bytes)}` }, { ...right(), etag: '' }, { ...right(), etag: 'a\r\nb: c' },
        { ...right(), etag: 'W/"1"' }, { ...right(), etag: 1 }, { ...right(), etag: undefined },
        { ...right(), size: -1 }, { ...right(), size: 1.5 }, { ...right(), size: '5' }, { ...right(), size: 2 ** 60 },
        { ...right(), size: 1 }, { ...right(), size: bytes.length + 1 }, { ...right(), size: 2 ** 52 }
      ]
      for (const value of values) lies[JSON.stringify(value).slice(0, 80)] = bytesOf(JSON.stringify(value))
      for (const [what, lie] of Object.entries(lies)) {
        await bucket.put(referenceOf(bytes), lie)
        expect(await fetchError(bucket, cid), what).to.include({ code: 'BUCKET_INVALID' })
        const results = await listed(adopt(bucket))
        expect(results[0], what).to.include({ isNew: true })
        expect(same(await fetched(bucketMirror(bucket), cid), bytes), what).to.equal(true)
      }
    })

    it('lead to no wrong byte, when they name another object or version', async () => {
      const other = await bucket.put('b', noise(bytes.length, 10))
      await bucket.put(referenceOf(bytes), bytesOf(JSON.stringify({ ...right(), key: 'b', etag: other.etag })))
      expect(await fetchError(bucket, cid)).to.be.an.instanceOf(Error)
      await bucket.put(referenceOf(bytes), bytesOf(JSON.stringify({ ...right(), key: 'none' })))
      expect(await fetchError(bucket, cid)).to.include({ code: 'STORE_NOT_FOUND' })
      await bucket.put(referenceOf(bytes), bytesOf(JSON.stringify({ ...right(), etag: 'other' })))
      expect(await fetchError(bucket, cid)).to.include({ code: 'FETCH_CHANGED' })
    })

    it('do not hide a right reference with an id, nor an outboard with one', async () => {
      const reference = await bodyOf(await bucket.get(referenceOf(bytes)))
      await bucket.put(`${referenceOf(bytes)}.0123abcd`, reference)
      for (const lie of [bytesOf('{'), bytesOf(JSON.stringify({ ...right(), etag: 'old' }))]) {
        await bucket.put(referenceOf(bytes), lie)
        expect(same(await fetched(bucketMirror(bucket), cid), bytes)).to.equal(true)
      }
      await bucket.delete(referenceOf(bytes))
      await bucket.put(`blobs/${pathOf(bytes)}.0123abcd.obao4`, createOutboardSync(bytes).bytes)
      await bucket.delete(outboardOf(bytes))
      expect(same(await fetched(bucketMirror(bucket), cid), bytes)).to.equal(true)
    })

    it('are looked at in small numbers', async () => {
      const counting = watched(bucket)
      await bucket.delete(referenceOf(bytes))
      for (let i = 0; i < 100; i++) await bucket.put(`${referenceOf(bytes)}.${`${i}`.padStart(8, '0')}`, bytesOf('{'))
      expect(await fetchError(counting, cid)).to.include({ code: 'BUCKET_INVALID' })
      expect(counting.calls.length).to.be.below(40)
      counting.calls.length = 0
      counting.onCall = (name, key) => {
        if (name === 'get') return Promise.resolve(undefined)
        if (name !== 'list' || !key.startsWith('blobs/')) return
        const ids = Array.from({ length: 100 }, (_, i) => `${i}`.padStart(8, '0'))
        return (async function * () { yield * ids.map(id => ({ key: `${key}${id}` })) })()
      }
      expect(await fetchError(counting, cid)).to.include({ code: 'STORE_NOT_FOUND' })
      expect(counting.calls.length).to.be.below(40)
    })
  })

  it('needs one request for a slice of an adopted object that is known', async () => {
    const bucket = watched(memoryBucket())
    const bytes = noise(10 * GROUP, 11)
    await bucket.put('a', bytes)
    const [{ cid }] = await listed(adopt(bucket))
    const mirror = bucketMirror(bucket)
    bucket.calls.length = 0
    await fetched(mirror, cid, { start: 0, end: GROUP })
    const first = bucket.calls.length
    bucket.calls.length = 0
    await fetched(mirror, cid, { start: 0, end: GROUP })
    expect(first).to.be.at.most(6)
    expect(bucket.calls.every(call => call === 'get a')).to.equal(true)
  })

  const puts = fc.array(
    fc.record({ key: fc.constantFrom('a', 'b', 'c'), size: sizes(80_000), seed: fc.nat(3), choice: fc.nat(5) }),
    { maxLength: 8 })

  it('gives the right bytes or an error, whatever happens in between', () => holds('adopt', fc.asyncProperty(
    puts, async puts => {
      const bucket = memoryBucket()
      const made = new Map()
      for (const { key, size, seed, choice } of puts) {
        await bucket.put(key, noise(size, seed))
        if (choice === 0) await bucket.delete(key)
        if (choice > 1) {
          for (const result of await listed(adopt(bucket, { recheck: choice === 5 }))) {
            made.set(`${result.cid}`, result.cid)
            const now = await bodyOf(await bucket.get(result.key))
            if (`${toCid(hash(now))}` !== `${result.cid}`) throw new Error('it adopts another blob')
            if (!same(await fetched(bucketMirror(bucket), result.cid), now)) throw new Error('wrong bytes')
          }
        }
        for (const cid of made.values()) {
          const got = await fetched(bucketMirror(bucket), cid).catch(error => error)
          const isRight = got instanceof Error ? 'code' in got : `${toCid(hash(got))}` === `${cid}`
          if (!isRight) throw new Error('wrong bytes')
        }
      }
    }), 60))
})
