// Servers of S3 that fail, lie or attack.
import { expect } from 'chai'
import { s3 } from '../../../exchange/bucket/index.js'
import { openS3 } from '../../../exchange/bucket/s3.js'
import { bodyOf, bytesOf, textOf } from '../../support/bucket/contract.js'
import { FakeS3, errorXml } from '../../support/bucket/fake-s3.js'
import { same } from '../../support/bytes.js'
import { FakeClock, turns } from '../../support/fake-clock.js'
import { errorOf, listed } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { streamOf } from '../../support/servers.js'

const KEYS = { accessKeyId: 'key', secretAccessKey: 'secret' }
const never = () => new Promise(() => {})
const status = (status, headers) => new Response(null, { status, headers })

/**
 * A bucket on a server that fails at first.
 *
 * @param {((answer: () => Promise<Response>, url: string, init: RequestInit) => Response | Promise<Response>)[]} faults
 *   in place of the first answers
 */
function bucketWith (faults, options = {}) {
  const server = new FakeS3()
  const clock = new FakeClock()
  const left = [...faults]
  const calls = []
  const fetch = async (url, init) => {
    calls.push({ url, ...init })
    const fault = left.shift()
    const answer = () => server.fetch(url, init)
    return fault === undefined ? answer() : fault(answer, url, init)
  }
  const all = { endpoint: server.url, bucket: 'bucket', ...KEYS, fetch, ...options }
  const bucket = openS3(all, { clock, partLen: 1000 })
  const until = promise => clock.until(promise)
  return { bucket, server, clock, calls, until, failing: promise => errorOf(until(promise)) }
}

const ALWAYS = Array(20)
const always = fault => ALWAYS.fill(fault)

