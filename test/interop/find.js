// Finds the commands that baobox is compared with: the one that an environment variable names; else the one compiled
// here before; else the one in PATH. Compiles it when asked.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
const LONGEST = 10 * 60_000
/** Both share what they depend on, and are not optimized: compiling would take longer than the suites run them. */
const QUICKLY = {
  CARGO_TARGET_DIR: join(CACHE, 'cargo'),
  CARGO_PROFILE_RELEASE_OPT_LEVEL: '0',
  CARGO_PROFILE_RELEASE_LTO: 'false',
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS: '16'
}

/** For the commands: where this is 1, each refusal takes a tenth of a second, for the names in a backtrace. */
export const QUIET = { RUST_BACKTRACE: '0' }

/** @typedef {'bao' | 'b3sum'} Tool */
/** @typedef {{ program: string, version: string }} Found */

/** `says`: what the help of the real one has, and that of another program of its name has not. */
const TOOLS = {
  bao: { crate: 'bao_bin', version: '0.13.1', variable: 'BAO', says: 'decode-slice' },
  b3sum: { crate: 'b3sum', version: '1.8.7', variable: 'B3SUM', says: '--derive-key' }
}

export const NAMES = /** @type {Tool[]} */ (Object.keys(TOOLS))

/** Where a command is compiled to. .ci/run keeps these folders when it installs. @param {Tool} tool */
const placeOf = tool => join(CACHE, `${tool}-${TOOLS[tool].version}`)

/** The environment variable that names a command. @param {Tool} tool */
export const variableOf = tool => TOOLS[tool].variable

/** @param {Tool} tool @returns {Found | undefined} one that starts */
export function find (tool) {
  const { variable, says } = TOOLS[tool]
  const named = process.env[variable]
  for (const program of named ? [named] : [join(placeOf(tool), 'bin', tool), tool]) {
    if (!outputOf(program, '--help')?.includes(says)) continue
    const version = outputOf(program, '--version')
    if (version !== undefined) return { program, version }
  }
}

/** @param {string} program @param {string} option @returns {string | undefined} what it prints; undefined on failure */
function outputOf (program, option) {
  const { status, stdout } = spawnSync(program, [option], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Finds a command, or compiles it into node_modules/.cache.
 *
 * @param {Tool} tool @param {{ install?: boolean }} options  `install`: may it be compiled?
 * @returns {Found}
 * @throws {Error} with the reason why it cannot be had
 */
export function have (tool, { install = false }) {
  const { crate, version, variable } = TOOLS[tool]
  const found = find(tool)
  if (found !== undefined) return found
  const named = process.env[variable]
  if (named) throw new Error(`${variable} names ${named}, which is not ${tool}`)
  if (!install) throw new Error(`it is neither in PATH nor named by ${variable}; --install compiles it`)
  if (outputOf('cargo', '--version') === undefined) throw new Error('cargo is not installed')
  console.log(`compiling ${tool}`)
  const args = ['install', crate, '--version', version, '--root', placeOf(tool)]
  const { status, error, stderr } = spawnSync('cargo', args, {
    encoding: 'utf8',
    timeout: LONGEST,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...QUICKLY }
  })
  if (status !== 0) throw new Error(`cargo install failed: ${error?.message ?? lastError(stderr)}`)
  const compiled = find(tool)
  if (compiled === undefined) throw new Error('cargo installed it, but it does not start')
  return compiled
}

/** @param {string} stderr */
function lastError (stderr) {
  const lines = stderr.trim().split('\n')
  return lines.filter(line => line.startsWith('error')).at(-1) ?? lines.at(-1)
}
