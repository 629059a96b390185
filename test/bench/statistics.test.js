// The figures of the benches are as good as these few functions, so they answer to values worked out elsewhere.
import { expect } from 'chai'
import { bestOf, mannWhitneyP, median, speedups, spread } from '../../bench/support/statistics.js'
import { markdown, plainText, rowsOf } from '../../bench/support/tables.js'

describe('the statistics of the benches', () => {
  it('take the median and the quartiles between samples', () => {
    expect(median([3])).to.equal(3)
    expect(median([9, 1, 5])).to.equal(5)
    expect(median([4, 1, 3, 2])).to.equal(2.5)
    expect(spread([1, 2, 3, 4, 5])).to.be.closeTo((4 - 2) / 2 / 3, 1e-12)
    expect(spread([7, 7, 7])).to.equal(0)
  })

  it('leave the samples as they are', () => {
    const samples = [3, 1, 2]
    median(samples)
    expect(samples).to.deep.equal([3, 1, 2])
  })

  it('compare within rounds: a slow round is slow for both', () => {
    const samples = { ours: [10, 100, 10], theirs: [20, 200, 20] }
    expect(speedups(samples, 'ours', 'theirs')).to.deep.equal([2, 2, 2])
    expect(speedups(samples, 'theirs', 'ours')).to.deep.equal([0.5, 0.5, 0.5])
  })

  it('name the quickest by what it did in the same rounds', () => {
    const samples = { first: [10, 11, 90], second: [9, 10, 80], third: [50, 5, 99] }
    expect(bestOf(samples, ['first', 'second', 'third'])).to.equal('second')
    expect(bestOf(samples, ['third'])).to.equal('third')
  })

  // U comes from counting pairs, p from the normal distribution with both corrections: as R's
  // wilcox.test(exact = FALSE) defines them.
  describe('Mann-Whitney', () => {
    it('gives the p of lists that are apart', () => {
      // U = 0, mean 12.5, deviation sqrt(25 / 12 * 11) = 4.787: z = 12 / 4.787 = 2.507
      expect(mannWhitneyP([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])).to.be.closeTo(0.01219, 1e-4)
    })

    it('gives the p of lists that overlap', () => {
      // U = 3 + 4 + 4 = 11 of 16, mean 8, deviation sqrt(16 / 12 * 9) = 3.464: z = 2.5 / 3.464 = 0.7217
      expect(mannWhitneyP([5, 7, 8, 1], [2, 3, 4, 6])).to.be.closeTo(0.4705, 1e-3)
    })

    it('corrects for ties', () => {
      // ranks 1.5 1.5 4 | 4 4 6: U = 1, mean 4.5, ties 6 + 24
      // deviation sqrt(9 / 12 * (7 - 30 / 30)) = 2.1213, z = 3 / 2.1213
      expect(mannWhitneyP([1, 1, 2], [2, 2, 3])).to.be.closeTo(0.1573, 1e-3)
    })

    it('does not care which list comes first', () => {
      const [a, b] = [[1, 4, 2, 8, 5, 7], [3, 9, 6, 10, 12]]
      expect(mannWhitneyP(a, b)).to.equal(mannWhitneyP(b, a))
    })

    it('says that chance alone does it where nothing differs', () => {
      expect(mannWhitneyP([2, 2, 2], [2, 2])).to.equal(1)
      expect(mannWhitneyP([1, 2, 3, 4], [1, 2, 3, 4])).to.be.closeTo(1, 1e-6)
    })
  })
})

describe('the tables of the benches', () => {
  const samples = { ours: [100, 100, 100], slow: [400, 400, 400], quick: [50, 50, 50] }

  it('show a peer\'s speed, and how many times as fast as it we are', () => {
    const results = [{ name: '64 B', bytes: 64, samples }]
    const table = { bench: 'b', question: 'q', form: 'comparison', rivals: ['slow', 'quick'], results }
    expect(rowsOf(table)).to.deep.equal([
      ['', 'ours', 'x best npm', 'slow', 'x', 'quick', 'x'],
      ['64 B', '100 ns', '0.50 ±0 % quick', '400 ns', '4.00', '50 ns', '0.50']
    ])
  })

  it('show what a peer left out as a dash', () => {
    const results = [{ name: 'small', bytes: 64, samples }, { name: 'large', bytes: 2000, samples: { ours: [1000] } }]
    const rows = rowsOf({ bench: 'b', question: 'q', form: 'comparison', results })
    expect(rows[2]).to.deep.equal(['large', '2000 MB/s', '-', '-', '-', '-'])
  })

  it('rank against the first', () => {
    const rows = rowsOf({ bench: 'b', question: 'q', form: 'ranking', results: [{ name: 'case', bytes: 64, samples }] })
    expect(rows.map(row => row[2])).to.deep.equal(['x ours', '', '0.25 ±0 %', '2.00 ±0 %'])
  })

  it('chain each step to the one before and to the first', () => {
    const rows = rowsOf({ bench: 'b', question: 'q', form: 'chain', results: [{ name: 'case', bytes: 64, samples }] })
    expect(rows.slice(1)).to.deep.equal([
      ['ours', '100 ns', '', ''],
      ['slow', '400 ns', '0.25 ±0 %', '0.25 ±0 %'],
      ['quick', '50 ns', '8.00 ±0 %', '2.00 ±0 %']
    ])
  })

  it('are printed as text and as Markdown', () => {
    const rows = [['', 'a'], ['long', '1 B']]
    expect(plainText(rows)).to.equal('        a\nlong  1 B')
    expect(markdown(rows)).to.equal('|  | a |\n| --- | --: |\n| long | 1 B |')
  })

  it('have fewer columns as Markdown', () => {
    const rows = [['', 'ours', 'peer', 'x', 'slow', 'x'], ['64 B', '1 ns', '2 ns', '2.00', '-', '-']]
    expect(markdown(rows).split('\n')).to.deep.equal([
      '|  | ours | peer | slow |',
      '| --- | --: | --: | --: |',
      '| 64 B | 1 ns | 2 ns, x 2.00 | - |'
    ])
  })
})
