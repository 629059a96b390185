// Runs the tests that `npm test` leaves out, because they start processes, copy whole stores, damage their files in
// many ways, make every call to a disk fail, or use large blobs: `npm run test:heavy`. The list is in .mocharc.json,
// with test/slow, test/browser and test/readers.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js')
const { ignore, require: modules, timeout, jobs, 'node-option': options } =
  JSON.parse(readFileSync(new URL('../.mocharc.json', import.meta.url), 'utf8'))
const suites = ignore.filter(path => !/^test\/(slow|browser|readers)\//.test(path))

const { status } = spawnSync(process.execPath, [
  MOCHA, '--no-config', '--timeout', timeout, '--parallel', '--jobs', jobs,
  ...modules.flatMap(module => ['--require', module]), ...options.flatMap(option => ['--node-option', option]),
  ...suites, ...process.argv.slice(2)
], { stdio: 'inherit', cwd: fileURLToPath(new URL('..', import.meta.url)) })
process.exitCode = status ?? 1
