// Downloads of long blobs from plain servers that have no outboard: nothing proves a part of them.
import { expect } from 'chai'
import { createOutboardSync, encodeSliceSync } from '../../../../encoder/index.js'
import { fetchVerified, mirrorOf } from '../../../../verifier/index.js'
import { same } from '../../../support/bytes.js'
import { errorOf } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, endpoint, fetchOf, file, piecesOf, status } from '../../../support/servers.js'
import { idsIn } from '../../../support/store/inspect.js'
import { inMemory } from '../../../support/store/stores.js'
import { download } from '../../../../exchange/download/index.js'

const MIB = 1 << 20
const content = noise(17 * MIB + 5, 373)
const outboard = createOutboardSync(content)
const { cid } = outboard

/** Does work with a store in memory, and then checks that it has no orphans. */
async function withStore (work, options) {
  const place = await inMemory()
  try {
    const store = await place.open(options)
    await work(store)
    const kept = []
    for await (const { cid } of store.list()) kept.push(String(cid))
    await store.close()
    await place.look(async ({ data }) => expect(await idsIn(data)).to.have.length(kept.length))
  } finally {
    await place.remove()
  }
}

/** A mirror that counts the bytes that it sends. */
function plain (name, how = {}, bytes = content) {
  const sent = { bytes: 0 }
  const ending = function (part) {
    const pieces = (how.ending ?? endings.whole)(part)
    return (async function * () {
      for await (const piece of pieces) {
        sent.bytes += piece.length
        yield piece
      }
    })()
  }
  const fetch = fetchOf({ [`https://${name}.example/blob`]: file(bytes, { ...how, ending }) })
  return Object.assign(mirrorOf(`https://${name}.example/blob`, { fetch, location: name }), { sent, fetch })
}

const expectNothing = async store => {
  expect(await store.has(cid)).to.equal(false)
  expect(await errorOf(store.stat(cid))).to.include({ code: 'STORE_NOT_FOUND' })
}