describe('a request to S3', () => {
  const FOR_A_TIME = {
    'a broken connection': () => { throw new TypeError('fetch failed') },
    'status 500': () => errorXml(500, 'InternalError'),
    'status 503': () => errorXml(503, 'SlowDown'),
    'status 429': () => errorXml(429, 'TooManyRequests'),
    'status 408': () => status(408),
    'no answer': never,
    RequestTimeout: () => errorXml(400, 'RequestTimeout')
  }
  for (const [what, fault] of Object.entries(FOR_A_TIME)) {
    it(`is made again after ${what}`, async () => {
      const { bucket, until, calls } = bucketWith([fault, fault])
      expect(await until(bucket.put('a', bytesOf('1')))).to.deep.equal({ isWritten: true, etag: '1' })
      expect(calls).to.have.length(3)
    })
  }

  it('is no longer tied to the signal of the caller when its answer was read to the end', async () => {
    const { bucket, until, calls } = bucketWith([])
    const ending = new AbortController()
    const { signal } = ending
    await until(bucket.put('a', noise(5000), { signal }))
    await until(bucket.head('a', { signal }))
    await until(listed(bucket.list('', '', { signal })))
    expect(await until(bucket.get('b', undefined, { signal }))).to.equal(undefined)
    const { body } = await until(bucket.get('a', undefined, { signal }))
    ending.abort()
    expect(calls.map(call => call.signal.aborted)).to.deep.equal([false, false, false, false, true])
    await body.return()
  })

  it('fails after the tries that the caller wants', async () => {
    const { bucket, failing, calls } = bucketWith(always(() => errorXml(503, 'SlowDown')), { retries: 2 })
    expect(await failing(bucket.head('a')))
      .to.include({ code: 'BUCKET_FAILED', status: 503, location: 's3://bucket/a' })
    expect(calls).to.have.length(3)
  })

  it('waits as long as the server wants', async () => {
    const { bucket, until, clock } = bucketWith([() => errorXml(503, 'SlowDown', { 'retry-after': '20' })])
    await until(bucket.head('a'))
    expect(clock.now()).to.be.at.least(20_000)
  })

  it('follows no redirect, and sends no credentials elsewhere', async () => {
    for (const code of [301, 302, 307, 308]) {
      const location = 'https://evil.test/bucket/a'
      const redirect = () => status(code, { location, 'x-amz-bucket-region': 'eu-1' })
      const { bucket, failing, calls } = bucketWith(always(redirect))
      const error = await failing(bucket.put('a', bytesOf('1')))
      expect(error).to.include({ code: 'BUCKET_INVALID', status: code })
      expect(error.message).to.include('the region of the bucket is eu-1')
      expect(calls.map(({ url }) => new URL(url).host)).to.deep.equal(['s3.test'])
    }
  })

  it('refuses an answer for which a redirect was followed all the same', async () => {
    const followed = answer => answer().then(response => Object.defineProperty(response, 'redirected', { value: true }))
    const { bucket, failing } = bucketWith([followed])
    expect(await failing(bucket.get('a'))).to.include({ code: 'BUCKET_INVALID' })
  })

  it('says what the server refuses, without its control characters', async () => {
    const text = '<Error><Code>AccessDenied</Code><Message>no\u001b[31m</Message></Error>'
    const refused = () => new Response(text, { status: 403 })
    const { bucket, failing, calls } = bucketWith(always(refused))
    const error = await failing(bucket.delete('a'))
    expect(error).to.include({ code: 'BUCKET_REFUSED', status: 403 })
    expect(error.message).to.include('status 403 to DELETE, AccessDenied, no [31m')
    expect(calls).to.have.length(1)
  })

  it('says that the clock is wrong, and shows both', async () => {
    const date = 'Thu, 01 Jan 2026 00:00:00 GMT'
    const { bucket, failing } = bucketWith([() => errorXml(403, 'RequestTimeTooSkewed', { date })])
    const error = await failing(bucket.get('a'))
    expect(error.code).to.equal('BUCKET_CLOCK')
    expect(error.message).to.include(date)
  })

  it('says that there is no bucket', async () => {
    const { bucket, failing } = bucketWith([], { bucket: 'other' })
    const calls = [
      () => bucket.get('a'), () => bucket.put('a', bytesOf('1')), () => bucket.delete('a'), () => listed(bucket.list()),
      () => bucket.putParts('a', [noise(5000)]), () => bucket.abortUploads(new Date())
    ]
    for (const call of calls) {
      expect(await failing(call())).to.include({ code: 'BUCKET_ABSENT', location: 's3://other/' })
    }
  })

  it('takes status 404 for an object that is not there only if the server does not say more', async () => {
    for (const code of ['NoSuchKey', '']) {
      const { bucket, until } = bucketWith([() => errorXml(404, code)])
      expect(await until(bucket.get('a'))).to.equal(undefined)
    }
    const { bucket, failing } = bucketWith([() => errorXml(404, 'InvalidAccessKeyId')])
    expect(await failing(bucket.get('a'))).to.include({ code: 'BUCKET_REFUSED', status: 404 })
  })

  it('to a server that knows no conditions is refused, and not repeated', async () => {
    const { bucket, failing, calls } = bucketWith(always(() => errorXml(501, 'NotImplemented')))
    expect(await failing(bucket.put('a', bytesOf('1'), { ifAbsent: true }))).to.include({ code: 'BUCKET_REFUSED' })
    expect(calls).to.have.length(1)
  })

  it('ends when the signal aborts, also in a wait', async () => {
    const ending = new AbortController()
    const reason = new Error('enough')
    const { bucket } = bucketWith([() => errorXml(503, 'SlowDown', { 'retry-after': '1000000' })])
    const reading = bucket.head('a', { signal: ending.signal })
    setTimeout(() => ending.abort(reason))
    expect(await errorOf(reading)).to.equal(reason)
    const stuck = bucketWith([never])
    const other = new AbortController()
    const writing = stuck.bucket.put('a', bytesOf('1'), { signal: other.signal })
    setTimeout(() => other.abort(reason))
    expect(await errorOf(writing)).to.equal(reason)
  })
})

