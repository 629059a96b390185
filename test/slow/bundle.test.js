// Tests how many bytes the package adds to a page: bundled, minified and gzipped. A change that adds more raises a
// limit.
import { gzipSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect } from 'chai'
import { KIB } from '../support/constants.js'
import { bundleServiceWorker } from '../support/service-worker-file.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const LIB_AND_VERIFIER = "export * from './lib/index.js'; export * from './verifier/index.js'"
const MULTIFORMATS = ['multiformats/*']

const BUNDLES = [
  { what: 'hash alone', contents: "export { hash } from './lib/index.js'", most: 10 * KIB },
  { what: 'hash of baobox/hash', contents: "export { hash } from './lib/hash/index.js'", most: 10 * KIB },
  {
    what: 'SliceVerifier without multiformats',
    contents: "export { SliceVerifier } from './verifier/index.js'",
    external: MULTIFORMATS,
    most: 17.5 * KIB
  },
  { what: 'lib and verifier without multiformats', contents: LIB_AND_VERIFIER, external: MULTIFORMATS, most: 49 * KIB },
  { what: 'lib and verifier', contents: LIB_AND_VERIFIER, most: 53 * KIB }
]

/** @returns {Promise<number>} bytes */
async function weigh ({ contents, external }) {
  const { outputFiles: [{ contents: bundle }] } = await build({
    stdin: { contents, resolveDir: ROOT },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    external
  })
  return gzipSync(bundle, { level: 9 }).length
}

describe('the built service worker', () => {
  it('has at most 176 KiB', async () => {
    const bytes = gzipSync(await bundleServiceWorker(), { level: 9 }).length
    console.log(`    dist/service-worker.js: ${(bytes / KIB).toFixed(1)} KiB`)
    expect(bytes).to.be.within(KIB, 176 * KIB)
  })
})

describe('a bundle for pages', () => {
  for (const { what, most, ...bundle } of BUNDLES) {
    it(`of ${what} has at most ${most / KIB} KiB`, async () => {
      const bytes = await weigh(bundle)
      console.log(`    ${what}: ${(bytes / KIB).toFixed(1)} KiB`)
      expect(bytes).to.be.within(KIB, most)
    })
  }
})
