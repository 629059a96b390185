// Tests baobox beside the command `bao`: `npm run test:interop`. `--install` compiles it by cargo where none is found.
// Where it cannot be had, a line says NOT RUN.
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
  if (process.env.BAO) return { reason: `BAO names ${process.env.BAO}, which is not bao` }
  if (!install) return { reason: 'it is neither in PATH nor named by BAO; --install compiles it' }
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
