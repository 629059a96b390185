// Runs the suites in a Worker. It is the last file of the bundle, so all suites are defined by now.
import { kernelName } from '../../../lib/index.js'

const { Mocha, mocha, suites } = globalThis

/** Removes a test. @param {string} title @param {string} reason @throws {Error} when no test has this title */
function leaveOut (title, reason) {
  let removed = 0
  const visit = suite => {
    const kept = suite.tests.filter(test => test.title !== title)
    removed += suite.tests.length - kept.length
    suite.tests = kept
    suite.suites.forEach(visit)
  }
  visit(mocha.suite)
  if (removed === 0 && suites.isWhole) throw new Error(`no test is called "${title}": workerd/left-out.js names it`)
  if (removed > 0) console.log(`left out in workerd: ${title}: ${reason}`)
}

for (const [title, reason] of Object.entries(suites.titles)) leaveOut(title, reason)

suites.done = new Promise((resolve, reject) => {
  // `mocha.run` of pages looks at their address.
  const runner = Mocha.prototype.run.call(mocha, failures => {
    const { passes, pending } = runner.stats
    const kernel = kernelName()
    const where = `workerd ${suites.version}, kernel ${kernel}, EFFORT=${suites.effort}`
    console.log(`${passes} passing, ${pending} skipped, ${failures} failing: in ${where}`)
    const isAsExpected = failures === 0 && passes > 0 && kernel === 'simd-words'
    if (isAsExpected) resolve()
    else reject(new Error(`${failures} tests failed on the kernel ${kernel}`))
  })
})
