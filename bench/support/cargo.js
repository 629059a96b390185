// Compiles the programs in Rust with which ours are compared.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
const LONGEST_BUILD = 15 * 60_000

/**
 * Compiles a release, unless it exists and is up to date.
 *
 * @param {URL} folder  of its Cargo.toml
 * @param {string} name  of the program
 * @param {string} target  the folder in node_modules/.cache to which cargo writes
 * @returns {string} the program's path
 * @throws {Error} with the reason, for example that there is no cargo
 */
export function compileRelease (folder, name, target) {
  const args = ['build', '--release', '--quiet', '--target-dir', join(CACHE, target)]
  outputOf('cargo', args, { cwd: folder, timeout: LONGEST_BUILD })
  return join(CACHE, target, 'release', name)
}

/**
 * Runs a program to its end.
 *
 * @param {string} program @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 * @returns {string} its output
 * @throws {Error} with the first line of stderr that names an error
 */
export function outputOf (program, args, options) {
  const { error, status, stdout, stderr } = spawnSync(program, args, { ...options, encoding: 'utf8' })
  if (status === 0) return stdout
  if (error?.code === 'ENOENT') throw new Error(`${program} is not installed`)
  const line = stderr?.split('\n').find(line => /^(error|fatal)/i.test(line)) ?? ''
  throw error ?? new Error(`${program} exited with ${status}: ${line}`)
}
