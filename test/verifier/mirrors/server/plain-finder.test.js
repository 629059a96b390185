// Tests how the outboard and the size of a blob are found on plain servers, also if these state wrong ones.
import { expect } from 'chai'
import { createOutboardSync } from '../../../../encoder/index.js'
import { fetchVerified } from '../../../../verifier/index.js'
import { same } from '../../../support/bytes.js'
import { errorOf, readUntilBroken } from '../../../support/feeding.js'
import { noise } from '../../../support/inputs.js'
import { endings, fetchOf, file, silent, status } from '../../../support/servers.js'

const MIB = 1 << 20
const content = noise(300_000, 171)
const outboard = createOutboardSync(content)
const wide = createOutboardSync(content, { groupLog: 6 })
const long = noise(17 * MIB + 5, 373)
const longOutboard = createOutboardSync(long)
const { cid } = outboard
const BLOB = 'https://plain.example/movie'

const fetching = routes =>
  fetchOf(Object.fromEntries(Object.entries(routes).map(([end, answer]) => [BLOB + end, answer])))

const responseOf = (fetch, options) => fetchVerified(BLOB, { cid, fetch, stall: 60, retries: 1, ...options })
const bytesOf = async (fetch, options) => new Uint8Array(await (await responseOf(fetch, options)).arrayBuffer())

/** An `ending` that counts the bytes of the bodies that are read. */
function counting () {
  const read = { len: 0 }
  const ending = function * (bytes) {
    for (const piece of endings.whole(bytes)) {
      read.len += piece.length
      yield piece
    }
  }
  return { read, ending }
}

/** Headers that state another length of the file. */
const total = len => own => {
  const range = own['content-range']?.replace(/\d+$/, `${len}`)
  return range === undefined ? own : { ...own, 'content-range': range }
}

describe('the size of a blob on a plain server', () => {
  for (const [title, how] of [
    ['hides Content-Range, as from the scripts of other origins', {
      headers: ({ 'content-range': _, ...own }) => own
    }],
    ['states no length in Content-Range', { headers: total('*') }],
    ['states no length anywhere', {
      headers: own => own['content-range'] === undefined ? {} : total('*')({ 'content-range': own['content-range'] })
    }]
  ]) {
    it(`is found where it ${title}, and no more is read than necessary`, async () => {
      const { read, ending } = counting()
      const fetch = fetching({
        '': file(long, { ...how, ending }), '.obao4': file(longOutboard.bytes, { ...how, ending })
      })
      const end = long.length + 7
      for (const [start, end] of [[0, 1000], [9 * MIB, 9 * MIB + 5], [long.length - 9, long.length + 9]]) {
        const bytes = await bytesOf(fetch, { cid: longOutboard.cid, range: { start, end } })
        expect(same(bytes, long.subarray(start, end)), `${start} to ${end}`).to.equal(true)
      }
      expect(read.len).to.be.below(2 * MIB)
      expect((await bytesOf(fetch, { cid: longOutboard.cid, range: { start: end - 8, end } })).length).to.equal(1)
    })
  }

  it('is not read from the end of a long blob if every answer is the whole file, with its length', async () => {
    const { read, ending } = counting()
    const fetch = fetching({ '': file(long, { ranges: false, ending }), '.obao4': file(longOutboard.bytes) })
    expect(same(await bytesOf(fetch, { cid: longOutboard.cid, stall: 10_000 }), long)).to.equal(true)
    expect(read.len).to.be.below(long.length + MIB)
  })

  it('is found if every answer is the whole file, without a length or with that of compressed bytes', async () => {
    for (const headers of [() => ({}), () => ({ 'content-encoding': 'gzip', 'content-length': '77' })]) {
      const fetch = fetching({ '': file(long, { ranges: false, headers }), '.obao4': file(longOutboard.bytes) })
      expect(same(await bytesOf(fetch, { cid: longOutboard.cid, stall: 10_000 }), long)).to.equal(true)
    }
  })

  for (const off of [-1, 1, -20_000, 20_000, -299_999, Number.MAX_SAFE_INTEGER - content.length]) {
    it(`is found if the server states ${Math.abs(off)} bytes too ${off < 0 ? 'few' : 'many'}`, async () => {
      const headers = total(content.length + off)
      for (const [end, pairs] of [['.obao4', outboard], ['.obao6', wide]]) {
        const fetch = fetching({ '': file(content, { headers }), [end]: file(pairs.bytes) })
        expect(same(await bytesOf(fetch), content)).to.equal(true)
        expect(same(await bytesOf(fetch, { range: { start: 299_990 } }), content.subarray(299_990))).to.equal(true)
      }
    })
  }

  it('is found if all lengths are off by one, also that of the outboard', async () => {
    for (const off of [-1, 1]) {
      const wrong = bytes => file(bytes, { headers: total(bytes.length + off) })
      const fetch = fetching({ '': wrong(content), '.obao4': wrong(outboard.bytes) })
      expect(same(await bytesOf(fetch), content)).to.equal(true)
    }
  })

  it('is believed for a small blob without an outboard, so that the whole blob needs one request', async () => {
    const small = content.subarray(0, 1000)
    const smallCid = createOutboardSync(small).cid
    await bytesOf(fetching({ '': file(small) }), { cid: smallCid }) // finds out how the server has its blobs
    const fetch = fetching({ '': file(small) })
    expect(same(await bytesOf(fetch, { cid: smallCid }), small)).to.equal(true)
    expect(fetch.requests.map(({ headers }) => headers.get('range'))).to.deep.equal(['bytes=0-16383'])
  })

  it('is not needed for bytes before a wrong or missing end', async () => {
    const spoiled = content.slice()
    spoiled[299_999] ^= 1
    for (const bytes of [spoiled, content.subarray(0, 290_000)]) {
      const fetch = fetching({ '': file(bytes), '.obao4': file(outboard.bytes) })
      expect(same(await bytesOf(fetch, { range: { end: 200_000 } }), content.subarray(0, 200_000))).to.equal(true)
      expect((await readUntilBroken(await responseOf(fetch))).error).to.have.property('code').that.match(/^BAO_/)
    }
  })
})

