// Builds the demo page into `dist/web`: `npm run dist`. `npm pack` does this, so that the package has the built files.
// In a checkout, `baobox demo --web` builds the page when it starts. esbuild and the libraries of the page are
// devDependencies.

import { copyFile, mkdir, rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const FILM = new URL('film/film.webm', import.meta.url)
const PAGE = new URL('page/', import.meta.url)
const THREAD = new URL('../../lib/parallel/threads/worker.js', import.meta.url)
/** The folder of the built files. */
export const BUILT = new URL('../../dist/web/', import.meta.url)

export async function buildPage () {
  const { build } = await import('esbuild')
  await rm(BUILT, { recursive: true, force: true })
  await mkdir(BUILT, { recursive: true })
  /** @param {'esm' | 'iife'} format @param {URL[]} scripts */
  const bundle = (format, ...scripts) => build({
    entryPoints: scripts.map(script => fileURLToPath(script)),
    bundle: true,
    minify: true,
    format,
    platform: 'browser',
    ...format === 'iife' && { conditions: ['worker'] },
    target: 'es2022',
    entryNames: '[name]',
    outdir: fileURLToPath(BUILT),
    legalComments: 'eof',
    logLevel: 'error'
  })
  // The page finds the script of its threads beside its own.
  await bundle('esm', new URL('main.js', PAGE), THREAD)
  // Some browsers have no service workers that are modules.
  await bundle('iife', new URL('service-worker.js', PAGE))
  const copies = [new URL('index.html', PAGE), new URL('style.css', PAGE), FILM]
  for (const file of copies) await copyFile(file, new URL(basename(file.pathname), BUILT))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
