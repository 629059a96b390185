// Builds the demo page: `npm run dist` writes it into `dist/web`. `npm pack` does this, so that the package has the
// built files. In a checkout, `baobox demo --web` builds the page when it starts, and writes nothing. esbuild and the
// libraries of the page are devDependencies.

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const FILM = new URL('film/film.webm', import.meta.url)
const PAGE = new URL('page/', import.meta.url)
const THREAD = new URL('../../lib/parallel/threads/worker.js', import.meta.url)
/** The folder of the built files. */
export const BUILT = new URL('../../dist/web/', import.meta.url)

/** Builds the page in memory. @returns {Promise<Map<string, Uint8Array>>} its files, by their names */
export async function buildPage () {
  const { build } = await import('esbuild')
  const files = /** @type {Map<string, Uint8Array>} */ (new Map())
  /** @param {'esm' | 'iife'} format @param {URL[]} scripts */
  const bundle = async (format, ...scripts) => {
    const { outputFiles } = await build({
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
      write: false,
      logLevel: 'error'
    })
    for (const { path, contents } of outputFiles) files.set(basename(path), contents)
  }
  // The page finds the script of its threads beside its own.
  await bundle('esm', new URL('main.js', PAGE), THREAD)
  // Some browsers have no service workers that are modules.
  await bundle('iife', new URL('service-worker.js', PAGE))
  const copies = [new URL('index.html', PAGE), new URL('style.css', PAGE), FILM]
  for (const file of copies) files.set(basename(file.pathname), await readFile(file))
  return files
}

async function writePage () {
  const files = await buildPage()
  await rm(BUILT, { recursive: true, force: true })
  await mkdir(BUILT, { recursive: true })
  for (const [name, bytes] of files) await writeFile(new URL(name, BUILT), bytes)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writePage()
