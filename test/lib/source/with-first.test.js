// Ends the rest of an iteration whose first item was taken already.
import { expect } from 'chai'
import { withFirst } from '../../../lib/source/async-util.js'
import { listed } from '../../support/feeding.js'

/** Numbers, and whether their generator has been ended. */
function counting () {
  const state = { isEnded: false }
  const numbers = (async function * () {
    try {
      for (let i = 0; i < 3; i++) yield i
    } finally {
      state.isEnded = true
    }
  })()
  return { numbers, state }
}

describe('an iteration whose first item was taken', () => {
  it('begins with that item', async () => {
    const { numbers, state } = counting()
    expect(await listed(withFirst(await numbers.next(), numbers))).to.deep.equal([0, 1, 2])
    expect(state.isEnded).to.equal(true)
  })

  it('ends the rest, also before its first item is asked for', async () => {
    for (const asked of [0, 1, 2]) {
      const { numbers, state } = counting()
      const all = withFirst(await numbers.next(), numbers)
      for (let i = 0; i < asked; i++) expect(await all.next()).to.deep.equal({ value: i, done: false })
      await all.return()
      expect(state.isEnded, `after ${asked}`).to.equal(true)
    }
  })

  it('may be empty', async () => {
    const none = (async function * () {})()
    expect(await listed(withFirst(await none.next(), none))).to.deep.equal([])
  })
})
