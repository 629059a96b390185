// The explorer itself, on two processes that lose an addition.
import { expect } from 'chai'
import { explore } from './explore.js'

describe('explore()', () => {
  /** Two processes that add 1 to one number, in two steps: they read it, and they write it. */
  const counters = (names, check, maxStates) => explore({
    start: [{ sum: 0 }, ...names.map(() => ({}))],
    processes: names.map((name, i) => ({
      parts: [0, i + 1],
      steps: (total, { read, isDone }) => isDone
        ? []
        : read === undefined
          ? [{ words: `${name} reads`, values: [total, { read: total.sum }] }]
          : [{ words: `${name} writes`, values: [{ sum: read + 1 }, { isDone: true }] }]
    })),
    check: () => undefined,
    checkEnd: ([{ sum }]) => sum === names.length ? undefined : check(sum),
    maxStates
  })

  it('finds the shortest way to a fault, and tells it in words', () => {
    const { found, complete } = counters(['A', 'B'], sum => `the sum is ${sum}`)
    expect(complete).to.equal(false)
    expect(found.fault).to.equal('the sum is 1')
    expect(found.trace.slice(0, 2).sort()).to.deep.equal(['A reads', 'B reads'])
    expect(found.trace.slice(2).sort()).to.deep.equal(['A writes', 'B writes'])
  })

  it('counts every state and every transition once', () => {
    // Before anybody has written there are 4 states, with 8 steps. After A has written, B has not read yet, or has
    // read 0 or 1: 3 states, with a step each. It is the same after B has written. At the ends the sum is 1 or 2.
    expect(counters(['A', 'B'], () => undefined))
      .to.deep.equal({ states: 4 + 3 + 3 + 2, transitions: 8 + 3 + 3, ends: 2, complete: true })
  })

  it('says when it has not seen every state', () => {
    expect(counters(['A', 'B'], () => undefined, 12).complete).to.equal(true)
    expect(counters(['A', 'B'], () => undefined, 11)).to.include({ states: 11, complete: false })
  })
})
