// Runs the same tests on several kernels.
import { ALL } from '#runtime'
import { kernelName, useKernel } from '../../lib/engine/kernel/index.js'

/** All kernels of this machine, with both forms of the SIMD kernel. */
export const ALL_KERNELS = ['simd-words', 'simd-rows', 'js'].filter(isAvailable)
/** The faster form of the SIMD kernel, and the JavaScript kernel. */
const KERNELS = ['simd', 'js'].filter(isAvailable)
/** Without ALL=1, suites run on the default kernel. */
const CHOSEN = ALL ? KERNELS : KERNELS.filter(kernel => kernelName().startsWith(kernel))

/**
 * @param {(kernel: string) => void} tests  defines tests. It must hash only inside them, when the kernel is set
 * @param {string[]} [kernels]
 */
export function forEachKernel (tests, kernels = CHOSEN) {
  for (const kernel of kernels) {
    describe(`kernel ${kernel}`, () => {
      let usual
      before(() => { usual = kernelName(); useKernel(kernel) })
      tests(kernel)
      after(() => useKernel(usual))
    })
  }
}

/**
 * Runs a function on several kernels, inside of one test.
 *
 * @template T
 * @param {() => T} run
 * @param {string[]} [kernels]
 * @returns {T[]} one result per kernel
 */
export function onEachKernel (run, kernels = KERNELS) {
  const usual = kernelName()
  try {
    return kernels.map(kernel => { useKernel(kernel); return run() })
  } finally {
    useKernel(usual)
  }
}

/** @param {string} name */
function isAvailable (name) {
  const usual = kernelName()
  try {
    useKernel(name)
    return true
  } catch (err) {
    console.log(`kernel ${name} is not available, its tests do not run: ${err.message}`)
    return false
  } finally {
    useKernel(usual)
  }
}
