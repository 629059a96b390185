// Where the command `bao` is, and how it is had where it is not: `BAO`, then what was installed here before, then PATH.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = '0.13.1'
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/bao/', import.meta.url))
const LONGEST = 10 * 60_000

/** @returns {{ program: string, version: string } | undefined} a `bao` that starts */
export function findBao () {
  const places = process.env.BAO ? [process.env.BAO] : [join(CACHE, 'bin', 'bao'), 'bao']
  for (const program of places) {
    const version = versionOf(program)
    if (version !== undefined) return { program, version }
  }
}

/** Other programs are called bao, too: this one knows slices. @param {string} program */
function versionOf (program) {
  const help = said(program, '--help')
  return help?.includes('decode-slice') ? said(program, '--version') : undefined
}

/** @param {string} program @param {string} option @returns {string | undefined} */
function said (program, option) {
  const { status, stdout } = spawnSync(program, [option], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Compiles `bao` and keeps it under node_modules.
 *
 * @returns {ReturnType<typeof findBao>}
 * @throws {Error} why it cannot be had
 */
export function installBao () {
  if (said('cargo', '--version') === undefined) throw new Error('there is no cargo')
  const { status, error, stderr } = spawnSync('cargo', ['install', 'bao_bin', '--version', VERSION, '--root', CACHE], {
    encoding: 'utf8',
    timeout: LONGEST,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  if (status !== 0) throw new Error(`cargo install failed: ${error?.message ?? lastError(stderr)}`)
  const found = findBao()
  if (found === undefined) throw new Error('it is installed, but does not start')
  return found
}

/** @param {string} stderr */
const lastError = stderr => stderr.split('\n').filter(line => /^error/.test(line)).at(-1) ?? stderr.trim().split('\n').at(-1)