describe('a write to S3', () => {
  const lost = async answer => {
    await answer()
    throw new TypeError('fetch failed')
  }

  it('whose answers are all lost has an unknown outcome, and is there', async () => {
    for (const fault of [lost, answer => answer().then(() => status(502)), answer => answer().then(never)]) {
      const { bucket, failing, until } = bucketWith(Array(3).fill(fault), { retries: 2 })
      const error = await failing(bucket.put('a', bytesOf('1')))
      expect(error).to.include({ code: 'BUCKET_UNKNOWN', location: 's3://bucket/a' })
      expect(error.cause).to.include({ code: 'BUCKET_FAILED' })
      expect(await textOf(await until(bucket.get('a')))).to.equal('1')
    }
  })

  it('that never reached the server has failed for certain', async () => {
    const cause = Object.assign(new Error(), { code: 'ECONNREFUSED' })
    const refused = () => { throw new TypeError('fetch failed', { cause }) }
    const { bucket, failing } = bucketWith(always(refused), { retries: 2 })
    const error = await failing(bucket.put('a', bytesOf('1')))
    expect(error).to.include({ code: 'BUCKET_FAILED' })
    expect(error.message).to.include('ECONNREFUSED')
  })

  it('that was refused after a lost answer has an unknown outcome', async () => {
    const { bucket, failing } = bucketWith([lost, () => errorXml(403, 'AccessDenied')])
    expect(await failing(bucket.put('a', bytesOf('1')))).to.include({ code: 'BUCKET_UNKNOWN' })
    const deleting = bucketWith([lost, () => errorXml(403, 'AccessDenied')])
    expect(await deleting.failing(deleting.bucket.delete('a'))).to.include({ code: 'BUCKET_UNKNOWN' })
  })

  it('has an unknown outcome after a lost answer, whatever error ends it', async () => {
    const reason = new Error('no keys')
    const unlucky = () => {
      let count = 0
      const credentials = async () => {
        if (++count > 1) throw reason
        return KEYS
      }
      return { accessKeyId: undefined, secretAccessKey: undefined, credentials }
    }
    const expired = () => errorXml(403, 'ExpiredToken')
    const { bucket, failing } = bucketWith([lost, expired], unlucky())
    const error = await failing(bucket.put('a', bytesOf('1')))
    expect(error).to.include({ code: 'BUCKET_UNKNOWN', location: 's3://bucket/a', cause: reason })
    const nameless = () => new Response('<R><UploadId></UploadId></R>')
    const begun = bucketWith([lost, nameless])
    const other = await begun.failing(begun.bucket.putParts('a', [noise(2500)]))
    expect(other).to.include({ code: 'BUCKET_UNKNOWN' })
    expect(other.cause).to.include({ code: 'BUCKET_INVALID' })

    let ends = 0
    const lostAtEnd = (answer, _url, { method, body }) => {
      if (method !== 'POST' || body === undefined) return answer()
      return ++ends === 1 ? lost(answer) : expired()
    }
    const parts = bucketWith(always(lostAtEnd), unlucky())
    expect(await parts.failing(parts.bucket.putParts('a', [noise(2500)]))).to.include({ code: 'BUCKET_UNKNOWN' })
    expect(parts.calls.filter(({ method }) => method === 'DELETE')).to.deep.equal([])
  })

  it('puts an object with a media type', async () => {
    const { bucket, server, until } = bucketWith([])
    await until(bucket.put('a', bytesOf('1'), { type: 'text/html; charset=utf-8' }))
    expect(server.objects.get('a').type).to.equal('text/html; charset=utf-8')
    await until(bucket.put('a', bytesOf('1')))
    expect(server.objects.get('a').type).to.equal('application/octet-stream')
  })

  it('with ifAbsent finds its own object after a lost answer', async () => {
    const { bucket, until } = bucketWith([lost])
    expect(await until(bucket.put('a', bytesOf('mine'), { ifAbsent: true }))).to.deep.equal({ isWritten: false })
    expect(await textOf(await until(bucket.get('a')))).to.equal('mine')
  })

  it('with ifAbsent is made again after 409 and 404, which say that nothing was written', async () => {
    for (const fault of [() => errorXml(409, 'ConditionalRequestConflict'), () => errorXml(404, 'NoSuchKey')]) {
      const { bucket, until } = bucketWith([fault])
      expect(await until(bucket.put('a', bytesOf('1'), { ifAbsent: true }))).to.include({ isWritten: true })
      const often = bucketWith(always(fault))
      const error = await often.failing(often.bucket.put('a', bytesOf('1'), { ifAbsent: true }))
      expect(error).to.include({ code: 'BUCKET_FAILED' })
    }
  })

  it('in parts fails if the server says so with status 200', async () => {
    const asFailed = code => (answer, _url, { method, body }) =>
      method === 'POST' && body !== undefined ? errorXml(200, code) : answer()
    const refused = bucketWith(always(asFailed('InvalidPart')))
    expect(await refused.failing(refused.bucket.putParts('a', [noise(2500)]))).to.include({ code: 'BUCKET_REFUSED' })
    expect(refused.server.uploads.size).to.equal(0)
    const unknown = bucketWith(always(asFailed('InternalError')))
    expect(await unknown.failing(unknown.bucket.putParts('a', [noise(2500)]))).to.include({ code: 'BUCKET_UNKNOWN' })
  })

  it('in parts has an unknown outcome if the answer at its end is lost', async () => {
    const lostAtEnd = (answer, url, init) => init.method === 'POST' && init.body !== undefined ? lost(answer) : answer()
    const { bucket, failing, until } = bucketWith(always(lostAtEnd))
    expect(await failing(bucket.putParts('a', [noise(2500)]))).to.include({ code: 'BUCKET_UNKNOWN' })
    expect(await until(bucket.head('a'))).to.include({ size: 2500 })
  })

  it('in parts ends when the signal aborts, and does not wait until the parts are deleted', async () => {
    const reason = new Error('enough')
    const failure = new Error('no more')
    const failed = async function * () {
      yield noise(2500)
      throw failure
    }
    for (const [source, method, expected] of [[[noise(2500)], 'PUT', reason], [failed(), 'DELETE', failure]]) {
      const ending = new AbortController()
      const stuck = (answer, _url, init) => {
        if (init.method === method) ending.abort(reason)
        return init.method === 'DELETE' ? never() : answer()
      }
      const { bucket, calls, clock, failing } = bucketWith(always(stuck))
      expect(await failing(bucket.putParts('a', source, { signal: ending.signal }))).to.equal(expected)
      expect(clock.now()).to.equal(0)
      while (!calls.some(({ method }) => method === 'DELETE')) await turns(1)
    }
  })

  it('in parts is left behind by a process that ends, until abortUploads', async () => {
    const { bucket, server, until } = bucketWith([])
    server.uploads.set('old', { key: 'a', parts: new Map(), begun: new Date(Date.now() - 10_000) })
    server.uploads.set('new', { key: 'a', parts: new Map(), begun: new Date() })
    expect(await until(bucket.abortUploads(new Date(Date.now() - 5000)))).to.equal(1)
    expect([...server.uploads.keys()]).to.deep.equal(['new'])
  })
})

