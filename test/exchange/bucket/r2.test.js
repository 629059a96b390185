// A binding of R2 that fails.
import { expect } from 'chai'
import { r2Bucket } from '../../../exchange/bucket/index.js'
import { openR2 } from '../../../exchange/bucket/r2.js'
import { bodyOf, bytesOf, textOf } from '../../support/bucket/contract.js'
import { FakeR2, r2Error } from '../../support/bucket/fake-r2.js'
import { same } from '../../support/bytes.js'
import { FakeClock, turns } from '../../support/fake-clock.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { streamOf } from '../../support/servers.js'

const never = () => new Promise(() => {})

/** A bucket whose binding has other calls for the first times. @param {Record<string, Function[]>} faults  by call */
function bucketWith (faults, options) {
  const binding = new FakeR2()
  for (const [name, list] of Object.entries(faults)) {
    const call = binding[name]
    const left = [...list]
    binding[name] = async (...args) => {
      binding.calls.push(`try ${name}`)
      const fault = left.shift()
      return fault === undefined ? call(...args) : fault(() => call(...args))
    }
  }
  const clock = new FakeClock()
  const bucket = openR2(binding, options, { clock, partLen: 1000 })
  const until = promise => clock.until(promise)
  return { bucket, binding, until, failing: promise => errorOf(until(promise)) }
}

const internal = () => { throw r2Error('put', 'We encountered an internal error. Please try again.', 10001) }

describe('a call of a binding of R2', () => {
  it('is made again after errors that pass, and after no answer', async () => {
    const limited = () => { throw r2Error('put', 'Reduce your rate of requests', 10058) }
    const cut = () => { throw new Error('Network connection lost.') }
    for (const fault of [internal, limited, cut, never]) {
      const { bucket, until } = bucketWith({ put: [fault, fault] })
      expect(await until(bucket.put('a', bytesOf('1')))).to.include({ isWritten: true })
    }
  })

  it('tells an unknown outcome from a failure and a refusal', async () => {
    const outcomes = [
      [10001, 'BUCKET_UNKNOWN'], [10043, 'BUCKET_UNKNOWN'], [10058, 'BUCKET_FAILED'], [10003, 'BUCKET_REFUSED'],
      [10006, 'BUCKET_ABSENT']
    ]
    for (const [number, code] of outcomes) {
      const fault = () => { throw r2Error('put', 'because', number) }
      const { bucket, failing } = bucketWith({ put: Array(5).fill(fault) })
      expect(await failing(bucket.put('a', bytesOf('1'))), `${number}`).to.include({ code, location: 'r2:a' })
    }
    const { bucket, failing } = bucketWith({ get: Array(5).fill(internal) })
    expect(await failing(bucket.get('a'))).to.include({ code: 'BUCKET_FAILED' })
  })

  it('with ifAbsent finds its own object after a lost answer', async () => {
    const lost = async call => {
      await call()
      throw new Error('Network connection lost.')
    }
    const { bucket, until } = bucketWith({ put: [lost] })
    expect(await until(bucket.put('a', bytesOf('mine'), { ifAbsent: true }))).to.deep.equal({ isWritten: false })
    expect(await textOf(await until(bucket.get('a')))).to.equal('mine')
  })

  it('reads on where a body ends too early, of the same version', async () => {
    const content = noise(100_000, 3)
    const cut = async call => {
      const object = await call()
      const bytes = new Uint8Array(await new Response(object.body).arrayBuffer())
      return { ...object, body: streamOf([bytes.subarray(0, 40_000)]) }
    }
    const { bucket, until, failing, binding } = bucketWith({ get: [cut, undefined, cut] })
    await until(bucket.put('a', content))
    expect(same(await until(bodyOf(await until(bucket.get('a')))), content)).to.equal(true)
    const object = await until(bucket.get('a'))
    await binding.put('a', noise(100_000, 4))
    expect(await failing(bodyOf(object))).to.include({ code: 'FETCH_CHANGED' })
  })

  it('ends the body of an answer that nobody waits for any longer', async () => {
    const reason = new Error('enough')
    const ending = new AbortController()
    for (const signal of [undefined, ending.signal]) {
      let answer
      const ended = []
      const body = new ReadableStream({ cancel: () => { ended.push('body') } })
      const late = () => new Promise(resolve => {
        answer = () => resolve({ key: 'a', size: 5, etag: 'e', uploaded: new Date(), body })
        if (signal !== undefined) ending.abort(reason)
      })
      const { bucket, failing } = bucketWith({ get: [late] }, { retries: 0 })
      const error = await failing(bucket.get('a', {}, { signal }))
      if (signal === undefined) expect(error).to.include({ code: 'BUCKET_FAILED' })
      else expect(error).to.equal(reason)
      answer()
      await turns()
      expect(ended).to.deep.equal(['body'])
    }
  })

  it('refuses lists that are out of order, or do not go on', async () => {
    const object = key => ({ key, size: 1, etag: 'e', uploaded: new Date() })
    const lists = [
      { objects: [object('b'), object('a')], truncated: false }, { objects: [object('a')], truncated: true },
      { objects: [], truncated: true }
    ]
    for (const page of lists) {
      const { bucket, failing } = bucketWith({ list: Array(5).fill(() => page) })
      expect(await failing(listed(bucket.list()))).to.include({ code: 'BUCKET_INVALID' })
    }
    const endless = bucketWith({ list: Array(9).fill(() => ({ objects: [], truncated: true, cursor: 'same' })) })
    expect(await endless.failing(listed(endless.bucket.list()))).to.include({ code: 'BUCKET_INVALID' })
  })

  it('has a binding and options that are checked', () => {
    expect(r2Bucket(new FakeR2()).location).to.equal('r2:')
    for (const binding of [undefined, 5, {}, { get () {} }]) expect(() => r2Bucket(binding)).to.throw(TypeError)
    for (const options of [{ prefix: '/a' }, { retries: -1 }, { stall: 0 }, { fetch }]) {
      expect(() => r2Bucket(new FakeR2(), options), JSON.stringify(options)).to.throw()
    }
  })
})
