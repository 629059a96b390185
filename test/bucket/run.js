// Tests buckets on stores that speak S3, which are started here: `npm run test:bucket`. `--install` installs the stores
// by Go, npm and pip. `--engine versitygw` runs only with this one. Where one cannot be had, a line says NOT RUN.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ENGINES, have } from './engines.js'

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js')
const SUITES = ['stores.js', 'faults.js', 'stress/stress.js']

const { values: { install, engine } } = parseArgs({
  options: { install: { type: 'boolean' }, engine: { type: 'string', multiple: true } }
})

const found = []
for (const name of engine ?? Object.keys(ENGINES)) {
  try {
    have(name, { install })
    found.push(name)
  } catch (error) {
    console.log(`NOT RUN: buckets on ${name}. It could not be had: ${error.message}`)
  }
}
if (found.length > 0) {
  const paths = SUITES.map(name => fileURLToPath(new URL(name, import.meta.url)))
  const { status } = spawnSync(process.execPath, [MOCHA, '--no-config', '--timeout', '300000', '--exit', ...paths], {
    stdio: 'inherit',
    env: { ...process.env, ENGINES: found.join(',') }
  })
  if (status !== 0) process.exitCode = status ?? 1
}
