// Brings what a run measured to the documents: tables to docs/performance.md, the picture to docs/throughput.svg.
//
//   npm run bench -- --repeat 3 --json out.json && node bench/publish.js out.json
//
// A table goes between `<!-- bench: NAME -->` and `<!-- /bench -->`; places whose bench was not run stay as they are. Further files are
// of other versions of Node.js: what they have goes to `<!-- bench: NAME on v24 -->`.

import { readFileSync, writeFileSync } from 'node:fs'
import { throughputSvg } from './support/plot.js'
import { readKept } from './support/report.js'
import { markdown, rowsOf } from './support/tables.js'

const DOCUMENT = new URL('../docs/performance.md', import.meta.url)
const PICTURE = new URL('../docs/throughput.svg', import.meta.url)
/** The table that the picture shows is the first of these. */
const PICTURED = ['hash-small', 'hash-large']

const files = process.argv.slice(2)
if (files.length === 0) {
  console.error('Usage: node bench/publish.js FILE [FILE of another Node.js ...]        (of npm run bench -- --json FILE)')
  process.exit(2)
}
const kept = files.map(readKept)
const [{ environment, tables }] = kept
const where = `Node.js ${environment.node}, ${environment.platform}, ${environment.cpu}, ${environment.cores} cores`

const filled = readFileSync(DOCUMENT, 'utf8').replace(/(<!-- bench: (\S+)(?: on (v\d+))? -->\n)[^]*?(<!-- \/bench -->)/g, (place, begin, name, version, end) => {
  if (name === 'environment') return `${begin}${where}.\n${end}`
  const { tables = [] } = version === undefined ? kept[0] : kept.find(({ environment }) => environment.node.startsWith(`${version}.`)) ?? {}
  const own = tables.filter(({ bench }) => bench === name)
  if (own.length === 0) return place
  return begin + own.map(table => `**${[...version ? [`Node.js ${version.slice(1)}`] : [], table.question].join(': ')}**\n\n${markdown(rowsOf(table))}\n`).join('\n') + end
})
writeFileSync(DOCUMENT, filled)

const pictured = PICTURED.map(name => tables.find(({ bench }) => bench === name))
if (pictured.every(table => table !== undefined)) writeFileSync(PICTURE, throughputSvg(pictured, where))
else console.error(`docs/throughput.svg stays as it is: it wants ${PICTURED.join(' and ')}`)
