// The one place that chooses the kernel. Assembling takes milliseconds, so it waits until there is something to hash that is worth it.

import { createSimdKernel } from './simd.js'
import { jsKernel } from './js.js'

/** @import { Kernel } from '../../core/types.js' */

/** So many single chunks and blocks are quicker in JavaScript than the SIMD kernel is assembled. */
const FEW = 64
let calls = 0
const forFew = () => calls++ < FEW ? jsKernel : choose()

/** Chooses when there is enough to do, then gets out of the way. @type {Kernel} */
const undecided = {
  name: 'undecided',
  compressMany: (...args) => choose().compressMany(...args),
  compressChunk: (...args) => forFew().compressChunk(...args),
  compressBlock: (...args) => forFew().compressBlock(...args),
  reduce: (...args) => choose().reduce(...args),
  gather: (...args) => choose().gather(...args),
  scatter: (...args) => choose().scatter(...args),
  compare: (...args) => choose().compare(...args)
}

/** The kernel of this thread. */
export let kernel = undecided

/** Assembles and compiles the SIMD kernel now instead of at first need. */
export function warmup () {
  if (kernel === undecided) choose()
}

/** Which kernel runs: `simd`, or `js` where WebAssembly or its SIMD is refused or BAOBOX_KERNEL=js is set. */
export function kernelName () {
  warmup()
  return kernel.name
}

/**
 * Switches the kernel of this thread. For tests.
 *
 * @param {string} name  `simd` or `js`
 * @throws when it cannot be had here
 */
export function useKernel (name) {
  if (name !== 'simd' && name !== 'js') throw new RangeError(`a kernel is "simd" or "js", not "${name}"`)
  kernel = name === 'js' ? jsKernel : createSimdKernel()
  return kernel
}

function choose () {
  const forced = globalThis.process?.env?.BAOBOX_KERNEL
  if (forced) return useKernel(forced)
  try {
    return useKernel('simd')
  } catch {
    return useKernel('js') // WebAssembly is refused here, by the engine or by a content policy: slower, the same bytes
  }
}
