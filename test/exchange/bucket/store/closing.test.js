// A store is closed, or a caller gives up, while calls are under way: no request goes on, and nothing stays condemned.
import { expect } from 'chai'
import { adopt, memoryBucket } from '../../../../exchange/bucket/index.js'
import { Calls } from '../../../../exchange/bucket/store/calls.js'
import { turns } from '../../../support/fake-clock.js'
import { errorOf, listed } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { changedBucket, cidOf, openStore, withStore } from '../../../support/bucket/stores.js'

const CALLS = ['get', 'head', 'put', 'putParts', 'delete']
const BYTES = noise(40_000)
const CID = cidOf(BYTES)

/**
 * A bucket that does not answer some requests before their signals abort.
 *
 * @returns {{ bucket: object, waiting: Set<string> }} `waiting`: the requests that are under way
 */
function stuckBucket (bucket, isStuck) {
  const waiting = new Set()
  const answer = async (call, key, signal) => {
    if (!isStuck({ call, key })) return
    const name = `${call} ${key}`
    waiting.add(name)
    await new Promise((_resolve, reject) => {
      if (signal?.aborted) reject(signal.reason)
      signal?.addEventListener('abort', () => reject(signal.reason))
    }).finally(() => waiting.delete(name))
  }
  const changed = Object.fromEntries(CALLS.map(call => [call, async (...args) => {
    await answer(call, args[0], args.at(-1)?.signal)
    return bucket[call](...args)
  }]))
  changed.list = async function * (prefix, after, options) {
    await answer('list', prefix, options?.signal)
    yield * bucket.list(prefix, after, options)
  }
  return { bucket: changedBucket(bucket, changed), waiting }
}

describe('bucket store: closing', () => {
  const under = {
    'a look at gc/': ({ call, key }) => call === 'list' && key === 'gc/',
    'a read of condemned keys': ({ call, key }) => call === 'get' && key.startsWith('gc/'),
    'a read of the file of the layout': ({ call, key }) => call === 'get' && key === 'baobox.json',
    'a probe': ({ call, key }) => call === 'put' && key.startsWith('probe/'),
    'an upload': ({ call, key }) => call === 'putParts' && key.startsWith('blobs/'),
    'a list of tags': ({ call, key }) => call === 'list' && key.startsWith('tags/')
  }
  for (const [name, isStuck] of Object.entries(under)) {
    it(`ends ${name}`, async () => {
      const memory = memoryBucket()
      if (name !== 'a probe') {
        await withStore(memory, async store => {
          await store.put(noise(10))
          await store.gc()
        })
      }
      const { bucket, waiting } = stuckBucket(memory, isStuck)
      const store = await openStore(bucket)
      const work = errorOf(store.put(BYTES, { tag: 'a' }))
      await turns()
      expect(waiting).not.to.have.length(0)
      const closing = store.close()
      expect(await work).to.include({ code: 'STORE_CLOSED' })
      await closing
      expect([...waiting]).to.deep.equal([])
    })
  }

  it('ends the looks of adopt', async () => {
    const memory = memoryBucket()
    await memory.put('videos/a', BYTES)
    const { bucket, waiting } = stuckBucket(memory, ({ call, key }) => call === 'list' && key === 'gc/')
    const ending = new AbortController()
    const work = errorOf(listed(adopt(bucket, { prefix: 'videos/', signal: ending.signal })))
    await turns()
    expect([...waiting]).to.deep.equal(['list gc/'])
    ending.abort(new Error('no longer wanted'))
    expect(await work).to.have.property('message', 'no longer wanted')
    await turns()
    expect([...waiting]).to.deep.equal([])
  })

  for (const isClosed of [true, false]) {
    it(`ends a deletion whose caller gives no further CID: it is ${isClosed ? 'closed' : 'aborted'}`, async () => {
      const store = await openStore(memoryBucket())
      const ending = new AbortController()
      const cids = (async function * () { await new Promise(() => {}) })()
      const work = errorOf(store.deleteMany(cids, { signal: ending.signal }))
      await turns()
      if (!isClosed) ending.abort(new Error('no longer wanted'))
      const closing = store.close()
      expect(await work).to.have.property('message', isClosed ? 'the store is closed' : 'no longer wanted')
      await closing
    })
  }

  it('ends a source that receive does not read', async () => {
    const store = await openStore(memoryBucket(), { readOnly: true })
    let isEnded = false
    const source = new ReadableStream({ cancel () { isEnded = true } })
    expect(await errorOf(store.receive(CID, source))).to.include({ code: 'STORE_READ_ONLY' })
    await store.close()
    expect(isEnded).to.equal(true)
  })

  it('forgets calls that fail at once', async () => {
    const calls = new Calls(async () => {})
    let signal
    const work = given => {
      signal = given
      throw new TypeError('a wrong argument')
    }
    expect(await errorOf(calls.run(work))).to.be.instanceOf(TypeError)
    await calls.close()
    expect(signal.aborted, 'it is not among those that are ended').to.equal(false)
  })

  for (const isClosed of [true, false]) {
    it(`leaves no key condemned that nobody deletes: gc is ${isClosed ? 'closed' : 'aborted'} after dead`, async () => {
      const memory = memoryBucket()
      await withStore(memory, store => store.put(BYTES))
      let lists = 0
      // The second search for tags waits.
      const { bucket, waiting } = stuckBucket(memory, ({ call, key }) =>
        call === 'list' && key === 'tags/' && ++lists > 1)
      const store = await openStore(bucket)
      const ending = new AbortController()
      const work = errorOf(store.delete(CID, { signal: ending.signal }))
      for (let tries = 0; waiting.size === 0 && tries < 50; tries++) await turns()
      expect([...waiting]).to.deep.equal(['list tags/'])
      if (!isClosed) ending.abort(new Error('no longer wanted'))
      await store.close()
      await work
      await withStore(memory, other => other.tags.set('a', CID))
    })
  }
})
