// Makes one script of all suites that run in browsers.
import { existsSync, readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { LEFT_OUT } from './left-out.js'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const VISITOR = fileURLToPath(new URL('visitor.js', import.meta.url))
const WORKER = fileURLToPath(new URL('../../lib/parallel/threads/worker.js', import.meta.url))

/** Paths from `test`. */
export function suites () {
  const left = Object.keys(LEFT_OUT)
  for (const path of left) if (!existsSync(TESTS + path)) throw new Error(`left out, but not there: test/${path}`)
  return readdirSync(TESTS, { recursive: true })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => path.endsWith('.test.js') && !left.some(one => one.endsWith('/') ? path.startsWith(one) : path === one))
    .sort()
}

/**
 * The bundle, the script of the page beside it, and the worker that hashing on several threads starts: `new URL('./worker.js', import.meta.url)` finds it beside.
 *
 * @returns {Promise<Map<string, Uint8Array>>} by path on the server
 */
export async function bundle () {
  const names = ['browser/page.js', ...suites(), 'browser/start.js']
  const { outputFiles } = await build({
    entryPoints: [WORKER, VISITOR],
    stdin: { contents: names.map(name => `import './${name}'`).join('\n'), resolveDir: TESTS, sourcefile: 'suites.js' },
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
  return new Map(outputFiles.map(({ path, contents }) => [`/${basename(path).replace('stdin', 'suites')}`, contents]))
}
