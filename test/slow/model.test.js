// Every interleaving of the protocol of a store in a bucket, in its large scenarios. The largest ones, of some million
// states each, run at EFFORT=1 and above; below, every third of the others runs.
import { expect } from 'chai'
import { EFFORT } from '#runtime'
import { exploreScenario } from '../model/explore-scenario.js'
import { LARGE, LARGEST, LATE } from '../model/scenarios.js'

describe('model: nothing tagged is lost, and garbage is gone, when', () => {
  const others = [...LARGE, ...LATE].filter((_, i) => EFFORT >= 1 || i % 3 === 0)
  for (const scenario of [...others, ...EFFORT >= 1 ? LARGEST : []]) {
    it(scenario.title, () => {
      const { states, transitions, complete, found } = exploreScenario(scenario)
      expect(found).to.equal(undefined)
      expect(complete).to.equal(true)
      console.log(`        ${states} states, ${transitions} transitions`)
    })
  }
})
