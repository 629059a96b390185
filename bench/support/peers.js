// The packages that hashes are compared with. They are dependencies of this folder alone and installed when a bench first wants them.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FOLDER = new URL('../', import.meta.url)

/** How each package hashes bytes that are at hand. @type {Record<string, (module: any) => (bytes: Uint8Array) => Uint8Array>} */
const PEERS = {
  'blake3-jit': ({ hash, warmupSimd }) => {
    warmupSimd()
    return hash
  },
  '@fuzdev/blake3_wasm': ({ hash }) => hash
}

/**
 * One-shot hashes of other packages, as many as can be had. What is missing is said on stderr.
 *
 * @returns {Promise<Record<string, (bytes: Uint8Array) => Uint8Array>>}
 */
export async function loadPeers () {
  const missing = Object.keys(PEERS).filter(name => !isInstalled(name))
  if (missing.length > 0) {
    console.error(`peers missing: ${missing.join(', ')}; running npm install in bench/`)
    install()
  }
  /** @type {Record<string, (bytes: Uint8Array) => Uint8Array>} */
  const hashes = {}
  for (const [name, hashOf] of Object.entries(PEERS)) {
    try {
      hashes[name] = hashOf(await import(name))
    } catch (error) {
      console.error(`NOT MEASURED: ${name}: ${/** @type {Error} */ (error).message}`)
    }
  }
  return hashes
}

/** @param {string} name */
const isInstalled = name => existsSync(new URL(`node_modules/${name}/package.json`, FOLDER))

function install () {
  const isWindows = process.platform === 'win32' // npm is a script there, which only a shell starts
  const { status, error } = spawnSync('npm', ['install'], { cwd: fileURLToPath(FOLDER), stdio: ['ignore', 2, 2], shell: isWindows })
  if (status !== 0) console.error(`npm install failed (${error?.message ?? `exit code ${status}`}): going on without`)
}
