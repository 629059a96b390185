// Tests what is made when it is first needed.
import { expect } from 'chai'
import { later } from '../../../lib/async/later.js'

describe('later()', () => {
  it('makes one value for all calls, when the first one asks', async () => {
    let made = 0
    const get = later(async () => ({ number: ++made }))
    expect(made).to.equal(0)
    const [first, second] = await Promise.all([get(), get()])
    expect(first).to.equal(second)
    expect([await get(), made]).to.deep.equal([first, 1])
  })

  it('tries again after a failure, of which all waiting calls learn', async () => {
    let tries = 0
    const get = later(async () => {
      if (++tries === 1) throw new Error('offline')
      return 'made'
    })
    const failed = await Promise.allSettled([get(), get()])
    expect(failed.map(({ reason }) => reason.message)).to.deep.equal(['offline', 'offline'])
    expect([await get(), tries]).to.deep.equal(['made', 2])
  })
})
