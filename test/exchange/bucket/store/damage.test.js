// Objects that are foreign, cut off, damaged or gone. Nothing wrong is read, and whoever has the bytes repairs it.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { BaoError, hash } from '../../../../lib/index.js'
import { BlobStore } from '../../../../store/index.js'
import { bucketMirror } from '../../../../exchange/bucket/index.js'
import { createHandler } from '../../../../exchange/http/index.js'
import { copy, exportCar } from '../../../../exchange/transfer/index.js'
import { fetchVerified } from '../../../../verifier/index.js'
import { SharedBucket } from '../../../support/bucket/faulty.js'
import { concat, same } from '../../../support/bytes.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { changedBucket, cidOf, keyOfBytes, keysIn, openStore, withStore } from '../../../support/bucket/stores.js'

const [short, long] = [noise(10_000, 1), noise(100_000, 2)]

describe('bucket store: sizes that the bucket claims and that are wrong', () => {
  const root = hash(short)
  const isBlob = key => key === keyOfBytes(short)
  let shared, sequence
  beforeEach(async () => {
    shared = new SharedBucket()
    await withStore(shared.direct, async store => {
      await store.put(short)
      sequence = (await store.put(concat([root, root]), { tag: 'sequence', format: 'hashseq' })).cid
    })
  })

  /** A bucket that claims another size in lists, and in reads too if `inReads`. @param {number} size */
  const claiming = (size, { inReads }) => changedBucket(shared.direct, {
    async * list (...args) {
      for await (const object of shared.direct.list(...args)) yield isBlob(object.key) ? { ...object, size } : object
    },
    async get (key, ...rest) {
      const object = await shared.direct.get(key, ...rest)
      return inReads && isBlob(key) ? { ...object, size } : object
    }
  })
  const SIZES = [0, 10, short.length + 1]

  it('never pass for the end of a blob over HTTP', async () => {
    for (const size of SIZES) {
      await withStore(claiming(size, { inReads: true }), async store => {
        const handler = createHandler(store)
        for (const init of [{}, { method: 'HEAD' }, { headers: { range: 'bytes=20000-' } }]) {
          const { status } = await handler(new Request(`http://store.test/blobs/${cidOf(short)}`, init))
          expect(status, `${size} ${JSON.stringify(init)}`).to.be.oneOf([404, 502])
        }
        await handler.close()
      })
    }
  })

  it('never make an answer longer than its Content-Length', async () => {
    for (const size of SIZES) {
      await withStore(claiming(size, { inReads: false }), async store => {
        const handler = createHandler(store)
        const url = `http://store.test/blobs/${sequence}?format=bao-members&members=0-2`
        expect((await handler(new Request(url))).status, `${size}`).to.equal(500)
        await handler.close()
      })
    }
  })

  it('never make an archive with false lengths', async () => {
    for (const size of SIZES) {
      await withStore(claiming(size, { inReads: false }), async store => {
        const error = await errorOf(listed(exportCar(store)))
        expect(error).to.include({ code: 'SIZE_MISMATCH', wanted: size })
      })
    }
  })
})

describe('bucket store: a bucket that cannot be read', () => {
  it('is not taken for one without blobs by exportCar() and copy()', async () => {
    const shared = new SharedBucket()
    await withStore(shared.direct, async store => listed(store.putMany([short, long])))
    const get = async key => { throw new BaoError('BUCKET_FAILED', `${key} cannot be reached now`, { location: key }) }
    await withStore(changedBucket(shared.direct, { get }), async store => {
      expect(await errorOf(listed(exportCar(store)))).to.include({ code: 'STORE_NOT_FOUND' })
      const other = await BlobStore.open({ index: new MemoryLevel(), data: new MemoryLevel() })
      const { blobs, failed } = await copy(store, other)
      expect(blobs).to.equal(0)
      expect(failed.map(({ cid }) => `${cid}`)).to.have.members([short, long].map(bytes => `${cidOf(bytes)}`))
      await other.close()
    })
  })
})

