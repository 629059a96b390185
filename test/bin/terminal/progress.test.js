import { expect } from 'chai'
import { formatDuration, formatExact, formatRate, formatSize } from '../../../bin/terminal/format.js'
import { barLine, showLines, withProgress } from '../../../bin/terminal/progress.js'
import { FakeClock } from '../../support/fake-clock.js'

const MiB = 2 ** 20

/** Columns of a text: characters of Chinese take two. */
const widthOf = text => text.length + (text.match(/[\u3000-\uffff]/g) ?? []).length

const CLOCK_STEPS = [1, 10, 15, 19.9, 20, 25]

/** What is written to stderr while 40 MiB are done, 1 MiB each second. @param {number[]} seconds  of the events */
async function linesOf (seconds, terminal = {}) {
  const clock = new FakeClock()
  const written = []
  const stream = { ...terminal, write: text => { written.push(text) } }
  await clock.until(withProgress({ name: 'name', size: 40 * MiB }, async onProgress => {
    for (const second of seconds) {
      await clock.sleep(1000 * second - clock.now())
      onProgress({ detail: { done: second * MiB } })
    }
  }, { now: clock.now, stream }))
  return written
}

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
    expect(barLine({ name: 'a', done: MiB, size: 2 ** 40 * 9, ms: 1000 })).to.include(' 109 d left')
    expect(barLine({ name: 'a', done: MiB, ms: 1000 })).to.equal('a  1.00 MiB  1.00 MiB/s')
  })

  it('bars whose percent, rate and time left are visible in every width from 40 columns on', () => {
    const CID = 'bafkr4idxeorfnzoszghzbgphs4dyvrmthjfk77wdkkpkaepe7eq4gliija'
    const NAMES = [CID, 'a', '', `${'folder/'.repeat(20)}video.mp4`, '漢字'.repeat(50), 'a\nb\r\x1b[2J']
    const STATES = [
      { done: 1023.994 * MiB, size: 2 ** 45, ms: 1000 }, { done: MiB, size: 4 * MiB, ms: 1000 },
      { done: 4 * MiB, size: 4 * MiB, ms: 1000 }, { done: 0, size: 5, ms: 1 },
      { done: 1023, size: 172_700_000, ms: 1000 }
    ]
    for (let columns = 40; columns <= 200; columns++) {
      for (const name of NAMES) {
        for (const state of STATES) {
          const line = barLine({ name, ...state, columns })
          expect(line, `${columns} columns`).to.match(/\d+ % {2}[\d.]+ [a-zA-Z]+\/s {2}(\d+ .*|\?) left$/)
          expect(widthOf(line), line).to.be.below(columns)
          expect(line).to.not.match(/[\n\r\x1b]/) // eslint-disable-line no-control-regex
        }
        const open = barLine({ name, count: '4194303 of 4194304 blobs', done: 1023.994 * MiB, ms: 1000, columns })
        expect(open).to.match(/1023.99 MiB\/s$/)
        expect(widthOf(open), open).to.be.below(columns)
        if (columns >= 80) expect(open).to.include('4194303 of 4194304 blobs')
      }
    }
    expect(barLine({ name: CID, done: MiB, size: 4 * MiB, ms: 1000, columns: 80 })).to.equal(
      'bafkr4idxeo…pe7eq4gliija  [###---------] 25 %  1.00 MiB/s  3 s left')
    expect(barLine({ name: CID, done: 0, size: 0, ms: 1 })).to.include('] 100 %')
  })

  it('lines every 10 s where stderr is no terminal, with the whole name', async () => {
    const lines = await linesOf(CLOCK_STEPS)
    expect(lines.join('')).to.equal([
      'baobox: name: 25 %, 1.00 MiB/s, 30 s left\n',
      'baobox: name: 50 %, 1.00 MiB/s, 20 s left\n'
    ].join(''))
  })

  it('no line for work that takes 10 s or less, and none with --json or --quiet', async () => {
    expect(await linesOf([1, 5, 9.9])).to.deep.equal([])
    showLines(false)
    try {
      expect(await linesOf(CLOCK_STEPS)).to.deep.equal([])
    } finally {
      showLines(true)
    }
  })

  it('on a terminal a bar after half a second, and removes it at the end', async () => {
    const drawn = await linesOf([0.1, 0.6, 0.61, 0.8], { isTTY: true, columns: 60 })
    expect(drawn).to.have.length(3)
    expect(drawn[0]).to.match(/^\r.*1 % {2}1.00 MiB\/s {2}40 s left\x1b\[K$/) // eslint-disable-line no-control-regex
    expect(drawn.at(-1)).to.equal('\r\x1b[K')
  })
})
