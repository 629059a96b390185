// Whole members of a sequence of hashes over HTTP, one after the other.
import { expect } from 'chai'
import { hash, toCid } from '../../../lib/index.js'
import { createOutboardSync, encodeSliceSync } from '../../../encoder/index.js'
import { concat, same } from '../../support/bytes.js'
import { turns } from '../../support/fake-clock.js'
import { readUntilBroken } from '../../support/feeding.js'
import { noise } from '../../support/inputs.js'
import { flipStoredByte, isHeld } from '../../support/store/inspect.js'
import { hexOf, newHandlers } from '../../support/store/served.js'
import { sliceOf } from '../../support/store/stores.js'

const PIECE = 1 << 18
const LENS = [10, 0, 16_384, 16_385, 1, 2_000_000, 300_000, 5, 70_000]
const BLOBS = LENS.map((len, i) => noise(len, 700 + i))
const ROOTS = BLOBS.map(bytes => hash(bytes))
const SEQUENCE = concat(ROOTS)
const ROOT = hash(SEQUENCE)
const HEX = hexOf(ROOT)
const TYPE = 'application/vnd.bao-members; group-log=4'
const slices = BLOBS.map(bytes => encodeSliceSync(bytes, createOutboardSync(bytes)))
const queryOf = members => `?format=bao-members&members=${members}`

