import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { withExcerpts } from '../../bench/support/excerpts.js'

const read = path => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const TABLE = '|  | x | y |\n| --- | --: | --: |\n| r | 1 | 2 |\n| s | 3 | 4 |\n'
const RESULTS = `<!-- bench: a -->\n**q**\n\n${TABLE}<!-- /bench -->`
const placeOf = names => `<!-- excerpt: a | ${names} -->\nold\n<!-- /excerpt -->`

describe('excerpts of measured tables', () => {
  it('docs/performance.md shows what stands in bench/results', () => {
    const page = read('docs/performance.md')
    expect(withExcerpts(page, read('bench/results/node-20.md'))).to.equal(page)
  })

  it('an excerpt has the named rows and columns, in the named order', () => {
    const page = withExcerpts(placeOf('q | s; r | y'), RESULTS)
    expect(page.split('\n').slice(1, -1)).to.deep.equal(['|  | y |', '| --- | --: |', '| s | 4 |', '| r | 2 |'])
  })

  it('an excerpt with * has all rows and columns', () => {
    expect(withExcerpts(placeOf('q | * | *'), RESULTS)).to.include(TABLE)
  })

  it('a table, row or column that is missing is an error', () => {
    expect(() => withExcerpts(placeOf('other | * | *'), RESULTS)).to.throw('no table "other"')
    expect(() => withExcerpts(placeOf('q | t | *'), RESULTS)).to.throw('no "t"')
    expect(() => withExcerpts(placeOf('q | * | z'), RESULTS)).to.throw('no "z"')
  })
})
