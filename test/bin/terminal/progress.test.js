import { expect } from 'chai'
import { formatDuration, formatExact, formatRate, formatSize } from '../../../bin/terminal/format.js'
import { barLine } from '../../../bin/terminal/progress.js'

const MiB = 2 ** 20

describe('the program prints', () => {
  it('lengths', () => {
    const SIZES = { 0: '0 bytes', 1: '1 byte', 1023: '1023 bytes', 1024: '1.00 KiB', 1048575: '1.00 MiB' }
    for (const [bytes, text] of Object.entries(SIZES)) expect(formatSize(Number(bytes))).to.equal(text)
    expect(formatSize(1.5 * MiB)).to.equal('1.50 MiB')
    expect(formatSize(2 ** 53)).to.equal('8.00 PiB')
    expect(formatExact(1234567)).to.equal('1,234,567')
  })

  it('times and rates', () => {
    const TEXTS = ['0.0 ms', '9.9 ms', '100 ms', '1.00 s', '61.50 s']
    expect([0.04, 9.94, 99.6, 1000, 61_500].map(formatDuration)).to.deep.equal(TEXTS)
    expect(formatRate(MiB, 500)).to.equal('2.00 MiB/s')
  })

  it('bars', () => {
    const quarter = barLine({ name: 'a', done: MiB, size: 4 * MiB, ms: 1000 })
    expect(quarter).to.equal('a  [######------------------] 25 %  1.00 MiB/s  3 s left')
    const tooMuch = barLine({ name: 'a', done: 5 * MiB, size: 4 * MiB, ms: 1000 })
    expect(tooMuch).to.equal('a  [########################] 100 %  5.00 MiB/s  0 s left')
    const late = barLine({ name: 'a', done: MiB, size: 4 * MiB, ms: 1000, rate: MiB / 2 })
    expect(late).to.include('512.00 KiB/s  6 s left')
    expect(barLine({ name: 'a', done: MiB, size: 601 * MiB, ms: 1000 })).to.include('10 min left')
    expect(barLine({ name: 'a', done: MiB, size: 9001 * MiB, ms: 1000 })).to.include('2 h 30 min left')
    expect(barLine({ name: 'a', done: 0, size: MiB, ms: 1000 })).to.include('? left')
    expect(barLine({ name: 'a', done: MiB, ms: 1000 })).to.equal('a  1.00 MiB  1.00 MiB/s')
  })
})