describe('an HTTP handler gives members of a sequence', () => {
  const newServed = newHandlers()

  /** A handler with the sequence, and all members except some. */
  async function serve (absent = [], options) {
    const served = await newServed(options)
    await served.store.put(SEQUENCE)
    for (const [i, bytes] of BLOBS.entries()) if (!absent.includes(i)) await served.store.put(bytes)
    return served
  }

  it('in their order, as slices one after the other', async () => {
    const served = await serve()
    const cid = toCid(ROOT)
    for (const members of ['0-9', '0-1', '1-2', '5-6', '0-2,3-5,8-9', '2-4,7-9']) {
      const indices = members.split(',').flatMap(range => {
        const [start, end] = range.split('-').map(Number)
        return Array.from({ length: end - start }, (_, i) => start + i)
      })
      const expected = concat(indices.map(i => slices[i]))
      for (const path of [`/blobs/${cid}`, `/${HEX}`]) {
        const { status, headers, bytes } = await served.got(path + queryOf(members))
        expect([status, headers.get('content-type'), headers.get('content-length')], members)
          .to.deep.equal([200, TYPE, `${expected.length}`])
        expect(same(bytes, expected), members).to.equal(true)
        expect(headers.get('accept-ranges')).to.equal('none')
        expect(headers.get('cache-control')).to.include('immutable')
        expect(headers.get('etag')).to.equal(`"${cid}.members.${members.replaceAll(',', '_')}.g4"`)
        const head = await served.got(path + queryOf(members), { method: 'HEAD' })
        expect([head.status, head.bytes.length, head.headers.get('content-length')])
          .to.deep.equal([200, 0, `${expected.length}`])
        const known = await served.got(path + queryOf(members), {
          headers: { 'if-none-match': headers.get('etag'), range: 'bytes=0-5' }
        })
        expect(known.status).to.equal(304)
      }
    }
    const { status } = await served.got(`/${HEX}${queryOf('0-9')}&group-log=4`, { headers: { range: 'bytes=0-5' } })
    expect(status).to.equal(200)
  })

  it('up to the first that it does not have whole, and then lets nobody cache the answer', async () => {
    const served = await serve([3, 6])
    await served.store.receive(ROOTS[6], sliceOf(BLOBS[6], { start: 0, end: 16_384 }), { start: 0, end: 16_384 })
    for (const [members, there] of [['0-9', [0, 1, 2]], ['2-9', [2]], ['4-9', [4, 5]], ['0-1,3-5', [0]]]) {
      const { status, headers, bytes } = await served.got(`/${HEX}${queryOf(members)}`)
      const expected = concat(there.map(i => slices[i]))
      expect([status, headers.get('content-length')], members).to.deep.equal([200, `${expected.length}`])
      expect(same(bytes, expected), members).to.equal(true)
      expect([headers.get('cache-control'), headers.get('etag')]).to.deep.equal(['no-store', null])
    }
    for (const members of ['3-9', '6-7']) {
      for (const method of ['GET', 'HEAD']) {
        expect((await served.got(`/${HEX}${queryOf(members)}`, { method })).status, members).to.equal(404)
      }
    }
    expect((await served.got(`/${HEX}${queryOf('3-9')}`)).json().code).to.equal('STORE_NOT_FOUND')
    expect((await served.got(`/${hexOf(ROOTS[3])}${queryOf('0-1')}`)).status).to.equal(404)
    expect((await served.got(`/${HEX}${queryOf('4-5')}`)).headers.get('etag')).to.be.a('string')
  })

  it('of a sequence that it has in part, if it has their hashes', async () => {
    const served = await newServed()
    const long = concat(Array.from({ length: 2000 }, (_, i) => ROOTS[i % 2]))
    const held = { start: 0, end: 16_384 }
    await served.store.put(BLOBS[0])
    await served.store.receive(hash(long), sliceOf(long, held), held)
    const ask = members => served.got(`/${hexOf(hash(long))}${queryOf(members)}`)
    expect(same((await ask('0-1')).bytes, slices[0])).to.equal(true)
    expect((await ask('1000-1001')).json().code).to.equal('STORE_MISSING')
  })

  it('and refuses other queries', async () => {
    const served = await serve()
    const many = Array.from({ length: 257 }, (_, i) => `${2 * i}-${2 * i + 1}`).join()
    for (const [query, expected] of Object.entries({
      'members=0-1': 400,
      'format=bao-members': 400,
      'format=bao-slice&members=0-1': 400,
      'format=bao-members&members=': 400,
      'format=bao-members&members=0': 400,
      'format=bao-members&members=0-': 400,
      'format=bao-members&members=-1': 400,
      'format=bao-members&members=01-2': 400,
      'format=bao-members&members=1-1': 400,
      'format=bao-members&members=2-1': 400,
      'format=bao-members&members=0-2,2-3': 400,
      'format=bao-members&members=3-4,0-1': 400,
      'format=bao-members&members=0-10': 400,
      'format=bao-members&members=9-10': 400,
      'format=bao-members&members=0-1025': 400,
      'format=bao-members&members=0-9007199254740992': 400,
      'format=bao-members&members=0-1&members=1-2': 400,
      'format=bao-members&members=0-1&start=0': 400,
      'format=bao-members&members=0-1&chunks=0-1': 400,
      'format=bao-members&members=0-1&group-log=0': 406,
      [`format=bao-members&members=${many}`]: 400
    })) {
      const { status, json } = await served.got(`/${HEX}?${query}`)
      expect([status, json().code.startsWith('HTTP_')], query.slice(0, 80)).to.deep.equal([expected, true])
    }
    const odd = await served.got(`/${hexOf(ROOTS[0])}${queryOf('0-1')}`)
    expect([odd.status, odd.json().message]).to.deep.equal([400,
      '"members" expected a sequence of hashes, got a blob of 10 bytes'])
  })

  it('one piece at a time, and stops when the client disconnects', async () => {
    const served = await serve()
    const response = await served.ask(`/${HEX}${queryOf('0-9')}`)
    const reader = response.body.getReader()
    const { value } = await reader.read()
    expect(value.length).to.be.most(PIECE + 100)
    expect(isHeld(served.store, ROOT)).to.equal(true)
    expect(await served.store.gc()).to.deep.equal({ blobs: 0, bytes: 0 })
    await reader.cancel()
    await turns()
    expect(isHeld(served.store, ROOT)).to.equal(false)
    expect(served.events[0]).to.deep.include({ outcome: 'aborted', sent: value.length })
    const gone = new AbortController()
    const second = await served.ask(`/${HEX}${queryOf('5-9')}`, { signal: gone.signal })
    gone.abort(new Error('gone'))
    expect((await readUntilBroken(second)).error).to.have.property('message', 'gone')
    await turns()
    expect(isHeld(served.store, ROOT)).to.equal(false)
  })

  it('that are undamaged, and breaks off at damage', async () => {
    for (const [at, members] of [[7, '5-9'], [5, '0-9']]) {
      const served = await serve()
      await flipStoredByte(served.store, ROOTS[at], LENS[at] - 1)
      const { error } = await readUntilBroken(await served.ask(`/${HEX}${queryOf(members)}`))
      expect(error).to.have.property('code', 'STORE_CORRUPT')
      expect(served.events.at(-1)).to.deep.include({ outcome: 'failed', code: 'STORE_CORRUPT' })
      const after = await served.got(`/${HEX}${queryOf(members)}`)
      expect(same(after.bytes, concat(slices.slice(Number(members[0]), at))), 'ends in front of it').to.equal(true)
    }
    const served = await serve()
    await flipStoredByte(served.store, ROOTS[7], 3)
    const { status, json } = await served.got(`/${HEX}${queryOf('7-8')}`)
    expect([status, json().code]).to.deep.equal([500, 'STORE_CORRUPT'])
  })
})
