// Counts work in steps instead of seconds: steps of walks, and compressed blocks. Both are counted where all of them
// pass.
import { PARENT } from '../../lib/core/constants.js'
import { kernelName, useKernel } from '../../lib/engine/kernel/index.js'
import { Walk } from '../../lib/tree/walk.js'

/** The work so far in this thread. */
export const work = { steps: 0, blocks: 0 }

/** Runs a function on a kernel that counts its work. Making a kernel takes milliseconds, so run many cases in one. */
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
