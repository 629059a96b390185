// Uploads.
import { expect } from 'chai'
import { hash } from '../../../lib/index.js'
import { bearer } from '../../../exchange/http/index.js'
import { same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { turns } from '../../support/fake-clock.js'
import { noise } from '../../support/inputs.js'
import { hexOf, newHandlers } from '../../support/store/served.js'
import { sliceOf } from '../../support/store/stores.js'
import { withTimeoutsHeld } from '../../support/timers.js'

const BYTES = noise(300_000)
const ROOT = hash(BYTES)
const PATH = `/${hexOf(ROOT)}`
const TOKEN = 'correct-horse'

describe('an HTTP handler keeps uploads', () => {
  const serve = newHandlers()
  const options = { authorize: bearer(TOKEN), maxBytes: 400_000 }
  const upload = (body, headers) => ({
    method: 'PUT', body, duplex: 'half', headers: { authorization: `Bearer ${TOKEN}`, ...headers }
  })
  /** Firefox does not take a stream as the body of a request, and does not give one. */
  const hasStreams = 'body' in Request.prototype
  const streamed = (...pieces) => hasStreams ? streamOf(pieces) : new Blob(pieces)
  const streamOf = pieces => new ReadableStream({
    pull (controller) {
      if (pieces.length === 0) controller.close()
      else controller.enqueue(pieces.shift())
    }
  })

  it('that are the blob that the path names', async () => {
    const served = await serve(options)
    const first = await served.got(PATH, upload(streamed(BYTES.subarray(0, 5), BYTES.subarray(5))))
    expect(first.status).to.equal(201)
    expect(first.json()).to.deep.include({ size: BYTES.length, isNew: true })
    expect(same(await served.store.bytes(ROOT), BYTES)).to.equal(true)
    expect(served.events[0]).to.deep.include({ method: 'PUT', status: 201, received: BYTES.length })
    const again = await served.got(`/blobs/${first.json().cid}`, upload(BYTES))
    expect([again.status, again.json().isNew]).to.deep.equal([200, false])
    const empty = hash(new Uint8Array(0))
    expect((await served.got(`/${hexOf(empty)}`, upload(new Uint8Array(0)))).status).to.be.oneOf([200, 201])
    expect(await served.store.has(empty)).to.equal(true)
  })

  it('as slices, which are verified while they are received', async () => {
    const served = await serve(options)
    const type = { 'content-type': 'application/vnd.bao-slice; group-log=4' }
    const slice = sliceOf(BYTES)
    const { status, json } = await served.got(PATH, upload(slice, type))
    expect([status, json().complete, json().received]).to.deep.equal([200, true, BYTES.length])
    const other = await serve(options)
    slice[200_000] ^= 1
    const wrong = await other.got(PATH, upload(slice, type))
    expect([wrong.status, wrong.json().code]).to.deep.equal([422, 'BAO_LEAF_MISMATCH'])
    expect((await other.store.stat(ROOT)).present.contains(0, GROUP / 1024)).to.equal(true)
    const odd = await other.got(PATH, upload(slice, { 'content-type': 'application/vnd.bao-slice; group-log=0' }))
    expect(odd.status).to.equal(415)
  })

  it('of runtimes that give the body of a request as a Blob only', async () => {
    const { handler, store } = await serve(options)
    const request = init => Object.defineProperty(new Request(`http://store.test${PATH}`, init), 'body', {})
    const large = await handler(request(upload(new Blob([BYTES, BYTES]))))
    expect([large.status, (await large.json()).code]).to.deep.equal([413, 'HTTP_TOO_LARGE'])
    expect((await handler(request(upload(new Blob([BYTES]))))).status).to.equal(201)
    expect(same(await store.bytes(ROOT), BYTES)).to.equal(true)
  })

  it('and nothing else', async () => {
    const served = await serve(options)
    /** @type {[path: string, init: object, status: number, code: string][]} */
    const cases = [
      [PATH, upload(BYTES, { authorization: '' }), 401, 'HTTP_UNAUTHORIZED'],
      [PATH, upload(BYTES, { authorization: TOKEN }), 401, 'HTTP_UNAUTHORIZED'],
      [PATH, upload(BYTES, { authorization: `Basic ${TOKEN}` }), 401, 'HTTP_UNAUTHORIZED'],
      [PATH, upload(BYTES, { authorization: `Bearer ${TOKEN}x` }), 401, 'HTTP_UNAUTHORIZED'],
      [PATH, upload(BYTES, { authorization: 'Bearer ' }), 401, 'HTTP_UNAUTHORIZED'],
      [PATH, upload(BYTES.subarray(1)), 422, 'CID_MISMATCH'],
      [PATH, upload(streamed(BYTES, BYTES)), 413, 'HTTP_TOO_LARGE'],
      [PATH, upload(BYTES, { 'content-encoding': 'gzip' }), 400, 'HTTP_BAD_REQUEST'],
      [`${PATH}.obao4`, upload(BYTES), 405, 'HTTP_METHOD'],
      ['/blobs', upload(BYTES), 405, 'HTTP_METHOD'],
      ['/x', upload(BYTES), 404, 'HTTP_NOT_FOUND']
    ]
    for (const [path, init, expected, code] of cases) {
      const { status, headers, json } = await served.got(path, init)
      expect([status, json().code], `${path} ${expected}`).to.deep.equal([expected, code])
      expect(headers.get('connection')).to.equal('close')
      if (status === 401) expect(headers.get('www-authenticate')).to.equal('Bearer')
    }
    expect(await served.store.has(ROOT)).to.equal(false)
    expect(await (await served.store.missing(ROOT)).isEmpty).to.equal(false)
  })

  it('unless the client stalls, breaks off or disconnects', async function () {
    if (!hasStreams) this.skip()
    const idleTimeout = 12_345
    const served = await serve({ ...options, idleTimeout })
    await withTimeoutsHeld(idleTimeout, async endTimeouts => {
      const stuck = new ReadableStream({ start (controller) { controller.enqueue(BYTES.subarray(0, 100)) } })
      const stalling = served.got(PATH, upload(stuck))
      await turns()
      endTimeouts()
      const { status, json } = await stalling
      expect([status, json().code]).to.deep.equal([408, 'HTTP_STALLED'])

      const gone = new AbortController()
      const waiting = served.got(PATH, { ...upload(new ReadableStream({})), signal: gone.signal })
      await turns()
      gone.abort()
      expect((await waiting).status).to.equal(499)
    })

    const broken = new ReadableStream({ pull (controller) { controller.error(new Error('reset')) } })
    expect((await served.got(PATH, upload(broken))).status).to.equal(400)
    expect(await served.store.has(ROOT)).to.equal(false)
    expect(served.handler.stats().active).to.equal(0)
  })
})