describe('bucket store: wrong objects', () => {
  let shared, store
  beforeEach(async () => {
    shared = new SharedBucket()
    store = await openStore(shared.direct)
    await store.put(short, { tag: 'short' })
    await store.put(long, { tag: 'long' })
  })
  afterEach(() => store.close())

  /** Changes an object. */
  const change = async (key, changed) => {
    const pieces = []
    for await (const piece of (await shared.direct.get(key)).body) pieces.push(...piece)
    await shared.direct.put(key, changed(new Uint8Array(pieces)))
  }
  const flipped = bytes => bytes.map((byte, i) => i === 70 ? byte ^ 1 : byte)
  const cut = bytes => bytes.slice(0, -500)
  const DAMAGES = {
    'a byte of a short blob': [short, () => change(keyOfBytes(short), flipped)],
    'the end of a short blob': [short, () => change(keyOfBytes(short), cut)],
    'a byte of a long blob': [long, () => change(keyOfBytes(long), flipped)],
    'the end of a long blob': [long, () => change(keyOfBytes(long), cut)],
    'a byte of an outboard': [long, () => change(`${keyOfBytes(long)}.obao4`, flipped)],
    'the end of an outboard': [long, () => change(`${keyOfBytes(long)}.obao4`, cut)],
    'an outboard that is gone': [long, () => shared.direct.delete(`${keyOfBytes(long)}.obao4`)],
    'an object of somebody else': [long, () => shared.direct.put(keyOfBytes(long), noise(100_000, 9))],
    'an empty object': [short, () => shared.direct.put(keyOfBytes(short), new Uint8Array(0))]
  }

  for (const [name, [bytes, damage]] of Object.entries(DAMAGES)) {
    it(`are never read, found by fsck, and put again by whoever has the bytes: ${name}`, async () => {
      await damage()
      const cid = cidOf(bytes)
      await withStore(shared.direct, async other => {
        const error = await errorOf(other.bytes(cid))
        expect(error.code).to.be.oneOf(['STORE_NOT_FOUND', 'STORE_MISSING'])
        const { isSound, damaged } = await other.fsck()
        expect(isSound).to.equal(false)
        expect(damaged.map(({ cid }) => `${cid}`)).to.deep.equal([`${cid}`])
      })
      const { damaged } = await store.fsck({ repair: true })
      expect(damaged.map(({ lost }) => lost.boundaries)).to.deep.equal([[]])
      await withStore(shared.direct, async other => {
        expect(await other.fsck()).to.include({ isSound: true, blobs: 2 })
        expect(same(await other.bytes(cid), bytes)).to.equal(true)
      })
    })
  }

  it('are repaired from their own bytes if only the outboard is wrong', async () => {
    await shared.direct.delete(`${keyOfBytes(long)}.obao4`)
    await withStore(shared.direct, async other => {
      const { damaged } = await other.fsck({ repair: true })
      expect(damaged[0].lost.boundaries).to.deep.equal([])
      expect(await other.fsck()).to.include({ isSound: true })
    })
  })

  it('are replaced where they are, also if they have an id', async () => {
    // Ids are random, and readers take the first one.
    for (let i = 0; i < 8; i++) {
      await store.delete(cidOf(long), { force: true })
      await store.put(long)
      const [main] = (await keysIn(shared.direct, keyOfBytes(long))).filter(key => !key.endsWith('.obao4'))
      expect(main).to.match(/\.[\da-f]{8}$/)
      await change(main, flipped)
      const { damaged } = await store.fsck({ repair: true })
      expect(damaged[0].lost.boundaries).to.deep.equal([])
      await withStore(shared.direct, async other => {
        expect(await other.fsck()).to.include({ isSound: true })
        expect(same(await other.bytes(cidOf(long)), long)).to.equal(true)
      })
    }
  })

  for (const bytes of [short, long]) {
    it(`are replaced by a put, if their size shows it: ${bytes.length} bytes`, async () => {
      await change(keyOfBytes(bytes), cut)
      await withStore(shared.direct, async other => {
        // It remembers what it has seen after its last look for condemned keys.
        await other.put(noise(5))
        await other.has(cidOf(bytes))
        expect(await other.put(bytes, { tag: 'again' })).to.include({ isNew: true })
      })
      await withStore(shared.direct, async other =>
        expect(same(await other.bytes(cidOf(bytes)), bytes)).to.equal(true))
    })
  }

  it('of blobs that were put again under another key in the meantime do not stop a reader', async () => {
    const mirror = bucketMirror(shared.direct)
    for (let i = 0; i < 3; i++) {
      const response = await fetchVerified(mirror, { cid: cidOf(long), retries: 0 })
      expect(same(new Uint8Array(await response.arrayBuffer()), long)).to.equal(true)
      await store.delete(cidOf(long), { force: true })
      await store.put(long)
    }
  })
})

