// Every interleaving of the protocol of a store in a bucket, in its small scenarios: test/slow/model.test.js has the
// large ones.
import { expect } from 'chai'
import { someOf } from '../support/effort.js'
import { RULES } from './actor.js'
import { exploreScenario } from './explore-scenario.js'
import { FAULTS, LATE, SMALL } from './scenarios.js'

describe('model: nothing tagged is lost, and garbage is gone, when', () => {
  for (const scenario of someOf([...SMALL, LATE[3], LATE[4]])) {
    it(scenario.title, () => {
      const { complete, found, ends } = exploreScenario(scenario)
      expect(found).to.equal(undefined)
      expect(complete).to.equal(true)
      expect(ends).to.be.greaterThan(1)
    })
  }
})

describe('model: something is lost without', () => {
  for (const { without, fault, onlyHighest, ...scenario } of someOf(FAULTS)) {
    it(scenario.title, () => {
      const rules = Object.fromEntries(without.map(rule => [rule, false]))
      const { found } = exploreScenario(scenario, { rules, onlyHighest })
      expect(found?.fault).to.match(fault)
      expect(found.trace).to.have.length.greaterThan(5)
    })
  }
})

describe('model: every rule', () => {
  it('is taken out in one of these tests', () => {
    expect(new Set(FAULTS.flatMap(({ without }) => without))).to.deep.equal(new Set(Object.keys(RULES)))
  })
})
