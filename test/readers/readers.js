// Runs the recipes of docs/recipes.md with the libraries that they are for: `npm run test:readers`. The packages are
// installed in this folder only.
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { describeExamples } from '../support/page-examples.js'
import { testDuckDB } from './duckdb.js'
import { writeFiles } from './files.js'
import { FIRST, queryLarge } from './large.js'

const from = fileURLToPath(new URL('node_modules', import.meta.url))

describe('libraries that read files in parts', () => {
  const packages = ['hyparquet', 'pmtiles', '@zip.js/zip.js', 'wa-sqlite']
  const outputs = {
    'A Parquet file': "[ { name: 'city 999' } ]\n",
    'A map in one file': 'tile 2\n',
    'One entry of an archive': 'text of b.txt\n',
    'A database': "[ 'note 700' ]\n"
  }
  describeExamples('docs/recipes.md', { packages, from, prepare: writeFiles, outputs })

  testDuckDB()

  it('fetch little of a large file, and only right bytes, although a server lies', async () => {
    const { rows, servers: [liar, honest], told, byteLength } = await queryLarge({ size: 2 ** 30 })
    expect(byteLength).to.be.above(2 ** 30)
    expect(rows).to.deep.equal(Array.from({ length: 10 }, (_, i) => ({
      city: `city ${FIRST + i}`, price: Math.sin(FIRST + i)
    })))
    expect(liar.lies).to.be.above(0)
    expect(told.length).to.be.above(0)
    for (const { mirror } of told) expect(mirror.startsWith(liar.url)).to.equal(true)
    for (const { error } of told) expect(error.code).to.match(/^BAO_(PARENT|LEAF)_MISMATCH$/)
    expect(liar.sent + honest.sent).to.be.below(8 * 2 ** 20)
  })
})
