import { expect } from 'chai'
import { inOrder } from '../../../lib/async/in-order.js'

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

describe('inOrder', () => {
  /** Tasks that note when they end. Each takes longer than the one before it. */
  function slowly () {
    const ended = /** @type {number[]} */ ([])
    const begin = async (/** @type {number} */ item) => {
      await pause(5 * item)
      ended.push(item)
      return item
    }
    return { ended, begin }
  }
  async function * items (count) { for (let i = 0; i < count; i++) yield i }

  it('gives the results in the order of the items', async () => {
    const backwards = async item => { await pause(10 - 3 * item); return item }
    const results = []
    for await (const result of inOrder(items(4), () => 3, backwards)) results.push(result)
    expect(results).to.deep.equal([0, 1, 2, 3])
  })

  it('waits for the begun tasks when the caller wants no more results', async () => {
    const { ended, begin } = slowly()
    const begun = []
    const results = inOrder(items(9), () => 3, item => { begun.push(item); return begin(item) })
    for await (const result of results) if (result === 1) break
    expect(begun.length).to.be.above(2)
    expect(ended).to.deep.equal(begun)
  })

  it('gives the results before a failure, and waits for the later tasks', async () => {
    const { ended, begin } = slowly()
    const results = []
    const failing = item => item === 2 ? Promise.reject(new Error('no')) : begin(item)
    const error = await (async () => {
      for await (const result of inOrder(items(5), () => 4, failing)) results.push(result)
    })().catch(error => error)
    expect(error.message).to.equal('no')
    expect(results).to.deep.equal([0, 1])
    expect(ended).to.deep.equal([0, 1, 3, 4])
  })
})
