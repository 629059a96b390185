// How much work is done, in steps and not in seconds: steps of walks, and blocks that are compressed.
// Both are counted where everything comes by.
import { PARENT } from '../../lib/core/constants.js'
import { kernelName, useKernel } from '../../lib/engine/kernel/index.js'
import { Walk } from '../../lib/tree/walk.js'
import { finding } from './finding.js'

/** Done so far. */
export const work = { steps: 0, blocks: 0 }

/** Runs on a kernel whose work is counted. (To make a kernel takes milliseconds: many cases are run on one.) */
export async function counted (name, run) {
  const before = kernelName()
  const kernel = useKernel(name)
  const { compressMany, compressChunk, compressBlock, reduce } = kernel
  const { next } = Walk.prototype
  Walk.prototype.next = function () {
    work.steps++
    return next.call(this)
  }
  Object.assign(kernel, {
    compressMany (table, count, lastLen, flags, ...rest) {
      work.blocks += flags & PARENT ? count : 16 * count
      compressMany(table, count, lastLen, flags, ...rest)
    },
    compressChunk (input, len, ...rest) {
      work.blocks += Math.max(1, Math.ceil(len / 64))
      compressChunk(input, len, ...rest)
    },
    compressBlock (...args) {
      work.blocks++
      compressBlock(...args)
    },
    reduce (count, ...rest) {
      work.blocks += count
      reduce(count, ...rest)
    }
  })
  try {
    return await run()
  } finally {
    Walk.prototype.next = next
    Object.assign(kernel, { compressMany, compressChunk, compressBlock, reduce })
    useKernel(before)
  }
}

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
