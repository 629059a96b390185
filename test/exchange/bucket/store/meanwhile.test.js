// What happens between the steps of a call, or between two calls: uploads that fail, other processes, sleep.
import { expect } from 'chai'
import { encodeSliceSync } from '../../../../encoder/index.js'
import { MemoryLevel } from 'memory-level'
import { BaoError, hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { adopt, memoryBucket } from '../../../../exchange/bucket/index.js'
import { Epochs } from '../../../../exchange/bucket/store/epochs.js'
import { Placements } from '../../../../exchange/bucket/store/placements.js'
import { concat, same } from '../../../support/bytes.js'
import { MIB } from '../../../support/constants.js'
import { turns } from '../../../support/fake-clock.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { outboardOf } from '../../../support/outboards.js'
import {
  changedBucket, cidOf, keyOfBytes, keysIn, openStore, withBefore, withStore
} from '../../../support/bucket/stores.js'

const DAY_MS = 24 * 60 * 60 * 1000
const BYTES = noise(40_000)
const CID = cidOf(BYTES)
const FIRST = { start: 0, end: 16_384 }
const SHA256 = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

const sliceOf = (bytes, range) => encodeSliceSync(bytes, outboardOf(bytes), range)

const failed = () => { throw new BaoError('BUCKET_FAILED', 'no answer', { location: 'memory' }) }

describe('bucket store: meanwhile', () => {
  let bucket, store
  beforeEach(async () => {
    bucket = memoryBucket()
    store = await openStore(bucket)
  })
  afterEach(() => store.close())

  it('a blob whose upload failed after the last slice is uploaded when a caller asks what is missing', async () => {
    let isDown = true
    const putParts = (...args) => isDown ? failed() : bucket.putParts(...args)
    await withStore(changedBucket(bucket, { putParts }), async store => {
      expect(await errorOf(store.receive(CID, sliceOf(BYTES)))).to.include({ code: 'BUCKET_FAILED' })
      expect(await store.has(CID)).to.equal(false)
      isDown = false
      expect((await store.missing(CID)).isEmpty).to.equal(true)
      expect(await store.has(CID)).to.equal(true)
    })
    expect(same(await store.bytes(CID), BYTES)).to.equal(true)
  })

  it('gc keeps an old outboard that a new copy uses', async () => {
    await withStore(bucket, async store => {
      const modified = new Date(Date.now() - 10 * DAY_MS)
      await bucket.put(`${keyOfBytes(BYTES)}.obao4`, outboardOf(BYTES).bytes)
      const list = async function * (...args) {
        for await (const object of bucket.list(...args)) {
          yield object.key.endsWith('.obao4') ? { ...object, modified } : object
        }
      }
      await withStore(changedBucket(bucket, { list }), async store => {
        await store.put(BYTES)
        expect((await store.gc()).blobs).to.equal(0)
      }, { untaggedTtl: DAY_MS })
      expect(same(await store.bytes(CID), BYTES)).to.equal(true)
    })
  })

  it('a blob that is deleted here while a list is under way is not believed to be there', async () => {
    await store.put(BYTES)
    let go = () => {}
    const deleted = new Promise(resolve => { go = resolve })
    let isFirst = true
    const list = async function * (prefix, ...rest) {
      const objects = await listed(bucket.list(prefix, ...rest))
      if (isFirst && prefix === keyOfBytes(BYTES)) {
        isFirst = false
        await deleted
      }
      yield * objects
    }
    await withStore(changedBucket(bucket, { list }), async store => {
      await store.put(noise(10)) // It looks at gc/.
      const looking = store.has(CID)
      await turns()
      await store.delete(CID)
      go()
      await looking
      expect(await store.has(CID)).to.equal(false)
    })
  })

  it('a blob that another process has deleted a moment ago is received again', async () => {
    await store.put(BYTES)
    await withStore(bucket, async other => {
      await other.delete(CID)
      expect(await store.receive(CID, sliceOf(BYTES))).to.include({ complete: true })
      expect(await other.has(CID)).to.equal(true)
      expect(await store.receive(CID, sliceOf(BYTES))).to.include({ received: 0, complete: true })
    })
  })

  it('an epoch is over after a week of sleep, although the last answer is older', async () => {
    const frozen = changedBucket(bucket, { lastAnswer: new Date() })
    const epoch = await new Epochs(frozen).begin()
    epoch.assertNotOver()
    const { now } = Date
    try {
      Date.now = () => now() + 8 * DAY_MS
      expect(() => epoch.assertNotOver()).to.throw(BaoError).with.property('code', 'STORE_CHANGED')
    } finally {
      Date.now = now
    }
  })

  it('rename leaves a tag that somebody else has set under the old name', async () => {
    const other = noise(10)
    await store.put(BYTES, { tag: 'old' })
    await store.put(other)
    const act = () => store.tags.set('old', cidOf(other))
    const busy = withBefore(bucket, key => key.startsWith('tags/new/'), act)
    await withStore(busy, store => store.tags.rename('old', 'new'))
    expect(String((await store.tags.get('new')).cid)).to.equal(String(CID))
    expect(String((await store.tags.get('old')).cid)).to.equal(String(cidOf(other)))
  })

  it('delete leaves a tagged blob that is here in part', async () => {
    await store.receive(CID, sliceOf(BYTES, FIRST), FIRST)
    await store.tags.set('download.part', CID)
    expect(await errorOf(store.delete(CID))).to.include({ code: 'STORE_TAGGED', tag: 'download.part' })
    expect(same(await store.bytes(CID, FIRST), BYTES.subarray(0, 16_384))).to.equal(true)
    await store.tags.delete('download.part')
    expect(await store.delete(CID)).to.deep.equal({ blobs: 1, bytes: 16_384 })
  })

  it('gc deletes blobs that are here in part, unless a tag names them', async () => {
    await store.receive(CID, sliceOf(BYTES, FIRST), FIRST)
    await store.tags.set('download.part', CID)
    expect(await store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    await store.tags.delete('download.part')
    expect(await store.gc()).to.deep.equal({ blobs: 1, bytes: 16_384 })
    expect(await listed(store.list())).to.deep.equal([])
  })

  it('fsck fails when the bucket does not answer, and does not call blobs damaged', async () => {
    await store.put(BYTES)
    const get = key => key.startsWith('blobs/') ? failed() : bucket.get(key)
    await withStore(changedBucket(bucket, { get }), async store =>
      expect(await errorOf(store.fsck())).to.include({ code: 'BUCKET_FAILED' }))
  })

  it('fsck passes over blobs that the bucket does not have, and does not bring deleted ones back', async () => {
    expect(await store.fsck({ cids: [CID], repair: true })).to.include({ isSound: true, blobs: 0 })
    await store.put(BYTES)
    await withStore(bucket, other => other.delete(CID))
    expect(await store.fsck({ cids: [CID], repair: true })).to.include({ isSound: true, blobs: 0 })
    expect(await store.has(CID)).to.equal(false)
  })

  it('put with expect reads the source if the blob is being deleted', async () => {
    await withStore(bucket, other => other.put(BYTES))
    await store.has(CID)
    await withStore(bucket, other => other.delete(CID))
    const { isNew } = await store.put(BYTES, { expect: CID, tag: 'kept' })
    expect(isNew).to.equal(true)
    await withStore(bucket, async other => expect(same(await other.bytes(CID), BYTES)).to.equal(true))
  })

  it('aliases do not lead to a blob that another process has deleted', async () => {
    await withStore(bucket, other => other.put(BYTES))
    await store.bytes(CID) // It stays in the local store.
    await withStore(bucket, other => other.delete(CID))
    await withStore(bucket, async other => {
      expect(await errorOf(other.aliases.add(CID, SHA256))).to.include({ code: 'STORE_NOT_FOUND' })
      expect(await other.resolve(CID)).to.equal(undefined)
    })
  })

  it('a blob is put again that was deleted after the look that calls in a series share', async () => {
    await withStore(bucket, other => other.put(BYTES))
    const local = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
    const first = await local.put(noise(100))
    await local.put(BYTES)
    const locks = { run: (_name, work) => work() }
    const placements = new Placements({ bucket, epochs: new Epochs(bucket), local, locks })
    const series = {}
    await placements.keep([hash(noise(100))], { series })
    await withStore(bucket, other => other.delete(CID))
    await placements.keep([hash(BYTES)], { series, required: hash(BYTES) })
    await bucket.delete(keyOfBytes(BYTES)) // A request of the collector comes late.
    await withStore(bucket, async other => {
      expect(same(await other.bytes(CID), BYTES)).to.equal(true)
      expect(await other.has(first.cid)).to.equal(true)
    })
    await local.close()
  })

  it('a ttl counts from the call, and a blob is believed for 10 s, after hours without a request', async () => {
    const clock = { now: Date.now(), last: Date.now() }
    const answering = new Proxy(bucket, {
      get (target, name) {
        if (name === 'lastAnswer') return new Date(clock.last)
        if (typeof target[name] !== 'function') return target[name]
        return (...args) => {
          clock.last = clock.now
          return target[name](...args)
        }
      }
    })
    await withStore(answering, async store => {
      const { cid } = await store.put(noise(10))
      clock.now += DAY_MS
      await store.tags.set('a', cid, { ttl: 60_000 })
      expect(await store.tags.get('a')).to.not.equal(undefined)
      clock.now += DAY_MS
      await store.put(BYTES, { tag: 'b', ttl: 60_000 })
      expect(await store.tags.get('b')).to.not.equal(undefined)
      await withStore(bucket, other => other.delete(CID, { force: true }))
      const { now } = performance
      try {
        performance.now = () => now.call(performance) + 11_000
        expect(await store.has(CID)).to.equal(false)
      } finally {
        performance.now = now
      }
    })
  })

  it('a tag on an adopted object that was read here copies nothing, and a put of its bytes does', async () => {
    await bucket.put('films/1', BYTES)
    await listed(adopt(bucket))
    await store.bytes(CID)
    await store.tags.set('film', CID)
    expect(await keysIn(bucket, 'blobs/')).to.deep.equal([`${keyOfBytes(BYTES)}.obao4`])
    await store.put(BYTES)
    expect(await keysIn(bucket, 'blobs/')).to.include(keyOfBytes(BYTES))
  })

  it('what gc was about to delete when it failed can be tagged', async () => {
    const { cid } = await store.put(BYTES)
    let isDead = false
    const put = (key, ...rest) => {
      isDead ||= key.endsWith('/dead')
      return bucket.put(key, ...rest)
    }
    const list = (prefix, ...rest) => isDead && prefix.startsWith('tags/') ? failed() : bucket.list(prefix, ...rest)
    await withStore(changedBucket(bucket, { put, list }), async failing => {
      expect(await errorOf(failing.gc())).to.include({ code: 'BUCKET_FAILED' })
    })
    await withStore(bucket, async other => {
      await other.tags.set('a', cid)
      expect(same(await other.bytes(cid), BYTES)).to.equal(true)
    })
  })

  it('putMany uploads few long blobs at the same time', async () => {
    let [underWay, most] = [0, 0]
    const putParts = async (...args) => {
      most = Math.max(most, ++underWay)
      await turns()
      await bucket.putParts(...args)
      underWay--
    }
    await withStore(changedBucket(bucket, { putParts }), async store => {
      const long = Array.from({ length: 5 }, (_, i) => new Uint8Array(33 * MIB).fill(i))
      for await (const { isNew } of store.putMany(long)) expect(isNew).to.equal(true)
      expect(most).to.equal(2)
      for await (const { isNew } of store.putMany(Array.from({ length: 40 }, (_, i) => noise(20_000, i)))) {
        expect(isNew).to.equal(true)
      }
      expect(most).to.be.above(20)
    })
  })

  it('putMany refuses what is no source, and unknown names', async () => {
    for (const blob of [null, { source: BYTES, tag: 'x' }]) {
      expect(await errorOf(listed(store.putMany([blob])))).to.be.instanceOf(TypeError)
    }
  })

  it('wrong arguments reject', async () => {
    const source = concat([BYTES])
    for (const call of [
      () => store.missing('x'), () => store.put(source, null), () => store.has(CID, null), () => store.gc(null),
      () => store.fsck({ cids: 5 }), () => store.receive(hash(source), source, { start: -1 })
    ]) {
      const result = call()
      expect(result).to.be.a('promise')
      expect(await errorOf(result)).to.satisfy(error => error instanceof TypeError || error instanceof RangeError ||
        error.code === 'CID_UNSUPPORTED')
    }
  })
})
