// Clients are told of errors.
import { expect } from 'chai'
import { BaoError } from '../../../lib/index.js'
import { errorAnswer } from '../../../exchange/http/errors.js'

const LOCATION = '/home/somebody/blobs'

describe('an HTTP handler tells of an error', () => {
  it('with the code, and without the path of the store or a file', () => {
    for (const code of ['STORE_READ_ONLY', 'STORE_ABSENT', 'STORE_MOVED', 'STORE_CORRUPT', 'STORE_WRITE_FAILED']) {
      const error = new BaoError(code, `something is wrong with ${LOCATION}`, { location: LOCATION })
      expect(errorAnswer(error).details).to.deep.equal({ code })
    }
    expect(errorAnswer(new BaoError('STORE_READ_ONLY', '', { location: LOCATION })).status).to.equal(403)
  })

  it('with the message, if that is about the blob', () => {
    const error = new BaoError('STORE_NOT_FOUND', 'bafkr4i is not in the store')
    expect(errorAnswer(error)).to.deep.equal({ status: 404, details: { code: error.code, message: error.message } })
  })
})