describe('a plain server that has another blob at the URL', () => {
  const other = noise(17 * MIB + 9, 99)
  const otherOutboard = createOutboardSync(other)
  const expectNamed = async (routes, wanted, actual, code) => {
    const error = await errorOf(bytesOf(fetching(routes), { cid: wanted }))
    expect(error).to.have.property('code', code)
    expect([`${error.cid}`, `${error.actual}`]).to.deep.equal([`${wanted}`, `${actual}`])
    expect(error.message).to.include(`${actual}, not of `).and.include(`${wanted}`)
  }

  it('is told by the CID of its bytes, or by that of the outboard of a long blob', async () => {
    await expectNamed({ '': file(content) }, longOutboard.cid, cid, 'BAO_LEAF_MISMATCH')
    const header = new Uint8Array(8)
    new DataView(header.buffer).setBigUint64(0, BigInt(other.length), true)
    for (const pairs of [otherOutboard.bytes, new Uint8Array([...header, ...otherOutboard.bytes])]) {
      const routes = { '': file(other), '.obao4': file(pairs) }
      await expectNamed(routes, longOutboard.cid, otherOutboard.cid, 'FETCH_REFUSED')
    }
  })

  it('is told by no CID if what it sends as an outboard has not the length of one', async () => {
    const page = new TextEncoder().encode('<html>'.repeat(100))
    const fetch = fetching({ '': file(other), '.obao4': file(page), '.obao6': file(page) })
    const error = await errorOf(bytesOf(fetch, { cid: longOutboard.cid }))
    expect(error).to.have.property('code', 'FETCH_REFUSED')
    expect(error).to.not.have.any.keys('actual', 'cid')
  })
})

describe('an outboard that cannot be read', () => {
  const WAYS = {
    'fails with status 500': status(500),
    'never answers': silent,
    'is truncated': file(outboard.bytes.subarray(0, 640)),
    'is right only in its first pair': file(outboard.bytes.map((byte, i) => i < 64 ? byte : 0)),
    'never ends': file(new Uint8Array(64), { ranges: false, headers: () => ({}), ending: endings.endless })
  }
  for (const [title, answer] of Object.entries(WAYS)) {
    it(`because it ${title}: the next place is tried, and the whole blob after that`, async () => {
      for (const routes of [
        { '': file(content), '.obao4': answer, '.obao6': file(wide.bytes) },
        { '': file(content), '.obao4': answer }
      ]) expect(same(await bytesOf(fetching(routes)), content)).to.equal(true)
    })
  }

  it('is used at its own group log if it has another one than its name says', async () => {
    for (const [groupLog, name] of [[0, '.obao4'], [2, '.obao4'], [4, '.obao6'], [6, '.obao4'], [8, '.obao4']]) {
      const other = createOutboardSync(long, { groupLog })
      const header = new Uint8Array(8)
      new DataView(header.buffer).setBigUint64(0, BigInt(long.length), true)
      for (const bytes of [other.bytes, new Uint8Array([...header, ...other.bytes])]) {
        const fetch = fetching({ '': file(long), [name]: file(bytes) })
        const range = { start: 9 * MIB + 3, end: 9 * MIB + 40_000 }
        const got = await bytesOf(fetch, { cid: other.cid, range })
        expect(same(got, long.subarray(range.start, range.end)), `${groupLog} at ${name}`).to.equal(true)
      }
    }
  })

  it('says that it may be of another group log, if its length is not known', async () => {
    const fine = createOutboardSync(long, { groupLog: 0 })
    const headers = ({ 'content-range': _, 'content-length': __, ...own }) => own
    const fetch = fetching({ '': file(long), '.obao4': file(fine.bytes, { headers }) })
    // Chromium's `arrayBuffer` would hide the error of the body.
    const error = await errorOf(async () => {
      const reader = (await responseOf(fetch, { cid: fine.cid })).body.getReader()
      while (!(await reader.read()).done);
    })
    expect(error).to.have.property('code', 'BAO_PARENT_MISMATCH')
    expect(error.message).to.match(/^parent \d+ does not match the root: it is wrong, or .* of another group log$/)
  })

  it('gives the error of a long blob, and is asked for again', async () => {
    let answers = 0
    const fetch = fetching({ '': file(long), '.obao4': status(503) })
    const error = await errorOf(bytesOf(fetch, { cid: longOutboard.cid }))
    expect(error).to.include({ code: 'FETCH_STATUS', status: 503, location: `${BLOB}.obao4` })
    const busy = request => answers++ === 0 ? status(503)() : file(longOutboard.bytes)(request)
    const bytes = await bytesOf(
      fetching({ '': file(long), '.obao4': busy }), { cid: longOutboard.cid, range: { end: 5 } }
    )
    expect(bytes).to.deep.equal(long.slice(0, 5))
  })
})
