// The probe finds every promise that a bucket breaks.
import { expect } from 'chai'
import { memoryBucket, probe } from '../../../exchange/bucket/index.js'
import { bytesOf } from '../../support/bucket/contract.js'
import { errorOf, listed } from '../../support/feeding.js'

/** A bucket some of whose calls are others. @param {(bucket) => object} change */
function changed (change) {
  const bucket = memoryBucket()
  const calls = ['get', 'head', 'put', 'putParts', 'delete', 'list', 'abortUploads', 'url']
  const same = Object.fromEntries(calls.map(call => [call, bucket[call].bind(bucket)]))
  return { location: 'a liar', ...same, ...change(same) }
}

const turn = () => new Promise(resolve => setTimeout(resolve))

describe('the probe', () => {
  it('finds nothing in a bucket that keeps its promises, and leaves nothing there', async () => {
    const bucket = memoryBucket()
    await bucket.put('mine', bytesOf('1'))
    expect(await probe(bucket)).to.deep.equal({ endpoints: 1, creates: 32 })
    expect(await probe(bucket, { others: [bucket, bucket] })).to.deep.equal({ endpoints: 3, creates: 32 })
    expect((await listed(bucket.list())).map(({ key }) => key)).to.deep.equal(['mine'])
  })

  /** What a bucket does wrong, and what the probe says then. */
  const LIARS = [
    ['ignores the condition', 'of 8 racing creates of one key, 8 succeeded', ({ put }) => ({
      put: (key, body, { signal } = {}) => put(key, body, { signal })
    })],
    ['checks the condition before it writes, not while', 'of 8 racing creates of one key', ({ put, head }) => ({
      async put (key, body, { ifAbsent } = {}) {
        if (ifAbsent && await head(key) !== undefined) return { isWritten: false }
        await turn()
        return put(key, body)
      }
    })],
    ['refuses creates, and writes all the same', 'the object of a create that was refused was read', ({ put }) => ({
      async put (key, body, { ifAbsent } = {}) {
        const result = await put(key, body, { ifAbsent })
        if (!result.isWritten) await put(key, body)
        return result
      }
    })],
    ['shows old objects', 'a read did not see the write before it', ({ get, put }) => {
      const old = new Map()
      return {
        async put (key, body, options) {
          old.set(key, await get(key))
          return put(key, body, options)
        },
        get: async (key, range) => key.includes('written') ? old.get(key) : get(key, range)
      }
    }],
    ['shows an old list', 'a list did not see the write before it', ({ list }) => ({
      async * list (prefix, after) {
        for await (const object of list(prefix, after)) if (object.size !== 'second'.length) yield object
      }
    })],
    ['shows what was deleted in a list', 'a list did not see the deletion before it', ({ delete: remove, list }) => {
      const deleted = []
      return {
        async delete (key) {
          deleted.push({ key, size: 6 })
          await remove(key)
        },
        async * list (prefix, after) {
          yield * list(prefix, after)
          yield * deleted.filter(({ key }) => key.startsWith(prefix))
        }
      }
    }],
    ['does not delete', 'a read did not see the deletion before it', () => ({ async delete () {} })],
    ['loses creates', 'a key that was created was not there in the next read', ({ put }) => {
      const keys = new Set()
      return {
        async put (key, body, { ifAbsent } = {}) {
          if (!ifAbsent) return put(key, body)
          const isWritten = !keys.has(key)
          keys.add(key)
          return { isWritten }
        }
      }
    }]
  ]
  for (const [what, fault, change] of LIARS) {
    it(`finds a bucket that ${what}`, async () => {
      const error = await errorOf(probe(changed(change)))
      expect(error).to.include({ code: 'BUCKET_UNSAFE', location: 'a liar' })
      expect(error.message).to.include(fault)
    })
  }

  it('says each fault once', async () => {
    const { message } = await errorOf(probe(changed(({ put }) => ({ put: (key, body) => put(key, body) }))))
    expect(message.split('a create of a key that was there succeeded')).to.have.length(2)
  })

  it('finds an endpoint of another bucket', async () => {
    const error = await errorOf(probe(memoryBucket(), { others: [memoryBucket()] }))
    expect(error.code).to.equal('BUCKET_UNSAFE')
  })

  it('accepts that the answer to a create is lost, and the next try finds the object', async () => {
    const bucket = changed(({ put }) => ({
      put: async (key, body, options) => {
        const result = await put(key, body, options)
        return options?.ifAbsent ? { isWritten: false } : result
      }
    }))
    expect(await probe(bucket)).to.deep.equal({ endpoints: 1, creates: 32 })
  })

  it('passes on errors of the bucket, and deletes what it has written', async () => {
    const reason = new Error('no list')
    const bucket = changed(() => ({ list: async function * () { throw reason } }))
    expect(await errorOf(probe(bucket))).to.equal(reason)
    expect(await errorOf(probe(memoryBucket(), { signal: AbortSignal.abort(reason) }))).to.equal(reason)
    const { list, ...without } = changed(() => ({}))
    expect(await errorOf(probe(without))).to.be.an.instanceOf(TypeError)
    expect(await errorOf(probe(memoryBucket(), { other: [] }))).to.be.an.instanceOf(TypeError)
  })
})
