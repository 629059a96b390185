// Which type a client prefers.
import { expect } from 'chai'
import { acceptedBy, preferred, qualityOf } from '../../../exchange/http/accept.js'

const SLICE = 'application/vnd.bao-slice'

describe('an Accept header', () => {
  it('prefers a type that it names and wants as much as plain bytes', () => {
    const cases = {
      [SLICE]: true,
      'Application/VND.Bao-Slice ; q=0.5': true,
      [`${SLICE}, */*`]: true,
      [`*/*;q=0.5, ${SLICE};q=0.5`]: true,
      [`application/octet-stream;q=0.1, ${SLICE};q=0.2`]: true,
      [`${SLICE};q=0.1, application/octet-stream;q=0, */*`]: true,
      [`${SLICE};q=0.1, text/html`]: true,
      [`application/octet-stream, ${SLICE};q=0.1`]: false,
      [`application/*;q=0.3, ${SLICE};q=0.1`]: false,
      [`${SLICE};q=0.0001, */*`]: false,
      [`${SLICE};q=0.000`]: false,
      [`${SLICE};q=x`]: false,
      '*/*': false,
      'application/*': false,
      [`${SLICE}x`]: false,
      '': false
    }
    for (const [header, expected] of Object.entries(cases)) {
      expect(preferred(acceptedBy(header), SLICE) !== undefined, header).to.equal(expected)
    }
    expect(preferred(acceptedBy(null), SLICE)).to.equal(undefined)
  })

  it('has the parameters of the most wanted range', () => {
    const header = `${SLICE};group-log=2;q=0.5, ${SLICE}; group-log="6"; q=0.9`
    expect(preferred(acceptedBy(header), SLICE).parameters.get('group-log')).to.equal('6')
  })

  it('is read up to 64 ranges', () => {
    expect(acceptedBy(','.repeat(8191))).to.have.length(64)
    expect(preferred(acceptedBy(`${'a/b,'.repeat(63)}${SLICE}`), SLICE)).to.include({ type: SLICE })
    expect(preferred(acceptedBy(`${'a/b,'.repeat(64)}${SLICE}`), SLICE)).to.equal(undefined)
  })

  it('wants a type as much as its most specific range says', () => {
    const accepted = acceptedBy('text/*;q=0.3, text/html;q=0.7, */*;q=0.1, image/png;q=0')
    const qualities = ['text/html', 'text/css', 'image/png', 'image/gif'].map(type => qualityOf(accepted, type))
    expect(qualities).to.deep.equal([0.7, 0.3, 0, 0.1])
    expect(qualityOf(acceptedBy('text/html'), 'image/png')).to.equal(0)
    expect(qualityOf(acceptedBy(null), 'image/png')).to.equal(1)
  })
})
