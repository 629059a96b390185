import { expect } from 'chai'
import { readFileSync, readdirSync } from 'node:fs'
import { withExcerpts } from '../../bench/support/excerpts.js'

const place = path => new URL(`../../${path}`, import.meta.url)
const read = path => readFileSync(place(path), 'utf8')

const TABLE = '|  | x | y |\n| --- | --: | --: |\n| r | 1 | 2 |\n| s | 3 | 4 |\n'
const pageOf = (title, table) => `# Performance in ${title}\n\n<!-- bench: a -->\n**q**\n\n${table}<!-- /bench -->`
const RESULTS = { 'node-20': pageOf('Node.js 20', TABLE) }
const placeOf = names => `<!-- excerpt: a | ${names} -->\nold\n<!-- /excerpt -->`

describe('excerpts of measured tables', () => {
  it('docs/performance.md shows what stands in bench/results', () => {
    const page = read('docs/performance.md')
    const names = readdirSync(place('bench/results/'))
    const results = names.map(name => [name.replace('.md', ''), read(`bench/results/${name}`)])
    expect(withExcerpts(page, Object.fromEntries(results))).to.equal(page)
  })

  it('an excerpt has the named rows and columns, in the named order', () => {
    const page = withExcerpts(placeOf('q | s; r | y'), RESULTS)
    expect(page.split('\n').slice(1, -1)).to.deep.equal(['|  | y |', '| --- | --: |', '| s | 4 |', '| r | 2 |'])
  })

  it('an excerpt with * has all rows and columns', () => {
    expect(withExcerpts(placeOf('q | * | *'), RESULTS)).to.include(TABLE)
  })

  it('an excerpt of all pages has a column for each page with the table, Node.js first', () => {
    const others = { 'bun-1': pageOf('Bun 1', TABLE.replaceAll('2', '9')), 'deno-2': '# Performance in Deno 2\n' }
    const page = withExcerpts(placeOf('q | r | y of all'), { ...others, ...RESULTS })
    expect(page.split('\n').slice(1, -1)).to.deep.equal(
      ['|  | Node.js 20 | Bun 1 |', '| --- | --: | --: |', '| r | 2 | 9 |'])
  })

  it('a table, row or column that is missing is an error', () => {
    expect(() => withExcerpts(placeOf('other | * | *'), RESULTS)).to.throw('no table "other"')
    expect(() => withExcerpts(placeOf('q | t | *'), RESULTS)).to.throw('no "t"')
    expect(() => withExcerpts(placeOf('q | * | z'), RESULTS)).to.throw('no "z"')
  })
})
