// Tests when a request ends, and when the signal of its `fetch` aborts. The servers are functions that replace `fetch`.
import { expect } from 'chai'
import { createOutboardSync } from '../../../../encoder/index.js'
import { ChunkRanges } from '../../../../lib/index.js'
import { fetchVerified, httpSource, mirrorOf } from '../../../../verifier/index.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endpoint, fetchOf, silent } from '../../../support/servers.js'

const URL_OF_BLOB = 'https://request.example/blob'
const content = noise(100_000, 92)
const { cid, root } = createOutboardSync(content)

/** The same `fetch`. `signals` are those of its requests. */
function watched (fetch) {
  const signals = []
  const watching = (url, init) => {
    signals.push(init.signal)
    return fetch(url, init)
  }
  return Object.assign(watching, { signals })
}

const isAborted = ({ aborted }) => aborted

describe('a request', () => {
  for (const [title, ask] of [
    ['fetchVerified', (fetch, signal) => fetchVerified(URL_OF_BLOB, { cid, fetch, signal, retries: 0 })],
    ['a Request', (fetch, signal) =>
      fetchVerified(new Request(URL_OF_BLOB, { signal }), { cid, fetch, retries: 0 })],
    ['httpSource', (fetch, signal) => httpSource(URL_OF_BLOB, { fetch, signal })],
    ['a mirror', (fetch, signal) =>
      mirrorOf(URL_OF_BLOB, { fetch }).pieces({ root, ranges: ChunkRanges.all, groupLog: 4 }, signal).next()]
  ]) {
    it(`of ${title} that has failed is not aborted afterwards`, async () => {
      const fetch = watched(async () => { throw new TypeError('fetch failed') })
      const caller = new AbortController()
      expect(await errorOf(ask(fetch, caller.signal))).to.include({ code: 'FETCH_FAILED' })
      caller.abort()
      expect(fetch.signals).to.not.have.length(0)
      expect(fetch.signals.filter(isAborted)).to.deep.equal([])
    })
  }

  it('goes to a relative URL as the page does, whose <base> may name another folder', async function () {
    if (globalThis.document !== undefined) return this.skip() // The page of the tests has no such element.
    const asked = []
    const fetch = async url => {
      asked.push(`${url}`)
      throw new TypeError('fetch failed')
    }
    globalThis.document = { baseURI: URL_OF_BLOB }
    try {
      expect(await errorOf(fetchVerified('films/1', { cid, fetch, retries: 0 }))).to.include({ code: 'FETCH_FAILED' })
      for (const url of asked) expect(url).to.match(/^https:\/\/request\.example\/films\/1\b/)
    } finally {
      delete globalThis.document
    }
  })

  it('is aborted with the reason of its caller', async () => {
    const fetch = watched(silent)
    const caller = new AbortController()
    const failing = errorOf(fetchVerified(URL_OF_BLOB, { cid, fetch, signal: caller.signal }))
    await new Promise(resolve => setTimeout(resolve))
    const reason = new Error('enough')
    caller.abort(reason)
    expect(await failing).to.equal(reason)
    expect(fetch.signals.map(({ reason }) => reason)).to.deep.equal([reason])
  })

  it('is aborted when it stalls', async () => {
    const fetch = watched(silent)
    expect(await errorOf(fetchVerified(URL_OF_BLOB, { cid, fetch, stall: 20, retries: 0 })))
      .to.include({ code: 'FETCH_FAILED' })
    expect(fetch.signals.map(isAborted)).to.deep.equal([true])
  })

  it('that was answered is aborted at its end, also in the middle of its body', async () => {
    const fetch = watched(fetchOf({ [URL_OF_BLOB]: endpoint(content) }))
    const { body } = await fetchVerified(URL_OF_BLOB, { cid, fetch })
    await body.cancel()
    expect(fetch.signals.map(isAborted)).to.deep.equal([true])
  })
})
