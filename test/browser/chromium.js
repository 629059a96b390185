// Finds an installed Chromium and starts it. The packages of the tests bring none.
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

/** @returns {string | undefined} the path of a Chromium: the one that CHROMIUM names, or the first that is found */
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

/** Installs Debian's package, if this process runs as root. @returns {boolean} whether it was installed */
export function installChromium () {
  if (process.getuid?.() !== 0) return false
  const install = ['install', '-y', '-qq', '--no-install-recommends', 'chromium']
  try {
    for (const args of [['update', '-qq'], install]) execFileSync('apt-get', args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Starts Chromium with an empty profile on the disk, so that IndexedDB works as usual. Removes the profile afterwards.
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