describe('bucket store: layout', () => {
  const encoded = record => new TextEncoder().encode(JSON.stringify(record))

  it('of another version is refused before anything is written', async () => {
    const { direct } = new SharedBucket()
    await direct.put('baobox.json', encoded({ version: 2, isProbed: true }))
    await withStore(direct, async store =>
      expect(await errorOf(store.put(short))).to.include({ code: 'STORE_VERSION' }))
    for (const text of ['{}', '[', '[]', '{"version":"1"}']) {
      await direct.put('baobox.json', new TextEncoder().encode(text))
      await withStore(direct, async store =>
        expect(await errorOf(store.put(short)), text).to.include({ code: 'BUCKET_INVALID' }))
    }
    expect(await keysIn(direct)).to.deep.equal(['baobox.json'])
  })

  it('is probed by the first process that writes, unless it is promised that there is no other', async () => {
    const shared = new SharedBucket()
    const unsafe = new Proxy(shared.direct, {
      get: (target, name) => name === 'put'
        ? (key, body, { ifAbsent, ...options } = {}) => target.put(key, body, options)
        : target[name]
    })
    await withStore(unsafe, async store => {
      for (const write of [() => store.put(short), () => store.tags.set('x', cidOf(short)), () => store.gc()]) {
        expect(await errorOf(write())).to.include({ code: 'BUCKET_UNSAFE' })
      }
      expect(await store.has(cidOf(short))).to.equal(false)
    })
    expect(await keysIn(shared.direct)).to.deep.equal([])
    await withStore(unsafe, async store => { await store.put(short, { tag: 'x' }) }, { exclusive: true })
    await withStore(unsafe, async store => {
      expect(same(await store.bytes(cidOf(short)), short)).to.equal(true)
      expect(await errorOf(store.put(long))).to.include({ code: 'BUCKET_UNSAFE' })
    })
    await withStore(unsafe, async store => {
      expect(same(await store.bytes(cidOf(short)), short)).to.equal(true)
      expect(await errorOf(store.put(long))).to.include({ code: 'STORE_READ_ONLY' })
      expect(await errorOf(store.gc())).to.include({ code: 'STORE_READ_ONLY' })
      const untouched = async function * () { throw new Error('a source was asked for') }
      expect(await errorOf(listed(store.putMany(untouched())))).to.include({ code: 'STORE_READ_ONLY' })
      let isCancelled = false
      const stream = new ReadableStream({ cancel () { isCancelled = true } })
      expect(await errorOf(store.put(stream))).to.include({ code: 'STORE_READ_ONLY' })
      expect(isCancelled).to.equal(true)
    }, { readOnly: true })
  })

  it('is looked at once for all calls, whichever of them is aborted', async () => {
    const shared = new SharedBucket()
    const ending = new AbortController()
    const slow = shared.process(({ call, key }) => {
      if (call === 'get' && key === 'baobox.json') ending.abort(new Error('no longer wanted'))
    })
    await withStore(slow.bucket, async store => {
      const [first, second] = await Promise.allSettled([store.put(short, { signal: ending.signal }), store.put(long)])
      expect(first.reason.message).to.equal('no longer wanted')
      expect(second).to.have.nested.property('value.isNew', true)
    })
  })
})

describe('bucket store: the local store', () => {
  it('gives up blobs that are uploaded, but none before', async () => {
    const { direct } = new SharedBucket()
    await withStore(direct, async store => {
      const blobs = Array.from({ length: 30 }, (_, i) => noise(50_000, i + 1))
      for await (const { isNew } of store.putMany(blobs)) expect(isNew).to.equal(true)
      for (const bytes of blobs) expect(same(await store.bytes(cidOf(bytes)), bytes)).to.equal(true)
    }, { quota: 150_000 })
  })

  it('keeps what was received in part, also if the upload fails', async () => {
    const shared = new SharedBucket()
    const source = await openStore(new SharedBucket().direct)
    const { cid } = await source.put(long)
    let isDown = true
    const failing = shared.process(({ call, key }) => call === 'putParts' && isDown ? 'refuse' : undefined)
    const store = await openStore(failing.bucket)
    try {
      const half = { start: 0, end: 49_152 }
      expect(await store.receive(cid, source.slice(cid, half), half)).to.include({ complete: false })
      expect(await errorOf(store.receive(cid, source.slice(cid)))).to.include({ code: 'BUCKET_FAILED' })
      expect(await store.has(cid)).to.equal(false)
      isDown = false
      expect(await store.receive(cid, source.slice(cid))).to.include({ complete: true })
      expect(await store.has(cid)).to.equal(true)
    } finally {
      await store.close()
      await source.close()
    }
    await withStore(shared.direct, async other => expect(same(await other.bytes(cid), long)).to.equal(true))
  })
})
