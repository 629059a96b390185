// Runs the suites in the runtime that executes this file; run.js starts it in other runtimes. Arguments are paths of
// test files, from the folder `test`: only these run, and every test is shown. `--part=1/2` runs the first of two
// halves; with `--heavy=1/4`, a quarter of those that `npm run test:heavy` runs, and with `--pages=1/3`, a third of the
// others that also run in browsers.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import Mocha from 'mocha'
import { kernelName } from '../../lib/index.js'
import { LEFT_OUT as LEFT_OUT_OF_PAGES } from '../browser/left-out.js'
import { EFFORT } from '../support/runtime.js'
import { LEFT_OUT, SAME_EVERYWHERE } from './left-out.js'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const { timeout, ignore } = JSON.parse(readFileSync(new URL('../../.mocharc.json', import.meta.url), 'utf8'))

const { node, bun, deno } = process.versions
const [runtime, version] = bun ? ['Bun', bun] : deno ? ['Deno', deno] : ['Node.js', node]

const { values: { part = '1/1', heavy = part, pages = part }, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { part: { type: 'string' }, heavy: { type: 'string' }, pages: { type: 'string' } }
})
const isWhole = chosen.length === 0 && [part, heavy, pages].every(share => share === '1/1')

const all = readdirSync(TESTS, { recursive: true })
  .map(path => path.replaceAll('\\', '/'))
  .filter(path => path.endsWith('.test.js') && !/^(slow|browser|readers|bench)\//.test(path))
  .filter(path => !SAME_EVERYWHERE.includes(path))
  .sort()
/** Does `npm test` leave it out? @param {string} path */
const isHeavy = path => ignore.some(glob =>
  glob.includes('**') ? `test/${path}`.startsWith(glob.split('**')[0]) : `test/${path}` === glob)
/** Does it run in browsers, too? @param {string} path */
const isOfPages = path => !Object.keys(LEFT_OUT_OF_PAGES).some(left =>
  left.endsWith('/') ? path.startsWith(left) : path === left)
/** Neighbours go to different parts: files of one folder cost about the same. */
const partOf = (paths, part) => {
  const [number, count] = part.split('/').map(Number)
  return paths.filter((_, i) => i % count === number - 1)
}
const light = all.filter(path => !isHeavy(path))
const suites = [
  ...partOf(light.filter(path => !isOfPages(path)), part), ...partOf(light.filter(isOfPages), pages),
  ...partOf(all.filter(isHeavy), heavy)
]

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
  const shares = `part ${part} of the suites, ${pages} of those of pages, ${heavy} of the heavy ones`
  const size = `${shares}, EFFORT=${EFFORT}`
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
