// Tests how many bytes the package adds to a page: bundled, minified and gzipped. The limits are in a table of
// docs/performance.md; `UPDATE_TABLE=1 npx mocha --no-config test/slow/bundle.test.js` writes it.
import { env } from 'node:process'
import { readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { bundleForPage } from '../support/page-bundle.js'
import { bundleServiceWorker } from '../support/service-worker-file.js'

const PAGE = new URL('../../docs/performance.md', import.meta.url)
const KB = 1000
const ROW = /^\| (.*) \| ([\d.]+) kB \| ([\d.]+) kB \|$/

const BLOB_STORE = "export { BlobStore } from './store/index.js'"
const HANDLER = "export { createHandler } from './exchange/http/index.js'"

const BUNDLES = {
  '`hash` of `baobox`': { contents: "export { hash } from './lib/index.js'" },
  '`hash` of `baobox/hash`': { contents: "export { hash } from './lib/hash/index.js'", isDivided: false },
  '`verifySlice`': { contents: "export { verifySlice } from './verifier/index.js'" },
  '`SliceVerifier`': { contents: "export { SliceVerifier } from './verifier/index.js'" },
  '`fetchVerified`': { contents: "export { fetchVerified } from './verifier/index.js'" },
  'all of `baobox` and `baobox/verifier`': {
    contents: "export * from './lib/index.js'; export * from './verifier/index.js'"
  },
  '`BlobStore`': { contents: BLOB_STORE },
  '`BlobStore`, without the module `buffer`': { contents: BLOB_STORE, hasBuffer: false },
  '`BlobStore` in one file, as for a service worker': { contents: BLOB_STORE, isDivided: false },
  '`createHandler` of `baobox/http`': { contents: HANDLER },
  '`createHandler` and `BlobStore`': { contents: `${HANDLER}; ${BLOB_STORE}` },
  '`dist/service-worker.js`': { bundle: bundleServiceWorker }
}

/** Returns the bytes that a page loads before it runs, and those of all files. @returns {Promise<[number, number]>} */
async function weigh ({ bundle, ...options }) {
  const [first, later] = [[], []]
  const files = bundle === undefined ? await bundleForPage(options) : [{ contents: await bundle(), isFirst: true }]
  for (const { contents, isFirst } of files) {
    (isFirst ? first : later).push(gzipSync(contents, { level: 9 }).length)
  }
  const sum = lens => lens.reduce((sum, len) => sum + len, 0)
  return [sum(first), sum(first) + sum(later)]
}

/** A limit is at least 200 bytes above what was measured, and a multiple of half a kilobyte. */
const limitOf = bytes => Math.ceil((bytes + 200) / KB * 2) / 2
/** A change that saves more than this lowers the limit. */
const SLACK = 1.5 * KB

describe('a bundle for pages', () => {
  const page = readFileSync(PAGE, 'utf8')
  const limits = new Map(page.split('\n').map(line => ROW.exec(line)).filter(Boolean)
    .map(([, what, ...numbers]) => [what, numbers.map(Number)]))
  const measured = new Map()

  for (const [what, options] of Object.entries(BUNDLES)) {
    it(`of ${what} is as large as docs/performance.md says`, async () => {
      const lens = await weigh(options)
      measured.set(what, lens)
      if (env.UPDATE_TABLE) return
      for (const [i, limit] of limits.get(what).entries()) {
        expect(lens[i]).to.be.within(limit * KB - SLACK, limit * KB)
      }
    })
  }

  it('is named by each row of the table', () => {
    if (!env.UPDATE_TABLE) expect([...limits.keys()]).to.deep.equal(Object.keys(BUNDLES))
  })

  after(() => {
    if (!env.UPDATE_TABLE) return
    const cellsOf = lens => lens.map(len => `${limitOf(len).toFixed(1)} kB`)
    const rows = [...measured].map(([what, lens]) => `| ${[what, ...cellsOf(lens)].join(' | ')} |`)
    const heading = '| a page that imports | loads first | in total |\n| --- | --: | --: |\n'
    const [before, after] = page.split(heading)
    writeFileSync(PAGE, before + heading + rows.join('\n') + after.replace(/^(\|.*\n)*/, '\n'))
  })
})
