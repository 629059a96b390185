// What the package weighs in a page: bundled, minified and gzipped. Who makes it heavier than this has to say so here.
import { gzipSync } from 'node:zlib'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const KIB = 1024

const BUNDLES = [
  { what: 'hash alone', contents: "export { hash } from './lib/index.js'", most: 9 * KIB },
  { what: 'hash of baobox/hash', contents: "export { hash } from './lib/hash/index.js'", most: 9 * KIB },
  { what: 'SliceVerifier, multiformats aside', contents: "export { SliceVerifier } from './verifier/index.js'", external: ['multiformats/*'], most: 16 * KIB },
  { what: 'lib and verifier, multiformats aside', contents: "export * from './lib/index.js'; export * from './verifier/index.js'", external: ['multiformats/*'], most: 33 * KIB },
  { what: 'lib and verifier', contents: "export * from './lib/index.js'; export * from './verifier/index.js'", most: 37 * KIB }
]

/** @returns {Promise<number>} bytes */
async function weigh ({ contents, external }) {
  const options = { bundle: true, minify: true, format: 'esm', platform: 'browser', target: 'es2022', write: false, external }
  const { outputFiles: [{ contents: bundle }] } = await build({ ...options, stdin: { contents, resolveDir: ROOT } })
  return gzipSync(bundle, { level: 9 }).length
}

describe('a bundle for pages', () => {
  for (const { what, most, ...bundle } of BUNDLES) {
    it(`of ${what} is light`, async () => {
      const bytes = await weigh(bundle)
      console.log(`    ${what}: ${(bytes / KIB).toFixed(1)} KiB`)
      expect(bytes).to.be.within(KIB, most)
    })
  }
})
