// Brings what was measured to the documents: full tables to bench/results/, the picture to docs/throughput.svg, and
// the headline tables, which are excerpts of the full ones, to docs/performance.md.
//
//   npm run bench -- --repeat 3 --json out.json && node bench/publish.js out.json
//   node bench/publish.js      (copies the excerpts alone)
//
// The first version of Node.js goes to bench/results/node-20.md, whose text is written by hand: a table stands
// between `<!-- bench: NAME -->` and `<!-- /bench -->`, and what the page shows of another version after `<!-- bench:
// NAME on v24 -->`. A table whose bench was not run stays as it is. Several files of one version count as one. The
// tables of any other version make a page of their own, such as bench/results/node-24.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { withExcerpts } from './support/excerpts.js'
import { throughputSvg } from './support/plot.js'
import { readKept } from './support/report.js'
import { markdown, rowsOf } from './support/tables.js'

/** @import { Kept } from './support/report.js' */
/** @import { Table } from './support/tables.js' */

const RESULTS = new URL('results/', import.meta.url)
const USUAL = new URL('node-20.md', RESULTS)
const HEADLINES = new URL('../docs/performance.md', import.meta.url)
const PICTURE = new URL('../docs/throughput.svg', import.meta.url)
/** The table that the picture shows is the first of these. */
const PICTURED = ['hash-small', 'hash-large']
const PLACE = /(<!-- bench: (\S+)(?: on (v\d+))? -->\n)[^]*?(<!-- \/bench -->)/g

/** What was kept, by version. @type {Map<string, Kept>} */
const versions = new Map()
for (const kept of process.argv.slice(2).map(readKept)) {
  const version = kept.environment.node.split('.')[0]
  const tables = versions.get(version)?.tables ?? []
  versions.set(version, { ...kept, tables: [...tables, ...kept.tables] })
}
const [first, ...others] = versions
if (first !== undefined) publishUsual(...first)
for (const [version, kept] of others) publishOther(version, kept)
writeFileSync(HEADLINES, withExcerpts(readFileSync(HEADLINES, 'utf8'), readFileSync(USUAL, 'utf8')))

/** @param {string} usual  its version @param {Kept} kept */
function publishUsual (usual, { environment, tables }) {
  const page = readFileSync(USUAL, 'utf8')
  writeFileSync(USUAL, page.replace(PLACE, (place, begin, name, version = usual, end) => {
    if (name === 'environment') return `${begin}${where(environment)}.\n${end}`
    const own = versions.get(version)?.tables.filter(({ bench }) => bench === name) ?? []
    const before = version === usual ? '' : `Node.js ${version.slice(1)}: `
    return own.length === 0 ? place : begin + own.map(table => asMarkdown(table, before)).join('\n') + end
  }))
  const pictured = PICTURED.map(name => tables.find(({ bench }) => bench === name))
  if (pictured.every(table => table !== undefined)) writeFileSync(PICTURE, throughputSvg(pictured, where(environment)))
  else console.error(`docs/throughput.svg stays as it is: it needs ${PICTURED.join(' and ')}`)
}

/** @param {string} version @param {Kept} kept */
function publishOther (version, { environment, tables }) {
  const number = version.slice(1)
  const title = `# Performance in Node.js ${number}\n\nThe tables of [node-20.md](node-20.md) in another version, ` +
    `without comment. Measured on:\n${where(environment)}.\n`
  const benches = [...new Set(tables.map(({ bench }) => bench))]
  const sections = benches.map(name => {
    const own = tables.filter(({ bench }) => bench === name)
    return `## ${name}\n\n${own.map(table => asMarkdown(table)).join('\n')}`
  })
  writeFileSync(new URL(`node-${number}.md`, RESULTS), [title, ...sections].join('\n'))
}

/** @param {Kept['environment']} environment */
function where ({ node, platform, cpu, cores }) { return `Node.js ${node}, ${platform}, ${cpu}, ${cores} cores` }

/** @param {Table} table @param {string} [before]  the question */
function asMarkdown (table, before = '') { return `**${before}${table.question}**\n\n${markdown(rowsOf(table))}\n` }
