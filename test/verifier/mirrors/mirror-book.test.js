// Tests which of several mirrors is asked next, and when. `download`, `fetchVerified` and `fromMirrors` use the book.
import { expect } from 'chai'
import { BaoError, ChunkRanges } from '../../../lib/index.js'
import { fetchVerified, mirrorOf } from '../../../verifier/index.js'
import { createOutboardSync } from '../../../encoder/index.js'
import { Candidates } from '../../../verifier/mirrors/candidate.js'
import { MirrorBook } from '../../../verifier/mirrors/mirror-book.js'
import { MirrorRequest } from '../../../verifier/mirrors/mirror-request.js'
import { FakeClock } from '../../support/fake-clock.js'
import { collect, errorOf } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'

const ALL = ChunkRanges.all

/** A book of mirrors of these names, and the requests to them. */
function bookOf (names, options) {
  const clock = new FakeClock()
  const book = new MirrorBook({ clock, ...options })
  for (const name of names) book.add(mirrorOf(() => new Uint8Array(0), { location: name }))
  const candidates = new Candidates(book)
  const requestTo = name => {
    const record = book.records.find(({ mirror }) => mirror.location === name)
    return new MirrorRequest(book, candidates.of(record))
  }
  const next = async signal => (await clock.until(book.next(candidates.all, signal)))?.mirror.location
  return { clock, book, candidates, requestTo, next }
}
const failure = () => Object.assign(new Error('no'), { code: 'ECONNRESET' })
const lie = () => Object.assign(new Error('no'), { code: 'BAO_LEAF_MISMATCH' })

describe('the next mirror', () => {
  it('is the first of those without a rate', async () => {
    const { next } = bookOf(['a', 'b'])
    expect(await next()).to.equal('a')
  })

  it('is one without a rate, then the quickest', () => {
    const { book, requestTo } = bookOf(['slow', 'quick', 'new'])
    requestTo('slow').gained(10)
    requestTo('quick').gained(1000)
    expect(book.inTurn(book.records).map(({ mirror }) => mirror.location)).to.deep.equal(['new', 'quick', 'slow'])
  })

  it('is not one that has failed if there is another, and else the one that has failed first', async () => {
    const { clock, next, requestTo } = bookOf(['a', 'b'])
    requestTo('a').failed(failure(), ALL)
    expect(await next()).to.equal('b')
    requestTo('b').failed(failure(), ALL)
    expect(await next()).to.equal('a')
    expect(clock.now()).to.be.at.least(250)
    requestTo('a').failed(failure(), ALL)
    expect(await next()).to.equal('b')
  })

  it('is none when all have failed too often, or have lied, or do not have the blob', async () => {
    const { next, requestTo, candidates } = bookOf(['often', 'liar', 'empty'], { retries: 1 })
    requestTo('liar').failed(lie(), ALL)
    requestTo('empty').failed(new BaoError('FETCH_STATUS', 'no', { status: 404 }), ALL)
    requestTo('often').failed(failure(), ALL)
    expect(await next()).to.equal('often')
    requestTo('often').failed(failure(), ALL)
    expect(await next()).to.equal(undefined)
    expect(candidates.makeExhaustedError().cause.errors).to.have.length(3)
  })

  it('is waited for until the signal aborts', async () => {
    const { book, candidates, requestTo } = bookOf(['a'])
    requestTo('a').failed(failure(), ALL)
    const controller = new AbortController()
    const waiting = errorOf(book.next(candidates.all, controller.signal))
    controller.abort(new Error('enough'))
    expect(await waiting).to.have.property('message', 'enough')
  })
})

describe('a request to a mirror', () => {
  it('waits for a server without ranges while it sends the bytes before the wanted ones', async () => {
    const clock = new FakeClock()
    const content = noise(1 << 20, 7)
    const outboard = createOutboardSync(content)
    const slowly = async function * () {
      for (let at = 0; at < content.length; at += 1 << 16) {
        await clock.sleep(700)
        yield content.slice(at, at + (1 << 16))
      }
    }
    const fetch = async () => {
      const pieces = slowly()
      const body = new ReadableStream({
        async pull (controller) {
          const { done, value } = await pieces.next()
          if (done) controller.close()
          else controller.enqueue(value)
        }
      })
      return new Response(body, { headers: { 'content-length': `${content.length}` } })
    }
    const book = new MirrorBook({ clock, stall: 1000 })
    book.add(mirrorOf({ source: 'https://a.example/film', outboard }, { fetch }))
    for (const groupLog of [4, 3]) { // from groups alone, and from a slice
      const request = new MirrorRequest(book, new Candidates(book).of(book.records[0]))
      const ranges = new ChunkRanges([1008, 1024])
      const { pieces } = await clock.until(request.open({ root: outboard.root, ranges, groupLog }))
      const got = await clock.until(collect(pieces))
      expect(got.subarray(-16384), `group log ${groupLog}`).to.deep.equal(content.subarray(-16384))
    }
    expect(clock.now()).to.be.at.least(2 * 16 * 700)
  })
})

describe('a book of mirrors', () => {
  it('adds the allowed number of mirrors that servers name, each once, and none that these name', () => {
    let added = 0
    const { book } = bookOf(['a'], { maxDuplicates: 2 })
    book.onDuplicate = () => added++
    const [{ mirror }] = book.records
    const url = name => new URL(`https://${name}.example/movie`)
    book.addDuplicate(mirror, url('b'), {})
    book.addDuplicate(mirror, url('b'), {})
    book.addDuplicate(book.records[1].mirror, url('c'), {})
    book.addDuplicate(mirror, url('d'), {})
    book.addDuplicate(mirror, url('e'), {})
    expect(book.records.map(({ mirror }) => mirror.location))
      .to.deep.equal(['a', 'https://b.example/movie', 'https://d.example/movie'])
    expect(added).to.equal(2)
  })

  it('refuses invalid numbers', async () => {
    const wrong = [['retries', -1], ['retries', '3'], ['stall', 0], ['stall', 1.5], ['maxDuplicates', -1]]
    for (const [name, value] of wrong) {
      const error = await errorOf(fetchVerified('http://localhost', { cid: new Uint8Array(32), [name]: value }))
      expect(error.message).to.include(`"${name}"`)
    }
  })
})
