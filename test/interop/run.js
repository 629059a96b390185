// Beside the command `bao`: `npm run test:interop`. With `--install`, it is compiled by cargo where there is none. Where it cannot be had, one
// line says what was not run.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findBao, installBao } from './find.js'

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js')
const SUITE = fileURLToPath(new URL('bao.js', import.meta.url))

const { values: { install } } = parseArgs({ options: { install: { type: 'boolean' } } })

/** @returns {{ bao?: ReturnType<typeof findBao>, reason?: string }} */
function haveBao () {
  const bao = findBao()
  if (bao !== undefined) return { bao }
  if (process.env.BAO) return { reason: `${process.env.BAO}, which BAO names, is not it` }
  if (!install) return { reason: 'neither in PATH nor named by BAO; --install compiles it' }
  console.log('compiling bao')
  try {
    return { bao: installBao() }
  } catch (error) {
    return { reason: error.message }
  }
}

const { bao, reason } = haveBao()
if (bao === undefined) {
  console.log(`NOT RUN: interop with the command bao. It could not be had: ${reason}`)
} else {
  const { status } = spawnSync(process.execPath, [MOCHA, '--no-config', '--timeout', '120000', SUITE], {
    stdio: 'inherit',
    env: { ...process.env, BAO: bao.program }
  })
  process.exitCode = status ?? 1
}
