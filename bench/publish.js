// Writes measurements to the documents: full tables to bench/results/, the picture to docs/throughput.svg, and
// the headline tables, which are excerpts of the full ones, to docs/performance.md.
//
//   npm run bench -- --repeat 3 --json out.json && node bench/publish.js out.json
//   node bench/publish.js      (copies only the excerpts)
//
// Every runtime and major version has a page, such as bench/results/bun-1.md, and another one for each family of
// processors but the usual one, such as node-20-family-26.md. The text of node-20.md is written by hand; the other
// pages have only tables. A table is between `<!-- bench: NAME -->` and `<!-- /bench -->`, and a table of another page
// is after `<!-- bench: NAME on node-24 -->`. A table whose bench was not run does not change. Several files for one
// page count as one.

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { withExcerpts } from './support/excerpts.js'
import { throughputSvg } from './support/plot.js'
import { readKept } from './support/report.js'
import { markdown, rowsOf } from './support/tables.js'

/** @import { Kept } from './support/report.js' */
/** @import { Table } from './support/tables.js' */

const RESULTS = new URL('results/', import.meta.url)
const HEADLINES = new URL('../docs/performance.md', import.meta.url)
const PICTURE = new URL('../docs/throughput.svg', import.meta.url)
/** The page with text, whose figures are in the picture. */
const USUAL = 'node-20'
/** The family of processors whose pages do not name it. */
const USUAL_FAMILY = '25'
/** The table that the picture shows is the first of these. */
const PICTURED = ['hash-small', 'hash-large']
const PLACE = /(<!-- bench: (\S+)(?: on (\S+))? -->\n)[^]*?(<!-- \/bench -->)/g

/** The measurements, by page. @type {Map<string, Kept>} */
const measured = new Map()
for (const { environment, tables } of process.argv.slice(2).map(readKept)) {
  const page = pageOf(environment)
  measured.set(page, { environment, tables: [...measured.get(page)?.tables ?? [], ...tables] })
}
for (const page of new Set([USUAL, ...measured.keys()])) publish(page)
const usual = measured.get(USUAL)
const pictured = PICTURED.map(name => usual?.tables.find(({ bench }) => bench === name))
if (usual && pictured.every(table => table !== undefined)) {
  writeFileSync(PICTURE, throughputSvg(pictured, where(usual.environment)))
} else {
  console.error(`docs/throughput.svg stays as it is: it needs ${PICTURED.join(' and ')} of ${USUAL}`)
}
const pages = readdirSync(RESULTS).map(name => [name.replace('.md', ''), readFileSync(new URL(name, RESULTS), 'utf8')])
writeFileSync(HEADLINES, withExcerpts(readFileSync(HEADLINES, 'utf8'), Object.fromEntries(pages)))

/** Fills the tables of a page. @param {string} name */
function publish (name) {
  const file = new URL(`${name}.md`, RESULTS)
  const own = measured.get(name)
  const page = existsSync(file) ? readFileSync(file, 'utf8') : emptyPage(own)
  writeFileSync(file, page.replace(PLACE, (place, begin, bench, of = name, end) => {
    if (bench === 'environment') return own ? `${begin}${where(own.environment)}.\n${end}` : place
    const tables = measured.get(of)?.tables.filter(table => table.bench === bench) ?? []
    const before = of === name ? '' : `${titleOf(measured.get(of))}: `
    return tables.length === 0 ? place : begin + tables.map(table => asMarkdown(table, before)).join('\n') + end
  }))
}

/** A page with places for everything that was measured. @param {Kept | undefined} kept */
function emptyPage (kept) {
  const benches = [...new Set(kept?.tables.map(({ bench }) => bench))]
  const place = (/** @type {string} */ bench) => `<!-- bench: ${bench} -->\n<!-- /bench -->\n`
  return [
    `# Performance in ${titleOf(kept)}\n`,
    `Tables of [${USUAL}.md](${USUAL}.md), measured elsewhere, without comment. Measured on:`,
    place('environment'),
    ...benches.map(bench => `## ${bench}\n\n${place(bench)}`)
  ].join('\n')
}

/** @param {Kept['environment']} environment @returns {string} such as `node-20` or `node-20-family-26` */
function pageOf ({ runtime, cpu }) {
  const page = runtime.toLowerCase().replace(/^(\w+).* (\d+)\..*$/, '$1-$2')
  const family = familyOf(cpu)
  return family === USUAL_FAMILY ? page : `${page}-family-${family}`
}

/** @param {Kept | undefined} kept @returns {string} such as `Node.js 20` or `Node.js 20, family 26` */
function titleOf (kept) {
  if (kept === undefined) return ''
  const { runtime, cpu } = kept.environment
  const title = runtime.split('.').slice(0, -2).join('.')
  const family = familyOf(cpu)
  return family === USUAL_FAMILY ? title : `${title}, family ${family}`
}

/** @param {string} cpu  such as `AMD EPYC (family 26, model 2)` */
function familyOf (cpu) { return /\(family (\d+)/.exec(cpu)?.[1] ?? 'unknown' }

/** @param {Kept['environment']} environment */
function where ({ runtime, platform, cpu, cores }) { return `${runtime}, ${platform}, ${cpu}, ${cores} cores` }

/** @param {Table} table @param {string} [before]  the question */
function asMarkdown (table, before = '') { return `**${before}${table.question}**\n\n${markdown(rowsOf(table))}\n` }