describe('a read from S3', () => {
  const content = noise(300_000, 7)
  async function opened (faults, options) {
    const made = bucketWith([undefined, ...faults], options)
    await made.until(made.bucket.put('a', content))
    return made
  }
  const bodyWith = pieces => async answer => {
    const { status, headers } = await answer()
    return new Response(streamOf(pieces), { status, headers })
  }
  const cutAt = (...lens) => async answer => {
    const response = await answer()
    const bytes = new Uint8Array(await response.arrayBuffer())
    return new Response(bytes.slice(0, lens[0]), { status: response.status, headers: response.headers })
  }

  it('goes on where answers break off', async () => {
    const broken = async answer => {
      const response = await answer()
      const bytes = new Uint8Array(await response.arrayBuffer())
      const pieces = async function * () {
        yield bytes.subarray(0, 50_000)
        throw new TypeError('terminated')
      }
      return new Response(streamOf(pieces()), { status: response.status, headers: response.headers })
    }
    for (const fault of [broken, cutAt(50_000)]) {
      const { bucket, until, calls } = await opened([fault, fault, fault])
      const object = await until(bucket.get('a', { start: 1000, end: 290_000 }))
      expect(same(await until(bodyOf(object)), content.subarray(1000, 290_000))).to.equal(true)
      expect(calls).to.have.length(5)
      const { range, 'if-match': ifMatch } = Object.fromEntries(new Headers(calls[4].headers))
      expect([range, ifMatch]).to.deep.equal(['bytes=151000-289999', `"${object.etag}"`])
    }
  })

  it('goes on after a stall', async () => {
    const stalled = async answer => {
      const response = await answer()
      const bytes = new Uint8Array(await response.arrayBuffer())
      const pieces = async function * () {
        yield bytes.subarray(0, 50_000)
        await never()
      }
      return new Response(streamOf(pieces()), { status: response.status, headers: response.headers })
    }
    const { bucket, until } = await opened([stalled])
    expect(same(await until(bodyOf(await until(bucket.get('a')))), content)).to.equal(true)
  })

  it('fails when answers only break off', async () => {
    const { bucket, until, failing } = await opened(always(cutAt(0)))
    expect(await failing(bodyOf(await until(bucket.get('a'))))).to.include({ code: 'BUCKET_FAILED' })
  })

  it('fails when the object is replaced between two answers', async () => {
    const { bucket, until, failing } = await opened([cutAt(50_000)])
    const object = await until(bucket.get('a'))
    await until(bucket.put('a', noise(300_000, 8)))
    expect(await failing(bodyOf(object))).to.include({ code: 'FETCH_CHANGED', location: 's3://bucket/a' })
  })

  it('goes on after waits that are spread at random', async () => {
    const { random } = Math
    const waits = []
    for (const number of [0, 0.5]) {
      const { bucket, until, clock } = await opened([cutAt(50_000)])
      const object = await until(bucket.get('a'))
      const { sleep } = clock
      clock.sleep = (ms, signal) => {
        if (ms < 1000) waits.push(ms) // time limits are longer
        return sleep(ms, signal)
      }
      Math.random = () => number
      try {
        expect(same(await until(bodyOf(object)), content)).to.equal(true)
      } finally {
        Math.random = random
      }
    }
    expect(waits).to.deep.equal([125, 187.5])
  })

  it('does not take an error of its reader for a broken connection', async () => {
    const reason = new Error('of the reader')
    const { bucket, until, failing, calls } = await opened([])
    const { body } = await until(bucket.get('a'))
    await until(body.next())
    expect(await failing(body.throw(reason))).to.equal(reason)
    expect(await until(body.next())).to.deep.equal({ done: true, value: undefined })
    expect(calls).to.have.length(2)
    expect(calls[1].signal.aborted).to.equal(true)
  })

  it('does not go on without a strong ETag, so that a body is never of two versions', async () => {
    const withEtag = (etag, fault) => async answer => {
      const { status, headers, body } = await fault(answer)
      const others = new Headers(headers)
      others.delete('etag')
      if (etag !== undefined) others.set('etag', etag)
      return new Response(body, { status, headers: others })
    }
    for (const etag of [undefined, '', '""', 'W/"same"']) {
      const faults = [withEtag(etag, cutAt(50_000)), undefined, ...always(withEtag(etag, answer => answer()))]
      const { bucket, until, failing, calls } = await opened(faults)
      const object = await until(bucket.get('a'))
      await until(bucket.put('a', noise(300_000, 8)))
      const count = calls.length
      const error = await failing(bodyOf(object))
      expect(error, etag).to.include({ code: 'BUCKET_FAILED', location: 's3://bucket/a' })
      expect(error.message, etag).to.include('ended at byte 50000, before byte 300000')
      expect(calls, etag).to.have.length(count)
    }
  })

  it('takes no more bytes than were asked for from an endless answer', async () => {
    const endless = function * () { while (true) yield new Uint8Array(10_000) }
    for (const [range, len] of [[{}, 300_000], [{ start: 5, end: 100_000 }, 99_995]]) {
      const { bucket, until } = await opened([bodyWith(endless())])
      expect(await until(bodyOf(await until(bucket.get('a', range))))).to.have.length(len)
    }
  })

  it('refuses other ranges than the one that was asked for, and lengths that are none', async () => {
    const claims = [
      [206, 'bytes 0-9/300000'], [206, 'bytes 10-30/300000'], [206, 'bytes 11-19/300000'], [206, 'bytes 10-18/300000'],
      [206, 'bytes 10-19/*'], [206, 'bytes 10-19/99999999999999999999'], [206, 'bytes -1-19/300000'], [206, undefined],
      [200, undefined]
    ]
    for (const [status, range] of claims) {
      const lying = () => new Response(content.slice(0, 10), {
        status, headers: { 'content-length': '10', ...(range && { 'content-range': range }) }
      })
      const { bucket, failing } = await opened([lying])
      const error = await failing(bucket.get('a', { start: 10, end: 20 }))
      expect(error, `${status} ${range}`).to.include({ code: 'BUCKET_INVALID' })
    }
    for (const length of ['-1', '1e3', '', '99999999999999999999']) {
      const lying = () => status(200, { 'content-length': length })
      const { bucket, failing } = await opened([lying])
      expect(await failing(bucket.head('a')), length).to.include({ code: 'BUCKET_INVALID' })
    }
  })

  it('reserves no memory for a length that is only claimed', async () => {
    const huge = () => status(206, { 'content-range': `bytes 0-${2 ** 52}/${2 ** 53 - 1}` })
    const { bucket, until, failing } = await opened([huge, ...always(huge)])
    const object = await until(bucket.get('a', { end: 2 ** 52 + 1 }))
    expect(object.size).to.equal(2 ** 53 - 1)
    expect((await failing(bodyOf(object))).code).to.be.oneOf(['BUCKET_FAILED', 'BUCKET_INVALID'])
  })

  it('refuses an object with a Content-Encoding', async () => {
    const encoded = () => new Response('x', { headers: { 'content-encoding': 'br', 'content-length': '1' } })
    const { bucket, failing } = await opened([encoded])
    expect(await failing(bucket.get('a'))).to.include({ code: 'BUCKET_INVALID' })
  })

  it('of an error that never ends fails', async () => {
    const endless = function * () { while (true) yield new Uint8Array(10_000) }
    const { bucket, failing } = bucketWith(always(() => new Response(streamOf(endless()), { status: 400 })))
    expect(await failing(bucket.get('a'))).to.include({ code: 'BUCKET_REFUSED', status: 400 })
  })
})

