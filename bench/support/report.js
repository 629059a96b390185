// Prints the tables of a bench to stdout, and keeps its samples in a file.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { kernelName } from '../../lib/index.js'
import { mannWhitneyP, median, speedups } from './statistics.js'
import { inUnits, plainText, showSpeed } from './tables.js'

/** @import { Table, Result } from './tables.js' */

/** A difference that is more probable than this by chance does not count. */
const ALPHA = 0.05

/** @typedef {{ environment: ReturnType<typeof environment>, tables: Table[] }} Kept  the contents of a file */

/** The facts about this machine that determine speed. */
export const environment = () => ({
  runtime: process.versions.bun ? `Bun ${process.versions.bun}` : `Node.js ${process.versions.node}`,
  platform: `${process.platform} ${process.arch}`,
  cpu: `${cpus()[0]?.model ?? 'unknown'}${familyOfCpu()}`,
  cores: cpus().length,
  kernel: kernelName()
})

/** The family of the processor, as Linux states it: ' (family 25, model 1)'. Its name often does not contain it. */
function familyOfCpu () {
  if (!existsSync('/proc/cpuinfo')) return ''
  const info = readFileSync('/proc/cpuinfo', 'utf8')
  const [, family] = /^cpu family\s*: (\d+)$/m.exec(info) ?? []
  const [, model] = /^model\s*: (\d+)$/m.exec(info) ?? []
  return family === undefined ? '' : ` (family ${family}, model ${model})`
}

/** @param {string} file @returns {Kept} */
export const readKept = file => JSON.parse(readFileSync(file, 'utf8'))

/** Writes samples with six digits, which is more than their precision. @param {Kept} kept @param {string} file */
export function writeKept (kept, file) {
  const rounded = (/** @type {string} */ _key, /** @type {unknown} */ value) =>
    typeof value === 'number' ? Number(value.toPrecision(6)) : value
  writeFileSync(file, JSON.stringify(kept, rounded) + '\n')
}

/**
 * Joins several runs of the same bench to one with all their rounds.
 *
 * @param {Table[][]} runs  at least one
 * @returns {Table[]}
 */
export const pooled = runs => runs[0].map((table, t) => ({
  ...table,
  results: table.results.map((result, r) => ({
    ...result,
    samples: Object.fromEntries(Object.keys(result.samples)
      .filter(name => runs.every(tables => name in tables[t].results[r].samples)) // a peer may be missing in one run
      .map(name => [name, runs.flatMap(tables => tables[t].results[r].samples[name])]))
  }))
}))

/**
 * The changes since a file was written. The time of a call changes with the machine; its ratio to the others in the
 * same rounds changes less, so look at the rows with an x first. And p is only about chance between rounds: two
 * runs of the same code also differ, by some percent, so run each side more than once.
 *
 * @param {Table} table
 * @param {string} file
 */
export function comparisonWith ({ bench, question, results }, file) {
  const { environment, tables } = readKept(file)
  const before = tables.filter(old => old.bench === bench && old.question === question).flatMap(old => old.results)
  const rows = results.flatMap(result => {
    const old = before.find(({ name }) => name === result.name)
    return old === undefined ? [] : changes(result, old)
  })
  return `against ${file}: ${JSON.stringify(environment)}\n` +
    (rows.length === 0 ? 'nothing in it to compare with' : plainText([['', 'old', 'new', 'delta', ''], ...rows]))
}

/** @param {Result} result @param {Result} old */
function changes (result, old) {
  const [first, ...others] = Object.keys(result.samples).filter(name => name in old.samples)
  if (first === undefined) return []
  return [
    changed(
      `${result.name}: ${first}`,
      inUnits(result, old.samples[first]),
      inUnits(result, result.samples[first]),
      showSpeed(result)
    ),
    ...others.map(other => {
      const [before, after] = [old, result].map(({ samples }) => speedups(samples, first, other))
      return changed(`${result.name}: x ${other}`, before, after, x => x.toFixed(2))
    })
  ]
}

/** @param {string} name @param {number[]} before @param {number[]} after @param {(sample: number) => string} show */
function changed (name, before, after, show) {
  const p = mannWhitneyP(before, after)
  const delta = 100 * (median(after) / median(before) - 1)
  return [
    name,
    show(median(before)),
    show(median(after)),
    p < ALPHA ? `${delta < 0 ? '' : '+'}${delta.toFixed(1)} %` : '~',
    `p=${p.toFixed(3)} n=${before.length}+${after.length}`
  ]
}
