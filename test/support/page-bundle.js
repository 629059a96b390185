// Bundles code for pages, as programs that use the package do.
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** As docs/guide.md advises for pages. */
export const NO_BUFFER = { buffer: fileURLToPath(new URL('no-buffer.js', import.meta.url)) }

/**
 * @param {object} options
 * @param {string} options.contents  the code; it imports from the root of the repository
 * @param {boolean} [options.isDivided]  true to put what is imported later in files of its own. false to make one file,
 *   as for a service worker. Default: true
 * @param {boolean} [options.hasBuffer]  false to replace the module `buffer`. Default: true
 * @returns {Promise<{ name: string, contents: Uint8Array, isFirst: boolean }[]>} the files. `page.js` is the entry
 *   point. `isFirst`: true if the page loads the file before it runs
 */
export async function bundleForPage ({ contents, isDivided = true, hasBuffer = true }) {
  const { outputFiles, metafile: { outputs } } = await build({
    stdin: { contents, resolveDir: ROOT, sourcefile: 'page.js' },
    bundle: true,
    minify: true,
    splitting: isDivided,
    ...!isDivided && { conditions: ['worker'] },
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    outdir: '/',
    entryNames: 'page',
    write: false,
    metafile: true,
    logLevel: 'error',
    ...!hasBuffer && { alias: NO_BUFFER }
  })
  const importsOf = new Map(Object.entries(outputs).map(([path, { imports }]) => [basename(path), imports]))
  const first = new Set(['page.js'])
  for (const name of first) {
    for (const { path, kind } of importsOf.get(name) ?? []) if (kind === 'import-statement') first.add(basename(path))
  }
  return outputFiles.map(({ path, contents }) =>
    ({ name: basename(path), contents, isFirst: first.has(basename(path)) }))
}
