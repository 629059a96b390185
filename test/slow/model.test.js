// Every interleaving of the protocol of a store in a bucket, in its large scenarios. The largest ones, of some million
// states each, run at EFFORT=1 and above.
import { expect } from 'chai'
import { EFFORT } from '#runtime'
import { exploreScenario } from '../model/explore-scenario.js'
import { LARGE, LARGEST, LATE } from '../model/scenarios.js'

describe('model: nothing tagged is lost, and garbage is gone, when', () => {
  for (const scenario of [...LARGE, ...LATE, ...EFFORT >= 1 ? LARGEST : []]) {
    it(scenario.title, () => {
      const { states, transitions, complete, found } = exploreScenario(scenario)
      expect(found).to.equal(undefined)
      expect(complete).to.equal(true)
      console.log(`        ${states} states, ${transitions} transitions`)
    })
  }
})
