// Finds programs on this machine, and installs missing ones if that is allowed.
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin']

/**
 * @param {string} variable  of the environment, which may name the program
 * @param {string[]} names
 * @param {string[]} folders  those of PATH and the usual ones by default
 * @returns {string | undefined} the path in `variable`, or the first that is found
 */
export const findProgram = (variable, names, folders = FOLDERS) => process.env[variable] ||
  folders.flatMap(folder => names.map(name => join(folder, name))).find(isExecutable)

function isExecutable (path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Installs Debian's packages, if this process runs as root. @returns {boolean} whether they were installed */
export function installPackages (packages) {
  if (process.getuid?.() !== 0) return false
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...packages]
  try {
    for (const args of [['update', '-qq'], install]) execFileSync('apt-get', args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Installs the packages that drive browsers into this folder, once. @returns {boolean} whether they are there */
export function installDrivers () {
  if (existsSync(join(HERE, 'node_modules', '.package-lock.json'))) return true
  const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', '--prefix', HERE]
  try {
    execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' })
    return true
  } catch {
    return false
  }
}