describe('a list of S3', () => {
  const entry = (key, size = '1') => `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`
  const page = (entries, { isMore = false, encoding = '' } = {}) => () => {
    const content = `${encoding}<IsTruncated>${isMore}</IsTruncated>${entries.join('')}`
    return new Response(`<ListBucketResult>${content}</ListBucketResult>`)
  }
  const listBy = (faults, options) => {
    const made = bucketWith(faults, options)
    return { ...made, list: made.failing(listed(made.bucket.list('p/', 'p/b'))) }
  }

  it('of more than 1000 keys is read page by page', async () => {
    const { bucket, server, until } = bucketWith([])
    const object = { body: [], etag: '"e"', modified: new Date() }
    for (let i = 0; i < 2500; i++) server.objects.set(`k/${String(i).padStart(5, '0')}`, object)
    expect(await until(listed(bucket.list('k/')))).to.have.length(2500)
    expect(server.requests.map(request => /start-after=([^&]*)/.exec(request)?.[1])).to.deep.equal([
      undefined, 'k%2F00999', 'k%2F01999'
    ])
  })

  it('is refused if it is out of order, repeats itself, or has other keys', async () => {
    const wrong = [
      [entry('p/d'), entry('p/c')], [entry('p/c'), entry('p/c')], [entry('p/a')], [entry('p/b')], [entry('q')],
      [entry('')], ['<Contents><Size>1</Size></Contents>'], [entry('p/c', '-1')], [entry('p/c', '1e99')],
      [entry('p/c', 'x')]
    ]
    for (const entries of wrong) {
      expect(await listBy([page(entries)]).list, entries.join()).to.include({ code: 'BUCKET_INVALID' })
    }
    expect(await listBy(always(page([entry('p/c')], { isMore: true }))).list).to.include({ code: 'BUCKET_INVALID' })
    expect(await listBy([page([], { isMore: true })]).list).to.include({ code: 'BUCKET_INVALID' })
    const encoding = '<EncodingType>url</EncodingType>'
    expect(await listBy([page([entry('p/%ff')], { encoding })]).list).to.include({ code: 'BUCKET_INVALID' })
  })

  it('that is cut off, endless or no list is asked for again, and then refused', async () => {
    const texts = ['<ListBucketResult><IsTruncated>false</IsTr', '', '<html></html>', '<Other/>', 'x'.repeat(9_000_000),
      '<!DOCTYPE a [<!ENTITY b "c">]><ListBucketResult>&b;</ListBucketResult>']
    for (const text of texts) {
      const { bucket, server, until } = bucketWith([() => new Response(text)])
      server.objects.set('a', { body: [], etag: '"e"', modified: new Date() })
      expect(await until(listed(bucket.list())), text.slice(0, 50)).to.have.length(1)
      const always = bucketWith(Array(5).fill(() => new Response(text)))
      expect(await always.failing(listed(always.bucket.list()))).to.include({ code: 'BUCKET_INVALID' })
    }
  })

  it('without a type of encoding has keys as they are', async () => {
    const { bucket, until } = bucketWith([page([entry('p/%41+')])])
    expect((await until(listed(bucket.list('p/'))))[0].key).to.equal('p/%41+')
  })

  it('gives keys of others in the bucket as they are', async () => {
    const { bucket, until } = bucketWith([page([entry('p/'), entry('p//x'), entry('p/a')])])
    expect((await until(listed(bucket.list('p/')))).map(({ key }) => key)).to.deep.equal(['p/', 'p//x', 'p/a'])
  })
})

