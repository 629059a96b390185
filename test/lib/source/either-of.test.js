import { expect } from 'chai'
import { eitherOf } from '../../../lib/source/async-util.js'

/** Collects garbage, where the runtime lets a program do so. */
const collect = (() => {
  const { Bun, process } = globalThis
  if (Bun !== undefined) return () => Bun.gc(true)
  const builtin = process?.getBuiltinModule
  if (builtin === undefined) return () => {}
  builtin('node:v8').setFlagsFromString('--expose-gc')
  return builtin('node:vm').runInNewContext('globalThis.gc') ?? (() => {})
})()

describe('eitherOf()', () => {
  it('is the one signal that is given', () => {
    const { signal } = new AbortController()
    expect([eitherOf(undefined, signal), eitherOf(signal, undefined), eitherOf(undefined, undefined)])
      .to.deep.equal([signal, signal, undefined])
  })

  it('aborts with the reason of the one that aborts', () => {
    for (const first of [0, 1]) {
      const controllers = [new AbortController(), new AbortController()]
      const either = eitherOf(controllers[0].signal, controllers[1].signal)
      expect(either.aborted).to.equal(false)
      controllers[first].abort('a reason')
      expect(either.reason).to.equal('a reason')
    }
  })

  it('aborts although nothing else refers to the two signals', async () => {
    const caller = new AbortController()
    const never = new AbortController()
    /** Listens in a function of its own, so that no variable keeps a signal. */
    const listen = (make, whenAborted) => { make().addEventListener('abort', whenAborted, { once: true }) }
    let count = 0
    const isLate = new Promise(resolve => {
      listen(() => eitherOf(AbortSignal.timeout(50), never.signal), resolve)
    })
    listen(() => eitherOf(AbortSignal.any([caller.signal, never.signal]), new AbortController().signal), () => count++)
    listen(() => eitherOf(eitherOf(caller.signal, never.signal), new AbortController().signal), () => count++)
    for (let i = 0; i < 3; i++) {
      await new Promise(resolve => setTimeout(resolve, 1))
      collect()
    }
    caller.abort()
    expect(count).to.equal(2)
    await isLate
  })
})