describe('a download of a long blob of which servers can prove no part', () => {
  for (const [title, how] of [
    ['that gives ranges', {}],
    ['that answers a Range with 200 and the whole file', { ranges: false }],
    ['that tells no length', { headers: () => ({}) }],
    ['whose connection breaks sometimes', { ending: endings.reset(3 * MIB) }]
  ]) {
    it(`comes from a server ${title}, and is read once`, () => withStore(async store => {
      const from = plain('plain', how)
      const { received, complete, mirrors } = await download(store, cid, { from: [from] })
      expect({ received, complete }).to.deep.equal({ received: content.length, complete: true })
      expect(mirrors).to.have.length(1)
      expect(mirrors[0]).to.include({ state: 'good', bytes: content.length })
      expect(same(await store.bytes(cid), content)).to.equal(true)
      // If the server tells no length, up to 16 MiB are first read to be verified in memory.
      if (title !== 'that tells no length') expect(from.sent.bytes).to.be.below(content.length + MIB)
    }))
  }

  it('may prove wrong at its end: then nothing is kept, and the next server is asked', () => withStore(async store => {
    const liar = plain('liar', { ending: endings.flip(17 * MIB) })
    const short = plain('short', {}, content.subarray(0, 16 * MIB + 1))
    const error = await errorOf(download(store, cid, { from: [liar, short] }))
    expect(error).to.include({ code: 'FETCH_EXHAUSTED' })
    expect(error.cause.errors.map(({ code, location }) => [code, location]).sort((a, b) => a[1] < b[1] ? -1 : 1))
      .to.deep.equal([['CID_MISMATCH', 'liar'], ['CID_MISMATCH', 'short']])
    expect(error.message).to.match(/^no mirror is left: .*liar: the bytes do not have the hash/)
    expect(error.message).to.match(/short: the bytes do not have the hash/)
    await expectNothing(store)
    const { complete, mirrors } = await download(store, cid, { from: [liar, plain('good')] })
    expect(complete).to.equal(true)
    expect(mirrors.find(({ location }) => location === 'good')).to.include({ state: 'good', bytes: content.length })
  }))

  it('ends at "maxUnverified" bytes, whatever the server claims', () => withStore(async store => {
    const headers = () => ({})
    const endless = plain('endless', { ranges: false, headers, ending: endings.endless })
    const error = await errorOf(download(store, cid, { from: [endless], maxUnverified: 20 * MIB }))
    expect(error.cause.errors[0]).to.include({ code: 'FETCH_REFUSED', location: 'endless' })
    expect(error.message).to.include(`longer than ${20 * MIB} bytes`)
    expect(endless.sent.bytes).to.be.within(20 * MIB, 38 * MIB)
    await expectNothing(store)

    const long = plain('long')
    expect(await errorOf(download(store, cid, { from: [long], maxUnverified: 17 * MIB }))).to.include({
      code: 'FETCH_EXHAUSTED'
    })
    expect(long.sent.bytes).to.be.below(MIB)
    expect((await download(store, cid, { from: [long], maxUnverified: content.length })).complete).to.equal(true)
  }))

  it('never takes more than the quota, and evicts nothing before it is verified', () => withStore(async store => {
    const { cid: other } = await store.put(noise(2 * MIB, 1))
    for (const ending of [endings.endless, endings.flip(5)]) {
      const from = [plain('liar', { ranges: false, headers: () => ({}), ending })]
      expect(await errorOf(download(store, cid, { from }))).to.include({ code: 'FETCH_EXHAUSTED' })
      expect(await store.has(other)).to.equal(true)
    }
    expect((await download(store, cid, { from: [plain('good')] })).complete).to.equal(true)
    expect(await store.has(other)).to.equal(false)
  }, { quota: 18 * MIB }))

  for (const [limit, maxUnverified, ending] of [
    ['the quota', undefined, ', the quota of the store. Open the store with a larger "quota"'],
    ['"maxUnverified"', 16 * MIB, '. Give an outboard, or raise "maxUnverified" (--max-unverified)']
  ]) {
    it(`that is longer than ${limit} is refused, and the error says what to raise`, () => withStore(async store => {
      const error = await errorOf(download(store, cid, { from: [plain('long')], maxUnverified }))
      expect(error.cause.errors[0]).to.include({ code: 'FETCH_REFUSED', location: 'long' })
      expect(error.message).to.include(`longer than ${16 * MIB} bytes${ending}`)
      await expectNothing(store)
    }, { quota: maxUnverified === undefined ? 16 * MIB : 20 * MIB }))
  }

  it('does not happen for a part, with "maxUnverified: 0", or in fetchVerified', () => withStore(async store => {
    const from = plain('plain')
    for (const options of [{ ranges: { start: 0, end: 10 } }, { maxUnverified: 0 }]) {
      const error = await errorOf(download(store, cid, { from: [from], ...options }))
      expect(error.cause.errors[0]).to.include({ code: 'FETCH_REFUSED' })
    }
    expect(await errorOf(fetchVerified(from, { cid }))).to.include({ code: 'FETCH_REFUSED' })
    expect(from.sent.bytes).to.be.below(MIB)
    expect(await errorOf(download(store, cid, { from: [], maxUnverified: -1 }))).to.be.instanceOf(RangeError)
  }))

  it('is the last resort: it waits for a server of slices', () => withStore(async store => {
    let answers = 0
    const slices = endpoint(content)
    const busy = request => answers++ < 1 ? status(503)() : slices(request)
    const late = mirrorOf('https://late.example/blob', { fetch: fetchOf({ 'https://late.example/blob': busy }) })
    const from = plain('plain')
    expect((await download(store, cid, { from: [from, late] })).complete).to.equal(true)
    expect(from.sent.bytes).to.be.below(MIB)
  }))

  it('takes no more bytes than another server has proven', () => withStore(async store => {
    const slices = async (_cid, ranges) => {
      if (ranges.boundaries[0] === 0) throw new Error('I have the end alone')
      return encodeSliceSync(content, outboard, ranges)
    }
    const endless = plain('endless', { ranges: false, headers: () => ({}), ending: endings.endless })
    const proves = mirrorOf(slices, { location: 'proves' })
    const error = await errorOf(download(store, cid, { from: [endless, proves], retries: 0 }))
    expect(error.cause.errors.map(({ code }) => code)).to.include('SIZE_MISMATCH')
    expect(endless.sent.bytes).to.be.below(content.length + 17 * MIB)
    expect(await store.has(cid)).to.equal(false)
    const from = [plain('good'), proves]
    expect((await download(store, cid, { from, retries: 0 })).complete).to.equal(true)
  }))

  it('ends with the signal, and keeps nothing', () => withStore(async store => {
    const controller = new AbortController()
    const ending = async function * (bytes) {
      for (const piece of piecesOf(bytes)) {
        if (from.sent.bytes > 5 * MIB) controller.abort(new Error('enough'))
        yield piece
      }
    }
    const from = plain('plain', { ending })
    const error = await errorOf(download(store, cid, { from: [from], signal: controller.signal }))
    expect(error).to.have.property('message', 'enough')
    await expectNothing(store)
  }))

  it('reports the received bytes', () => withStore(async store => {
    const seen = []
    const onProgress = ({ detail: { done } }) => seen.push(done)
    await download(store, cid, { from: [plain('plain')], onProgress })
    expect(seen.at(-1)).to.equal(content.length)
  }))
})
