// Finds the command `bao`: the one that BAO names; else the one compiled here before; else the one in PATH. Compiles it
// when asked.
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

/** Checks that a program is this bao, and not another of that name. @param {string} program */
function versionOf (program) {
  const help = outputOf(program, '--help')
  return help?.includes('decode-slice') ? outputOf(program, '--version') : undefined
}

/** @param {string} program @param {string} option @returns {string | undefined} what it prints; undefined on failure */
function outputOf (program, option) {
  const { status, stdout } = spawnSync(program, [option], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Compiles `bao`, into node_modules/.cache.
 *
 * @returns {ReturnType<typeof findBao>}
 * @throws {Error} with the reason why it cannot be had
 */
export function installBao () {
  if (outputOf('cargo', '--version') === undefined) throw new Error('cargo is not installed')
  const { status, error, stderr } = spawnSync('cargo', ['install', 'bao_bin', '--version', VERSION, '--root', CACHE], {
    encoding: 'utf8',
    timeout: LONGEST,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  if (status !== 0) throw new Error(`cargo install failed: ${error?.message ?? lastError(stderr)}`)
  const found = findBao()
  if (found === undefined) throw new Error('cargo installed it, but it does not start')
  return found
}

/** @param {string} stderr */
function lastError (stderr) {
  const lines = stderr.trim().split('\n')
  return lines.filter(line => line.startsWith('error')).at(-1) ?? lines.at(-1)
}
