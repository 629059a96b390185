// A handler of a store with `supply`: missing chunks are fetched before a client is told that they are missing.
import { expect } from 'chai'
import { ChunkRanges, hash } from '../../../lib/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { same } from '../../support/bytes.js'
import { GROUP } from '../../support/constants.js'
import { noise } from '../../support/inputs.js'
import { Served, hexOf } from '../../support/store/served.js'
import { newStores, sliceOf } from '../../support/store/stores.js'

const CELL = 1 << 18
const BYTES = noise(4 * CELL + 5)
const ROOT = hash(BYTES)
const HEX = hexOf(ROOT)
const CHUNKS = Math.ceil(BYTES.length / 1024)
const HELD = ChunkRanges.fromBytes(0, GROUP)

describe('an HTTP handler over a store with supply', () => {
  const newStore = newStores()

  /** A store that has one group. `asked` lists the ranges for which it has called `supply`. */
  async function supplied (supply) {
    const asked = []
    const { store } = await newStore({
      supply: (cid, ranges, options) => {
        asked.push(ranges)
        return supply(ranges, options)
      }
    })
    await store.receive(ROOT, sliceOf(BYTES, HELD), HELD)
    return { served: new Served(store), asked }
  }
  const willing = () => supplied(async ranges => sliceOf(BYTES, ranges))

  it('gives bytes, slices and outboards whose bytes were missing', async () => {
    const start = 2 * CELL + 3
    const expected = {
      bytes: [`/${HEX}`, { range: `bytes=${start}-${start + 99}` }, BYTES.subarray(start, start + 100)],
      'all bytes': [`/${HEX}`, {}, BYTES],
      'a slice': [`/${HEX}?format=bao-slice&start=${start}&end=${start + 9}`, {},
        sliceOf(BYTES, { start, end: start + 9 })],
      'the proof of the size': [`/${HEX}?format=bao-slice&start=0&end=0`, {}, sliceOf(BYTES, ChunkRanges.last)],
      'an outboard': [`/${HEX}.obao4`, {}, createOutboardSync(BYTES, { order: 'pre' }).bytes]
    }
    for (const [what, [path, headers, wanted]] of Object.entries(expected)) {
      const { served } = await willing()
      const { status, bytes } = await served.got(path, { headers })
      expect(status, what).to.be.within(200, 206)
      expect(same(bytes, wanted), what).to.equal(true)
      expect((await served.ask(path, { method: 'HEAD', headers })).status, what).to.equal(200)
    }
  })

  it('fetches the first MiB before the first byte, and the rest as the client reads', async () => {
    const { served, asked } = await willing()
    const response = await served.ask(`/${HEX}`)
    expect(asked.map(({ boundaries }) => boundaries)).to.deep.equal([[CHUNKS - 1, CHUNKS], [16, CHUNKS - 1]])
    expect(same(new Uint8Array(await response.arrayBuffer()), BYTES)).to.equal(true)
  })

  it('fetches only the proof of the size and one group for HEAD', async () => {
    for (const [path, isProven] of [[`/${HEX}`, false], [`/${HEX}`, true], [`/${HEX}.obao4`, true]]) {
      const { served, asked } = await willing()
      if (isProven) await served.got(`/${HEX}`, { headers: { range: 'bytes=-1' } })
      asked.length = 0
      const { status, headers } = await served.got(path, { method: 'HEAD' })
      expect(status).to.equal(200)
      if (!path.includes('.')) expect(headers.get('content-length')).to.equal(`${BYTES.length}`)
      expect(asked.map(({ boundaries }) => boundaries))
        .to.deep.equal([...isProven ? [] : [[CHUNKS - 1, CHUNKS]], [16, 32]])
    }
  })

  it('tells what is missing when it cannot be fetched', async () => {
    const { served } = await supplied(async () => undefined)
    for (const path of [`/${HEX}`, `/${HEX}?format=bao-slice`, `/${HEX}.obao4`]) {
      const { status, json } = await served.got(path)
      expect(status).to.equal(404)
      expect(json()).to.deep.include({ code: 'STORE_MISSING', missing: [[GROUP, CHUNKS * 1024]] })
    }
    expect((await served.got(`/${HEX}`, { headers: { range: 'bytes=5-9' } })).status).to.equal(206)
  })

  it('ends the call of supply when the client disconnects', async () => {
    let begun
    const isBegun = new Promise(resolve => { begun = resolve })
    const { served } = await supplied((_, { signal }) => new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      begun(signal)
    }))
    const client = new AbortController()
    const answer = served.ask(`/${HEX}`, { signal: client.signal, headers: { range: `bytes=${CELL}-${CELL + 9}` } })
    const signal = await isBegun
    client.abort()
    expect((await answer).status).to.equal(499)
    expect(signal.aborted).to.equal(true)
    expect(served.events.map(({ outcome }) => outcome)).to.deep.equal(['aborted'])
  })
})
