// Runs the suites in browsers: `npm run test:browser`, in a headless Chromium. `--engine=firefox`, `--engine=webkit`
// and `--engine=all` choose others; `--install` installs missing browsers with apt-get; `--grep=PATTERN` chooses tests,
// as in mocha. For a browser that is not available, a line says NOT RUN. After the suites in pages come those that
// drive the browser from Node.js.
import { parseArgs } from 'node:util'
import { bundle } from './bundle.js'
import { runDriven } from './driven/run.js'
import { ENGINES, prepare } from './engines/index.js'
import { EFFORT, pagesOf } from './pages.js'
import { runPage } from './run-page.js'

const { values: { engine: wanted, grep, install } } = parseArgs({
  options: {
    engine: { type: 'string', multiple: true, default: ['chromium'] },
    grep: { type: 'string' },
    install: { type: 'boolean', default: false }
  }
})
const names = wanted.includes('all') ? Object.keys(ENGINES) : wanted
for (const name of names) {
  if (Object.hasOwn(ENGINES, name)) continue
  throw new Error(`unknown engine '${name}': choose from ${Object.keys(ENGINES).join(', ')} and all`)
}

const scripts = await bundle()
const lines = []
let total = 0
for (const name of names) {
  const { title, start } = ENGINES[name]
  const { found, reason } = prepare(ENGINES[name], install)
  if (found === undefined) {
    console.log(`NOT RUN: the suites in ${title}: ${reason}`)
    continue
  }
  const startBrowser = onGone => start(found, onGone)
  const runs = pagesOf(name).map(kind => /** @type {const} */ (
    [`in ${kind.name}`, () => runPage(name, startBrowser, { ...kind, ...grep && { grep } }, scripts)]))
  runs.push(['driven from Node.js', () => runDriven(startBrowser, grep)])
  for (const [place, run] of runs) {
    console.log(`\n# In ${title}, ${place}\n`)
    const { passes, pending, failures, errors, seconds, version } = await run()
    const counts = `${passes} passing, ${pending} skipped, ${failures} failing, ${errors} errors outside of tests`
    lines.push(`${counts}: in ${title} ${version}, ${place}, EFFORT=${EFFORT}, ${seconds} s`)
    total += passes
    if (failures > 0 || errors > 0 || (passes === 0 && grep === undefined)) process.exitCode = 1
  }
}
for (const line of lines) console.log(line)
if (lines.length > 0 && total === 0) process.exitCode = 1
