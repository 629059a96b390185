// Tests which small reads are synchronous, and which go through the thread pool.
import { expect } from 'chai'
import { NOT_READ, Pace } from '../../../lib/source/pace.js'

/** Milliseconds of a fake clock, so that the speed of the machine does not matter. */
let passed = 0
const slowly = ms => () => {
  passed += ms
  return 'here'
}
const later = async () => 'elsewhere'

/** Reads until a read is done in the other way than the last one. */
async function countUntil (pace, where, now = () => 'here') {
  for (let count = 0; count < 10_000; count++) if (await pace.read(now, later) === where) return count
  return Infinity
}

describe('the pace of small reads', () => {
  const { now } = performance
  beforeEach(() => { performance.now = () => passed })
  afterEach(() => { performance.now = now })

  it('reads synchronously at first', async () => {
    expect(await new Pace().read(() => 'here', later)).to.equal('here')
  })

  it('reads through threads after a slow read, until the loss is made up for', async () => {
    const pace = new Pace()
    expect(await pace.read(slowly(2), later)).to.equal('here')
    expect(await pace.read(() => 'here', later)).to.equal('elsewhere')
    expect(await countUntil(pace, 'here')).to.be.within(50, 1000)
  })

  it('tries a synchronous read only now and then while these stay slow', async () => {
    const pace = new Pace()
    let here = 0
    for (let i = 0; i < 2000; i++) if (await pace.read(slowly(3), later) === 'here') here++
    expect(here).to.be.within(2, 20)
  })

  it('counts a read that fails as a read', async () => {
    const pace = new Pace()
    const fails = () => { slowly(2)(); throw new Error('no such thing') }
    expect(() => pace.read(fails, later)).to.throw('no such thing')
    expect(await pace.read(() => 'here', later)).to.equal('elsewhere')
  })

  it('reads through threads, which make room, when too many files are open', async () => {
    const refused = () => { throw Object.assign(new Error('too many open files'), { code: 'EMFILE' }) }
    expect(await new Pace().read(refused, later)).to.equal('elsewhere')
  })

  it('counts nothing as saved if a read could not be synchronous', async () => {
    const pace = new Pace()
    for (let i = 0; i < 100; i++) expect(await pace.read(() => NOT_READ, later)).to.equal('elsewhere')
    await pace.read(slowly(0.1), later)
    expect(await pace.read(() => 'here', later)).to.equal('elsewhere')
  })

  it('reads synchronously after it has yielded to the event loop', async () => {
    const pace = new Pace()
    const first = pace.read(slowly(15), later)
    const second = pace.read(() => NOT_READ, later)
    expect(second).to.be.a('promise')
    expect(await first).to.equal('here')
    expect(await second).to.equal('elsewhere')
  })

  it('lets timers run while one caller reads without pause', async () => {
    const pace = new Pace()
    const timer = { rings: 0 }
    setTimeout(() => { timer.rings++ }, 1)
    const deadline = Date.now() + 5000
    while (timer.rings === 0 && Date.now() < deadline) await pace.read(slowly(0.01), later)
    expect(timer.rings).to.equal(1)
  })

  it('gives each of several callers that read without pause its share', async () => {
    const counts = [0, 0, 0]
    const pace = new Pace()
    const readOne = () => {
      slowly(0.1)()
      return 1
    }
    const readOn = async i => {
      while (Math.max(...counts) < 1500) counts[i] += await pace.read(readOne, async () => 1)
    }
    await Promise.all(counts.map((_, i) => readOn(i)))
    expect(Math.min(...counts)).to.be.at.least(1000)
  })
})
