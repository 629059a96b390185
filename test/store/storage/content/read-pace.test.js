// Whether small reads are done here or through threads.
import { expect } from 'chai'
import { NOT_READ, Pace } from '../../../../store/storage/content/read-pace.js'

/** Milliseconds that have passed: no machine is slow here but for who says so. */
let passed = 0
const slowly = ms => () => {
  passed += ms
  return 'here'
}
const later = async () => 'elsewhere'

/** Reads until one is done in another place than the last. */
async function countUntil (pace, where, now = () => 'here') {
  for (let count = 0; count < 10_000; count++) if (await pace.read(now, later) === where) return count
  return Infinity
}

describe('store: pace', () => {
  const { now } = performance
  beforeEach(() => { performance.now = () => passed })
  afterEach(() => { performance.now = now })

  it('reads are done here at first', async () => {
    expect(await new Pace().read(() => 'here', later)).to.equal('here')
  })

  it('one that was slow is made up for by others that go through threads, and then they are done here again', async () => {
    const pace = new Pace()
    expect(await pace.read(slowly(2), later)).to.equal('here')
    expect(await pace.read(() => 'here', later)).to.equal('elsewhere')
    expect(await countUntil(pace, 'here')).to.be.within(50, 1000)
  })

  it('those that are slow again and again are done here one time in many', async () => {
    const pace = new Pace()
    let here = 0
    for (let i = 0; i < 2000; i++) if (await pace.read(slowly(3), later) === 'here') here++
    expect(here).to.be.within(2, 20)
  })

  it('one that fails is a read, too', async () => {
    const pace = new Pace()
    const fails = () => { slowly(2)(); throw new Error('no such thing') }
    expect(() => pace.read(fails, later)).to.throw('no such thing')
    expect(await pace.read(() => 'here', later)).to.equal('elsewhere')
  })

  it('one that could not be done here goes through a thread, and nothing is saved by it', async () => {
    const pace = new Pace()
    for (let i = 0; i < 100; i++) expect(await pace.read(() => NOT_READ, later)).to.equal('elsewhere')
    await pace.read(slowly(0.1), later)
    expect(await pace.read(() => 'here', later)).to.equal('elsewhere')
  })

  it('also one whose turn had to come first', async () => {
    const pace = new Pace()
    const first = pace.read(slowly(15), later)
    const second = pace.read(() => NOT_READ, later)
    expect(second).to.be.a('promise')
    expect(await first).to.equal('here')
    expect(await second).to.equal('elsewhere')
  })

  it('who reads on and on lets timers have their turn', async () => {
    const pace = new Pace()
    const timer = { rings: 0 }
    setTimeout(() => { timer.rings++ }, 1)
    for (const deadline = Date.now() + 5000; timer.rings === 0 && Date.now() < deadline;) await pace.read(slowly(0.01), later)
    expect(timer.rings).to.equal(1)
  })

  it('of several who read on and on each comes to his share', async () => {
    const counts = [0, 0, 0]
    const pace = new Pace()
    const readOn = async i => { while (Math.max(...counts) < 1500) counts[i] += await pace.read(() => { slowly(0.1)(); return 1 }, async () => 1) }
    await Promise.all(counts.map((_, i) => readOn(i)))
    expect(Math.min(...counts)).to.be.at.least(1000)
  })
})
