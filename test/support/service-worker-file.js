// Writes dist/service-worker.js: `baobox/service-worker` as one classic script, which defines the global `baobox`.
//
//   node test/support/service-worker-file.js
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { pid, argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { NO_BUFFER } from './page-bundle.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const PATH = `${ROOT}dist/service-worker.js`

/** Bundles the file, without writing it. @returns {Promise<Uint8Array>} */
export async function bundleServiceWorker () {
  const { outputFiles: [{ contents }] } = await build({
    entryPoints: [`${ROOT}exchange/service-worker/index.js`],
    bundle: true,
    minify: true,
    format: 'iife',
    globalName: 'baobox',
    platform: 'browser',
    conditions: ['worker'], // a service worker cannot load files later
    alias: NO_BUFFER,
    target: 'es2022',
    legalComments: 'inline',
    write: false,
    logLevel: 'error'
  })
  return contents
}

/** Writes the file. Others that write it at the same time write the same. */
export async function writeServiceWorker () {
  const contents = await bundleServiceWorker()
  await mkdir(`${ROOT}dist`, { recursive: true })
  await writeFile(`${PATH}.${pid}`, contents)
  await rename(`${PATH}.${pid}`, PATH)
}

if (argv[1] === fileURLToPath(import.meta.url)) await writeServiceWorker()
