// Runs the suites in the runtime that executes this file; run.js starts it in other runtimes. Arguments are paths of
// test files, from the folder `test`: only these run, and every test is shown. `--part=1/2` runs the first of two
// halves.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Mocha from 'mocha'
import { kernelName } from '../../lib/index.js'
import { EFFORT } from '../support/runtime.js'
import { LEFT_OUT } from './left-out.js'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const { timeout } = JSON.parse(readFileSync(new URL('../../.mocharc.json', import.meta.url), 'utf8'))

const { node, bun, deno } = process.versions
const [runtime, version] = bun ? ['Bun', bun] : deno ? ['Deno', deno] : ['Node.js', node]

const { values: { part = '1/1' }, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { part: { type: 'string' } }
})
const [number, count] = part.split('/').map(Number)
const isWhole = chosen.length === 0 && count === 1

/** Neighbours go to different parts: files of one folder cost about the same. */
const suites = readdirSync(TESTS, { recursive: true })
  .map(path => path.replaceAll('\\', '/'))
  .filter(path => path.endsWith('.test.js') && !/^(slow|browser)\//.test(path))
  .sort()
  .filter((_, i) => i % count === number - 1)

// Deno does not follow the link from a package to this one. Importing it here makes it known to Deno.
if (deno) await import('../support/aegir/chai.js')

const mocha = new Mocha({ timeout, reporter: chosen.length > 0 ? 'spec' : 'dot' })
for (const path of chosen.length > 0 ? chosen : suites) mocha.addFile(TESTS + path)
await mocha.loadFilesAsync()
for (const [title, reason] of Object.entries(LEFT_OUT[runtime])) leaveOut(title, reason)

const runner = mocha.run(failures => {
  const { passes, pending } = runner.stats
  const kernel = kernelName()
  const isAsExpected = kernel.startsWith(process.env.BAOBOX_KERNEL || 'simd')
  const where = `${runtime} ${version}, kernel ${kernel}${isAsExpected ? '' : ', which was not expected'}`
  const size = `part ${part} of the suites, EFFORT=${EFFORT}`
  console.log(`${passes} passing, ${pending} skipped, ${failures} failing: in ${where}, ${size}`)
  process.exit(failures > 0 || passes === 0 || !isAsExpected ? 1 : 0)
})

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
  if (removed === 0 && isWhole) throw new Error(`no test is called "${title}": left-out.js names it`)
  if (removed > 0) console.log(`left out in ${runtime}: ${title}: ${reason}`)
}
