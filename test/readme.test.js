// Runs the examples of the README and of the documents unchanged, each in a project of its own. Also checks that the
// package contains what its documents link to.

import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { linksOf } from './support/links.js'
import { describeExamples } from './support/page-examples.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DOCS = readdirSync(ROOT + 'docs').filter(name => name.endsWith('.md'))
const PAGES = ['README.md', ...DOCS.map(name => `docs/${name}`)]
/** Packages that examples use, and that a real project would install. */
const PEERS = ['memory-level', 'express', 'fastify']
/** Its examples run in test/readers, where their packages are installed. */
const RECIPES = 'docs/recipes.md'

it('the package contains every file to which its documents link', async () => {
  const options = ['--dry-run', '--json', '--ignore-scripts']
  const { stdout } = await promisify(execFile)('npm', ['pack', ...options], { cwd: ROOT })
  const [{ files }] = Object.values(JSON.parse(stdout))
  const paths = files.map(({ path }) => path)
  const isThere = path => paths.some(name => name === path || name.startsWith(`${path.replace(/\/$/, '')}/`))
  const documents = paths.filter(path => path.endsWith('.md'))
  expect(documents).to.include.members(PAGES)
  const missing = documents.flatMap(page => linksOf(page, readFileSync(ROOT + page, 'utf8'))
    .filter(({ path }) => !isThere(path)).map(({ target }) => `${target} of ${page}`))
  expect(missing).to.deep.equal([])
})

for (const page of PAGES) {
  const hasExamples = readFileSync(ROOT + page, 'utf8').includes('```js')
  if (hasExamples && page !== RECIPES) describeExamples(page, { packages: PEERS })
}
