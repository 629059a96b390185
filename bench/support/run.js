// Runs the cases of a bench, the way the command line asks for. Every bench ends here, started alone or by index.js.

import { parseArgs } from 'node:util'
import { FULL, QUICK, measure } from './measure.js'
import { environment, printComparison, printTable, writeJson } from './report.js'

/** @import { Result } from './report.js' */

/**
 * @typedef {object} Case
 * @property {string} name  within its bench
 * @property {number} bytes  that a call goes over
 * @property {boolean} [inTime]  print the time of a call, whatever the bytes; else only up to 1 KiB
 * @property {Record<string, () => unknown>} contestants  the one in question first, then what it is measured against
 */

const USAGE = `Usage: npm run bench -- [name ...] [options]      or: node bench/hash.js [options]

  --quick         very short: shows that it works, its figures mean nothing
  --json FILE     keep all samples
  --compare FILE  print what changed since FILE was kept`

const { values: flags, positionals } = parse()

/** Benches that the command line names. */
export const names = positionals

/** Of all benches that this process ran. @type {Result[]} */
const results = []

/**
 * @param {string} bench
 * @param {string} question
 * @param {Iterable<Case>} cases  made one by one: what a case holds is let go before the next
 */
export function run (bench, question, cases) {
  if (results.length === 0) console.log(`${Object.values(environment()).join(', ')} ${flags.quick ? '(quick: figures mean nothing)' : ''}\n`)
  console.log(`${bench}: ${question}`)
  const ownResults = []
  for (const { contestants, ...what } of cases) {
    ownResults.push({ bench, ...what, samples: measure(contestants, flags.quick ? QUICK : FULL) })
  }
  printTable(ownResults)
  if (flags.compare) printComparison(ownResults, flags.compare)
  results.push(...ownResults)
  if (flags.json) writeJson(results, flags.json)
}

function parse () {
  try {
    const parsed = parseArgs({
      allowPositionals: true,
      options: { quick: { type: 'boolean' }, json: { type: 'string' }, compare: { type: 'string' }, help: { type: 'boolean' } }
    })
    if (!parsed.values.help) return parsed
    console.log(USAGE)
    process.exit(0)
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}
