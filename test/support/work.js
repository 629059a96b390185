// Counts work in steps and not in seconds: steps of walks, and blocks that are compressed. Both are counted where
// everything comes by.
import { PARENT } from '../../lib/core/constants.js'
import { kernelName, useKernel } from '../../lib/engine/kernel/index.js'
import { Walk } from '../../lib/tree/walk.js'

/** Done so far in this thread. */
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
