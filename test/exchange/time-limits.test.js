// How long servers wait.
import { expect } from 'chai'
import { graceOf, within } from '../../exchange/time-limits.js'
import { errorOf } from '../support/feeding.js'

const never = new Promise(() => {})

describe('a wait with a time limit', () => {
  it('gives a result that comes in time, and does not call the function for delays', async () => {
    const late = () => { throw new Error('late') }
    expect(await within(Promise.resolve(5), 2 ** 31 - 1, late)).to.equal(5)
    const broken = new Error('broken')
    expect(await errorOf(within(Promise.reject(broken), 2 ** 31 - 1, late))).to.equal(broken)
  })

  it('ends with the error of the function for delays', async () => {
    expect(await errorOf(within(never, 1, () => { throw new Error('late') }))).to.have.property('message', 'late')
  })

  it('goes on when that function does not throw', async () => {
    let finish
    const slow = new Promise(resolve => { finish = resolve })
    expect(await within(slow, 1, () => finish('forced'))).to.equal('forced')
  })
})

describe('the grace of a server that is closed', () => {
  it('is 10 seconds, or up to the longest timer', async () => {
    expect([graceOf(), graceOf({}), graceOf({ grace: 0 }), graceOf({ grace: 2 ** 31 - 1 })])
      .to.deep.equal([10_000, 10_000, 0, 2 ** 31 - 1])
    for (const grace of [2 ** 31, Infinity, -1]) {
      expect(await errorOf(() => graceOf({ grace })), `${grace}`).to.be.instanceOf(RangeError)
    }
    expect(await errorOf(() => graceOf({ now: true }))).to.be.instanceOf(TypeError)
  })
})
