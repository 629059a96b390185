// Chooses the kernel: SIMD where WebAssembly is allowed, JavaScript elsewhere. Assembling the SIMD kernel takes
// milliseconds, so it is assembled only when there is enough to hash.

import { createSimdKernel } from './simd.js'
import { jsKernel } from './js.js'

/** @import { Kernel } from '../../core/types.js' */

/**
 * The JavaScript kernel compresses this many chunks and blocks in less time than assembling the SIMD kernel takes.
 */
const FEW = 64
let calls = 0
const kernelForOne = () => calls++ < FEW ? jsKernel : choose()

/** @type {Record<string, () => Kernel>} */
const KERNELS = {
  simd: () => createSimdKernel(),
  'simd-rows': () => createSimdKernel('rows'),
  'simd-words': () => createSimdKernel('words'),
  js: () => jsKernel
}

/** Used until a kernel is chosen. Its functions choose a kernel when there is enough to hash. @type {Kernel} */
const undecided = {
  name: 'undecided',
  compressMany: (...args) => choose().compressMany(...args),
  compressChunk: (...args) => kernelForOne().compressChunk(...args),
  compressBlock: (...args) => kernelForOne().compressBlock(...args),
  reduce: (...args) => choose().reduce(...args),
  gather: (...args) => choose().gather(...args),
  scatter: (...args) => choose().scatter(...args),
  compare: (...args) => choose().compare(...args)
}

/** The kernel of this thread. */
export let kernel = undecided

/** Chooses the kernel now, which assembles and compiles the SIMD kernel, instead of when it is first needed. */
export function warmup () {
  if (kernel === undecided) choose()
}

/**
 * The name of the kernel that runs: `simd-rows` or `simd-words`, which hash a single chunk in different ways, or `js`
 * if the runtime refuses WebAssembly or its SIMD, or BAOBOX_KERNEL=js is set.
 *
 * @returns {'simd-rows' | 'simd-words' | 'js'}
 */
export function kernelName () {
  warmup()
  return /** @type {ReturnType<typeof kernelName>} */ (kernel.name)
}

/**
 * Switches the kernel of this thread. For tests, and for workers, which use the kernel of the thread that started them.
 *
 * @param {string} name  `simd-rows`, `simd-words`, `js`, or `simd` for the quicker one of the first two
 * @throws when this runtime refuses the kernel
 */
export function useKernel (name) {
  if (!Object.hasOwn(KERNELS, name)) {
    throw new RangeError(`unknown kernel "${name}": expected one of ${Object.keys(KERNELS).join(', ')}`)
  }
  kernel = KERNELS[name]()
  return kernel
}

function choose () {
  const forced = globalThis.process?.env?.BAOBOX_KERNEL
  if (forced) return useKernel(forced)
  try {
    return useKernel('simd')
  } catch {
    return useKernel('js') // the engine or a content policy refuses WebAssembly
  }
}
