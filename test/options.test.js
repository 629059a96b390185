// An option has the same meaning everywhere. docs/api.md has a table of all options: this test compares the calls in it
// with the signatures, and `UPDATE_TABLE=1 npx mocha --no-config test/options.test.js` writes them.
import { env } from 'node:process'
import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { optionsOf } from './support/signatures.js'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const PAGE = `${ROOT}docs/api.md`
/** Options for tests, and options that others have defined. */
const LEFT_OUT = ['./package.json', './store/test']
/** Not public calls: the page says how callers get an instance. */
const INTERNAL = [
  'new Aliases', 'new Blockstore', 'new BlobStore', 'new BucketStore', 'new BucketAliases', 'new BucketTags'
]
/** Calls of a store in a bucket, which take the options of those of a `BlobStore`. */
const OF_ANY_STORE = /^bucket(?:Store|Aliases|Tags)\./

/** Options with several types, and why they have one meaning, or two meanings that nobody confuses. */
const SEVERAL_TYPES = {
  after: 'where the result begins: a blob or tag of a list, or a point of the log of changes',
  cids: 'copies and archives also take them from a stream',
  endpoint: 'of a bucket, it is a URL; of iroh, an object that programs share',
  from: 'a download also takes mirrors while it runs',
  into: 'the encoder returns a view of it, and so says which memory it is',
  mode: 'how bytes get into a store, or out of it',
  onProgress: 'the event has more in it where there is more to say',
  onRequest: 'what a request of HTTP was, one of a peer, or one to a mirror',
  order: 'of the pairs of an outboard, or of the blobs of a list',
  ranges: 'a proof has chunks; everything else takes bytes, too',
  supply: 'the function of a store, or whether a call may use it',
  tag: 'a name names one blob, so many blobs have a temporary tag; an unfinished download must outlast the process'
}

const ROW = /^\| `(\w+)` \| (.*) \| (.*) \|$/

describe('the options', () => {
  let options, page

  before(() => {
    const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
    const files = Object.entries(exports).filter(([name]) => !LEFT_OUT.includes(name)).map(([, entry]) => entry.default)
    options = optionsOf(files.map(file => ROOT + file.slice('./'.length)), ROOT)
    page = readFileSync(PAGE, 'utf8')
    if (env.UPDATE_TABLE) writeFileSync(PAGE, page = updated(page))
  })

  const callsOf = name => [...options.get(name).values()].flat()
    .filter(call => !INTERNAL.includes(call) && !OF_ANY_STORE.test(call)).sort()
  const textOf = name => callsOf(name).map(call => `\`${call}\``).join(', ')
  const rowsIn = page => page.slice(page.indexOf('\n## Options\n')).split('\n').map(line => ROW.exec(line))
    .filter(row => row !== null)

  /** The page with a row for each option, in the order of their names. The texts of the rows are kept. */
  function updated (page) {
    const meanings = new Map(rowsIn(page).map(([, name, meaning]) => [name, meaning]))
    const rows = [...options.keys()].filter(name => callsOf(name).length > 0).sort()
      .map(name => `| \`${name}\` | ${meanings.get(name) ?? ''} | ${textOf(name)} |`)
    const [before, after] = page.split('\n## Options\n')
    const [intro, ...rest] = after.split('\n| --- | --- | --- |\n')
    const [, behind = ''] = /^(?:\|.*\n)*([^]*)$/.exec(rest.join(''))
    return `${before}\n## Options\n${intro}\n| --- | --- | --- |\n${rows.join('\n')}\n${behind}`
  }

  it('are in the table of docs/api.md, with all calls that take them', () => {
    const rows = rowsIn(page).map(([, name, , calls]) => [name, calls])
    const names = [...options.keys()].filter(name => callsOf(name).length > 0).sort()
    const expected = names.map(name => [name, textOf(name)])
    expect(Object.fromEntries(rows)).to.deep.equal(Object.fromEntries(expected))
    expect(rows.map(([name]) => name), 'in the order of their names').to.deep.equal(expected.map(([name]) => name))
  })

  it('are explained there', () => {
    expect(rowsIn(page).filter(([, , meaning]) => meaning.trim() === '').map(([, name]) => name)).to.deep.equal([])
  })

  it('have one type each, unless there is a reason', () => {
    const isPublic = calls => calls.some(call => !INTERNAL.includes(call))
    const several = [...options].filter(([, types]) => [...types.values()].filter(isPublic).length > 1)
      .map(([name]) => name)
    expect(several.sort()).to.deep.equal(Object.keys(SEVERAL_TYPES).sort())
  })

  it('that are limits are called `max` and the limited thing', () => {
    const names = [...options.keys()]
    expect(names.filter(name => /limit|^min|most/i.test(name))).to.deep.equal([])
    expect(names).to.include.members(['maxMembers', 'maxConnections'])
  })
})
