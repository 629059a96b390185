// What a bench prints and keeps: tables on stdout, samples in a file.

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { kernelName } from '../../lib/index.js'
import { mannWhitneyP, median, spread } from './statistics.js'

/**
 * @typedef {object} Result  of one case
 * @property {string} bench
 * @property {string} name  of the case
 * @property {number} bytes  that a call goes over
 * @property {boolean} [inTime]  is the time of a call what counts, whatever the bytes?
 * @property {Record<string, number[]>} samples  nanoseconds per call; the first contestant is the one in question
 */

/** Up to this many bytes the time of a call says more than bytes per second. */
const SMALL = 1024
/** A difference that chance brings about more often than this is none. */
const ALPHA = 0.05

/** The first contestant beside the others; `x other` is how many times as fast as the other it is. @param {Result[]} results */
export function printTable (results) {
  const [first, ...others] = Object.keys(results[0].samples)
  printRows([
    ['', first, ...others, ...others.map(other => `x ${other}`)],
    ...results.map(result => [
      result.name,
      ...[first, ...others].map(contestant => speed(result, result.samples[contestant])),
      ...others.map(other => ratio(speedups(result.samples, other)))
    ])
  ])
}

/**
 * What changed since a file was written. The time of a call moves with the machine; how it compares with the others in the same rounds
 * moves less, so look at the rows with an x first. And p only speaks of chance between rounds: two runs of the same code differ too, by
 * some percent, so run each side more than once.
 *
 * @param {Result[]} results
 * @param {string} file  of `writeJson`
 */
export function printComparison (results, file) {
  const { environment, results: before } = /** @type {{ environment: unknown, results: Result[] }} */ (JSON.parse(readFileSync(file, 'utf8')))
  const rows = results.flatMap(result => {
    const { bench, name, samples } = result
    const old = before.find(({ bench: oldBench, name: oldName }) => oldBench === bench && oldName === name)
    if (old === undefined) return []
    const [first, ...others] = Object.keys(samples)
    return [
      ...(first in old.samples ? [changed(`${name}: ${first}`, inUnits(result, old.samples[first]), inUnits(result, samples[first]), showSpeed(result))] : []),
      ...others.filter(other => first in old.samples && other in old.samples).map(other =>
        changed(`${name}: x ${other}`, speedups(old.samples, other), speedups(samples, other), x => x.toFixed(2)))
    ]
  })
  console.log(`against ${file}: ${JSON.stringify(environment)}`)
  if (rows.length === 0) console.log('nothing in it to compare with\n')
  else printRows([['', 'old', 'new', 'delta', ''], ...rows])
}

/** @param {Result[]} results @param {string} file */
export function writeJson (results, file) {
  writeFileSync(file, JSON.stringify({ environment: environment(), results }) + '\n')
}

/** Where this runs, as far as it decides about speed. */
export const environment = () => ({
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  kernel: kernelName()
})

/** How many times as fast as another the first contestant was, round by round. @param {Record<string, number[]>} samples @param {string} other */
const speedups = (samples, other) => Object.values(samples)[0].map((ns, round) => samples[other][round] / ns)

/** @param {Result} result @param {number[]} samples */
const speed = (result, samples) => showSpeed(result)(median(inUnits(result, samples)))

/** Is the time of a call what counts? Else bytes per second. @param {Result} result */
const isTime = ({ bytes, inTime }) => inTime || bytes <= SMALL

/** Samples as they are printed: nanoseconds, or MB/s. @param {Result} result @param {number[]} samples */
const inUnits = (result, samples) => isTime(result) ? samples : samples.map(ns => result.bytes / ns * 1000)

/** @param {Result} result @returns {(sample: number) => string} */
const showSpeed = result => isTime(result)
  ? ns => ns < 1e4 ? `${ns.toFixed(0)} ns` : `${(ns / 1000).toFixed(1)} us`
  : speed => `${speed.toFixed(0)} MB/s`

/** @param {number[]} samples */
const ratio = samples => `${median(samples).toFixed(2)} ±${percent(spread(samples))}`

/** @param {number} share */
const percent = share => `${(100 * share).toFixed(0)} %`

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

/** Names on the left, figures on the right. @param {string[][]} rows */
function printRows (rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map(row => row[column].length)))
  for (const row of rows) {
    console.log(row.map((cell, column) => column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])).join('  ').trimEnd())
  }
  console.log()
}
