// Tests baobox beside the commands `bao` and `b3sum`: `npm run test:interop`. `--install` compiles them by cargo where
// they are not found. Where one cannot be had, a line says NOT RUN.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { NAMES, have, variableOf } from './find.js'

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js')
const SUITES = { bao: ['bao.js', 'bao-command.js'], b3sum: ['b3sum.js'] }

const { values: { install } } = parseArgs({ options: { install: { type: 'boolean' } } })

for (const tool of NAMES) {
  try {
    const { program } = have(tool, { install })
    const suites = SUITES[tool].map(name => fileURLToPath(new URL(name, import.meta.url)))
    const { status } = spawnSync(process.execPath, [MOCHA, '--no-config', '--timeout', '120000', ...suites], {
      stdio: 'inherit',
      env: { ...process.env, [variableOf(tool)]: program }
    })
    if (status !== 0) process.exitCode = status ?? 1
  } catch (error) {
    console.log(`NOT RUN: interop with the command ${tool}. It could not be had: ${error.message}`)
  }
}
