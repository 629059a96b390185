// Runs the same tests on every kernel there is.
import { kernelName, useKernel } from '../../lib/engine/kernel/index.js'

const available = ['simd', 'js'].filter(name => {
  const usual = kernelName()
  try {
    useKernel(name)
    return true
  } catch (err) {
    console.log(`kernel ${name} cannot be had here, its tests do not run: ${err.message}`)
    return false
  } finally {
    useKernel(usual)
  }
})

/** @param {(kernel: 'simd' | 'js') => void} tests  defines tests; hashes only inside them, when the kernel is set */
export function forEachKernel (tests) {
  for (const kernel of available) {
    describe(`kernel ${kernel}`, () => {
      let usual
      before(() => { usual = kernelName(); useKernel(kernel) })
      tests(kernel)
      after(() => useKernel(usual))
    })
  }
}

/** Both kernels in one test. @returns {Array<any>} one result per kernel */
export function onEachKernel (run) {
  const usual = kernelName()
  try {
    return available.map(kernel => { useKernel(kernel); return run(kernel) })
  } finally {
    useKernel(usual)
  }
}
