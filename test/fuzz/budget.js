// How much work is done, in steps and not in seconds: steps of walks, and blocks that are compressed.
// The limits are here; the counting is in work.js.
import { work } from '../support/work.js'
import { finding } from './finding.js'

/**
 * What hashing may cost: so often each byte that came (the second time to name a fault), and something
 * for a window.
 */
const TIMES_HASHED = 2
const WINDOW_BLOCKS = 3 * 2304 + 256
/** Steps of a window, looked at by two walks; and of a way down to it. */
const WINDOW_STEPS = 2 * 2400

/**
 * Does work, and sees that it does not exceed what the bytes at hand are worth, whatever they claim.
 *
 * @template T
 * @param {number} len  bytes that are given to the work
 * @param {() => T} run  may be async
 * @param {{ times?: number, steps?: number }} [options]  how many passes over them there are; steps
 *   that may be taken beside
 * @returns {Promise<Awaited<T>> | T}
 */
export function withinBudget (len, run, { times = 1, steps: more = 0 } = {}) {
  const before = { ...work }
  const memory = process.memoryUsage().arrayBuffers
  const look = () => {
    const steps = work.steps - before.steps
    const blocks = work.blocks - before.blocks
    const taken = process.memoryUsage().arrayBuffers - memory
    if (steps > times * (WINDOW_STEPS + len / 16) + more) finding(`${steps} steps for ${len} bytes`)
    if (blocks > times * (WINDOW_BLOCKS + TIMES_HASHED * len / 64)) finding(`${blocks} blocks hashed for ${len} bytes`)
    if (taken > times * (MEMORY + 12 * len)) finding(`${taken} bytes of memory for ${len} bytes`)
  }
  const result = run()
  if (!(result instanceof Promise)) {
    look()
    return result
  }
  return result.then(value => {
    look()
    return value
  })
}

const MEMORY = 8 << 20
