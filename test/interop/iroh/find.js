// Finds what stores are tested with as peers: the package @number0/iroh; iroh-blobs itself, which `peer` makes a
// program of; and sendme. Installs and compiles them into node_modules/.cache when asked.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = '1.1.0'
const MODULES = fileURLToPath(new URL('../../../node_modules/', import.meta.url))
const LINK = join(MODULES, '@number0/iroh')
const CACHED = join(MODULES, '.cache/iroh')
const MANIFEST = fileURLToPath(new URL('peer/Cargo.toml', import.meta.url))
const TARGET = join(MODULES, '.cache/iroh-peer')
const SENDME_VERSION = '0.34.0'
const SENDME = join(MODULES, '.cache/sendme')
/** Without what nobody looks at, compiling takes less time. */
const QUICKLY = { CARGO_PROFILE_DEV_DEBUG: 'false', CARGO_PROFILE_DEV_INCREMENTAL: 'false' }
const LONGEST = 40 * 60_000

/**
 * Makes the package loadable. It is no dependency of development: lock files name builds for all systems, and npm ci
 * fails where a registry does not have all of them.
 *
 * @param {{ install?: boolean }} options
 * @throws {Error} with the reason why it cannot be had
 */
export function havePackage ({ install = false }) {
  if (existsSync(LINK)) return
  const installed = join(CACHED, 'node_modules/@number0/iroh')
  if (!existsSync(installed)) {
    if (!install) throw new Error('it is not installed; --install does that')
    mkdirSync(CACHED, { recursive: true })
    run('npm', ['install', '--prefix', CACHED, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts',
      `@number0/iroh@${VERSION}`])
  }
  rmSync(LINK, { force: true }) // a link that leads nowhere
  mkdirSync(join(MODULES, '@number0'), { recursive: true })
  symlinkSync(installed, LINK, 'junction')
}

/**
 * @param {{ install?: boolean }} options  `install`: may it be compiled? That takes many minutes
 * @returns {string} the program
 * @throws {Error} with the reason why it cannot be had
 */
export function havePeer ({ install = false }) {
  const named = process.env.IROH_PEER
  if (named) return named
  const program = join(TARGET, 'debug', executable('iroh-peer'))
  if (existsSync(program)) return program
  if (!install) throw new Error('IROH_PEER does not name it; --compile-peer compiles it')
  console.log('compiling iroh-peer, with iroh-blobs')
  run('cargo', ['build', '--locked', '--manifest-path', MANIFEST, '--target-dir', TARGET])
  return program
}

/**
 * sendme, compiled without optimizations: a release of it ends by a panic where there is no terminal.
 *
 * @param {{ install?: boolean }} options  `install`: may it be compiled? That takes many minutes
 * @returns {string} the program
 * @throws {Error} with the reason why it cannot be had
 */
export function haveSendme ({ install = false }) {
  const named = process.env.SENDME
  if (named) return named
  const program = join(SENDME, 'bin', executable('sendme'))
  if (existsSync(program)) return program
  if (!install) throw new Error('SENDME does not name it; --compile-peer compiles it')
  console.log('compiling sendme')
  const args = ['--version', SENDME_VERSION, '--locked', '--debug', '--root', SENDME, '--target-dir', TARGET]
  run('cargo', ['install', 'sendme', ...args], QUICKLY)
  return program
}

/** @param {string} name */
const executable = name => process.platform === 'win32' ? `${name}.exe` : name

/** @param {string} program @param {string[]} args @param {Record<string, string>} [env] */
function run (program, args, env) {
  const { status, error, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: LONGEST,
    shell: process.platform === 'win32',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe']
  })
  if (status === 0) return
  const last = stderr?.trim().split('\n').filter(line => /error/i.test(line)).at(-1)
  throw new Error(`${program} failed: ${error?.message ?? last ?? `exit code ${status}`}`)
}
