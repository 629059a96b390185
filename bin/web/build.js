// Builds the demo page into `dist/web`: `node bin/web/build.js`. `npm pack` does this, so that the package has the
// built files. In a checkout, `baobox demo --web` builds the page when it starts. esbuild and the libraries of the page
// are devDependencies.

import { copyFile, mkdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const PAGE = new URL('page/', import.meta.url)
const WORKER = new URL('../../lib/parallel/threads/worker.js', import.meta.url)
/** The folder of the built files. */
export const BUILT = new URL('../../dist/web/', import.meta.url)

/** @param {URL} [folder]  for the built files @param {{ minify?: boolean }} [options] */
export async function buildPage (folder = BUILT, { minify = true } = {}) {
  const { build } = await import('esbuild')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const entryPoints = ['main.js', 'service-worker.js'].map(name => fileURLToPath(new URL(name, PAGE)))
  await build({
    // Threads are scripts of their own, which the bundle finds beside it.
    entryPoints: [...entryPoints, fileURLToPath(WORKER)],
    bundle: true,
    minify,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    entryNames: '[name]',
    outdir: fileURLToPath(folder),
    legalComments: 'eof',
    logLevel: 'error'
  })
  for (const name of ['index.html', 'style.css']) await copyFile(new URL(name, PAGE), new URL(name, folder))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
