// What clients are told of errors.
import { expect } from 'chai'
import { hash } from '../../../../lib/index.js'
import { toldAs } from '../../../../store/exchange/http/errors.js'
import * as errors from '../../../../store/storage/errors.js'

const LOCATION = '/home/somebody/blobs'

describe('an HTTP handler tells of an error', () => {
  it('with the code, and without the path of the store or a file', () => {
    for (const error of [
      errors.readOnlyError(LOCATION), errors.absentError(LOCATION), errors.lockedError(LOCATION),
      errors.movedError(LOCATION), errors.unknownLayout(LOCATION, 9), errors.obstructed(LOCATION, new Error('EACCES')),
      errors.notReopened(LOCATION, new Error(`${LOCATION}/index`)), errors.acknowledgedLost(LOCATION, undefined)
    ]) {
      const { details } = toldAs(error)
      expect(details).to.deep.equal({ code: error.code })
    }
    expect(toldAs(errors.readOnlyError(LOCATION)).status).to.equal(403)
  })

  it('with the message, where that is about the blob', () => {
    const root = hash(new Uint8Array(0))
    expect(toldAs(errors.notFound(root)).details.message).to.match(/^bafkr4i\w+ is not in the store$/)
  })
})
