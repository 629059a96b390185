// The suite that the package gives to others, over the databases that it comes with.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { testStore } from '../../../store/interop/contract.js'
import { LEVEL, newLocation, removeLocation } from '#runtime'

const PLACES = {
  [LEVEL]: { newPlace: newLocation, removePlace: removeLocation },
  'memory-level': { newPlace: () => ({ index: new MemoryLevel(), data: new MemoryLevel() }) }
}

describe('store: its promises', () => {
  for (const [name, place] of Object.entries(PLACES)) describe(name, () => testStore({ describe, it, ...place }))
})

describe('store: the suite of its promises', () => {
  const NOT_LOST = 'come out as they went in, of any size'
  const NOT_KEPT = 'are stored once, however often they come at once'
  const NOT_FORGOTTEN = 'has what it had, and has not what it had not'

  /**
   * Runs three of the tests outside of any framework, over levels that do something wrong.
   *
   * @param {(pair: { index: MemoryLevel, data: MemoryLevel }) => void} spoil
   * @returns {Promise<string[]>} the titles of those that failed
   */
  async function failuresOver (spoil) {
    const tests = []
    const newPlace = () => {
      const pair = { index: new MemoryLevel(), data: new MemoryLevel() }
      spoil(pair)
      return pair
    }
    testStore({ describe: (_, body) => body(), it: (title, body) => tests.push({ title, body }), newPlace })
    const failures = []
    for (const { title, body } of tests) {
      if ([NOT_LOST, NOT_KEPT, NOT_FORGOTTEN].includes(title)) await body().catch(() => failures.push(title))
    }
    return failures
  }

  it('fails over levels that lose something', async () => {
    expect(await failuresOver(({ data }) => {
      const { batch } = data
      data.batch = function (operations, options) { return batch.call(this, operations.slice(0, -1), options) }
    })).to.include(NOT_LOST)
  })

  it('fails over levels that keep what was deleted', async () => {
    expect(await failuresOver(({ data }) => { data.clear = async () => {} })).to.deep.equal([NOT_KEPT])
  })

  it('fails over levels that forget everything when they are closed', async () => {
    expect(await failuresOver(({ data }) => {
      const { close } = data
      data.close = async function () {
        await this.clear()
        await close.call(this)
      }
    })).to.deep.equal([NOT_FORGOTTEN])
  })
})
