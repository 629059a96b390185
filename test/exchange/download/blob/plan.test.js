// Which segments a plan gives to which mirror.
import { expect } from 'chai'
import fc from 'fast-check'
import { ChunkRanges } from '../../../../lib/index.js'
import { Plan } from '../../../../exchange/download/blob/plan.js'
import { holds } from '../../../support/property.js'

const MIB = 1 << 20
const chunks = (start, end) => ChunkRanges.fromBytes(start, end)
const mirror = ({ rate = 0, lacks = ChunkRanges.none, isSequential = false } = {}) =>
  ({ rate, lacks, mirror: { isSequential } })
/** Notes that a mirror has begun to fetch a segment. */
const begin = (segment, candidate, since = 0, len = 0) => segment.requests.add({ candidate, since, len })

describe('the plan of a download', () => {
  it('gives 1 MiB to a mirror of unknown speed, and 2 s of work to others', () => {
    const plan = new Plan(chunks(0, 1000 * MIB))
    const lens = [0, 5 * MIB, 20 * MIB, 500 * MIB].map(rate => {
      return plan.nextSegment(mirror({ rate }), { now: 0, mirrorCount: 1 }).len / MIB
    })
    expect(lens).to.deep.equal([1, 10, 40, 256])
  })

  it('gives less when several mirrors share the rest', () => {
    const plan = new Plan(chunks(0, 64 * MIB))
    expect(plan.nextSegment(mirror({ rate: 1000 * MIB }), { now: 0, mirrorCount: 4 }).len).to.equal(8 * MIB)
  })

  it('gives all groups up to the next gap to a mirror that can only read from the beginning', () => {
    const plan = new Plan(chunks(0, 100 * MIB).union(chunks(200 * MIB, 300 * MIB)))
    expect(plan.nextSegment(mirror({ isSequential: true }), { now: 0, mirrorCount: 2 }).len).to.equal(100 * MIB)
  })

  it('gives no mirror a segment that it lacks', () => {
    const plan = new Plan(chunks(0, 2 * MIB))
    const partial = mirror({ lacks: chunks(0, MIB) })
    expect([...plan.nextSegment(partial, { now: 0, mirrorCount: 1 }).ranges]).to.deep.equal([[1024, 2048]])
    // It races for this segment.
    expect(plan.nextSegment(partial, { now: 0, mirrorCount: 1 })).to.have.property('len', MIB)
    expect(plan.nextSegment(mirror({ lacks: ChunkRanges.all }), { now: 0, mirrorCount: 1 })).to.equal(undefined)
  })

  it('lets idle mirrors race for the segment that would end last, and each only once', () => {
    const plan = new Plan(chunks(0, 3 * MIB))
    const [quick, slow, stuck, idle] = [mirror(), mirror(), mirror(), mirror()]
    const segments = [quick, slow, stuck].map(candidate => plan.nextSegment(candidate, { now: 0, mirrorCount: 1 }))
    begin(segments[0], quick, 0, MIB / 2)
    begin(segments[1], slow, 0, MIB / 4)
    begin(segments[2], stuck, 0, 0)
    expect(plan.nextSegment(idle, { now: 1000, mirrorCount: 4 })).to.equal(segments[2])
    begin(segments[2], idle, 1000, 1)
    plan.end(segments[2], ChunkRanges.none)
    expect(plan.nextSegment(idle, { now: 1000, mirrorCount: 4 })).to.equal(segments[1])
    begin(segments[1], idle, 1000)
    expect(plan.nextSegment(idle, { now: 1000, mirrorCount: 4 })).to.equal(segments[0])
    expect(plan.nextSegment(quick, { now: 1000, mirrorCount: 4 })).to.equal(segments[1])
  })

  it('is done when every segment has ended and none has missing groups', () => {
    const plan = new Plan(chunks(0, MIB))
    const segment = plan.nextSegment(mirror(), { now: 0, mirrorCount: 1 })
    plan.end(segment, chunks(MIB / 2, MIB))
    expect(plan.isDone).to.equal(false)
    plan.end(plan.nextSegment(mirror(), { now: 0, mirrorCount: 1 }), ChunkRanges.none)
    expect(plan.isDone).to.equal(true)
  })

  it('gives every missing group once, whatever is missing and however quick the mirrors are', () => {
    const step = fc.record({ rate: fc.nat(100 * MIB), mirrorCount: fc.integer({ min: 1, max: 5 }) })
    const steps = fc.array(step, { minLength: 1 })
    const groups = fc.uniqueArray(fc.nat(100_000), { maxLength: 20 })
    return holds('plan', fc.property(groups, steps, (list, steps) => {
      const boundaries = list.sort((a, b) => a - b).map(group => group * 16)
      const missing = ChunkRanges.fromBoundaries(boundaries.slice(0, boundaries.length & ~1))
      const plan = new Plan(missing)
      let given = ChunkRanges.none
      for (let i = 0; !plan.free.isEmpty; i++) {
        const { rate, mirrorCount } = steps[i % steps.length]
        const { ranges, len } = plan.nextSegment(mirror({ rate }), { now: 0, mirrorCount })
        expect(ranges.intersect(given).isEmpty).to.equal(true)
        expect(ranges.boundaries.every(chunk => chunk % 16 === 0)).to.equal(true)
        expect(len).to.be.at.most(256 * MIB)
        given = given.union(ranges)
      }
      expect(given.equals(missing)).to.equal(true)
    }), 50)
  })
})
