// Finds a Chromium that is there already, and starts it. None comes with the packages.
import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin']

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'
]

/** @returns {string | undefined} the path of a Chromium: the one that CHROMIUM names, or the first there is */
export const findChromium = () => process.env.CHROMIUM ||
  FOLDERS.flatMap(folder => NAMES.map(name => join(folder, name))).find(isExecutable)

function isExecutable (path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Has Debian's package installed, where this process may. @returns {boolean} whether it was */
export function installChromium () {
  if (process.getuid?.() !== 0) return false
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: ['ignore', 'ignore', 'ignore'] })
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], { stdio: ['ignore', 'ignore', 'ignore'] })
    return true
  } catch {
    return false
  }
}

/**
 * Starts it with an empty profile on the disk, so that IndexedDB is where it usually is, and removes that afterwards.
 *
 * @template T
 * @param {string} executablePath
 * @param {(page: import('playwright-core').Page, version: string) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withPage (executablePath, use) {
  const profile = await mkdtemp(join(tmpdir(), 'baobox-profile-'))
  try {
    const context = await chromium.launchPersistentContext(profile, { executablePath, args: FLAGS })
    try {
      return await use(context.pages()[0] ?? await context.newPage())
    } finally {
      await context.close()
    }
  } finally {
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
