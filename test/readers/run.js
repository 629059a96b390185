// Runs the suites of libraries that read files in parts: `npm run test:readers`. Installs the libraries in this folder.
// `--install` installs Chromium, too, if there is none. If something cannot be had, a line says NOT RUN.
import { execFileSync, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const MOCHA = createRequire(import.meta.url).resolve('mocha/bin/mocha.js')
const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const INSTALL = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']

if (install()) {
  const { status } = spawnSync(process.execPath, [
    MOCHA, '--no-config', '--timeout', '300000', '--exit', `${FOLDER}readers.js`
  ], { stdio: 'inherit', env: { ...process.env, INSTALL: process.argv.includes('--install') ? '1' : '' } })
  process.exitCode = status ?? 1
}

function install () {
  try {
    execFileSync('npm', INSTALL, { cwd: FOLDER, stdio: 'inherit', shell: process.platform === 'win32' })
    return true
  } catch (error) {
    console.log(`NOT RUN: the recipes. Their packages could not be installed: ${error.message}`)
    return false
  }
}