describe('credentials for S3', () => {
  const refused = () => errorXml(403, 'ExpiredToken')
  const giver = (make = () => ({})) => {
    const calls = []
    const give = async () => {
      calls.push(0)
      return { ...KEYS, ...make(calls.length) }
    }
    return { give, calls }
  }

  it('from a function are asked for once, by requests at the same time, too', async () => {
    const { give, calls } = giver()
    const { bucket, until } = bucketWith([], { accessKeyId: undefined, secretAccessKey: undefined, credentials: give })
    await until(Promise.all([bucket.head('a'), bucket.head('b'), bucket.put('c', bytesOf('1'))]))
    expect(calls).to.have.length(1)
  })

  it('from a function are asked for again when the server refuses them, once a request', async () => {
    const { give, calls } = giver(count => ({ sessionToken: `token ${count}` }))
    const options = { accessKeyId: undefined, secretAccessKey: undefined, credentials: give }
    const { bucket, until, calls: requests } = bucketWith([refused], options)
    await until(bucket.put('a', bytesOf('1')))
    const tokens = requests.map(({ headers }) => new Headers(headers).get('x-amz-security-token'))
    expect(tokens).to.deep.equal(['token 1', 'token 2'])
    const always = bucketWith(ALWAYS.fill(refused), options)
    expect(await always.failing(always.bucket.head('a'))).to.include({ code: 'BUCKET_REFUSED' })
    expect(always.calls).to.have.length(2)
    expect(calls).to.have.length(4)
  })

  it('from a function are asked for again before they expire', async () => {
    const { give, calls } = giver(count => ({ expiration: new Date(Date.now() + (count === 1 ? 30_000 : 3_600_000)) }))
    const { bucket, until } = bucketWith([], { accessKeyId: undefined, secretAccessKey: undefined, credentials: give })
    for (let i = 0; i < 3; i++) await until(bucket.head('a'))
    expect(calls).to.have.length(2)
  })

  it('that are still valid are used while the function fails', async () => {
    const reason = new Error('no keys')
    const unlucky = (validity, answer) => {
      let count = 0
      const credentials = async () => ++count > 1 ? answer() : { ...KEYS, expiration: new Date(Date.now() + validity) }
      return { accessKeyId: undefined, secretAccessKey: undefined, credentials }
    }
    const reject = () => { throw reason }
    for (const answer of [reject, never]) {
      const { bucket, until } = bucketWith([], unlucky(50_000, answer))
      for (let i = 0; i < 3; i++) expect(await until(bucket.head('a'))).to.equal(undefined)
    }
    const expired = bucketWith([], unlucky(-1, reject))
    await expired.until(expired.bucket.head('a'))
    expect(await expired.failing(expired.bucket.head('a'))).to.equal(reason)
    const notWanted = bucketWith([undefined, refused], unlucky(50_000, reject))
    await notWanted.until(notWanted.bucket.head('a'))
    expect(await notWanted.failing(notWanted.bucket.get('a'))).to.equal(reason)
    const left = bucketWith([], unlucky(50_000, never))
    await left.until(left.bucket.head('a'))
    const ending = new AbortController()
    const reading = left.bucket.head('a', { signal: ending.signal })
    ending.abort(reason)
    expect(await errorOf(reading)).to.equal(reason)
  })

  it('from a function that never answers are waited for no longer than for a server', async () => {
    let count = 0
    const credentials = () => ++count === 1 ? never() : KEYS
    const options = { accessKeyId: undefined, secretAccessKey: undefined, credentials, stall: 5000 }
    const { bucket, clock, failing, until } = bucketWith([], options)
    const errors = await Promise.all([bucket.head('a'), bucket.url('a', 60)].map(failing))
    for (const error of errors) expect(error).to.include({ code: 'BUCKET_FAILED', location: 's3://bucket/' })
    expect(clock.now()).to.equal(5000)
    expect(await until(bucket.head('a'))).to.equal(undefined)
  })

  it('from a function that fails, or gives none, fail the call', async () => {
    const reason = new Error('no keys')
    const options = { accessKeyId: undefined, secretAccessKey: undefined }
    const failing = bucketWith([], { ...options, credentials: async () => { throw reason } })
    expect(await failing.failing(failing.bucket.head('a'))).to.equal(reason)
    const empty = bucketWith([], { ...options, credentials: async () => ({}) })
    expect(await empty.failing(empty.bucket.head('a'))).to.be.an.instanceOf(TypeError)
    for (const expiration of ['2026-01-01', new Date(NaN)]) {
      const { bucket, failing } = bucketWith([], { ...options, credentials: () => ({ ...KEYS, expiration }) })
      expect(await failing(bucket.head('a'))).to.be.an.instanceOf(TypeError)
    }
  })

  it('that are false leave requests unsigned', async () => {
    const options = { accessKeyId: undefined, secretAccessKey: undefined, credentials: false }
    const { bucket, failing, calls } = bucketWith([], options)
    expect(await failing(bucket.get('a'))).to.include({ code: 'BUCKET_REFUSED' })
    expect(new Headers(calls[0].headers).has('authorization')).to.equal(false)
    expect(await bucket.url('a b', 60)).to.equal('https://s3.test/bucket/a%20b')
  })

  it('and other options are checked', async () => {
    const right = { endpoint: 'https://s3.test', bucket: 'bucket', ...KEYS }
    const wrong = [
      undefined, { bucket: undefined }, { bucket: 5 }, { bucket: 'a/b' }, { bucket: 'a..b' }, { bucket: 'x' },
      { endpoint: 'ftp://s3.test' }, { endpoint: 'https://user:pass@s3.test' }, { endpoint: 'https://s3.test/?a' },
      { region: 'a b' }, { region: '' }, { prefix: '/a' }, { prefix: 'a/../b' }, { accessKeyId: 5 },
      { secretAccessKey: '' }, { pathStyle: 1 }, { signPayload: 'yes' }, { fetch: 5 }, { retries: -1 }, { stall: 0 },
      { credentials: () => KEYS }, { ttl: 5 }
    ]
    expect(s3(right).location).to.equal('s3://bucket/')
    for (const options of wrong) {
      const error = await errorOf((async () => s3(options && { ...right, ...options }))())
      expect(error instanceof TypeError || error instanceof RangeError, JSON.stringify(options)).to.equal(true)
    }
  })

  it('are read from variables, where there are some that can be read', async () => {
    const { process } = globalThis
    const withVariables = (env, make) => {
      globalThis.process = { env }
      try {
        return make()
      } finally {
        if (process === undefined) delete globalThis.process
        else globalThis.process = process
      }
    }
    const variables = {
      AWS_ACCESS_KEY_ID: 'from',
      AWS_SECRET_ACCESS_KEY: 'variables',
      AWS_SESSION_TOKEN: 'token',
      AWS_REGION: 'eu-1',
      AWS_ENDPOINT_URL: 'https://other.test',
      AWS_ENDPOINT_URL_S3: 'https://s3.test/base/'
    }
    const bucket = withVariables(variables, () => s3({ bucket: 'bucket' }))
    const url = new URL(await bucket.url('a', 60))
    expect(url.origin + url.pathname).to.equal('https://s3.test/base/bucket/a')
    expect(url.searchParams.get('X-Amz-Credential')).to.match(/^from\/\d{8}\/eu-1\//)
    expect(url.searchParams.get('X-Amz-Security-Token')).to.equal('token')
    const given = withVariables(variables, () => s3({ endpoint: 'https://given.test', bucket: 'bucket', ...KEYS }))
    const own = new URL(await given.url('a', 60))
    expect(own.host).to.equal('given.test')
    expect(own.searchParams.get('X-Amz-Credential')).to.match(/^key\//)
    expect(own.searchParams.has('X-Amz-Security-Token')).to.equal(false)
    const denied = new Proxy({}, { get () { throw new Error('permission denied') } })
    expect(() => withVariables(denied, () => s3({ bucket: 'bucket' }))).to.throw(TypeError, '"region"')
    expect(() => withVariables({}, () => s3({ bucket: 'bucket', ...KEYS }))).to.throw('set AWS_REGION')
  })

  it('sign bodies over http:, where nothing else protects them', async () => {
    for (const [endpoint, options, isSigned] of [
      ['http://s3.test', {}, true], ['https://s3.test', {}, false], ['https://s3.test', { signPayload: true }, true]
    ]) {
      const { bucket, until, calls } = bucketWith([], { endpoint, ...options })
      await until(bucket.put('a', bytesOf('abc')))
      const hash = new Headers(calls[0].headers).get('x-amz-content-sha256')
      const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' // FIPS 180-4, example B.1
      expect(hash).to.equal(isSigned ? sha256 : 'UNSIGNED-PAYLOAD')
    }
  })

  it('sign URLs, for Amazon with the bucket in the name of the host', async () => {
    const options = { endpoint: undefined, region: 'us-east-1', bucket: 'examplebucket', prefix: 'a b' }
    const url = new URL(await bucketWith([], options).bucket.url('test.txt', 86_400))
    expect(url.origin + url.pathname).to.equal('https://examplebucket.s3.us-east-1.amazonaws.com/a%20b/test.txt')
    expect(url.searchParams.get('X-Amz-Expires')).to.equal('86400')
    expect(url.searchParams.get('X-Amz-Credential')).to.match(/^key\/\d{8}\/us-east-1\/s3\/aws4_request$/)
    expect(url.searchParams.get('X-Amz-Signature')).to.match(/^[\da-f]{64}$/)
  })
})
