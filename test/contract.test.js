// The suite that the package exports as `baobox/store/test`: it passes with the databases that the package uses, and
// fails with levels that do something wrong.
import { expect } from 'chai'
import { MemoryLevel } from 'memory-level'
import { testStore } from './contract/index.js'
import { ALL, LEVEL, newLocation, removeLocation } from '#runtime'

const PLACES = {
  [LEVEL]: { newPlace: newLocation, removePlace: removeLocation },
  'memory-level': { newPlace: () => ({ index: new MemoryLevel(), data: new MemoryLevel() }) }
}

/** Without ALL=1 one of them: what pages have, or what needs no disk. */
const ONE = LEVEL === 'browser-level' ? LEVEL : 'memory-level'

describe('store: the contract', () => {
  for (const [name, place] of Object.entries(PLACES)) {
    if (ALL || name === ONE) describe(name, () => testStore({ describe, it, ...place }))
  }
})

describe('store: testStore()', () => {
  /** Three tests, which fail with levels that lose something, keep deleted entries, or forget everything. */
  const NOT_LOST = 'put() keeps blobs around the size of eight chunk groups'
  const NOT_KEPT = 'put() of the same blobs at the same time stores each once'
  const NOT_FORGOTTEN = 'open() finds the blobs that the store had when it was closed, and no others'

  /**
   * Runs three of the tests outside of any framework, with levels that do something wrong.
   *
   * @param {(pair: { index: MemoryLevel, data: MemoryLevel }) => void} spoil
   * @returns {Promise<string[]>} the titles of the failed tests
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

  it('defines tests that fail with levels that lose something', async () => {
    expect(await failuresOver(({ data }) => {
      const { batch } = data
      data.batch = function (operations, options) { return batch.call(this, operations.slice(0, -1), options) }
    })).to.include(NOT_LOST)
  })

  it('defines tests that fail with levels that keep deleted entries', async () => {
    expect(await failuresOver(({ data }) => { data.clear = async () => {} })).to.deep.equal([NOT_KEPT])
  })

  it('defines tests that fail with levels that forget everything when they are closed', async () => {
    expect(await failuresOver(({ data }) => {
      const { close } = data
      data.close = async function () {
        await this.clear()
        await close.call(this)
      }
    })).to.deep.equal([NOT_FORGOTTEN])
  })
})
