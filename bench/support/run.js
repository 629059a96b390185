// Runs the cases of a bench, as the command line says. Every bench uses it, whether started alone or by index.js.

import { parseArgs } from 'node:util'
import { FULL, QUICK, measure } from './measure.js'
import { comparisonWith, environment, writeKept } from './report.js'
import { markdown, plainText, rowsOf } from './tables.js'

/** @import { Contestant } from './measure.js' */
/** @import { Table, Result } from './tables.js' */

/**
 * @typedef {object} Case
 * @property {string} name  within its table
 * @property {number} bytes  that a call processes
 * @property {Result['unit']} [unit]
 * @property {Record<string, Contestant>} contestants  the one in question first, then those that it is compared with
 */

/** @typedef {Partial<Pick<Table, 'form' | 'rivals'>>} Shape  default: a comparison without rivals */

const OPTIONS = /** @type {const} */ ({
  quick: { type: 'boolean' },
  rust: { type: 'boolean' },
  json: { type: 'string' },
  compare: { type: 'string' },
  markdown: { type: 'boolean' },
  repeat: { type: 'string' },
  help: { type: 'boolean' }
})

const USAGE = `Usage: npm run bench -- [name ...] [options]      or: node bench/hash-small.js [options]

  --quick         very short: shows that it works, its figures mean nothing
  --rust          also compile and run the rows in Rust in a quick run, as longer runs do
  --json FILE     keep all samples
  --compare FILE  print what changed since FILE was kept
  --markdown      print tables as Markdown
  --repeat N      run each bench in N processes and pool what they measured (npm run bench only)`

export const { flags, names } = parse()

/** How long to measure. */
export const effort = flags.quick ? QUICK : FULL

/** The tables of everything that this process ran. @type {Table[]} */
const tables = []

/**
 * Measures cases, prints their table, keeps their samples.
 *
 * @param {string} bench
 * @param {string} question
 * @param {Iterable<Case> | AsyncIterable<Case>} cases  made one by one, so that the memory of each is freed
 * @param {Shape} [shape]
 */
export async function run (bench, question, cases, shape) {
  const results = []
  for await (const { contestants, ...what } of cases) {
    results.push({ ...what, samples: await measure(contestants, effort) })
  }
  report(bench, question, results, shape)
}

/**
 * Prints and keeps measurements.
 *
 * @param {string} bench @param {string} question @param {Result[]} results @param {Shape} [shape]
 */
export function report (bench, question, results, shape) {
  /** @type {Table} */
  const table = { bench, question, form: 'comparison', ...shape, results }
  if (tables.length === 0) printHeading()
  console.log(flags.markdown ? `**${bench}**: ${question}\n` : `${bench}: ${question}`)
  console.log((flags.markdown ? markdown : plainText)(rowsOf(table)) + '\n')
  if (flags.compare) console.log(comparisonWith(table, flags.compare) + '\n')
  tables.push(table)
  if (flags.json) writeKept({ environment: environment(), tables }, flags.json)
}

/** Prints the facts about this machine. */
const printHeading = () =>
  console.log(`${Object.values(environment()).join(', ')} ${flags.quick ? '(quick: figures mean nothing)' : ''}\n`)

function parse () {
  try {
    const { values: flags, positionals: names } = parseArgs({ allowPositionals: true, options: OPTIONS })
    if (!flags.help) return { flags, names }
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}
