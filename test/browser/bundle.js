// Bundles all suites that run in browsers.
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { LEFT_OUT } from './left-out.js'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const VISITOR = fileURLToPath(new URL('visitor.js', import.meta.url))
const REPORT = fileURLToPath(new URL('report.js', import.meta.url))
const SERVICE_WORKER = fileURLToPath(new URL('../../examples/service-worker.js', import.meta.url))
const WORKER = fileURLToPath(new URL('../../lib/parallel/threads/worker.js', import.meta.url))

/** @returns {string[]} paths from the folder `test` */
export function suites () {
  const left = Object.keys(LEFT_OUT)
  for (const path of left) {
    if (!existsSync(TESTS + path)) throw new Error(`left-out.js names test/${path}, which does not exist`)
  }
  const isLeftOut = path => left.some(one => one.endsWith('/') ? path.startsWith(one) : path === one)
  return readdirSync(TESTS, { recursive: true })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => path.endsWith('.test.js') && !isLeftOut(path))
    .sort()
}

/**
 * The bundle, the first script of both pages, the script of the second page, the worker that hashes on another thread,
 * and a service worker. The bundle finds the worker in its own folder: `new URL('./worker.js', import.meta.url)`.
 *
 * The suites load the rare parts of a store from a file of their own. A service worker cannot load a file later, so it
 * is one file.
 *
 * @returns {Promise<Map<string, Uint8Array>>} by path on the server
 */
export async function bundle () {
  const names = ['browser/page.js', ...suites(), 'browser/start.js']
  const contents = names.map(name => `import './${name}'`).join('\n')
  const files = [
    ...await built({ stdin: { contents, resolveDir: TESTS, sourcefile: 'suites.js' }, splitting: true }),
    ...await built({ entryPoints: [WORKER, VISITOR, SERVICE_WORKER], conditions: ['worker'] })
  ]
  const scripts = files.map(({ path, contents }) => /** @type {const} */ (
    [`/${basename(path).replace('stdin', 'suites')}`, contents]))
  return new Map([...scripts, ['/report.js', await readFile(REPORT)]])
}

/** @param {import('esbuild').BuildOptions} options */
async function built (options) {
  const { outputFiles } = await build({
    ...options,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    keepNames: true,
    entryNames: '[name]',
    outdir: '/',
    write: false,
    logLevel: 'error'
  })
  return outputFiles
}
