// Downloads that stall are ended. The clock is fake.
import { expect } from 'chai'
import { waitAfter, withPatience } from '../../../verifier/mirrors/patience.js'
import { FakeClock } from '../../support/fake-clock.js'
import { errorOf } from '../../support/feeding.js'

const STALL = 1000

/** Reads pieces of some lengths, each of which comes after some time; the caller also takes some time. */
async function read (pieces, { callerMs = 0, signal } = {}) {
  const clock = new FakeClock()
  const seen = { len: 0, isEnded: false }
  const open = async function * (signal) {
    signal.addEventListener('abort', () => { seen.isEnded = true })
    for (const [ms, len] of pieces) {
      await clock.sleep(ms)
      yield new Uint8Array(len)
    }
  }
  const reading = errorOf(async () => {
    for await (const piece of withPatience(open, { location: 'there', stall: STALL, clock, signal })) {
      seen.len += piece.length
      if (callerMs > 0) await clock.sleep(callerMs)
    }
  })
  const error = await clock.until(reading)
  return { ...seen, error, time: clock.now() }
}

describe('a download with patience', () => {
  it('may take any time while 16 KiB arrive in time', async () => {
    const { error, len, time } = await read(Array(20).fill([700, 16_384]))
    expect(error).to.equal(undefined)
    expect(len).to.equal(20 * 16_384)
    expect(time).to.equal(14_000)
  })

  it('ends when nothing arrives, and names the mirror', async () => {
    const { error, len, time, isEnded } = await read([[10, 20_000], [1e9, 1]])
    expect(error).to.include({ code: 'FETCH_FAILED', location: 'there' })
    expect(len).to.equal(20_000)
    expect(time).to.be.within(1010, 1500)
    expect(isEnded).to.equal(true)
  })

  it('ends when too little arrives', async () => {
    const { error, len } = await read(Array(100).fill([100, 1000]))
    expect(error).to.include({ code: 'FETCH_FAILED' })
    expect(len).to.be.within(9000, 15_000)
  })

  it('may take any time while bytes arrive that are not passed on', async () => {
    const clock = new FakeClock()
    const open = async function * (_signal, onSkipped) {
      for (let i = 0; i < 20; i++) {
        await clock.sleep(700)
        onSkipped(16_384)
      }
      await clock.sleep(1e9)
      yield new Uint8Array(1)
    }
    const pieces = withPatience(open, { location: 'there', stall: STALL, clock })
    expect(await clock.until(errorOf(() => pieces.next()))).to.include({ code: 'FETCH_FAILED' })
    expect(clock.now()).to.be.within(20 * 700 + STALL, 20 * 700 + 1.5 * STALL)
  })

  it('does not count the time that the caller takes', async () => {
    expect((await read(Array(5).fill([10, 1000]), { callerMs: 10_000 })).error).to.equal(undefined)
  })

  it('leaves no timer while the caller wants nothing', async () => {
    const clock = new FakeClock()
    const open = async function * () { while (true) yield new Uint8Array(1) }
    const pieces = withPatience(open, { location: 'there', stall: STALL, clock })
    for (let i = 0; i < 2; i++) {
      await pieces.next()
      await clock.until(clock.sleep(STALL))
      expect(clock.sleepers).to.equal(0)
    }
    await pieces.return()
  })

  it('ends immediately when its signal aborts', async () => {
    const { error } = await read([[1e9, 1]], { signal: AbortSignal.abort(new Error('enough')) })
    expect(error).to.have.property('message', 'enough')
  })

  it('waits longer after each failure, or as long as a server wants, but at most 30 s', () => {
    expect([1, 2, 3, 20].map(count => waitAfter(count, undefined))).to.deep.equal([250, 500, 1000, 30_000])
    expect(waitAfter(1, { retryAfter: 5000 })).to.equal(5000)
    expect(waitAfter(1, { retryAfter: 1e9 })).to.equal(30_000)
  })
})
