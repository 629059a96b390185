// The suites in whatever runs this file: run.js starts it in other runtimes. Arguments choose some of them, by their paths from `test`, and
// are then shown test by test.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Mocha from 'mocha'
import { kernelName } from '../../lib/index.js'
import { LEFT_OUT } from './left-out.js'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const { timeout } = JSON.parse(readFileSync(new URL('../../.mocharc.json', import.meta.url), 'utf8'))

const { node, bun, deno } = process.versions
const [runtime, version] = bun ? ['Bun', bun] : deno ? ['Deno', deno] : ['Node.js', node]

const chosen = process.argv.slice(2)
const all = readdirSync(TESTS, { recursive: true })
  .map(path => path.replaceAll('\\', '/'))
  .filter(path => path.endsWith('.test.js') && !/^(slow|browser)\//.test(path))
  .sort()

// Deno does not follow the link from a package to this one, but knows it then.
if (deno) await import('../support/aegir/chai.js')

const mocha = new Mocha({ timeout, reporter: chosen.length > 0 ? 'spec' : 'dot' })
for (const path of chosen.length > 0 ? chosen : all) mocha.addFile(TESTS + path)
await mocha.loadFilesAsync()
for (const [title, reason] of Object.entries(LEFT_OUT[runtime])) leaveOut(title, reason)

const runner = mocha.run(failures => {
  const { passes, pending } = runner.stats
  const kernel = kernelName()
  const isAsExpected = kernel === (process.env.BAOBOX_KERNEL || 'simd')
  console.log(`${passes} passing, ${pending} skipped, ${failures} failing: in ${runtime} ${version}, kernel ${kernel}${isAsExpected ? '' : ', which was not expected'}`)
  process.exit(failures > 0 || passes === 0 || !isAsExpected ? 1 : 0)
})

/** @param {string} title  of a test, which must be there @param {string} reason */
function leaveOut (title, reason) {
  let count = 0
  const visit = suite => {
    const kept = suite.tests.filter(test => test.title !== title)
    count += suite.tests.length - kept.length
    suite.tests = kept
    suite.suites.forEach(visit)
  }
  visit(mocha.suite)
  if (count === 0 && chosen.length === 0) throw new Error(`left out, but not there: ${title}`)
  if (count > 0) console.log(`left out in ${runtime}: ${title}: ${reason}`)
}
