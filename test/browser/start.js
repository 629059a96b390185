// Runs the suites. It is the last file of the bundle, so all suites are defined by now.
import { LEFT_OUT } from './engines/left-out.js'

const { location, mocha, report } = globalThis
const engine = new URLSearchParams(location.search).get('engine')

/** Skips the tests with a title. @param {string} title @param {string} reason @returns {number} how many there are */
function leaveOut (title, reason) {
  let count = 0
  const visit = suite => {
    for (const test of suite.tests.filter(test => test.title === title)) {
      test.pending = true
      count++
    }
    suite.suites.forEach(visit)
  }
  visit(mocha.suite)
  report({ line: `left out: ${title}: ${reason}` })
  return count
}

for (const [title, reason] of Object.entries(LEFT_OUT[engine])) {
  if (leaveOut(title, reason) === 0) throw new Error(`no test is called "${title}": engines/left-out.js names it`)
}
mocha.run()
