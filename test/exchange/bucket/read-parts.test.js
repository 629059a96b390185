// A long range of an object is read in parts, some of them at the same time. The bytes come in order.
import { expect } from 'chai'
import fc from 'fast-check'
import { PartsAhead, readInParts } from '../../../exchange/bucket/read-parts.js'
import { same } from '../../support/bytes.js'
import { turns } from '../../support/fake-clock.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { holds } from '../../support/property.js'

const PART = 1000
const BYTES = noise(20 * PART, 49)
/** Options of a read that is not aborted. */
const inTime = (ahead = new PartsAhead()) => ({ ahead, signal: new AbortController().signal })

/** An object whose parts the test answers: `parts[i].push(bytes)`, `.finish()`, `.fail(error)`. */
function slowObject () {
  const parts = []
  const read = async (range, signal) => {
    const queue = []
    let wake = () => {}
    const put = item => {
      queue.push(item)
      wake()
    }
    signal.addEventListener('abort', () => put({ error: signal.reason }))
    parts.push({
      ...range, signal, push: bytes => put({ bytes }), finish: () => put({}), fail: error => put({ error })
    })
    return (async function * () {
      while (true) {
        while (queue.length === 0) await new Promise(resolve => { wake = resolve })
        const { bytes, error } = queue.shift()
        if (error !== undefined) throw error
        if (bytes === undefined) return
        yield bytes
      }
    })()
  }
  return { parts, read }
}

describe('an object that is read in parts', () => {
  it('gives the bytes of any range, whatever pieces come', () => holds('read in parts', fc.asyncProperty(
    fc.nat(BYTES.length), fc.nat(BYTES.length), fc.integer({ min: 1, max: 3 * PART }), async (a, b, pieceLen) => {
      const [start, end] = a < b ? [a, b] : [b, a]
      const read = async range => (async function * () {
        for (let at = range.start; at < range.end; at += pieceLen) {
          yield BYTES.subarray(at, Math.min(at + pieceLen, range.end))
        }
      })()
      const got = await collect(readInParts(read, { start, end, partLen: PART }, inTime()))
      expect(same(got, BYTES.subarray(start, end))).to.equal(true)
    })))

  it('has at most four parts under way, and gives the first one while it arrives', async () => {
    const { parts, read } = slowObject()
    const got = []
    const reading = (async () => {
      const pieces = readInParts(read, { start: 0, end: 6 * PART, partLen: PART }, inTime())
      for await (const piece of pieces) got.push(...piece)
    })()
    await turns()
    expect(parts.map(({ start, end }) => [start, end])).to.deep.equal([0, 1, 2, 3].map(i => [i * PART, (i + 1) * PART]))
    parts[1].push(BYTES.subarray(PART, 2 * PART))
    parts[1].finish()
    await turns()
    expect(got, 'the second part waits').to.have.length(0)
    parts[0].push(BYTES.subarray(0, 10))
    await turns()
    expect(got).to.have.length(10)
    parts[0].push(BYTES.subarray(10, PART))
    parts[0].finish()
    await turns()
    expect(got).to.have.length(2 * PART)
    expect(parts).to.have.length(6)
    for (const part of parts.slice(2)) {
      part.push(BYTES.subarray(part.start, part.end))
      part.finish()
    }
    await reading
    expect(same(new Uint8Array(got), BYTES.subarray(0, 6 * PART))).to.equal(true)
  })

  it('ends after a part that is too short, and gives nothing of the parts after it', async () => {
    const read = async ({ start, end }) => [BYTES.subarray(start, start === PART ? end - 1 : end)]
    const got = await collect(readInParts(read, { start: 0, end: 5 * PART, partLen: PART }, inTime()))
    expect(same(got, BYTES.subarray(0, 2 * PART - 1))).to.equal(true)
  })

  it('fails where a part fails, after the bytes before it, and ends the other parts', async () => {
    const { parts, read } = slowObject()
    const got = []
    const failing = errorOf(async () => {
      const pieces = readInParts(read, { start: 0, end: 9 * PART, partLen: PART }, inTime())
      for await (const piece of pieces) got.push(...piece)
    })
    await turns()
    parts[1].push(BYTES.subarray(PART, PART + 7))
    parts[1].fail(new Error('broken'))
    await turns()
    parts[0].push(BYTES.subarray(0, PART))
    parts[0].finish()
    expect(await failing).to.have.property('message', 'broken')
    expect(same(new Uint8Array(got), BYTES.subarray(0, PART + 7))).to.equal(true)
    expect(parts.map(({ signal }) => signal.aborted)).to.deep.equal(Array(5).fill(true))
  })

  it('fails if a part cannot be opened', async () => {
    const read = async ({ start }) => {
      if (start > 0) throw new Error('no second part')
      return [BYTES.subarray(0, PART)]
    }
    const error = await errorOf(collect(readInParts(read, { start: 0, end: 3 * PART, partLen: PART }, inTime())))
    expect(error).to.have.property('message', 'no second part')
  })

  it('ends all parts when its reader has enough, and when the signal is aborted', async () => {
    const { parts, read } = slowObject()
    const ending = new AbortController()
    const ahead = new PartsAhead()
    for (const end of [reading => reading.return(), () => ending.abort(new Error('no more'))]) {
      parts.length = 0
      const reading = readInParts(read, { start: 0, end: 9 * PART, partLen: PART }, { ahead, signal: ending.signal })
      const first = reading.next()
      await turns()
      parts[0].push(BYTES.subarray(0, 1))
      await first
      await end(reading)
      if (ending.signal.aborted) expect(await errorOf(reading.next())).to.have.property('message', 'no more')
      expect(parts.map(({ signal }) => signal.aborted)).to.deep.equal(Array(4).fill(true))
    }
    expect(ahead.free, 'parts that others may have in memory').to.equal(12)
  })

  it('shares twelve parts in memory with other reads, and waits for its reader without a free one', async () => {
    const ahead = new PartsAhead()
    const reads = Array.from({ length: 6 }, slowObject)
    const range = { start: 0, end: 9 * PART, partLen: PART }
    const readings = reads.map(({ read }) => readInParts(read, range, inTime(ahead)))
    const firsts = readings.map(reading => reading.next())
    await turns()
    expect(reads.map(({ parts }) => parts.length)).to.deep.equal([4, 4, 4, 4, 1, 1])
    for (const { parts: [first] } of reads) first.push(BYTES.subarray(0, PART))
    await Promise.all(firsts)
    await readings[0].return()
    expect(ahead.free).to.equal(3)
    reads[5].parts[0].finish()
    readings[5].next()
    await turns()
    expect(reads[5].parts.length, 'the second part, and three ahead').to.equal(5)
    await Promise.all(readings.slice(1, 5).map(reading => reading.return()))
  })
})
