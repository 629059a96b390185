// Brings what was measured to the documents: tables to docs/performance.md, the picture to docs/throughput.svg.
//
//   npm run bench -- --repeat 3 --json out.json && node bench/publish.js out.json
//
// A table goes between `<!-- bench: NAME -->` and `<!-- /bench -->`; places whose bench was not run stay as they are. Several files of one
// version of Node.js are one. The first version is the one of docs/performance.md; of any other, everything goes to
// docs/performance-node-24.md, and what docs/performance.md wants of it to `<!-- bench: NAME on v24 -->`.

import { readFileSync, writeFileSync } from 'node:fs'
import { throughputSvg } from './support/plot.js'
import { readKept } from './support/report.js'
import { markdown, rowsOf } from './support/tables.js'

/** @import { Kept } from './support/report.js' */
/** @import { Table } from './support/tables.js' */

const DOCUMENTS = new URL('../docs/', import.meta.url)
const DOCUMENT = new URL('performance.md', DOCUMENTS)
const PICTURE = new URL('throughput.svg', DOCUMENTS)
/** The table that the picture shows is the first of these. */
const PICTURED = ['hash-small', 'hash-large']

const files = process.argv.slice(2)
if (files.length === 0) {
  console.error('Usage: node bench/publish.js FILE [FILE ...]        (of npm run bench -- --json FILE)')
  process.exit(2)
}
/** What was kept, by version. @type {Map<string, Kept>} */
const versions = new Map()
for (const kept of files.map(readKept)) {
  const version = kept.environment.node.split('.')[0]
  const tables = versions.get(version)?.tables ?? []
  versions.set(version, { ...kept, tables: [...tables, ...kept.tables] })
}
const [[usual, { environment, tables }], ...others] = versions

writeFileSync(DOCUMENT, readFileSync(DOCUMENT, 'utf8').replace(/(<!-- bench: (\S+)(?: on (v\d+))? -->\n)[^]*?(<!-- \/bench -->)/g, (place, begin, name, version = usual, end) => {
  if (name === 'environment') return `${begin}${where(environment)}.\n${end}`
  const own = versions.get(version)?.tables.filter(({ bench }) => bench === name) ?? []
  return own.length === 0 ? place : begin + own.map(table => asMarkdown(table, version === usual ? '' : `Node.js ${version.slice(1)}: `)).join('\n') + end
}))

for (const [version, { environment, tables }] of others) {
  const title = `# Performance in Node.js ${version.slice(1)}\n\nThe tables of [performance.md](performance.md) in another version, without comment. Measured on:\n${where(environment)}.\n`
  const benches = [...new Set(tables.map(({ bench }) => bench))]
  const sections = benches.map(name => `## ${name}\n\n${tables.filter(({ bench }) => bench === name).map(table => asMarkdown(table)).join('\n')}`)
  writeFileSync(new URL(`performance-node-${version.slice(1)}.md`, DOCUMENTS), [title, ...sections].join('\n'))
}

const pictured = PICTURED.map(name => tables.find(({ bench }) => bench === name))
if (pictured.every(table => table !== undefined)) writeFileSync(PICTURE, throughputSvg(pictured, where(environment)))
else console.error(`docs/throughput.svg stays as it is: it wants ${PICTURED.join(' and ')}`)

/** @param {Kept['environment']} environment */
function where ({ node, platform, cpu, cores }) { return `Node.js ${node}, ${platform}, ${cpu}, ${cores} cores` }

/** @param {Table} table @param {string} [before]  the question */
function asMarkdown (table, before = '') { return `**${before}${table.question}**\n\n${markdown(rowsOf(table))}\n` }
