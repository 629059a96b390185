import { expect } from 'chai'
import { BaoError, ChunkRanges, hash, toCid } from '../../../lib/index.js'
import { fetchExhausted, fetchRefused, fetchStatus } from '../../../lib/core/errors.js'
import { Failure, UsageError, errorLine, errorRecord, hintAtOptions } from '../../../bin/terminal/errors.js'

const CID = toCid(hash(new Uint8Array(5)))
const recordOf = (...args) => JSON.parse(JSON.stringify(errorRecord(...args)))

describe('an error as JSON', () => {
  it('has the code, the message and the properties of a BaoError', () => {
    const place = { cid: CID, actual: CID, start: 5, len: 7, location: 'http://a/', ranges: new ChunkRanges([1, 3, 5]) }
    expect(recordOf(new BaoError('STORE_MISSING', 'not\nhere', place))).to.deep.equal({
      code: 'STORE_MISSING',
      message: 'not here',
      cid: `${CID}`,
      actual: `${CID}`,
      start: 5,
      len: 7,
      location: 'http://a/',
      ranges: [{ start: 1024, end: 3072 }, { start: 5120 }]
    })
    const members = [{ index: 3, cid: CID, error: new BaoError('FETCH_FAILED', 'no') }]
    expect(recordOf(new BaoError('FETCH_MEMBERS_MISSING', 'no', { members })).members).to.deep.equal(
      [{ index: 3, cid: `${CID}`, error: { code: 'FETCH_FAILED', message: 'no' } }])
  })

  it('has the errors of all mirrors', () => {
    const status = fetchStatus('http://a/', 503)
    expect(recordOf(fetchExhausted([status, new Error('why')]))).to.deep.include({
      code: 'FETCH_EXHAUSTED',
      errors: [{ code: 'FETCH_STATUS', message: status.message, location: 'http://a/', status: 503 },
        { code: 'FAILED', message: 'why' }]
    })
  })

  it('always has a code, and a hint where there is one', () => {
    expect(recordOf(new UsageError('what?'))).to.deep.equal({ code: 'USAGE', message: 'what?' })
    expect(recordOf(new Failure('no'))).to.deep.equal({ code: 'FAILED', message: 'no' })
    expect(recordOf(Object.assign(new Error('no file'), { code: 'ENOENT', errno: -2, path: '/x' })))
      .to.deep.equal({ code: 'ENOENT', message: 'no file' })
    expect(recordOf('interrupted')).to.deep.equal({ code: 'INTERRUPTED', message: 'interrupted' })
    const hinted = recordOf(Object.assign(new Failure('a folder'), { code: 'EISDIR' }), { recursive: {} })
    expect(hinted).to.deep.equal({ code: 'EISDIR', message: 'a folder', hint: 'a folder needs --recursive' })
    const failure = hintAtOptions(new BaoError('BAO_PARENT_MISMATCH', 'no', { node: 5 }), true, 'really?')
    expect(recordOf(failure)).to.include({ code: 'BAO_PARENT_MISMATCH', node: 5 })
      .and.to.have.property('message').that.includes('really?')
    expect(recordOf(new Failure('no', { cause: Object.assign(new Error('disk'), { code: 'ENOSPC' }) })))
      .to.deep.equal({ code: 'ENOSPC', message: 'no: disk' })
  })
})

describe('an error as a line', () => {
  it('has no characters of a server that would control a terminal', () => {
    const refused = fetchRefused('http://a/', 'it answers with \x9b2Jred\u202e')
    for (const error of [refused, fetchExhausted([refused]), new Failure('no', { cause: new Error('\x1b[2J') })]) {
      const line = errorLine(error)
      expect(line).to.match(/\\x9b2Jred\\u202e$|\\x1b\[2J$/).and.not.match(/[\p{Cc}\u202e]/u)
      expect(errorRecord(error).message).to.not.match(/[\p{Cc}\u202e]/u)
    }
  })
})
