import { expect } from 'chai'
import { exact, lasting, rate, sized } from '../../../bin/terminal/format.js'
import { barLine } from '../../../bin/terminal/progress.js'

const MiB = 2 ** 20

describe('what the program says of numbers', () => {
  it('lengths', () => {
    for (const [bytes, text] of [[0, '0 bytes'], [1, '1 byte'], [1023, '1023 bytes'], [1024, '1.00 KiB'], [1048575, '1.00 MiB'], [1.5 * MiB, '1.50 MiB'], [2 ** 53, '8.00 PiB']]) {
      expect(sized(bytes)).to.equal(text)
    }
    expect(exact(1234567)).to.equal('1,234,567')
  })

  it('times and rates', () => {
    expect([0.04, 9.94, 99.6, 1000, 61_500].map(lasting)).to.deep.equal(['0.0 ms', '9.9 ms', '100 ms', '1.00 s', '61.50 s'])
    expect(rate(MiB, 500)).to.equal('2.00 MiB/s')
  })

  it('bars', () => {
    expect(barLine({ label: 'a', done: MiB, total: 4 * MiB, ms: 1000 })).to.equal('a  [######------------------] 25 %  1.00 MiB/s  3 s left')
    expect(barLine({ label: 'a', done: 5 * MiB, total: 4 * MiB, ms: 1000 })).to.equal('a  [########################] 100 %  5.00 MiB/s  0 s left')
    expect(barLine({ label: 'a', done: MiB, ms: 1000 })).to.equal('a  1.00 MiB  1.00 MiB/s')
  })
})
